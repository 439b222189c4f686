"""The stages as a graph: which share a nest, what is kept of each, what goes through memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.auto.bill import human_bytes
from polyopt.auto.cost import cost
from polyopt.auto.sizes import assumed_sizes
from polyopt.auto.traffic import array_bytes
from polyopt.explain.picture import (
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
from polyopt.transform.tree import copies_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.transform.plan import Plan

_BOX, _HIGH, _ACROSS, _DOWN, _PAD = 104.0, 34.0, 26.0, 16.0, 12.0
#: stages beside each other in a group before the next row starts
_MOST = 7
#: frames beside each other take so much room at most
_WIDE = 1100.0
#: arrows that pass by other stages
_FAR = "#888888"
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


def draw_graph(plan: Plan, sizes: Mapping[str, int] | None = None) -> Picture:
    """Inputs above, then a frame per nest with the stages that run in it, then arrows along the
    flow. Bytes are those of a whole array, or of the buffer that stands in for it.

    Arrays that pass through memory are drawn with thick arrows, what stays in a nest with thin.
    """
    known = assumed_sizes(plan.scop, sizes)
    groups = list(_groups(plan))
    nodes = _nodes(plan, known)
    inputs = [a.name for a in plan.scop.arrays if a.role == "in" and a.rank]
    frames = [_Frame(title, rows) for title, names in [("", inputs), *groups]
              if (rows := _rows(plan, [n for n in names if n in nodes]))]  # fmt: skip
    shapes: list[Shape] = []
    titles: list[Shape] = []
    place: dict[str, tuple[float, float]] = {}
    top, width = 30.0, 470.0
    for line in _lines(plan, frames):
        left = 8.0
        for frame in line:
            if frame.title:
                shapes.append(frame.outline(left, top))
                titles += frame.named(left, top)
            for name, at in frame.places(left, top):
                place.setdefault(name, at)
            left += frame.width + 18
        width = max(width, left)
        top += max(frame.height for frame in line) + 16
    arrows = [arrow for pair in _edges(plan) for arrow in _arrow(plan, pair, place)]
    boxes = [shape for name, at in place.items() for shape in _box(nodes[name], *at)]
    label = f"stages of {plan.scop.name} in {len(groups)} nests"
    return Picture(width, top, (*_legend(), *shapes, *arrows, *titles, *boxes), label)


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
        return len(self.rows) * (_HIGH + _DOWN) + (18 if self.title else 0)

    def outline(self, left: float, top: float) -> Shape:
        """The frame."""
        return Rect(left, top, self.width, self.height, _GROUND, FAINT)

    def named(self, left: float, top: float) -> list[Shape]:
        """The title, beside the arrows that come in straight; others pass below it."""
        x = left + _PAD + _BOX / 2 + 12
        ground = Rect(x - 2, top + 4, text_width(self.title) + 4, 13, _GROUND, "none")
        return [ground, Text(x, top + 14, self.title, 11)]

    def places(self, left: float, top: float) -> Iterator[tuple[str, tuple[float, float]]]:
        """Where each stage's box has its corner."""
        start = top + (24 if self.title else 6)
        for number, row in enumerate(self.rows):
            for column, name in enumerate(row):
                x = left + _PAD + column * (_BOX + _ACROSS)
                yield name, (x, start + number * (_HIGH + _DOWN))


def _lines(plan: Plan, frames: Sequence[_Frame]) -> list[list[_Frame]]:
    """Frames below those that they read from, beside each other where they can run apart."""
    level: dict[str, int] = {}
    lines: dict[int, list[_Frame]] = {}
    edges = _edges(plan)
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


def _arrow(
    plan: Plan, pair: tuple[str, str], place: Mapping[str, tuple[float, float]]
) -> Iterator[Line]:
    one, other = pair
    if one not in place or other not in place:
        return
    (x1, y1), (x2, y2) = place[one], place[other]
    array = plan.scop.array(one)
    held = one in plan.program.inlined or any(s.array == one for s in plan.program.stores)
    width = 0.9 if held and array.role == "temp" else 2.2
    ends = x1 + _BOX / 2, y1 + _HIGH, x2 + _BOX / 2, y2
    if y1 == y2:  # neighbours in one row
        ends = (x1 + _BOX, y1 + _HIGH / 2, x2, y2 + _HIGH / 2)
    is_near = y2 - y1 < 2.5 * (_HIGH + _DOWN)
    yield Line(*ends, INK if is_near else _FAR, width if is_near else 0.9, arrow=True)


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
