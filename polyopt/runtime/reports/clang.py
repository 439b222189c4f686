"""clang's report of what it vectorised: remarks among its messages, read by line.

``kernel.c:29:5: remark: vectorized loop (vectorization width: 8, interleaved count: 4)
[-Rpass=loop-vectorize]`` is at the line of the loop's head, as is why it was not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.runtime.reports.notes import CompilerReport, Note

if TYPE_CHECKING:
    from collections.abc import Iterator

#: what reports are asked for with; messages without the lines of code that they are about
FLAGS = (
    "-Rpass=(loop-vectorize|slp-vectorizer|loop-idiom)",
    "-Rpass-missed=loop-vectorize",
    "-Rpass-analysis=loop-vectorize",
    "-fno-caret-diagnostics",
)
_LINE = re.compile(r"[^:]+:(\d+):\d+: remark: (.*?)(?: \[-R[^\]]*\])?$")
_VECTORS = re.compile(r"vectorized (?:outer )?loop \(vectorization width: (?:vscale x )?(\d+)")
_SLP = re.compile(r".*SLP vectorized|Vectorized horizontal reduction")
_MISSED = re.compile(
    r"loop not vectorized(?: \(.*\))?(?:: (.*))?$|(the cost-model .* vectorization .*)"
)

_ORDER = "iterations need each other's values: it is a recurrence"
#: (part of a reason, rank, hint)
_REASONS = (
    ("cost-model indicates that vectorization", 0,
     "by the compiler's own costs vectors are slower here: try it without vectorize()"),
    ("control flow", 0,
     "a condition in the loop: split_range() and separate_full_tiles() make loops without"),
    ("call instruction cannot be vectorized", 0, "a function that has no vector form here"),
    ("value that could not be identified as reduction", 0, _ORDER),
    ("unsafe dependent memory operations", 0, _ORDER),
    ("cannot identify array bounds", 0,
     "what it reads and writes may overlap, or a subscript is data"),
    ("could not determine number of loop iterations", 0, ""),
    ("uncountable loop", 0, ""),
    ("instruction cannot be vectorized", 0, "an operation that this target has no vector form of"),
    ("loop contains a switch", 0, "a condition in the loop"),
    ("is not the innermost loop", 3, ""),
)  # fmt: skip


def read_clang(text: str, compiler: str) -> CompilerReport:
    """The notes in what clang printed."""
    return CompilerReport(compiler, tuple(dict.fromkeys(_notes(text))))


def _notes(text: str) -> Iterator[Note]:
    for line in text.splitlines():
        found = _LINE.match(line)
        note = _note(int(found[1]), found[2]) if found else None
        if note is not None:
            yield note


def _note(line: int, said: str) -> Note | None:
    vectors = _VECTORS.match(said)
    if vectors:
        return Note(line, "vectors", lanes=int(vectors[1]))
    if said.startswith("Formed a call to"):
        return Note(line, "call")
    if _SLP.match(said):
        return Note(line, "straight-line")
    missed = _MISSED.match(said)
    if missed is None:
        return None
    reason = missed[1] or missed[2] or ""
    for part, rank, hint in _REASONS:
        if part in reason:
            return Note(line, "missed", reason, rank=rank, hint=hint)
    return Note(line, "missed", reason or "it does not say why", rank=2 if reason else 4)
