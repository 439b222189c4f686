"""What an expression is worth: exact typed semantics, the same as the generated C.

Integers wrap, ``div`` and ``mod`` truncate, ``floordiv`` and ``floormod`` round down, ``f32``
rounds after every operation, a select evaluates only the operand it chooses. ``min(a, b)`` is
``a < b ? a : b`` and ``max(a, b)`` is ``a > b ? a : b``, which says what a NaN does.

An expression is compiled once into Python closures that take a row number: the instance.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from polyopt.analysis.sets.points import affine_values, holds
from polyopt.errors import ArgumentError, InternalError
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
    Local,
    RangeHint,
    Select,
    Unary,
)
from polyopt.ir.halves import from_half, to_half
from polyopt.ir.types import BOOL, F32, I64, ScalarType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.isl import PwAff, Set

    #: An ``int`` for integer types and the bits of a bfloat16, a ``bool``, or NumPy's float.
    Scalar = int | bool | np.float16 | np.float32 | np.float64
    #: The value of an expression for one row.
    Compiled = Callable[[int], Scalar]
    # Operands have the type that the expression says: a checker cannot know it.
    OfOne = Callable[[Any], Scalar]
    OfTwo = Callable[[Any, Any], Scalar]


class Leaves(Protocol):
    """What an expression's leaves are worth: given by whoever runs it."""

    def affine(self, form: PwAff) -> Callable[[int], int]:
        """The values of ``{ S[i] -> [value] }``."""
        ...

    def inside(self, where: Set) -> Callable[[int], bool]:
        """Membership of ``{ S[i] }``."""
        ...

    def load(self, node: Load, index: tuple[Compiled, ...]) -> Compiled:
        """The element that a load reads; called in ``expr.loads`` order."""
        ...

    def local(self, name: str) -> Compiled:
        """The value of a local variable of the block around."""
        ...


def wrap(type_: ScalarType, value: int) -> int:
    """``value`` modulo 2^bits, in the range of the integer type; truth for bool."""
    if type_ == BOOL:
        return value != 0
    value &= (1 << type_.bits) - 1
    return value - (1 << type_.bits) if type_.kind == "int" and value >> (type_.bits - 1) else value


def scalar(type_: ScalarType, value: float) -> Scalar:
    """A Python or NumPy number as a value of the type."""
    if type_.is_half:
        return to_half(type_, value)
    if type_.is_float:
        return np.float32(value) if type_ == F32 else np.float64(value)
    return bool(value != 0) if type_ == BOOL else wrap(type_, int(value))


def poison(type_: ScalarType) -> Scalar:
    """What an element that nothing wrote holds: NaN, or a pattern that is easily seen."""
    if type_.is_float:
        return scalar(type_, math.nan)
    return wrap(type_, 0xA5A5A5A5A5A5A5A5)


def compile_expr(expr: Expr, leaves: Leaves) -> Compiled:
    """``expr`` as a function of the row number."""
    match expr:
        case Const():
            constant = scalar(expr.type, expr.value)
            return lambda _row: constant
        case Affine():
            return _affine(expr, leaves)
        case Inside():
            return leaves.inside(expr.where)
        case Load():
            return _load(expr, leaves)
        case Select():
            return _select(expr, leaves)
        case Local():
            return leaves.local(expr.name)
        case RangeHint():
            return compile_expr(expr.operand, leaves)
        case Cast():
            convert = _conversion(expr.type, expr.operand.type)
            operand = compile_expr(expr.operand, leaves)
            return lambda row: convert(operand(row))
        case Unary() | Binary() | Compare() | Call():
            return _apply(expr, [compile_expr(child, leaves) for child in expr.children])
        case _:
            msg = f"no meaning for {type(expr).__name__}"
            raise InternalError(msg)


def _affine(expr: Affine, leaves: Leaves) -> Compiled:
    value, type_ = leaves.affine(expr.form), expr.type
    if type_ == I64:
        return value
    return lambda row: wrap(type_, value(row))


def _load(expr: Load, leaves: Leaves) -> Compiled:
    # The reference's number is its place in a walk from parents to children, so the load itself
    # comes before the loads in its subscripts.
    late: list[Compiled] = []
    loaded = leaves.load(expr, tuple(lambda row, k=k: late[k](row) for k in range(len(expr.index))))
    late += [compile_expr(part, leaves) for part in expr.index]
    return loaded


def _select(expr: Select, leaves: Leaves) -> Compiled:
    cond, then, other = (compile_expr(child, leaves) for child in expr.children)
    return lambda row: then(row) if cond(row) else other(row)


def _apply(expr: Unary | Binary | Compare | Call, operands: list[Compiled]) -> Compiled:
    if len(operands) == 1:
        one, of_one = operands[0], _operation_of_one(expr)
        return lambda row: of_one(one(row))
    (left, right), of_two = operands, _operation_of_two(expr)
    return lambda row: of_two(left(row), right(row))


def _operation_of_one(expr: Expr) -> OfOne:
    type_ = expr.type
    match expr:
        case Call() if type_.is_float:
            function = _MATH[expr.function]
            return lambda a: scalar(type_, function(np.float64(a)))
        case Call():
            return lambda a: wrap(type_, abs(a))
        case Unary(op="not"):
            return (lambda a: not a) if type_ == BOOL else (lambda a: wrap(type_, ~a))
        case _:
            return (lambda a: -a) if type_.is_float else (lambda a: wrap(type_, -a))


