"""Scheduling by hand: going back, looking at every step, and moves by patterns or functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Concatenate, ParamSpec, cast, overload

from polyopt.arguments import checks_arguments, checks_methods
from polyopt.errors import InvalidOptionError, given
from polyopt.transform.each import each
from polyopt.transform.serialize import replayed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from polyopt.errors import IllegalScheduleError
    from polyopt.transform.each import Each
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.move import Move

_Given = ParamSpec("_Given")


@dataclass(frozen=True, eq=False)
class Step:
    """A move of a plan, and the plan after it."""

    #: how many moves there are up to this one: the first is 1
    number: int
    move: Move
    plan: Plan

    def __str__(self) -> str:
        """The call: ``.tile('out', y=64)``."""
        return str(self.move)


@dataclass(frozen=True, eq=False)
class History(Sequence[Step]):
    """The moves of a plan, the first first, each with the plan after it."""

    steps: tuple[Step, ...]

    def __len__(self) -> int:
        """The number of moves."""
        return len(self.steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        return self.steps[index]

    def __str__(self) -> str:
        """A numbered call a line."""
        return "\n".join(f"{step.number:>3} {step}" for step in self.steps) or "no moves"


@checks_methods
class PlanEditing:
    """What plans have for those who write schedules by hand."""

    def _edited(self) -> Plan:
        return cast("Plan", self)

    def undo(self, moves: int = 1) -> Plan:
        """The plan before its last ``moves``: they are left out, and the others made again.

        Raises ``InvalidOptionError`` where there are fewer.
        """
        plan = self._edited()
        count = len(plan.moves)
        if not 0 <= moves <= count:
            message = f"there are {count} moves, and {given(moves)} of them cannot be undone"
            raise InvalidOptionError(message, hint=f"0 to {count}")
        kept = plan.moves[: count - moves]
        return replayed(_start(plan), _calls(kept)) if moves else plan

    def accept(self, refusal: IllegalScheduleError) -> Plan:
        """The plan after the moves that a refusal offers in place of the one it refused.

        Raises ``InvalidOptionError`` where it offers none, and what the moves raise on another
        plan than the one that refused.
        """
        if not refusal.offer:
            hint = "its hint says what is known"
            raise InvalidOptionError("this refusal offers no moves", hint=hint)
        plan = self._edited()
        for name, args, options in _calls(refusal.offer):
            plan = plan.replay(name, args, options)
        return plan

    @property
    def history(self) -> History:
        """The moves as calls, each with the plan after it: ``history[3].plan.code()``."""
        plan = self._edited()
        steps: list[Step] = []
        current = _start(plan)
        for number, move in enumerate(plan.moves, 1):
            current = replayed(current, _calls([move]))
            steps.append(Step(number, move, current))
        return History(tuple(steps))

    def code(self, *, libm: bool = False) -> str:
        """The C of this plan, proven: what ``compile`` would compile.

        ``libm`` is as for ``emit``. Raises what ``prove`` raises.
        """
        return self._edited().emit(libm=libm).source

    def each(self, *patterns: str, exclude: Iterable[str] = ()) -> Each:
        """All loops, or spaces, whose names match a pattern: ``each("*.x").vectorize(8)``.

        Patterns with a dot mean loops, others computation spaces; ``*``, ``?`` and ``[...]`` are
        as in a shell. One move is made on all of them, but for those that match ``exclude``, or
        on none. Raises ``UnknownNameError`` for a pattern that nothing matches,
        ``InvalidOptionError`` where nothing is left.
        """
        left_out = (exclude,) if isinstance(exclude, str) else tuple(exclude)
        return each(self._edited(), patterns, left_out)

    def apply(
        self,
        schedule: Callable[Concatenate[Plan, _Given], Plan],
        /,
        *args: _Given.args,
        **named: _Given.kwargs,
    ) -> Plan:
        """``schedule(plan, ...)``: a schedule function, whose moves become moves of this plan.

        Its arguments are compared with its annotations where they end in an exception. Raises
        ``InvalidOptionError`` where it takes other arguments, or gives anything but a plan of this
        program, and what its moves raise.
        """
        plan = self._edited()
        name = getattr(schedule, "__name__", "the function")
        try:
            signature(schedule).bind(plan, *args, **named)
        except (TypeError, ValueError) as error:  # no function, one without a signature, others
            message = f"{name}: {error}"
            hint = "a schedule function takes a plan and returns one"
            raise InvalidOptionError(message, hint=hint) from None
        found = checks_arguments(schedule)(plan, *args, **named)
        if not isinstance(cast("object", found), type(plan)):
            message = f"{name} gave {given(found)} in place of a plan"
            raise InvalidOptionError(message, hint="moves give new plans: return the last one")
        if found.source is not plan.source:
            message = f"{name} gave a plan of another program, {found.source.name}"
            raise InvalidOptionError(message, hint="start from the plan that it is given")
        return found


def _start(plan: Plan) -> Plan:
    """The plan of the same program without moves."""
    known = plan.original if plan.scop is plan.source else None  # found out once for both
    return replace(
        plan, scop=plan.source, program=None, moves=(), original=known, remarks=(), stages=()
    )


def _calls(moves: Iterable[Move]) -> list[tuple[str, tuple[object, ...], dict[str, object]]]:
    return [(move.name, move.args, dict(move.options)) for move in moves]
