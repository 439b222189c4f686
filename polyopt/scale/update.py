"""``kernel.update``: after a change of some inputs, only the results that depend on it."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from polyopt.analysis.affected import affected, merged
from polyopt.errors import ArgumentError, NotCutError, shown
from polyopt.scale.cut import dependences_of, fine_cuts
from polyopt.scale.job import run_job
from polyopt.scale.ship import job_of, shipment_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.analysis.affected import Ranges
    from polyopt.runtime.kernel import Kernel
    from polyopt.scale.cut import Cut


@dataclass(frozen=True)
class Update:
    """What an update computed again: boxes of each result, in positions of the array."""

    boxes: Mapping[str, tuple[tuple[slice, ...], ...]]
    #: elements that depend on what changed, by result
    changed: Mapping[str, int]
    #: elements computed, by result
    recomputed: Mapping[str, int]
    #: elements there are, by result
    elements: Mapping[str, int]

    def __str__(self) -> str:
        """One line per result."""
        return "\n".join(
            f"{name}: {self.recomputed[name]:,} of {self.elements[name]:,} elements computed again,"
            f" {self.changed[name]:,} depend on the change"
            for name in self.elements
        )


def update(
    kernel: Kernel,
    dirty: Mapping[str, Any],
    *args: object,
    out: object,
    threads: int | None = None,
    **named: Any,  # noqa: ANN401
) -> Update:
    """Bring results up to date after inputs changed; see ``Kernel.update``."""
    deps = dependences_of(kernel)
    scop = deps.scop
    inout = [a.name for a in scop.arrays if a.role == "inout"]
    if inout:
        raise NotCutError(
            f"{kernel.name} changes {inout[0]} in place: what it was computed from is gone",
            hint="map_blocks takes the old array and writes a new one",
        )
    if not isinstance(cast("object", dirty), Mapping):
        raise ArgumentError(
            f"dirty is {shown(dirty)}: it says by name which parts of inputs have changed",
            hint='such as {"img": np.s_[100:120, 40:60]}',
        )
    arrays, scalars, sizes = kernel.checked_arguments(args, out, named)
    boxes: dict[str, tuple[tuple[slice, ...], ...]] = {}
    changed: dict[str, int] = {}
    recomputed: dict[str, int] = {}
    regions = {n: _region(n, r, arrays) for n, r in dirty.items()}
    found = affected(deps, regions, sizes)
    for cut in fine_cuts(kernel):
        shape = arrays[cut.outputs[0]].shape
        wanted = [box for name in cut.outputs for box in found[name].boxes]
        together = merged([_rounded(cut, box, shape) for box in wanted])
        for name in cut.outputs:
            boxes[name] = tuple(_slices(box) for box in together)
            changed[name] = found[name].count
            recomputed[name] = sum(math.prod(high - low for low, high in box) for box in together)
        _recompute(cut, [_slices(box) for box in together], arrays, scalars, sizes, kernel, threads)
    elements = {a.name: arrays[a.name].size for a in kernel.arrays if a.is_live_out}
    return Update(boxes, changed, recomputed, elements)


def _rounded(cut: Cut, box: Ranges, shape: Sequence[int]) -> Ranges:
    """A box that begins where boxes can, and is whole along what is not cut."""
    units = {axis.dim: axis.unit for axis in cut.subdomain.axes}
    return tuple(
        (low // units[k] * units[k], high) if k in units else (0, shape[k])
        for k, (low, high) in enumerate(box)
    )


def _slices(box: tuple[tuple[int, int], ...]) -> tuple[slice, ...]:
    return tuple(slice(low, high) for low, high in box)


def _recompute(
    cut: Cut,
    boxes: Sequence[tuple[slice, ...]],
    arrays: Mapping[str, Any],
    scalars: Mapping[str, Any],
    sizes: Mapping[str, int],
    kernel: Kernel,
    threads: int | None,
) -> None:
    if not boxes:
        return
    shipment = shipment_of(cut, scalars, here=True)
    used = {a.name for a in cut.kernel.arrays}
    sources = {n: a for n, a in arrays.items() if n in used}
    targets = {n: arrays[n] for n in cut.outputs}
    count = min(kernel.thread_count(threads), cut.kernel.thread_count(threads))
    for box in boxes:
        job = job_of(cut, sizes, box)
        run_job(cut.kernel, shipment, job, sources, targets, count)


def _region(name: str, region: object, arrays: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """A dirty region as a range per dimension. Raises ``ArgumentError``."""
    if name not in arrays:
        raise ArgumentError(
            f"there is no array {name!r} to have changed", hint=f"there are: {', '.join(arrays)}"
        )
    shape = arrays[name].shape
    parts = cast("tuple[Any, ...]", region if isinstance(region, tuple) else (region,))
    if len(parts) > len(shape):
        raise ArgumentError(f"the region of {name} has {len(parts)} dimensions, not {len(shape)}")
    every = (*parts, *[slice(None)] * (len(shape) - len(parts)))
    return tuple(_range(name, part, int(n)) for part, n in zip(every, shape, strict=True))


def _range(name: str, part: Any, extent: int) -> tuple[int, int]:  # noqa: ANN401
    """The positions of a slice or an index along one dimension. Raises ``ArgumentError``."""
    said = shown(part)
    try:
        if isinstance(part, slice):
            low, high, step = part.indices(extent)
        else:
            low = range(extent)[operator.index(part)]
            high, step = low + 1, 1
    except IndexError:
        raise ArgumentError(
            f"the region of {name} has the index {said}, and there are {extent} elements"
        ) from None
    except (TypeError, ValueError):
        raise ArgumentError(
            f"the region of {name} has {said} in it: a dimension is a slice or an index",
            hint=f'such as {{"{name}": np.s_[10:20]}}; give the box around what changed',
        ) from None
    if step != 1:
        raise ArgumentError(f"the region of {name} has a step; give the range around it")
    return low, max(low, high)
