"""Interval arithmetic: what an operation on integers can give, and whether a type holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyopt.ir.types import ScalarType


def is_inside(bounds: tuple[int, int], type_: ScalarType) -> bool:
    """Whether every value within the bounds is one of the integer type."""
    if type_.is_float:
        return False
    low, high = type_.range
    return low <= bounds[0] and bounds[1] <= high


def whole(type_: ScalarType) -> tuple[int, int]:
    """The bounds of a type's values; floats have none to speak of."""
    return (0, 0) if type_.is_float else type_.range


def operation_bounds(op: str, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    """Bounds of an operation's result over unbounded integers."""
    (a, b), (c, d) = left, right
    match op:
        case "add":
            return a + c, b + d
        case "sub":
            return a - d, b - c
        case "mul":
            corners = (a * c, a * d, b * c, b * d)
            return min(corners), max(corners)
        case "and" if a >= 0 or c >= 0:
            return 0, min(x for x, low in ((b, a), (d, c)) if low >= 0)
        case _:
            bits = max((x if x >= 0 else ~x).bit_length() for x in (a, b, c, d))
            least = max(a, c) if op == "or" else 0
            return (least if a >= 0 and c >= 0 else -(1 << bits)), (1 << bits) - 1


def decided(op: str, left: tuple[int, int], right: tuple[int, int]) -> bool | None:
    """The outcome of a comparison where bounds alone settle it: compilers warn about such."""
    (a, b), (c, d) = left, right
    match op:
        case "lt":
            return True if b < c else False if a >= d else None
        case "le":
            return True if b <= c else False if a > d else None
        case _:
            if b < c or d < a:
                return op == "ne"
            return op == "eq" if a == b == c == d else None
