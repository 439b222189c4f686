"""Errors and times of the math functions in generated C, measured with our own C.

``make math`` writes the page that has them, over all floats; without ``--every 1`` it is over some.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.codegen.helpers.math.functions import NAMES, VECTOR_MATH, math_functions
from polyopt.codegen.target import cpu_name, native_target
from polyopt.ir.expr import FUNCTIONS
from polyopt.ir.types import TYPES
from polyopt.runtime.toolchain import find_toolchain

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


#: elements of a row whose times are taken, twenty times within the second cache
_ELEMENTS = 8192
#: arguments between which times are taken: few of them are at a function's ends
_LOW, _HIGH = 0.1, 8.0
_COLUMNS = (
    "| function | type | greatest error, ulp | at | arguments | ours, ns | C library, ns "
    "| times faster |"
)
_HEAD = """\
# Math functions

`exp`, `exp2`, `log`, `log2`, `tanh`, `erf`, `pow`, and of floats `sin`, `cos` and `tan`, are C of
our own in generated code: straight lines of arithmetic, which C compilers make vectors of. All
errors are below one unit in the last place (ulp); ends (infinities, NaN, zeros, numbers below the
normal ones, and `pow`'s table) are those of C's Annex F.

- **The same bits everywhere.** A result hangs on no compiler, flag, vector width, tile or number of
  threads. Compilers may join a product with the addition behind it (fma) where they like; a product
  here has its last bit cleared first, and so cannot be joined, or is written as joined.
- `exp`, `exp2`, `erf` and `tanh` of floats are worked out in floats, where the processor has fused
  multiply-adds, and in doubles where it has none: these two differ in the last place, and those in
  doubles are the nearest floats nearly always
  ([decision 50](adr/0050-exponentials-in-floats.md)).
- **The C library's.** `plan.compile(libm=True)`, `plan.emit(libm=True)` and `polyopt emit --libm`
  call the C library instead, one element after the other. So do, always, programs with integer
  results, as a float that is off in its last place may be an integer that is off by one
  ([decision 26](adr/0026-integers-round-twice.md)); regions that data control; C that is rewritten
  in place, which keeps what it calls; and `sin`, `cos` and `tan` of doubles, `fmod` and `atan2`
  always.
- **Only what is called** is in a file, before the kernel, each with what it does and where its
  numbers are from: `docs/coefficients.py` derives the polynomials (Remez).
- Other functions of floats compute in doubles, and round once in the end. Those of doubles have
  sums and products in two parts where one would lose too much. In a loop that does not become
  vectors they take two to five times as long as the table says of vectors.

"""
_ENDING = """\
Floats of one argument are looked at in their order, {every}; others are drawn: any bits,
exponents near 0, and numbers close to 1. Exact values are those of the next wider type of the C
library. Times are of an element of a row of 8192 between 0.1 and 8, the best of many rounds, on
{where}.

Written by `make math`.
"""


def page(toolchain: Toolchain, every: int, drawn: int) -> str:
    """The page: errors of all functions, and what they cost."""
    lines = [_COLUMNS, "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |"]
    machine = native_target()
    flags = toolchain.flags(machine.flags)
    with tempfile.TemporaryDirectory(prefix="polyopt-") as folder:
        for type_ in _WIDE:
            measured = Measured(type_, Path(folder), toolchain, flags)
            names = [name for name in NAMES if name.endswith(type_)]
            lines += [_line(measured, name, every, drawn) for name in names]
    step = "all of them" if every == 1 else f"one of {every}"
    where = f"{cpu_name()}, vectors of {machine.vector_bytes} bytes, {toolchain}"
    return _HEAD + "\n".join(lines) + "\n\n" + _ENDING.format(where=where, every=step)


def _line(measured: Measured, name: str, every: int, drawn: int) -> str:
    function, _, type_ = name.rpartition("_")
    arguments = FUNCTIONS[function]
    all_of = type_ == "f32" and arguments == 1
    found = measured.sweep(name, step=every) if all_of else measured.sweep(name, count=drawn)
    numbers = random.Random(0)  # noqa: S311 (data of a measurement)
    rows = [[numbers.uniform(_LOW, _HIGH) for _ in range(_ELEMENTS)] for _ in range(arguments)]
    ours, library = measured.times(name, *rows, rounds=400)
    at = ", ".join(f"{x:.9g}" for x in found.where[:arguments])
    count = -(-(1 << 32) // every) if all_of else drawn
    return (
        f"| `{function}` | {type_} | {found.error:.4f} | {at} | {count:,} | {ours:.2f} "
        f"| {library:.2f} | {library / ours:.1f} |"
    )


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=61, help="every so many floats; 1: all")
    parser.add_argument("--drawn", type=int, default=1 << 26, help="arguments of the others")
    parser.add_argument("--output", "-o", type=Path, required=True)
    asked = parser.parse_args()
    text = page(find_toolchain(), asked.every, asked.drawn)
    asked.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
