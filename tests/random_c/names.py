"""Identifiers as people choose them, and as nobody should: to clash with all that has names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .draw import Draw

_PLAIN = (
    "i", "j", "k", "l", "n", "m", "x", "y", "z", "t", "a", "b", "c", "d", "A", "B", "C", "N", "M", "src", "dst", "out",
    "img", "row", "col", "w", "h", "tmp", "acc", "sum", "coef", "kern", "buf", "nx", "ny", "idx", "len", "res",
)  # fmt: skip
#: what generated code, tools and languages around it may call something of their own
_OWN = (
    "i1", "i2", "j0", "x0", "xinside", "inside", "i_tile", "y_tile", "x_tile", "tile", "lane", "lanes", "threads",
    "status", "min", "max", "min_i64", "max_i64", "min_f64", "floordiv_i64", "mod_i64", "floord", "ceild", "a__", "b__",
    "x__", "apart", "c0", "c1", "S0", "S1", "s0", "t0", "t1", "p0", "o0", "i0", "part", "parts", "i64", "u8", "f32",
    "omp_get_max_threads", "omp_get_thread_num", "omp", "value", "size", "point", "block", "scratch", "window", "ring",
    "a_row", "b_local", "restrict_", "vector", "e1", "f", "L", "u", "U", "E", "p2", "_", "_x", "x_", "O0", "in", "is",
    "lambda", "not", "and", "or", "class", "def", "del", "new", "this", "template", "private", "delete", "with",
    "pass", "self", "sizeof_", "reduction", "simd", "parallel", "schedule", "shared", "to", "from", "map", "once",
)  # fmt: skip
#: functions and variables of libraries: a local name may hide them
_LIBRARY = (
    "time", "index", "read", "write", "free", "abs", "exit", "j1", "jn", "y0", "y1", "yn", "gamma", "lgamma_r",
    "signgam", "exp", "pow", "div", "round", "floor", "log", "remainder", "select", "link", "signal", "remove", "rename",
    "printf", "malloc", "memcpy", "memset", "main", "environ", "stat", "pipe", "sqrt", "fabs", "rindex", "bcopy", "step",
    "daylight", "timezone", "optarg", "random", "rand", "qsort", "abort", "atan2", "hypot", "fma", "drem", "scalb", "ffs",
)  # fmt: skip
#: names that headers define as macros or types, and C23 as words: for programs without headers
_HEADERS = (
    "M_PI_2", "M_PI", "M_E", "FP_NAN", "FP_ZERO", "NULL", "INFINITY", "NAN", "EOF", "I", "complex", "bool", "true",
    "false", "assert", "errno", "stdin", "HUGE_VAL",
    "OVERFLOW", "DOMAIN", "isnan", "isinf", "signbit",
    "alignas", "noreturn", "static_assert", "thread_local", "nullptr", "constexpr", "typeof_unqual",
    "omp_lock_t", "math_errhandling", "M_SQRT2", "va_list", "FILE", "time_t", "BUFSIZ", "stdout",
)  # fmt: skip
#: of these, what is known without any header, in frontends that bring the likely ones along
_ALWAYS = (
    "int64_t", "uint8_t", "int8_t", "INT_MAX", "FLT_MAX", "DBL_MAX", "INT64_C", "INT64_MAX", "SIZE_MAX", "offsetof",
    "CHAR_BIT", "ptrdiff_t", "size_t", "RAND_MAX",
)  # fmt: skip


class Names:
    """Names that are not given yet."""

    def __init__(self, draw: Draw, *, headers: bool, taken: tuple[str, ...] = ()) -> None:
        self._draw, self._headers = draw, headers
        self._taken: list[str] = list(taken)
        #: some programs have plain names, some of all kinds, some only what clashes
        self._clashing = draw.choose((0, 30, 30, 90))

    def fresh(self, *, local: bool = True) -> str:
        """A new name; one of file scope is no library's."""
        for _ in range(200):
            name = self._drawn(local=local)
            if name not in self._taken:
                self._taken.append(name)
                return name
        return self._numbered()

    def _numbered(self) -> str:
        name = f"v{len(self._taken)}"
        self._taken.append(name)
        return name

    def take(self, name: str) -> bool:
        """Whether this name was not given yet; now it is."""
        if name in self._taken:
            return False
        self._taken.append(name)
        return True

    def again(self, name: str) -> None:
        """A name may be used again: its scope has ended."""
        self._taken.remove(name)

    def _drawn(self, *, local: bool) -> str:
        draw = self._draw
        if not draw.chance(self._clashing):
            return draw.choose(_PLAIN) + (str(draw.integer(0, 9)) if draw.chance(25) else "")
        if self._taken and draw.chance(35):
            base = draw.choose(self._taken)
            return base + draw.choose(
                ("0", "1", "_", "_0", "_1", "s", "inside", "_tile", "x", "__", base)
            )
        pools = [_OWN]
        pools += [_LIBRARY] * local + [_HEADERS] * (not self._headers)
        if not self._headers and draw.chance(2):
            pools = [_ALWAYS]
        return draw.choose(draw.choose(pools))
