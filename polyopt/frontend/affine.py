"""Python's operators on affine integers: what they give, where that is affine again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.isl import affine_constant, constant_value

if TYPE_CHECKING:
    from polyopt.isl import PwAff


def affine_binary(op: str, one: PwAff, other: PwAff) -> PwAff | None:
    """``{ [i] -> [one op other] }``; nothing where it is not affine."""
    match op:
        case "add":
            return one.add(other)
        case "sub":
            return one.sub(other)
        case "min":
            return one.min(other)
        case "max":
            return one.max(other)
        case "mul":
            known = constant_value(one) is not None or constant_value(other) is not None
            return one.mul(other) if known else None
        case "floordiv" | "mod":
            return _affine_division(op, one, other)
        case "shl" | "shr":
            return _affine_shift(op, one, other)
        case _:
            return None


def _affine_division(op: str, one: PwAff, other: PwAff) -> PwAff | None:
    divisor = constant_value(other)
    if not divisor:
        return None
    quotient = one.div(other).floor()
    return quotient if op == "floordiv" else one.sub(quotient.mul(other))


def _affine_shift(op: str, one: PwAff, other: PwAff) -> PwAff | None:
    bits = constant_value(other)
    if bits is None or not 0 <= bits < 63:
        return None
    factor = affine_constant(other.get_domain_space(), 1 << bits)
    return one.mul(factor) if op == "shl" else one.div(factor).floor()
