"""``map_blocks``: a kernel over arrays of any size, box by box, with the results of one call."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.arguments import checks_arguments
from polyopt.codegen.target import core_count
from polyopt.errors import ArgumentError, InvalidOptionError, shown
from polyopt.runtime.arrays import NumPyArray, as_result, empty
from polyopt.runtime.kernel import MOST_THREADS
from polyopt.scale.cut import Cut, as_kernel, cuts
from polyopt.scale.execute import pool_of, progress_of, run_all
from polyopt.scale.grid import box_shape, boxes, bytes_text, output_shape, parse_bytes
from polyopt.scale.job import Shipment, can_view, run_job, run_shipped
from polyopt.scale.ship import job_of, portable, sent, shipment_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor, Future

    from polyopt.ir.scop import Scop
    from polyopt.runtime.kernel import Kernel
    from polyopt.transform.plan import Plan


@checks_arguments
def map_blocks(
    kernel: Kernel | Plan | Scop,
    *arrays: object,
    out: object = None,
    memory: str | int = "1GiB",
    blocks: Sequence[int] | None = None,
    workers: int | None = None,
    executor: object = "threads",
    progress: object = False,
    **named: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """A kernel's results on arrays that need not fit into memory, computed box by box.

    Arrays are as for a call of the kernel, and may be memory-mapped, zarr, or anything with
    ``shape``, ``dtype`` and slices; with a dask array among them, the results are lazy dask
    arrays. What each box reads is derived from the program: ``print(po.cuts(kernel)[0])`` shows
    it. Borders are those of the whole arrays. The bits are those of one call for whole numbers and
    for kernels compiled with ``contract=False``; else the C compiler rounds ``a * b + c`` once in
    some loops and twice in others, and results may differ in their last places.

    ``out`` is the array, or a dict of arrays by name, that results go to; by default new NumPy
    arrays. Arrays that the kernel changes in place are read, and their results written there.
    ``memory`` is for all boxes in work at once; ``blocks``, the shape of boxes, overrides what
    would be chosen. ``executor`` is ``"threads"``, ``"processes"``, a ``concurrent.futures``
    executor or a ``distributed.Client``; ``workers`` how many jobs are with it at once (default:
    all cores). A worker that vanishes costs time only. ``progress`` is true for a bar, or a
    function of jobs done and jobs to do.

    Raises ``NotCutError``, ``NotDecidedError`` or ``MemoryLimitError`` where the program cannot be
    computed box by box, and ``ArgumentError`` as a call does.
    """
    compiled = as_kernel(kernel)
    given = _named(compiled, arrays, named)
    limit, count = parse_bytes(memory), _worker_count(workers, executor)
    whole = _whole_sizes(compiled, given)
    scalars = {a.name: given[a.name] for a in compiled.scalars}
    if any(hasattr(value, "dask") for value in given.values()):
        from polyopt.scale.lazy import lazy

        return lazy(
            compiled, given, whole, scalars, lambda c: _shape(c, whole, limit, count, blocks, {})
        )
    targets = _targets(compiled, out, whole, limit)
    here = executor == "threads"
    # mapped files count once, however many boxes touch them; in other processes once for each
    resident = here and _mapped_bytes({**given, **targets}) <= limit
    runs: list[_Run] = []
    for c in cuts(compiled):
        shipment = shipment_of(c, scalars, here=here, resident=resident)
        inside = blocks is None and here and _in_memory(shipment, given, targets)
        # one where OpenMP is not, or its threads did not come along in a fork
        threads = c.kernel.thread_count(count) if inside and c.kernel.built.uses_openmp else 1
        shape = _shape(c, whole, limit, count // threads, blocks, targets, threads)
        runs.append(_Run.of(c, whole, shipment, given, targets, shape, threads))
    total = sum(len(run.jobs) for run in runs)
    with pool_of(executor, count) as pool, progress_of(progress, total, compiled.name) as tell:
        for run in runs:
            run.execute(pool, here, count, tell)
    return as_result([targets[a.name] for a in compiled.arrays if a.is_live_out])


def _mapped_bytes(arrays: Mapping[str, Any]) -> int:
    return sum(a.nbytes for a in arrays.values() if isinstance(a, np.memmap))


def _in_memory(shipment: Shipment, sources: Mapping[str, Any], targets: Mapping[str, Any]) -> bool:
    """Whether boxes read and write arrays in place that stay in memory: then nothing waits for a
    file, and the kernel's own threads share a box with less ado than boxes share threads."""
    arrays = {**sources, **targets}
    kinds = (np.ndarray, np.memmap) if shipment.resident else (np.ndarray,)
    return all(
        slot.role != "inout"
        and type(arrays.get(slot.name)) in kinds
        and can_view(slot, arrays[slot.name])
        for slot in shipment.slots
    )


