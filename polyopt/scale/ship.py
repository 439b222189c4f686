"""What travels to a worker: the kernel, a job, and arrays or the names of their files."""

from __future__ import annotations

import hashlib
import mmap
import pickle
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.scale.job import Carried, FileArray, Job, Shipment, slots_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.scale.cut import Cut


def shipment_of(
    cut: Cut, scalars: Mapping[str, Any], *, here: bool = False, resident: bool = False
) -> Shipment:
    """What a worker needs besides arrays: the kernel as bytes, unless it stays in this process."""
    data = b"" if here else pickle.dumps(cut.kernel)
    mine = {a.name: scalars[a.name] for a in cut.kernel.scalars}
    return Shipment(hashlib.sha256(data).hexdigest(), data, slots_of(cut), mine, resident)


def job_of(cut: Cut, whole: Mapping[str, int], box: tuple[slice, ...]) -> Job:
    """One box as numbers."""
    sizes = cut.sizes(whole, [s.start for s in box], [s.stop - s.start for s in box])
    return Job(sizes, cut.places(sizes), box)


def sent(sources: Mapping[str, Any], job: Job) -> dict[str, Any]:
    """The arrays as a job takes them along: those in this process's memory as slabs."""
    return {
        name: Carried(
            np.ascontiguousarray(array[job.places[name].clipped(array.shape)[0]]), array.shape
        )
        if type(array) is np.ndarray and array.ndim
        else array
        for name, array in sources.items()
    }


def portable(array: Any) -> Any:  # noqa: ANN401
    """An array as another process can open it: a mapped file by name, all else as it is."""
    if not isinstance(array, np.memmap):
        return array
    mapped = cast("Any", array)
    mode = str(mapped.mode)
    if mapped.filename is None or not mapped.flags.c_contiguous or mode == "c":
        return np.asarray(mapped)
    start = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY
    base = np.frombuffer(mapped._mmap, np.uint8).ctypes.data  # noqa: SLF001
    offset = start + mapped.ctypes.data - base
    if mode != "r":
        mapped.flush()
    return FileArray(
        str(mapped.filename),
        str(mapped.dtype.str),
        mapped.shape,
        offset,
        "r" if mode == "r" else "r+",
    )
