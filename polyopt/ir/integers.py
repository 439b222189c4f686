"""Values as numbers: what C's promotions and casts do not change is left out.

``(uint16_t)(a + b) / 3`` and the same in ``int`` are one value where sums and quotients fit their
types. Integer operations become those of whole numbers, under a cast only where they may leave
their type; below such a cast sums and products need none of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.ir.block import Block
from polyopt.ir.expr import Affine, Binary, Cast, Compare, Const, Expr, Load, Select, Unary
from polyopt.ir.intervals import is_inside, operation_bounds, whole
from polyopt.ir.types import BOOL, I64, U64, ScalarType
from polyopt.isl import dim_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.ir.scop import Scop
    from polyopt.isl import Set

    Bounds = tuple[int, int]

_RING = frozenset({"add", "sub", "mul"})
_ROUNDING = frozenset({"div", "mod", "floordiv", "floormod"})


def plain_values(scop: Scop) -> dict[str, Expr]:
    """What each statement of a program stores, as a number; opaque statements are left out."""
    return {name: value for name, value, _ in _in_order(scop) if value is not None}


def temp_bounds(scop: Scop) -> dict[str, dict[str, Bounds]]:
    """By statement, the least and the greatest value that local arrays may hold when it reads them,
    where that is less than their types hold."""
    return {name: temps for name, _, temps in _in_order(scop)}


def _in_order(scop: Scop) -> Iterator[tuple[str, Expr | None, dict[str, Bounds]]]:
    """Each statement, what it stores as a number, and the bounds of the arrays that it may read."""
    temps: dict[str, Bounds] = {}
    waiting = {a.name: 0 for a in scop.arrays if a.role == "temp"}
    for statement in scop.statements:
        waiting[statement.array] = waiting.get(statement.array, 0) + 1
    stored: dict[str, list[Bounds]] = {}
    for statement in scop.statements:
        name, value = statement.array, None
        bounds, known_before = whole(statement.value.type), dict(temps)
        if not isinstance(statement.value, Block):
            known = _Known(temps, statement.domain.intersect_params(scop.context))
            value, bounds = _plain(statement.value, known)
        yield statement.name, value, known_before
        stored.setdefault(name, []).append(bounds)
        # what is read before its last writer may hold any value
        if len(stored[name]) == waiting[name] and scop.array(name).role == "temp":
            lows, highs = zip(*stored[name], strict=True)
            temps[name] = min(lows), max(highs)


def plain(expr: Expr) -> Expr:
    """One expression over whole numbers; loads stay the objects that they are."""
    return _plain(expr, _Known({}))[0]


@dataclass(frozen=True, eq=False)
class _Known:
    """Bounds of what an expression's leaves can be, where they are tighter than their types."""

    #: of local arrays by name
    temps: Mapping[str, Bounds]
    #: the instances that compute the expression
    domain: Set | None = None

    def affine(self, expr: Affine) -> Bounds:
        """The least and the largest value of an affine part, such as that of a single trip."""
        low, high = whole(expr.type)
        if self.domain is None or self.domain.is_empty():
            return low, high
        form = expr.form.set_tuple_id(dim_type.in_, self.domain.get_tuple_id())
        form = form.intersect_domain(self.domain)
        least, most = form.min_val(), form.max_val()
        if not (least.is_int() and most.is_int()):
            return low, high
        found = int(str(least)), int(str(most))
        return found if is_inside(found, expr.type) else (low, high)


def _is_whole(type_: ScalarType) -> bool:
    return type_.is_integer and type_ != BOOL


def _plain(expr: Expr, known: _Known) -> tuple[Expr, Bounds]:
    """The expression, and its bounds where it is a whole number."""
    match expr:
        case Const() if _is_whole(expr.type):
            return Const(I64, expr.value), (int(expr.value), int(expr.value))
        case Load():
            return expr, known.temps.get(expr.array, whole(expr.type))
        case Affine():
            return expr, known.affine(expr)
        case _ if _is_whole(expr.type):
            return _integer(expr, known)
        case _:
            pass
    children = tuple(_plain(child, known)[0] for child in expr.children)
    if isinstance(expr, Compare):
        return Compare(BOOL, expr.op, *children), (0, 1)
    return (expr.with_children(children) if children else expr), whole(expr.type)


