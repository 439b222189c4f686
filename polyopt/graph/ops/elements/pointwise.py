"""Operators that compute each element from the elements at the same place, broadcast as NumPy."""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING, Any

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, broadcast, broadcast_index, like_first, operator
from polyopt.ir.types import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor


def _float_like_first(first: Value, *_others: Value, **_attributes: object) -> Result:
    if not first.dtype.is_float:
        raise GraphError(f"a floating-point operand is needed, not {first.dtype}")
    return Result(first.shape, first.dtype)


def _unary(name: str, function: Callable[[Any], Any], *, floats: bool = True) -> None:
    def build(make: Maker, x: Tensor) -> Tensor:
        return make.stage(x.shape, lambda *i: function(x[i]))

    operator(name, result=_float_like_first if floats else like_first)(build)


# The operand of a maximum that may be NaN stands last: C then gives NaN, as NumPy does.
_unary("relu", lambda x: po.max(0, x), floats=False)
_unary("abs", abs, floats=False)
_unary("neg", lambda x: -x, floats=False)
_unary("sigmoid", lambda x: 1.0 / (1.0 + po.exp(-x)))
_unary("silu", lambda x: x / (1.0 + po.exp(-x)))
_unary("hardswish", lambda x: x * (po.min(po.max(x + 3.0, 0.0), 6.0) / 6.0))
_unary("softplus", lambda x: po.max(x, 0.0) + po.log(1.0 + po.exp(-abs(x))))
_unary("reciprocal", lambda x: 1.0 / x)
for _name, _function in (
    ("tanh", po.tanh), ("exp", po.exp), ("log", po.log), ("sqrt", po.sqrt), ("erf", po.erf),
    ("floor", po.floor), ("ceil", po.ceil), ("sin", po.sin), ("cos", po.cos),
):  # fmt: skip
    _unary(_name, _function)


@operator("clip")
def clip(make: Maker, x: Tensor, *, low: float | None = None, high: float | None = None) -> Tensor:
    """``low`` to ``high``; ReLU6 is 0 to 6."""

    def cut(value: Term) -> Term:
        whole = not make.dtype.is_float
        if low is not None:
            value = po.max(int(low) if whole else low, value)
        if high is not None:
            value = po.min(int(high) if whole else high, value)
        return value

    return make.stage(x.shape, lambda *i: cut(x[i]))


@operator("leaky_relu", result=_float_like_first)
def leaky_relu(make: Maker, x: Tensor, *, alpha: float = 0.01) -> Tensor:
    """``x``, or ``alpha * x`` below 0."""
    return make.stage(x.shape, lambda *i: po.select(x[i] < 0.0, alpha * x[i], x[i]))


@operator("elu", result=_float_like_first)
def elu(make: Maker, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """``x``, or ``alpha * (exp(x) - 1)`` below 0."""
    return make.stage(x.shape, lambda *i: po.select(x[i] < 0.0, alpha * (po.exp(x[i]) - 1.0), x[i]))


@operator("hard_sigmoid", result=_float_like_first)
def hard_sigmoid(make: Maker, x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """``alpha * x + beta``, cut to 0 to 1."""
    return make.stage(x.shape, lambda *i: po.min(1.0, po.max(0.0, alpha * x[i] + beta)))


@operator("gelu", result=_float_like_first)
def gelu(make: Maker, x: Tensor, *, approximate: str = "none") -> Tensor:
    """D. Hendrycks and K. Gimpel, 2016; ``approximate="tanh"`` is their approximation."""
    if approximate == "tanh":
        factor = sqrt(2 / pi)
        return make.stage(
            x.shape,
            lambda *i: (
                0.5 * x[i] * (1.0 + po.tanh(factor * (x[i] + 0.044715 * x[i] * x[i] * x[i])))
            ),
        )
    return make.stage(x.shape, lambda *i: 0.5 * x[i] * (1.0 + po.erf(x[i] * sqrt(0.5))))


def _cast_rule(x: Value, *, to: str) -> Result:
    if to not in ELEMENTS:
        raise GraphError(f"there is no type {to!r}; there are: {', '.join(ELEMENTS)}")
    return Result(x.shape, ELEMENTS[to])


@operator("cast", result=_cast_rule)
def cast(make: Maker, x: Tensor, *, to: str) -> Tensor:
    """The elements converted, as NumPy's ``astype`` does."""
    return make.stage(x.shape, lambda *i: po.cast(to, x[i]))


# -- two operands -------------------------------------------------------------------------------


def _binary_rule(a: Value, b: Value) -> Result:
    if a.dtype != b.dtype:
        raise GraphError(f"operands of one type are needed, not {a.dtype} and {b.dtype}")
    return Result(broadcast(a, b), a.dtype)


def _quotient(a: Term, b: Term, make: Maker) -> Term:
    """Of integers, rounded towards zero, as C does: ``//`` rounds down."""
    if make.dtype.is_float:
        return a / b
    down = floor_quotient(a, b)
    return po.select((down * b != a) & (down < 0), down + 1, down)


def floor_quotient(a: Term, b: Term) -> Term:
    """``a // b`` of integers, for all of them: by 0 it is 0, and the least one by -1 itself.

    C ends the program there.
    """
    is_odd = (b == 0) | (b == -1)
    return po.select(b == 0, 0, po.select(is_odd, -a, a // po.select(is_odd, 1, b)))


def _binary(
    name: str, function: Callable[[Any, Any, Maker], Any], rule: Callable[..., Result]
) -> None:
    def build(make: Maker, a: Tensor, b: Tensor) -> Tensor:
        shape = _shape(a, b)
        return make.stage(
            shape,
            lambda *i: function(a[broadcast_index(a, i)], b[broadcast_index(b, i)], make),
        )

    operator(name, result=rule)(build)


def _shape(a: Tensor, b: Tensor) -> tuple[int, ...]:
    rank = max(a.rank, b.rank)
    wide = [(1,) * (rank - t.rank) + t.shape for t in (a, b)]
    return tuple(max(pair) for pair in zip(*wide, strict=True))


def _slope(x: Term, slope: Term, _make: Maker) -> Term:
    return po.select(x < 0.0, slope * x, x)


def _or_nan(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Maker], Any]:
    """A minimum or maximum that is NaN where one of both is, as NumPy's: C's is the last one."""

    def found(a: Term, b: Term, make: Maker) -> Term:
        result = function(a, b)
        is_number = a == a  # noqa: PLR0124  (NaN is not)
        return po.select(is_number, result, a) if make.dtype.is_float else result

    return found


_binary("add", lambda a, b, _: a + b, _binary_rule)
_binary("sub", lambda a, b, _: a - b, _binary_rule)
_binary("mul", lambda a, b, _: a * b, _binary_rule)
_binary("div", _quotient, _binary_rule)
_binary("minimum", _or_nan(po.min), _binary_rule)
_binary("maximum", _or_nan(po.max), _binary_rule)
_binary("power", lambda a, b, _: po.pow(a, b), _binary_rule)
_binary("prelu", _slope, _binary_rule)
