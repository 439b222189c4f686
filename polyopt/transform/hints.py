"""What would be legal instead: the sentence at the end of a refusal."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

from polyopt.errors import (
    NotPermutableError,
    OrderViolatedError,
    ParallelCarriedError,
    PolyoptError,
    UserError,
)
from polyopt.isl import budget
from polyopt.transform.annotations.loop_kinds import parallelize
from polyopt.transform.legality.proof import prove
from polyopt.transform.loops.fuse_loops import fuse_loops
from polyopt.transform.loops.interchange import interchange
from polyopt.transform.loops.skew import skew
from polyopt.transform.loops.tile import tile
from polyopt.transform.schedule.query import find_loop, path_to
from polyopt.transform.schedule.registry import registered
from polyopt.transform.schedule.tree import PlanLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.errors import IllegalScheduleError, Witness
    from polyopt.isl import OperationLimit
    from polyopt.transform.legality.proof import Flow
    from polyopt.transform.schedule.move import Move
    from polyopt.transform.schedule.program import ScheduledProgram

#: isl operations for a hint, all that it tries together: a tenth of what one proof may take
BUDGET = 2_000_000
#: factors of skewing that are tried for a hint
_FACTORS = (1, 2, 3)
#: how much more than asked for is tried as the shift of a fusion
_SHIFTS = 8
#: any block size shows whether loops are permutable
_BLOCK = 4


def advised(
    error: IllegalScheduleError,
    program: ScheduledProgram,
    original: Flow,
    move: Move,
) -> IllegalScheduleError:
    """The refusal of a move, with what would be legal where trying it shows that."""
    if isinstance(error, OrderViolatedError):
        return _reordered(error, program, original, move)
    if not isinstance(error, ParallelCarriedError) or move.name != "parallelize":
        return error
    if "reassociate(" in error.diagnostic.hint:
        return error
    return with_skewing(error, program, original, move.args[0])


def _reordered(
    error: OrderViolatedError, program: ScheduledProgram, original: Flow, move: Move
) -> IllegalScheduleError:
    """The refusal of a move that reverses a dependence."""
    found = registered(move.name)
    if found.kind == "permutation":
        return not_permutable(move.name, error, suggestion(program, error.witnesses, original))
    if move.name == "fuse_loops":
        return with_shift(error, program, original, move)
    return error.with_hint(found.hint) if found.hint else error


def with_shift(
    error: OrderViolatedError, program: ScheduledProgram, original: Flow, move: Move
) -> OrderViolatedError:
    """The refusal of a loop fusion, with the shift that makes it legal where there is one."""
    options = dict(move.options)

    def later(amount: int) -> ScheduledProgram:
        return fuse_loops(program, *move.args, **{**options, "shift": amount})

    return error.with_hint(shift_hint(later, options.get("shift", 0), original))


def suggestion(program: ScheduledProgram, witnesses: tuple[Witness, ...], original: Flow) -> str:
    """What would make the loops around the witness permutable, found by trying it."""
    loops = _loops(program, witnesses)
    allowed = budget(BUDGET, "a hint")
    for outer, inner in pairwise(loops):
        for factor in _FACTORS:
            if _permutable_after(program, outer, inner, factor, original, allowed):
                skewing = _skewing(outer, inner, factor)
                return f"{skewing} first: then these loops can be exchanged and tiled"
    if allowed.spent:
        return "whether skewing them helps was not decided; tile or parallelise others"
    return "these loops have to stay in their order; tile or parallelise others"


def with_skewing(
    error: ParallelCarriedError, program: ScheduledProgram, original: Flow, loop: str
) -> ParallelCarriedError:
    """The refusal of a parallel loop, with a wavefront in its place where skewing makes one.

    Dependences along two loops that are skewed and exchanged are all carried by the outer one.
    """
    loop = find_loop(program, loop).name
    path = path_to(program, loop)
    allowed = budget(BUDGET, "a hint")
    inside = path[-1].body[0] if len(path[-1].body) == 1 else ""
    around = (*path, inside) if isinstance(inside, PlanLoop) else path
    if any(_is_parallel(program, other.name, original, allowed) for other in around):
        return error  # there is a loop to mark as it is
    for outer, inner in pairwise(around[-3:]):
        for factor in _FACTORS:
            if loop in {outer.name, inner.name} and _is_wavefront(
                program, outer, inner, factor, original, allowed
            ):
                hint = (
                    f"{_skewing(outer, inner, factor)} and "
                    f'interchange("{outer.name}", "{inner.name}") first: then '
                    f"{outer.name} can run in parallel"
                )
                return error.with_hint(hint)
    return error


def _skewing(outer: PlanLoop, inner: PlanLoop, factor: int) -> str:
    """The call that skews one loop by another."""
    amount = f", factor={factor}" if factor > 1 else ""
    return f'skew("{inner.name}", by="{outer.name}"{amount})'


def _is_wavefront(
    program: ScheduledProgram,
    outer: PlanLoop,
    inner: PlanLoop,
    factor: int,
    original: Flow,
    allowed: OperationLimit,
) -> bool:
    try:
        with allowed:
            skewed = skew(program, inner.name, outer.name, factor)
            exchanged = interchange(skewed, outer.name, inner.name)
    except UserError:
        return False
    return _is_parallel(exchanged, outer.name, original, allowed)


def _is_parallel(
    program: ScheduledProgram, loop: str, original: Flow, allowed: OperationLimit
) -> bool:
    try:
        with allowed:
            prove(parallelize(program, loop), original)
    except UserError:
        return False
    return True


def shift_hint(later: Callable[[int], ScheduledProgram], shift: int, original: Flow) -> str:
    """The least shift with which two nests could be fused, found by trying it."""
    shifts = range(shift + 1, shift + _SHIFTS + 1)
    allowed = budget(BUDGET, "a hint")

    def is_legal(amount: int) -> bool:
        return _refusal(later, amount, original, allowed) is None

    # the later the second nest runs, the fewer orders it breaks: where the last shift breaks one,
    # so do all. Windows are the other way round: they keep a value only so long
    refusal = _refusal(later, shifts[-1], original, allowed)
    amount: int | None = None
    if refusal is None:
        amount = shifts[bisect_left(shifts, True, hi=len(shifts) - 1, key=is_legal)]
    elif not isinstance(refusal, OrderViolatedError):
        amount = next(filter(is_legal, shifts[:-1]), None)
    if amount is None and allowed.spent:
        return "whether a shift helps was not decided: fuse the producer instead"
    if amount is None:
        return "no shift helps: fuse the producer instead, which recomputes rather than reorders"
    return f"shift={amount} runs the second nest late enough"


def _refusal(
    later: Callable[[int], ScheduledProgram], amount: int, original: Flow, allowed: OperationLimit
) -> PolyoptError | None:
    try:
        with allowed:
            prove(later(amount), original)
    except UserError as error:
        return error
    return None


def _loops(program: ScheduledProgram, witnesses: tuple[Witness, ...]) -> tuple[PlanLoop, ...]:
    """The loops around the statement that a witness names, from the outside in."""
    for witness in witnesses:
        for place in program.places.values():
            if program.copies[place.copy].statement.name == witness.sink[0]:
                return place.loops
    return ()


def _permutable_after(
    program: ScheduledProgram,
    outer: PlanLoop,
    inner: PlanLoop,
    factor: int,
    original: Flow,
    allowed: OperationLimit,
) -> bool:
    if outer.owner != inner.owner:
        return False
    try:
        with allowed:
            skewed = skew(program, inner.name, outer.name, factor)
            blocks = {outer.iterator: _BLOCK, inner.iterator: _BLOCK}
            prove(tile(skewed, outer.owner, **blocks), original)
    except UserError:
        return False
    return True


def not_permutable(move: str, error: OrderViolatedError, hint: str) -> NotPermutableError:
    """The refusal of a loop move, with what would be legal where skewing helps."""
    message = f"{move} would run a reader before its writer: {error.diagnostic.message}"
    return NotPermutableError(
        message, witnesses=error.witnesses, span=error.diagnostic.span, hint=hint
    )
