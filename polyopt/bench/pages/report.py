"""Rows as the table that people read and as the JSON that programs read."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from polyopt.bench.variants import COPY, OURS, UNFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from polyopt.bench.machine import Machine
    from polyopt.bench.runner import Row

COLUMNS = (
    ("kernel", "left"), ("variant", "left"), ("thr", "right"), ("median ms", "right"),
    ("iqr", "right"), ("limit", "right"), ("frac", "right"), ("vs unfused", "right"),
    ("agrees", "left"),
)  # fmt: skip


def as_json(
    machine: Machine, rows: Iterable[Row], conditions: Mapping[str, object] | None = None
) -> dict[str, object]:
    """``machine``, ``rows``, and under which conditions, as ``bench --json`` prints them."""
    listed = [asdict(row) for row in rows]
    return {**(conditions or {}), "machine": machine.as_json(), "rows": listed}


def table(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """The cells of ``COLUMNS``, a row each; a wide spread is marked by ``~``.

    Of a peer's schedules only the fastest is shown.
    """
    previous = ""
    for row in rows:
        if row.schedule and row.variant.endswith(f"/{row.schedule}"):
            continue
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
    return _speed(row, rows, UNFUSED)


def _speed(row: Row, rows: Sequence[Row], variant: str) -> float | None:
    for other in rows:
        if (other.kernel, other.threads, other.variant) == (row.kernel, row.threads, variant):
            return other.median_ms / row.median_ms
    return None


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """One line per kernel and number of threads: the unfused form's time over ours, and what ours
    reaches of the limit and of a copy in the same rounds."""
    for row in rows:
        ratio = _ratio(row, rows)
        copy = _speed(row, rows, COPY)
        beside = f", {copy:.0%} of a copy's speed in the same rounds" if copy else ""
        if row.variant == OURS and ratio is not None:
            yield (
                f"{row.kernel}, {_threads(row)}: "
                f"{ratio:.2f}x the speed of unfused, {row.fraction:.0%} of the limit{beside}"
            )


def against(rows: Sequence[Row], peer: str = "halide") -> Iterator[str]:
    """One line per kernel and number of threads: the peer's fastest form against our plan.

    The range is what the middle halves of both allow.
    """
    for ours in rows:
        best = best_of(rows, ours, peer)
        if ours.variant != OURS or best is None:
            continue
        low, ratio, high = speed_ratio(ours, best)
        of = f" {best.schedule}" if best.schedule else ""
        yield (
            f"{ours.kernel}, {_threads(ours)}: {ratio:.2f}x ({low:.2f}-{high:.2f}) "
            f"the speed of {best.variant}{of}"
        )


def best_of(rows: Iterable[Row], ours: Row, peer: str) -> Row | None:
    """A peer's fastest row of the same kernel and threads whose results agree, if any."""
    theirs = [
        r for r in rows
        if (r.kernel, r.threads) == (ours.kernel, ours.threads) and r.agrees
        and r.variant.startswith(peer)
    ]  # fmt: skip
    return min(theirs, key=lambda r: r.median_ms, default=None)


def speed_ratio(ours: Row, theirs: Row) -> tuple[float, float, float]:
    """Their time over ours: at least, of the medians, at most, by half the middle halves."""
    a, b, c, d = ours.median_ms, ours.iqr_ms / 2, theirs.median_ms, theirs.iqr_ms / 2
    return max(c - d, 0.0) / (a + b), c / a, (c + d) / max(a - b, a / 2)


def _threads(row: Row) -> str:
    return f"{row.threads} thread{'s' * (row.threads > 1)}"
