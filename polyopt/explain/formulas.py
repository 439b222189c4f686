"""The formulas behind a plan's bill, as sympy expressions that Jupyter typesets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polyopt.arguments import checks_arguments
from polyopt.oneline import one_line
from polyopt.scheduler.model.symbolic import formula, latex_formula, show_formula
from polyopt.transform.schedule.query import unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram


@dataclass(frozen=True, eq=False)
class Formulas:
    """A formula per quantity, in parameters (``H``) and tile sizes (``T_y``).

    ``formulas["scratch bytes"]`` is a sympy expression, ``None`` without a closed form.
    """

    program: ScheduledProgram

    def __repr__(self) -> str:
        """Whose they are; nothing is worked out for that."""
        return one_line(self, self.program.scop.name)

    def __iter__(self) -> Iterator[str]:
        """The quantities."""
        return iter(formula(self.program))

    def __getitem__(self, quantity: str) -> Any:  # noqa: ANN401 - sympy has no types
        """The formula of a quantity. Raises ``UnknownNameError``."""
        found = formula(self.program)
        if quantity not in found:
            raise unknown("quantity", quantity, found)
        return found[quantity]

    @property
    def latex(self) -> str:
        """All formulas as one LaTeX ``aligned`` block."""
        return latex_formula(self.program)

    def __str__(self) -> str:
        """A formula a line."""
        return show_formula(self.program)

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex}\n$$"


@checks_arguments
def formulas(plan: Plan) -> Formulas:
    """The formulas behind ``plan.cost()``; imports sympy when first shown."""
    return Formulas(plan.program)