def _integer(expr: Expr, known: _Known) -> tuple[Expr, Bounds]:
    type_ = expr.type
    made = [_plain(child, known) for child in expr.children]
    values = tuple(value for value, _ in made)
    bounds = [found for _, found in made]
    match expr:
        case Cast() if _is_whole(expr.operand.type):
            return _cut(type_, values[0], bounds[0], known)
        case Cast():
            return Cast(type_, values[0]), whole(type_)
        case Binary() if expr.op in _RING:
            return _cut(
                type_, Binary(I64, expr.op, *values), operation_bounds(expr.op, *bounds), known
            )
        case Binary(op="shl", right=Const() as power):
            factor = 1 << int(power.value)
            scaled = Binary(I64, "mul", values[0], Const(I64, factor))
            return _cut(type_, scaled, operation_bounds("mul", bounds[0], (factor, factor)), known)
        case Binary() if expr.op in {"min", "max"}:
            choose = min if expr.op == "min" else max
            (a, b), (c, d) = bounds
            return Binary(I64, expr.op, *values), (choose(a, c), choose(b, d))
        case Binary() if expr.op in _ROUNDING:
            return _rounded(expr, values, bounds)
        case Unary(op="neg"):
            low, high = bounds[0]
            return _cut(type_, Unary(I64, "neg", values[0]), (-high, -low), known)
        case Select():
            (a, b), (c, d) = bounds[1:]
            return Select(I64, *values), (min(a, c), max(b, d))
        case _:
            return expr.with_children(values), whole(type_)


def _rounded(expr: Binary, values: tuple[Expr, ...], bounds: list[Bounds]) -> tuple[Expr, Bounds]:
    """Divisions round alike where no operand is negative."""
    (a, b), (c, d) = bounds
    if a < 0 or c <= 0:
        return Binary(I64, expr.op, *values), whole(expr.type)
    if expr.op in {"div", "floordiv"}:
        return Binary(I64, "div", *values), (a // d, b // c)
    return Binary(I64, "mod", *values), (0, min(b, d - 1))


def _cut(type_: ScalarType, value: Expr, bounds: Bounds, known: _Known) -> tuple[Expr, Bounds]:
    """The value in the type, which changes nothing where the bounds are within it."""
    if is_inside(bounds, type_):
        return value, bounds
    uncut = _uncut(value, type_.bits)
    reach = _reach(uncut, known)  # ``(int64_t)((uint64_t)x << 4)`` is ``16 * x`` where that fits
    if is_inside(reach, type_):
        return uncut, reach
    return Cast(type_, uncut), whole(type_)


def _reach(value: Expr, known: _Known) -> Bounds:
    """Bounds of sums and products of whole numbers, which need not be those of any type."""
    match value:
        case Const() | Load() | Affine():
            return _plain(value, known)[1]
        case Cast():
            return whole(value.type)
        case Binary() if value.op in _RING:
            return operation_bounds(value.op, _reach(value.left, known), _reach(value.right, known))
        case Unary(op="neg"):
            low, high = _reach(value.operand, known)
            return -high, -low
        case _:
            return I64.range[0], U64.range[1]


def _uncut(value: Expr, bits: int) -> Expr:
    """The value but for multiples of ``2 ** bits``: casts to as many bits are left out."""
    match value:
        case Cast() if value.type.bits >= bits and _is_whole(value.operand.type):
            return _uncut(value.operand, bits)
        case Binary() if value.op in _RING:
            return Binary(I64, value.op, _uncut(value.left, bits), _uncut(value.right, bits))
        case Unary(op="neg"):
            return Unary(I64, "neg", _uncut(value.operand, bits))
        case _:
            return value
