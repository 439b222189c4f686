"""Bar charts and curves of measurements, as SVG that needs nothing else.

Colours follow the reader's light or dark scheme on a ground of their own. Nothing rests on colour
alone: bars are labelled, curves are marked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.escaping import markup as escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    _Place = Callable[[float, float], tuple[float, float]]

_STYLE = """<style>
.page { fill: #ffffff } .ink { fill: #222222 } .quiet { fill: #666666 }
.grid { stroke: #d8dbde } .mark { stroke: #222222 } .line { fill: none; stroke-width: 2 }
.a { fill: #0072b2 } .b { fill: #e69f00 } .as { stroke: #0072b2 } .bs { stroke: #b57600 }
@media (prefers-color-scheme: dark) {
.page { fill: #15181c } .ink { fill: #e8e8e8 } .quiet { fill: #a4a9ae }
.grid { stroke: #343a40 } .mark { stroke: #e8e8e8 }
.a { fill: #56b4e9 } .b { fill: #e69f00 } .as { stroke: #56b4e9 } .bs { stroke: #e69f00 }
}
</style>"""
_DASHES = 'stroke-dasharray="4 4"'
_FILLS, _STROKES = ("a", "b"), ("as", "bs")
_WIDTH, _LEFT, _RIGHT, _TOP = 720.0, 150.0, 60.0, 64.0
#: room beside groups' names, and for each of their characters: sans-serif of 12 pixels, measured
_NAMES, _CHARACTER = 34.0, 6.4
_BAR, _GAP = 15.0, 12.0
#: where axes that start at 1 have lines
_TICKS = (1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 50.0, 100.0)


@dataclass(frozen=True)
class Bar:
    """A value and the range that its spread allows."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Group:
    """Bars that belong together, one a series; a text says why there is none."""

    name: str
    bars: tuple[Bar | str, ...]


@dataclass(frozen=True)
class Curve:
    """Points of one series, both coordinates positive."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Dot:
    """A named place, both coordinates 1 or more; ``ringed`` where it stands out."""

    name: str
    across: float
    up: float
    ringed: bool = False


@dataclass(frozen=True)
class Dots:
    """Places of one series."""

    name: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Panel:
    """Series that share a pair of axes."""

    name: str
    series: tuple[Dots, ...]


def bar_chart(title: str, series: Sequence[str], groups: Sequence[Group], *, note: str) -> str:
    """Horizontal bars from 0 on, a group after the other, with a line at 1.

    ``series`` name the bars of a group; ``note`` says what the values are.
    """
    top = max((b.value for g in groups for b in g.bars if isinstance(b, Bar)), default=1.0)
    step = _step(max(top, 1.0) * 1.15)
    most = step * math.ceil(max(top, 1.0) * 1.1 / step)
    left = max(_LEFT, _NAMES + _CHARACTER * max((len(g.name) for g in groups), default=0))
    scale = (_WIDTH - left - _RIGHT) / most
    rows = sum(len(g.bars) for g in groups)
    low = _TOP + rows * _BAR + len(groups) * _GAP
    parts = [_text(16, 22, title, 15), _text(16, 42, note, 12, css="quiet")]
    for number in range(round(most / step) + 1):
        x = left + number * step * scale
        parts.append(_line((x, _TOP), (x, low), "grid"))
        parts.append(_text(x, low + 16, f"{number * step:g}", 11, "middle"))
    y = _TOP + _GAP / 2
    for group in groups:
        middle = y + len(group.bars) * _BAR / 2 + 4
        parts.append(_text(left - 26, middle, group.name, 12, "end"))
        for position, bar in enumerate(group.bars):
            parts += _bar(bar, (left, y), scale, most, series[position], position)
            y += _BAR
        y += _GAP
    one = left + scale
    parts.append(_line((one, _TOP - 4), (one, low), "mark", 'stroke-width="1.5"'))
    for position, name in enumerate(series):
        x = left + 130 * position
        parts.append(_box(x, low + 27, 11, 11, position))
        parts.append(_text(x + 17, low + 37, name, 12))
    return _svg(_WIDTH, low + 50, title, parts)


def _bar(
    bar: Bar | str, at: tuple[float, float], scale: float, most: float, name: str, position: int
) -> list[str]:
    """One bar with its label, its spread as a thin line, and its value."""
    left, y = at
    base = y + _BAR - 4
    parts = [_text(left - 8, base, _short(name), 10, "end", css="quiet")]
    if isinstance(bar, str):
        return [*parts, _text(left + 6, base, bar, 11, css="quiet")]
    middle = y + (_BAR - 2) / 2
    end = min(bar.high, most)
    told = f"{name}: {bar.value:.2f} ({bar.low:.2f}-{bar.high:.2f})"
    parts.append(_box(left, y, bar.value * scale, _BAR - 2, position, told))
    ends = (left + bar.low * scale, middle), (left + end * scale, middle)
    parts.append(_line(*ends, "mark"))
    parts.append(_text(left + max(bar.value, end) * scale + 5, base, f"{bar.value:.2f}", 11))
    return parts


def curve_chart(title: str, curves: Sequence[Curve], *, across: str, up: str) -> str:
    """Curves over both axes in logarithms, and a dashed line that grows in proportion.

    The dashed line ends where the first curve does. ``across`` and ``up`` name the axes.
    """
    points = [p for c in curves for p in c.points]
    if not points:
        return _svg(_WIDTH, 60, title, [_text(16, 22, title, 15), _text(16, 42, "no points", 12)])
    xs = sorted({x for x, _ in points})
    decades = range(
        math.floor(math.log10(min(y for _, y in points))),
        max(math.ceil(math.log10(max(y for _, y in points))), 0) + 1,
    )
    left, right, top, low = 70.0, 90.0, 56.0, 310.0
    wide = max(math.log(xs[-1] / xs[0]), 1e-9)

    def place(x: float, y: float) -> tuple[float, float]:
        along = math.log(x / xs[0]) / wide
        height = (math.log10(y) - decades[0]) / max(1, len(decades) - 1)
        return left + along * (_WIDTH - left - right), low - height * (low - top)

    parts = [_text(16, 22, title, 15), _text(16, 42, up, 12, css="quiet")]
    for power in decades:
        _, y = place(xs[0], 10.0**power)
        parts.append(_line((left, y), (_WIDTH - right, y), "grid"))
        parts.append(_text(left - 8, y + 4, f"{10.0**power:g}", 11, "end"))
    parts += [_text(place(x, 1.0)[0], low + 18, f"{x:g}", 11, "middle") for x in xs]
    parts.append(_text((left + _WIDTH - right) / 2, low + 38, across, 12, "middle", css="quiet"))
    parts += _proportional(curves[0], 10.0 ** decades[0], place)
    for position, curve in enumerate(curves):
        parts += _curve(curve, position, place)
    return _svg(_WIDTH, low + 50, title, parts)


def _curve(curve: Curve, position: int, place: _Place) -> list[str]:
    """A line through marked points, named at its end."""
    if not curve.points:
        return []
    at = [place(*p) for p in curve.points]
    path = " ".join(f"{_n(x)},{_n(y)}" for x, y in at)
    parts = [f'<polyline points="{path}" class="line {_STROKES[position % len(_STROKES)]}"/>']
    for (x, y), (across, up) in zip(at, curve.points, strict=True):
        told = f"{curve.name}: {up:.3g} at {across:g}"
        parts.append(_box(x - 4, y - 4, 8, 8, position, told, _radius(position)))
    return [*parts, _text(at[-1][0] + 10, at[-1][1] + 4, curve.name, 12)]


def _proportional(curve: Curve, least: float, place: _Place) -> list[str]:
    """The dashed line through a curve's end, as far down as the axis reaches."""
    if len(curve.points) < 2:
        return []
    (first, _), (last, end) = curve.points[0], curve.points[-1]
    start = max(first, last * least / end)
    return [_line(place(start, end * start / last), place(last, end), "mark", _DASHES)]


def scatter_chart(title: str, panels: Sequence[Panel], *, across: str, up: str) -> str:
    """Panels beside each other, both axes from 1 on in logarithms.

    ``across`` and ``up`` name the axes. A series has the same colour in all panels.
    """
    top, low, left, gap = 72.0, 310.0, 50.0, 50.0
    wide = (_WIDTH - left - 20 - gap * (len(panels) - 1)) / max(1, len(panels))
    parts = [_text(16, 22, title, 15), _text(16, 42, up, 12, css="quiet")]
    for number, panel in enumerate(panels):
        x = left + number * (wide + gap)
        parts.append(_text(x, 62, panel.name, 12))
        parts += _panel(panel, (x, top), (x + wide, low))
    parts.append(_text(_WIDTH / 2, low + 38, across, 12, "middle", css="quiet"))
    names = dict.fromkeys(series.name for panel in panels for series in panel.series)
    for position, name in enumerate(names):
        x = left + 130 * position
        parts.append(_box(x, low + 49, 11, 11, position, radius=_radius(position)))
        parts.append(_text(x + 17, low + 59, name, 12))
    return _svg(_WIDTH, low + 70, title, parts)


def _panel(panel: Panel, start: tuple[float, float], end: tuple[float, float]) -> list[str]:
    """The grid and the dots of a panel between two corners."""
    dots = [dot for series in panel.series for dot in series.dots]
    right = _above(max((dot.across for dot in dots), default=1.0))
    top = _above(max((dot.up for dot in dots), default=1.0))
    parts: list[str] = []
    for tick in _ticks(right):
        x = start[0] + math.log(tick) / math.log(right) * (end[0] - start[0])
        parts.append(_line((x, start[1]), (x, end[1]), "grid"))
        parts.append(_text(x, end[1] + 16, f"{tick:g}", 11, "middle"))
    for tick in _ticks(top):
        y = end[1] - math.log(tick) / math.log(top) * (end[1] - start[1])
        parts.append(_line((start[0], y), (end[0], y), "grid"))
        parts.append(_text(start[0] - 8, y + 4, f"{tick:g}", 11, "end"))
    for position, series in enumerate(panel.series):
        for dot in series.dots:
            x = start[0] + math.log(dot.across) / math.log(right) * (end[0] - start[0])
            y = end[1] - math.log(dot.up) / math.log(top) * (end[1] - start[1])
            told = f"{dot.name}, {series.name}: {dot.up:.2f} at {dot.across:.2f}"
            parts.append(_box(x - 3, y - 3, 6, 6, position, told, _radius(position)))
            if dot.ringed:
                ring = f'<circle cx="{_n(x)}" cy="{_n(y)}" r="7" class="mark" fill="none"/>'
                parts.append(ring)
    return parts


def _radius(position: int) -> float:
    """Round and square dots by turns: colours alone tell not everybody apart."""
    return 0.0 if position % 2 else 4.0


def _above(most: float) -> float:
    """The end of an axis from 1: the first tick beyond all values."""
    return next((tick for tick in _TICKS if tick >= most * 1.02), most * 1.1)


def _ticks(end: float) -> list[float]:
    """Some of the ticks up to an axis's end."""
    found = [tick for tick in _TICKS if tick <= end]
    return found[:: max(1, len(found) // 5)]


def _step(most: float) -> float:
    """A round distance between five grid lines or so."""
    rough = most / 5
    base = 10.0 ** math.floor(math.log10(rough))
    return next(base * factor for factor in (1, 2, 5, 10) if base * factor >= rough)


def _short(name: str) -> str:
    """The first word: a label beside a bar."""
    return name.partition(" ")[0]


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(
    x: float, y: float, text: str, size: int, anchor: str = "start", *, css: str = "ink"
) -> str:
    place = f'x="{_n(x)}" y="{_n(y)}" font-size="{size}"'
    return f'<text {place} text-anchor="{anchor}" class="{css}">{escape(text)}</text>'


def _line(one: tuple[float, float], two: tuple[float, float], css: str, more: str = "") -> str:
    ends = f'x1="{_n(one[0])}" y1="{_n(one[1])}" x2="{_n(two[0])}" y2="{_n(two[1])}"'
    return f'<line {ends} class="{css}" {more}/>' if more else f'<line {ends} class="{css}"/>'


def _box(
    x: float, y: float, width: float, height: float, series: int, title: str = "", radius: float = 0
) -> str:
    size = f'width="{_n(width)}" height="{_n(height)}"'
    rounded = f' rx="{_n(radius)}"' if radius else ""
    inside = f"<title>{escape(title)}</title>" if title else ""
    css = _FILLS[series % len(_FILLS)]
    return f'<rect x="{_n(x)}" y="{_n(y)}" {size}{rounded} class="{css}">{inside}</rect>'


def _svg(width: float, height: float, label: str, parts: Iterable[str]) -> str:
    size = f'width="{_n(width)}" height="{_n(height)}"'
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {_n(width)} {_n(height)}" '
        f'role="img" font-family="sans-serif" aria-label="{escape(label)}">'
    )
    return "\n".join([start, _STYLE, f'<rect {size} class="page"/>', *parts, "</svg>\n"])
