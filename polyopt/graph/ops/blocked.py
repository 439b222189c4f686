"""Convolutions on blocks of channels: a vector's worth of them lie side by side, innermost.

``[n][c]...`` becomes ``[n][c / block]...[block]``: what one vector holds is contiguous, however
rows and columns are walked. A pass brings networks into this layout (``SelectLayout``); weights
come in the order in which they are read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product as product_of
from typing import TYPE_CHECKING

from polyopt.codegen.expressions.packed_dot import HALF, LOW
from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_float, need_rank, operator
from polyopt.graph.ops.convolutions import KERNEL, need_lengths, output_extents, pad_constant
from polyopt.graph.ops.quantised import need_bytes
from polyopt.ir.types import I32

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor

    #: an element's sums, from its batch and block, its phase, and its place and lane
    _Found = Callable[[Sequence[Term], Sequence[Term], Sequence[Term]], Term]


def need_bias(b: Value | None, blocks: int, lanes: int) -> None:
    """Raises ``GraphError`` unless a bias, where there is one, has an element for each lane."""
    if b is not None and b.shape != (blocks, lanes):
        raise GraphError(f"the bias has the shape {list(b.shape)}, not {[blocks, lanes]}")


def _need_windows(
    x: Value,
    w: Value,
    beside: int,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> None:
    """Raises ``GraphError`` unless weights have as many dimensions as the operand in blocks has of
    space, and so many ``beside``, and windows a length for each."""
    need_rank(x, 4, 5)
    rank = len(x.shape) - 3
    need_rank(w, rank + beside, rank + beside)
    need_lengths(rank, strides=strides, pads=pads, dilations=dilations)


def _conv_rule(
    x: Value,
    w: Value,
    b: Value | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int = 1,
) -> Result:
    need_float(x, w, b)
    _need_windows(x, w, 4, strides, pads, dilations)
    blocks, inner, *kernel, each, lanes = w.shape
    if group < 1 or blocks % group or (inner * group, each) != (x.shape[1], x.shape[-1]):
        msg = f"weights {list(w.shape)} do not fit blocks of channels {x} in {group} group(s)"
        raise GraphError(msg)
    need_bias(b, blocks, lanes)
    outputs = output_extents(x, kernel, strides, pads, dilations)
    return Result((x.shape[0], blocks, *outputs, lanes), x.dtype)


@operator("conv_blocked", result=_conv_rule, form_of="conv")
def conv_blocked(
    make: Maker,
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int = 1,
) -> Tensor:
    """``conv`` whose groups are whole blocks: ``x [n][ci / b]...[b]``,
    ``w [co / v][ci / group / b]...[b][v]``, ``b [co / v][v]``."""
    summed = _window_sums(pad_constant(make, x, pads, 0.0), w, strides, dilations, group, _product)
    kernel = w.shape[2:-2]
    shape = (x.shape[0], w.shape[0], *output_extents(x, kernel, strides, pads, dilations))
    return _biased(make, (*shape, w.shape[-1]), summed, b)


def _product(x: Term, w: Term) -> Term:
    return x * w


def _window_sums(
    source: Tensor,
    w: Tensor,
    strides: Sequence[int],
    dilations: Sequence[int],
    group: int,
    multiplied: Callable[[Term, Term], Term],
) -> Callable[..., Term]:
    """An element's sums over channels and windows of what has its frame already."""
    blocks, inner, *kernel, each, _ = w.shape
    per_group, rank = blocks // group, len(kernel)

    def summed(n: Term, co: Term, *place: Term) -> Term:
        *where, lane = place
        sizes = {"ci": inner, **dict(zip(KERNEL[rank], kernel, strict=True)), "lane": each}

        def product(ci: Term | int, *at: Term | int) -> Term:
            *k, i = at
            spot = [strides[d] * where[d] + dilations[d] * k[d] for d in range(rank)]
            first = ci if group == 1 else co // per_group * inner + ci
            return multiplied(source[(n, first, *spot, i)], w[(co, ci, *k, i, lane)])

        return _sum_over(sizes, product)

    return summed


