"""A cost as a table people read: within 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.oneline import some

if TYPE_CHECKING:
    from polyopt.scheduler.model.cost import Cost
    from polyopt.scheduler.model.time import Prediction

#: so many nests are shown
_NESTS = 6
_TIMES = ("ns", "µs", "ms", "s")
_UNITS = ("B", "KB", "MB", "GB", "TB")
_STEP = 1000


def human_bytes(number: float) -> str:
    """``12.8 MB``: decimal units, three digits."""
    value, unit = float(number), 0
    while abs(value) >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 else f"{value:.3g} {_UNITS[unit]}"


def table(cost: Cost, *, stages: bool = True) -> str:
    """The bill: work, storage, bytes, parallelism, each beside the source program's.

    ``stages`` adds what each stage repeats and the buffers that are kept.
    """
    sizes = ", ".join(f"{k}={v}" for k, v in cost.sizes.items())
    lines = [f"{cost.program}  {sizes}"[:80]]
    lines += [f"{'':<26}{'unfused':>18}{'plan':>18}{'ratio':>10}"]
    rows = [
        ("instances", sum(cost.source_instances.values()), sum(cost.instances.values())),
        ("operations", cost.source_operations, cost.operations),
    ]
    one, other = ("" if exact else "~" for exact in (not cost.source_estimated, cost.is_exact))
    lines += [
        _row(name, f"{one}{a:,}", f"{other}{b:,}", max(one, other) * bool(a) + _ratio(a, b))
        for name, a, b in rows
    ]
    for level, name in (("L2", "bytes between L1 and L2"), ("memory", "bytes moved")):
        one, other = (sum(m[level].values()) for m in (cost.source_moved, cost.moved))
        lines.append(_row(name, human_bytes(one), human_bytes(other), _ratio(one, other)))
    compulsory = human_bytes(cost.compulsory_bytes)
    lines += [
        _row("  of them compulsory", compulsory, compulsory, ""),
        _row("arrays between stages", "", human_bytes(cost.intermediate_bytes), ""),
        _row("scratch per thread", "", human_bytes(cost.scratch_bytes), ""),
        _row("operations per byte", f"{_source_intensity(cost):.3g}", f"{cost.intensity:.3g}", ""),
        _row("iterations for threads", "", f"{cost.parallel_tiles:,}", ""),
        _row(*_times(cost)),
    ]
    lines += [_row(*nest) for nest in slowest(cost.time)]
    if cost.estimated or cost.source_estimated:
        lines += ["~ estimated: an exact number takes too long"]
    if not stages:
        return "\n".join(lines)
    repeated = [(a, f) for a, f in cost.repeated.items() if abs(f - 1) > 5e-4]
    lines += [_row(f"  {a[:20]} computed", "", f"{f:.3f} times", "") for a, f in repeated]
    for s in cost.scratch:
        extents = "".join(f"[{e}]" for e in s.extents)
        name = f"  {s.array}{extents}"
        lines.append(_row(name[:44], "", human_bytes(s.bytes), s.fits, wide=44))
    return "\n".join(lines)


def human_time(ns: float) -> str:
    """``1.28 ms``: three digits."""
    value, unit = ns, 0
    while value >= _STEP and unit < len(_TIMES) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.3g} {_TIMES[unit]}"


def _times(cost: Cost) -> tuple[str, str, str, str]:
    one, other = cost.source_time.ns, cost.time.ns
    threads = f"predicted, {some(cost.time.threads, 'thread')}"
    return threads, human_time(one), human_time(other), _ratio(one, other)


def slowest(time: Prediction) -> list[tuple[str, str, str, str]]:
    """The nests that take longest, with what bounds each: rows of the table."""
    nests = sorted(time.nests, key=lambda nest: -nest.ns)[:_NESTS]
    return [(f"  {nest.name}"[:26], nest.bound, human_time(nest.ns), "") for nest in nests]


def _row(name: str, one: str, other: str, last: str, wide: int = 26) -> str:
    return f"{name:<{wide}}{one:>{max(0, 44 - wide)}}{other:>18}{last:>10}".rstrip()


def _ratio(one: float, other: float) -> str:
    return f"{other / one:.3f}" if one else ""


def _source_intensity(cost: Cost) -> float:
    return cost.source_operations / max(1, cost.source_bytes_moved)
