"""Which math functions are ours, and the C of those that are called.

``exp_f32`` is what C's ``expf`` becomes in a kernel that is not to have the C library's bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.codegen.helpers.math import doubles, f32, f64, floats, halves
from polyopt.codegen.helpers.math.parts import BASE
from polyopt.ir.types import F32, F64

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from polyopt.ir.scop import Scop


def _defined(text: str) -> str:
    """What a definition defines, after a comment that it may begin with."""
    (head, *_) = (line for line in text.splitlines() if line.startswith("static "))
    return head.partition("(")[0].partition("[")[0].split()[-1]


#: what is not inlined is not vectorised, and compilers find some of these too long for it
_INLINED = "__attribute__((always_inline))\nstatic inline "
#: functions and tables by name, each after those that it uses
_TEXTS = {
    _defined(text): text.replace("static inline ", _INLINED)
    for texts in (
        BASE,
        halves.INNER,
        floats.INNER,
        f32.INNER,
        floats.FUNCTIONS,
        f32.FUNCTIONS,
        f64.INNER,
        doubles.INNER,
        doubles.FUNCTIONS,
        f64.FUNCTIONS,
        halves.CONVERSIONS,
    )
    for part in texts.values()
    for text in part.strip().split("\n\n")
}
#: the names that programs call
NAMES = (*floats.FUNCTIONS, *f32.FUNCTIONS, *doubles.FUNCTIONS, *f64.FUNCTIONS)
#: functions and tables that only these use
INNER_NAMES = _TEXTS.keys() - set(NAMES) - halves.CONVERSIONS.keys()


def _used(text: str) -> set[str]:
    """The names that a text calls or subscripts."""
    heads = text.replace("[", "(").split("(")[:-1]
    words = ("".join(c if c.isalnum() or c == "_" else " " for c in head) for head in heads)
    return {word.split()[-1] for word in words if word[-1:].strip()}


def _c_library(name: str) -> str:
    """The C library's function: ``expf`` of ``exp_f32``."""
    function, _, type_ = name.rpartition("_")
    return function + {F32.name: "f", F64.name: ""}[type_]


#: function of the C library -> ours: ``expf`` -> ``exp_f32``
VECTOR_MATH: Mapping[str, str] = {_c_library(name): name for name in NAMES}


def has_vector_math(scop: Scop) -> bool:
    """Whether a program calls these, unless it is asked to call the C library's: where integers
    come out it keeps these, as a float that is off in its last place is an integer off by one."""
    return not any(a.is_live_out and a.type.is_integer for a in scop.arrays)


def math_functions(called: Container[str]) -> str:
    """Definitions of those of these functions that are called, conversions of halves among them,
    and of what they call; may be empty."""
    needed = {name for name in (*NAMES, *halves.CONVERSIONS) if name in called}
    kept: list[str] = []
    for name, text in reversed(_TEXTS.items()):
        if name in needed:
            kept.append(text)
            needed |= _used(text) & _TEXTS.keys()
    return "".join(f"{text}\n\n" for text in reversed(kept))
