"""Transposed convolutions, and sums of overlapping blocks: adjoints of reading windows.

Written from the result's side: an element adds up what falls on it. With strides, elements of one
phase (the remainder by the stride) take the same part of the kernel, so phases are computed side
by side and then put in place: nothing is multiplied by the zeros between spread elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_float, need_rank, operator
from polyopt.graph.ops.convolutions import KERNEL, need_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor


def _rule(
    x: Value,
    w: Value,
    b: Value | None = None,
    *,
    strides: Sequence[int],
    begins: Sequence[int],
    dilations: Sequence[int],
    extents: Sequence[int],
    group: int = 1,
) -> Result:
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


@operator("conv_transpose", result=_rule)
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
) -> Tensor:
    """ONNX's ``ConvTranspose``: ``x [n][ci]...``, ``w [ci][co / group]...``.

    ``begins`` elements are cut off before the result, whose spatial dimensions are ``extents``.
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
            return source[(n, first, *at)] * weights[(first, co % per_output, *tap)]

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
