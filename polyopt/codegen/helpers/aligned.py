"""C functions that give vectors in a row of memory: aligned ones, and what lies between two.

``before1_f32x16(&a[x])`` is the vector that starts one element before ``a[x]``, put together from
two whole ones; ``ahead_f32x16(&a[x])`` how many elements the next cache line is ahead.
"""

from __future__ import annotations

import re

from polyopt.codegen.helpers.arithmetic import NEAR
from polyopt.ir.types import F32, F64

_AHEAD = """\
static inline int64_t ahead_VECTOR(const TYPE *at) {
    return (int64_t)(-(uintptr_t)at % BYTES / sizeof(TYPE));
}
"""
_MOVED = """\
static inline VECTOR NAME(const TYPE *at) {
#if defined __clang__ || __GNUC__ >= 12
    return __builtin_shufflevector(*(const VECTOR_at *)ONE, *(const VECTOR_at *)TWO,
        PLACES);
#else
    return *(const VECTOR_at *)(at SIGN BY);
#endif
}
"""


def near_functions(*texts: str) -> str:
    """Definitions of the helpers that the given C texts call, in a fixed order; may be empty."""
    used = {found.group(1, 2, 3) for text in texts for found in NEAR.finditer(text)}
    order = sorted(used, key=lambda u: (u[2], u[0], int(u[1] or 0)))
    return "".join(_definition(*one) + "\n" for one in order)


def _definition(kind: str, by: str, vector: str) -> str:
    element, lanes = (F32 if vector.startswith("f32") else F64), int(vector.partition("x")[2])
    if kind == "ahead":
        text = _AHEAD.replace("BYTES", str(lanes * element.bytes))
        return text.replace("VECTOR", vector).replace("TYPE", element.c_name)
    before = kind == "before"
    first = lanes - int(by) if before else int(by)
    marks = {
        "VECTOR": vector,
        "NAME": f"{kind}{by}_{vector}",
        "TYPE": element.c_name,
        "ONE": f"(at - {lanes})" if before else "at",
        "TWO": "at" if before else f"(at + {lanes})",
        "PLACES": ", ".join(str(first + k) for k in range(lanes)),
        "SIGN": "-" if before else "+",
        "BY": by,
    }
    text = _MOVED
    for mark, value in marks.items():
        text = re.sub(rf"\b{mark}(?=_at\b|\b)", value, text)
    return text
