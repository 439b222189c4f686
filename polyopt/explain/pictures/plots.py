"""Pictures with axes: memory against work, and the roofline of a machine with its kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.errors import InvalidOptionError
from polyopt.explain.pictures.picture import (
    FAINT,
    INK,
    PALETTE,
    Dot,
    Line,
    Picture,
    Rect,
    Shape,
    Text,
)
from polyopt.scheduler.model.table import human_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.explain.choices.tradeoff import Point, Tradeoff

_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 24.0, 40.0, 46.0
_WIDTH, _HEIGHT = 620.0, 330.0
#: largest work over least beyond which powers of ten tell more
WIDE = 8
_ONE, _MANY, _CHOSEN = PALETTE[1], PALETTE[4], PALETTE[5]


@dataclass(frozen=True)
class _Axis:
    """Values along one side of a plot, in powers of ten or evenly; ``ticks`` are marked."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    log: bool = True

    def __call__(self, value: float) -> float:
        """The place of a value; one outside is drawn at the border."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def _decades(values: Sequence[float], start: float, end: float) -> _Axis:
    """An axis of powers of ten around positive values."""
    low = math.floor(math.log10(min(values)) - 0.05)
    high = max(math.ceil(math.log10(max(values)) + 0.05), low + 1)
    step = max(1, (high - low) // 8)
    ticks = tuple(10.0**p for p in range(low, high + 1, step))
    return _Axis(10.0**low, 10.0**high, start, end, ticks)


def _even(values: Sequence[float], start: float, end: float) -> _Axis:
    """An axis around values, with four to eight round ticks."""
    low, high = min(values), max(values)
    span = max(high - low, 0.05)
    rough = span / 5
    base = 10.0 ** math.floor(math.log10(rough))
    step = next(base * f for f in (1, 2, 5, 10) if base * f >= rough)
    first = step * math.floor(low / step - 0.2)
    last = step * math.ceil(high / step + 0.2)
    count = round((last - first) / step)
    ticks = tuple(first + k * step for k in range(count + 1))
    return _Axis(first, last, start, end, ticks, log=False)


def _frame(across: _Axis, up: _Axis, across_texts: Sequence[str], up_texts: Sequence[str],
           names: tuple[str, str]) -> list[Shape]:  # fmt: skip
    """Grid lines with their values, and what the axes stand for."""
    shapes: list[Shape] = []
    for tick, text in zip(across.ticks, across_texts, strict=True):
        x = across(tick)
        shapes += [Line(x, up.start, x, up.end, FAINT, 0.6),
                   Text(x, up.start + 15, text, 10, "middle")]  # fmt: skip
    for tick, text in zip(up.ticks, up_texts, strict=True):
        y = up(tick)
        shapes += [Line(across.start, y, across.end, y, FAINT, 0.6),
                   Text(across.start - 6, y + 4, text, 10, "end")]  # fmt: skip
    middle = (across.start + across.end) / 2
    shapes += [Text(middle, up.start + 34, names[0], 11, "middle"), Text(8, up.end - 12, names[1])]
    return shapes


# -- memory against work ----------------------------------------------------------------------


@checks_arguments
def draw_tradeoff(found: Tradeoff) -> Picture:
    """The front as a staircase of numbered points; the chosen plan is a square.

    Filled points leave enough for the threads, hollow ones run on one thread. Small dots are the
    plans that were weighed and beaten.
    """
    shown = [*found.front, found.chosen]
    across = _decades([max(p.memory, 1.0) for p in shown], _LEFT, _WIDTH - _RIGHT)
    work = [p.work for p in shown]
    scale = _decades if max(work) > WIDE * min(work) else _even
    up = scale(work, _HEIGHT - _BOTTOM, _TOP)
    texts = [human_bytes(t) for t in across.ticks], [f"{t:.3g}" for t in up.ticks]
    axes = ("memory for intermediate values", "work, times that of the source")
    shapes = _frame(across, up, *texts, axes)
    for point in found.points:
        inside = up.low <= point.work <= up.high and across.low <= point.memory <= across.high
        if inside and point not in shown:
            shapes.append(Dot(across(point.memory), up(point.work), 1.8, FAINT, point.name))
    shapes += _stairs(found.front, across, up)
    places = [(across(max(p.memory, 1.0)), up(p.work)) for p in found.front]
    for point, place in zip(found.front, places, strict=True):
        shapes += _mark(point, *place)
    shapes += _numbers(places)
    if found.chosen not in found.front:
        shapes += _mark(found.chosen, across(found.chosen.memory), up(found.chosen.work))
    shapes += _key(_WIDTH - _RIGHT)
    label = f"memory against work of plans for {found.program}"
    return Picture(_WIDTH, _HEIGHT, tuple(shapes), label)


def _stairs(front: Sequence[Point], across: _Axis, up: _Axis) -> list[Shape]:
    """What memory buys: the least work that fits, as steps."""
    shapes: list[Shape] = []
    best = math.inf
    previous: tuple[float, float] | None = None
    for point in front:
        if point.work >= best:
            continue
        best = point.work
        x, y = across(max(point.memory, 1.0)), up(point.work)
        if previous is not None:
            shapes += [Line(*previous, x, previous[1], INK, 0.8),
                       Line(x, previous[1], x, y, INK, 0.8)]  # fmt: skip
        previous = x, y
    return shapes


def _mark(point: Point, x: float, y: float) -> list[Shape]:
    told = (f"{point.name}: {human_bytes(point.memory)}, work {point.work:.3f}, "
            f"{point.threads:,} iterations for threads")  # fmt: skip
    fill = _MANY if point.threads > 1 else "#FFFFFF"
    if point.chosen:
        return [Rect(x - 5.5, y - 5.5, 11, 11, _CHOSEN, title=told)]
    return [Dot(x, y, 5.2, INK), Dot(x, y, 4.2, fill, told)]


def _numbers(places: Sequence[tuple[float, float]]) -> list[Shape]:
    """The points' numbers; those of points that coincide together: ``5-7``."""
    groups: list[list[int]] = []
    for number, (x, y) in enumerate(places):
        last = places[groups[-1][-1]] if groups else (math.inf, math.inf)
        if abs(x - last[0]) < 12 and abs(y - last[1]) < 12:
            groups[-1].append(number)
        else:
            groups.append([number])
    texts = [f"{g[0] + 1}-{g[-1] + 1}" if len(g) > 1 else str(g[0] + 1) for g in groups]
    return [
        Text(places[g[0]][0], min(places[n][1] for n in g) - 10, text, 11, "middle", halo="#FFFFFF")
        for g, text in zip(groups, texts, strict=True)
    ]


