"""Dask arrays in, lazy dask arrays out."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import MissingExtraError
from polyopt.extras import install_command
from polyopt.runtime.arrays import as_result
from polyopt.scale.cut import Cut, cuts
from polyopt.scale.grid import boxes, output_shape
from polyopt.scale.job import Carried, Job, Shipment, run_shipped
from polyopt.scale.ship import job_of, portable, shipment_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.runtime.arrays import NumPyArray
    from polyopt.runtime.kernel import Kernel


def lazy(
    kernel: Kernel,
    given: Mapping[str, Any],
    whole: Mapping[str, int],
    scalars: Mapping[str, Any],
    shape_of: Callable[[Cut], Sequence[int]],
) -> Any:  # noqa: ANN401
    """The results as dask arrays, a task per box. Raises ``MissingExtraError`` without dask."""
    results: dict[str, Any] = {}
    for cut in cuts(kernel):
        results |= _lazy_cut(cut, given, whole, scalars, shape_of(cut))
    return as_result([results[a.name] for a in kernel.arrays if a.is_live_out])


def _lazy_cut(
    cut: Cut,
    given: Mapping[str, Any],
    whole: Mapping[str, int],
    scalars: Mapping[str, Any],
    shape: Sequence[int],
) -> dict[str, Any]:
    try:
        import dask
        import dask.array as da
    except ImportError:
        raise MissingExtraError("dask arrays need dask", hint=install_command("scale")) from None
    delayed: Any = dask.delayed  # type: ignore[attr-defined]
    from_delayed: Any = da.from_delayed  # type: ignore[attr-defined]
    block: Any = da.block  # type: ignore[attr-defined]
    shipment = delayed(shipment_of(cut, scalars), name=f"polyopt-kernel-{uuid.uuid4().hex}")
    names = [a.name for a in cut.kernel.arrays if a.name in given]
    shapes = [tuple(given[n].shape) for n in names]
    extent = output_shape(cut, whole)
    grid = np.empty([-(-n // c) for n, c in zip(extent, shape, strict=True)], object)
    token = uuid.uuid4().hex
    for box in boxes(extent, shape):
        job = job_of(cut, whole, box)
        parts = [_part(given[n], job, n) for n in names]
        index = tuple(s.start // c for s, c in zip(box, shape, strict=True))
        key = "-".join(["polyopt-box", token, *map(str, index)])
        grid[index] = delayed(_computed)(shipment, job, names, shapes, parts, dask_key_name=key)
    results: dict[str, Any] = {}
    for name in cut.outputs:
        dtype = cut.subdomain.whole.array(name).type.dtype
        pieces = np.empty(grid.shape, object)
        for index in np.ndindex(*grid.shape):
            counts = tuple(min(c, n - i * c) for i, c, n in zip(index, shape, extent, strict=True))
            pieces[index] = from_delayed(grid[index][name], counts, dtype=dtype)
        results[name] = block(pieces.tolist())
    return results


def _part(array: Any, job: Job, name: str) -> Any:  # noqa: ANN401
    """What a box reads of an array; of a mapped file, its name."""
    found = portable(array)
    return found[job.places[name].clipped(array.shape)[0]] if found is array else found


def _computed(
    shipment: Shipment,
    job: Job,
    names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    parts: Sequence[Any],
) -> dict[str, NumPyArray]:
    sources = {
        name: Carried(part, tuple(shape)) if isinstance(part, np.ndarray) else part
        for name, shape, part in zip(names, shapes, parts, strict=True)
    }
    return run_shipped(shipment, job, sources, {})
