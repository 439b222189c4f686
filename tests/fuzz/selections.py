"""Random nodes of ONNX whose results have sizes that depend on data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.fuzz.nodes import attributes, draws

if TYPE_CHECKING:
    from tests.fuzz.drawing import Drawing


@draws("NonZero")
def _non_zero(d: Drawing, op: str) -> None:
    d.add(op, [d.operand(op, rank=(1, 4))])


@draws("Compress")
def _compress(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    axis = d.axis(d.rank(x)) if d.chance(0.6) else None
    most = d.arrays[x].size if axis is None else d.shape_of(x)[axis]
    flags = d.draw.random(d.number(1, max(most, 1))) < d.one((0.0, 0.3, 0.7, 1.0))
    d.add(op, [x, d.fresh(flags)], axis=axis)


@draws("NonMaxSuppression")
def _suppression(d: Drawing, op: str) -> None:
    batch, count, classes = d.number(1, 2), d.number(1, 6), d.number(1, 3)
    corners = d.draw.integers(0, 9, size=(batch, count, 4)) / 4.0
    boxes = d.fresh(corners.astype(np.float32))
    scores = d.fresh((d.draw.integers(0, 9, size=(batch, classes, count)) / 8.0).astype(np.float32))
    bounds = [np.array([d.one((0.0, 0.25, 0.5, 0.7))], np.float32) for _ in range(2)]
    given = [boxes, scores, d.ints([d.number(0, 4)]), *map(d.fresh, bounds)]
    d.add(op, given[: d.number(3, 5)], **attributes(d, center_point_box=(0, 1)))
