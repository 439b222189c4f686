"""The stages as a graph: which share a nest, what is kept of each, what goes through memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.explain.pictures.picture import (
    FAINT,
    INK,
    PALETTE,
    Line,
    Picture,
    Rect,
    Shape,
    Text,
    text_width,
)
from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.model.cost import cost
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.scheduler.model.table import human_bytes
from polyopt.transform.schedule.tree import copies_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.transform.plan import Plan

_BOX, _ACROSS, _DOWN, _PAD = 104.0, 26.0, 18.0, 12.0
#: height of a box
_HIGH = 34.0
#: longer arrows, in boxes, are not followed by the eye: they go round
_LONGEST = 4
#: between vertical lines on the right, and between horizontal ones in a gap of rows
_LANE, _APART = 8.0, 2.5
#: stages beside each other in a group before the next row starts
_MOST = 7
#: frames beside each other take so much room at most
_WIDE = 1100.0
#: colours of lines that go round, dark enough on white
_LANES = (PALETTE[4], PALETTE[5], PALETTE[2], "#8A6D00", PALETTE[6], "#555555")
_IN, _OUT, _FULL, _KEPT = "#FFFFFF", PALETTE[2], PALETTE[0], PALETTE[1]

#: behind the stages of a nest
_GROUND = "#F4F4F1"


@dataclass(frozen=True)
class Node:
    """A stage, input or result: what is said of it, and how it is drawn."""

    name: str
    note: str
    fill: str
    dashed: bool = False


@checks_arguments
def draw_graph(plan: Plan, sizes: Mapping[str, int] | None = None) -> Picture:
    """Inputs above, then a frame per nest with the stages that run in it, then arrows along the
    flow. Bytes are those of a whole array, or of the buffer that stands in for it.

    Arrays that pass through memory are drawn with thick arrows, what stays in a nest with thin. An
    arrow that is long, or that other stages are in the way of, goes round them on the right, in a
    colour of its source.
    """
    known = assumed_sizes(plan.scop, sizes)
    groups = list(_groups(plan))
    nodes = _nodes(plan, known)
    inputs = [a.name for a in plan.scop.arrays if a.role == "in" and a.rank]
    named = [("", inputs), *groups]
    rows = [(t, r) for t, names in named if (r := _rows(plan, [n for n in names if n in nodes]))]
    edges = _edges(plan)
    laid = _laid(edges, [_Frame(title, row) for title, row in rows])
    arrows = [_arrow(plan, edge, laid) for edge in edges if laid.is_clear(edge)]
    round_, width = _going_round(plan, [edge for edge in edges if laid.is_blocked(edge)], laid)
    boxes = [shape for name, at in laid.place.items() for shape in _box(nodes[name], *at)]
    label = f"stages of {plan.scop.name} in {len(groups)} nests"
    shapes = (*_legend(), *laid.frames, *round_, *arrows, *laid.titles, *boxes)
    return Picture(width, laid.height, shapes, label)


@dataclass(frozen=True)
class _Laid:
    """Where everything stands."""

    place: Mapping[str, tuple[float, float]]
    frames: Sequence[Shape]
    titles: Sequence[Shape]
    width: float
    height: float

    def ends(self, edge: tuple[str, str]) -> tuple[float, float, float, float]:
        """Where an arrow starts and ends: downwards, or to a neighbour in the same row."""
        (x1, y1), (x2, y2) = self.place[edge[0]], self.place[edge[1]]
        if y1 == y2:
            middle = y1 + _HIGH / 2
            return (x1 + _BOX, middle, x2, middle) if x1 < x2 else (x1, middle, x2 + _BOX, middle)
        return x1 + _BOX / 2, y1 + _HIGH, x2 + _BOX / 2, y2

    def is_blocked(self, edge: tuple[str, str]) -> bool:
        """Whether other stages are in the way, or the source stands below."""
        return self._has(edge) and not self.is_clear(edge)

    def is_clear(self, edge: tuple[str, str]) -> bool:
        """Whether an arrow can be drawn and followed."""
        if not self._has(edge):
            return False
        ends = self.ends(edge)
        others = (at for name, at in self.place.items() if name not in edge)
        down = ends[3] - ends[1]
        return 0 <= down <= _LONGEST * (_HIGH + _DOWN) and not any(
            _meets(ends, *at) for at in others
        )

    def _has(self, edge: tuple[str, str]) -> bool:
        return edge[0] in self.place and edge[1] in self.place


def _meets(ends: tuple[float, float, float, float], x: float, y: float) -> bool:
    """Whether a line passes through a box, by clipping it (Y.-D. Liang and B. A. Barsky, 1984)."""
    x1, y1, x2, y2 = ends
    first, last = 0.0, 1.0
    for start, along, low, up in ((x1, x2 - x1, x, x + _BOX), (y1, y2 - y1, y, y + _HIGH)):
        if along == 0:
            if not low < start < up:
                return False
            continue
        near, away = sorted(((low - start) / along, (up - start) / along))
        first, last = max(first, near), min(last, away)
    return first < last


def _laid(edges: Sequence[tuple[str, str]], frames: Sequence[_Frame]) -> _Laid:
    """The frames in lines from the top, those of one line from the left."""
    outlines: list[Shape] = []
    titles: list[Shape] = []
    place: dict[str, tuple[float, float]] = {}
    top, width = 30.0, 470.0
    for line in _lines(edges, frames):
        left = 8.0
        for frame in line:
            if frame.title:
                outlines.append(frame.outline(left, top))
                titles += frame.named(left, top)
            for name, at in frame.places(left, top):
                place.setdefault(name, at)
            left += frame.width + 18
        width = max(width, left)
        top += max(frame.height for frame in line) + 16
    return _Laid(place, outlines, titles, width, top)


@dataclass(frozen=True)
class _Frame:
    """A nest: its outermost loop, and its stages in rows."""

    title: str
    rows: Sequence[Sequence[str]]

    @property
    def width(self) -> float:
        longest = max(len(row) for row in self.rows)
        inside = longest * (_BOX + _ACROSS) - _ACROSS + 2 * _PAD
        return max(inside, _BOX / 2 + 30 + text_width(self.title))

    @property
    def height(self) -> float:
        return len(self.rows) * (_HIGH + _DOWN) + 18

    def outline(self, left: float, top: float) -> Shape:
        """The frame."""
        return Rect(left, top, self.width, self.height, _GROUND, FAINT)

    def named(self, left: float, top: float) -> list[Shape]:
        """The title, beside the arrows that come in straight."""
        return [Text(left + _PAD + _BOX / 2 + 12, top + 14, self.title, 11, halo=_GROUND)]

    def places(self, left: float, top: float) -> Iterator[tuple[str, tuple[float, float]]]:
        """Where each stage's box has its corner."""
        start = top + 24  # with or without a title: rows beside each other leave one gap
        for number, row in enumerate(self.rows):
            for column, name in enumerate(row):
                x = left + _PAD + column * (_BOX + _ACROSS)
                yield name, (x, start + number * (_HIGH + _DOWN))


