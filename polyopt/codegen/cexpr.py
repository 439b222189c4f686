"""Expressions as C text with the IR's exact meaning and as few casts and parentheses as C allows.

Every printed integer is *congruent* to its IR value modulo 2^bits of its IR type, and carries
bounds on what C computes: where those leave the IR type, the next operation that needs the
value itself (a division, a comparison, a conversion) casts it back. Additions and the like go
on without a cast, so a chain of ``u16`` sums is wrapped once, or by the store alone.

Choices that C leaves open: ``min(a, b)`` is ``a < b ? a : b`` (the second operand at NaN); division
by zero and shifts by the width or more are the program's mistake.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.chelpers import helper_name
from polyopt.codegen.ctext import (
    ADD,
    AND,
    EQUAL,
    LESS,
    LOGICAL_AND,
    LOGICAL_OR,
    MUL,
    OR,
    PRIMARY,
    SHIFT,
    TERNARY,
    UNARY,
    XOR,
    CText,
    c_constant,
    common_type,
    convert,
    decided,
    exact,
    explicit,
    in_unsigned,
    is_inside,
    is_simple,
    loaded_text,
    operation_bounds,
    whole,
)
from polyopt.codegen.indices import index_value
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
    Select,
    Unary,
    Within,
    loads,
)
from polyopt.ir.types import BOOL, F32, F64, I32, U32, U64, ScalarType, promote_c

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OPERATORS = {
    "add": ("+", ADD), "sub": ("-", ADD), "mul": ("*", MUL), "div": ("/", MUL),
    "mod": ("%", MUL), "and": ("&", AND), "or": ("|", OR), "xor": ("^", XOR),
    "shl": ("<<", SHIFT), "shr": (">>", SHIFT), "lt": ("<", LESS), "le": ("<=", LESS),
    "eq": ("==", EQUAL), "ne": ("!=", EQUAL),
}  # fmt: skip


def c_expression(
    expr: Expr,
    load: Callable[[Load], str],
    affine: Callable[[Affine], CText],
    inside: Callable[[Inside], CText],
    *,
    stored: bool = False,
    known: Mapping[int, CText] | None = None,
    wrapv: bool = True,
) -> CText:
    """Print ``expr``; the callbacks print loads, affine values and conditions. Of the latter two
    they say what type C gives them, and bounds: unrolling may leave a number, which settles what
    clamps it.

    ``known`` has the texts of nodes, by their id, that are not to be printed: names of locals.
    With ``stored`` the text is for the right-hand side of an assignment to an object of
    ``expr.type``: conversions that the assignment makes by itself are left to it. Without ``wrapv``
    what may overflow is done on unsigned numbers, which C lets wrap.
    """
    printer = _Printer(load, affine, inside, known or {}, wrapv)
    if not stored:
        return exact(printer.print(expr))
    if isinstance(expr, Cast) and (expr.type, expr.operand.type) == (F32, F64):
        return replace(convert(exact(printer.print(expr.operand))), type=F32)
    return printer.print(expr)


class _Printer:
    """One method per kind of node, each giving a ``CText``."""

    def __init__(
        self,
        load: Callable[[Load], str],
        affine: Callable[[Affine], CText],
        inside: Callable[[Inside], CText],
        known: Mapping[int, CText],
        wrapv: bool,  # noqa: FBT001
    ) -> None:
        self.load, self.affine, self.inside, self.known = load, affine, inside, known
        self.wrapv = wrapv

    def print(self, expr: Expr) -> CText:
        """The expression's text; ``wraps`` is that of any part of it."""
        if id(expr) in self.known:
            return self.known[id(expr)]
        match expr:
            case Const():
                return c_constant(expr.type, expr.value)
            case Load():
                return loaded_text(expr.type, self.load(expr))
            case Affine():
                return index_value(expr.type, self.affine(expr))
            case Within():
                return self.print(expr.operand)
            case Inside():
                return replace(self.inside(expr), type=BOOL)
            case _:
                return self._operation(expr)

    def _operation(self, expr: Expr) -> CText:
        operands = list(map(self.print, expr.children))
        result = self._node(expr, operands)
        if result.wraps and not self.wrapv and isinstance(expr, (Binary, Unary)):
            result = self._node(expr, [in_unsigned(o) for o in operands])
        low, high = result.bounds
        if low == high and not expr.type.is_float:  # compilers warn about what they can work out
            return c_constant(expr.type, build.const(expr.type, low).value)
        return replace(result, wraps=result.wraps or any(o.wraps for o in operands))

    def _node(self, expr: Expr, operands: list[CText]) -> CText:
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


