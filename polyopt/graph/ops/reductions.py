"""Reductions along axes."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, normal_axis, operator
from polyopt.ir.types import F32, I64

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor


def _reduced(shape: Sequence[int], axes: Sequence[int], keepdims: int) -> tuple[int, ...]:
    along = {normal_axis(axis, len(shape)) for axis in axes}
    kept = [1 if d in along else extent for d, extent in enumerate(shape)]
    return tuple(e for d, e in enumerate(kept) if keepdims or d not in along)


def _rule(x: Value, *, axes: Sequence[int], keepdims: int = 1) -> Result:
    return Result(_reduced(x.shape, axes, keepdims), x.dtype)


def _mean_rule(x: Value, *, axes: Sequence[int], keepdims: int = 1) -> Result:
    if not x.dtype.is_float:
        raise GraphError(f"a floating-point operand is needed, not {x.dtype}")
    return _rule(x, axes=axes, keepdims=keepdims)


def _reduction(
    make: Maker,
    x: Tensor,
    axes: Sequence[int],
    keepdims: int,
    reduce: Callable[..., Term],
    part: str = "",
    of: Callable[[Term], Term] = lambda value: value,
) -> Tensor:
    along = sorted({normal_axis(axis, x.rank) for axis in axes})
    shape = _reduced(x.shape, axes, keepdims)
    over = {f"k{d}": x.shape[d] for d in along}

    def value(*i: Term) -> Term:
        beside = [t for d, t in enumerate(i) if d not in along] if keepdims else list(i)
        if not along:
            return of(x[tuple(beside)])

        def element(*k: Term) -> Term:
            rest, inside = iter(beside), iter(k)
            place = (next(inside) if d in along else next(rest) for d in range(x.rank))
            return of(x[tuple(place)])

        return reduce(element, over=over)

    return make.stage(shape, value, part=part)


def _register(
    name: str, reduce: Callable[..., Term], of: Callable[[Term], Term] = lambda value: value
) -> None:
    def build(make: Maker, x: Tensor, *, axes: Sequence[int], keepdims: int = 1) -> Tensor:
        return _reduction(make, x, axes, keepdims, reduce, of=of)

    operator(name, result=_rule)(build)


_register("reduce_sum", po.sum)
_register("reduce_prod", po.product)
_register("reduce_max", po.max)
_register("reduce_min", po.min)
_register("reduce_l1", po.sum, abs)
_register("reduce_sum_square", po.sum, lambda value: value * value)


@operator("reduce_mean", result=_mean_rule)
def reduce_mean(make: Maker, x: Tensor, *, axes: Sequence[int], keepdims: int = 1) -> Tensor:
    """The mean along axes; over rows and columns, global average pooling."""
    sums = _reduction(make, x, axes, keepdims, po.sum, part="sums")
    count = float(prod(x.shape[normal_axis(axis, x.rank)] for axis in axes))
    return make.stage(sums.shape, lambda *i: sums[i] / count)


@operator("reduce_l2", result=_mean_rule)
def reduce_l2(make: Maker, x: Tensor, *, axes: Sequence[int], keepdims: int = 1) -> Tensor:
    """The Euclidean norm along axes."""
    squares = _reduction(make, x, axes, keepdims, po.sum, "squares", lambda value: value * value)
    return make.stage(squares.shape, lambda *i: po.sqrt(squares[i]))


@operator("reduce_log_sum", result=_mean_rule)
def reduce_log_sum(make: Maker, x: Tensor, *, axes: Sequence[int], keepdims: int = 1) -> Tensor:
    """The logarithm of the sum along axes."""
    sums = _reduction(make, x, axes, keepdims, po.sum, "sums")
    return make.stage(sums.shape, lambda *i: po.log(sums[i]))


@operator("reduce_log_sum_exp", result=_mean_rule)
def reduce_log_sum_exp(make: Maker, x: Tensor, *, axes: Sequence[int], keepdims: int = 1) -> Tensor:
    """The logarithm of the sum of powers of e, with the greatest element taken off first."""
    along = {normal_axis(axis, x.rank) for axis in axes}
    most = _reduction(make, x, axes, 1, po.max, "most")
    largest = 3.0e38 if x.dtype.bits == F32.bits else 1.7e308

    def shift(*i: Term) -> Term:  # infinity less infinity would be no number
        return po.select(abs(most[i]) < largest, most[i], 0.0)

    shifts = make.stage(most.shape, shift, part="shift")

    def power(*i: Term) -> Term:
        beside = tuple(0 if d in along else t for d, t in enumerate(i))
        return po.exp(x[i] - shifts[beside])

    powers = make.stage(x.shape, power, part="exp")
    sums = _reduction(make, powers, axes, keepdims, po.sum, "sums")

    def result(*i: Term) -> Term:
        if keepdims:
            return po.log(sums[i]) + shifts[i]
        rest = iter(i)
        return (
            po.log(sums[i]) + shifts[tuple(0 if d in along else next(rest) for d in range(x.rank))]
        )

    return make.stage(sums.shape, result)


# -- places of extremes -------------------------------------------------------------------------


def _place_rule(x: Value, *, axis: int = 0, keepdims: int = 1, last: int = 0) -> Result:
    _ = last
    return Result(_reduced(x.shape, [axis], keepdims), I64)


def _place(
    make: Maker, x: Tensor, axis: int, keepdims: int, last: int, reduce: Callable[..., Term]
) -> Tensor:
    """The first or last place along an axis at which the extreme stands; 0 where all are NaN."""
    d = normal_axis(axis, x.rank)
    best = _extreme(make, x, d, reduce)
    over = {"k": x.shape[d]}
    none = -1 if last else x.shape[d]

    def place(*i: Term) -> Term:
        beside = i[:d] + i[d + 1 :] if keepdims else i

        def candidate(k: Term) -> Term:
            found = x[(*beside[:d], k, *beside[d:])] == best[beside]
            return po.select(found, po.cast("i64", k), po.cast("i64", none))

        return (po.max if last else po.min)(candidate, over=over)

    shape = _reduced(x.shape, [axis], keepdims)
    if not x.dtype.is_float:
        return make.stage(shape, place)
    found = make.stage(shape, place, part="place")
    return make.stage(shape, lambda *i: po.select(found[i] == none, 0, found[i]))


def _extreme(make: Maker, x: Tensor, d: int, reduce: Callable[..., Term]) -> Tensor:
    """The extreme along an axis, without that axis."""

    def extreme(*i: Term) -> Term:
        def element(k: Term) -> Term:
            return x[(*i[:d], k, *i[d:])]

        return reduce(element, over={"k": x.shape[d]})

    shape = (*x.shape[:d], *x.shape[d + 1 :])
    return make.stage(shape, extreme, part="extreme", dtype=x.dtype)


@operator("arg_max", result=_place_rule)
def arg_max(make: Maker, x: Tensor, *, axis: int = 0, keepdims: int = 1, last: int = 0) -> Tensor:
    """The place of the greatest element along an axis: the first of several, or the last."""
    return _place(make, x, axis, keepdims, last, po.max)


@operator("arg_min", result=_place_rule)
def arg_min(make: Maker, x: Tensor, *, axis: int = 0, keepdims: int = 1, last: int = 0) -> Tensor:
    """The place of the least element along an axis: the first of several, or the last."""
    return _place(make, x, axis, keepdims, last, po.min)


def _first_rule(x: Value, *, axis: int = -1) -> Result:
    normal_axis(axis, len(x.shape))
    return Result(x.shape, x.dtype)


@operator("hardmax", result=_first_rule)
def hardmax(make: Maker, x: Tensor, *, axis: int = -1) -> Tensor:
    """1 at the first greatest element along an axis, else 0."""
    d = normal_axis(axis, x.rank)
    wide = replace(make, dtype=I64, base=f"{make.base}_place")
    place = _place(wide, x, d, 0, 0, po.max)
    return make.stage(x.shape, lambda *i: po.select(place[(*i[:d], *i[d + 1 :])] == i[d], 1, 0))


# -- the greatest several -----------------------------------------------------------------------


def _top_rule(x: Value, *, axis: int = -1, k: int, largest: int = 1) -> Result:
    _ = largest
    d = normal_axis(axis, len(x.shape))
    if not 1 <= k <= x.shape[d]:
        raise GraphError(f"{k} of {x.shape[d]} elements cannot be taken")
    return Result((*x.shape[:d], k, *x.shape[d + 1 :]), x.dtype)


def _top_places_rule(x: Value, *, axis: int = -1, k: int, largest: int = 1) -> Result:
    return Result(_top_rule(x, axis=axis, k=k, largest=largest).shape, I64)


def _selection(make: Maker, x: Tensor, d: int, k: int, largest: int) -> Tensor:
    """The places of the ``k`` greatest or least elements along an axis, each after the other:
    ``[k + 1]...``, from row 1 on.

    Of equals the first comes first; NaN is as great as infinity.
    """
    rest, count = (*x.shape[:d], *x.shape[d + 1 :]), x.shape[d]
    low, high = (float("-inf"), float("inf")) if x.dtype.is_float else x.dtype.range
    start, worst, best_of = (high, low, po.max) if largest else (low, high, po.min)
    run = make.steps(k)
    value = run.state(rest, lambda *_: start, "value", dtype=x.dtype)
    place = run.state(rest, lambda *_: -1, "place", dtype=I64)

    def key(i: Sequence[Term], j: Term) -> Term:
        found = x[(*i[:d], j, *i[d:])]
        is_number = found == found  # noqa: PLR0124  (NaN is not)
        return po.select(is_number, found, high) if x.dtype.is_float else found

    def is_left(t: Term, i: Sequence[Term], j: Term) -> Term:
        """Whether an element comes after those that were taken."""
        last, found = value[(t, *i)], key(i, j)
        is_beyond = found < last if largest else found > last
        return is_beyond | ((found == last) & (po.cast("i64", j) > place[(t, *i)]))

    def extreme(t: Term, *i: Term) -> Term:
        def candidate(j: Term) -> Term:
            return po.select(is_left(t, i, j), key(i, j), worst)

        return best_of(candidate, over={"j": count})

    best = run.stage(rest, extreme, "best", dtype=x.dtype)

    def first(t: Term, *i: Term) -> Term:
        def candidate(j: Term) -> Term:
            found = is_left(t, i, j) & (key(i, j) == best[(t, *i)])
            return po.select(found, po.cast("i64", j), po.cast("i64", count))

        return po.min(candidate, over={"j": count})

    run.next(place, first)
    run.next(value, lambda *i: best[i])
    return place


@operator("top_k", result=_top_rule)
def top_k(make: Maker, x: Tensor, *, axis: int = -1, k: int, largest: int = 1) -> Tensor:
    """The ``k`` greatest or least elements along an axis, in order."""
    d = normal_axis(axis, x.rank)
    places = _selection(make, x, d, k, largest)

    def element(*i: Term) -> Term:
        found = places[(i[d] + 1, *i[:d], *i[d + 1 :])]
        return x[(*i[:d], po.clamp(found, 0, x.shape[d] - 1), *i[d + 1 :])]

    return make.stage((*x.shape[:d], k, *x.shape[d + 1 :]), element)


@operator("top_k_places", result=_top_places_rule)
def top_k_places(make: Maker, x: Tensor, *, axis: int = -1, k: int, largest: int = 1) -> Tensor:
    """The places of the ``k`` greatest or least elements along an axis, in their order."""
    d = normal_axis(axis, x.rank)
    places = _selection(make, x, d, k, largest)
    shape = (*x.shape[:d], k, *x.shape[d + 1 :])
    return make.stage(shape, lambda *i: places[(i[d] + 1, *i[:d], *i[d + 1 :])])
