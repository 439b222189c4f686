"""What every step of the search is given: the target, sizes to be fast for, and budgets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.codegen.target import Target
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.remark import Remark

    #: one stage of the search: a plan in, a plan and what was decided out
    Step = Callable[[Plan], tuple[Plan, tuple[Remark, ...]]]

#: isl operations of a step between the moves and proofs in it, which have budgets of their own
STEP_BUDGET = 100_000_000
#: programs of more statements are long pipelines: what takes long is not tried for them
MOST_STATEMENTS = 16
#: fusions that a search may try, whatever the program: about ten milliseconds each
MOST_TRIALS = 1200


@dataclass
class Budget:
    """Fusions that a search may still try."""

    left: int = MOST_TRIALS


@dataclass(frozen=True)
class SearchContext:
    """The context of a search: target and sizes that its choices are weighed with."""

    target: Target
    sizes: Mapping[str, int]
    #: sizes that nobody gave: the kernel is called with small and with large ones
    open_sizes: frozenset[str] = frozenset()
    #: prove every step, and each group of rows before it is chosen
    cautious: bool = False
    #: floating sums may be added up in any order
    reassociate: bool = False
    #: threads spin between parallel regions (OpenMP's active wait policy): none has to be woken
    spinning: bool = False
    #: only plans that keep blocks of sums in registers are looked for
    blocks_only: bool = False
    #: plans that were made and not taken, by what they are
    tried: dict[str, Plan] = field(default_factory=dict[str, "Plan"], compare=False)
