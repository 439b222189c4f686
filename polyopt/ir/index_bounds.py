"""Bounds of subscripts: affine ones where data decide, by clamps, remainders and narrow types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.ir.build import value_range
from polyopt.ir.expr import Affine, Binary, Cast, Const, Expr, RangeHint, Select
from polyopt.ir.types import contains
from polyopt.isl import PwAff, affine_constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.isl import Space


def index_bounds(expr: Expr, space: Space | None = None) -> tuple[PwAff | None, PwAff | None]:
    """Affine bounds on an index; the same object twice where it is affine itself.

    ``space`` is ``{ S[i] }``; with it, narrow integer types give bounds too (a ``u8`` is at
    most 255).
    """
    low, high = _form_bounds(expr, space)
    if space is None or (low is not None and high is not None) or expr.type.is_float:
        return low, high
    least, greatest = value_range(expr)
    if low is None and least > -_NARROW:
        low = affine_constant(space, least)
    if high is None and greatest < _NARROW:
        high = affine_constant(space, greatest)
    return low, high


#: A wider range than this says nothing about a subscript.
_NARROW = 1 << 17


def _form_bounds(expr: Expr, space: Space | None) -> tuple[PwAff | None, PwAff | None]:
    match expr:
        case Affine():
            return expr.form, expr.form
        case Const() if space is not None and expr.type.is_integer:
            form = affine_constant(space, int(expr.value))
            return form, form
        case Binary(op="min" | "max"):
            return _clamp_bounds(expr, space)
        case Binary(op="mod" | "floormod"):
            return _remainder_bounds(expr, space)
        case Cast() if contains(expr.type, expr.operand.type):
            return index_bounds(expr.operand, space)
        case Select():
            return _select_bounds(expr, space)
        case RangeHint() if space is not None:
            return expr.low.insert_domain(space), expr.high.insert_domain(space)
        case _:
            return None, None


def _clamp_bounds(expr: Binary, space: Space | None) -> tuple[PwAff | None, PwAff | None]:
    """Bounds of ``min`` and ``max``: one operand bounds the one side, both the other."""
    (a, b), (c, d) = (index_bounds(child, space) for child in expr.children)
    if a is not None and a is b and c is not None and c is d:
        both = a.min(c) if expr.op == "min" else a.max(c)
        return both, both
    if expr.op == "min":
        return _if_both(a, c, PwAff.min), _if_any(b, d, PwAff.min)
    return _if_any(a, c, PwAff.max), _if_both(b, d, PwAff.max)


def _remainder_bounds(expr: Binary, space: Space | None) -> tuple[PwAff | None, PwAff | None]:
    """Bounds of ``x % n``: below the size of ``n``, and on the side of ``x`` where it truncates, of
    ``n`` where it rounds down."""
    sign = expr.left if expr.op == "mod" else expr.right
    low, high = index_bounds(expr.right, space)
    if low is None or low is not high:
        return None, None
    one = affine_constant(low.get_domain_space(), 1)
    most = low.max(low.neg()).sub(one)
    least = affine_constant(low.get_domain_space(), 0)
    return (least if value_range(sign)[0] >= 0 else most.neg()), most


def _select_bounds(expr: Select, space: Space | None) -> tuple[PwAff | None, PwAff | None]:
    (a, b), (c, d) = (index_bounds(child, space) for child in (expr.then, expr.other))
    return _if_both(a, c, PwAff.min), _if_both(b, d, PwAff.max)


def _if_both(
    one: PwAff | None, other: PwAff | None, join: Callable[[PwAff, PwAff], PwAff]
) -> PwAff | None:
    return join(one, other) if one is not None and other is not None else None


def _if_any(
    one: PwAff | None, other: PwAff | None, join: Callable[[PwAff, PwAff], PwAff]
) -> PwAff | None:
    if one is None or other is None:
        return one if other is None else other
    return join(one, other)
