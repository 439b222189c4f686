"""Operators that repeat elements, keep some, or write where an index says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_rank, normal_axis, operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor


def _tile_rule(x: Value, *, repeats: Sequence[int]) -> Result:
    if len(repeats) != len(x.shape) or min(repeats, default=1) < 1:
        raise GraphError(f"repeats {list(repeats)} do not fit {list(x.shape)}")
    return Result(tuple(e * r for e, r in zip(x.shape, repeats, strict=True)), x.dtype)


@operator("tile", result=_tile_rule)
def tile(make: Maker, x: Tensor, *, repeats: Sequence[int]) -> Tensor:
    """The operand so many times along each axis, as NumPy's ``tile``."""
    shape = [e * r for e, r in zip(x.shape, repeats, strict=True)]

    def element(*i: Term) -> Term:
        return x[tuple(k if r == 1 else k % e
                       for k, r, e in zip(i, repeats, x.shape, strict=True))]  # fmt: skip

    return make.stage(shape, element)


def _windows_rule(x: Value, *, axis: int, size: int, step: int = 1, dilation: int = 1) -> Result:
    d = normal_axis(axis, len(x.shape))
    reach = (size - 1) * dilation + 1
    if min(size, step, dilation) < 1 or reach > x.shape[d]:
        raise GraphError(
            f"windows of {reach} in steps of {step} do not fit an axis of {x.shape[d]}"
        )
    count = (x.shape[d] - reach) // step + 1
    return Result((*x.shape[:d], count, *x.shape[d + 1 :], size), x.dtype)


@operator("windows", result=_windows_rule)
def windows(
    make: Maker, x: Tensor, *, axis: int, size: int, step: int = 1, dilation: int = 1
) -> Tensor:
    """Sliding windows along an axis, their elements along a new last axis, as PyTorch's ``unfold``.

    ``result[..., w, ..., k] = x[..., w * step + k * dilation, ...]``
    """
    d = normal_axis(axis, x.rank)
    count = (x.shape[d] - (size - 1) * dilation - 1) // step + 1
    shape = (*x.shape[:d], count, *x.shape[d + 1 :], size)
    return make.stage(shape, lambda *i: x[(*i[:d], i[d] * step + i[-1] * dilation, *i[d + 1 : -1])])


def _reversed_rule(x: Value, lengths: Value, *, time: int = 0, batch: int = 1) -> Result:
    t, b = normal_axis(time, len(x.shape)), normal_axis(batch, len(x.shape))
    if t == b or lengths.shape != (x.shape[b],) or not lengths.dtype.is_integer:
        raise GraphError(
            f"lengths are an integer for each of {x.shape[b]} sequences, not {lengths}"
        )
    return Result(x.shape, x.dtype)


@operator("reverse_sequence", result=_reversed_rule)
def reverse_sequence(
    make: Maker, x: Tensor, lengths: Tensor, *, time: int = 0, batch: int = 1
) -> Tensor:
    """The first so many elements of each sequence the other way round, the rest as they are.

    Sequences of floats whose length is none of theirs are NaN.
    """
    t, b = normal_axis(time, x.rank), normal_axis(batch, x.rank)
    size = x.shape[t]

    def element(*i: Term) -> Term:
        length = po.cast("i64", lengths[i[b]])
        place = po.cast("i64", i[t])
        source = po.select(place < length, length - 1 - place, place)
        found = x[(*i[:t], po.clamp(source, 0, size - 1), *i[t + 1 :])]
        if not x.dtype.is_float:
            return found
        return po.select((length >= 0) & (length <= size), found, float("nan"))

    return make.stage(x.shape, element)


def _written_rule(
    x: Value, update: Value, starts: Value | None = None, *, axis: int = -2, circular: int = 0
) -> Result:
    _ = circular
    d = normal_axis(axis, len(x.shape))
    need_rank(update, len(x.shape), len(x.shape))
    beside = [v.shape[:d] + v.shape[d + 1 :] for v in (x, update)]
    if d == 0 or beside[0] != beside[1] or update.shape[d] > x.shape[d] or x.dtype != update.dtype:
        raise GraphError(f"{update} does not fit along axis {axis} of {x}")
    if starts is not None and (starts.shape != x.shape[:1] or not starts.dtype.is_integer):
        raise GraphError(f"starts are {x.shape[0]} integer(s), not {starts}")
    return Result(x.shape, x.dtype)


@operator("write_rows", result=_written_rule)
def write_rows(
    make: Maker,
    x: Tensor,
    update: Tensor,
    starts: Tensor | None = None,
    *,
    axis: int = -2,
    circular: int = 0,
) -> Tensor:
    """A tensor with others written along an axis, as caches of keys and values are kept: for each
    first index from a place on that data say.

    What would lie behind the end is written at the beginning if ``circular``. Else floats are NaN
    where a place is none, or too late for all that is written.
    """
    d = normal_axis(axis, x.rank)
    size, count = x.shape[d], update.shape[d]

    def element(*i: Term) -> Term:
        start = po.cast("i64", 0 if starts is None else starts[i[0]])
        place = po.cast("i64", i[d]) - start
        if circular:
            place = ((place % size) + size) % size
        found = update[(*i[:d], po.clamp(place, 0, count - 1), *i[d + 1 :])]
        result = po.select((place >= 0) & (place < count), found, x[i])
        if circular or starts is None or not x.dtype.is_float:
            return result
        return po.select((start >= 0) & (start <= size - count), result, float("nan"))

    return make.stage(x.shape, element)


