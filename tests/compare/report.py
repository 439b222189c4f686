"""A comparison as text: a line for each kernel and number of threads, and what is to be seen."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from .ratios import FASTER, LOSS, SLOWER, geometric_mean, mean_interval, ratio_of
from .records import BASE, NEW, SIDES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .ratios import Ratio
    from .records import Comparison, Entry, Run

_COLUMNS = (
    "kernel", "threads", "base ms", "new ms", "ratio", "95 %", "code", "results", "to kernel s",
)  # fmt: skip
_LEFT = {"kernel", "code", "results"}
_NONE = "-"


def report(comparison: Comparison) -> str:
    """All of it. The ratio is base over new: above 1 the new version is faster."""
    base, new = (comparison.versions[side]["label"] for side in SIDES)
    machine = comparison.machine
    lines = [
        f"base: {base}; new: {new}; ratio: base time / new time, above 1 new is faster",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['compiler']}",
    ]
    for suite in dict.fromkeys(e.suite for e in comparison.entries):
        mine = [e for e in comparison.entries if e.suite == suite]
        rows = [row for entry in mine for row in _rows(entry)]
        lines += ["", suite, *_table(rows), *_summary(mine)]
    return "\n".join([*lines, "", *_verdicts(comparison), *_missing(comparison)]) + "\n"


def measured(entry: Entry) -> Iterator[tuple[int, Ratio]]:
    """Numbers of threads and ratios."""
    for threads, run in sorted(entry.runs.items()):
        if run.turns:
            yield threads, ratio_of(run.turns)


def troubles(comparison: Comparison) -> list[str]:
    """What is wrong with the new version: losses, failures, and other results."""
    return [*_slower(comparison, SLOWER), *_wrong(comparison)]


# -- the table ----------------------------------------------------------------------------------


def _rows(entry: Entry) -> Iterator[list[str]]:
    if entry.errors:
        told = "; ".join(f"{side} failed: {text}" for side, text in sorted(entry.errors.items()))
        yield [entry.kernel, *[_NONE] * 5, told, _NONE, _NONE]
        return
    ratios, taken = dict(measured(entry)), _taken(entry)
    for threads, run in sorted(entry.runs.items()):
        ratio = ratios.get(threads)
        times = [_NONE] * 4
        if ratio is not None:
            interval = _NONE if ratio.low is None else f"{ratio.low:.2f}-{ratio.high:.2f}"
            times = [_ms(ratio.base_s), _ms(ratio.new_s), f"{ratio.value:.2f}", interval]
        yield [entry.kernel, str(threads), *times, entry.code, _results(entry, run), taken]
        taken = ""


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g}"


def _results(entry: Entry, run: Run) -> str:
    if not entry.same_inputs:
        return "other inputs"
    if run.differ is None:
        return "same bits" if run.same_bits else _NONE
    share, largest = run.differ
    return f"{'' if run.rounding else 'DIFFER: '}{share:.2g} of them by {largest:.1g}"


def _taken(entry: Entry) -> str:
    base, new = (_seconds(entry, side, 1) for side in SIDES)
    return f"{base:.2f} -> {new:.2f}"


def _seconds(entry: Entry, side: str, which: int) -> float:
    """The median of one of the seconds in ``Made.taken``."""
    return statistics.median(taken[which] for taken in entry.made[side].taken)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    cells = [_COLUMNS, *rows]
    # what failed is told at length: no column is as wide as that
    widths = [max(len(c[k]) for c in cells if len(c[k]) < 40) for k in range(len(_COLUMNS))]
    for row in cells:
        line = (
            cell.ljust(width) if title in _LEFT else cell.rjust(width)
            for cell, width, title in zip(row, widths, _COLUMNS, strict=True)
        )
        yield "  " + "  ".join(line).rstrip()


# -- what is to be seen -------------------------------------------------------------------------


def _summary(entries: Sequence[Entry]) -> Iterator[str]:
    """Means and the worst by number of threads, and what compiling takes."""
    for threads in sorted({t for e in entries for t in e.runs}):
        known = {e.kernel: r for e in entries for t, r in measured(e) if t == threads}
        same = sum(e.is_same_code and threads in e.runs and e.kernel not in known for e in entries)
        line = f"  {threads} thread{'s' * (threads > 1)}: "
        if known:
            mean = geometric_mean(r.value for r in known.values())
            worst = min(known, key=lambda name: known[name].value)
            every = mean ** (len(known) / (len(known) + same))
            line += f"geometric mean {mean:.3f} of {len(known)}"
            line += f" ({every:.3f} with the same code as 1), " if same else ", "
            line += f"worst {worst} {known[worst].value:.2f}; "
        yield line + f"{same} of the same code not measured"
    both = [e for e in entries if len(e.made) == len(SIDES)]
    if both:
        means = (f"{what} {_taken_mean(both, k)}" for k, what in _TAKEN.items())
        yield f"  from program to kernel, geometric means of {len(both)}: {', '.join(means)}"


#: what is told of ``Made.taken``; the compiler's own, of the same C, says how much is noise
_TAKEN = {1: "all", 0: "plan", 2: "processor time of polyopt", 3: "of the compiler"}


def _taken_mean(entries: Sequence[Entry], which: int) -> str:
    least = 1e-3  # what takes less has no ratio
    ratios = [
        max(_seconds(e, BASE, which), least) / max(_seconds(e, NEW, which), least) for e in entries
    ]
    interval = mean_interval(ratios)
    told = "" if interval is None else f" ({interval[0]:.2f}-{interval[1]:.2f})"
    return f"{geometric_mean(ratios):.2f}{told}"


def _verdicts(comparison: Comparison) -> Iterator[str]:
    wrong, slower = _wrong(comparison), _slower(comparison, SLOWER)
    yield from wrong
    yield f"slower than {LOSS:g} of base, beyond noise: {', '.join(slower) or 'none'}"
    faster = _slower(comparison, FASTER)
    if faster:
        yield f"faster: {', '.join(faster)}"


def _slower(comparison: Comparison, verdict: str) -> list[str]:
    return [
        f"{entry.kernel} on {threads} {ratio.value:.2f} ({ratio.low:.2f}-{ratio.high:.2f})"
        for entry in comparison.entries
        for threads, ratio in measured(entry)
        if ratio.verdict == verdict
    ]


def _wrong(comparison: Comparison) -> list[str]:
    failed = [
        f"{entry.kernel} failed with new: {entry.errors[NEW]}"
        for entry in comparison.entries
        if NEW in entry.errors
    ]
    differ = [
        f"{entry.kernel} on {threads}: results differ by more than rounding"
        for entry in comparison.entries
        for threads, run in sorted(entry.runs.items())
        if not run.rounding
    ]
    return failed + differ


def _missing(comparison: Comparison) -> Iterator[str]:
    for side in SIDES:
        if comparison.only.get(side):
            yield f"only {side} has: {', '.join(comparison.only[side])}"