def _binary(expr: Binary, left: CText, right: CText) -> CText:
    type_ = expr.type
    match expr.op:
        case "min" | "max" as op:
            return _choose(op, type_, left, right)
        case op if type_.is_float:
            return _float_binary(op, type_, left, right)
        case "and" | "or" | "xor" as op if type_ == BOOL:
            return _logical(op, left, right, loaded=bool(loads(expr.right)))
        case "add" | "sub" | "mul" | "and" | "or" | "xor" as op:
            return _wrapping(op, type_, left, right)
        case "shl" | "shr" as op:
            return _shift(op, type_, left, right)
        case op:
            return _divide(op, type_, left, right)


def _join(op: str, left: CText, right: CText) -> tuple[str, int]:
    """``left op right`` with the parentheses that C needs, and those that compilers ask for."""
    sign, level = _OPERATORS[op]
    if op in {"add", "sub", "mul", "div", "mod"}:
        return f"{left.at(level)} {sign} {right.at(level + 1)}", level
    if level in {LESS, EQUAL}:
        return f"{_plain(left, ADD)} {sign} {_plain(right, ADD)}", level
    chained = left.precedence == level and op in {"and", "or", "xor"}
    one = left.text if chained else _plain(left, UNARY)
    return f"{one} {sign} {_plain(right, UNARY)}", level


def _plain(value: CText, precedence: int) -> str:
    """Compilers suspect that ``!a == b`` was meant for ``!(a == b)``."""
    return f"({value})" if value.text.startswith("!") else value.at(precedence)


def _same_values(type_: ScalarType, left: CText, right: CText) -> tuple[CText, CText, ScalarType]:
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


def _both_inside(left: CText, right: CText, common: ScalarType) -> bool:
    return is_inside(left.bounds, common) and is_inside(right.bounds, common)


def _unsigned(value: CText, common: ScalarType) -> CText:
    """Compilers warn where a signed value silently becomes unsigned."""
    signed = promote_c(value.ctype, value.ctype).kind == "int"
    return explicit(value, common) if signed and not value.text.isdigit() else value


def _float_operands(type_: ScalarType, left: CText, right: CText) -> tuple[CText, CText]:
    """Operands that C converts to the float type by itself."""
    if common_type(left, right) != type_:
        left = explicit(left, type_)
    return left, right


def _float_binary(op: str, type_: ScalarType, left: CText, right: CText) -> CText:
    if op in {"add", "sub", "mul", "div"}:
        text, level = _join(op, *_float_operands(type_, left, right))
        return CText(text, level, type_, type_)
    return _call("fmod", type_, [left, right]) if op == "mod" else _helper(op, type_, left, right)


def _helper(op: str, type_: ScalarType, *operands: CText) -> CText:
    """A call of a helper; its parameters convert the arguments, so none needs a cast."""
    text = f"{helper_name(op, type_)}({', '.join(o.text for o in operands)})"
    return CText(text, PRIMARY, type_, type_, whole(type_))


def _wrapping(op: str, type_: ScalarType, left: CText, right: CText) -> CText:
    """An operation whose low bits depend on the operands' low bits alone."""
    if type_ == BOOL:
        left, right = exact(left), exact(right)
        text, level = _join(op, left, right)
        return _truth(CText(text, level, BOOL, I32, (-1, 2)))
    if op in {"sub", "xor"} and left.text == right.text:
        return c_constant(type_, 0)
    if op in {"add", "sub"} and right.text == "0":  # of an affine value in an unrolled loop
        return replace(left, type=type_)
    common = common_type(left, right)
    bounds = operation_bounds(op, left.bounds, right.bounds)
    text, level = _join(op, left, right)
    if all(is_inside(b, common) for b in (bounds, left.bounds, right.bounds)):
        return CText(text, level, type_, common, bounds)
    if common.kind == "uint" and common.bits >= type_.bits:
        return CText(text, level, type_, common, common.range)
    if common == type_:
        return CText(text, level, type_, common, common.range, wraps=op in {"add", "sub", "mul"})
    if not (left.is_exact and right.is_exact):
        return _wrapping(op, type_, exact(left), exact(right))
    wide = U32 if type_.bits < U32.bits else type_
    if common.bits > wide.bits:
        right = explicit(right, wide)
    return _wrapping(op, type_, explicit(left, wide), right)


