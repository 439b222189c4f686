"""Row-major linearisation of indices that are data, and writing at them, for importers."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.graph.ir.graph import Array, Attribute


class Step(Protocol):
    """Adds an operator to the graph; gives the name of its tensor."""

    def __call__(self, op: str, inputs: Sequence[str], /, **options: Attribute) -> str: ...


def flat_places(
    step: Step, constant: Callable[[Array], str], names: Sequence[str], kind: str,
    shape: Sequence[int],
) -> str:  # fmt: skip
    """Places along several axes as one along all of them; negative ones count from the end.

    ``names`` are tensors of places of the NumPy type ``kind``, one for each extent of ``shape``. A
    place outside of one axis is outside of all, and not another row's.
    """

    def number(value: int) -> str:
        return constant(np.array(value, kind))

    total = outside = ""
    for name, size in zip(names, shape, strict=True):
        below = step("less", [name, number(0)])
        place = step("where", [below, step("add", [name, number(size)]), name])
        apart = [step("less", [place, number(0)]), step("greater_equal", [place, number(size)])]
        beyond = step("logical_or", apart)
        outside = beyond if not outside else step("logical_or", [outside, beyond])
        if total:
            place = step("add", [step("mul", [total, number(size)]), place])
        total = place
    return step("where", [outside, number(prod(shape)), total])


def written_slices(
    step: Step,
    tensors: tuple[str, str, str],
    shape: tuple[Sequence[int], Sequence[int], Sequence[int]],
    count: int,
    reduction: str,
) -> str:
    """A tensor with slices written at ``count`` places, as ``[before][along][after]``.

    ``tensors`` are the tensor, the places and the slices. ``shape`` is that of the tensor in three
    parts: dimensions before those that places are along, these, and those after.
    """
    x, places, slices = tensors
    before, along, after = map(prod, shape)
    lines = step("reshape", [x], shape=(before, along, after))
    row = step("reshape", [places], shape=(1, count, 1))
    wide = step("expand", [row], shape=(before, count, after))
    updates = step("reshape", [slices], shape=(before, count, after))
    return step("scatter_elements", [lines, wide, updates], axis=1, reduction=reduction)
