"""What people ask of a plan: its cost, its reasons, other plans near it.

The answers are made by ``polyopt.explain``; these are the named exceptions to the layers, because
people expect them on the object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, cast

from polyopt.arguments import checks_methods
from polyopt.oneline import one_line, some

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.codegen.target import Target
    from polyopt.explain.choices.alternatives import Alternatives
    from polyopt.explain.choices.difference import Difference
    from polyopt.explain.choices.tradeoff import Tradeoff
    from polyopt.explain.explorer.cache_simulator import CacheLevel
    from polyopt.explain.explorer.session import Explorer
    from polyopt.explain.formulas import Formulas
    from polyopt.explain.provenance import Provenance
    from polyopt.explain.remarks.explanation import Explanation
    from polyopt.scheduler.model.cost import Cost
    from polyopt.transform.plan import Plan

    Sizes = Mapping[str, int] | None


@checks_methods
class PlanQueries:
    """The questions that a plan answers. ``sizes`` are parameter values; usual ones if left out."""

    def __copy__(self) -> Self:
        """It never changes."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def _asked(self) -> Plan:
        return cast("Plan", self)

    def __repr__(self) -> str:
        """The program's name, and how much it and the plan have."""
        plan = self._asked()
        scop = plan.scop
        statements, arrays = (
            some(len(scop.statements), "statement"),
            some(len(scop.arrays), "array"),
        )
        moves = some(len(plan.moves), "move") or "no moves"
        return one_line(plan, scop.name, statements, arrays, moves)

    def cost(self, sizes: Sizes = None, *, target: str | None = None) -> Cost:
        """Work repeated, scratch, bytes moved and parallel iterations, before anything runs.

        Raises ``InvalidOptionError`` for an unknown target.
        """
        from polyopt.explain.reasons import bill

        return bill(self._asked(), sizes, target=target)

    def formula(self) -> Formulas:
        """The formulas behind ``cost``, in parameters and tile sizes; sympy, typeset in Jupyter."""
        from polyopt.explain.formulas import formulas

        return formulas(self._asked())

    def explain(
        self, subject: str | None = None, *, if_: str | None = None, sizes: Sizes = None
    ) -> Explanation:
        """What was done with every producer and every loop, what was not, and why.

        ``subject`` keeps what concerns one array, space or loop. ``if_`` asks what another place
        of that producer would bring: ``explain("bx", if_="root")``; places are ``inline``,
        ``element``, ``sliding``, ``scratch`` and ``root``.

        Raises ``UnknownNameError`` where nothing is called that, ``InvalidOptionError`` for an
        unknown place.
        """
        from polyopt.explain.reasons import explain

        return explain(self._asked(), sizes, subject, if_=if_)

    def why(self, element: object, *, sizes: Sizes = None) -> Provenance:
        """Every instance and input behind one element: ``why("out[10, 20]")``.

        Raises ``UnknownNameError`` and ``InvalidOptionError`` for what is no computed element.
        """
        from polyopt.explain.provenance import why

        return why(self._asked(), element, sizes)

    def alternatives(
        self, producer: str, *, sizes: Sizes = None, target: str | Target = "native"
    ) -> Alternatives:
        """Inline, sliding window, tile scratch and full array for a producer, each with its bill
        and its plan. Raises ``UnknownNameError``."""
        from polyopt.explain.choices.alternatives import alternatives

        return alternatives(self._asked(), producer, sizes, target=target)

    def tradeoff(self, *, sizes: Sizes = None, target: str | Target = "native") -> Tradeoff:
        """Memory against work: the plans that no other beats, this one marked."""
        from polyopt.explain.choices.tradeoff import tradeoff

        return tradeoff(self._asked(), sizes, target=target)

    def diff(
        self, other: Plan, *, sizes: Sizes = None, target: str | Target = "native"
    ) -> Difference:
        """What tells another plan of the same program apart from this one.

        Raises ``InvalidOptionError`` where it is for another program.
        """
        from polyopt.explain.choices.difference import diff

        return diff(self._asked(), other, sizes, target=target)

    def explore(
        self,
        *,
        sizes: Sizes = None,
        drawn: Sizes = None,
        caches: Sequence[CacheLevel] | None = None,
    ) -> Explorer:
        """An explorer: moves by hand, each proven; refusals, tiles, order and cache lines drawn.

        ``drawn`` are the parameter values of its pictures, and ``caches`` those that it simulates;
        left out, both are small enough to look at. Raises ``InvalidOptionError`` for values that
        the program does not allow.
        """
        from polyopt.explain.explorer.session import explore

        return explore(self._asked(), sizes, drawn=drawn, caches=caches)

    def _repr_html_(self) -> str:
        from polyopt.explain.jupyter import plan_html

        return plan_html(self._asked())
