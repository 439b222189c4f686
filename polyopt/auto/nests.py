"""Inner loops: bring the contiguous loop innermost, unroll short reductions, mark vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.analysis.footprint import bounding_box
from polyopt.errors import PolyoptError
from polyopt.isl import dim_type
from polyopt.transform.find import find_loop, path_to
from polyopt.transform.interchange import rebuild
from polyopt.transform.merge import distribute
from polyopt.transform.parallel import check_loop
from polyopt.transform.remark import Remark
from polyopt.transform.split import split
from polyopt.transform.tree import PlanLoop, copies_in, loops_of, prefix_map, replace_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.ir.scop import Statement
    from polyopt.transform.program import Program

#: reductions of at most this many iterations in all are unrolled inside the vector loop
SHORT = 32
#: iterations of a reduction done per pass over a row: at most, and of a long one
LONGEST_JAM = 16
JAM = 4


def arrange(
    program: Program, sizes: Mapping[str, int], legal: Callable[[Program], bool]
) -> tuple[Program, tuple[Remark, ...]]:
    """The program with a vector loop innermost in every nest where one is legal.

    ``legal`` says whether an order keeps the flow; a step that does not is taken back.
    """
    remarks: list[Remark] = []
    for name in list(program.places):
        loop = contiguous_loop(program, name)
        if loop is None:
            continue
        if loop.mark == "vector":
            continue
        changed = _bring_in(program, name, loop, sizes)
        if changed is not program and legal(changed):
            program = changed
        program, said = _mark(program, name, sizes)
        remarks += said
    return program, tuple(remarks)


def contiguous_loop(program: Program, copy: str) -> PlanLoop | None:
    """The innermost loop around a copy that walks the last dimension of what it writes."""
    statement = program.copies[copy].statement
    place = program.places[copy]
    iterator = _last_iterator(statement)
    if iterator is None:
        return None
    wanted = program.copies[copy].outer + iterator
    found = [
        loop
        for loop in place.loops
        if loop.values[copy].involves_dims(dim_type.in_, wanted, 1)
        and not _divided(loop, copy)
    ]
    return found[-1] if found else None


def _divided(loop: PlanLoop, copy: str) -> bool:
    """Whether the loop's value is a quotient: a block loop."""
    value = loop.values[copy]
    return any(aff.dim(dim_type.div) > 0 for _, aff in value.get_pieces())


def _last_iterator(statement: Statement) -> int | None:
    """The iterator that the last subscript of the write moves with, by one."""
    if not statement.index:
        return None
    form = statement.index[-1].form
    moves = [
        i for i in range(len(statement.iterators)) if form.involves_dims(dim_type.in_, i, 1)
    ]
    return moves[-1] if moves else None


def _bring_in(program: Program, copy: str, loop: PlanLoop, sizes: Mapping[str, int]) -> Program:
    """The contiguous loop innermost: by unrolling what it holds, or by moving it in."""
    inner = [node for node in loops_of(loop.body)]
    if not inner:
        return program
    trips = [_trip(program, node) for node in inner]
    total = 1
    for trip in trips:
        total *= trip if trip is not None else SHORT + 1
    if total <= SHORT:
        for node in inner:
            program = _marked(program, node.name, "unroll")
        return _separated(program, path_to(program, loop.name)[-2:])
    try:
        return _moved_in(program, loop)
    except PolyoptError:
        return program


def _moved_in(program: Program, loop: PlanLoop) -> Program:
    """Each statement group of the loop gets a loop of its own, innermost in its nest."""
    program = _widen_locals(program, loop)
    heads = [child for child in loop.body]
    for child in heads[1:]:
        first = copies_in(child)[0]
        current = _loop_with(program, first, loop.iterator)
        program = distribute(program, current.name, first)
    for child in heads:
        first = copies_in(child)[0]
        current = _loop_with(program, first, loop.iterator)
        program = _jammed(program, _perfect(current))
    return program


