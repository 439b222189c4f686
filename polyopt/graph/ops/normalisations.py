"""Normalisations and softmax: means, sums and extremes along axes, then an element each."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_float, need_rank, normal_axis, operator

if TYPE_CHECKING:
    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor


def _batch_rule(
    x: Value, scale: Value, shift: Value, mean: Value, variance: Value, *, epsilon: float = 1e-5
) -> Result:
    _ = epsilon
    need_float(x, scale, shift, mean, variance)
    need_rank(x, 2)
    for each in (scale, shift, mean, variance):
        if each.shape != (x.shape[1],):
            raise GraphError(f"{each.name} has the shape {list(each.shape)}, not [{x.shape[1]}]")
    return Result(x.shape, x.dtype)


@operator("batch_norm", result=_batch_rule)
def batch_norm(
    make: Maker,
    x: Tensor,
    scale: Tensor,
    shift: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    epsilon: float = 1e-5,
) -> Tensor:
    """Inference: ``(x - mean) / sqrt(variance + epsilon) * scale + shift``, per channel."""
    factor = make.stage(
        scale.shape, lambda *c: scale[c] / po.sqrt(variance[c] + epsilon), part="factor"
    )
    return make.stage(x.shape, lambda *i: (x[i] - mean[i[1]]) * factor[i[1]] + shift[i[1]])


def _layer_rule(
    x: Value, scale: Value, shift: Value | None = None, *, axis: int = -1, epsilon: float = 1e-5
) -> Result:
    _ = epsilon
    need_float(x, scale, shift)
    tail = x.shape[normal_axis(axis, len(x.shape)) :]
    for each in (scale, shift):
        if each is not None and each.shape != tail:
            raise GraphError(f"{each.name} has the shape {list(each.shape)}, not {list(tail)}")
    return Result(x.shape, x.dtype)


@operator("layer_norm", result=_layer_rule)
def layer_norm(
    make: Maker,
    x: Tensor,
    scale: Tensor,
    shift: Tensor | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
) -> Tensor:
    """J. Ba, J. Kiros and G. Hinton, 2016: mean 0 and variance 1 over the axes from ``axis`` on."""
    first = normal_axis(axis, x.rank)
    head, tail = x.shape[:first], x.shape[first:]
    over = {f"k{d}": extent for d, extent in enumerate(tail)}
    count = float(prod(tail))
    total = make.stage(head, lambda *i: po.sum(lambda *k: x[(*i, *k)], over), part="total")
    square = make.stage(
        head,
        lambda *i: po.sum(
            lambda *k: (x[(*i, *k)] - total[i] / count) * (x[(*i, *k)] - total[i] / count), over
        ),
        part="square",
    )

    def value(*i: Term) -> Term:
        at, place = i[:first], i[first:]
        centred = x[i] - total[at] / count
        result = centred / po.sqrt(square[at] / count + epsilon) * scale[place]
        return result if shift is None else result + shift[place]

    return make.stage(x.shape, value)


def _softmax_rule(x: Value, *, axis: int = -1) -> Result:
    need_float(x)
    normal_axis(axis, len(x.shape))
    return Result(x.shape, x.dtype)


def _along(make: Maker, x: Tensor, axis: int) -> tuple[Tensor, int]:
    """The greatest element along an axis, for each place beside it."""
    d = normal_axis(axis, x.rank)
    rest = (*x.shape[:d], *x.shape[d + 1 :])

    def greatest(*i: Term) -> Term:
        def element(*k: Term) -> Term:
            return x[(*i[:d], *k, *i[d:])]

        return po.max(element, over={"k": x.shape[d]})

    return make.stage(rest, greatest, part="max"), d


@operator("softmax", result=_softmax_rule)
def softmax(make: Maker, x: Tensor, *, axis: int = -1) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis, with the greatest element taken off first."""
    greatest, d = _along(make, x, axis)
    power = make.stage(
        x.shape, lambda *i: po.exp(x[i] - greatest[(*i[:d], *i[d + 1 :])]), part="exp"
    )
    rest = (*x.shape[:d], *x.shape[d + 1 :])
    total = make.stage(
        rest,
        lambda *i: po.sum(lambda *k: power[(*i[:d], *k, *i[d:])], {"k": x.shape[d]}),
        part="sums",
    )
    return make.stage(x.shape, lambda *i: power[i] / total[(*i[:d], *i[d + 1 :])])


@operator("log_softmax", result=_softmax_rule)
def log_softmax(make: Maker, x: Tensor, *, axis: int = -1) -> Tensor:
    """The logarithm of ``softmax``, without computing small quotients."""
    greatest, d = _along(make, x, axis)
    rest = (*x.shape[:d], *x.shape[d + 1 :])
    total = make.stage(
        rest,
        lambda *i: po.sum(
            lambda *k: po.exp(x[(*i[:d], *k, *i[d:])] - greatest[i]), {"k": x.shape[d]}
        ),
        part="sums",
    )

    def value(*i: Term) -> Term:
        beside = (*i[:d], *i[d + 1 :])
        return x[i] - greatest[beside] - po.log(total[beside])

    return make.stage(x.shape, value)
