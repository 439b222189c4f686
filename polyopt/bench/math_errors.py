"""Errors and times of the math functions in generated C, measured with our own C.

``python -m polyopt.bench.math_errors -o docs/math.md`` makes the page that has them; with
``--every 1`` it looks at all floats.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.codegen.helpers.math.functions import NAMES, VECTOR_MATH, math_functions
from polyopt.ir.expr import FUNCTIONS
from polyopt.ir.types import TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.runtime.toolchain import Toolchain

_SOURCE = Path(__file__).with_suffix(".c")
#: by type: bits, the type of the reference, and the end of its functions' names
_WIDE = {"f32": ("uint32_t", "double", ""), "f64": ("uint64_t", "long double", "l")}
#: digits, the exponents of the least normal number and beyond the largest, and the bias (IEEE 754)
_FORMAT = {"f32": (24, -125, 128, 127), "f64": (53, -1021, 1024, 1023)}


def source(type_: str, text: str | None = None) -> str:
    """The C that measures all functions of a type; ``text`` stands for their own C."""
    bits, wide, form = _WIDE[type_]
    digits, least, most, bias = _FORMAT[type_]
    c_name = TYPES[type_].c_name
    magnitude = "fabsf" if type_ == "f32" else "fabs"
    defined = {
        "NUMBER": c_name, "BITS": bits, "WIDE": wide, "WIDE_FORM": form, "DIGITS": digits,
        "LEAST": least, "MOST": most, "BIAS": bias, "NUMBER_ABS": magnitude,
    }  # fmt: skip
    lines = ["#include <stdint.h>", math_functions(NAMES) if text is None else text]
    lines += [f"#define {name} {value}" for name, value in defined.items()]
    lines.append(_SOURCE.read_text(encoding="utf-8"))
    for library, name in VECTOR_MATH.items():
        function, _, of = name.rpartition("_")
        if of == type_:
            kind = "TWO" if FUNCTIONS[function] == 2 else "ONE"
            lines.append(f"{kind}({name}, {library}, {function}{form})")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Swept:
    """What was found over many arguments."""

    #: the largest error in ulps, and where it is
    error: float
    where: tuple[float, ...]
    #: of all results, which differs where a bit does
    digest: int


class Measured:
    """The functions of one type as a library; ``close`` it not, the process keeps it."""

    def __init__(
        self,
        type_: str,
        folder: Path,
        toolchain: Toolchain,
        flags: Sequence[str],
        text: str | None = None,
    ) -> None:
        self.type_ = type_
        self.number: Any = ctypes.c_float if type_ == "f32" else ctypes.c_double
        path = folder / f"{type_}.c"
        path.write_text(source(type_, text), encoding="utf-8")
        toolchain.compile_library(path, path.with_suffix(".so"), flags)
        self.library = ctypes.CDLL(str(path.with_suffix(".so")))

    def sweep(self, name: str, *, step: int = 0, count: int = 0, errors: bool = True) -> Swept:
        """Over every ``step``-th number of 32 bits, or over ``count`` drawn ones."""
        worst = ctypes.c_double(0)
        where = (self.number * 2)()
        function = getattr(self.library, f"polyopt_sweep_{name}")
        function.restype = ctypes.c_uint64
        digest = function(
            ctypes.c_uint64(step), ctypes.c_uint64(count),
            ctypes.byref(worst) if errors else None, where,
        )  # fmt: skip
        return Swept(worst.value, tuple(where), digest)

    def values(self, name: str, *rows: Sequence[float], library: bool = False) -> list[float]:
        """Of some arguments, ours or the C library's."""
        count = len(rows[0])
        kind = self.number * count
        found = kind()
        whose = "library" if library else "values"
        function = getattr(self.library, f"polyopt_{whose}_{name}")
        function(count, *(kind(*row) for row in rows), found)
        return list(found)

    def times(self, name: str, *rows: Sequence[float], rounds: int = 20) -> tuple[float, float]:
        """Nanoseconds of an element, ours and the C library's, in turns."""
        count = len(rows[0])
        kind = self.number * count
        best = (ctypes.c_double * 2)()
        function = getattr(self.library, f"polyopt_times_{name}")
        function(count, *(kind(*row) for row in rows), kind(), rounds, best)
        return best[0], best[1]