def _shape(
    cut: Cut,
    whole: Mapping[str, int],
    limit: int,
    workers: int,
    blocks: Sequence[int] | None,
    targets: Mapping[str, Any],
    threads: int = 1,
) -> tuple[int, ...]:
    chunks = next(
        (tuple(targets[n].chunks) for n in cut.outputs if hasattr(targets.get(n), "chunks")), None
    )
    if blocks is None:
        return box_shape(cut, whole, limit=limit, workers=workers, chunks=chunks, threads=threads)
    extent = output_shape(cut, whole)
    cuttable = {axis.dim for axis in cut.subdomain.axes}
    if len(blocks) != len(extent) or any(b < 1 for b in blocks):
        raise InvalidOptionError(
            f"blocks={tuple(blocks)} is no shape of boxes of {cut.outputs[0]}",
            hint=f"it has {len(extent)} dimensions: {extent}",
        )
    blocks = [-(-b // cut.unit) * cut.unit for b in blocks]
    shape = tuple(
        min(b, n) if k in cuttable else n
        for k, (b, n) in enumerate(zip(blocks, extent, strict=True))
    )
    if chunks is not None and any(
        b % c and b < n for b, c, n in zip(shape, chunks, extent, strict=True)
    ):
        raise InvalidOptionError(
            f"boxes of {shape} would share chunks of {chunks}",
            hint="make blocks multiples of the chunks that results are stored in",
        )
    return shape


def _worker_count(workers: int | None, executor: object) -> int:
    if workers is None:
        if hasattr(executor, "ncores"):
            return max(1, 2 * sum(cast("Any", executor).ncores().values()))
        return core_count()
    whole = isinstance(cast("object", workers), int) and not isinstance(workers, bool)
    if not whole or not 1 <= workers <= MOST_THREADS:
        raise InvalidOptionError(
            f"workers={shown(workers)} is no number of workers", hint=f"1 to {MOST_THREADS}"
        )
    return workers


def _named(kernel: Kernel, arrays: Sequence[object], named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name. Raises ``ArgumentError`` for what the kernel does not have."""
    if len(arrays) > len(kernel.positional):
        raise ArgumentError(
            f"{kernel.name} takes {len(kernel.positional)} arrays and sizes, not {len(arrays)}",
            notes=[f"they are: {', '.join(kernel.positional)}"],
        )
    given = dict(zip(kernel.positional, arrays, strict=False))
    known = {a.name for a in kernel.arguments}
    for name, value in named.items():
        if name not in known or name in given:
            reason = "is given twice" if name in given else "is no argument"
            raise ArgumentError(
                f"{name} {reason} of {kernel.name}", hint=f"it has: {', '.join(sorted(known))}"
            )
        given[name] = value
    for argument in kernel.arguments:
        if argument.kind != "size" and argument.is_live_in and argument.name not in given:
            raise ArgumentError(f"{kernel.name} needs {argument.name}")
    for argument in kernel.arrays:
        if argument.name in given:
            _check(given[argument.name], argument.name, argument.type.numpy_name, argument.rank)
    return given


def _check(array: Any, name: str, dtype: str, rank: int) -> None:  # noqa: ANN401
    if not all(hasattr(array, part) for part in ("shape", "dtype", "__getitem__")):
        raise ArgumentError(f"{name} is a {type(array).__name__}, not an array")
    if np.dtype(array.dtype) != np.dtype(dtype) or len(array.shape) != rank:
        raise ArgumentError(
            f"{name} is an array of {array.dtype} with shape {tuple(array.shape)}, but {dtype} "
            f"of rank {rank} is needed"
        )


def _whole_sizes(kernel: Kernel, given: Mapping[str, Any]) -> dict[str, int]:
    shapes = {
        a.name: tuple(int(n) for n in given[a.name].shape) for a in kernel.arrays if a.name in given
    }
    sizes = {n: given[n] for n in kernel.program.params if n in given}
    return kernel.sizes_of(shapes, **sizes)


def _targets(kernel: Kernel, out: object, whole: Mapping[str, int], limit: int) -> dict[str, Any]:
    """Where results go. Raises ``ArgumentError`` for what does not fit."""
    outputs = [a for a in kernel.arrays if a.is_live_out]
    named = _named_outputs(out, [a.name for a in outputs])
    shapes = kernel.shapes(**{n: whole[n] for n in kernel.program.params})
    result: dict[str, Any] = {}
    for argument in outputs:
        shape, dtype = shapes[argument.name], argument.type.dtype
        target = named.get(argument.name)
        if target is None:
            size = math.prod(shape) * dtype.itemsize
            if size > limit:
                raise ArgumentError(
                    f"{argument.name} takes {bytes_text(size)}, more than memory= allows",
                    hint="pass out=, such as numpy.lib.format.open_memmap(...)",
                )
            target = empty(shape, dtype)
        _check(target, argument.name, dtype.name, argument.rank)
        if tuple(target.shape) != shape:
            raise ArgumentError(
                f"{argument.name} has shape {tuple(target.shape)}, but {shape} is needed"
            )
        result[argument.name] = target
    return result


def _named_outputs(out: object, names: Sequence[str]) -> dict[str, Any]:
    if out is None:
        return {}
    if isinstance(out, dict):
        found = cast("dict[str, Any]", out)
    else:
        values = cast("Sequence[Any]", out) if isinstance(out, (tuple, list)) else (out,)
        if len(values) != len(names):
            raise ArgumentError(f"out= has {len(values)} arrays, not {len(names)}: {names}")
        found = dict(zip(names, values, strict=True))
    unknown = next((n for n in found if n not in names), None)
    if unknown is not None:
        raise ArgumentError(f"out= names {unknown!r}", hint=f"outputs are: {', '.join(names)}")
    return found


@dataclass(frozen=True, eq=False)
class _Run:
    """All boxes of one cut."""

    cut: Cut
    shipment: Shipment
    jobs: Sequence[tuple[slice, ...]]
    whole: Mapping[str, int]
    sources: Mapping[str, Any]
    targets: Mapping[str, Any]
    #: threads that share each box; with 1, boxes run at once
    threads: int = 1

    @classmethod
    def of(
        cls,
        cut: Cut,
        whole: Mapping[str, int],
        shipment: Shipment,
        sources: Mapping[str, Any],
        targets: Mapping[str, Any],
        shape: Sequence[int],
        threads: int,
    ) -> _Run:
        jobs = list(boxes(output_shape(cut, whole), shape))
        arrays = {a.name for a in cut.kernel.arrays}
        read = {n: a for n, a in sources.items() if n in arrays}
        for name in cut.outputs:
            if name in read and _same_memory(read[name], targets[name]):
                raise ArgumentError(
                    f"the results of {name} would overwrite what other boxes read",
                    hint="pass another array as out=",
                )
        written = {n: targets[n] for n in cut.outputs}
        return cls(cut, shipment, jobs, whole, read, written, threads)

    def execute(
        self,
        pool: Callable[[], Executor],
        here: bool,  # noqa: FBT001
        window: int,
        tell: Callable[[], None],
    ) -> None:
        kernel = self.cut.kernel
        if self.threads > 1:
            for box in self.jobs:
                job = job_of(self.cut, self.whole, box)
                run_job(kernel, self.shipment, job, self.sources, self.targets, self.threads)
                tell()
            return
        sources = {n: a if here else portable(a) for n, a in self.sources.items()}
        targets = {n: a if here else portable(a) for n, a in self.targets.items()}
        remote = {n: a for n, a in targets.items() if type(a) is not np.ndarray}

        def submit(executor: Executor, number: int) -> Future[Any]:
            job = job_of(self.cut, self.whole, self.jobs[number])
            if here:
                return executor.submit(run_job, kernel, self.shipment, job, sources, targets)
            return executor.submit(run_shipped, self.shipment, job, sent(sources, job), remote)

        def done(number: int, result: dict[str, NumPyArray]) -> None:
            for name, part in result.items():
                self.targets[name][self.jobs[number]] = part
            tell()

        run_all(pool, submit, len(self.jobs), window if here else 2 * window, done)


def _same_memory(one: object, other: object) -> bool:
    if one is other:
        return True
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return False
    return np.may_share_memory(cast("NumPyArray", one), cast("NumPyArray", other))
