"""Explanation: the remarks on a plan, to be read, filtered, and shown in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import guessed
from polyopt.explain.remarks.summary import is_of_loop, summary
from polyopt.oneline import at_sizes, one_line, some
from polyopt.scheduler.model.table import human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.transform.schedule.remark import Remark


@dataclass(frozen=True, eq=False)
class Explanation:
    """What was decided about every producer-consumer pair, nest and loop, and why.

    Iterating gives the rows; ``str`` the text, at most 80 columns wide.
    """

    program: str
    sizes: Mapping[str, int]
    rows: tuple[Remark, ...]
    #: arrays that hold expressions without a name in the source: where, and what is written there
    expressions: Mapping[str, str] = field(default_factory=dict[str, str])

    def __repr__(self) -> str:
        """The program, and how many remarks there are."""
        return one_line(self, at_sizes(self.program, self.sizes), some(len(self.rows), "remark"))

    def __iter__(self) -> Iterator[Remark]:
        """The remarks: pairs first, then nests, then loops."""
        return iter(self.rows)

    def __len__(self) -> int:
        """The number of remarks."""
        return len(self.rows)

    def where(
        self,
        *,
        kind: str | None = None,
        move: str | None = None,
        subject: str | None = None,
        consumer: str | None = None,
        code: str | None = None,
    ) -> Explanation:
        """Only the remarks that fit: of a kind, a move, about a subject (array, loop, or all loops
        of a space), about a consumer, or with an error's code.
        """
        rows = tuple(
            r
            for r in self.rows
            if (kind is None or r.kind == kind)
            and (move is None or r.move == move)
            and (subject is None or about(r, subject))
            and (consumer is None or r.consumer == consumer)
            and (code is None or r.code == code)
        )
        return replace(self, rows=rows)

    @property
    def pairs(self) -> tuple[Remark, ...]:
        """The remarks on producers and their consumers."""
        return tuple(r for r in self.rows if r.consumer)

    @property
    def loops(self) -> tuple[Remark, ...]:
        """The remarks on single loops."""
        return tuple(r for r in self.rows if not r.consumer and is_of_loop(r))

    @property
    def nests(self) -> tuple[Remark, ...]:
        """The remarks on whole nests: blocks of rows, registers, another order."""
        return tuple(r for r in self.rows if not r.consumer and not is_of_loop(r))

    def as_dict(self) -> dict[str, object]:
        """The explanation for JSON."""
        return {
            "program": self.program,
            "sizes": dict(self.sizes),
            "remarks": [remark_as_dict(r) for r in self.rows],
            **({"expressions": dict(self.expressions)} if self.expressions else {}),
        }

    def __str__(self) -> str:
        """Pairs, nests, loops; remarks that say the same stand together, with their numbers."""
        sizes = ", ".join(f"{k}={v}" for k, v in self.sizes.items())
        text = summary(f"{self.program}  {sizes}", self.pairs, self.nests, self.loops)
        named = [f"  {name}: {where}" for name, where in self.expressions.items()]
        return "\n".join([text, *(["", "arrays of expressions", *named] if named else [])])

    def _repr_html_(self) -> str:
        from polyopt.explain.jupyter import explanation_html

        return explanation_html(self)


def about(remark: Remark, subject: str) -> bool:
    """Whether a remark concerns an array, a loop, or any loop of a space."""
    names = {remark.subject, remark.consumer}
    return subject in names or remark.subject.startswith(f"{subject}.")


def remark_as_dict(remark: Remark) -> dict[str, object]:
    """A remark for JSON."""
    return {
        "kind": remark.kind,
        "move": remark.move,
        "subject": remark.subject,
        "consumer": remark.consumer,
        "reason": remark.reason,
        "numbers": dict(remark.numbers),
        "estimated": guessed(remark.numbers),
        "witnesses": [str(w) for w in remark.witnesses],
        "code": remark.code,
        "hint": remark.hint,
        "span": str(remark.span) if remark.span else None,
    }


def number_text(name: str, value: float) -> str:
    """``bytes saved 12.8 MB``, ``computed 1.03 times``, ``producer instances 1,605,632``."""
    if "bytes" in name:
        return f"{name} {human_bytes(value)}"
    if name == "computed":
        if value == 1:
            return "computed once"
        return f"computed {value:.3g} times"
    whole = float(value).is_integer()
    return f"{name} {value:,.0f}" if whole else f"{name} {value:,.3g}"
