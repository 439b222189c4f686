"""Where a network's time goes: each kernel's time, arithmetic and bytes moved."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError
from polyopt.oneline import one_line, some
from polyopt.scheduler.model.cost import cost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from polyopt.graph.execution.model import Model, Step
    from polyopt.graph.ir.graph import Array
    from polyopt.graph.planning import Planned

    #: bytes moved, operations -> least milliseconds; for so many threads
    Limit = Callable[[float, float], float]
    LimitMs = Callable[..., float]


@dataclass(frozen=True)
class ProfileRow:
    """One kernel: median time of a call, its operations, and bytes of tensors in and out."""

    number: int
    nodes: tuple[str, ...]
    operators: str
    result: str
    ms: float
    operations: int
    bytes: int
    #: the least time that the machine's limits allow, over the time taken; 0 where not known
    fraction: float

    @property
    def gflops(self) -> float:
        """Arithmetic operations per nanosecond."""
        return self.operations / (self.ms * 1e6) if self.ms else 0.0

    @property
    def gbs(self) -> float:
        """Bytes of operands and results per nanosecond."""
        return self.bytes / (self.ms * 1e6) if self.ms else 0.0


@dataclass(frozen=True)
class Profile:
    """The kernels of a network in the order in which they ran."""

    network: str
    threads: int
    rows: tuple[ProfileRow, ...]

    def __repr__(self) -> str:
        """The network's name, its kernels and their time together."""
        kernels = some(len(self.rows), "kernel")
        return one_line(self, self.network, kernels, f"{self.ms:.3g} ms on {self.threads} threads")

    def __iter__(self) -> Iterator[ProfileRow]:
        """The kernels."""
        return iter(self.rows)

    @property
    def ms(self) -> float:
        """All kernels together."""
        return sum(row.ms for row in self.rows)

    def __str__(self) -> str:
        """A table, and the sum."""
        lines = [f"{self.network}, {self.threads} thread(s)", ""]
        lines.append("   #       ms      %  GFLOP/s    GB/s  limit  kernel")
        for row in self.rows:
            share = 100 * row.ms / self.ms if self.ms else 0.0
            limit = f"{row.fraction:5.0%}" if row.fraction else "    -"
            lines.append(
                f"{row.number:4} {row.ms:8.3f} {share:6.1f} {row.gflops:8.1f} {row.gbs:7.1f}"
                f"  {limit}  {row.operators} -> {row.result}"
            )
        total = sum(row.operations for row in self.rows) / (self.ms * 1e6) if self.ms else 0.0
        lines.append(f"     {self.ms:8.3f}  100.0 {total:8.1f}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from polyopt.graph.notebook import profile_html

        return profile_html(self)

    def as_dict(self) -> dict[str, object]:
        """The profile for JSON."""
        rows = [{**vars(row), "nodes": list(row.nodes), "gflops": row.gflops, "gbs": row.gbs}
                for row in self.rows]  # fmt: skip
        return {"network": self.network, "threads": self.threads, "ms": self.ms, "rows": rows}

    def chrome_trace(self, path: str | Path) -> Path:
        """Write the calls as a trace that ``chrome://tracing`` and Perfetto show.

        Raises ``InvalidOptionError`` where the file cannot be written.
        """
        events: list[Mapping[str, object]] = []
        start = 0.0
        for row in self.rows:
            events.append({
                "name": row.operators, "ph": "X", "pid": 0, "tid": 0, "ts": start,
                "dur": row.ms * 1e3, "args": {"nodes": list(row.nodes), "result": row.result,
                "gflops": row.gflops, "gbs": row.gbs, "fraction": row.fraction},
            })  # fmt: skip
            start += row.ms * 1e3
        where = Path(path)
        try:
            where.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
        except OSError as error:
            msg = f"{where} cannot be written: {error.strerror}"
            raise InvalidOptionError(msg) from None
        return where


def profile(
    model: Model,
    inputs: Mapping[str, Array],
    *,
    threads: int | None = None,
    runs: int = 10,
    limit_ms: LimitMs | None = None,
) -> Profile:
    """Run a model ``runs`` times after one that is not counted, and time each kernel.

    ``limit_ms`` gives the least time for bytes moved and operations, as
    ``bench.machine.Machine.limit_ms`` does.

    Raises ``ArgumentError`` for inputs that do not fit, ``InvalidOptionError`` for no runs.
    """
    if runs < 1:
        msg = f"runs={runs} is not a number of runs"
        raise InvalidOptionError(msg, hint="it is 1 or more")
    model.prepare(inputs, threads)
    times: list[list[float]] = [[] for _ in model.steps]
    for run in range(runs + 1):
        for number, call in enumerate(model.calls):
            start = perf_counter()
            call()
            if run:
                times[number].append(perf_counter() - start)
    count = max((s.kernel.kernel.thread_count(threads) for s in model.steps), default=1)
    limit = partial(limit_ms, threads=count) if limit_ms else None
    rows = [
        _row(model, number, step, 1e3 * median(taken), limit)
        for number, (step, taken) in enumerate(zip(model.steps, times, strict=True), 1)
    ]
    return Profile(model.name, count, tuple(rows))


def _row(model: Model, number: int, step: Step, ms: float, limit: Limit | None) -> ProfileRow:
    values = model.graph.values
    moved = sum(values[name].bytes for name in (*step.group.inputs, *step.group.outputs))
    work = _operations(step.kernel.planned, tuple(model.sizes.items()))
    least = limit(moved, work) if limit else 0.0
    return ProfileRow(
        number,
        tuple(node.name for node in step.group.nodes),
        step.operators,
        ", ".join(str(values[name]) for name in step.group.outputs),
        ms,
        work,
        moved,
        least / ms if ms else 0.0,
    )


@lru_cache(maxsize=1024)
def _operations(planned: Planned, sizes: tuple[tuple[str, int], ...]) -> int:
    """Arithmetic operations of a group's program, each as often as its source does it."""
    program = planned.plan.program
    known = {name: number for name, number in sizes if name in program.scop.params}
    return cost(program, known).source_operations