def _jammed(program: Program, chain: list[PlanLoop]) -> Program:
    """The first loop of a perfect nest moved inwards, over all loops but a few short ones.

    Those stay inside it, unrolled: each element is then loaded and stored once for several
    updates. A long innermost loop gives a block of ``JAM`` iterations.
    """
    vector, rest = chain[0], chain[1:]
    if not rest:
        return program
    total, keep = 1, 0
    for loop in reversed(rest):
        trip = _trip(program, loop)
        if trip is None or total * trip > LONGEST_JAM:
            break
        total, keep = total * trip, keep + 1
    if not keep:
        name = rest[-1].name
        program = split(program, name, JAM)
        blocks = path_to(program, name)[-2]
        points = find_loop(program, name)
        order = [*rest[:-1], replace(blocks, separate=True), vector, replace(points, mark="unroll")]
        return rebuild(program, [vector, *rest[:-1], blocks, points], order)
    outer, inner = rest[: len(rest) - keep], rest[len(rest) - keep :]
    jam = [replace(loop, mark="unroll") for loop in inner]
    return rebuild(program, chain, [*outer, vector, *jam])


def _separated(program: Program, loops: Sequence[PlanLoop]) -> Program:
    for loop in loops:
        tree = replace_loop(program.tree, loop.name, lambda n: (replace(n, separate=True),))
        program = replace(program, tree=tree)
    return program


def _loop_with(program: Program, copy: str, iterator: str) -> PlanLoop:
    return next(
        loop
        for loop in program.places[copy].loops
        if loop.iterator == iterator or loop.iterator.startswith(iterator)
        and loop.iterator[len(iterator):].isdigit()
    )  # fmt: skip


def _perfect(loop: PlanLoop) -> list[PlanLoop]:
    chain = [loop]
    while len(chain[-1].body) == 1 and isinstance(chain[-1].body[0], PlanLoop):
        chain.append(chain[-1].body[0])
    return chain


def _widen_locals(program: Program, loop: PlanLoop) -> Program:
    """Buffers private to an iteration of the loop become private to the loop around it."""
    path = path_to(program, loop.name)
    outer = path[-2].name if len(path) > 1 else ""
    stores = tuple(
        replace(s, at=outer) if s.at == loop.name else s for s in program.stores
    )
    return replace(program, stores=stores)


def _mark(
    program: Program, copy: str, sizes: Mapping[str, int]
) -> tuple[Program, list[Remark]]:
    loop = contiguous_loop(program, copy)
    if loop is None or loop.mark:
        return program, []
    if any(node.mark != "unroll" for node in loops_of(loop.body)):
        reason = "it holds loops that stay loops"
        return program, [Remark("not considered", "vectorize", loop.name, reason)]
    del sizes
    marked = _marked(program, loop.name, "vector")
    try:
        check_loop(marked, find_loop(marked, loop.name))
    except PolyoptError as error:
        remark = Remark(
            "refused", "vectorize", loop.name, error.diagnostic.message,
            witnesses=getattr(error, "witnesses", ()), code=error.code,
        )  # fmt: skip
        return program, [remark]
    reason = "its iterations are independent and contiguous"
    return marked, [Remark("applied", "vectorize", loop.name, reason)]


def _marked(program: Program, name: str, mark: str) -> Program:
    tree = replace_loop(program.tree, name, lambda n: (replace(n, mark=mark),))
    return replace(program, tree=tree)


def _trip(program: Program, loop: PlanLoop) -> int | None:
    """The constant number of iterations per entry of a loop, if it has one."""
    largest = 0
    for copy in copies_in(loop):
        path = program.places[copy].loops
        level = next(i for i, node in enumerate(path) if node.name == loop.name)
        times = prefix_map(program.copies[copy], path[: level + 1]).range()
        split = times.identity()
        before = split.project_out(dim_type.out, level, 1)
        line = split.project_out(dim_type.out, 0, level)
        relation = before.reverse().apply_range(line)
        box = bounding_box(relation, program.scop.context)
        sides = box.constant_extents if box is not None else None
        if sides is None:
            return None
        largest = max(largest, sides[0])
    return largest

