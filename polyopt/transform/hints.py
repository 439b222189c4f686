"""What would be legal instead: the sentence at the end of a refusal."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import (
    IllegalScheduleError,
    NotPermutableError,
    OrderViolatedError,
    ParallelCarriedError,
    PolyoptError,
    UserError,
    VectorCarriedError,
)
from polyopt.isl import budget
from polyopt.transform.enabling import Enabling, called
from polyopt.transform.legality.proof import prove
from polyopt.transform.loops.fuse_loops import fuse_loops
from polyopt.transform.schedule.registry import registered

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.errors import Witness
    from polyopt.isl import OperationLimit
    from polyopt.transform.legality.proof import Flow
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.move import Move
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: isl operations for a hint, all that it tries together: a tenth of what one proof may take
BUDGET = 2_000_000
#: how much more than asked for is tried as the shift of a fusion
_SHIFTS = 8


def advised(error: IllegalScheduleError, plan: Plan, move: Move) -> IllegalScheduleError:
    """The refusal of a move on a plan, with what would be legal where trying it shows that."""
    allowed = budget(BUDGET, "a hint")
    search = Enabling(plan, move, allowed)
    if isinstance(error, OrderViolatedError):
        return _reordered(error, search)
    if isinstance(error, ParallelCarriedError | VectorCarriedError):
        return _carried(error, search)
    if isinstance(error, NotPermutableError) and move.name in {"tile", "vectorize"}:
        found = search.imperfect() if move.name == "tile" else search.inwards()
        return _offered(error, found) if found else error
    return error


def _offered(
    error: IllegalScheduleError, moves: tuple[Move, ...], also: str = ""
) -> IllegalScheduleError:
    """The refusal with moves that are legal in its place: those before the last one enable it."""
    *before, last = map(called, moves)
    *_, then = moves
    can = {"parallelize": "can run in parallel", "vectorize": "can be a vector loop"}
    marks = [m for m in moves if m.name == then.name and m.name in can]
    if marks:
        before = list(map(called, moves[: len(moves) - len(marks)]))
        last = f"{' and '.join(m.args[0] for m in marks)} {can[then.name]}"
    hint = f"{' and '.join(before)} first: then {last}"
    if not before:
        hint = f"{last} as {'they are' if len(marks) > 1 else 'it is'}"
    if not marks:
        hint += " is legal"
    return error.with_hint(hint + also, moves)


def _carried(error: IllegalScheduleError, search: Enabling) -> IllegalScheduleError:
    """The refusal of a parallel or vector loop."""
    known = error.diagnostic.hint
    if "reassociate(" in known:
        return error.with_hint(known, search.reassociated())
    found = search.marked()
    return _offered(error, found) if found else error


def _reordered(error: OrderViolatedError, search: Enabling) -> IllegalScheduleError:
    """The refusal of a move that reverses a dependence."""
    move, program, original = search.move, search.plan.program, search.plan.original
    found = registered(move.name)
    if found.kind == "permutation":
        offer = search.permuted(_loops(program, error.witnesses))
        refusal = not_permutable(move.name, error, _unhelped(search.allowed))
        return _offered(refusal, offer) if offer else refusal
    if move.name == "fuse_loops":
        return with_shift(error, program, original, move)
    return error.with_hint(found.hint) if found.hint else error


def _unhelped(allowed: OperationLimit) -> str:
    if allowed.spent:
        return "whether skewing them helps was not decided; tile or parallelise others"
    return "these loops have to stay in their order; tile or parallelise others"


def with_shift(
    error: OrderViolatedError, program: ScheduledProgram, original: Flow, move: Move
) -> OrderViolatedError:
    """The refusal of a loop fusion, with the shift that makes it legal where there is one."""
    options = dict(move.options)

    def later(amount: int) -> ScheduledProgram:
        return fuse_loops(program, *move.args, **{**options, "shift": amount})

    hint, amount = shift_hint(later, options.get("shift", 0), original)
    again = replace(move, options=tuple({**options, "shift": amount}.items()))
    return error.with_hint(hint, () if amount is None else (again,))


def shift_hint(
    later: Callable[[int], ScheduledProgram], shift: int, original: Flow
) -> tuple[str, int | None]:
    """The least shift with which two nests could be fused, found by trying it, in words as well."""
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
        return "whether a shift helps was not decided: fuse the producer instead", None
    if amount is None:
        told = "no shift helps: fuse the producer instead, which recomputes rather than reorders"
        return told, None
    return f"shift={amount} runs the second nest late enough", amount


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


def not_permutable(move: str, error: OrderViolatedError, hint: str) -> NotPermutableError:
    """The refusal of a loop move."""
    message = f"{move} would run a reader before its writer: {error.diagnostic.message}"
    return NotPermutableError(
        message, witnesses=error.witnesses, span=error.diagnostic.span, hint=hint
    )