def _negate(value: CText) -> CText:
    type_ = value.type
    if type_.is_float:
        return _prefix("-", convert(value), type_, (0, 0))
    if type_ == BOOL:
        return _truth(exact(value))
    common = common_type(value)
    bounds = -value.bounds[1], -value.bounds[0]
    if is_inside(bounds, common) and is_inside(value.bounds, common):
        return _prefix("-", value, common, bounds)
    if (common.kind == "uint" and common.bits >= type_.bits) or common == type_:
        wraps = common.kind == "int"
        return replace(_prefix("-", value, common, common.range), wraps=wraps)
    if not value.is_exact:
        return _negate(exact(value))
    return _negate(explicit(value, type_))


def _prefix(sign: str, value: CText, ctype: ScalarType, bounds: tuple[int, int]) -> CText:
    """A unary operator; ``--x`` would be another one."""
    text = value.at(UNARY)
    text = f"{sign}({text})" if text.startswith(sign) else sign + text
    return CText(text, UNARY, value.type, ctype, bounds)


def _invert(value: CText) -> CText:
    if value.type == BOOL:
        return _prefix("!", value, I32, (0, 1))
    if is_inside(value.bounds, BOOL):  # compilers suspect that ``!`` was meant
        return _wrapping("sub", value.type, c_constant(value.type, -1), value)
    if value.type.kind == "uint" and value.type.bits < U32.bits:
        return _wrapping("xor", value.type, value, c_constant(value.type, value.type.range[1]))
    common = common_type(value)
    low, high = ~value.bounds[1], ~value.bounds[0]
    if common.kind == "uint":
        if common.bits < value.type.bits:
            return _invert(explicit(value, value.type))
        low, high = common.range
    return _prefix("~", value, common, (low, high))


def _shift(op: str, type_: ScalarType, left: CText, right: CText) -> CText:
    left, right = exact(left), exact(right)
    common = common_type(left)
    low = max(0, min(right.bounds[0], type_.bits - 1))
    high = max(0, min(right.bounds[1], type_.bits - 1))
    if high >= common.bits:
        return _shift(op, type_, explicit(left, type_), right)
    a, b = left.bounds
    if op == "shr":
        corners = (a >> low, a >> high, b >> low, b >> high)
        return CText(*_join(op, left, right), type_, common, (min(corners), max(corners)))
    bounds = min(a << low, a << high), max(b << low, b << high)
    if a >= 0 and is_inside(bounds, common):
        return CText(*_join(op, left, right), type_, common, bounds)
    if common.kind == "uint" and common.bits >= type_.bits:
        return CText(*_join(op, left, right), type_, common, common.range)
    wide = U64 if max(type_.bits, common.bits) > U32.bits else U32
    shifted = _shift(op, wide, replace(explicit(left, wide), type=wide), right)
    return replace(shifted, type=type_)


def _divide(op: str, type_: ScalarType, left: CText, right: CText) -> CText:
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
    return CText(*_join(plain, left, right), type_, common, bounds)


def _power_of_two(op: str, type_: ScalarType, left: CText, divisor: int) -> CText:
    if op == "floordiv":
        return _shift("shr", type_, left, c_constant(type_, divisor.bit_length() - 1))
    return _wrapping("and", type_, exact(left), c_constant(type_, divisor - 1))


def _logical(op: str, left: CText, right: CText, *, loaded: bool) -> CText:
    """``&&`` where it reads well; ``&`` where a skipped load would keep loops scalar."""
    if left.text == right.text:
        return c_constant(BOOL, 0) if op == "xor" else left
    if op == "xor":
        return CText(*_join("ne", left, right), BOOL, I32, (0, 1))
    calls = re.search(r"\w\(", right.text) is not None
    if loaded and not calls:
        return CText(*_join(op, left, right), BOOL, I32, (0, 1))
    sign, level = ("&&", LOGICAL_AND) if op == "and" else ("||", LOGICAL_OR)
    ones = [v.text if v.precedence == level else v.at(EQUAL) for v in (left, right)]
    if right.precedence == level:
        ones[1] = f"({ones[1]})"
    return CText(f" {sign} ".join(ones), level, BOOL, I32, (0, 1))


def _compare(op: str, left: CText, right: CText) -> CText:
    type_ = left.type
    if type_.is_float:
        truths = [not v.ctype.is_float and is_inside(v.bounds, BOOL) for v in (left, right)]
        left, right = (convert(v) if t else v for v, t in zip((left, right), truths, strict=True))
        text, level = _join(op, *_float_operands(type_, left, right))
        return CText(text, level, BOOL, I32, (0, 1))
    left, right, _ = _same_values(type_, left, right)
    known = decided(op, left.bounds, right.bounds)
    if left.text == right.text:
        known = op in {"le", "eq"}
    if known is not None:
        return c_constant(BOOL, known)
    return CText(*_join(op, left, right), BOOL, I32, (0, 1))