def _key(right: float) -> list[Shape]:
    left = right - 410
    return [
        Rect(left, 8, 11, 11, _CHOSEN), Text(left + 16, 18, "this plan"),
        Dot(left + 92, 13.5, 5.2, INK), Dot(left + 92, 13.5, 4.2, _MANY),
        Text(left + 102, 18, "threads share it"),
        Dot(left + 216, 13.5, 5.2, INK), Dot(left + 216, 13.5, 4.2, "#FFFFFF"),
        Text(left + 226, 18, "one thread"),
        Dot(left + 314, 13.5, 1.8, FAINT), Text(left + 322, 18, "beaten plans"),
    ]  # fmt: skip


# -- roofline ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Roof:
    """What a machine can do at most on so many threads."""

    name: str
    #: 10^9 bytes per second, and 10^9 operations per second
    bandwidth_gbs: float
    peak_gflops: float
    #: the operations of that peak: those of another type may be faster or slower
    arithmetic: str = "f32 multiply-adds"


@dataclass(frozen=True)
class Spot:
    """A kernel variant as it was measured: operations per byte moved, 10^9 operations a second."""

    name: str
    intensity: float
    gflops: float


@checks_arguments
def draw_roofline(roofs: Sequence[Roof], spots: Sequence[Spot]) -> Picture:
    """Spots below the lines that bandwidth and arithmetic draw, both axes in powers of ten.

    (S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009.)
    """
    ridges = [roof.peak_gflops / roof.bandwidth_gbs for roof in roofs]
    xs = [s.intensity for s in spots] + [4 * r for r in ridges] + [min(ridges) / 8]
    ys = [s.gflops for s in spots] + [roof.peak_gflops for roof in roofs]
    across = _decades(xs, _LEFT, _WIDTH - _RIGHT)
    up = _decades([*ys, min(r.bandwidth_gbs * across.low for r in roofs)], _HEIGHT - _BOTTOM, _TOP)
    texts = [f"{t:g}" for t in across.ticks], [f"{t:g}" for t in up.ticks]
    shapes = _frame(across, up, *texts, ("operations per byte moved", "10^9 operations per second"))
    for number, (roof, ridge) in enumerate(zip(roofs, ridges, strict=True)):
        low = max(across.low, up.low / roof.bandwidth_gbs)
        ends = across(low), up(low * roof.bandwidth_gbs), across(ridge), up(roof.peak_gflops)
        shapes.append(Line(*ends, INK, 1.6, dashed=bool(number)))
        flat = across(ridge), up(roof.peak_gflops), across.end, up(roof.peak_gflops)
        shapes.append(Line(*flat, INK, 1.6, dashed=bool(number)))
        told = (f"{roof.name}: {roof.bandwidth_gbs:.3g} GB/s, "
                f"{roof.peak_gflops:.3g} Gop/s of {roof.arithmetic}")  # fmt: skip
        shapes.append(Text(across.end, up(roof.peak_gflops) - 6, told, 10, "end"))
    taken: list[tuple[float, float]] = []
    for number, spot in enumerate(spots):
        x, y = across(spot.intensity), up(spot.gflops)
        told = f"{spot.name}: {spot.intensity:.3g} op/B, {spot.gflops:.3g} Gop/s"
        shapes.append(Dot(x, y, 5, PALETTE[number % len(PALETTE)], told))
        left = x > (across.start + across.end) / 2
        at = _free(x + (-9 if left else 9), y + 4, taken)
        shapes.append(Text(*at, spot.name, 10, "end" if left else "start"))
    return Picture(_WIDTH, _HEIGHT, tuple(shapes), "roofline")


@checks_arguments
def roofs_of(bandwidth_gbs: Mapping[int, float], peak_gflops: Mapping[int, float]) -> list[Roof]:
    """A roof per number of threads, the highest first.

    Raises ``InvalidOptionError`` for numbers of threads that only one of them has.
    """
    if bandwidth_gbs.keys() != peak_gflops.keys():
        raise InvalidOptionError("a roof needs bandwidth and peak for the same numbers of threads")
    return [
        Roof(f"{n} thread{'s' * (n > 1)}", bandwidth_gbs[n], peak_gflops[n])
        for n in sorted(bandwidth_gbs, reverse=True)
    ]


def _free(x: float, y: float, taken: list[tuple[float, float]]) -> tuple[float, float]:
    """A place for a label near ``x, y``, above those that are there."""
    while any(abs(x - a) < 13 and abs(y - b) < 11 for a, b in taken):
        y -= 11
    taken.append((x, y))
    return x, y
