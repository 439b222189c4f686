"""What became of the loops of a kernel that are marked as vector loops."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from polyopt.codegen.printers.vector_loops import VectorLoop
    from polyopt.runtime.reports.notes import CompilerReport, Note

Outcome = Literal["vectors", "straight-line", "call", "none", "unknown"]
_SAID = {
    "straight-line": "vectors of statements in a row",
    "call": "a call such as memset or memcpy",
    "none": "no vectors",
    "unknown": "not known",
}
_SILENT = "the compiler says nothing of it: it may never run, or be part of another loop"


@dataclass(frozen=True)
class VectorFact:
    """What the C compiler made of one loop that is marked as a vector loop.

    ``outcome`` is ``vectors``; ``straight-line`` where the loop was written out and its statements
    became vectors (SLP); ``call`` where it became a call such as ``memset``; ``none``; or
    ``unknown``. ``bytes`` and ``lanes`` are those of its widest vectors, 0 where the compiler does
    not say. ``reason`` is why there are none, in the compiler's words.
    """

    loop: VectorLoop
    outcome: Outcome
    bytes: int = 0
    lanes: int = 0
    reason: str = ""
    hint: str = ""

    @property
    def name(self) -> str:
        """The plan's loop: ``out.x``."""
        return self.loop.name

    @property
    def line(self) -> int:
        """The line of the kernel's C with which the loop begins."""
        return self.loop.first

    @property
    def is_vectorized(self) -> bool:
        """Whether its statements are vectors now, or a call that has them."""
        return self.outcome in {"vectors", "straight-line", "call"}

    def __str__(self) -> str:
        """``out.x, line 29: vectors of 32 bytes``."""
        because = f": {self.reason}" if self.reason else ""
        return f"{self.name}, line {self.line}: {self.said}{because}"

    @property
    def said(self) -> str:
        """The outcome in words."""
        if self.outcome != "vectors":
            return _SAID[self.outcome]
        if self.bytes or self.lanes:
            return f"vectors of {self.bytes} bytes" if self.bytes else f"{self.lanes} lanes"
        return "vectors"

    def as_dict(self) -> dict[str, object]:
        """The fact for JSON."""
        return {
            "loop": self.name, "line": self.line, "writes": list(self.loop.writes),
            "outcome": self.outcome, "bytes": self.bytes, "lanes": self.lanes,
            "reason": self.reason, "hint": self.hint,
        }  # fmt: skip


class VectorLoops(tuple[VectorFact, ...]):
    """The facts on all vector loops of a kernel, in the order of its C; prints as a table."""

    __slots__ = ()

    @property
    def missed(self) -> tuple[VectorFact, ...]:
        """Those that the compiler made no vectors of."""
        return tuple(fact for fact in self if fact.outcome == "none")

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Loop, what it writes, line of the C, what it is now, and why: a row for each."""
        return [
            (f.name, ", ".join(f.loop.writes), str(f.line), f.said, f.reason) for f in self
        ]  # fmt: skip

    @property
    def total(self) -> str:
        """``16 of 18 vectorized``."""
        return f"{sum(fact.is_vectorized for fact in self)} of {len(self)} vectorized"

    def __repr__(self) -> str:
        """How many there are, and how many are vectors."""
        return f"<VectorLoops: {self.total}>"

    def __str__(self) -> str:
        """The table."""
        if not self:
            return "no loop is marked as a vector loop"
        rows = [HEAD, *self.rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD) - 1)]
        lines = ["  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from polyopt.explain.jupyter import vector_loops_html

        return vector_loops_html(self)


HEAD = ("loop", "writes", "line", "is now", "why")


def facts(loops: Sequence[VectorLoop], report: CompilerReport | None) -> VectorLoops:
    """What a report says of the vector loops of the file that it is on."""
    if report is None:
        why = "it was compiled without a report, or by a compiler whose report we cannot read"
        return VectorLoops(VectorFact(loop, "unknown", reason=why) for loop in loops)
    said = _by_loop(loops, report.notes)
    found = {loop: _fact(loop, said[loop]) for loop in loops}
    return VectorLoops(_merged(found, report.notes).values())


def _by_loop(loops: Sequence[VectorLoop], notes: Iterable[Note]) -> Mapping[VectorLoop, list[Note]]:
    """The notes on each loop: on the innermost one around their line."""
    found: dict[VectorLoop, list[Note]] = defaultdict(list)
    inner = {line: loop for loop in loops for line in loop.lines}
    for note in notes:
        if note.line in inner:
            found[inner[note.line]].append(note)
    return found


def _fact(loop: VectorLoop, notes: Sequence[Note]) -> VectorFact:
    """What became of a loop. Of one that the compiler has in several forms, the best counts: it is
    what runs where there are iterations enough."""
    for kind in ("vectors", "call", "straight-line"):
        done = [note for note in notes if note.kind == kind]
        if done:
            size, lanes = max(n.bytes for n in done), max(n.lanes for n in done)
            return VectorFact(loop, kind, size, lanes)
    missed = [note for note in notes if note.kind == "missed"]
    if not missed:
        return VectorFact(loop, "unknown", reason=_SILENT)
    note = min(missed, key=lambda n: n.rank)
    return VectorFact(loop, "none", reason=note.text, hint=note.hint)


def _merged(
    found: Mapping[VectorLoop, VectorFact], notes: Iterable[Note]
) -> dict[VectorLoop, VectorFact]:
    """The facts, where a function is another one's code those of that one's loops."""
    result = dict(found)
    for kept, gone in _pairs(notes):
        ours = [loop for loop in found if loop.function == gone]
        theirs = [loop for loop in found if loop.function == kept]
        if len(ours) == len(theirs):
            result |= {
                one: replace(result[other], loop=one)
                for one, other in zip(ours, theirs, strict=True)
                if result[one].outcome == "unknown"
            }
    return result


def _pairs(notes: Iterable[Note]) -> Iterator[tuple[str, str]]:
    """The functions of which one is kept for both."""
    for note in notes:
        if note.kind == "merged":
            kept, gone = note.text.split()
            yield kept, gone
