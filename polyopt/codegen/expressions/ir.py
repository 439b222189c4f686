"""The IR's expressions as C, with their exact meaning and as few casts as C allows.

Every lowered integer is *congruent* to its IR value modulo 2^bits of its IR type, and carries
bounds on what C computes: where those leave the IR type, the next operation that needs the
value itself (a division, a comparison, a conversion) casts it back. Additions and the like go
on without a cast, so a chain of ``u16`` sums is wrapped once, or by the store alone.

Choices that C leaves open: ``min(a, b)`` is ``a < b ? a : b`` (the second operand at NaN); division
by zero and shifts by the width or more are the program's mistake.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast import expr as c
from polyopt.codegen.ast import visit
from polyopt.codegen.expressions.indices import index_value
from polyopt.codegen.expressions.lowered import (
    Lowered,
    common_type,
    constant,
    convert,
    exact,
    explicit,
    in_unsigned,
    is_plain_number,
    is_simple,
    loaded,
)
from polyopt.codegen.helpers.arithmetic import helper_name
from polyopt.codegen.helpers.math.halves import conversion
from polyopt.errors import InternalError
from polyopt.ir import build
from polyopt.ir.expr import (
    Affine,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Inside,
    Load,
    RangeHint,
    Select,
    Unary,
    loads,
)
from polyopt.ir.intervals import decided, is_inside, operation_bounds, whole
from polyopt.ir.types import BOOL, F32, F64, I32, U32, U64, ScalarType, promote_c

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "and": "&", "or": "|", "xor": "^",
    "shl": "<<", "shr": ">>", "lt": "<", "le": "<=", "eq": "==", "ne": "!=",
}  # fmt: skip


def lowered(
    expr: Expr,
    load: Callable[[Load], c.Expr],
    affine: Callable[[Affine], Lowered],
    inside: Callable[[Inside], Lowered],
    *,
    stored: bool = False,
    known: Mapping[int, Lowered] | None = None,
    wrapv: bool = True,
) -> Lowered:
    """The C of ``expr``; the callbacks lower loads, affine values and conditions. Of the latter two
    they say bounds: unrolling may leave a number, which settles what clamps it.

    ``known`` has what stands for nodes, by their id: locals. With ``stored`` it is for the
    right-hand side of an assignment to an object of ``expr.type``: conversions that the assignment
    makes by itself are left to it. Without ``wrapv`` what may overflow is done on unsigned numbers,
    which C lets wrap.
    """
    lowering = _Lowering(load, affine, inside, known or {}, wrapv)
    if not stored:
        return exact(lowering.of(expr))
    if isinstance(expr, Cast) and (expr.type, expr.operand.type) == (F32, F64):
        return replace(convert(exact(lowering.of(expr.operand))), type=F32)
    return lowering.of(expr)


class _Lowering:
    """Lowers one expression, from its leaves."""

    def __init__(
        self,
        load: Callable[[Load], c.Expr],
        affine: Callable[[Affine], Lowered],
        inside: Callable[[Inside], Lowered],
        known: Mapping[int, Lowered],
        wrapv: bool,  # noqa: FBT001
    ) -> None:
        self.load, self.affine, self.inside, self.known = load, affine, inside, known
        self.wrapv = wrapv

    def of(self, expr: Expr) -> Lowered:
        """The expression in C; ``wraps`` is that of any part of it."""
        if id(expr) in self.known:
            return self.known[id(expr)]
        match expr:
            case Const():
                return constant(expr.type, expr.value)
            case Load():
                return loaded(expr.type, self.load(expr))
            case Affine():
                return index_value(expr.type, self.affine(expr))
            case RangeHint():
                return self.of(expr.operand)
            case Inside():
                return replace(self.inside(expr), type=BOOL)
            case _:
                return self._operation(expr)

    def _operation(self, expr: Expr) -> Lowered:
        operands = list(map(self.of, expr.children))
        result = self._node(expr, operands)
        if result.wraps and not self.wrapv and isinstance(expr, (Binary, Unary)):
            result = self._node(expr, [in_unsigned(o) for o in operands])
        low, high = result.bounds
        if low == high and not expr.type.is_float:  # compilers warn about what they can work out
            return constant(expr.type, build.const(expr.type, low).value)
        return replace(result, wraps=result.wraps or any(o.wraps for o in operands))

    def _node(self, expr: Expr, operands: list[Lowered]) -> Lowered:
        match expr:
            case Unary(op=op):
                return _negate(operands[0]) if op == "neg" else _invert(operands[0])
            case Cast():
                return _cast(expr.type, operands[0])
            case Compare(op=op):
                return _compare(op, *operands)
            case Select():
                return _select(expr.type, *operands)
            case Call(function=function):
                return _call(function, expr.type, operands)
            case Binary():
                return _binary(expr, *operands)
            case _:
                msg = f"no C for {type(expr).__name__}"
                raise InternalError(msg)


def _binary(expr: Binary, left: Lowered, right: Lowered) -> Lowered:
    type_ = expr.type
    match expr.op:
        case "min" | "max" as op:
            return _choose(op, type_, left, right)
        case op if type_.is_float:
            return _float_binary(op, type_, left, right)
        case "and" | "or" | "xor" as op if type_ == BOOL:
            return _logical(op, left, right, is_load=bool(loads(expr.right)))
        case "add" | "sub" | "mul" | "and" | "or" | "xor" as op:
            return _wrapping(op, type_, left, right)
        case "shl" | "shr" as op:
            return _shift(op, type_, left, right)
        case op:
            return _divide(op, type_, left, right)


def _join(op: str, left: Lowered, right: Lowered) -> c.Expr:
    """``left op right``."""
    return c.Binary(_SIGNS[op], left.node, right.node)


def _same_values(
    type_: ScalarType, left: Lowered, right: Lowered
) -> tuple[Lowered, Lowered, ScalarType]:
    """Exact operands in a C type that holds both, and no mix of signed with unsigned."""
    left, right = exact(left), exact(right)
    common = common_type(left, right)
    if not _both_inside(left, right, common):
        left = explicit(left, type_)
        common = common_type(left, right)
    if not _both_inside(left, right, common):
        right = explicit(right, type_)
        common = common_type(left, right)
    if common.kind == "uint":
        left, right = (_unsigned(v, common) for v in (left, right))
    return left, right, common


def _both_inside(left: Lowered, right: Lowered, common: ScalarType) -> bool:
    return is_inside(left.bounds, common) and is_inside(right.bounds, common)


def _unsigned(value: Lowered, common: ScalarType) -> Lowered:
    """Compilers warn where a signed value silently becomes unsigned."""
    signed = promote_c(value.ctype, value.ctype).kind == "int"
    return explicit(value, common) if signed and not is_plain_number(value.node) else value


def _float_operands(type_: ScalarType, left: Lowered, right: Lowered) -> tuple[Lowered, Lowered]:
    """Operands that C converts to the float type by itself."""
    if common_type(left, right) != type_:
        left = explicit(left, type_)
    return left, right


def _float_binary(op: str, type_: ScalarType, left: Lowered, right: Lowered) -> Lowered:
    if op in {"add", "sub", "mul", "div"}:
        return Lowered(_join(op, *_float_operands(type_, left, right)), type_)
    return _call("fmod", type_, [left, right]) if op == "mod" else _helper(op, type_, left, right)


def _helper(op: str, type_: ScalarType, *operands: Lowered) -> Lowered:
    """A call of a helper; its parameters convert the arguments, so none needs a cast."""
    given = tuple(operand.node for operand in operands)
    return Lowered(c.Call(helper_name(op, type_), given, type_), type_, whole(type_))


def _wrapping(op: str, type_: ScalarType, left: Lowered, right: Lowered) -> Lowered:
    """An operation whose low bits depend on the operands' low bits alone."""
    if type_ == BOOL:
        left, right = exact(left), exact(right)
        return _truth(Lowered(_join(op, left, right), BOOL, (-1, 2)))
    if op in {"sub", "xor"} and left.node == right.node:
        return constant(type_, 0)
    if op in {"add", "sub"} and c.number_of(right.node) == 0 and right.ctype == I32:
        return replace(left, type=type_)  # of an affine value in an unrolled loop
    common = common_type(left, right)
    bounds = operation_bounds(op, left.bounds, right.bounds)
    node = _join(op, left, right)
    if all(is_inside(b, common) for b in (bounds, left.bounds, right.bounds)):
        return Lowered(node, type_, bounds)
    if common.kind == "uint" and common.bits >= type_.bits:
        return Lowered(node, type_, common.range)
    if common == type_:
        return Lowered(node, type_, common.range, wraps=op in {"add", "sub", "mul"})
    if not (left.is_exact and right.is_exact):
        return _wrapping(op, type_, exact(left), exact(right))
    wide = U32 if type_.bits < U32.bits else type_
    if common.bits > wide.bits:
        right = explicit(right, wide)
    return _wrapping(op, type_, explicit(left, wide), right)


