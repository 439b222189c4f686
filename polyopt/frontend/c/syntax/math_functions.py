"""The functions of ``math.h`` and ``stdlib.h`` that expressions may call."""

from __future__ import annotations

from polyopt.ir.expr import FUNCTIONS
from polyopt.ir.types import F32, F64, I32, I64, ScalarType

#: C name -> (our function, its type)
MATH: dict[str, tuple[str, ScalarType]] = {
    **{name: (name, F64) for name in FUNCTIONS if name != "abs"},
    **{f"{name}f": (name, F32) for name in FUNCTIONS if name != "abs"},
    "abs": ("abs", I32),
    "labs": ("abs", I64),
    "llabs": ("abs", I64),
}

#: C name -> (min or max, its type); no type means the common type of the operands
EXTREMA: dict[str, tuple[str, ScalarType | None]] = {
    "fmin": ("min", F64), "fminf": ("min", F32), "fmax": ("max", F64), "fmaxf": ("max", F32),
    "min": ("min", None), "max": ("max", None), "MIN": ("min", None), "MAX": ("max", None),
    "imin": ("min", I32), "imax": ("max", I32),
}  # fmt: skip

KNOWN = ", ".join([*(n for n in MATH if not n.endswith("f")), "fmin", "fmax", "min", "max"])
