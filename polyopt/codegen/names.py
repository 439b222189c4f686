"""Names that C allows: keywords, macros and library functions get a trailing underscore."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

from polyopt.codegen.chelpers import HELPER, NEAR
from polyopt.ir.expr import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping


def _words(text: str) -> list[str]:
    return text.split()


_KEYWORDS = _words("""
alignas alignof asm auto bool break case char const constexpr continue default do double else enum
extern false float for goto if inline int long nullptr register restrict return short signed sizeof
static static_assert struct switch thread_local true typedef typeof union unsigned void volatile
while
""")
#: Macros of the headers that generated code includes, and of compilers in GNU mode.
_MACROS = _words("""
NULL EOF NAN INFINITY HUGE_VAL HUGE_VALF errno assert offsetof linux unix i386 stdin stdout stderr
INT8_MIN INT16_MIN INT32_MIN INT64_MIN INT8_MAX INT16_MAX INT32_MAX INT64_MAX UINT8_MAX UINT16_MAX
UINT32_MAX UINT64_MAX SIZE_MAX INTPTR_MAX RAND_MAX EXIT_SUCCESS EXIT_FAILURE EDOM ERANGE
FLT_EPSILON DBL_EPSILON FLT_MAX DBL_MAX M_PI M_E
""")
#: Functions and types of the C library, and what every generated function declares itself.
_LIBRARY = _words("""
abs labs llabs div ldiv malloc calloc realloc free aligned_alloc posix_memalign abort exit atexit
qsort bsearch rand srand system getenv memcpy memmove memset memcmp memchr strlen strcmp strcpy
index rindex main printf fprintf sprintf snprintf puts putchar scanf read write open close time
clock signal raise fmin fmax fma fmod remainder copysign cbrt hypot sinh cosh asin acos atan asinh
acosh atanh expm1 log10 log1p logb erfc lgamma tgamma gamma nearbyint rint lrint lround ldexp frexp
modf scalbn nan fdim signbit isnan isinf isfinite isnormal fpclassify jn yn
size_t ptrdiff_t intptr_t uintptr_t float_t double_t threads buffer madvise
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
""")
_RESERVED = frozenset([*_KEYWORDS, *_MACROS, *_LIBRARY, *FUNCTIONS, *(f"{f}f" for f in FUNCTIONS)])
#: types that ``vectors.py`` declares
_VECTOR_TYPE = re.compile(r"f(32|64)x\d+(_at)?")


def c_name(name: str) -> str:
    """The name as a C identifier: unchanged where C allows it, else with a trailing underscore."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    if text[0].isdigit():
        text = f"_{text}"
    helper = HELPER.fullmatch(text) or NEAR.fullmatch(text) or _VECTOR_TYPE.fullmatch(text)
    taken = text in _RESERVED or helper or text.startswith(("__", "omp_"))
    return f"{text}_" if taken else text


def names_in(text: str) -> list[str]:
    """The identifiers in a piece of C, in order: not the ``f`` of ``0.5f``."""
    return re.findall(r"\b[A-Za-z_]\w*", text)


def buffer_names(scratches: Mapping[str, str]) -> list[str]:
    """A distinct, short name per buffer: its array's, numbered where there are several."""
    seen: dict[str, int] = {}
    result: list[str] = []
    for array in scratches.values():
        seen[array] = seen.get(array, 0) + 1
        result.append(f"{array}_tile" if seen[array] == 1 else f"{array}_tile{seen[array]}")
    return result


def operand(text: str) -> str:
    """A piece of C in parentheses, unless it is a name or a number."""
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def fresh(name: str, taken: Container[str]) -> str:
    """The name, with a number where it is taken."""
    result, number = name, 1
    while result in taken:
        number += 1
        result = f"{name}{number}"
    return result


def local_name(stem: str, taken: Container[str]) -> str:
    """A name for a local: after its stem, or a number where it has none."""
    return fresh(stem, taken) if stem else next(v for n in count(1) if (v := f"v{n}") not in taken)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A piece of C with other names for some of its identifiers."""
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), text)


def c_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Distinct C identifiers for distinct names; ``taken`` are those already in use."""
    result: dict[str, str] = {}
    used = set(taken)
    for name in dict.fromkeys(names):
        text = c_name(name)
        while text in used:
            text += "_"
        used.add(text)
        result[name] = text
    return result
