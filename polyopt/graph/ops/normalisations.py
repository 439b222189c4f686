"""Normalisations and softmax: means, sums and extremes along axes, then an element each."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import (
    Result,
    broadcast,
    broadcast_index,
    need_float,
    need_rank,
    normal_axis,
    operator,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


def _group_rule(
    x: Value, scale: Value, shift: Value, *, groups: int, epsilon: float = 1e-5
) -> Result:
    _ = epsilon
    need_float(x, scale, shift)
    need_rank(x, 2)
    channels = x.shape[1]
    if groups < 1 or channels % groups:
        raise GraphError(f"{channels} channels do not make {groups} group(s)")
    for each in (scale, shift):
        if each.shape not in {(channels,), (groups,)}:
            raise GraphError(
                f"{each.name} has the shape {list(each.shape)}, not [{channels}] or [{groups}]"
            )
    return Result(x.shape, x.dtype)


@operator("group_norm", result=_group_rule)
def group_norm(
    make: Maker,
    x: Tensor,
    scale: Tensor,
    shift: Tensor,
    *,
    groups: int,
    epsilon: float = 1e-5,
) -> Tensor:
    """Y. Wu and K. He, 2018: mean 0 and variance 1 over each group of channels of an image.

    ``scale`` and ``shift`` are of channels, or of groups. As many groups as channels are instance
    normalisation (D. Ulyanov, A. Vedaldi and V. Lempitsky, 2016).
    """
    batch, channels, *rest = x.shape
    each = channels // groups
    over = {f"k{d}": extent for d, extent in enumerate((each, *rest))}
    count = float(prod((each, *rest)))

    def reduced(value: Callable[[Term, Term, Term], Term], part: str) -> Tensor:
        def summed(n: Term, g: Term) -> Term:
            def element(k: Term, *p: Term) -> Term:
                return value(n, g, x[(n, g * each + k, *p)])

            return po.sum(element, over)

        return make.stage((batch, groups), summed, part=part)

    total = reduced(lambda _n, _g, value: value, "total")
    square = reduced(
        lambda n, g, value: (value - total[n, g] / count) * (value - total[n, g] / count), "square"
    )

    def value(n: Term, c: Term, *i: Term) -> Term:
        g = c // each
        centred = x[(n, c, *i)] - total[n, g] / count
        factor, more = (t[c if t.shape[0] == channels else g] for t in (scale, shift))
        return centred / po.sqrt(square[n, g] / count + epsilon) * factor + more

    return make.stage(x.shape, value)


def _rms_rule(x: Value, scale: Value, *, axis: int = -1, epsilon: float = 1e-5) -> Result:
    _ = epsilon
    need_float(x, scale)
    normal_axis(axis, len(x.shape))
    if broadcast(x, scale) != x.shape:
        raise GraphError(f"{list(scale.shape)} does not broadcast to {list(x.shape)}")
    return Result(x.shape, x.dtype)


@operator("rms_norm", result=_rms_rule)
def rms_norm(
    make: Maker, x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5
) -> Tensor:
    """B. Zhang and R. Sennrich, 2019: mean square 1 over the axes from ``axis`` on."""
    first = normal_axis(axis, x.rank)
    head, tail = x.shape[:first], x.shape[first:]
    over = {f"k{d}": extent for d, extent in enumerate(tail)}
    count = float(prod(tail))
    squares = make.stage(
        head,
        lambda *i: po.sum(lambda *k: x[(*i, *k)] * x[(*i, *k)], over),
        part="squares",
    )

    def value(*i: Term) -> Term:
        root = po.sqrt(squares[i[:first]] / count + epsilon)
        return x[i] / root * scale[broadcast_index(scale, i)]

    return make.stage(x.shape, value)


def _along_axes(x: Tensor, axes: Sequence[int]) -> tuple[set[int], tuple[int, ...]]:
    along = {normal_axis(axis, x.rank) for axis in axes}
    return along, tuple(1 if d in along else e for d, e in enumerate(x.shape))


def _axes_rule(x: Value, *, axes: Sequence[int], epsilon: float = 1e-9) -> Result:
    _ = epsilon
    need_float(x)
    for axis in axes:
        normal_axis(axis, len(x.shape))
    return Result(x.shape, x.dtype)


@operator("mean_variance_norm", result=_axes_rule)
def mean_variance_norm(
    make: Maker, x: Tensor, *, axes: Sequence[int], epsilon: float = 1e-9
) -> Tensor:
    """``(x - mean) / (deviation + epsilon)`` over axes."""
    along, beside = _along_axes(x, axes)
    over = {f"k{d}": x.shape[d] for d in sorted(along)}
    count = float(prod(x.shape[d] for d in along))

    def at(i: Sequence[Term], k: Sequence[Term]) -> tuple[Term, ...]:
        inside = iter(k)
        return tuple(next(inside) if d in along else t for d, t in enumerate(i))

    def of(i: Sequence[Term]) -> tuple[Term | int, ...]:
        return tuple(0 if d in along else t for d, t in enumerate(i))

    total = make.stage(
        beside, lambda *i: po.sum(lambda *k: x[at(i, k)], over) if along else x[i], part="total"
    )

    def away(i: Sequence[Term], k: Sequence[Term]) -> Term:
        return x[at(i, k)] - total[of(i)] / count

    square = make.stage(
        beside,
        lambda *i: po.sum(lambda *k: away(i, k) * away(i, k), over) if along else x[i] * 0.0,
        part="square",
    )

    def value(*i: Term) -> Term:
        return (x[i] - total[of(i)] / count) / (po.sqrt(square[of(i)] / count) + epsilon)

    return make.stage(x.shape, value)


def _norm_rule(x: Value, *, axis: int = -1, p: int = 2) -> Result:
    need_float(x)
    normal_axis(axis, len(x.shape))
    if p not in {1, 2}:
        raise GraphError(f"the order of the norm is 1 or 2, not {p}")
    return Result(x.shape, x.dtype)


@operator("lp_norm", result=_norm_rule)
def lp_norm(make: Maker, x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    """Elements over the norm of order ``p`` along an axis; 0 where that is 0."""
    d = normal_axis(axis, x.rank)

    def size(value: Term) -> Term:
        return abs(value) if p == 1 else value * value

    def summed(*i: Term) -> Term:
        def element(k: Term) -> Term:
            return size(x[(*i[:d], k, *i[d:])])

        return po.sum(element, over={"k": x.shape[d]})

    sums = make.stage((*x.shape[:d], *x.shape[d + 1 :]), summed, part="sums")

    def value(*i: Term) -> Term:
        norm = sums[(*i[:d], *i[d + 1 :])]
        return po.select(norm == 0.0, 0.0, x[i] / (norm if p == 1 else po.sqrt(norm)))

    return make.stage(x.shape, value)


def _response_rule(
    x: Value, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Result:
    _ = alpha, beta, bias
    need_float(x)
    need_rank(x, 2)
    if size < 1:
        raise GraphError(f"a region has 1 channel or more, not {size}")
    return Result(x.shape, x.dtype)


@operator("local_response_norm", result=_response_rule)
def local_response_norm(
    make: Maker,
    x: Tensor,
    *,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    bias: float = 1.0,
) -> Tensor:
    """A. Krizhevsky, I. Sutskever and G. Hinton, 2012: elements over a power of the squares of
    ``size`` channels around."""
    read, before = x.padded(0.0), (size - 1) // 2

    def summed(n: Term, c: Term, *i: Term) -> Term:
        def square(k: Term) -> Term:
            value = read[(n, c + k - before, *i)]
            return value * value

        return po.sum(square, over={"k": size})

    squares = make.stage(x.shape, summed, part="squares")
    return make.stage(x.shape, lambda *i: x[i] / po.pow(bias + alpha / size * squares[i], beta))
