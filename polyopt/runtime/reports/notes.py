"""What a compiler says it did with loops, in notes that are the same for all compilers.

Compilers report as they work: by lines of the file, several times for one loop, which they copy,
split and try with vectors of several widths. ``gcc`` and ``clang`` read their texts;
``vector_loops`` says from the notes what became of each loop. Notes are kept in the cache, beside
the library.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from polyopt.codegen.printers.vector_loops import VectorLoop

#: in an entry of the cache; entries of compilers that say nothing have none
REPORT = "report.json"
#: ``vectors``: a loop in vectors; ``straight-line``: statements in a row in vectors (SLP);
#: ``call``: a loop became a call such as ``memset``; ``merged``: a function is another one's code;
#: ``missed``: why a loop is in no vectors
NoteKind = Literal["vectors", "straight-line", "call", "merged", "missed"]
_KINDS = frozenset({"vectors", "straight-line", "call", "merged", "missed"})


@dataclass(frozen=True)
class Note:
    """One thing that a compiler says of a line.

    ``text`` is the reason of what was missed, and of a merged function the two names. ``bytes`` and
    ``lanes`` are those of a vector, 0 where the compiler does not say. Of several reasons that with
    the lowest ``rank`` tells most.
    """

    line: int
    kind: NoteKind
    text: str = ""
    bytes: int = 0
    lanes: int = 0
    rank: int = 0
    hint: str = ""


@dataclass(frozen=True)
class CompilerReport:
    """All notes on one file, in the compiler's order, each once."""

    compiler: str
    notes: tuple[Note, ...]


def about(report: CompilerReport, loops: Iterable[VectorLoop]) -> CompilerReport:
    """What a report says of vector loops: the rest, most of it, is of no use to anyone here."""
    lines = {line for loop in loops for line in loop.lines}
    notes = (note for note in report.notes if note.line in lines or note.kind == "merged")
    return CompilerReport(report.compiler, tuple(notes))


def write_report(report: CompilerReport, directory: Path) -> None:
    """Keep a report with what was compiled."""
    kept = {"compiler": report.compiler, "notes": [_short(note) for note in report.notes]}
    (directory / REPORT).write_text(json.dumps(kept), encoding="utf-8")


def read_report(directory: Path) -> CompilerReport | None:
    """The report that is kept in a directory; ``None`` where none can be read."""
    try:
        kept: Any = json.loads((directory / REPORT).read_text(encoding="utf-8"))
        notes = tuple(Note(**note) for note in kept["notes"])
        wrong = any(note.kind not in _KINDS for note in notes)
        return None if wrong else CompilerReport(str(kept["compiler"]), notes)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _short(note: Note) -> dict[str, object]:
    """A note without what it does not say."""
    return {name: value for name, value in asdict(note).items() if value or name == "line"}
