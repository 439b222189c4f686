"""Non-temporal stores and prefetches in C: a piece of a row, past the caches or ahead of a read.

``streamed_f32(to, strip, count, first, last, past)`` is ``to[k] = strip[16 + k]`` for
``0 <= k < count``, for the pieces of a row one after the other, from the ``first`` to the ``last``.
Where ``past`` is true, x86 writes whole cache lines to memory, without loading them first, wherever
in a line the row begins: what of a piece begins a line that the next one ends stays in the first
line of ``strip`` until then. What a row's ends share with other rows is stored as always. Other
threads see such stores in any order, until ``settled_f32()``. ``fetched_f32(from, past)`` loads a
piece that nobody waits for.
"""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyopt.ir.types import ScalarType

#: bytes that come from memory and go there as one
LINE = 64
#: bytes of a piece: fetching more at once, loads wait for each other
STRIP = 256
NAMES = ("streamed", "settled", "fetched")

#: what processors have instructions for, without the allocator that comes with it: that includes
#: ``<stdlib.h>``, whose functions programs may have
INTRINSICS = """#define _MM_MALLOC_H_INCLUDED
#define __MM_MALLOC_H
#include <immintrin.h>
"""
_HEADER = f"#ifdef __SSE2__\n{INTRINSICS}#endif\n"
_STREAMED = """static inline void streamed_$kind($type *to, $type *strip, int64_t count,
    int first, int last, int past)
{
#ifdef __SSE2__
    if (past && (uintptr_t)to % sizeof($type) == 0) {
        const $type *from = strip + $line;
        const int64_t behind = (int64_t)((uintptr_t)to % 64 / sizeof($type)); /* a line's start */
        int64_t k = -behind;
        if (first && behind) {
            for (k = 0; k < $line - behind && k < count; k++) {
                to[k] = from[k];
            }
        }
        for (; k + $line <= count; k += $line) {
#ifdef __AVX512F__
            _mm512_stream_si512((void *)(to + k), _mm512_loadu_si512(from + k));
#else
            for (int j = 0; j < $line; j += 16 / (int)sizeof($type)) {
                const __m128i part = _mm_loadu_si128((const void *)(from + k + j));
                _mm_stream_si128((void *)(to + k + j), part);
            }
#endif
        }
        for (; last && k < count; k++) {
            to[k] = from[k];
        }
        for (int j = 0; !last && j < $line; j++) {
            strip[j] = from[count - $line + j];
        }
        return;
    }
#else
    (void)first, (void)last, (void)past;
#endif
    for (int64_t k = 0; k < count; k++) {
        to[k] = strip[$line + k];
    }
}
"""
_SETTLED = """static inline void settled_$kind(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}
"""
_FETCHED = """static inline void fetched_$kind(const $type *from, int past)
{
#ifdef __GNUC__
    for (int k = 0; past && k < $count; k += 64 / (int)sizeof($type)) {
        __builtin_prefetch(from + k);
    }
#else
    (void)from, (void)past;
#endif
}
"""
_TEXTS = {"streamed": _STREAMED, "settled": _SETTLED, "fetched": _FETCHED}


def past_functions(used: list[tuple[str, ScalarType]]) -> str:
    """Definitions of such functions, by name and type of the elements; may be empty."""
    texts = [_filled(_TEXTS[name], kind) for name, kind in used]
    return "\n".join([_HEADER, *texts]) if texts else ""


def _filled(text: str, kind: ScalarType) -> str:
    return Template(text).substitute(
        kind=kind.name, type=kind.c_name, count=STRIP // kind.bytes, line=LINE // kind.bytes
    )
