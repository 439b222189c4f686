"""Recurrences: stages that are computed step by step, each from what earlier steps left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments, checks_methods
from polyopt.errors import InvalidOptionError
from polyopt.frontend.loops.annotations import as_scalar
from polyopt.frontend.stages.grids import (
    Stage,
    argument_names,
    check_name,
    element,
    extent_term,
    read_ranges,
)
from polyopt.frontend.stages.origin import origin, span_of
from polyopt.frontend.stages.term import Term, as_term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True, eq=False)
class Step:
    """What a step computes of one array: the row at ``offset`` after its number."""

    stage: Stage
    indices: tuple[Term, ...]
    expression: Term
    offset: int


@checks_methods
@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a recurrence, and what each computes, in order."""

    index: Term
    count: Term
    #: the first rows of states
    firsts: list[Step] = field(default_factory=list[Step])
    members: list[Step] = field(default_factory=list[Step])

    def state(
        self,
        name: str,
        extents: object,
        first: Callable[..., object],
        *,
        type: object,  # noqa: A002  (public name)
        indices: Sequence[str] | None = None,
    ) -> Stage:
        """An array that steps update: row ``t`` is what it is before step ``t``.

        ``first`` gives the elements before the first step; ``next`` says what a step makes of
        them. The array has one row more than there are steps.
        """
        made = self._stage(name, extents, as_term(self.count) + 1, type)
        step = self._step(made, first, indices, f"the state {name!r}", at=())
        self.firsts.append(step)
        return made

    def stage(
        self,
        name: str,
        extents: object,
        function: Callable[..., object],
        *,
        type: object,  # noqa: A002  (public name)
        indices: Sequence[str] | None = None,
    ) -> Stage:
        """An array of which each step computes a row: ``function`` gets the step, then indices."""
        made = self._stage(name, extents, self.count, type)
        step = self._step(made, function, indices, f"the stage {name!r}", at=(self.index,))
        self.members.append(step)
        return made

    def next(
        self, state: Stage, function: Callable[..., object], indices: Sequence[str] | None = None
    ) -> None:
        """What a step makes of a state: ``function`` gets the step, then indices.

        Raises ``InvalidOptionError`` for what is no state of these steps, or has its next already.
        """
        if not any(first.stage is state for first in self.firsts):
            raise InvalidOptionError(
                f"{state.name!r} is no state of these steps", span=span_of(origin())
            )
        if any(member.stage is state for member in self.members):
            raise InvalidOptionError(f"{state.name!r} has its next already", span=span_of(origin()))
        what = f"the state {state.name!r}"
        self.members.append(self._step(state, function, indices, what, at=(self.index,), offset=1))

    def _stage(self, name: str, extents: object, count: Term, kind: object) -> Stage:
        check_name(name, "stage")
        ranges = ((as_term(0), as_term(count)), *read_ranges(extents))
        here = origin()
        return Stage(name, ranges, here, (), Term("value"), as_scalar(kind).type, steps=self)

    def _step(
        self,
        stage: Stage,
        function: Callable[..., object],
        indices: Sequence[str] | None,
        what: str,
        *,
        at: tuple[Term, ...],
        offset: int = 0,
    ) -> Step:
        rank = len(stage.ranges) - 1
        rest = [*("step" for _ in at), *(indices or [f"i{d}" for d in range(rank)])]
        names = argument_names(function, rest)
        if len(names) != rank + len(at):
            raise InvalidOptionError(
                f"{what} has {rank} dimension(s), its function takes {len(names) - len(at)}"
                " index(es) beside the step",
                span=span_of(origin()),
            )
        terms = tuple(Term("index", (), name) for name in names[len(at) :])
        return Step(stage, terms, element(function, (*at, *terms), what), offset)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All arrays, in the order of definition."""
        found = dict.fromkeys(step.stage for step in (*self.firsts, *self.members))
        return tuple(sorted(found, key=lambda stage: stage.number))

    def terms(self) -> Iterator[Term]:
        """All that is computed, and how often."""
        yield self.count
        for step in (*self.firsts, *self.members):
            yield step.expression


@checks_arguments
def steps(count: object, *, index: str = "t") -> Steps:
    """The steps of a recurrence, ``count`` of them one after the other.

    A state has a row before each step, and one after the last; a step computes each state's next
    row, and stages of its own on the way, from rows that earlier steps or itself have made::

        x = po.input("x", po.f32, ["T", "N"])
        run = po.steps("T")
        total = run.state("total", ["N"], lambda i: 0.0, type=po.f32)
        run.next(total, lambda t, i: total[t, i] + x[t, i])
        scop = po.pipeline(total)

    Raises ``InvalidOptionError`` for a name that is no identifier or a count that is no size.
    """
    check_name(index, "step")
    return Steps(Term("index", (), index), extent_term(count))
