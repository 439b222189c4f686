"""The names of generated C: what a program's own become, and which ones code generation has.

A parameter or a local may be called like a function or a type of the C library: it hides that one,
and nothing is lost where generated code has no use for it. So names stay as they are but for

- keywords, and what generated code itself calls, defines or expands: these get an underscore;
- names that belong to the compiler by how they look (``_Upper``, ``__any``), or to the header that
  all generated code includes (``INT32_MAX``, ``int8_t``);
- functions: what the C library has of that name is another one, and a program has just one.

Macros of other headers look like ``M_PI_2``, and are undefined where a program has their name
(``hidden_macros``). Macros that take arguments are none without a parenthesis behind them.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Vector
from polyopt.codegen.helpers.aligned import near
from polyopt.codegen.helpers.arithmetic import HELPERS
from polyopt.codegen.helpers.math.functions import INNER_NAMES, NAMES
from polyopt.codegen.helpers.math.halves import CONVERSIONS
from polyopt.codegen.helpers.packed_dot import DOTS
from polyopt.ir.expr import FUNCTIONS
from polyopt.ir.types import BF16, F16, TYPES

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
#: macros in small letters: of compilers in GNU mode, and of the C library where they look like
#: variables
_GNU = ("linux", "unix", "i386", "errno", "math_errhandling")
#: functions that generated code calls and defines, its parameter, and the macros that it prints
_OWN = ("threads", "buffer", "madvise", "aligned_alloc", "free", "release", "INFINITY", "NAN")
_CALLED = ("copysign", *FUNCTIONS)
_HALVES = (F16.c_name, BF16.c_name, *CONVERSIONS)
_RESERVED = frozenset(
    [*_KEYWORDS, *_GNU, *_OWN, *_CALLED, *(f"{f}f" for f in _CALLED), *NAMES, *_HALVES]
)
#: names of the compiler, of OpenMP, and of the harness that exported kernels come with
_OF_OTHERS = re.compile(r"_[A-Z_]\w*|omp_\w*|polyopt_\w*")
#: types and macros of ``<stdint.h>``, as its standard has them
_OF_STDINT = re.compile(
    r"u?int\w*_t|(?:U?INT|PTRDIFF|SIG_ATOMIC|SIZE|WCHAR|WINT)\w*_(?:MIN|MAX|WIDTH|C)"
)
#: types that ``printers/headers.py`` declares
_VECTOR_TYPE = re.compile(r"(f32|f64|i32)x(\d+)(?:_at)?")
#: what macros without parameters are called in headers, but for the compiler's own
_MACRO = re.compile(r"[A-Z](?=[0-9_]*[A-Z])[A-Z0-9_]{2,}")
#: a comment, a string, a name, a number, or a sign
_TOKEN = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\.?\d(?:[eEpP][-+]|[\w.])*|\S""",
    re.DOTALL,
)
#: functions that other ones of generated code call
_INNER = re.compile(r"(?:permute|chosen|lanes)_\d+|bytes_of")
#: What a function of the program's is not called: it may be linked with the C library's, which
#: compilers and other libraries call on their own account.
_LINKED = frozenset(_words("""
main alloca offsetof abort abs aligned_alloc atexit atoi atol atoll bsearch calloc close clock div
exit fopen atof fclose fread fwrite fprintf fputs fputc fgets fseek ftell fflush free getenv index
labs ldiv llabs lldiv malloc memchr memcmp memcpy memmove memset open perror posix_memalign printf
putchar puts qsort raise rand read realloc remove rename rindex scanf signal sleep snprintf sprintf
srand sscanf strcat strchr strcmp strcpy strlen strncmp strncpy strstr strtod strtol system time
write
"""))  # fmt: skip
#: Functions of ``<math.h>``, which is included for those that programs call: compilers have vectors
#: for what it declares. Each has forms for other types, some of them two results.
_MATH = _words("""
acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim ceil floor
fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn ldexp lgamma llogb llrint llround log
log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nextdown nexttoward nextup pow
remainder remquo rint round roundeven scalb scalbln scalbn significand sin sincos sinh sqrt tan tanh
tgamma trunc y0 y1 yn drem finite signbit fpclassify atan2 copysign signgam
""")
_FORMS = {f"{name}{form}{two}" for name in _MATH for form in ("", "f", "l") for two in ("", "_r")}
#: its macros with parameters, its numbers, and types of all headers
_LIKE_MATH = re.compile(
    r"is(?:nan|inf|finite|normal|subnormal|zero|canonical|signaling|eqsig|unordered|greater|less)\w*"
    r"|FP_[A-Z]+|\w+_t"
)


def c_name(name: str) -> str:
    """The name as a C identifier: as it is where C allows it and generated code has no other use
    for it, else with an underscore behind it, or a letter before those it begins with."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    if text[0].isdigit():
        text = f"_{text}"
    if _OF_OTHERS.fullmatch(text):
        text = f"n{text}" if text.startswith("_") else f"n_{text}"
    return f"{text}_" if is_reserved(text) else text


def is_reserved(text: str) -> bool:
    """Whether generated code means something else by an identifier."""
    kinds = (_VECTOR_TYPE, _OF_OTHERS, _OF_STDINT)
    known = text in _RESERVED or text in HELPERS or text in DOTS or near(text) is not None
    return known or any(kind.fullmatch(text) for kind in kinds)


def function_name(name: str) -> str:
    """The name of a function as a C identifier that neither the C library nor the compiler has."""
    text = c_name(name)
    text = f"n{text}" if text.startswith("_") else text
    taken = (
        text in _LINKED | _FORMS | INNER_NAMES
        or _LIKE_MATH.fullmatch(text)
        or _INNER.fullmatch(text)
    )
    return f"{text}_" if taken else text


def hidden_macros(names: Iterable[str]) -> list[str]:
    """Those of names that a header may have as macros, in order: none of code generation's own."""
    return sorted({n for n in names if _MACRO.fullmatch(n) and not is_reserved(n)})


def vector_type(name: str) -> Vector | None:
    """The vector type of that name, or of its values wherever they are in memory."""
    found = _VECTOR_TYPE.fullmatch(name)
    return None if found is None else Vector(TYPES[found[1]], int(found[2]))


def tokens(text: str) -> list[str]:
    """A piece of C word by word, without its comments."""
    return [found for found in _TOKEN.findall(text) if not found.startswith(("/*", "//"))]


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


def fresh(name: str, taken: Container[str]) -> str:
    """The name, with a number where it is taken: behind an underscore if it means something else
    right behind the name."""
    result, number = name, 1
    while result in taken:
        number += 1
        result = f"{name}{number}"
        result = f"{name}_{number}" if is_reserved(result) else result
    return result


def local_name(stem: str, taken: Container[str]) -> str:
    """A name for a local: after its stem, or a number where it has none."""
    return fresh(stem, taken) if stem else next(v for n in count(1) if (v := f"v{n}") not in taken)


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
