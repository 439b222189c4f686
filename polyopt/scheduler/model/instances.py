"""Instances: how often copies run, what is evaluated in them, and how long loops are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.footprint import bounding_box
from polyopt.analysis.sets.count import Estimate, Number, counted
from polyopt.ir.expr import Affine, without_subscripts
from polyopt.isl import Map, dim_type
from polyopt.memo import memo, memory
from polyopt.transform.schedule.tree import copies_in, prefix_map

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.isl import Set
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop, ScheduledStatement, SchedulePosition


def instances_of(copy: ScheduledStatement, sizes: Mapping[str, int]) -> int:
    """How often a copy runs, or about how often."""
    return number_of(copy, sizes).value


def number_of(copy: ScheduledStatement, sizes: Mapping[str, int]) -> Number:
    """How often a copy runs; remembered per copy and sizes."""
    known, key = memory(copy, "instances"), tuple(sizes.items())
    if key not in known:
        known[key] = counted(copy.domain, sizes)
    return known[key]


def evaluated(program: ScheduledProgram, name: str) -> Iterator[tuple[str, Set, int]]:
    """What a copy in the tree computes: statement, ``{ [t, j] }`` of its instances, rank of t.

    Its own instances first, then those that are inlined into it; a pack computes nothing.
    """
    host, place = program.copies[name], program.places[name]
    if host.fills:
        return
    yield host.statement.name, host.domain, host.outer
    operands = list(with_operands(program, host))[1:]
    loops = rolled(place)
    if len(loops) == len(place.loops):
        yield from ((o.statement.name, o.domain, o.outer) for o in operands)
        return
    for statement, runs in _shared(host, loops, operands).items():
        yield statement, runs, len(loops)


def rolled(place: SchedulePosition) -> tuple[PlanLoop, ...]:
    """The loops around a copy less the innermost ones that are written out."""
    loops = place.loops
    while loops and loops[-1].mark == "unroll" and not loops[-1].width:
        loops = loops[:-1]
    return loops


def _shared(
    host: ScheduledStatement, loops: tuple[PlanLoop, ...], operands: Sequence[ScheduledStatement]
) -> dict[str, Set]:
    """``{ [t, j] }`` by statement: the operands' instances that one iteration of ``loops`` needs.

    Written-out iterations stand in one body, where C compilers find equal operands as well.
    """
    rank = host.domain.dim(dim_type.set)
    #: { [d] -> [t] }
    times = prefix_map(host, loops).reset_tuple_id(dim_type.in_)
    result: dict[str, Set] = {}
    for operand in operands:
        needed = _by_reader(_pairs(operand, rank), rank).apply_domain(times)
        known = result.get(operand.statement.name)
        pairs = needed.wrap().flatten()
        result[operand.statement.name] = pairs if known is None else known.union(pairs)
    return result


def _by_reader(pairs: Set, rank: int) -> Map:
    """``{ [d] -> [j] }`` of ``{ [d, j] }``."""
    moved = Map.from_range(pairs)
    return moved.move_dims(dim_type.in_, 0, dim_type.out, 0, rank)


def with_operands(
    program: ScheduledProgram, copy: ScheduledStatement
) -> Iterator[ScheduledStatement]:
    """A copy in the tree and what is inlined into it.

    An instance that is needed twice counts once: C compilers find equal operands of one statement.
    """
    yield copy
    if program.inlined:
        seen: dict[str, list[Set]] = {}
        yield from _operands(program, copy, copy.domain.dim(dim_type.set), seen)


def _operands(
    program: ScheduledProgram, copy: ScheduledStatement, rank: int, seen: dict[str, list[Set]]
) -> Iterator[ScheduledStatement]:
    """The operands of a copy that are not in ``seen``; ``rank`` is that of the copy in the tree."""
    for access in copy.statement.reads:
        operand = program.operand(copy, access)
        if operand is None:
            continue
        pairs = _pairs(operand, rank)
        others = seen.setdefault(operand.statement.name, [])
        if any(pairs.is_equal(other) for other in others):
            continue
        others.append(pairs)
        yield operand
        yield from _operands(program, operand, rank, seen)


@memo
def _pairs(operand: ScheduledStatement, rank: int) -> Set:
    """``{ [d, j] }``: which instances of the operand's statement an instance in the tree needs."""
    pairs = operand.domain.project_out(dim_type.set, rank, operand.outer - rank)
    return pairs.reset_tuple_id()


def computed_bytes(program: ScheduledProgram, copy: ScheduledStatement) -> int:
    """The width of the widest operation of a copy and of what is inlined into it, in bytes.

    It says how many lanes a vector of its instances has at least, also where what is stored is
    narrower: bytes that are rounded from floats are made in vectors of floats.
    """
    known, key = memory(copy, "computed bytes"), program.inlined
    if key not in known:
        waiting, widest = [copy.statement], 0
        seen = {copy.statement.name}
        while waiting:
            statement = waiting.pop()
            parts = (p for p in without_subscripts(statement.value) if not isinstance(p, Affine))
            widest = max(widest, statement.value.type.bytes, *(part.type.bytes for part in parts))
            inlined = {access.array for access in statement.reads} & program.inlined
            others = [s for s in program.scop.statements if s.array in inlined]
            waiting += [s for s in others if s.name not in seen]
            seen |= {s.name for s in others}
        known[key] = widest
    return known[key]


def evaluations(program: ScheduledProgram, array: str, sizes: Mapping[str, int]) -> Number:
    """How often an inlined array's elements are computed, over all that read it."""
    given = {name: int(sizes[name]) for name in program.scop.params if name in sizes}
    found = [
        number_of(operand, given)
        for name in program.places
        if any(a.array == array for a in program.copies[name].statement.reads)
        for operand in with_operands(program, program.copies[name])
        if operand.statement.array == array
    ]
    return Number(sum(n.value for n in found), all(n.is_exact for n in found))


def trips(
    program: ScheduledProgram,
    loop: PlanLoop,
    sizes: Mapping[str, int],
) -> float:
    """Iterations of a loop per entry, on average over the last copy inside it.

    An ``Estimate`` where they are too many to be counted.
    """
    name = copies_in(loop)[-1]
    path = program.places[name].loops
    level = next(k for k, around in enumerate(path) if around.name == loop.name)
    copy = program.copies[name]
    runs = prefix_map(copy, path[: level + 1])
    # instances with times of their own are as many, and simpler to count, than the times
    whole = level + 1 == len(path) and runs.is_injective()
    inner = counted(copy.domain if whole else runs.range(), sizes)
    outer = counted(prefix_map(copy, path[:level]).range(), sizes) if level else Number(1, True)
    found = inner.value / max(1, outer.value)
    return found if inner.is_exact and outer.is_exact else Estimate(found)


def constant_trips(program: ScheduledProgram, loop: PlanLoop) -> int | None:
    """The constant number of iterations per entry of a loop, if it has one."""
    largest = 0
    for copy in copies_in(loop):
        path = program.places[copy].loops
        level = next(i for i, node in enumerate(path) if node.name == loop.name)
        identity = prefix_map(program.copies[copy], path[: level + 1]).range().identity()
        before = identity.project_out(dim_type.out, level, 1)
        line = identity.project_out(dim_type.out, 0, level)
        box = bounding_box(before.reverse().apply_range(line), program.scop.context)
        sides = box.constant_extents if box is not None else None
        if sides is None:
            return None
        largest = max(largest, sides[0])
    return largest
