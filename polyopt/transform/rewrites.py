"""Moves that change the program itself: they come before all others, and are proven by source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Concatenate, ParamSpec, cast

from polyopt.arguments import checks_methods
from polyopt.errors import InvalidOptionError
from polyopt.isl import budget
from polyopt.transform.legality.proof import DEFAULT_BUDGET
from polyopt.transform.schedule.move import Move
from polyopt.transform.schedule.registry import registered
from polyopt.transform.source.clone_stage import clone_stage
from polyopt.transform.source.dead_stores import eliminate_dead_stores
from polyopt.transform.source.double_buffer import double_buffer
from polyopt.transform.source.proof import source_shown
from polyopt.transform.source.scatter_updates import scatter_updates
from polyopt.transform.source.separate_filter import separate_filter
from polyopt.transform.source.separate_reduction import separate_reduction
from polyopt.transform.source.tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.ir.scop import Scop
    from polyopt.transform.plan import Plan

_Given = ParamSpec("_Given")


@checks_methods
class PlanRewrites:
    """What plans have that changes the program before it is scheduled."""

    def separate_filter(self, *statements: str) -> Plan:
        """Separable filters of integers: a column and a row pass, before other moves. Raises
        ``InvalidOptionError`` for what is none."""
        return self._anew(separate_filter, *statements)

    def separate_reduction(self, *statements: str, reassociate: bool = False) -> Plan:
        """Partial reductions over windows, shared by all results that read them, before other
        moves; of floats only with ``reassociate``. Raises ``InvalidOptionError`` for what shares
        none."""
        if not reassociate:
            return self._anew(separate_reduction, *statements)
        return self._anew(separate_reduction, *statements, reassociate=True)

    def clone_stage(self, array: str, *readers: str) -> Plan:
        """Clone a producer (recompute): ``array`` once more, in an array that ``readers`` read,
        before other moves. Raises ``InvalidOptionError`` for what takes more than one statement."""
        return self._anew(clone_stage, array, *readers)

    def scatter_updates(self, *statements: str) -> Plan:
        """Right-looking updates, as soon as what they add is known: the two innermost loops of
        ``statements`` exchanged, before other moves. Raises ``InvalidOptionError`` for what does
        not write one element in its innermost loop, or is in less than two,
        ``OrderViolatedError`` where more would change places than updates of integers."""
        return self._anew(scatter_updates, *statements)

    def double_buffer(self, *arrays: str) -> Plan:
        """Double buffering: ``arrays``, which each step of a loop copies back, change places with
        those that they are copied from, before other moves. Raises ``InvalidOptionError`` where
        no loop copies them, ``IllegalScheduleError`` where results would not be the source's."""
        return self._anew(double_buffer, *arrays)

    def eliminate_dead_stores(self) -> Plan:
        """Dead store elimination: what nothing reads and no result keeps is not computed, and
        elements are not written back where they are; before other moves. Raises
        ``InvalidOptionError`` where each store is of use."""
        return self._anew(eliminate_dead_stores)

    def tabulate(self, statement: str, *loops: str, data: bool = False) -> Plan:
        """Tabulation (loop-invariant code motion into arrays): parts of ``statement`` that depend
        on ``loops`` alone, and with ``data`` on an integer that data choose between bounds, are
        looked up in tables, before other moves. Raises ``InvalidOptionError`` without such."""
        return self._anew(tabulate, statement, *loops, **({"data": True} if data else {}))

    def _anew(
        self,
        function: Callable[Concatenate[Scop, _Given], Scop],
        /,
        *args: _Given.args,
        **options: _Given.kwargs,
    ) -> Plan:
        """A plan of the program after a transformation that changes it."""
        plan, name = cast("Plan", self), function.__name__
        if any(registered(move.name).kind != "source" for move in plan.moves):
            message = f"{name}() changes the program: it has to come before other moves"
            raise InvalidOptionError(message)
        with budget(DEFAULT_BUDGET, f"the move {name}"):
            scop = function(plan.scop, *args, **options)
        moves = (*plan.moves, Move(name, args, tuple(options.items())))
        stages = plan.stages
        beside = (name, plan.moves[-1].name) if plan.moves else ()
        if any(registered(move).is_stage for move in beside):
            stages = (*stages, plan.scop)
        source_shown((plan.source, *stages)[-1], scop)
        return type(plan)(
            scop, moves=moves, checked=plan.checked, source=plan.source, stages=stages
        )
