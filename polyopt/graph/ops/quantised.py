"""Linear quantisation: integers that stand for ``(q - zero) * scale``, and sums of their products.

Scales and zero points broadcast as in NumPy; with ``block`` each is for so many elements along an
axis. Rounding is to the nearest integer, halves to the even one; what no integer of the type can
be becomes its least or greatest. Sums of products are exact in 32 bits (B. Jacob et al., 2018).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.ir.graph import Value
from polyopt.graph.operators import (
    Result,
    broadcast,
    broadcast_index,
    like_first,
    need_float,
    normal_axis,
    operator,
)
from polyopt.graph.ops.contractions import matmul_rule, matmul_sums
from polyopt.graph.ops.convolutions import convolution_rule, output_extents, products
from polyopt.ir.types import I32, TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.operators import Maker, Tensor
    from polyopt.ir.types import ScalarType

#: types of quantised elements
QUANTISED = ("i8", "u8", "i16", "u16")


def _need_parameter(x: Value, given: Value | None, axis: int, block: int) -> None:
    """Raises ``GraphError`` for a scale or zero point that does not fit."""
    if given is None:
        return
    wanted = list(x.shape)
    if block:
        d = normal_axis(axis, len(wanted))
        wanted[d] = -(-wanted[d] // block)
        if list(given.shape) != wanted:
            raise GraphError(f"{given.name} has the shape {list(given.shape)}, not {wanted}")
    elif broadcast(x, given) != x.shape:
        raise GraphError(f"{given.name} {list(given.shape)} does not broadcast to {wanted}")


def _quantize_rule(
    x: Value,
    scale: Value,
    zero: Value | None = None,
    *,
    to: str = "u8",
    axis: int = 0,
    block: int = 0,
) -> Result:
    need_float(scale)
    if to not in QUANTISED:
        raise GraphError(f"elements are quantised to {', '.join(QUANTISED)}, not to {to}")
    if zero is not None and zero.dtype != TYPES[to]:
        raise GraphError(f"the zero point is {zero.dtype}, the result {to}")
    for each in (scale, zero):
        _need_parameter(x, each, axis, block)
    return Result(x.shape, TYPES[to])


def _parameter(given: Tensor, i: Sequence[Term], axis: int, block: int) -> Term:
    """The scale or zero point of the element at an index."""
    if not block:
        return given[broadcast_index(given, i)]
    d = normal_axis(axis, len(i))
    return given[(*i[:d], i[d] // block, *i[d + 1 :])]


def saturated(value: Term, dtype: ScalarType) -> Term:
    """The float rounded to the nearest integer that the type has; NaN is the least."""
    low, high = dtype.range
    # the first operand of a maximum may be NaN: C then takes the second
    return po.cast(dtype.name, po.min(po.max(value, float(low)), float(high)))


@operator("quantize", result=_quantize_rule)
def quantize(
    make: Maker,
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    to: str = "u8",
    axis: int = 0,
    block: int = 0,
) -> Tensor:
    """``saturate(round(x / scale) + zero)``."""
    _ = to
    real = scale.dtype.name

    def element(*i: Term) -> Term:
        whole = po.rint(po.cast(real, x[i]) / _parameter(scale, i, axis, block))
        if zero is not None:
            whole = whole + po.cast(real, _parameter(zero, i, axis, block))
        return saturated(whole, make.dtype)

    return make.stage(x.shape, element)


def _dequantize_rule(
    x: Value, scale: Value, zero: Value | None = None, *, axis: int = 0, block: int = 0
) -> Result:
    need_float(scale)
    if not x.dtype.is_integer:
        raise GraphError(f"integers are dequantised, not {x.dtype}")
    if zero is not None and zero.dtype != x.dtype:
        raise GraphError(f"the zero point is {zero.dtype}, the operand {x.dtype}")
    for each in (scale, zero):
        _need_parameter(x, each, axis, block)
    return Result(x.shape, scale.dtype)


@operator("dequantize", result=_dequantize_rule)
def dequantize(
    make: Maker,
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    axis: int = 0,
    block: int = 0,
) -> Tensor:
    """``(x - zero) * scale``, at the precision of the scale."""
    real = make.dtype.computed.name

    def element(*i: Term) -> Term:
        value = po.cast(real, x[i])
        if zero is not None:
            value = value - po.cast(real, _parameter(zero, i, axis, block))
        return value * _parameter(scale, i, axis, block)

    return make.stage(x.shape, element)


def _requantize_rule(x: Value, factor: Value, zero: Value | None = None, *, to: str) -> Result:
    if x.dtype != I32:
        raise GraphError(f"sums of 32 bits are requantised, not {x.dtype}")
    return _quantize_rule(x, factor, zero, to=to)


@operator("requantize", result=_requantize_rule)
def requantize(
    make: Maker, x: Tensor, factor: Tensor, zero: Tensor | None = None, *, to: str
) -> Tensor:
    """``saturate(round(x * factor) + zero)`` of sums of products, with the product in 64 bits.

    ``factor`` is the product of the operands' scales over the result's.
    """
    _ = to

    def element(*i: Term) -> Term:
        share = po.cast("f64", factor[broadcast_index(factor, i)])
        whole = po.rint(po.cast("f64", x[i]) * share)
        if zero is not None:
            whole = whole + po.cast("f64", zero[broadcast_index(zero, i)])
        return saturated(whole, make.dtype)

    return make.stage(x.shape, element)


# -- sums of products ---------------------------------------------------------------------------


def need_bytes(*operands: Value) -> None:
    """Raises ``GraphError`` unless operands have 8 bits: sums of 32 bits are then exact."""
    for each in operands:
        if not each.dtype.is_integer or each.dtype.bits != 8:
            raise GraphError(f"operands of 8 bits are needed, not {each.dtype}")


def _need_zero(x: Value, zero: Value | None) -> None:
    if zero is None:
        return
    if zero.dtype != x.dtype:
        raise GraphError(f"the zero point is {zero.dtype}, the operand {x.dtype}")
    _need_parameter(x, zero, 0, 0)


def _from_zero(make: Maker, x: Tensor, zero: Tensor | None, part: str) -> Tensor:
    """The operand less its zero point, in 16 bits; itself where it has none."""
    if zero is None:
        return x
    shifts = zero

    def element(*i: Term) -> Term:
        return po.cast("i16", x[i]) - po.cast("i16", shifts[broadcast_index(shifts, i)])

    return make.stage(x.shape, element, part=part, dtype=TYPES["i16"])


def _conv_rule(
    x: Value,
    w: Value,
    x_zero: Value | None = None,
    w_zero: Value | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int = 1,
) -> Result:
    need_bytes(x, w)
    _need_zero(x, x_zero)
    _need_zero(w, w_zero)
    if x_zero is not None and x_zero.size != 1:
        raise GraphError("the operand of a convolution has one zero point")
    found = convolution_rule(x, w, None, strides, pads, dilations, group)
    return Result(found.shape, I32)


@operator("conv_integer", result=_conv_rule)
def conv_integer(  # noqa: PLR0913  (an argument per attribute)
    make: Maker,
    x: Tensor,
    w: Tensor,
    x_zero: Tensor | None = None,
    w_zero: Tensor | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int = 1,
) -> Tensor:
    """The convolution of integers less their zero points; the frame is zero after that."""
    source = _framed(make, x, x_zero, pads)
    weights = _from_zero(make, w, w_zero, "weights")
    outputs = output_extents(x, w.shape[2:], strides, pads, dilations)
    summed = products(source, weights, strides, dilations, group, dtype="i32")
    return make.stage((x.shape[0], w.shape[0], *outputs), summed)


def _framed(make: Maker, x: Tensor, zero: Tensor | None, pads: Sequence[int]) -> Tensor:
    """The operand less its zero point, with a frame of zeros around."""
    if not any(pads):
        return _from_zero(make, x, zero, "shifted")
    rank = len(pads) // 2
    spatial = [x.shape[2 + d] + pads[d] + pads[rank + d] for d in range(rank)]
    point = None if zero is None else zero[(0,) * zero.rank]
    framed = x.padded(0 if point is None else point)

    def element(n: Term, c: Term, *i: Term) -> Term:
        value = framed[(n, c, *(i[d] - pads[d] for d in range(rank)))]
        return value if point is None else po.cast("i16", value) - po.cast("i16", point)

    kind = x.dtype if point is None else TYPES["i16"]
    return make.stage((*x.shape[:2], *spatial), element, part="padded", dtype=kind)


def _matmul_rule(
    a: Value, b: Value, a_zero: Value | None = None, b_zero: Value | None = None
) -> Result:
    need_bytes(a, b)
    _need_zero(a, a_zero)
    _need_zero(b, b_zero)
    same = Value(b.name, b.shape, a.dtype)
    return Result(matmul_rule(a, same).shape, I32)


@operator("matmul_integer", result=_matmul_rule)
def matmul_integer(
    make: Maker, a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None
) -> Tensor:
    """NumPy's ``matmul`` of integers less their zero points."""
    left = _from_zero(make, a, a_zero, "left")
    right = _from_zero(make, b, b_zero, "right")
    return matmul_sums(make, left, right, dtype="i32")


# -- scales that depend on data -----------------------------------------------------------------


def _scale_rule(low: Value, high: Value) -> Result:
    need_float(low, high)
    return Result(low.shape, low.dtype)


@operator("dynamic_scale", result=_scale_rule)
def dynamic_scale(make: Maker, low: Tensor, high: Tensor) -> Tensor:
    """The scale by which ``u8`` spans ``low`` to ``high`` and 0; 1/255 where both are 0."""

    def element(*i: Term) -> Term:
        least, most = po.min(low[i], 0.0), po.max(high[i], 0.0)
        return po.select(least < most, most - least, 1.0) / 255.0

    return make.stage(low.shape, element)


@operator("dynamic_zero", result=like_first)
def dynamic_zero(make: Maker, low: Tensor, scale: Tensor) -> Tensor:
    """The integer, as a float, that stands for 0 at a scale."""

    def element(*i: Term) -> Term:
        return po.rint(po.min(po.max(-po.min(low[i], 0.0) / scale[i], 0.0), 255.0))

    return make.stage(low.shape, element)
