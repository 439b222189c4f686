"""Parallel, vector and unrolled loops, full tiles apart, register tiles: how iterations run, not
which or where.

*Requires* for parallel: no dependence between iterations; for vector: none closer than the
width. The proof checks both (transform/legality/parallel.py). Unrolling owes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError, NotPermutableError, given
from polyopt.transform.loops.interchange import reorder
from polyopt.transform.loops.split import check_size, split
from polyopt.transform.schedule.query import check_name, find_loop, path_to
from polyopt.transform.schedule.rectangular import is_rectangular
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.tree import PlanLoop, loops_of, with_loop

if TYPE_CHECKING:
    from polyopt.transform.schedule.program import ScheduledProgram

#: OpenMP's words for how iterations go to threads
_SCHEDULES = ("dynamic", "static")
#: of aligned vectors
_LANES = (2, 4, 8, 16)


@transformation("annotation")
def parallelize(
    program: ScheduledProgram, loop: str, schedule: str | None = None
) -> ScheduledProgram:
    """The program with the loop's iterations shared between threads: ``dynamic`` as these get
    free, which is what ``None`` means, ``static`` so that each thread has the same piece in every
    call.

    A loop directly inside of a parallel one, whose bounds do not depend on it, is collapsed with
    it: threads share the iterations of both.
    """
    check_name("loop", loop)
    if schedule is not None and schedule not in _SCHEDULES:
        message = f"parallelize({loop!r}): there is no schedule {given(schedule)}"
        raise InvalidOptionError(message, hint='"dynamic" or "static"')
    return _mark(program, loop, "parallel", int(schedule == "static"))


@transformation("annotation")
def vectorize(
    program: ScheduledProgram, loop: str, width: int = 0, *, aligned: bool | None = False
) -> ScheduledProgram:
    """The program with ``width`` iterations of an innermost loop at once; 0: the target's.

    With ``aligned`` neighbours along it come from aligned vectors of that width, shifted in
    registers.
    """
    node = find_loop(program, loop)
    if width or not _is_whole(width):
        check_size(width, f"vectorize({loop!r})")
    if aligned and width not in _LANES:
        message = f"there are no aligned vectors of {given(width)} lanes"
        raise InvalidOptionError(message, hint="aligned=True takes a width of 2, 4, 8 or 16")
    if any(inner.mark != "unroll" for inner in loops_of(node.body)):
        message = f"{loop} is not an innermost loop: only these are vectorised"
        hint = "interchange it inwards, or use unroll_and_jam"
        raise NotPermutableError(message, hint=hint)
    if not aligned:
        return _mark(program, loop, "vector", width)
    # a width is a promise on near iterations: here all are to be independent
    marked = _mark(program, loop, "vector", 0)
    return replace(marked, tree=with_loop(marked.tree, node.name, lanes=width))


def _is_whole(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool)


@transformation("annotation")
def unroll(program: ScheduledProgram, loop: str, factor: int = 0) -> ScheduledProgram:
    """The program with the loop unrolled ``factor`` times; 0: completely."""
    if factor or not _is_whole(factor):
        node = find_loop(program, loop)
        check_size(factor, f"unroll({loop!r})")
        program = split(program, node.name, factor, suffix="_unrolled", in_blocks=False)
    return _mark(program, loop, "unroll", 0)


@transformation("permutation")
def unroll_and_jam(program: ScheduledProgram, loop: str, factor: int) -> ScheduledProgram:
    """The program with ``factor`` iterations of a loop run together inside its inner loops."""
    node = find_loop(program, loop)
    check_size(factor, f"unroll_and_jam({loop!r})")
    inner = _nested(node)
    if not inner:
        message = f"{loop} holds no loop to jam into: unroll it instead"
        raise NotPermutableError(message)
    program = split(program, node.name, factor, suffix="_jam", in_blocks=False)
    program = reorder(program, *(n.name for n in inner), node.name)
    return _mark(program, node.name, "unroll", 0)


@transformation("annotation")
def separate_full_tiles(program: ScheduledProgram, loop: str) -> ScheduledProgram:
    """The program with a loop's full tiles apart from partial ones: iterations that differ in
    conditions are in loops of their own."""
    node = find_loop(program, loop)
    if node.mark == "unroll":
        message = f"{loop} is unrolled: nothing of it is left to separate"
        raise InvalidOptionError(message)
    return replace(program, tree=with_loop(program.tree, node.name, separate=True))


@transformation("annotation")
def register_tile(program: ScheduledProgram, loop: str) -> ScheduledProgram:
    """The program with what the loop's inner loops update kept in vector registers across it."""
    node = find_loop(program, loop)
    if not _nested(node):
        message = f"{loop} holds no loop: there is no block to keep in registers"
        raise NotPermutableError(message, hint="name the reduction's loop, around the block's")
    return _mark(program, node.name, "register_tile", 0)


def _nested(node: PlanLoop) -> list[PlanLoop]:
    result: list[PlanLoop] = []
    while len(node.body) == 1 and isinstance(node.body[0], PlanLoop):
        node = node.body[0]
        result.append(node)
    return result


def _mark(program: ScheduledProgram, loop: str, mark: str, width: int) -> ScheduledProgram:
    node = find_loop(program, loop)
    if mark == "parallel":
        _check_collapsible(program, node, width)
    tree = with_loop(program.tree, node.name, mark=mark, width=width, lanes=0)
    return replace(program, tree=tree)


def _check_collapsible(program: ScheduledProgram, node: PlanLoop, static: int) -> None:
    """Raise where a loop is inside of a parallel one, but cannot be shared together with it."""
    *around, _ = path_to(program, node.name)
    outer = next((loop for loop in around if loop.mark == "parallel"), None)
    if outer is None:
        return
    between = around[around.index(outer) :]
    if not all(one.mark == "parallel" and len(one.body) == 1 for one in between):
        message = f"{node.name} is inside a parallel loop already"
        hint = "one level of parallel loops uses all threads; directly nested ones are collapsed"
        raise InvalidOptionError(message, hint=hint)
    if static:
        message = (
            f"{node.name} is shared together with {outer.name}, and has no schedule of its own"
        )
        raise InvalidOptionError(message, hint=f"give {outer.name} the schedule")
    for one in between:
        if not is_rectangular(program, one, node):
            message = (
                f"{node.name} cannot be shared together with {one.name}, on which its bounds depend"
            )
            raise InvalidOptionError(message, hint="share one of them")
