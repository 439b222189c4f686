"""What a translation unit has before its functions: headers, types, helpers, what compilers hear.

All of it follows from what the functions use: so printers and the readers of printed C find the
same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.codegen.ast.names import hidden_macros
from polyopt.codegen.helpers.aligned import joins_vectors, near_functions
from polyopt.codegen.helpers.arithmetic import has_intrinsics, helpers, needs_math
from polyopt.codegen.helpers.math.functions import math_functions
from polyopt.codegen.helpers.math.halves import half_types
from polyopt.codegen.helpers.packed_dot import DOTS, dot_functions
from polyopt.ir.expr import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyopt.codegen.ast.expr import Vector
    from polyopt.codegen.printers.vocabulary import Uses

_THREADS = """#ifdef _OPENMP
int omp_get_thread_num(void);
#else
#define omp_get_thread_num() 0
#endif"""
#: a compiler that is not asked for OpenMP passes over its pragmas, and need not say so
_UNKNOWN = """#ifndef _OPENMP
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif"""
#: clang warns of loops that it could have made vectors of, and did not
_NOT_VECTORS = """#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#endif"""
#: gcc (12.2) loses what a loop stores down a row once it has rewritten its addresses, takes the
#: function around it for one that stores nothing, and leaves out the calls
_STORES = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-ipa-pure-const")
#if __GNUC__ > 10
#pragma GCC optimize("no-ipa-modref")
#endif
#endif"""
#: gcc compares costs of vector loops, which it does not for loops that OpenMP marks
_WEIGH = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("simd-cost-model=dynamic")
#endif"""
#: gcc (12.2) takes sums of integers apart to add up products first, more than there are registers,
#: and keeps words for the next iteration in registers that are no vectors', and on the stack (a
#: convolution takes 1.55 ms where it took 2.04)
_IN_ORDER = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-reassoc,no-predictive-commoning")
#endif"""
#: where vectors are no registers, functions give them otherwise: only those of other files care
_BY_VALUE = """#pragma GCC diagnostic ignored "-Wpsabi\""""
#: What ``<stdlib.h>`` has besides are functions that programs may have, so it is not included.
#: Large buffers start at a cache line. Fresh memory costs a fault per page, in every call: where
#: Linux has large pages for those who ask, 512 faults are one. Its header defines many more names,
#: which programs may have.
_BUFFER = """void *aligned_alloc(__SIZE_TYPE__ alignment, __SIZE_TYPE__ bytes);
void free(void *memory);
#ifdef __linux__
int madvise(void *start, __SIZE_TYPE__ bytes, int advice);
#endif
/* who loads this may have memory for buffers */
void *(*polyopt_allocate)(__SIZE_TYPE__ bytes) __attribute__((weak));
void (*polyopt_release)(void *memory) __attribute__((weak));

static void *buffer(__SIZE_TYPE__ bytes) {
    if (polyopt_allocate) {
        return polyopt_allocate(bytes);
    }
    void *found = aligned_alloc(64, (bytes + 63) / 64 * 64);
#ifdef __linux__
    if (found && bytes >> 22) { /* MADV_HUGEPAGE, from the start of a page: a wish, no more */
        madvise((void *)(((uintptr_t)found | 65535) + 1), bytes - 65536, 14);
    }
#endif
    return found;
}

static inline void release(void *memory) {
    if (polyopt_release) {
        polyopt_release(memory);
    } else {
        free(memory);
    }
}

"""
_LAPS = """double *polyopt_laps;

static void polyopt_lap(int lap) {
    static double before;
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (lap && polyopt_laps) {
        polyopt_laps[lap - 1] += seconds - before;
    }
    before = seconds;
}

"""
_MATH = frozenset(
    f"{name}{form}" for name in ("copysign", *FUNCTIONS) if name != "abs" for form in ("", "f")
)
#: extremes of floats in lanes -> what joins them: OpenMP's own would lose what is no number
LANES = {"max": "max_or_nan", "min": "min_or_nan"}
_JOINS = {
    "max_or_nan": ("omp_in < omp_out", "-__builtin_inf()"),
    "min_or_nan": ("omp_in > omp_out", "__builtin_inf()"),
}
#: what compilers are told that changes no value: what not to say, and what to weigh
_TOLD = (_UNKNOWN, _NOT_VECTORS, _BY_VALUE, _WEIGH, _IN_ORDER)