def _operation_of_two(expr: Expr) -> OfTwo:
    type_ = expr.type
    match expr:
        case Compare():
            return _COMPARE[expr.op]
        case Binary():
            return _FLOAT[expr.op] if type_.is_float else _integer_operation(type_, expr.op)
        case Call():
            function = _MATH[expr.function]
            return lambda a, b: scalar(type_, function(np.float64(a), np.float64(b)))
        case _:
            msg = f"{type(expr).__name__} has no two operands"
            raise InternalError(msg)


def _integer_operation(type_: ScalarType, op: str) -> OfTwo:
    if op in {"min", "max"}:
        return min if op == "min" else max
    if op in {"shl", "shr"}:
        return lambda a, b: wrap(type_, _shift(type_, op, a, b))
    function = _INTEGER[op]
    return lambda a, b: wrap(type_, function(a, b))


def _shift(type_: ScalarType, op: str, a: int, b: int) -> int:
    if not 0 <= b < type_.bits:
        msg = f"shift of {type_} by {b}: C leaves this undefined"
        raise ArgumentError(msg)
    return a << b if op == "shl" else a >> b


def _divisor(b: int) -> int:
    if b == 0:
        msg = "integer division by zero"
        raise ArgumentError(msg)
    return b


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(_divisor(b))
    return quotient if (a < 0) == (b < 0) else -quotient


_INTEGER: dict[str, Callable[[int, int], int]] = {
    "add": int.__add__,
    "sub": int.__sub__,
    "mul": int.__mul__,
    "div": _truncated,
    "mod": lambda a, b: a - b * _truncated(a, b),
    "floordiv": lambda a, b: a // _divisor(b),
    "floormod": lambda a, b: a % _divisor(b),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}

_COMPARE: dict[str, OfTwo] = {
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
}


def _smaller(a: Any, b: Any) -> Scalar:  # noqa: ANN401
    """``b`` where they do not compare: ``min`` of Python would keep ``a``."""
    return a if a < b else b  # noqa: FURB136


def _greater(a: Any, b: Any) -> Scalar:  # noqa: ANN401
    """``b`` where they do not compare."""
    return a if a > b else b  # noqa: FURB136


_FLOAT: dict[str, OfTwo] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": np.true_divide,
    "mod": np.fmod,
    "floordiv": np.floor_divide,
    "floormod": np.remainder,
    "min": _smaller,
    "max": _greater,
}


def _round(value: np.float64) -> np.float64:
    """Halves go away from zero, as in C."""
    whole = np.floor(abs(value))
    up = abs(value) - whole >= 0.5
    return np.copysign(whole + 1 if up else whole, value)


#: Doubles in, doubles out; the caller rounds to the type, as C's float functions nearly do.
_MATH: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt, "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "fabs": np.abs, "abs": np.abs,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": _round, "rint": np.rint,
    "pow": np.power, "fmod": np.fmod, "atan2": np.arctan2, "erf": math.erf,
}  # fmt: skip


def _conversion(to: ScalarType, origin: ScalarType) -> OfOne:
    """C's conversion between two scalar types."""
    if origin.is_half:
        return lambda a: from_half(origin, a)
    if to == BOOL:
        return lambda a: bool(a != 0)
    if to.is_float and origin.is_integer and origin.bits == 64:
        # One rounding only: by way of a double, a large integer would round twice.
        wide, make = getattr(np, origin.numpy_name), getattr(np, to.numpy_name)
        return lambda a: wide(a).astype(make)
    if to.is_float or not origin.is_float:
        return lambda a: scalar(to, a)
    return lambda a: _truncate(to, a)


def _truncate(to: ScalarType, value: float) -> int:
    """Float to integer. What C leaves undefined wraps; NaN and infinities give the least."""
    return wrap(to, int(value)) if math.isfinite(value) else to.range[0]


@dataclass(frozen=True)
class Environment:
    """One instance: its iterators' values, the sizes, and how to read elements."""

    iterators: tuple[int, ...] = ()
    params: Mapping[str, int] = field(default_factory=dict[str, int])
    read: Callable[[str, tuple[int, ...]], Scalar] | None = None

    def affine(self, form: PwAff) -> Callable[[int], int]:
        """See ``Leaves``."""
        value = int(affine_values(form, self._row, self.params)[0])
        return lambda _row: value

    def inside(self, where: Set) -> Callable[[int], bool]:
        """See ``Leaves``."""
        value = bool(holds(where, self._row, self.params)[0])
        return lambda _row: value

    def load(self, node: Load, index: tuple[Compiled, ...]) -> Compiled:
        """See ``Leaves``."""
        read = self.read
        if read is None:
            msg = f"no way to read {node.array}"
            raise InternalError(msg)
        return lambda row: read(node.array, tuple(int(part(row)) for part in index))

    def local(self, name: str) -> Compiled:
        """See ``Leaves``."""
        msg = f"no block sets {name}"
        raise InternalError(msg)

    @property
    def _row(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        return np.array(self.iterators, np.int64).reshape(1, len(self.iterators))


def evaluate(expr: Expr, env: Environment) -> Scalar:
    """The value of an expression at one instance."""
    with np.errstate(all="ignore"):
        return compile_expr(expr, env)(0)
