"""Small C functions that printed expressions call, for what C has no operator for.

They are ``static inline``, without branches that a vectoriser cannot turn into selects, and
a translation unit defines only those that it uses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.codegen.helpers.nontemporal import NAMES as PAST_CACHES
from polyopt.codegen.helpers.nontemporal import past_functions
from polyopt.codegen.helpers.permute import lookup_functions
from polyopt.codegen.helpers.transpose import TRANSPOSED
from polyopt.ir.types import TYPES, ScalarType

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = ("min", "max", "abs", "floordiv", "floormod", "lookup", "transposed", *PAST_CACHES)
#: A use of a helper: ``min_f32``, ``floordiv_i64``, ...
HELPER = re.compile(rf"\b({'|'.join(_NAMES)})_({'|'.join(TYPES)})\b")
#: A use of what gives vectors in a row of memory (``passes/aligned_loads.py``): ``before1_f32x16``.
NEAR = re.compile(r"\b(before|behind|ahead)(\d*)_((f32|f64)x(\d+))\b")

#: ``min`` and ``max`` give the second operand when either is NaN, as x86's instructions do.
_INTEGER = {
    "min": "(T a, T b) {\n    return a < b ? a : b;\n}",
    "max": "(T a, T b) {\n    return a > b ? a : b;\n}",
    "abs": "(T a) {\n    return a < 0 ? -a : a;\n}",
    "floordiv": "(T a, T b) {\n    return a / b - ((a % b != 0) & ((a < 0) != (b < 0)));\n}",
    "floormod": (
        "(T a, T b) {\n"
        "    return a % b + (((a % b != 0) & ((a % b < 0) != (b < 0))) ? b : 0);\n}"
    ),
}  # fmt: skip
_FLOAT = {
    "min": _INTEGER["min"],
    "max": _INTEGER["max"],
    "floordiv": (
        "(T a, T b) {\n"
        "    T r = fmod(a, b);\n"
        "    T q = (a - r) / b - (r != 0 && (r < 0) != (b < 0) ? 1 : 0);\n"
        "    T whole = floor(q);\n"
        "    if (b == 0) {\n"
        "        return a / b;\n"
        "    }\n"
        "    if (q == 0) {\n"
        "        return copysign(0, a / b);\n"
        "    }\n"
        "    return q - whole > 0.5f ? whole + 1 : whole;\n"
        "}"
    ),
    "floormod": (
        "(T a, T b) {\n"
        "    T r = fmod(a, b);\n"
        "    if (r == 0) {\n"
        "        return copysign(0, b);\n"
        "    }\n"
        "    return (r < 0) != (b < 0) ? r + b : r;\n"
        "}"
    ),
}


def helper_name(operation: str, type_: ScalarType) -> str:
    """The function's name: ``min_f32``."""
    return f"{operation}_{type_.name}"


def helpers(*texts: str) -> str:
    """Definitions of every helper that the given C texts call, in a fixed order; may be empty."""
    used = {found.groups() for text in texts for found in HELPER.finditer(text)}
    order = [(name, kind) for name in _NAMES for kind in TYPES if (name, kind) in used]
    large = {"lookup", "transposed", *PAST_CACHES}
    short = "".join(_definition(n, TYPES[kind]) + "\n" for n, kind in order if n not in large)
    short += lookup_functions(TYPES[kind] for name, kind in order if name == "lookup")
    short += past_functions([(n, TYPES[kind]) for n, kind in order if n in PAST_CACHES])
    return short + (TRANSPOSED if any(name == "transposed" for name, _ in order) else "")


def _definition(name: str, type_: ScalarType) -> str:
    body = (_FLOAT if type_.is_float else _INTEGER)[name]
    if type_.name == "f32":
        body = re.sub(r"\b(fmod|floor|copysign)\(", r"\1f(", body)
    body = re.sub(r"\bT\b", type_.c_name, body)
    return f"static inline {type_.c_name} {helper_name(name, type_)}{body}\n"


def macros(text: str, one: str, other: str) -> list[tuple[str, str]]:
    """``(name, definition)`` of every helper that a text calls, for code inside of a function.

    Operands are evaluated once: each macro is a statement expression, as gcc and clang have it, and
    has them in the locals ``one`` and ``other``, which no operand may name.
    """
    used = {found.groups() for found in HELPER.finditer(text)}
    order = [(name, kind) for name in _NAMES for kind in TYPES if (name, kind) in used]
    return [
        (helper_name(name, TYPES[kind]), _macro(name, TYPES[kind], {"A": one, "B": other}))
        for name, kind in order
    ]


_VALUES = {
    "min": "A < B ? A : B",
    "max": "A > B ? A : B",
    "abs": "A < 0 ? -A : A",
    "floordiv": "A / B - ((A % B != 0) & ((A < 0) != (B < 0)))",
    "floormod": "A % B + (((A % B != 0) & ((A % B < 0) != (B < 0))) ? B : 0)",
}


def _macro(name: str, type_: ScalarType, locals_: Mapping[str, str]) -> str:
    names = ["a"] if name == "abs" else ["a", "b"]
    values = ", ".join(f"{locals_[n.upper()]} = ({n})" for n in names)
    head = f"#define {helper_name(name, type_)}({', '.join(names)})"
    value = re.sub(r"\b[AB]\b", lambda found: locals_[found[0]], _VALUES[name])
    return f"{head} __extension__({{ {type_.c_name} {values}; {value}; }})"