def _negate(value: Lowered) -> Lowered:
    type_ = value.type
    if type_.is_float:
        return _prefix("-", convert(value), (0, 0))
    if type_ == BOOL:
        return _truth(exact(value))
    common = common_type(value)
    bounds = -value.bounds[1], -value.bounds[0]
    if is_inside(bounds, common) and is_inside(value.bounds, common):
        return _prefix("-", value, bounds)
    if (common.kind == "uint" and common.bits >= type_.bits) or common == type_:
        return replace(_prefix("-", value, common.range), wraps=common.kind == "int")
    if not value.is_exact:
        return _negate(exact(value))
    return _negate(explicit(value, type_))


def _prefix(sign: str, value: Lowered, bounds: tuple[int, int]) -> Lowered:
    """A unary operator."""
    return Lowered(c.Unary(sign, value.node), value.type, bounds)


def _invert(value: Lowered) -> Lowered:
    if value.type == BOOL:
        return _prefix("!", value, (0, 1))
    if is_inside(value.bounds, BOOL):  # compilers suspect that ``!`` was meant
        return _wrapping("sub", value.type, constant(value.type, -1), value)
    if value.type.kind == "uint" and value.type.bits < U32.bits:
        return _wrapping("xor", value.type, value, constant(value.type, value.type.range[1]))
    common = common_type(value)
    low, high = ~value.bounds[1], ~value.bounds[0]
    if common.kind == "uint":
        if common.bits < value.type.bits:
            return _invert(explicit(value, value.type))
        low, high = common.range
    return _prefix("~", value, (low, high))


