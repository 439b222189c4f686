"""Pooling: the greatest or the mean element of windows, along one axis after the other.

Windows lie on the third dimension and those after it; the last ``inner`` ones (the lanes of
blocked channels) stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_float, need_rank, operator
from polyopt.graph.ops.convolutions import need_lengths
from polyopt.ir.types import I64, U8

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor


def _outputs(
    inputs: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: int,
) -> list[int]:
    """Windows per dimension; with ``ceil_mode`` the last may be cut off, but not start outside."""
    rank = len(inputs)
    result: list[int] = []
    for d in range(rank):
        free = inputs[d] + pads[d] + pads[rank + d] - dilations[d] * (kernel[d] - 1) - 1
        count = (-(-free // strides[d]) if ceil_mode else free // strides[d]) + 1
        if ceil_mode and (count - 1) * strides[d] >= inputs[d] + pads[d]:
            count -= 1
        result.append(count)
    return result


def _rule(
    x: Value,
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: int = 0,
    inner: int = 0,
    **_options: object,
) -> Result:
    need_rank(x, 3 + inner, 5)
    rank = len(x.shape) - 2 - inner
    need_lengths(rank, kernel=kernel, strides=strides, pads=pads, dilations=dilations)
    reach = [dilations[d] * (kernel[d] - 1) + 1 for d in range(rank)]
    if any(max(pads[d], pads[rank + d]) >= reach[d] for d in range(rank)):
        raise GraphError(f"pads {list(pads)} are wider than the window {reach}")
    inputs = x.shape[2 : 2 + rank]
    outputs = _outputs(inputs, kernel, strides, pads, dilations, ceil_mode)
    return Result((*x.shape[:2], *outputs, *x.shape[2 + rank :]), x.dtype)


def _mean_rule(x: Value, *, count_include_pad: int = 0, **options: Sequence[int]) -> Result:
    need_float(x)
    _ = count_include_pad
    return _rule(x, **options)  # type: ignore[arg-type]


@operator("max_pool", result=_rule)
def max_pool(  # noqa: PLR0913  (an argument per attribute)
    make: Maker,
    x: Tensor,
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: int = 0,
    inner: int = 0,
    keep_nan: int = 0,
) -> Tensor:
    """The greatest element of each window; what lies outside does not count.

    NaN is passed over, or with ``keep_nan`` it is the greatest.
    """
    _ = inner  # as many as the kernel leaves
    windows = _windows(x, kernel, strides, pads, dilations, ceil_mode)
    if not x.dtype.is_float:
        return _pooled(make, x, windows, po.max, x.dtype.range[0], "")
    if not keep_nan:
        return _pooled(make, x, windows, po.max, float("-inf"), "")
    best = _pooled(make, x, windows, po.max, float("-inf"), "most")

    def flag(*i: Term) -> Term:
        return po.select(x[i] == x[i], 0, 1)

    flags = make.stage(x.shape, flag, part="nan", dtype=U8)
    has_nan = _pooled(replace(make, dtype=U8), flags, windows, po.max, 0, "nans")
    return make.stage(best.shape, lambda *i: po.select(has_nan[i] == 0, best[i], float("nan")))


def _power_rule(x: Value, *, p: int = 2, **options: Sequence[int]) -> Result:
    need_float(x)
    if p < 1:
        raise GraphError(f"the order of the norm is 1 or more, not {p}")
    return _rule(x, **options)  # type: ignore[arg-type]


@operator("lp_pool", result=_power_rule)
def lp_pool(
    make: Maker,
    x: Tensor,
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: int = 0,
    p: int = 2,
) -> Tensor:
    """The norm of order ``p`` of each window; what lies outside is 0."""

    def power(*i: Term) -> Term:
        return x[i] * x[i] if p == 2 else po.pow(abs(x[i]), float(p)) if p > 1 else abs(x[i])

    powers = make.stage(x.shape, power, part="powers")
    windows = _windows(x, kernel, strides, pads, dilations, ceil_mode)
    sums = _pooled(make, powers, windows, po.sum, 0.0, "sums")

    def root(*i: Term) -> Term:
        return po.sqrt(sums[i]) if p == 2 else po.pow(sums[i], 1.0 / p) if p > 1 else sums[i]

    return make.stage(sums.shape, root)


def _place_rule(x: Value, *, column_major: int = 0, **options: Sequence[int]) -> Result:
    _ = column_major
    return Result(_rule(x, **options).shape, I64)  # type: ignore[arg-type]


@operator("max_pool_places", result=_place_rule)
def max_pool_places(
    make: Maker,
    x: Tensor,
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: int = 0,
    column_major: int = 0,
) -> Tensor:
    """The place of the first greatest element of each window, counted through the whole tensor.

    Places count through rows, or through columns with ``column_major``; 0 where all of a window
    are NaN.
    """
    windows = _windows(x, kernel, strides, pads, dilations, ceil_mode)
    lowest = float("-inf") if x.dtype.is_float else x.dtype.range[0]
    wide = replace(make, dtype=x.dtype)
    best = _pooled(wide, x, windows, po.max, lowest, "most")
    size, read = prod(x.shape), x.padded(lowest)
    over = {f"k{d}": window.kernel for d, window in enumerate(windows)}

    def first(*i: Term) -> Term:
        def candidate(*k: Term) -> Term:
            at = [w.at(i[2 + d], k[d]) for d, w in enumerate(windows)]
            found = read[(*i[:2], *at)] == best[i]
            for place, w in zip(at, windows, strict=True):
                found = found if w.is_inside else found & (place >= 0) & (place < w.size)
            row = _counted((*i[:2], *at), x.shape)
            return po.select(found, po.cast("i64", row), po.cast("i64", size))

        return po.min(candidate, over=over)

    places = make.stage(best.shape, first, part="first")

    def place(*i: Term) -> Term:
        found = po.select(places[i] == size, 0, places[i])
        return _by_columns(found, x.shape) if column_major else found

    return make.stage(best.shape, place)


def _counted(index: Sequence[Term], shape: Sequence[int]) -> Term:
    """The place of an element, counted through rows."""
    place: Term | int = 0
    for i, extent in zip(index, shape, strict=True):
        place = place * extent + i
    return place  # type: ignore[return-value]


def _by_columns(place: Term, shape: Sequence[int]) -> Term:
    """A place counted through rows as one counted through columns of each channel."""
    size = prod(shape[2:])
    inside, result = place % size, place // size * size
    below, beside = size, 1
    for extent in shape[2:]:
        below //= extent
        result = result + inside // below % extent * beside
        beside *= extent
    return result


@operator("avg_pool", result=_mean_rule)
def avg_pool(  # noqa: PLR0913  (an argument per attribute)
    make: Maker,
    x: Tensor,
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    inner: int = 0,
) -> Tensor:
    """The mean of each window, over what lies inside, or inside the padding as well."""
    _ = inner
    windows = _windows(x, kernel, strides, pads, dilations, ceil_mode)
    sums = _pooled(make, x, windows, po.sum, 0.0, "sums")

    def mean(*i: Term) -> Term:
        count: Term | int = 1
        for d, window in enumerate(windows):
            inside = window.covered(i[2 + d], padding=bool(count_include_pad))
            if isinstance(count, int) and isinstance(inside, int):
                count *= inside
            else:
                count = po.cast(x.dtype.name, inside) * count
        return sums[i] / count

    return make.stage(sums.shape, mean)


@dataclass(frozen=True)
class _Window:
    """The windows along one axis: ``outputs`` of them on ``size`` elements."""

    size: int
    kernel: int
    stride: int
    before: int
    after: int
    dilation: int
    outputs: int

    def at(self, i: Term, k: Term) -> Term:
        """Where element ``k`` of window ``i`` lies."""
        return self.stride * i + self.dilation * k - self.before

    @property
    def is_inside(self) -> bool:
        """Whether no window reaches outside."""
        last = self.stride * (self.outputs - 1) + self.dilation * (self.kernel - 1)
        return not self.before and last < self.size

    def covered(self, i: Term, *, padding: bool) -> Term | int:
        """Elements of window ``i`` that count: the ``k`` of ``low <= s * i - p + d * k < high``."""
        low, high = 0, self.size
        if padding:
            low, high = -self.before, self.size + self.after
        start = self.stride * i - self.before
        end = self.stride * (self.outputs - 1) - self.before + self.dilation * (self.kernel - 1)
        if -self.before >= low and end < high:
            return self.kernel
        first = po.max(-((start - low) // self.dilation), 0)
        last = po.min((high - 1 - start) // self.dilation, self.kernel - 1)
        return last - first + 1


def _windows(
    x: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: int,
) -> list[_Window]:
    rank = len(kernel)
    outputs = _outputs(x.shape[2 : 2 + rank], kernel, strides, pads, dilations, ceil_mode)
    return [
        _Window(x.shape[2 + d], kernel[d], strides[d], pads[d], pads[rank + d], dilations[d],
                outputs[d])
        for d in range(rank)
    ]  # fmt: skip


def _pooled(
    make: Maker,
    x: Tensor,
    windows: Sequence[_Window],
    reduce: Callable[..., Term],
    outside: float,
    part: str,
) -> Tensor:
    """Each window reduced, rows first: ``k + k`` operations instead of ``k * k``."""
    shape = list(x.shape)
    for d, window in enumerate(windows):
        shape[2 + d] = window.outputs
        is_last = d == len(windows) - 1
        x = make.stage(
            shape, _along(x, 2 + d, window, reduce, outside), part=part if is_last else f"axis{d}"
        )
    return x


def _along(
    x: Tensor, axis: int, window: _Window, reduce: Callable[..., Term], outside: float
) -> Callable[..., Term]:
    """The reduction of the windows along one axis."""
    read = x if window.is_inside else x.padded(outside)

    def value(*i: Term) -> Term:
        def element(*k: Term) -> Term:
            return read[(*i[:axis], window.at(i[axis], k[0]), *i[axis + 1 :])]

        return reduce(element, over={"k": window.kernel})

    return value
