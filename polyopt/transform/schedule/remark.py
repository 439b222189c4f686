"""Remarks: what was decided, for what reason, with numbers and witnesses. Data, not text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.errors import PolyoptError, Witness
    from polyopt.source import Span

KINDS = ("applied", "refused", "not considered", "unknown")


@dataclass(frozen=True)
class Remark:
    """One decision: ``subject`` (a producer or loop), the move, and why it was made or not.

    ``numbers`` holds what the decision rests on, by name: instances, bytes, factors.
    """

    kind: str
    move: str
    subject: str
    reason: str
    #: the consumer, where the decision is about a producer-consumer pair
    consumer: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])
    witnesses: tuple[Witness, ...] = ()
    #: name of the error class that a refusal would raise; "" where the model said no
    code: str = ""
    hint: str = ""
    span: Span | None = None

    def __str__(self) -> str:
        """One line, its numbers in brackets."""
        pair = f"{self.subject} -> {self.consumer}" if self.consumer else self.subject
        shown = ", ".join(f"{k} {v:,g}" for k, v in self.numbers.items())
        return f"{self.kind:<8} {self.move:<10} {pair}: {self.reason}" + (
            f" [{shown}]" if shown else ""
        )


def refusal(move: str, subject: str, error: PolyoptError) -> Remark:
    """The remark of a move that was refused."""
    return Remark(
        "refused",
        move,
        subject,
        error.diagnostic.message,
        witnesses=getattr(error, "witnesses", ()),
        code=error.code,
        hint=error.diagnostic.hint,
        span=error.diagnostic.span,
    )
