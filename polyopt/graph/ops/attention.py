"""Attention: products with keys, softmax and products with values, as one operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.ir.graph import Value
from polyopt.graph.operators import (
    Result,
    broadcast,
    broadcast_index,
    need_float,
    need_rank,
    operator,
)
from polyopt.ir.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.frontend.stages import Term
    from polyopt.graph.operators import Maker, Tensor


#: queries that take the same keys where a mask is causal: a multiple of tiles of two vectors
BLOCK = 32


def _attention_rule(
    query: Value,
    key: Value,
    value: Value,
    mask: Value | None = None,
    *,
    scale: float = 1.0,
    diagonal: int = -1,
) -> Result:
    _ = scale, diagonal
    need_float(query, key, value)
    for one in (query, key, value):
        need_rank(one, 2)
    (*batch, rows, inner), (*again, columns, other) = query.shape, key.shape
    if batch != again or (*batch, columns) != value.shape[:-1] or inner != other:
        shapes = f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
        raise GraphError(f"queries, keys and values do not meet: {shapes}")
    if mask is not None:
        scores = (*batch, rows, columns)
        if mask.dtype not in {BOOL, query.dtype}:
            raise GraphError(f"a mask of {mask.dtype} for scores of {query.dtype}")
        if broadcast(Value("", mask.shape, query.dtype), Value("", scores, query.dtype)) != scores:
            raise GraphError(f"{list(mask.shape)} does not broadcast to {list(scores)}")
    return Result((*batch, rows, value.shape[-1]), query.dtype)


@operator("attention", result=_attention_rule)
def attention(
    make: Maker,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    scale: float = 1.0,
    diagonal: int = -1,
) -> Tensor:
    """``softmax(query key' scale + mask) value`` (A. Vaswani et al., 2017).

    Queries ``[..., m, k]``, keys ``[..., n, k]`` and values ``[..., n, v]`` of one type and the
    same leading dimensions; the mask broadcasts to ``[..., m, n]`` and is added, or, of booleans,
    is true where a key is seen. The result ``[..., m, v]`` is divided by the sums of the powers
    in the end: ``(sum e v) / sum e`` for ``sum (e / sum e) v``, one rounding of each product less.

    With a ``diagonal`` from 0 up, keys ``n > m + diagonal`` of each query ``m`` are hidden, and
    those beyond what ``BLOCK`` queries see left out: by minus infinity that is added, or by the
    mask where there is one.

    What lies between has its queries last, so that everything is vectors of queries: greatest
    scores and sums keep the order of their terms, and no matrix is transposed but tiles of queries.
    """
    keys = _Keys(key.shape[-2], diagonal)
    scores = _scores(make, _products(make, query, key), mask, scale, keys)
    powers, totals = _powers(make, scores, keys)
    mixed = _mixed(make, powers, value, keys)

    def result(*i: Term) -> Term:
        return mixed[(*i[:-2], i[-1], i[-2])] / totals[i[:-1]]

    return make.stage((*query.shape[:-1], value.shape[-1]), result)


@dataclass(frozen=True)
class _Keys:
    """How many keys there are, and which queries see."""

    count: int
    diagonal: int

    def seen(self, query: Term) -> object:
        """How many, from the first on, a query and those beside it see."""
        if self.diagonal < 0:
            return self.count
        return po.min(self.count, query // BLOCK * BLOCK + (BLOCK + self.diagonal))


def _products(make: Maker, query: Tensor, key: Tensor) -> Tensor:
    """``[..., n, m]``."""

    def products(*i: Term) -> Term:
        def product(k: Term) -> Term:
            return key[(*i[:-1], k)] * query[(*i[:-2], i[-1], k)]

        return po.sum(product, k=query.shape[-1])

    return make.stage((*key.shape[:-1], query.shape[-2]), products, part="products")


def _scores(make: Maker, sums: Tensor, mask: Tensor | None, scale: float, keys: _Keys) -> Tensor:
    """``[..., n, m]``, scaled and masked."""
    if mask is None and scale == 1.0 and keys.diagonal < 0:
        return sums

    def score(*i: Term) -> Term:
        scaled = sums[i] if scale == 1.0 else sums[i] * scale
        if mask is None and keys.diagonal < 0:
            return scaled
        if mask is None:
            # added as masks are, so that tiles of products are read whole
            return scaled + po.select(i[-2] <= i[-1] + keys.diagonal, 0.0, -float("inf"))
        seen = mask[broadcast_index(mask, (*i[:-2], i[-1], i[-2]))]
        return po.select(seen, scaled, -float("inf")) if mask.dtype == BOOL else scaled + seen

    return make.stage(sums.shape, score, part="scores")


def _powers(make: Maker, scores: Tensor, keys: _Keys) -> tuple[Tensor, Tensor]:
    """``e^(score - greatest)`` as ``[..., n, m]``, and their sums over the keys, ``[..., m]``."""
    *batch, _, rows = scores.shape

    def along_keys(of: Tensor, i: tuple[Term, ...]) -> Callable[[Term], Term]:
        def element(n: Term) -> Term:
            return of[(*i[:-1], n, i[-1])]

        return element

    def most(*i: Term) -> Term:
        return po.max(along_keys(scores, i), over={"n": keys.seen(i[-1])})

    greatest = make.stage((*batch, rows), most, part="greatest")

    def power(*i: Term) -> Term:
        return po.exp(scores[i] - greatest[(*i[:-2], i[-1])])

    powers = make.stage(scores.shape, power, part="powers")

    def total(*i: Term) -> Term:
        return po.sum(along_keys(powers, i), n=keys.seen(i[-1]))

    return powers, make.stage((*batch, rows), total, part="sums")


def _mixed(make: Maker, powers: Tensor, value: Tensor, keys: _Keys) -> Tensor:
    """``[..., v, m]``."""
    *batch, _, rows = powers.shape

    def mix(*i: Term) -> Term:
        def weighted(n: Term) -> Term:
            return powers[(*i[:-2], n, i[-1])] * value[(*i[:-2], n, i[-2])]

        return po.sum(weighted, n=keys.seen(i[-1]))

    return make.stage((*batch, value.shape[-1], rows), mix, part="mixed")
