"""gcc's report of what it vectorised: ``-fopt-info``, read by line.

``kernel.c:29:54: optimized: loop vectorized using 32 byte vectors`` says what was done, ``missed:``
what was not. With ``internals`` gcc tells of every width that it tries, the widest first: the
reason that comes last, of the narrowest, is that no vector of 4 bytes holds a double. A loop is
reported at lines of its body; loops around it sometimes at the same ones.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.runtime.reports.notes import CompilerReport, Note

if TYPE_CHECKING:
    from collections.abc import Iterator

#: the first gcc whose report has these words
OLDEST = 9
FLAG = "-fopt-info-ipa-loop-vec-optimized-missed-internals="
_LINE = re.compile(r"[^:]+:(\d+):\d+: (optimized|missed): +(.*)")
_VECTORS = re.compile(r"(loop|basic block part) vectorized using (?:(\d+) byte|variable length)")
_CALL = re.compile(r"Loop \d+ distributed: split to 0 loops and \d+ library calls")
_MERGED = re.compile(r"Semantic equality hit:(\w+)(?:/\d+)?->(\w+)")
#: what is said of a statement: ``no vectype for stmt: _59 = .MASK_LOAD (_544, 32B, _543);``
_STATEMENT = re.compile(r"(.*?(?:stmt(?: not supported)?|gather load)):? (?:\S+ = )?(.*)")
#: a call or a conversion in it
_CALLED_IN = re.compile(r"\.?\w+(?= \()|\(\w[\w ]*\)(?= \S+$)")

_GATHER = (
    "its elements are not next to each other, and not at a constant distance either: "
    "a subscript is data, a remainder or a division"
)
_CONTROL = "a condition in the loop: split_range() and separate_full_tiles() make loops without"
_MASKED = (
    "a load that a condition guards, of a kind that this target has no masked load for: "
    "separate_full_tiles() and split_range() make loops without"
)
_TYPES = "a conversion between types that this target has no vector instruction for"
_PROFIT = "by the compiler's own costs vectors are slower here: try it without vectorize()"
_FEW = "there are fewer iterations than a vector has lanes: unroll() writes them out"
_CALLED = "a function that has no vector form here"
_ORDER = "iterations need each other's values: it is a recurrence"
#: what tells most first: (beginning of a note, rank, hint)
_REASONS = (
    ("not vectorized: control flow in loop", 0, _CONTROL),
    ("unsupported access type for masked", 0, _MASKED),
    ("conversion not supported by target", 0, _TYPES),
    ("function is not vectorizable", 0, _CALLED),
    ("not vectorized: loop contains function calls", 0, _CALLED),
    ("loop does not have enough iterations", 0, _FEW),
    ("not vectorized: iteration count smaller", 0, _FEW),
    ("Unknown def-use cycle pattern", 0, _ORDER),
    ("bad data dependence", 0, _ORDER),
    ("not vectorized, possible dependence", 0, _ORDER),
    ("not vectorized: not suitable for gather", 0, _GATHER),
    ("unsupported vector types for emulated gather", 0, _GATHER),
    ("op not supported by target", 0, "an operation that this target has no vector form of"),
    ("reduc op not supported by target", 0, "a sum that this target has no vector form of"),
    ("not vectorized: relevant phi not supported", 1, _ORDER),
    ("not vectorized: vectorization is not profitable", 1, _PROFIT),
    ("not vectorized: vectorization not profitable", 1, _PROFIT),
    ("not vectorized: vector version will never be profitable", 1, _PROFIT),
    ("not vectorized: unsupported use in stmt", 1, "a value of the last iteration is used after"),
    ("not vectorized: unsupported data-type", 2, "a type that no vector of this target has"),
    ("not vectorized: complicated access pattern", 2, "strides that vectors do not have here"),
    ("not vectorized: no vectype", 2, "a type that no vector of this target has"),
    ("not vectorized: relevant stmt not supported", 2, ""),
    # also said at lines of a loop of the loops around it
    ("not vectorized: number of iterations cannot be computed", 3, ""),
    ("not vectorized: multiple nested loops", 3, ""),
    ("not vectorized: loop nest containing", 3, ""),
    ("not vectorized: inner-loop count not invariant", 3, ""),
)


def read_gcc(text: str, compiler: str) -> CompilerReport:
    """The notes in a report of gcc."""
    return CompilerReport(compiler, tuple(dict.fromkeys(_notes(text))))


def _notes(text: str) -> Iterator[Note]:
    told: Note | None = None
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        number, said = int(found[1]), found[3]
        note = _done(number, said) if found[2] == "optimized" else _missed(number, said)
        if note is None:
            continue
        if told is not None:
            again = note.text.startswith("relevant stmt not supported")
            if again:  # the note before says what is wrong with this statement
                what = note.text.partition(": ")[2]
                named = what if what and not what.startswith(".") else ""
                note = replace(told, text=f"{told.text}: {named}" if named else told.text)
            else:
                yield told
        told = note if note.kind == "missed" and note.rank == 0 else None
        if told is None:
            yield note
    if told is not None:
        yield told


def _done(line: int, said: str) -> Note | None:
    vectors = _VECTORS.search(said)
    if vectors:
        kind = "vectors" if vectors[1] == "loop" else "straight-line"
        return Note(line, kind, bytes=int(vectors[2] or 0))
    if _CALL.match(said):
        return Note(line, "call")
    merged = _MERGED.match(said)
    return Note(line, "merged", f"{merged[1]} {merged[2]}") if merged else None


def _missed(line: int, said: str) -> Note | None:
    """Why something was not done, if it is about loops and vectors."""
    for beginning, rank, hint in _REASONS:
        if said.startswith(beginning):
            reason = _nameless(re.sub(r"^not vectorized[:,] ", "", said).rstrip(".; "))
            about = _MASKED if ".MASK_" in reason else hint
            return Note(line, "missed", reason, rank=rank, hint=about)
    return None


def _nameless(said: str) -> str:
    """The text without gcc's own names for values, which nobody knows and which change: of a
    statement the function that it calls, or its conversion."""
    statement = _STATEMENT.match(said)
    if statement is None:
        return said
    what = _CALLED_IN.match(statement[2])
    return f"{statement[1]}: {what[0]}" if what else statement[1]
