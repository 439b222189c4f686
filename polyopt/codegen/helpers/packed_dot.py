"""C functions of packed dot products: a pair of 16-bit integers by a vector of such pairs.

``dot_2x16packed_i32x8(pair, pairs)`` is ``(int16_t)pair * (int16_t)p + (pair >> 16) * (p >> 16)``
of each lane ``p`` of eight: what x86 has one instruction for, ``pmaddwd``.
"""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: how these functions are called but for the vector: OpenCL's word for the operation
_PREFIX = "dot_2x16packed_"
#: by bytes of a vector: what compilers say where they have the instruction, and how it is called
_INSTRUCTIONS = {
    16: ("defined __SSE2__", "__builtin_ia32_pmaddwd128(one, other)"),
    32: ("defined __AVX2__", "__builtin_ia32_pmaddwd256(one, other)"),
    64: (
        "defined __AVX512BW__ && !defined __clang__",
        "__builtin_ia32_pmaddwd512_mask(one, other, (i32x16){0}, 65535)",
    ),
}
_TEXT = Template("""\
static inline $vector $name(int32_t pair, $vector pairs) {
    const $vector both = ($vector){0} + pair;
#if $known
    typedef int16_t halves __attribute__((vector_size($bytes)));
    const halves one = (halves)both, other = (halves)pairs;
    return ($vector)$call;
#else
    return ((both << 16) >> 16) * ((pairs << 16) >> 16) + (both >> 16) * (pairs >> 16);
#endif
}
""")


def dot_name(lanes: int) -> str:
    """The function for vectors of so many lanes."""
    return f"{_PREFIX}i32x{lanes}"


#: the functions, by name: the lanes of each
DOTS = {dot_name(bytes_ // 4): bytes_ // 4 for bytes_ in _INSTRUCTIONS}


def dot_functions(called: Iterable[str]) -> str:
    """Definitions of those of these functions that are called, in a fixed order; may be empty."""
    used = set(called)
    return "".join(f"{dot_text(name)}\n" for name in DOTS if name in used)


def dot_text(name: str) -> str:
    """The definition of one of these functions."""
    bytes_ = 4 * DOTS[name]
    known, call = _INSTRUCTIONS[bytes_]
    return _TEXT.substitute(
        name=name, vector=f"i32x{DOTS[name]}", bytes=bytes_, known=known, call=call
    )