def _trilu_rule(x: Value, *, k: int = 0, upper: int = 1) -> Result:
    _ = k, upper
    need_rank(x, 2)
    return Result(x.shape, x.dtype)


@operator("trilu", result=_trilu_rule)
def trilu(make: Maker, x: Tensor, *, k: int = 0, upper: int = 1) -> Tensor:
    """The upper or lower triangle of matrices from diagonal ``k`` on, the rest 0."""

    def element(*i: Term) -> Term:
        kept = i[-1] - i[-2] >= k if upper else i[-1] - i[-2] <= k
        return po.select(kept, x[i], po.cast(x.dtype.computed.name, 0))

    return make.stage(x.shape, element)


def _one_hot_rule(indices: Value, values: Value, *, depth: int, axis: int = -1) -> Result:
    if values.shape != (2,):
        raise GraphError(f"values are two numbers, not {list(values.shape)}")
    if depth < 1:
        raise GraphError(f"a depth of {depth}")
    d = normal_axis(axis, len(indices.shape) + 1)
    return Result((*indices.shape[:d], depth, *indices.shape[d:]), values.dtype)


@operator("one_hot", result=_one_hot_rule)
def one_hot(make: Maker, indices: Tensor, values: Tensor, *, depth: int, axis: int = -1) -> Tensor:
    """``values[1]`` at each index along a new axis, ``values[0]`` elsewhere.

    Negative indices count from the end; one outside ``-depth .. depth - 1`` is nowhere.
    """
    d = normal_axis(axis, indices.rank + 1)
    shape = (*indices.shape[:d], depth, *indices.shape[d:])

    def element(*i: Term) -> Term:
        given = po.cast("i64", indices[(*i[:d], *i[d + 1 :])])
        place = po.select(given < 0, given + depth, given)
        return po.select(place == i[d], values[1], values[0])

    return make.stage(shape, element)


def einsum_labels(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """Labels of each operand and of the result; dimensions of ``...`` have upper-case ones.

    Raises ``GraphError`` for an equation that does not fit operands of these ranks.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise GraphError(f"{equation!r} has {len(parts)} operand(s), not {len(ranks)}")
    if any(c.isupper() for c in equation) or not all(c in "abcdefghijklmnopqrstuvwxyz.,->" for c in
                                                     equation.replace(" ", "")):  # fmt: skip
        raise GraphError(f"labels of {equation!r} are letters a to z")
    wide = [r - len(p.replace("...", "")) if "..." in p else 0
            for p, r in zip(parts, ranks, strict=True)]  # fmt: skip
    dots = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: max([*wide, 0])]
    labels = [p.replace("...", dots[len(dots) - max(w, 0) :])
              for p, w in zip(parts, wide, strict=True)]  # fmt: skip
    for given, rank in zip(labels, ranks, strict=True):
        if len(given) != rank or "." in given:
            raise GraphError(f"{equation!r} does not fit operands of {list(ranks)} dimensions")
    joined = "".join(labels)
    if not arrow:
        right = dots + "".join(c for c in sorted(set(joined) - set(dots)) if joined.count(c) == 1)
    right = right.replace("...", dots)
    if len(set(right)) < len(right) or not set(right) <= set(joined):
        raise GraphError(f"the result of {equation!r} has labels twice, or that no operand has")
    return labels, right


def _extents(labels: Sequence[str], shapes: Sequence[Sequence[int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for given, shape in zip(labels, shapes, strict=True):
        for label, extent in zip(given, shape, strict=True):
            known = found.setdefault(label, extent)
            if known == 1 and label.isupper():
                found[label] = extent
            elif known != extent and not (extent == 1 and label.isupper()):
                raise GraphError(f"a label of einsum is both {known} and {extent} long")
    return found


def _einsum_rule(*operands: Value, equation: str) -> Result:
    labels, right = einsum_labels(equation, [len(v.shape) for v in operands])
    extents = _extents(labels, [v.shape for v in operands])
    other = next((v for v in operands if v.dtype != operands[0].dtype), None)
    if other is not None:
        raise GraphError(
            f"operands of one type are needed, not {operands[0].dtype} and {other.dtype}"
        )
    return Result(tuple(extents[c] for c in right), operands[0].dtype)


@operator("einsum", result=_einsum_rule)
def einsum(make: Maker, *operands: Tensor, equation: str) -> Tensor:
    """Einstein summation, as NumPy's ``einsum``: one sum over all labels the result has not."""
    labels, right = einsum_labels(equation, [t.rank for t in operands])
    extents = _extents(labels, [t.shape for t in operands])
    summed = [c for c in extents if c not in right]

    def element(*i: Term) -> Term:
        def product(*k: Term) -> Term:
            at = dict(zip((*right, *summed), (*i[: len(right)], *k), strict=True))
            return _product(operands, labels, at)

        if not summed:
            return product()
        return po.sum(product, {f"k{n}": extents[c] for n, c in enumerate(summed)})

    return make.stage([extents[c] for c in right], element)


def _product(operands: Sequence[Tensor], labels: Sequence[str], at: dict[str, Term]) -> Term:
    """The operands' elements at what each label stands for, multiplied."""
    factors = [
        x[tuple(0 if e == 1 else at[c] for c, e in zip(given, x.shape, strict=True))]
        for x, given in zip(operands, labels, strict=True)
    ]
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result
