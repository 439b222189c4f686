"""Legality of parallel and vector loops: no dependence between iterations that run together.

*Requires* for ``parallel``: no two iterations of the loop touch one cell, one of them writing.
For ``vector`` of width w: no two iterations less than w apart do. A scratch inside the loop is
private: its cells carry the loop's value. What sums do with their own elements is left out where
their order is free (``annotations/reassociate.py``), and the obligation says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.errors import ParallelCarriedError, VectorCarriedError, Witness
from polyopt.isl import (
    Map,
    Space,
    affine_constant,
    affine_var,
    dim_type,
    instance_of,
    tuple_name,
)
from polyopt.memo import memory
from polyopt.transform.annotations.reassociate import accumulation, is_free, is_rounded, sums_in
from polyopt.transform.schedule.tree import copies_in, loops_of, places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from polyopt.transform.schedule.program import ScheduledAccess, ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop


@dataclass(frozen=True)
class Obligation:
    """One thing that was shown, in words, with how much it covers."""

    name: str
    detail: str


def check_marks(program: ScheduledProgram) -> tuple[Obligation, ...]:
    """Show that every marked loop may run as marked; raises with a witness where not."""
    result: list[Obligation] = []
    for loop in loops_of(program.tree):
        if loop.mark not in {"parallel", "vector"}:
            continue
        check_loop(program, loop)
        what = "carries no dependence" if loop.mark == "parallel" else "has no dependence as short"
        names = _reordered(program, loop)
        but = f", but for sums: {', '.join(names)}" if names else ""
        result.append(Obligation(loop.mark, f"{loop.name} {what}{but}"))
        exact = [name for name in names if not is_rounded(program.scop.statement(name))]
        if rounded := [name for name in names if name not in exact]:
            detail = f"{loop.name}: equal up to the order of the operations of {', '.join(rounded)}"
            if loop.mark == "parallel":
                detail += "; partial sums are added in the order of its iterations"
            result.append(Obligation("reassociated", detail))
        if exact:
            detail = f"{loop.name}: of integers, the same in any order: {', '.join(exact)}"
            result.append(Obligation("updates", detail))
    return tuple(result)


def _reordered(program: ScheduledProgram, loop: PlanLoop) -> list[str]:
    """The statements whose operations a marked loop does in another order."""
    copies: Iterable[str] = sums_in(program, loop)
    if loop.mark == "parallel":
        copies = (name for names in shared_sums(program, loop).values() for name in names)
    return sorted({program.copies[name].statement.name for name in copies})


def shared_sums(program: ScheduledProgram, loop: PlanLoop) -> dict[str, list[str]]:
    """The arrays whose elements several iterations of a parallel loop add to, with the copies
    that do; all of it is up to the order of the operations."""
    sums = sums_in(program, loop)
    if loop.mark != "parallel" or not sums:
        return {}
    depth = _depth(program, loop)
    copies: dict[str, list[str]] = {}
    for name in sums:
        copies.setdefault(program.copies[name].statement.array, []).append(name)
    shared: dict[str, list[str]] = {}
    for array, names in copies.items():
        writes, reads = program.touches_in({*names})
        if _Clashes(program, loop, depth, {}).first(writes, (*writes, *reads)):
            shared[array] = names
    return shared


def check_loop(program: ScheduledProgram, loop: PlanLoop) -> None:
    """Raise if two iterations of ``loop`` that would run together clash."""
    writes, reads = program.touches_in(set(copies_in(loop)))
    depth = _depth(program, loop)
    sums = sums_in(program, loop)
    # a sum's read of its own element has to be told from its other reads
    together = reads if sums else program.together(reads)
    shown = memory(program.scop, "loops without a clash")
    key = (loop.mark, loop.width, depth, *sums, *writes, *together)
    if key not in shown:
        clashes = _Clashes(program, loop, depth, sums)
        if clashes.first(writes, (*writes, *together)):
            found = clashes.first(writes, (*writes, *reads))
            if found:
                raise _refusal(program, loop, *found)
        shown[key] = True


def carried(program: ScheduledProgram, loop: PlanLoop) -> Map | None:
    """``{ [v] -> [v'] : v < v' }``: values of a loop whose iterations clash, those of the loops
    around it being the same; ``None`` where none do."""
    writes, reads = program.touches_in(set(copies_in(loop)))
    depth = _depth(program, loop)
    sums, shared = sums_in(program, loop), replace(loop, mark="parallel")
    result: Map | None = None
    for write, touch in _Clashes(program, shared, depth, sums).pairs(writes, (*writes, *reads)):
        clash = _clash(write, touch, depth, shared)
        if clash is None:
            continue
        times = clash.apply_domain(_times(write, depth)).apply_range(_times(touch, depth))
        times = times.project_out(dim_type.in_, 0, depth).project_out(dim_type.out, 0, depth)
        line = times.get_space()
        forward = Map.universe(line).order_lt(dim_type.in_, 0, dim_type.out, 0)
        both = times.intersect(forward).union(times.reverse().intersect(forward))
        result = both if result is None else result.union(both)
    return None if result is None else result.coalesce()


def clashing_arrays(program: ScheduledProgram, loop: PlanLoop) -> tuple[str, ...]:
    """The arrays of which iterations of a marked loop that would run together share elements."""
    writes, reads = program.touches_in(set(copies_in(loop)))
    depth = _depth(program, loop)
    found: dict[str, None] = {}
    clashes = _Clashes(program, loop, depth, sums_in(program, loop))
    for write, touch in clashes.pairs(writes, (*writes, *reads)):
        array = write.access.array
        if array not in found and _clash(write, touch, depth, loop) is not None:
            found[array] = None
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Clashes:
    """Looks for accesses of different iterations of a loop that may not run together."""

    program: ScheduledProgram
    loop: PlanLoop
    depth: int
    #: copies in the loop whose order is free
    sums: Mapping[str, str]

    def first(
        self, writes: Sequence[ScheduledAccess], touches: Sequence[ScheduledAccess]
    ) -> tuple[ScheduledAccess, ScheduledAccess, Map] | None:
        for write, touch in self.pairs(writes, touches):
            clash = _clash(write, touch, self.depth, self.loop)
            if clash is not None:
                return write, touch, clash
        return None

    def pairs(
        self, writes: Sequence[ScheduledAccess], touches: Sequence[ScheduledAccess]
    ) -> Iterator[tuple[ScheduledAccess, ScheduledAccess]]:
        """What may be about one element, but for sums whose order is free."""
        on_cell: dict[str, list[ScheduledAccess]] = {}
        for touch in touches:
            on_cell.setdefault(tuple_name(touch.cells, dim_type.out), []).append(touch)
        for write in writes:
            for touch in on_cell[tuple_name(write.cells, dim_type.out)]:
                one_sum = touch.host == write.host or self.loop.mark == "parallel"
                if not (one_sum and is_free(self.program, self.sums, write, touch)):
                    yield write, touch


def _depth(program: ScheduledProgram, loop: PlanLoop) -> int:
    for place in places(program.tree):
        for depth, around in enumerate(place.loops):
            if around.name == loop.name:
                return depth
    return 0


def _clash(
    write: ScheduledAccess, other: ScheduledAccess, depth: int, loop: PlanLoop
) -> Map | None:
    """``{ W[..] -> R[..] }`` on one cell, in different iterations of the loop that run together."""
    same_cell = write.cells.apply_range(other.cells.reverse())
    if same_cell.plain_is_empty():
        return None
    one, two = _times(write, depth), _times(other, depth)
    together = _together(one.range().get_space(), depth, loop)
    pairs = one.apply_range(together).apply_range(two.reverse())
    clash = same_cell.intersect(pairs)
    return None if clash.is_empty() else clash


def _times(touch: ScheduledAccess, depth: int) -> Map:
    """``{ R -> [t_0, ..., t_depth] }``."""
    extra = touch.prefix.dim(dim_type.out) - depth - 1
    return touch.prefix.project_out(dim_type.out, depth + 1, extra)


def _together(space: Space, depth: int, loop: PlanLoop) -> Map:
    """``{ [t] -> [t'] }``: equal outside the loop, different at it (closer than the width)."""
    result = Map.universe(space.map_from_set())
    for level in range(depth):
        result = result.equate(dim_type.in_, level, dim_type.out, level)
    line = result.get_space()
    before = Map.universe(line).order_lt(dim_type.in_, depth, dim_type.out, depth)
    after = Map.universe(line).order_gt(dim_type.in_, depth, dim_type.out, depth)
    result = result.intersect(before.union(after))
    if loop.mark == "vector" and loop.width:
        result = result.intersect(_within(line, depth, loop.width))
    return result


def _within(space: Space, depth: int, width: int) -> Map:
    """``{ [t] -> [t'] : |t_depth - t'_depth| < width }``."""
    universe = Map.universe(space).wrap()
    pairs = universe.get_space()
    count = space.dim(dim_type.in_)
    gap = affine_var(pairs, depth).sub(affine_var(pairs, count + depth))
    limit = affine_constant(pairs, width)
    close = gap.lt_set(limit).intersect(gap.neg().lt_set(limit))
    return close.unwrap()


def _refusal(
    program: ScheduledProgram,
    loop: PlanLoop,
    write: ScheduledAccess,
    other: ScheduledAccess,
    clash: Map,
) -> Exception:
    source, sink = (t.to_source.range_factor_domain() for t in (write, other))
    pairs = clash.apply_domain(source).apply_range(sink)
    split = pairs.dim(dim_type.in_)
    names = tuple_name(pairs, dim_type.in_), tuple_name(pairs, dim_type.out)
    found = instance_of(pairs.wrap().flatten())
    witnesses = ()
    if found is not None:
        numbers = found[1]
        kind = "output" if other.access.ref == write.access.ref else "flow or anti"
        one, two = (names[0], numbers[:split]), (names[1], numbers[split:])
        witnesses = (Witness(kind, one, two, found[2]),)
    array = write.access.array
    free = _permission(program, loop)
    if loop.mark == "parallel":
        message = f"{loop.name} cannot run in parallel: its iterations share elements of {array}"
        hint = "mark a loop that carries no dependence, or store the array inside this loop"
        hint = free or hint
        return ParallelCarriedError(message, witnesses=witnesses, span=other.access.span, hint=hint)
    message = f"{loop.name} cannot be a vector loop: iterations closer than its width share {array}"
    hint = "use a width of at most the dependence's distance, or vectorise another loop"
    hint = free or hint
    return VectorCarriedError(message, witnesses=witnesses, span=other.access.span, hint=hint)


def _permission(program: ScheduledProgram, loop: PlanLoop) -> str:
    """What to allow where a loop could have its mark if the order of sums were free."""
    statements = [program.copies[name].statement for name in loop.copies]
    sums = dict.fromkeys(s.name for s in statements if accumulation(s) is not None)
    more = [name for name in sums if name not in program.reassociated]
    if not more:
        return ""
    freed = replace(program, reassociated=program.reassociated | {*more})
    try:
        check_loop(freed, loop)
    except (ParallelCarriedError, VectorCarriedError):
        return ""
    told = ", ".join(map(repr, more))
    return f"if its sums may be added up in any order, write reassociate({told}) first"