def _select(type_: ScalarType, cond: CText, then: CText, other: CText) -> CText:
    if cond.bounds[0] == cond.bounds[1]:
        return then if cond.bounds[0] else other
    if type_ == BOOL and (then.bounds == (1, 1) or other.bounds == (0, 0)):
        # a choice evaluates one side only, and so do && and ||
        sign, level = ("||", LOGICAL_OR) if then.bounds == (1, 1) else ("&&", LOGICAL_AND)
        second = other if sign == "||" else then
        parts = [
            f"({v})"
            if v.precedence in {AND, XOR, OR, LOGICAL_AND, LOGICAL_OR, TERNARY}
            and v.precedence != level
            else v.text
            for v in (cond, second)
        ]
        return CText(f" {sign} ".join(parts), level, BOOL, I32, (0, 1))
    then, other, ctype = _arms(type_, then, other)
    bounds = min(then.bounds[0], other.bounds[0]), max(then.bounds[1], other.bounds[1])
    tested = f"({cond})" if cond.precedence in {AND, XOR, OR} else cond.at(LOGICAL_OR)
    text = f"{tested} ? {then.at(LOGICAL_OR)} : {other.at(TERNARY)}"
    return CText(text, TERNARY, type_, ctype, bounds)


def _arms(type_: ScalarType, one: CText, two: CText) -> tuple[CText, CText, ScalarType]:
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


def _choose(op: str, type_: ScalarType, left: CText, right: CText) -> CText:
    """``min`` or ``max``: a ternary on names and literals, a helper on anything longer."""
    if type_ == BOOL:
        return _logical("and" if op == "min" else "or", left, right, loaded=False)
    (a, b), (c, d) = left.bounds, right.bounds
    bounds = (min(a, c), min(b, d)) if op == "min" else (max(a, c), max(b, d))
    if not type_.is_float and left.is_exact and right.is_exact and (b <= c or d <= a):
        return left if (b <= c) == (op == "min") else right
    if left.text == right.text and not type_.is_float:
        return left
    if is_simple(left) and is_simple(right) and left.is_exact and right.is_exact:
        one, two, common = _arms(type_, left, right)
        if type_.is_float and common != type_:
            one, two, common = explicit(one, type_), explicit(two, type_), type_
        sign = "<" if op == "min" else ">"
        text = f"{one.text} {sign} {two.text} ? {one.text} : {two.text}"
        return CText(text, TERNARY, type_, common, bounds)
    result = _helper(op, type_, left, right)
    known = left.is_exact and right.is_exact and not type_.is_float
    return replace(result, bounds=bounds) if known else result


def _cast(type_: ScalarType, value: CText) -> CText:
    """Conversions that lose nothing wait for an operation that makes them by itself."""
    if type_.is_float:
        return _cast_to_float(type_, value)
    if type_ == BOOL:
        return _truth(convert(exact(value)))
    if value.type.is_float:
        return replace(explicit(convert(value), type_), type=type_)
    value = exact(value) if type_.bits > value.type.bits else value
    value = replace(value, type=type_)
    # clang looks for literals that do not fit in the branches of a converted ternary
    return exact(value) if value.precedence == TERNARY else value


def _cast_to_float(type_: ScalarType, value: CText) -> CText:
    if not value.type.is_float:
        low, high = value.bounds
        literal = build.const(type_, low).value if low == high else 0
        return c_constant(type_, literal) if low == high else replace(exact(value), type=type_)
    if type_.bits >= value.type.bits and value.ctype.is_float:
        return replace(value, type=type_)
    return replace(explicit(convert(value), type_), type=type_)


def _truth(value: CText) -> CText:
    """``value != 0``: what a conversion to bool means."""
    if not value.ctype.is_float and is_inside(value.bounds, BOOL):
        return replace(value, type=BOOL)
    return CText(f"{value.at(ADD)} != 0", EQUAL, BOOL, I32, (0, 1))


def _call(function: str, type_: ScalarType, operands: list[CText]) -> CText:
    if not type_.is_float:
        return _absolute(type_, operands[0])
    name = function + ("f" if type_ == F32 else "")
    if function == "fabs":  # compilers suspect that ``abs`` was meant
        operands = [convert(operand) for operand in operands]
    text = f"{name}({', '.join(o.text for o in operands)})"
    return CText(text, PRIMARY, type_, type_)


def _absolute(type_: ScalarType, value: CText) -> CText:
    value = exact(value)
    if value.bounds[0] >= 0:
        return value
    wraps = type_.bits >= I32.bits and value.bounds[0] == type_.range[0]
    return replace(_helper("abs", type_, value), wraps=wraps)
