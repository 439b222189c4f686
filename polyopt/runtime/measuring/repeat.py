"""Timing of repeated calls: median, least and spread."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LEAST_RUNS, _MOST_RUNS = 5, 10_000


@dataclass(frozen=True)
class Timing:
    """Times of a number of runs, in milliseconds; ``iqr_ms`` is the middle half's width."""

    median_ms: float
    min_ms: float
    iqr_ms: float
    runs: int
    threads: int

    def __str__(self) -> str:
        """``1.234 ms (least 1.200, spread 0.020, 400 runs, 2 threads)``."""
        return (
            f"{self.median_ms:.4g} ms (least {self.min_ms:.4g}, spread {self.iqr_ms:.2g}, "
            f"{self.runs} runs, {self.threads} threads)"
        )

    def _repr_html_(self) -> str:
        return f"<div>{self}</div>"


def measure(run: Callable[[], object], threads: int, *, seconds: float) -> Timing:
    """Call ``run`` once to warm up, then at least five times and until ``seconds`` are spent."""
    run()
    times: list[float] = []
    clock = time.perf_counter
    end = clock() + seconds
    while len(times) < _LEAST_RUNS or (clock() < end and len(times) < _MOST_RUNS):
        start = clock()
        run()
        times.append((clock() - start) * 1e3)
    quarters = statistics.quantiles(times, n=4)
    spread = quarters[2] - quarters[0]
    return Timing(statistics.median(times), min(times), spread, len(times), threads)