def _integer_rule(
    x: Value,
    w: Value,
    zero: Value | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> Result:
    need_bytes(x)
    _need_windows(x, w, 4, strides, pads, dilations)
    blocks, inner, *kernel, each, lanes = w.shape
    if w.dtype != I32 or (inner, each) != (-(-x.shape[1] // 2), x.shape[-1]):
        raise GraphError(f"weights {w} are no pairs for blocks of channels {x}")
    if zero is not None and (zero.dtype != x.dtype or zero.size != 1):
        raise GraphError(f"the operand {x} has one zero point, not {zero}")
    outputs = output_extents(x, kernel, strides, pads, dilations)
    return Result((x.shape[0], blocks, *outputs, lanes), I32)


@operator("conv_integer_blocked", result=_integer_rule, form_of="conv_integer")
def conv_integer_blocked(
    make: Maker,
    x: Tensor,
    w: Tensor,
    zero: Tensor | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> Tensor:
    """``conv_integer`` as dot products of packed pairs: ``x [n][ci / b]...[b]`` of bytes,
    ``w [co / v][ci / b / 2]...[b][v]``, whose words hold the weights of a channel of one block, and
    of the same channel of the next."""
    source = _paired(make, x, zero, pads)
    summed = _window_sums(source, w, strides, dilations, 1, packed_product)
    outputs = output_extents(x, w.shape[2:-2], strides, pads, dilations)
    return make.stage((x.shape[0], w.shape[0], *outputs, w.shape[-1]), summed)


def _paired(make: Maker, x: Tensor, zero: Tensor | None, pads: Sequence[int]) -> Tensor:
    """The operand less its zero point with a frame of zeros, the channels of two blocks in the
    words of one."""
    rank = len(pads) // 2
    point = None if zero is None else zero[(0,) * zero.rank]
    framed = x.padded(0 if point is None else point)

    def element(n: Term, c: Term, *i: Term) -> Term:
        def channel(block: Term) -> Term:
            value = framed[(n, block, *(i[d] - pads[d] for d in range(rank)), i[rank])]
            wide = po.cast("i32", value)
            return wide if point is None else wide - po.cast("i32", point)

        return channel(2 * c) & LOW | channel(2 * c + 1) << HALF

    spatial = [x.shape[2 + d] + pads[d] + pads[rank + d] for d in range(rank)]
    shape = (x.shape[0], -(-x.shape[1] // 2), *spatial, x.shape[-1])
    return make.stage(shape, element, part="pairs", dtype=I32)


def packed_product(x: Term, w: Term) -> Term:
    """The dot product of two words of packed pairs (``codegen/expressions/packed_dot.py``)."""

    def low(word: Term) -> Term:
        return po.cast("i32", po.cast("i16", word))

    return low(x) * low(w) + (x >> HALF) * (w >> HALF)


def _depthwise_rule(
    x: Value,
    w: Value,
    b: Value | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> Result:
    need_float(x, w, b)
    _need_windows(x, w, 2, strides, pads, dilations)
    blocks, *kernel, lanes = w.shape
    if (blocks, lanes) != (x.shape[1], x.shape[-1]):
        raise GraphError(f"weights {list(w.shape)} do not fit blocks of channels {x}")
    need_bias(b, blocks, lanes)
    outputs = output_extents(x, kernel, strides, pads, dilations)
    return Result((x.shape[0], blocks, *outputs, lanes), x.dtype)


#: ``gemm`` by a constant matrix: a convolution of one place
gemm_blocked = operator("gemm_blocked", result=_conv_rule, form_of="gemm")(conv_blocked.build)


@operator("depthwise_blocked", result=_depthwise_rule, form_of="conv")
def depthwise_blocked(
    make: Maker,
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> Tensor:
    """``conv`` with a group per channel: ``x [n][c / b]...[b]``, ``w [c / b]...[b]``,
    ``b [c / b][b]``."""
    source = pad_constant(make, x, pads, 0.0)
    return _by_lane(make, x, source, w, b, strides, pads, dilations)


def _grouped_rule(
    x: Value,
    w: Value,
    b: Value | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> Result:
    need_rank(x, 4, 5)
    need_rank(w, len(x.shape), len(x.shape))
    each, lanes = w.shape[-2:]
    if lanes % each:
        raise GraphError(f"{lanes} lanes are no groups of {each} channels")
    apart = replace(w, shape=(*w.shape[:-2], lanes))
    return _depthwise_rule(x, apart, b, strides=strides, pads=pads, dilations=dilations)


@operator("grouped_blocked", result=_grouped_rule, form_of="conv")
def grouped_blocked(
    make: Maker,
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> Tensor:
    """``conv`` with several groups in a block, of as many channels as results:
    ``x [n][c / b]...[b]``, ``w [c / b]...[c / group][b]``, ``b [c / b][b]``.

    A lane reads the channels of its own group. The operand is copied with its frame, once for each
    channel of a group, each lane's beside the next: ``[n][c / b]...[c / group][b]``. All sums are
    then products of whole vectors, and nothing is multiplied that ONNX does not multiply.
    """
    _, *kernel, each, _ = w.shape
    rank = len(kernel)
    framed = x.padded(0.0)

    def spread(n: Term, c: Term, *i: Term) -> Term:
        *spot, channel, lane = i
        at = [spot[d] - pads[d] for d in range(rank)]
        return framed[(n, c, *at, lane // each * each + channel)]

    spatial = [x.shape[2 + d] + pads[d] + pads[rank + d] for d in range(rank)]
    source = make.stage((*x.shape[:2], *spatial, *w.shape[-2:]), spread, part="spread")

    return _by_lane(make, x, source, w, b, strides, pads, dilations)


def _by_lane(
    make: Maker,
    x: Tensor,
    source: Tensor,
    w: Tensor,
    b: Tensor | None,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> Tensor:
    """Sums in each lane of what lies in it alone: ``source [n][c / b]...[b]`` has its frame, and
    may have a dimension more before its lanes, as ``w [c / b]...[b]`` then has."""
    rank = len(x.shape) - 3
    _, *kernel, _ = w.shape
    kernel, inner = kernel[:rank], kernel[rank:]
    over = {
        **dict(zip(("ci",), inner, strict=False)),
        **dict(zip(KERNEL[rank], kernel, strict=True)),
    }

    def summed(n: Term, c: Term, *place: Term) -> Term:
        *where, lane = place

        def product(*terms: Term) -> Term:
            channel, k = terms[: len(inner)], terms[len(inner) :]
            spot = [strides[d] * where[d] + dilations[d] * k[d] for d in range(rank)]
            return source[(n, c, *spot, *channel, lane)] * w[(c, *k, *channel, lane)]

        return po.sum(product, over)  # type: ignore[arg-type]

    outputs = output_extents(x, kernel, strides, pads, dilations)
    return _biased(make, (*x.shape[:2], *outputs, x.shape[-1]), summed, b)


def _sum_over(sizes: Mapping[str, int], product: Callable[..., Term]) -> Term:
    """The sum of products over dimensions, channels first; those of one element have no loop."""
    over = {name: size for name, size in sizes.items() if size > 1} or {"ci": 1}

    def element(*terms: Term) -> Term:
        at: dict[str, Term | int] = dict.fromkeys(sizes, 0)
        at |= dict(zip(over, terms, strict=True))
        return product(*at.values())

    return po.sum(element, over)  # type: ignore[arg-type]


def _biased(
    make: Maker, shape: tuple[int, ...], summed: Callable[..., Term], b: Tensor | None
) -> Tensor:
    """The sums of a convolution, with a bias for each channel where there is one."""
    sums = make.stage(shape, summed, part="sums" if b is not None else "")
    if b is None:
        return sums
    return make.stage(shape, lambda *i: sums[i] + b[i[1], i[-1]])


def _transposed_rule(
    x: Value,
    w: Value,
    b: Value | None = None,
    *,
    strides: Sequence[int],
    begins: Sequence[int],
    extents: Sequence[int],
) -> Result:
    need_float(x, w, b)
    need_rank(x, 4, 5)
    rank = len(x.shape) - 3
    need_rank(w, rank + 4, rank + 4)
    need_lengths(rank, strides=strides, extents=extents)
    if len(begins) != rank or min(begins) < 0:
        raise GraphError(f"begins are {rank} number(s) from 0 up, not {list(begins)}")
    blocks, inner, *kernel, each, lanes = w.shape
    if (inner, each) != (x.shape[1], x.shape[-1]):
        raise GraphError(f"weights {list(w.shape)} do not fit blocks of channels {x}")
    if any(k < s for k, s in zip(kernel, strides, strict=True)):
        raise GraphError(f"a kernel of {kernel} leaves gaps at strides {list(strides)}")
    need_bias(b, blocks, lanes)
    return Result((x.shape[0], blocks, *extents, lanes), x.dtype)


@operator("conv_transpose_blocked", result=_transposed_rule, form_of="conv_transpose")
def conv_transpose_blocked(
    make: Maker,
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    strides: Sequence[int],
    begins: Sequence[int],
    extents: Sequence[int],
) -> Tensor:
    """``conv_transpose`` of finite weights in one group: ``x [n][ci / b]...[b]``,
    ``w [co / v][ci / b]...[b][v]``, ``b [co / v][v]``.

    Each phase, the elements with one remainder by the strides, is a convolution by every so many
    taps of the kernel (sub-pixel convolution). Where all have as many taps they are one stage.
    """
    kernel, rank = w.shape[2:-2], len(strides)
    most = [-(-k // s) for k, s in zip(kernel, strides, strict=True)]
    counts = [(extents[d] - 1 + begins[d]) // strides[d] + 1 for d in range(rank)]
    read = x.padded(0.0)

    def framed(n: Term, c: Term, *i: Term) -> Term:
        return read[(n, c, *(i[d] - most[d] + 1 for d in range(rank)), i[rank])]

    spatial = [most[d] - 1 + counts[d] for d in range(rank)]
    source = make.stage((*x.shape[:2], *spatial, x.shape[-1]), framed, part="padded")
    form = _Phases(make, source, w, tuple(strides), (x.shape[0], w.shape[0]), tuple(counts))
    alike = all(k % s == 0 for k, s in zip(kernel, strides, strict=True))
    found = form.alike() if alike else form.apart()

    def element(n: Term, co: Term, *at: Term) -> Term:
        *i, v = at
        there = [i[d] + begins[d] for d in range(rank)]
        phase = [there[d] % strides[d] for d in range(rank)]
        value = found((n, co), phase, (*(there[d] // strides[d] for d in range(rank)), v))
        return value if b is None else value + b[co, v]

    return make.stage((x.shape[0], w.shape[0], *extents, w.shape[-1]), element)


@dataclass(frozen=True)
class _Phases:
    """The sums of a transposed convolution, phase by phase: ``outer`` are their batch and blocks,
    ``counts`` the places of each."""

    make: Maker
    source: Tensor
    w: Tensor
    strides: tuple[int, ...]
    outer: tuple[int, int]
    counts: tuple[int, ...]

    def alike(self) -> _Found:
        """All phases in one stage, with a dimension for each stride."""
        rank, strides = len(self.strides), self.strides
        strided = [d for d in range(rank) if strides[d] > 1]
        taps = [k // s for k, s in zip(self.w.shape[2:-2], strides, strict=True)]

        def summed(n: Term, co: Term, *at: Term) -> Term:
            phase: list[Term | int] = [0] * rank
            for d, term in zip(strided, at, strict=False):
                phase[d] = term
            return self._summed(phase, taps, n, co, *at[len(strided) :])

        shape = (*self.outer, *(strides[d] for d in strided), *self.counts, self.w.shape[-1])
        sums = self.make.stage(shape, summed, part="phases")
        return lambda first, phase, place: sums[(*first, *(phase[d] for d in strided), *place)]

    def apart(self) -> _Found:
        """A stage for each phase, with the taps that it has."""
        strides, kernel = self.strides, self.w.shape[2:-2]
        shape = (*self.outer, *self.counts, self.w.shape[-1])
        stages: dict[tuple[int, ...], Tensor] = {}
        for phase in product_of(*map(range, strides)):
            taps = [-(-(k - r) // s) for k, r, s in zip(kernel, phase, strides, strict=True)]

            def summed(n: Term, co: Term, *at: Term) -> Term:
                return self._summed(phase, taps, n, co, *at)  # noqa: B023  (called at once)

            part = "_".join(("phase", *map(str, phase)))
            stages[phase] = self.make.stage(shape, summed, part=part)

        def found(first: Sequence[Term], phase: Sequence[Term], place: Sequence[Term]) -> Term:
            def chosen(*known: int) -> Term:
                """Of those that begin so, by the remainders of the dimensions that are left."""
                d = len(known)
                if d == len(strides):
                    return stages[known][(*first, *place)]
                value = chosen(*known, 0)
                for r in range(1, strides[d]):
                    value = po.select(phase[d] == r, chosen(*known, r), value)
                return value

            return chosen()

        return found

    def _summed(
        self, phase: Sequence[Term | int], taps: Sequence[int], n: Term, co: Term, *at: Term
    ) -> Term:
        *place, lane = at
        rank, most = (
            len(taps),
            [-(-k // s) for k, s in zip(self.w.shape[2:-2], self.strides, strict=True)],
        )
        inner, each = self.w.shape[1], self.w.shape[-2]
        sizes = {"ci": inner, **dict(zip(KERNEL[rank], taps, strict=True)), "lane": each}

        def product(ci: Term | int, *at: Term | int) -> Term:
            *k, i = at
            spot = [place[d] - k[d] + most[d] - 1 for d in range(rank)]
            tap = [phase[d] + self.strides[d] * k[d] for d in range(rank)]
            return self.source[(n, ci, *spot, i)] * self.w[(co, ci, *tap, i, lane)]

        return _sum_over(sizes, product)
