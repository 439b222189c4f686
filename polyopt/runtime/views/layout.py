"""Where an array lies: as part of an array in C order, for which no copy is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.runtime.arrays import NumPyArray


@dataclass(frozen=True, eq=False)
class Layout:
    """An array as part of another one, its owner, which is in C order.

    Element ``i`` is the owner's element ``firsts + steps * i`` along ``axes``; an axis of step 0
    repeats.
    """

    owner: NumPyArray
    #: axis of the owner, and step, by axis of the array
    axes: tuple[tuple[int, int], ...]
    firsts: tuple[int, ...]
    is_part: bool

    @property
    def is_whole(self) -> bool:
        """Whether the array is its owner."""
        return not self.is_part and all(k == axis for k, (axis, _) in enumerate(self.axes))


def as_arrays(value: object) -> NumPyArray | None:
    """What offers its memory, as a NumPy array on it: NumPy's, and those of DLPack and the array
    interface. Nothing for anything else, and for memory that is not the processor's."""
    if isinstance(value, np.ndarray):
        array = cast("NumPyArray", value)
        return array if type(array) is np.ndarray else None
    kind = type(value)
    if issubclass(kind, np.generic | int | float | str):
        return None
    try:
        if hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__"):
            return np.from_dlpack(cast("Any", value))
        if hasattr(value, "__array_interface__"):
            return np.asarray(value)
    except (BufferError, RuntimeError, TypeError, ValueError, AttributeError):
        return None
    return None


def layout_of(array: NumPyArray, *, shared: bool = False) -> Layout | None:
    """How an array lies; nothing where no array in C order has it as a part.

    ``shared`` says that another argument lies in the same memory: then both are parts of it.
    """
    root = root_of(array)
    if not shared or root is array:
        if array.flags.c_contiguous:
            axes = tuple((k, 1) for k in range(array.ndim))
            return Layout(array, axes, (0,) * array.ndim, is_part=False)
        found = _permuted(array)
        if found is not None:
            return found
    found = _within(array, root)
    return found if found is not None or shared else _nested(array)


def overlaps_itself(array: NumPyArray) -> bool:
    """Whether two elements of an array may lie in the same place."""
    below = array.itemsize
    for stride, extent in sorted(
        (abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1
    ):
        if stride < below:
            return True
        below += stride * (extent - 1)
    return False


def root_of(array: NumPyArray) -> NumPyArray:
    """The array whose memory an array lies in."""
    root = array
    while type(root.base) is np.ndarray:
        root = cast("NumPyArray", root.base)
    return root


def _permuted(array: NumPyArray) -> Layout | None:
    """The array as all of one in C order: its axes in another order, some of them backwards."""
    backwards = [array.strides[k] < 0 and array.shape[k] > 1 for k in range(array.ndim)]
    forward = array[tuple(slice(None, None, -1) if b else slice(None) for b in backwards)]
    order = sorted(range(array.ndim), key=lambda k: -forward.strides[k])
    owner = forward.transpose(order)
    if not owner.flags.c_contiguous:
        return None
    axes = tuple((order.index(k), -1 if backwards[k] else 1) for k in range(array.ndim))
    firsts = tuple(array.shape[k] - 1 if backwards[k] else 0 for k in order)
    return Layout(owner, axes, firsts, is_part=any(backwards))


def _nested(array: NumPyArray) -> Layout | None:
    """The array as a part of one in C order that is read off its strides, where each is a multiple
    of the next: what there is of that beyond the array is never touched."""
    axes = [k for k in range(array.ndim) if array.shape[k] > 1 and array.strides[k]]
    axes.sort(key=lambda k: -abs(array.strides[k]))
    if not axes or any(array.strides[k] % array.itemsize for k in axes):
        return None
    strides = [abs(array.strides[k]) // array.itemsize for k in axes]
    outer = [array.shape[axes[0]] * strides[0], *strides[:-1]]
    inner = [*strides[:-1], 1]
    fits = all(
        room % unit == 0 and room >= step * (array.shape[k] - 1) + unit
        for k, room, unit, step in zip(axes, outer, inner, strides, strict=True)
    )
    if not fits:
        return None
    backwards = tuple(
        slice(None, None, -1) if k in axes and array.strides[k] < 0 else slice(None)
        for k in range(array.ndim)
    )
    forward = array[backwards]
    lying = [(-1, 0)] * array.ndim
    firsts = [0] * len(axes)
    for place, (k, unit, step) in enumerate(zip(axes, inner, strides, strict=True)):
        sign = -1 if array.strides[k] < 0 else 1
        lying[k] = place, sign * (step // unit)
        firsts[place] = (array.shape[k] - 1) * (step // unit) if sign < 0 else 0
    owner = np.lib.stride_tricks.as_strided(
        forward[tuple(slice(None) if k in axes else 0 for k in range(array.ndim))],
        tuple(room // unit for room, unit in zip(outer, inner, strict=True)),
        tuple(unit * array.itemsize for unit in inner),
    )
    return Layout(owner, tuple(lying), tuple(firsts), is_part=True)


def _within(array: NumPyArray, root: NumPyArray) -> Layout | None:
    """The array as a view of the one whose memory it lies in."""
    owner = root
    if not owner.flags.c_contiguous:
        turned = _permuted(root)
        if turned is None or turned.is_part:
            return None
        owner = turned.owner
    if owner.dtype.kind == "c" and owner.itemsize == 2 * array.itemsize:
        owner = owner[..., np.newaxis].view(array.dtype)
    if owner.dtype != array.dtype or 0 in owner.shape:
        return None
    firsts = _index_at(owner, array.ctypes.data - owner.ctypes.data)
    axes = None if firsts is None else _axes(array, owner, firsts)
    if firsts is None or axes is None:
        return None
    return Layout(owner, axes, firsts, is_part=True)


def _index_at(owner: NumPyArray, offset: int) -> tuple[int, ...] | None:
    """The index of the element at a byte offset."""
    if offset % owner.itemsize or not 0 <= offset < owner.nbytes:
        return None
    return tuple(int(k) for k in np.unravel_index(offset // owner.itemsize, owner.shape))


def _axes(
    array: NumPyArray, owner: NumPyArray, firsts: Sequence[int]
) -> tuple[tuple[int, int], ...] | None:
    """Axis of the owner and step for each axis; nothing where a step leaves the axis."""
    found: list[tuple[int, int]] = []
    for stride, extent in zip(array.strides, array.shape, strict=True):
        if stride == 0 or extent == 1:
            found.append((-1, 0))
            continue
        used = {axis for axis, _ in found}
        match = next(
            (
                (axis, stride // owner.strides[axis])
                for axis in range(owner.ndim)
                if axis not in used
                and stride % owner.strides[axis] == 0
                and 0
                <= firsts[axis] + stride // owner.strides[axis] * (extent - 1)
                < owner.shape[axis]
            ),
            None,
        )
        if match is None:
            return None
        found.append(match)
    return tuple(found)
