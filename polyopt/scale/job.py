"""One box: its slabs found or copied, the kernel run on them, its result put in place."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.runtime.arrays import NumPyArray, empty
from polyopt.scale.pages import bring_in, release

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.runtime.kernel import Kernel
    from polyopt.scale.cut import Cut, Place


@dataclass(frozen=True)
class Slot:
    """An argument of a subdomain's kernel: how it may be given."""

    name: str
    dtype: str
    role: str
    rank: int
    #: per dimension the size that says how far apart neighbours lie, or nothing
    spans: tuple[str, ...]
    whole: tuple[bool, ...]
    #: whether the whole array's memory can stand for the slab
    shared: bool
    is_output: bool
    #: whether what is there matters: not of a result that the whole program computes throughout,
    #: though a box computes only what it reads of it beyond its own elements
    is_given: bool


@dataclass(frozen=True)
class Job:
    """A box: all sizes but the spans, and where each slab lies; numbers only."""

    sizes: Mapping[str, int]
    places: Mapping[str, Place]
    #: the box itself, in positions of the results
    box: tuple[slice, ...]


@dataclass(frozen=True)
class Shipment:
    """A kernel with its slots, as bytes: unpacked once by each process that gets it."""

    key: str
    kernel: bytes
    slots: tuple[Slot, ...]
    scalars: Mapping[str, Any]
    #: whether mapped files may stay in memory when a box is done: they fit as a whole
    resident: bool = False


def slots_of(cut: Cut) -> tuple[Slot, ...]:
    """The arguments that are arrays, in the signature's order."""
    slabs = cut.subdomain.slabs
    return tuple(
        Slot(
            a.name,
            a.type.numpy_name,
            a.role,
            a.rank,
            slabs[a.name].spans,
            slabs[a.name].whole,
            slabs[a.name].shared,
            a.name in cut.outputs,
            cut.subdomain.whole.array(a.name).is_live_in,
        )
        for a in cut.kernel.arrays
    )


_UNPACKED: dict[str, Kernel] = {}


def unpacked(shipment: Shipment) -> Kernel:
    """The kernel, compiled or found in this machine's cache the first time."""
    if shipment.key not in _UNPACKED:
        _UNPACKED[shipment.key] = pickle.loads(shipment.kernel)  # noqa: S301 - our own bytes
    return _UNPACKED[shipment.key]


def run_shipped(
    shipment: Shipment, job: Job, sources: Mapping[str, Any], targets: Mapping[str, Any]
) -> dict[str, NumPyArray]:
    """One box in a process that may be another: what has no target comes back."""
    return run_job(unpacked(shipment), shipment, job, sources, targets)


def run_job(
    kernel: Kernel,
    shipment: Shipment,
    job: Job,
    sources: Mapping[str, Any],
    targets: Mapping[str, Any],
    threads: int = 1,
) -> dict[str, NumPyArray]:
    """Compute one box. ``sources`` and ``targets`` are whole arrays, or ``Carried`` slabs.

    Results without a target come back as arrays of the box's shape.
    """
    sizes = dict(job.sizes)
    addresses: dict[str, int] = {}
    kept: list[tuple[NumPyArray, Place]] = []
    results: list[tuple[Slot, NumPyArray]] = []
    for slot in shipment.slots:
        place = job.places[slot.name]
        target = targets.get(slot.name) if slot.is_output else None
        whole = opened(sources[slot.name] if slot.role == "in" else target)
        if slot.role in {"in", "out"} and can_view(slot, whole):
            addresses[slot.name] = _address(whole, place)
            _set_spans(sizes, slot, whole.shape)
            bring_in(whole, place, write=slot.is_output)
            kept.append((whole, place))
            continue
        slab = empty(place.shape, np.dtype(slot.dtype))
        if slot.is_given:
            fill(slab, opened(sources[slot.name]), place)
        addresses[slot.name] = slab.ctypes.data
        _set_spans(sizes, slot, place.shape)
        kept.append((slab, place))
        if slot.is_output:
            results.append((slot, slab))
    kernel.run_at(addresses, sizes, shipment.scalars, threads)
    returned: dict[str, NumPyArray] = {}
    for slot, slab in results:
        place = job.places[slot.name]
        inner = tuple(
            slice(s.start - b, s.stop - b) for s, b in zip(job.box, place.begin, strict=True)
        )
        target = targets.get(slot.name)
        if target is None:
            returned[slot.name] = slab[inner]
        else:
            opened(target)[job.box] = slab[inner]
    if not shipment.resident:
        release(kept)
    return returned


@dataclass(frozen=True)
class Carried:
    """A slab that was read before the job was sent: only what of it exists."""

    part: Any
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """Its rank."""
        return len(self.shape)


@dataclass(frozen=True)
class FileArray:
    """An array in a file, by name: opened where it is used."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    mode: str


_OPENED: dict[FileArray, NumPyArray] = {}


def opened(array: Any) -> Any:  # noqa: ANN401
    """The array itself; one that is a name of a file is mapped, once per process."""
    if not isinstance(array, FileArray):
        return array
    if array not in _OPENED:
        if len(_OPENED) > 64:
            _OPENED.clear()
        _OPENED[array] = np.memmap(
            array.path,
            dtype=array.dtype,
            mode=cast("Any", array.mode),
            offset=array.offset,
            shape=array.shape,
        )
    return _OPENED[array]


def fill(slab: NumPyArray, source: Any, place: Place) -> None:  # noqa: ANN401
    """Copy what of a slab exists; the rest is never touched."""
    outer, inner = place.clipped(source.shape)
    slab[inner] = source.part if isinstance(source, Carried) else source[outer]


def can_view(slot: Slot, whole: object) -> bool:
    """Whether the kernel can work on the whole array's memory."""
    if not slot.shared or not isinstance(whole, np.ndarray):
        return False
    array = cast("NumPyArray", whole)
    apart = all(
        w or s or not k for k, (w, s) in enumerate(zip(slot.whole, slot.spans, strict=True))
    )
    return apart and array.flags.c_contiguous and array.flags.aligned and array.dtype == slot.dtype


def _address(whole: NumPyArray, place: Place) -> int:
    steps = zip(place.begin, whole.strides, strict=True)
    return whole.ctypes.data + sum(first * stride for first, stride in steps)


def _set_spans(sizes: dict[str, int], slot: Slot, shape: Sequence[int]) -> None:
    sizes.update({n: extent for n, extent in zip(slot.spans, shape, strict=True) if n})
