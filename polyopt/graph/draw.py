"""A graph as a picture: one box per node, in layers, inputs on top; groups share a colour."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from polyopt.explain.pictures.picture import (
    FAINT,
    INK,
    PALETTE,
    Line,
    Picture,
    Rect,
    Text,
    text_width,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.explain.pictures.picture import Shape
    from polyopt.graph.fusion.lower import Group
    from polyopt.graph.ir.graph import Graph

_ROW, _BOX, _GAP, _SIZE, _LANE = 46.0, 30.0, 18.0, 11.0, 8.0
_EDGE = "#888888"


def draw_graph(graph: Graph, groups: Sequence[Group] = ()) -> Picture:
    """The nodes with what each makes; nodes of one group have one colour and one number."""
    layers = _layers(graph)
    homes = {node.name: k for k, group in enumerate(groups, 1) for node in group.nodes}
    titles = {name: _title(graph, name, homes) for row in layers for name in row}
    widths = {name: max(map(_width, titles[name])) + 16 for name in titles}
    rows = [sum(widths[name] + _GAP for name in row) for row in layers]
    total = max(rows, default=80.0) + _GAP
    places: dict[str, tuple[float, float]] = {}
    shapes: list[Shape] = []
    for depth, row in enumerate(layers):
        x = (total - rows[depth] + _GAP) / 2
        for name in row:
            places[name] = x, 24 + depth * _ROW
            x += widths[name] + _GAP
    edges, right = _edges(graph, places, widths, total)
    shapes += edges
    for name, (x, y) in places.items():
        shapes += _box(titles[name], x, y, widths[name], homes.get(name, 0))
    label = f"{graph.name}: {len(graph.nodes)} nodes"
    if groups:
        label += f" in {len(groups)} kernels"
    shapes.append(Text(8, 14, label, 12))
    width = max(right, text_width(label, 12) + 16)
    return Picture(width, 24 + _ROW * len(layers), tuple(shapes), label)


def _layers(graph: Graph) -> list[list[str]]:
    """Tensors by the longest way from an input; constants are left out."""
    depth = {value.name: 0 for value in graph.inputs}
    for node in graph.nodes:
        depth[node.name] = 1 + max((depth[n] for n in node.operands if n in depth), default=0)
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name, level in depth.items():
        rows[level].append(name)
    return rows


def _title(graph: Graph, name: str, homes: Mapping[str, int]) -> tuple[str, str]:
    node = graph.makers.get(name)
    head = name if node is None else node.op
    number = f"  #{homes[name]}" if name in homes else ""
    return f"{head}{number}", str(graph.values[name])


def _width(text: str) -> float:
    return text_width(text, _SIZE)


def _box(title: tuple[str, str], x: float, y: float, width: float, group: int) -> list[Shape]:
    fill = PALETTE[(group - 1) % len(PALETTE)] if group else "none"
    middle = x + width / 2
    return [
        Rect(x, y, width, _BOX, fill, INK if group else FAINT, 0.35, title=title[0]),
        Text(middle, y + 12, title[0], _SIZE, "middle"),
        Text(middle, y + 25, title[1], _SIZE - 2, "middle"),
    ]


def _edges(
    graph: Graph,
    places: Mapping[str, tuple[float, float]],
    widths: Mapping[str, float],
    right: float,
) -> tuple[list[Shape], float]:
    """Arrows from tensors to their readers, and how far to the right they reach.

    One that passes other layers goes round them, in a lane right of all boxes.
    """
    shapes: list[Shape] = []
    #: lane -> how far down it is taken
    lanes: list[float] = []
    for node in graph.nodes:
        for name in dict.fromkeys(node.operands):
            if name not in places:
                continue
            (x1, y1), (x2, y2) = places[name], places[node.name]
            start, end = (x1 + widths[name] / 2, y1 + _BOX), (x2 + widths[node.name] / 2, y2)
            if y2 - y1 <= _ROW:
                shapes.append(Line(*start, *end, _EDGE, 1.2, arrow=True))
                continue
            lane = next((k for k, taken in enumerate(lanes) if taken <= y1), len(lanes))
            lanes[lane : lane + 1] = [y2]
            shapes += _round(start, end, right + lane * _LANE)
    return shapes, right + len(lanes) * _LANE


def _round(start: tuple[float, float], end: tuple[float, float], lane: float) -> list[Shape]:
    """An arrow down the gap below its start, a lane, and the gap above its end."""
    beside, aside = start[0] + _LANE / 2, end[0] + _LANE / 2
    upper, lower = start[1] + _LANE / 2, end[1] - _LANE
    corners = [(beside, start[1]), (beside, upper), (lane, upper), (lane, lower), (aside, lower)]
    lines = [Line(*a, *b, _EDGE, 1.2) for a, b in itertools.pairwise(corners)]
    return [*lines, Line(aside, lower, aside, end[1], _EDGE, 1.2, arrow=True)]