def vector_types(vectors: Iterable[Vector]) -> list[str]:
    """Definitions of vector types, and of their values wherever they are in memory."""
    lines: list[str] = []
    for vector in sorted(vectors, key=lambda v: v.c_name):
        type_, size = vector.element.c_name, vector.element.bytes
        wide = f"vector_size({size * vector.lanes})"
        lines.append(f"typedef {type_} {vector.c_name} __attribute__(({wide}));")
        lines.append(
            f"typedef {type_} {vector.c_name}_at"
            f" __attribute__(({wide}, aligned({size}), may_alias));"
        )
    return lines


def lane_joins(names: Iterable[str]) -> list[str]:
    """Declarations of what joins the lanes of vector loops."""
    return [
        f"#pragma omp declare reduction({name} : float, double : omp_out ="
        f" (({keeps}) | (omp_out != omp_out)) ? omp_out : omp_in) initializer(omp_priv = {start})"
        for name, (keeps, start) in _JOINS.items() if name in names
    ]  # fmt: skip


def before(uses: Uses, *, weighs: bool = False) -> str:
    """What a translation unit has before its tasks and its kernel: all that these need. Compilers
    are asked to weigh its vector loops where ``weighs`` says so."""
    support = helpers(uses.called) + math_functions(uses.called) + near_functions(uses.called)
    support += dot_functions(uses.called)
    if "buffer" in uses.called:
        support = _BUFFER + support
    if _has_laps(uses):
        support = _LAPS + support
    includes_math = _includes_math(uses)
    types = half_types(uses.names) + vector_types(uses.vectors) + lane_joins(uses.names)
    told = [_WEIGH] if weighs else []
    parts = [[*_heads(uses, math=includes_math), *told], types, [support.rstrip()]]
    if includes_math or has_intrinsics(uses.called) or _has_laps(uses):
        # headers may have macros of the names that the program has
        parts.append([f"#undef {name}" for name in hidden_macros(uses.names)])
    return "".join(f"{text}\n\n" for part in parts if (text := "\n".join(part)))


def _heads(uses: Uses, *, math: bool) -> list[str]:
    """Headers, and what compilers are told of the whole file."""
    heads = ["#include <stdint.h>"]
    if "omp_get_thread_num" in uses.called:
        heads.append(_THREADS)
    if uses.pragmas:
        heads.append(_UNKNOWN)
    if uses.tasks:
        heads.append(_STORES)
    if "simd" in uses.pragmas:
        heads.append(_NOT_VECTORS)
    has_dots = not uses.called.isdisjoint(DOTS)
    if has_dots or any(map(joins_vectors, uses.called)):
        heads.append(_BY_VALUE)
    if has_dots:
        heads.append(_IN_ORDER)
    if math:
        heads.append("#include <math.h>")
    if _has_laps(uses):
        heads.append("#include <time.h>")
    return heads


def _has_laps(uses: Uses) -> bool:
    return "polyopt_lap" in uses.called


def _includes_math(uses: Uses) -> bool:
    calls = not _MATH.isdisjoint(uses.called) or needs_math(uses.called)
    return calls or "INFINITY" in uses.names or "NAN" in uses.names


def after_notes(text: str) -> str:
    """A file without the comment at its head."""
    if not text.startswith("/*"):
        return text
    rest = text.partition("*/")[2]
    return rest[1:] if rest.startswith("\n") else text


def parts_of(text: str, prototype: str) -> tuple[str, str]:
    """A file without notes, split before the first of its tasks and its kernel."""
    place = 0
    for line in text.splitlines(keepends=True):
        is_task = line.startswith("static void ") and not line.startswith("static void *")
        if is_task or line.startswith(prototype):
            break
        place += len(line)
    return text[:place], text[place:]


def brings_along(text: str, uses: Uses) -> bool:
    """Whether a text is what such functions need before them, but for what compilers are told."""
    return _without_told(text) == _without_told(before(uses))


def _without_told(text: str) -> str:
    for part in _TOLD:
        text = text.replace(f"{part}\n", "")
    return text
