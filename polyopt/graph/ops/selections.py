"""Selections: which elements or boxes data choose, first those that are chosen, in order.

How many there are depends on data, and so do not the shapes: results have room for all, and
importers say which tensor counts those that are valid (``graph/ir/valid_lengths.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_float, need_rank, operator
from polyopt.ir.types import BOOL, I64

if TYPE_CHECKING:
    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Recurrence, Tensor


def _true_rule(x: Value) -> Result:
    need_rank(x, 1, 1)
    if x.dtype != BOOL:
        raise GraphError(f"conditions are of type bool, not {x.dtype}")
    return Result(x.shape, I64)


@operator("true_places", result=_true_rule)
def true_places(make: Maker, x: Tensor) -> Tensor:
    """The places of the elements that are true, in order (stream compaction); then the last of
    them over and over.

    The prefix sum of ``x`` is increasing, so that each place is found by bisection.
    """
    count = x.shape[0]
    run = make.steps(count)
    before = run.state((), lambda: po.cast("i64", 0), "before")

    def counted(t: Term) -> Term:
        return before[t] + po.select(x[t], po.cast("i64", 1), po.cast("i64", 0))

    run.next(before, counted)
    place = make.stage((count,), _none, part="first")
    for power in reversed(range(count.bit_length())):
        place = _further(make, place, before, 1 << power)

    def inside(r: Term) -> Term:
        return po.min(place[r], count - 1)

    return make.stage((count,), inside)


def _none(_: Term) -> Term:
    return po.cast("i64", 0)


def _further(make: Maker, place: Tensor, before: Tensor, width: int) -> Tensor:
    """Places moved on, where the elements up to there are not too many."""
    count = place.shape[0]

    def moved(r: Term) -> Term:
        ahead = place[r] + width
        rank = po.min(po.cast("i64", r), po.max(before[count] - 1, 0))
        is_there = (ahead <= count) & (before[po.clamp(ahead, 0, count)] <= rank)
        return po.select(is_there, ahead, place[r])

    return make.stage((count,), moved, part="place")


# -- boxes --------------------------------------------------------------------------------------


def _suppression_rule(
    boxes: Value, scores: Value, overlap: Value, least: Value | None = None, *, limit: int, **_: int
) -> Result:
    need_float(boxes, scores, overlap, least)
    need_rank(boxes, 3, 3)
    need_rank(scores, 3, 3)
    batch, classes, count = scores.shape
    if boxes.shape != (batch, count, 4):
        raise GraphError(f"boxes {list(boxes.shape)} do not fit scores {list(scores.shape)}")
    if any(v is not None and v.size != 1 for v in (overlap, least)):
        raise GraphError("thresholds are one number each")
    if limit < 1:
        raise GraphError(f"1 or more boxes of each class are kept, not {limit}")
    return Result((batch, classes, min(limit, count)), I64)


@operator("non_max_suppression", result=_suppression_rule)
def non_max_suppression(
    make: Maker,
    boxes: Tensor,
    scores: Tensor,
    overlap: Tensor,
    least: Tensor | None = None,
    *,
    limit: int,
    centred: int = 0,
) -> Tensor:
    """Greedy non-maximum suppression: the boxes of each class, the greatest score first, without
    those whose intersection over union with one before is above ``overlap``.

    ``boxes [n][box][4]`` are two corners, ``y, x`` each, or with ``centred`` ``x, y, width,
    height``; ``scores [n][class][box]``. Only scores above ``least`` count. The result
    ``[n][class][limit]`` has the numbers of the boxes, then -1. Each step takes the best box that
    is left, so that the work is that of ``limit`` comparisons with all.
    """
    (batch, classes, count), sides = scores.shape, _sides(make, boxes, centred)
    kept, none = min(limit, count), po.cast("i64", count)
    run = make.steps(kept)

    def counts(n: Term, c: Term, b: Term) -> Term:
        score = scores[n, c, b]
        is_number = score == score  # noqa: PLR0124  (NaN is not)
        return is_number if least is None else score > least[(0,) * least.rank]

    left = run.state((batch, classes, count), counts, "left", dtype=BOOL)

    place = _best_left(run, left, scores)

    def side(t: Term, n: Term, c: Term, s: Term) -> Term:
        return sides[n, po.clamp(place[t, n, c], 0, count - 1), s]

    chosen = run.stage((batch, classes, 4), side, "chosen", dtype=boxes.dtype)

    def remains(t: Term, n: Term, c: Term, b: Term) -> Term:
        one, other = ([x[(*at, s)] for s in range(4)]
                      for x, at in ((chosen, (t, n, c)), (sides, (n, b))))  # fmt: skip
        is_other = po.cast("i64", b) != place[t, n, c]
        return left[t, n, c, b] & is_other & ~_overlaps(one, other, overlap[(0,) * overlap.rank])

    run.next(left, remains)

    def taken(n: Term, c: Term, t: Term) -> Term:
        return po.select(place[t, n, c] < none, place[t, n, c], po.cast("i64", -1))

    return make.stage((batch, classes, kept), taken)


def _best_left(run: Recurrence, left: Tensor, scores: Tensor) -> Tensor:
    """The first of the greatest scores that are left of each class, their number where none is."""
    (*classes, count), lowest = scores.shape, float("-inf")

    def best(t: Term, n: Term, c: Term) -> Term:
        def score(b: Term) -> Term:
            return po.select(left[t, n, c, b], scores[n, c, b], lowest)

        return po.max(score, over={"b": count})

    top = run.stage(classes, best, "best", dtype=scores.dtype)

    def first(t: Term, n: Term, c: Term) -> Term:
        def place(b: Term) -> Term:
            is_top = left[t, n, c, b] & (scores[n, c, b] == top[t, n, c])
            return po.select(is_top, po.cast("i64", b), po.cast("i64", count))

        return po.min(place, over={"b": count})

    return run.stage(classes, first, "place")


def _sides(make: Maker, boxes: Tensor, centred: int) -> Tensor:
    """Boxes as ``[n][box][low y, low x, high y, high x]``."""

    def side(n: Term, b: Term, s: Term) -> Term:
        axis = s % 2
        if centred:
            middle, half = boxes[n, b, 1 - axis], boxes[n, b, 3 - axis] / 2.0
            return po.select(s < 2, middle - half, middle + half)
        one, other = boxes[n, b, axis], boxes[n, b, axis + 2]
        return po.select(s < 2, po.min(one, other), po.max(one, other))

    return make.stage(boxes.shape, side, part="sides", dtype=boxes.dtype)


def _overlaps(one: list[Term], other: list[Term], bound: Term) -> Term:
    """Whether the intersection of two boxes over their union is above a bound."""
    low = [po.max(a, b) for a, b in zip(one[:2], other[:2], strict=True)]
    high = [po.min(a, b) for a, b in zip(one[2:], other[2:], strict=True)]
    shared = (high[0] - low[0]) * (high[1] - low[1])
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    union = areas[0] + areas[1] - shared
    meets = (high[0] > low[0]) & (high[1] > low[1]) & (shared > 0.0)
    is_box = (areas[0] > 0.0) & (areas[1] > 0.0) & (union > 0.0)
    return meets & is_box & (shared / union > bound)
