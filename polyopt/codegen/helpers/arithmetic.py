"""Small C functions that printed expressions call, for what C has no operator for.

They are ``static inline``, without branches that a vectoriser cannot turn into selects, and
a translation unit defines only those that it uses.
"""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from polyopt.codegen.helpers.nontemporal import NAMES as PAST_CACHES
from polyopt.codegen.helpers.nontemporal import past_functions
from polyopt.codegen.helpers.permute import lookup_functions
from polyopt.codegen.helpers.transpose import TRANSPOSED
from polyopt.ir.types import TYPES, ScalarType

if TYPE_CHECKING:
    from collections.abc import Callable, Container

_OPERATIONS = ("min", "max", "abs", "floordiv", "floormod", "lookup", "transposed", *PAST_CACHES)
#: operations whose text is longer than a function's body
_LARGE = frozenset({"lookup", "transposed", *PAST_CACHES})
#: operations that call ``fmod``, for floats
_OF_MATH = ("floordiv", "floormod")


def helper_name(operation: str, type_: ScalarType) -> str:
    """The function's name: ``min_f32``."""
    return f"{operation}_{type_.name}"


#: function -> its operation and type, in the order of their definitions: ``min_f32``, ...
HELPERS = {
    helper_name(operation, type_): (operation, type_)
    for operation in _OPERATIONS for type_ in TYPES.values()
}  # fmt: skip

#: ``min`` and ``max`` give the second operand when either is NaN, as x86's instructions do.
_INTEGER = {
    "min": "($type a, $type b) {\n    return a < b ? a : b;\n}",
    "max": "($type a, $type b) {\n    return a < b ? b : a;\n}",
    "abs": "($type a) {\n    return a < 0 ? -a : a;\n}",
    "floordiv": (
        "($type a, $type b) {\n"
        "    return a / b - ((a % b != 0) & ((a < 0) != (b < 0)));\n}"
    ),
    "floormod": (
        "($type a, $type b) {\n"
        "    return a % b + (((a % b != 0) & ((a % b < 0) != (b < 0))) ? b : 0);\n}"
    ),
}  # fmt: skip
_FLOAT = {
    "min": _INTEGER["min"],
    "max": "($type a, $type b) {\n    return a > b ? a : b;\n}",
    "floordiv": (
        "($type a, $type b) {\n"
        "    $type r = $fmod(a, b);\n"
        "    $type q = (a - r) / b - (r != 0 && (r < 0) != (b < 0) ? 1 : 0);\n"
        "    $type whole = $floor(q);\n"
        "    if (b == 0) {\n"
        "        return a / b;\n"
        "    }\n"
        "    if (q == 0) {\n"
        "        return $copysign(0, a / b);\n"
        "    }\n"
        "    return q - whole > 0.5f ? whole + 1 : whole;\n"
        "}"
    ),
    "floormod": (
        "($type a, $type b) {\n"
        "    $type r = $fmod(a, b);\n"
        "    if (r == 0) {\n"
        "        return $copysign(0, b);\n"
        "    }\n"
        "    return (r < 0) != (b < 0) ? r + b : r;\n"
        "}"
    ),
}


def helpers(called: Container[str]) -> str:
    """Definitions of the helpers that are called, in a fixed order; may be empty."""
    used = _used(called)
    short = "".join(_definition(*one) + "\n" for one in used if one[0] not in _LARGE)
    short += lookup_functions(type_ for operation, type_ in used if operation == "lookup")
    short += past_functions([one for one in used if one[0] in PAST_CACHES])
    return short + (TRANSPOSED if any(one[0] == "transposed" for one in used) else "")


def needs_math(called: Container[str]) -> bool:
    """Whether the helpers that are called use ``<math.h>``."""
    return any(type_.is_float and operation in _OF_MATH for operation, type_ in _used(called))


def has_intrinsics(called: Container[str]) -> bool:
    """Whether the helpers that are called use instructions of processors."""
    return any(operation in _LARGE for operation, _ in _used(called))


def _used(called: Container[str]) -> list[tuple[str, ScalarType]]:
    return [one for name, one in HELPERS.items() if name in called]


def _definition(operation: str, type_: ScalarType) -> str:
    body = Template((_FLOAT if type_.is_float else _INTEGER)[operation])
    form = "f" if type_.name == "f32" else ""
    text = body.substitute(
        {name: f"{name}{form}" for name in ("fmod", "floor", "copysign")}, type=type_.c_name
    )
    return f"static inline {type_.c_name} {helper_name(operation, type_)}{text}\n"


def macros(
    called: Container[str], named: Callable[[str], str], one: str, other: str
) -> list[tuple[str, str]]:
    """``(name, definition)`` of the helpers that are called, for code inside of a function.

    ``named`` gives what functions and types are called there. Operands are evaluated once: each
    macro is a statement expression, as gcc and clang have it, and has them in the locals ``one``
    and ``other``, which no operand may name.
    """
    made: list[tuple[str, str]] = []
    for operation, type_ in _used(called):
        name = named(helper_name(operation, type_))
        declared = {"A": f"{one} = (a)", "B": f"{other} = (b)"}
        if operation == "abs":
            del declared["B"]
        value = Template(_VALUES[operation]).substitute(A=one, B=other)
        locals_ = f"{named(type_.c_name)} {', '.join(declared.values())}"
        head = f"#define {name}({', '.join(declared).lower()})"
        made.append((name, f"{head} __extension__({{ {locals_}; {value}; }})"))
    return made


_VALUES = {
    "min": "$A < $B ? $A : $B",
    "max": "$A > $B ? $A : $B",
    "abs": "$A < 0 ? -$A : $A",
    "floordiv": "$A / $B - (($A % $B != 0) & (($A < 0) != ($B < 0)))",
    "floormod": "$A % $B + ((($A % $B != 0) & (($A % $B < 0) != ($B < 0))) ? $B : 0)",
}
