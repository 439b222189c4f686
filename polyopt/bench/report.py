"""Rows as the table that people read and as the JSON that programs read."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from polyopt.bench.variants import OURS, UNFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polyopt.bench.machine import Machine
    from polyopt.bench.runner import Row

COLUMNS = (
    ("kernel", "left"), ("variant", "left"), ("thr", "right"), ("median ms", "right"),
    ("iqr", "right"), ("limit", "right"), ("frac", "right"), ("vs unfused", "right"),
    ("agrees", "left"),
)  # fmt: skip


def as_json(machine: Machine, rows: Iterable[Row]) -> dict[str, object]:
    """``machine`` and ``rows``, as ``bench --json`` prints them."""
    return {"machine": machine.as_json(), "rows": [asdict(row) for row in rows]}


def table(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """The cells of ``COLUMNS``, a row each; a wide spread is marked by ``~``."""
    previous = ""
    for row in rows:
        ratio = _ratio(row, rows)
        yield (
            _short(row.kernel) if row.kernel != previous else "",
            row.variant.removeprefix("polyopt-"),
            str(row.threads),
            f"{row.median_ms:.3f}{'~' if row.noisy else ' '}",
            f"{row.iqr_ms:.3f}",
            f"{row.limit_ms:.3f}",
            f"{row.fraction:.2f}",
            f"{ratio:.2f}x" if ratio else "",
            "yes" if row.agrees else "NO",
        )
        previous = row.kernel


def _short(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:19]}…"


def _ratio(row: Row, rows: Sequence[Row]) -> float | None:
    """How many times faster than the unfused form on as many threads."""
    for other in rows:
        if (other.kernel, other.threads, other.variant) == (row.kernel, row.threads, UNFUSED):
            return other.median_ms / row.median_ms
    return None


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """One line per kernel and number of threads: the unfused form's time over ours."""
    for row in rows:
        ratio = _ratio(row, rows)
        if row.variant == OURS and ratio is not None:
            yield (
                f"{row.kernel}, {row.threads} thread{'s' * (row.threads > 1)}: "
                f"{ratio:.2f}x the speed of unfused, {row.fraction:.0%} of the limit"
            )