def _lines(edges: Sequence[tuple[str, str]], frames: Sequence[_Frame]) -> list[list[_Frame]]:
    """Frames below those that they read from, beside each other where they can run apart."""
    level: dict[str, int] = {}
    lines: dict[int, list[_Frame]] = {}
    for frame in frames:
        inside = {name for row in frame.rows for name in row}
        before = [level[a] + 1 for a, b in edges if b in inside and a in level and a not in inside]
        own = max(before, default=0)
        while sum(f.width + 18 for f in lines.get(own, [])) + frame.width > _WIDE and own in lines:
            own += 1
        level |= dict.fromkeys(inside - level.keys(), own)
        lines.setdefault(own, []).append(frame)
    return [line for _, line in sorted(lines.items())]


def _groups(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """Per nest of the plan: its outermost loop, and the arrays computed in it; inlined ones too.

    An array that several nests compute stands in the last of them: others start it.
    """
    program = plan.program
    home: dict[str, int] = {}
    for number, node in enumerate(program.tree):
        for copy in copies_in(node):
            if not program.copies[copy].fills:
                names = [*_inlined_into(plan, copy), program.copies[copy].statement.array]
                home |= dict.fromkeys(names, number)
    order = {s.array: k for k, s in reversed(list(enumerate(plan.scop.statements)))}
    for number, node in enumerate(program.tree):
        inside = sorted((n for n in home if home[n] == number), key=lambda name: order[name])
        if inside:
            title = node if isinstance(node, str) else f"{node.name}  {node.mark}".rstrip()
            yield title, inside


def _inlined_into(plan: Plan, copy: str) -> list[str]:
    return [o.statement.array for reader, _, o in plan.program.inlined_reads
            if reader.name.partition("/")[0] == copy]  # fmt: skip


def _nodes(plan: Plan, sizes: Mapping[str, int]) -> dict[str, Node]:
    bill = cost(plan.program, sizes)
    result: dict[str, Node] = {}
    for array in plan.scop.arrays:
        whole = human_bytes(array_bytes(array, dict(sizes)))
        names = {scratch.name for scratch in plan.program.buffers(array.name)}
        buffers = [s for s in bill.scratch if s.name in names]
        if array.name in plan.program.inlined:
            result[array.name] = Node(array.name, "inlined", _IN, dashed=True)
        elif array.role != "temp":
            fill = _OUT if array.is_live_out else _IN
            result[array.name] = Node(array.name, whole, fill)
        elif array.name in bill.stored or not buffers:
            result[array.name] = Node(array.name, f"{whole} in full", _FULL)
        elif all(size == 1 for s in buffers for size in s.extents):
            result[array.name] = Node(array.name, "in a register", _IN, dashed=True)
        else:
            kept = human_bytes(sum(s.bytes for s in buffers))
            result[array.name] = Node(array.name, f"{kept} of {whole}", _KEPT)
    return result


def _edges(plan: Plan) -> list[tuple[str, str]]:
    pairs = [
        (access.array, statement.array)
        for statement in plan.scop.statements
        for access in statement.reads
        if access.array != statement.array and plan.scop.array(access.array).rank
    ]
    return list(dict.fromkeys(pairs))


def _rows(plan: Plan, names: Sequence[str]) -> list[list[str]]:
    """The stages of a group by how far each is from the group's first ones, in rows that fit."""
    depth: dict[str, int] = {}
    edges = _edges(plan)
    for name in names:
        before = [depth[a] + 1 for a, b in edges if b == name and a in depth]
        depth[name] = max(before, default=0)
    levels: dict[int, list[str]] = {}
    for name in names:
        levels.setdefault(depth[name], []).append(name)
    return [
        level[k : k + _MOST] for _, level in sorted(levels.items())
        for k in range(0, len(level), _MOST)
    ]  # fmt: skip


def _arrow(plan: Plan, edge: tuple[str, str], laid: _Laid) -> Line:
    return Line(*laid.ends(edge), INK, _width(plan, edge[0]), arrow=True)


def _width(plan: Plan, source: str) -> float:
    """That of its arrows: thick for what passes through memory."""
    array = plan.scop.array(source)
    held = source in plan.program.inlined or any(s.array == source for s in plan.program.stores)
    return 0.9 if held and array.role == "temp" else 1.8


def _going_round(
    plan: Plan, edges: Sequence[tuple[str, str]], laid: _Laid
) -> tuple[list[Shape], float]:
    """Arrows through the gaps of rows and a lane on the right; the width that all need.

    Those of one source share its colour and its lane, and lanes are shared where they are free.
    """
    readers: dict[str, list[str]] = {}
    for one, other in edges:
        readers.setdefault(one, []).append(other)
    busy: list[list[tuple[float, float]]] = []  # what is taken of each lane
    shapes: list[Shape] = []
    for number, (source, targets) in enumerate(readers.items()):
        x, y = laid.place[source]
        apart = _APART * (number % 3)
        leave = y + _HIGH + 3 + apart
        enter = [laid.place[target][1] - 4 - apart for target in targets]
        low, high = min(leave, *enter), max(leave, *enter)
        lane = next((k for k, used in enumerate(busy)
                     if all(high < a or b < low for a, b in used)), len(busy))  # fmt: skip
        if lane == len(busy):
            busy.append([])
        busy[lane].append((low, high))
        across = laid.width + lane * _LANE
        start = x + _BOX * 0.8
        way = _Way(_LANES[number % len(_LANES)], _width(plan, source))
        shapes += [way.line(start, y + _HIGH, start, leave), way.line(start, leave, across, leave),
                   way.line(across, low, across, high)]  # fmt: skip
        for target, height in zip(targets, enter, strict=True):
            end = laid.place[target][0] + _BOX * 0.75 - 2 * apart
            told = f"{source} to {target}"
            shapes.append(way.line(across, height, end, height, title=told))
            shapes.append(way.line(end, height, end, laid.place[target][1], title=told, arrow=True))
    return shapes, laid.width + len(busy) * _LANE + 4


@dataclass(frozen=True)
class _Way:
    """How the lines of one source are drawn."""

    colour: str
    width: float

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *, title: str = "", arrow: bool = False
    ) -> Line:
        return Line(x1, y1, x2, y2, self.colour, self.width, arrow=arrow, title=title)


def _box(node: Node, x: float, y: float) -> Iterator[Shape]:
    stroke = FAINT if node.dashed else INK
    yield Rect(x, y, _BOX, _HIGH, "#FFFFFF", stroke)
    yield Rect(x, y, _BOX, _HIGH, node.fill, stroke, 0.45)
    name = node.name if len(node.name) <= 16 else f"{node.name[:15]}…"
    yield Text(x + _BOX / 2, y + 14, name, 11, "middle")
    yield Text(x + _BOX / 2, y + 27, node.note, 9, "middle")


def _legend() -> Iterator[Shape]:
    left = 8.0
    for fill, text in ((_IN, "input"), (_KEPT, "kept in a buffer"), (_FULL, "stored in full"),
                       (_OUT, "result")):  # fmt: skip
        yield Rect(left, 8, 14, 10, fill, INK, 0.45)
        yield Text(left + 19, 17, text, 11)
        left += 34 + text_width(text)
