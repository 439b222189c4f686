"""The same program whose names are those that polyopt gave to things of its own in the C that it made."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from .ctypes import TYPES

if TYPE_CHECKING:
    from .draw import Draw
    from .generate import Program

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_TOLD_APART = re.compile(
    r'"(?:\\.|[^"\\])*"|/\*.*?\*/|//[^\n]*|^ *#(?! *define)[^\n]*', re.DOTALL | re.MULTILINE
)
#: words of C; and what a header's line, a pragma, or a type is made of
_WORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    asm typeof define include undef ifdef ifndef endif pragma scop endscop omp math stddef stdint stdbool h
    sqrt fabs floor ceil trunc sqrtf fabsf floorf bool true false
    """.split()  # noqa: SIM905 (a list of words is read best so)
)
_TYPES = frozenset(
    word for t in TYPES.values() for s in t.spellings + t.named for word in s.split()
)


def names_in(text: str) -> frozenset[str]:
    """The identifiers of a C text."""
    found = frozenset(_NAME.findall(_TOLD_APART.sub(" ", text)))
    return frozenset(
        n for n in found - _WORDS - _TYPES if not re.match("_[A-Z_]", n) and not n.endswith("_t")
    )


def renamed(program: Program, made: str, draw: Draw) -> Program:
    """Some names of a program exchanged for names that are new in the C made of it."""
    own = (
        names_in(program.text)
        - {program.name, *program.file_names, *program.fixed}
        - _macros(program)
    )
    new = sorted(names_in(made) - names_in(program.text) - {program.name})
    old = draw.some(sorted(own), len(new))
    pairs = dict(zip(old, draw.shuffled(new), strict=False))
    text = _NAME.sub(lambda found: pairs.get(found[0], found[0]), program.text)

    def called(extent: tuple[str, int, int]) -> tuple[str, int, int]:
        return (pairs.get(extent[0], extent[0]), *extent[1:])

    parameters = tuple(
        replace(
            p, name=pairs.get(p.name, p.name), extents=tuple(map(called, p.extents)), into=called(p.into) if p.into else None
        )
        for p in program.parameters
    )  # fmt: skip
    return replace(program, text=text, parameters=parameters)


def _macros(program: Program) -> frozenset[str]:
    """Names of macros and of what they are made of."""
    lines = [line for line in program.text.splitlines() if line.startswith("#")]
    return names_in("\n".join(lines))
