"""Convolutions over one to three dimensions, channels second, and transposed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_float, need_rank, operator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor

#: reduction loops: input channel, then the kernel's dimensions
KERNEL = {1: ("kx",), 2: ("ky", "kx"), 3: ("kz", "ky", "kx")}


def need_lengths(rank: int, **given: Sequence[int]) -> None:
    """Raises ``GraphError`` unless each attribute has one number per spatial dimension.

    ``pads`` has two: all begins, then all ends.
    """
    for name, numbers in given.items():
        wanted = 2 * rank if name == "pads" else rank
        least = 0 if name == "pads" else 1
        if len(numbers) != wanted or min(numbers, default=least) < least:
            raise GraphError(f"{name} is {wanted} number(s) from {least} up, not {list(numbers)}")


def output_extents(
    x: Value | Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> list[int]:
    """Rows, columns, ... of a convolution's result, for an input ``[n][c]...``."""
    rank = len(kernel)
    return [
        (x.shape[2 + d] + pads[d] + pads[rank + d] - dilations[d] * (kernel[d] - 1) - 1)
        // strides[d] + 1
        for d in range(rank)
    ]  # fmt: skip


def _rule(
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
    return convolution_rule(x, w, b, strides, pads, dilations, group)


def convolution_rule(
    x: Value,
    w: Value,
    b: Value | None,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int,
) -> Result:
    """The shape of a convolution, of the operand's type. Raises ``GraphError``."""
    need_rank(x, 3, 5)
    need_rank(w, len(x.shape), len(x.shape))
    rank = len(x.shape) - 2
    need_lengths(rank, strides=strides, pads=pads, dilations=dilations)
    (batch, channels, *_), (count, per_group, *kernel) = x.shape, w.shape
    if group < 1 or channels != per_group * group or count % group:
        raise GraphError(
            f"weights {list(w.shape)} do not fit {channels} channels in {group} group(s)"
        )
    if b is not None and b.shape != (count,):
        raise GraphError(f"the bias has the shape {list(b.shape)}, not [{count}]")
    outputs = output_extents(x, kernel, strides, pads, dilations)
    return Result((batch, count, *outputs), x.dtype)


@operator("conv", result=_rule)
def conv(
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
    """Cross-correlation as in ONNX's ``Conv``: ``x [n][c]...``, ``w [co][c / group]...``.

    A depthwise convolution has as many groups as channels.
    """
    split = w.shape[1] == 1 and strides[-1] > 1
    source = _by_phase(make, x, pads, strides[-1]) if split else pad_constant(make, x, pads, 0.0)
    outputs = output_extents(x, w.shape[2:], strides, pads, dilations)
    shape = (x.shape[0], w.shape[0], *outputs)
    summed = products(source, w, strides, dilations, group, split=split)
    sums = make.stage(shape, summed, part="sums" if b is not None else "")
    if b is None:
        return sums
    return make.stage(shape, lambda *i: sums[i] + b[i[1]])


def products(
    source: Tensor,
    w: Tensor,
    strides: Sequence[int],
    dilations: Sequence[int],
    group: int,
    *,
    split: bool = False,
    dtype: str = "",
) -> Callable[..., Term]:
    """The sum of products of each element of a convolution, for an operand that has its frame.

    With ``split``, ``source`` is laid out as ``_by_phase`` does; ``dtype`` is the type that both
    operands are converted to.
    """
    count, per_group, *kernel = w.shape
    rank = len(kernel)

    def factor(value: Term) -> Term:
        return po.cast(dtype, value) if dtype else value

    def summed(n: Term, co: Term, *place: Term) -> Term:
        def product(ci: Term, *k: Term) -> Term:
            at = [strides[d] * place[d] + dilations[d] * k[d] for d in range(rank)]
            if split:
                ahead = dilations[-1] * k[-1]
                at[-1:] = [ahead % strides[-1], place[-1] + ahead // strides[-1]]
            channel = ci if group == 1 else _channel(co, ci, count // group, per_group)
            return factor(source[(n, channel, *at)]) * factor(w[(co, ci, *k)])

        over = {"ci": per_group, **dict(zip(KERNEL[rank], kernel, strict=True))}
        if per_group == 1:
            del over["ci"]
            return po.sum(lambda *k: product(0, *k), over)  # type: ignore[arg-type]
        return po.sum(product, over)

    return summed


def _channel(co: Term, ci: Term, per_output: int, per_input: int) -> Term:
    """The input channel that output channel ``co`` reads as its ``ci``-th."""
    first = co if per_output == 1 else co // per_output
    return first * per_input + ci


def _by_phase(make: Maker, x: Tensor, pads: Sequence[int], stride: int) -> Tensor:
    """The operand with its frame of zeros, every ``stride``-th element of a row beside the next:
    ``[n][c]...[x % stride][x / stride]``."""
    rank = len(pads) // 2
    *spatial, width = (x.shape[2 + d] + pads[d] + pads[rank + d] for d in range(rank))
    framed = x.padded(0.0)

    def element(n: Term, c: Term, *i: Term) -> Term:
        *before, phase, place = i
        at = [*before, stride * place + phase]
        return framed[(n, c, *(at[d] - pads[d] for d in range(rank)))]

    shape = (*x.shape[:2], *spatial, stride, -(-width // stride))
    return make.stage(shape, element, part="padded")


def pad_constant(make: Maker, x: Tensor, pads: Sequence[int], value: float) -> Tensor:
    """The operand with a frame around its spatial dimensions, the third and those after it;
    itself where the frame has no width."""
    if not any(pads):
        return x
    rank = len(pads) // 2
    spatial = [x.shape[2 + d] + pads[d] + pads[rank + d] for d in range(rank)]
    shape = (*x.shape[:2], *spatial, *x.shape[2 + rank :])
    framed = x.padded(value)

    def element(n: Term, c: Term, *i: Term) -> Term:
        return framed[(n, c, *(i[d] - pads[d] for d in range(rank)), *i[rank:])]

    return make.stage(shape, element, part="padded")


# -- adjoints of reading windows ----------------------------------------------------------------
#
# Written from the result's side: an element adds up what falls on it. With strides, elements of
# one phase (the remainder by the stride) take the same part of the kernel, so phases are computed
# side by side and then put in place: nothing is multiplied by the zeros between spread elements.


def _transposed_rule(  # noqa: PLR0913  (an argument per attribute)
    x: Value,
    w: Value,
    b: Value | None = None,
    *,
    strides: Sequence[int],
    begins: Sequence[int],
    dilations: Sequence[int],
    extents: Sequence[int],
    group: int = 1,
    finite: int = 0,
) -> Result:
    _ = finite
    need_float(x, w, b)
    need_rank(x, 3, 5)
    need_rank(w, len(x.shape), len(x.shape))
    need_lengths(len(x.shape) - 2, strides=strides, dilations=dilations, extents=extents)
    if len(begins) != len(strides) or min(begins) < 0:
        raise GraphError(f"begins are {len(strides)} number(s) from 0 up, not {list(begins)}")
    channels, count = w.shape[0], w.shape[1] * group
    if group < 1 or x.shape[1] != channels or channels % group:
        raise GraphError(
            f"weights {list(w.shape)} do not fit {x.shape[1]} channels in {group} group(s)"
        )
    if b is not None and b.shape != (count,):
        raise GraphError(f"the bias has the shape {list(b.shape)}, not [{count}]")
    return Result((x.shape[0], count, *extents), x.dtype)


@operator("conv_transpose", result=_transposed_rule)
def conv_transpose(  # noqa: PLR0913  (an argument per attribute)
    make: Maker,
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    strides: Sequence[int],
    begins: Sequence[int],
    dilations: Sequence[int],
    extents: Sequence[int],
    group: int = 1,
    finite: int = 0,
) -> Tensor:
    """ONNX's ``ConvTranspose``: ``x [n][ci]...``, ``w [ci][co / group]...``.

    ``begins`` elements are cut off before the result, whose spatial dimensions are ``extents``.
    Nothing is multiplied that ONNX does not multiply, so that infinities and NaN stay where they
    belong. ``finite`` says that weights are neither: then zeros may lie around the operand.
    """
    rank = len(strides)
    weights = _spread(make, w, strides, dilations)
    taps = [k // s for k, s in zip(weights.shape[2:], strides, strict=True)]
    counts = [(extents[d] - 1 + begins[d]) // strides[d] + 1 for d in range(rank)]
    source = _with_margin(make, x, taps, counts)
    per_input, per_output = x.shape[1] // group, w.shape[1]
    over = {"ci": per_input, **dict(zip(KERNEL[rank], taps, strict=True))}

    def summed(n: Term, co: Term, *i: Term) -> Term:
        phase, place = i[:rank], i[rank:]

        def product(ci: Term, *k: Term) -> Term:
            first = ci if group == 1 else co // per_output * per_input + ci
            at = [place[d] - k[d] + taps[d] - 1 for d in range(rank)]
            tap = [phase[d] + strides[d] * k[d] for d in range(rank)]
            found = source[(n, first, *at)] * weights[(first, co % per_output, *tap)]
            inside = (
                []
                if finite
                else [
                    (at[d] >= taps[d] - 1) & (at[d] < taps[d] - 1 + x.shape[2 + d])
                    for d in range(rank)
                ]
            )
            is_tap = [] if weights is w else _is_tap(tap, w.shape[2:], dilations)
            return _where_all([*is_tap, *inside], found)

        return po.sum(product, over)

    wide = (x.shape[0], per_output * group)
    phases = make.stage((*wide, *strides, *counts), summed, part="phases")

    def element(n: Term, co: Term, *i: Term) -> Term:
        at = [i[d] + begins[d] for d in range(rank)]
        phase = [at[d] % strides[d] for d in range(rank)]
        value = phases[(n, co, *phase, *(at[d] // strides[d] for d in range(rank)))]
        return value if b is None else value + b[co]

    return make.stage((*wide, *extents), element)


def _spread(make: Maker, w: Tensor, strides: Sequence[int], dilations: Sequence[int]) -> Tensor:
    """The weights with zeros between their taps, and behind them up to whole strides."""
    kernel = w.shape[2:]
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
    whole = [-(-r // s) * s for r, s in zip(reach, strides, strict=True)]
    if tuple(whole) == kernel:
        return w
    read = w.padded(0.0)

    def element(ci: Term, co: Term, *k: Term) -> Term:
        value = read[(ci, co, *(t // d for t, d in zip(k, dilations, strict=True)))]
        for t, d in zip(k, dilations, strict=True):
            value = value if d == 1 else po.select(t % d == 0, value, 0.0)
        return value

    return make.stage((*w.shape[:2], *whole), element, part="weights")


def _is_tap(tap: Sequence[Term], kernel: Sequence[int], dilations: Sequence[int]) -> list[Term]:
    """What has to hold for an element of spread weights to be one of theirs, and no zero between
    or behind them."""
    sizes = [*zip(tap, kernel, dilations, strict=True)]
    between = [t % d == 0 for t, _, d in sizes if d > 1]
    return [*between, *(t < d * (k - 1) + 1 for t, k, d in sizes)]


def _where_all(conditions: Sequence[Term], value: Term) -> Term:
    """A value where all conditions hold, else 0."""
    if not conditions:
        return value
    met = conditions[0]
    for each in conditions[1:]:
        met = met & each
    return po.select(met, value, 0.0)


def _with_margin(make: Maker, x: Tensor, taps: Sequence[int], counts: Sequence[int]) -> Tensor:
    """The operand with zeros before it for all but one tap, and behind it up to the last place."""
    spatial = [taps[d] - 1 + counts[d] for d in range(len(taps))]
    read = x.padded(0.0)

    def element(n: Term, c: Term, *i: Term) -> Term:
        return read[(n, c, *(i[d] - taps[d] + 1 for d in range(len(taps))))]

    return make.stage((*x.shape[:2], *spatial), element, part="padded")


def _fold_rule(
    x: Value,
    *,
    extents: Sequence[int],
    strides: Sequence[int],
    begins: Sequence[int],
    dilations: Sequence[int],
) -> Result:
    rank = len(extents)
    need_rank(x, 2 + 2 * rank, 2 + 2 * rank)
    need_lengths(rank, strides=strides, dilations=dilations, extents=extents)
    if len(begins) != rank or min(begins) < 0:
        raise GraphError(f"begins are {rank} number(s) from 0 up, not {list(begins)}")
    return Result((*x.shape[:2], *extents), x.dtype)


@operator("fold", result=_fold_rule)
def fold(
    make: Maker,
    x: Tensor,
    *,
    extents: Sequence[int],
    strides: Sequence[int],
    begins: Sequence[int],
    dilations: Sequence[int],
) -> Tensor:
    """Sums of blocks where they overlap: ``x [n][c][k]...[place]...``, as PyTorch's ``fold``.

    Element ``k`` of the block at a place lies at ``stride * place + dilation * k - begin``.
    """
    rank = len(extents)
    kernel = x.shape[2 : 2 + rank]
    names = KERNEL.get(rank) or tuple(f"k{d}" for d in range(rank))
    read = x.padded(0)

    def summed(n: Term, c: Term, *i: Term) -> Term:
        def element(*k: Term) -> Term:
            at = [i[d] + begins[d] - dilations[d] * k[d] for d in range(rank)]
            value = read[(n, c, *k, *(at[d] // strides[d] for d in range(rank)))]
            for d in range(rank):
                value = value if strides[d] == 1 else po.select(at[d] % strides[d] == 0, value, 0)
            return value

        return po.sum(element, dict(zip(names, kernel, strict=True)))

    return make.stage((*x.shape[:2], *extents), summed)
