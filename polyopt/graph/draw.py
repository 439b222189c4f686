"""A graph as a picture: one box per node, in layers, inputs on top; groups share a colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.explain.picture import (
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

    from polyopt.explain.picture import Shape
    from polyopt.graph.ir import Graph
    from polyopt.graph.lower import Group

_ROW, _BOX, _GAP, _SIZE = 46.0, 30.0, 18.0, 11.0


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
    shapes += _edges(graph, places, widths)
    for name, (x, y) in places.items():
        shapes += _box(titles[name], x, y, widths[name], homes.get(name, 0))
    label = f"{graph.name}: {len(graph.nodes)} nodes"
    if groups:
        label += f" in {len(groups)} kernels"
    shapes.append(Text(8, 14, label, 12))
    width = max(total, text_width(label, 12) + 16)
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
    graph: Graph, places: Mapping[str, tuple[float, float]], widths: Mapping[str, float]
) -> list[Shape]:
    shapes: list[Shape] = []
    for node in graph.nodes:
        for name in dict.fromkeys(node.operands):
            if name not in places:
                continue
            (x1, y1), (x2, y2) = places[name], places[node.name]
            start = x1 + widths[name] / 2
            shapes.append(Line(start, y1 + _BOX, x2 + widths[node.name] / 2, y2, FAINT, 1.2,
                               arrow=True))  # fmt: skip
    return shapes