def _shift(op: str, type_: ScalarType, left: Lowered, right: Lowered) -> Lowered:
    left, right = exact(left), exact(right)
    common = common_type(left)
    low = max(0, min(right.bounds[0], type_.bits - 1))
    high = max(0, min(right.bounds[1], type_.bits - 1))
    if high >= common.bits:
        return _shift(op, type_, explicit(left, type_), right)
    node = _join(op, left, right)
    a, b = left.bounds
    if op == "shr":
        corners = (a >> low, a >> high, b >> low, b >> high)
        return Lowered(node, type_, (min(corners), max(corners)))
    bounds = min(a << low, a << high), max(b << low, b << high)
    if a >= 0 and is_inside(bounds, common):
        return Lowered(node, type_, bounds)
    if common.kind == "uint" and common.bits >= type_.bits:
        return Lowered(node, type_, common.range)
    wide = U64 if max(type_.bits, common.bits) > U32.bits else U32
    shifted = _shift(op, wide, replace(explicit(left, wide), type=wide), right)
    return replace(shifted, type=type_)


def _divide(op: str, type_: ScalarType, left: Lowered, right: Lowered) -> Lowered:
    (c, d) = right.bounds
    if type_.kind == "int" and op in {"floordiv", "floormod"}:
        if c == d and c > 0 and c & (c - 1) == 0:
            return _power_of_two(op, type_, left, c)
        if left.bounds[0] < 0 or c <= 0 or not (left.is_exact and right.is_exact):
            return _helper(op, type_, left, right)
    plain = "div" if op in {"div", "floordiv"} else "mod"
    left, right, common = _same_values(type_, left, right)
    (a, b), (c, d) = left.bounds, right.bounds
    divisors = [y for y in (c, d, -1, 1) if c <= y <= d and y]
    quotients = [x // y if (x < 0) == (y < 0) else -(-x // y) for x in (a, b) for y in divisors]
    bounds = min([0, *quotients]), max([0, *quotients])
    if c > 0 and a >= 0:
        bounds = a // d, b // c
    if not is_inside(bounds, common) and common.bits < type_.bits:
        return _divide(op, type_, explicit(left, type_), right)
    if plain == "mod":
        most = max(abs(c), abs(d)) - 1
        bounds = (-min(most, -a) if a < 0 else 0), min(most, max(b, 0))
    bounds = bounds if is_inside(bounds, common) else common.range
    return Lowered(_join(plain, left, right), type_, bounds)


def _power_of_two(op: str, type_: ScalarType, left: Lowered, divisor: int) -> Lowered:
    if op == "floordiv":
        return _shift("shr", type_, left, constant(type_, divisor.bit_length() - 1))
    return _wrapping("and", type_, exact(left), constant(type_, divisor - 1))


def _logical(op: str, left: Lowered, right: Lowered, *, is_load: bool) -> Lowered:
    """``&&`` where it reads well; ``&`` where a skipped load would keep loops scalar."""
    if left.node == right.node:
        return constant(BOOL, 0) if op == "xor" else left
    if op == "xor":
        return Lowered(_join("ne", left, right), BOOL, (0, 1))
    calls = any(isinstance(node, c.Call) for node in visit.walk(right.node))
    if is_load and not calls:
        return Lowered(_join(op, left, right), BOOL, (0, 1))
    sign = "&&" if op == "and" else "||"
    return Lowered(c.Binary(sign, left.node, right.node), BOOL, (0, 1))


def _compare(op: str, left: Lowered, right: Lowered) -> Lowered:
    type_ = left.type
    if type_.is_float:
        truths = [not v.ctype.is_float and is_inside(v.bounds, BOOL) for v in (left, right)]
        left, right = (convert(v) if t else v for v, t in zip((left, right), truths, strict=True))
        return Lowered(_join(op, *_float_operands(type_, left, right)), BOOL, (0, 1))
    left, right, _ = _same_values(type_, left, right)
    known = decided(op, left.bounds, right.bounds)
    if left.node == right.node:
        known = op in {"le", "eq"}
    if known is not None:
        return constant(BOOL, known)
    return Lowered(_join(op, left, right), BOOL, (0, 1))


def _select(type_: ScalarType, cond: Lowered, then: Lowered, other: Lowered) -> Lowered:
    if cond.bounds[0] == cond.bounds[1]:
        return then if cond.bounds[0] else other
    if type_ == BOOL and (then.bounds == (1, 1) or other.bounds == (0, 0)):
        # a choice evaluates one side only, and so do && and ||
        sign = "||" if then.bounds == (1, 1) else "&&"
        second = other if sign == "||" else then
        return Lowered(c.joined(sign, cond.node, second.node), BOOL, (0, 1))
    then, other, _ = _arms(type_, then, other)
    bounds = min(then.bounds[0], other.bounds[0]), max(then.bounds[1], other.bounds[1])
    return Lowered(c.Select(cond.node, then.node, other.node), type_, bounds)


def _arms(type_: ScalarType, one: Lowered, two: Lowered) -> tuple[Lowered, Lowered, ScalarType]:
    """Both results of a choice in one C type that loses nothing."""
    if not type_.is_float:
        return _same_values(type_, one, two)
    common = common_type(one, two)
    if one.ctype.is_float == two.ctype.is_float:
        fits = common.is_float or (is_inside(one.bounds, common) and is_inside(two.bounds, common))
        if fits and one.type == two.type:
            return one, two, common
    one, two = _float_operands(type_, one, two)
    return one, two, common_type(one, two)


def _choose(op: str, type_: ScalarType, left: Lowered, right: Lowered) -> Lowered:
    """``min`` or ``max``: a ternary on names and literals, a helper on anything longer."""
    if type_ == BOOL:
        return _logical("and" if op == "min" else "or", left, right, is_load=False)
    (a, b), (e, f) = left.bounds, right.bounds
    bounds = (min(a, e), min(b, f)) if op == "min" else (max(a, e), max(b, f))
    if not type_.is_float and left.is_exact and right.is_exact and (b <= e or f <= a):
        return left if (b <= e) == (op == "min") else right
    if left.node == right.node and not type_.is_float:
        return left
    if is_simple(left.node) and is_simple(right.node) and left.is_exact and right.is_exact:
        one, two, common = _arms(type_, left, right)
        if type_.is_float and common != type_:
            one, two = explicit(one, type_), explicit(two, type_)
        test = c.Binary("<" if op == "min" else ">", one.node, two.node)
        return Lowered(c.Select(test, one.node, two.node), type_, bounds)
    result = _helper(op, type_, left, right)
    known = left.is_exact and right.is_exact and not type_.is_float
    return replace(result, bounds=bounds) if known else result


def _cast(type_: ScalarType, value: Lowered) -> Lowered:
    """Conversions that lose nothing wait for an operation that makes them by itself."""
    if type_.is_half or value.type.is_half:
        call = c.Call(conversion(type_, value.type), (convert(value).node,), type_)
        return Lowered(call, type_)
    if type_.is_float:
        return _cast_to_float(type_, value)
    if type_ == BOOL:
        return _truth(convert(exact(value)))
    if value.type.is_float:
        return replace(explicit(convert(value), type_), type=type_)
    value = exact(value) if type_.bits > value.type.bits else value
    value = replace(value, type=type_)
    # clang looks for literals that do not fit in the branches of a converted ternary
    return exact(value) if isinstance(value.node, c.Select) else value


def _cast_to_float(type_: ScalarType, value: Lowered) -> Lowered:
    if not value.type.is_float:
        low, high = value.bounds
        literal = build.const(type_, low).value if low == high else 0
        return constant(type_, literal) if low == high else replace(_short(value), type=type_)
    if type_.bits >= value.type.bits and value.ctype.is_float:
        return replace(value, type=type_)
    return replace(explicit(convert(value), type_), type=type_)


def _short(value: Lowered) -> Lowered:
    """An integer that is to be a float, in 32 bits where these hold it: without AVX-512 there is no
    vector instruction from 64 bits."""
    value = exact(value)
    is_long = value.ctype.bits > I32.bits and not isinstance(value.node, c.Const)
    return explicit(value, I32) if is_long and is_inside(value.bounds, I32) else value


def _truth(value: Lowered) -> Lowered:
    """``value != 0``: what a conversion to bool means."""
    if not value.ctype.is_float and is_inside(value.bounds, BOOL):
        return replace(value, type=BOOL)
    return Lowered(c.Binary("!=", value.node, c.number(0)), BOOL, (0, 1))


def _call(function: str, type_: ScalarType, operands: list[Lowered]) -> Lowered:
    if not type_.is_float:
        return _absolute(type_, operands[0])
    name = function + ("f" if type_ == F32 else "")
    if function == "fabs":  # compilers suspect that ``abs`` was meant
        operands = [convert(operand) for operand in operands]
    return Lowered(c.Call(name, tuple(o.node for o in operands), type_), type_)


def _absolute(type_: ScalarType, value: Lowered) -> Lowered:
    value = exact(value)
    if value.bounds[0] >= 0:
        return value
    wraps = type_.bits >= I32.bits and value.bounds[0] == type_.range[0]
    return replace(_helper("abs", type_, value), wraps=wraps)
