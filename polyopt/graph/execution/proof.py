"""What was shown of a network: kernel by kernel, of plans and of C."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.oneline import some

if TYPE_CHECKING:
    from polyopt.graph.execution.model import Model, Step
    from polyopt.transform.legality.proof import Proof


@dataclass(frozen=True)
class KernelProof:
    """The proof of one kernel, with the operators that it computes and how often it runs."""

    operators: str
    steps: int
    proof: Proof

    @property
    def code(self) -> str:
        """What was shown of its C."""
        return self.proof.obligations[-1].detail


@dataclass(frozen=True)
class NetworkProof:
    """The proofs of a network's kernels, in the order of their first steps."""

    kernels: tuple[KernelProof, ...]

    @classmethod
    def of(cls, model: Model) -> NetworkProof:
        """What was shown when a model was compiled."""
        runs = Counter(id(step.kernel) for step in model.steps)
        first: dict[int, Step] = {}
        for step in model.steps:
            first.setdefault(id(step.kernel), step)
        return cls(
            tuple(
                KernelProof(step.operators, runs[key], step.kernel.proof)
                for key, step in first.items()
            )
        )

    def __str__(self) -> str:
        """One line per kernel, with what was shown of its C."""
        width = max((len(one.operators) for one in self.kernels), default=0)
        lines = [f"proved: the plans of {some(len(self.kernels), 'kernel')} compute the operators"]
        lines += [f"  {one.operators:<{width}} {one.steps:3} x  {one.code}" for one in self.kernels]
        return "\n".join(lines)
