"""Pictures of domains, of tiles with what their producers repeat, and of a plan's loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyopt.analysis.sets.points import affine_values, points
from polyopt.arguments import checks_arguments
from polyopt.errors import InvalidOptionError, UnknownNameError
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
    text_width,
)
from polyopt.explain.pictures.tiles import Stage, stages_of
from polyopt.isl import dim_type, fix_param_values, maps_of, tuple_name
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.scheduler.model.symbolic import block_size
from polyopt.transform.schedule.printer import describe
from polyopt.transform.schedule.tree import PlanLoop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.analysis.sets.points import Rows
    from polyopt.ir.scop import Scop, Statement
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import Tree

#: parameters are given this value where the caller says nothing: a domain one can look at
SMALL = 10
#: a picture of more points would be too large for a page
MOST_POINTS = 1500
_MARGIN, _CELL, _DOT = 46.0, 22.0, 5.0


@checks_arguments
def draw_domain(
    program: Scop | Plan,
    statement: str,
    sizes: Mapping[str, int] | None = None,
    *,
    arrows: bool = True,
) -> Picture:
    """The instances of a statement as points; the tiles of a plan in colours.

    The last two iterators are drawn; those outside are fixed at their first value. ``arrows``
    shows the flow between instances of the statement itself.

    Raises ``UnknownNameError`` for a statement that is not there, ``InvalidOptionError`` where
    there are too many points to draw.
    """
    plan, scop = _plan_and_scop(program)
    found = statement_of(scop, statement)
    known = assumed_sizes(scop, sizes, dict.fromkeys(scop.params, SMALL))
    rows = _slice(points(found.domain.intersect_params(scop.context), known))
    if len(rows) > MOST_POINTS:
        message = f"{statement} has {len(rows):,} instances to draw; {MOST_POINTS:,} are the most"
        raise InvalidOptionError(message, hint="give smaller sizes=")
    colours = _tile_colours(plan, found, rows, known)
    shapes: list[Shape] = []
    xs, ys = columns(rows)
    place = _Grid(xs, ys)
    shapes += place.axes(found.iterators[-2:])
    if arrows:
        shapes += _arrows(scop, found, rows, known, place)
    for (x, y), row, colour in zip(zip(xs, ys, strict=True), rows, colours, strict=True):
        name = f"{found.name}[{', '.join(map(str, row))}]"
        shapes.append(Dot(place.x(x), place.y(y), _DOT, colour, name))
    label = f"{len(rows)} instances of {found.name} for {sizes_text(known)}"
    shapes.append(Text(8, 16, label, 12))
    return Picture(max(place.width, text_width(label, 12) + 16), place.height, tuple(shapes), label)


def _plan_and_scop(program: Scop | Plan) -> tuple[Plan | None, Scop]:
    from polyopt.ir.scop import Scop as _Scop

    if isinstance(program, _Scop):
        return None, program
    return program, program.scop


def statement_of(scop: Scop, name: str) -> Statement:
    """The statement of that name, or the last one that writes an array of that name.

    Raises ``UnknownNameError``.
    """
    found = [s for s in scop.statements if name in {s.name, s.array}]
    if not found:
        message = f"no statement is called {name!r}"
        hint = "there are: " + ", ".join(s.name for s in scop.statements)
        raise UnknownNameError(message, hint=hint)
    return found[-1]


def _slice(rows: Rows) -> Rows:
    """The rows that agree with the first one in all but the last two dimensions."""
    outer = max(0, rows.shape[1] - 2)
    if not len(rows) or not outer:
        return rows
    return rows[(rows[:, :outer] == rows[0, :outer]).all(axis=1)]


def columns(rows: Rows | Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Horizontal and vertical positions: the last iterator runs to the right."""
    count = len(rows[0]) if len(rows) else 0
    xs = [int(row[-1]) for row in rows] if count else [0] * len(rows)
    ys = [int(row[-2]) for row in rows] if count > 1 else [0] * len(rows)
    return xs, ys


class _Grid:
    """Where integer positions lie on the page."""

    def __init__(self, xs: Sequence[int], ys: Sequence[int]) -> None:
        self.left, self.right = min(xs, default=0), max(xs, default=0)
        self.top, self.bottom = min(ys, default=0), max(ys, default=0)
        self.width = 2 * _MARGIN + _CELL * (self.right - self.left)
        self.height = 2 * _MARGIN + 10 + _CELL * (self.bottom - self.top)

    def x(self, value: float) -> float:
        return _MARGIN + _CELL * (value - self.left)

    def y(self, value: float) -> float:
        return _MARGIN + 10 + _CELL * (value - self.top)

    def axes(self, names: Sequence[str]) -> list[Shape]:
        """Names and first and last values of both iterators."""
        low = self.height - 18
        ends = sorted({self.left, self.right})
        shapes: list[Shape] = [Text(self.x(v), low, str(v), 10, "middle") for v in ends]
        if names:
            middle = (self.x(self.left) + self.x(self.right)) / 2
            shapes.append(Text(middle, self.height - 5, names[-1], 11, "middle"))
        if len(names) > 1:
            ends = sorted({self.top, self.bottom})
            shapes += [Text(_MARGIN - 14, self.y(v) + 4, str(v), 10, "end") for v in ends]
            middle = (self.y(self.top) + self.y(self.bottom)) / 2
            shapes.append(Text(8, middle + 4, names[0], 11))
        return shapes


def _tile_colours(
    plan: Plan | None, statement: Statement, rows: Rows, sizes: Mapping[str, int]
) -> list[str]:
    """A colour per point: by the block loops of the plan around the statement."""
    if plan is None or not len(rows):
        return [PALETTE[4]] * len(rows)
    program = plan.program
    mine = [n for n in program.places if program.copies[n].statement.name == statement.name
            and not program.copies[n].outer]  # fmt: skip
    if not mine:
        return [PALETTE[4]] * len(rows)
    values = [
        affine_values(loop.values[mine[0]], rows, sizes)
        for loop in program.places[mine[0]].loops
        if block_size(loop.values[mine[0]])
    ]
    if not values:
        return [PALETTE[4]] * len(rows)
    tiles = np.stack(values, axis=1)
    # neighbours in any direction differ
    return [_TILES[int(np.dot(tile, range(1, len(tile) + 1))) % len(_TILES)] for tile in tiles]


_TILES = (PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[6])


def _arrows(
    scop: Scop, statement: Statement, rows: Rows, sizes: Mapping[str, int], place: _Grid
) -> list[Shape]:
    """Flow from instance to instance of one statement, among the drawn ones."""
    drawn = {tuple(map(int, row)) for row in rows}
    shapes: list[Shape] = []
    for part in maps_of(scop.dependences().flow):
        ends = {tuple_name(part, dim_type.in_), tuple_name(part, dim_type.out)}
        if ends != {statement.name}:
            continue
        pairs = points(fix_param_values(part.wrap().flatten(), sizes), sizes)
        rank = len(statement.iterators)
        for pair in pairs:
            one, two = tuple(map(int, pair[:rank])), tuple(map(int, pair[rank:]))
            if one in drawn and two in drawn and one != two:
                shapes.append(_arrow(one, two, place))
    return shapes


def _arrow(one: Sequence[int], two: Sequence[int], place: _Grid) -> Shape:
    (x1,), (y1,) = columns([one])
    (x2,), (y2,) = columns([two])
    across, down = place.x(x2) - place.x(x1), place.y(y2) - place.y(y1)
    gap = 1 - _DOT / max(1.0, (across**2 + down**2) ** 0.5)  # ends at the point's rim
    end = place.x(x1) + gap * across, place.y(y1) + gap * down
    return Line(place.x(x1), place.y(y1), *end, INK, 0.9, arrow=True)


def sizes_text(sizes: Mapping[str, int]) -> str:
    """``H = 12, W = 14``."""
    return ", ".join(f"{k} = {v}" for k, v in sizes.items())


# -- tiles ------------------------------------------------------------------------------------

_PANEL = 210.0
#: panels beside each other
_BESIDE = 4
#: share of a panel that its shorter side takes at least
_LEAST_SIDE = 0.35
#: points that hatching needs to be seen: one and a half of its lines apart
_LEAST_HATCH = 7.5


@checks_arguments
def draw_tiles(plan: Plan, space: str, sizes: Mapping[str, int] | None = None) -> Picture:
    """The tiles of a space and of every producer fused into them, one panel each.

    One tile is drawn full; where a producer's neighbouring tiles overlap, its instances run
    more than once: these parts are hatched, wider than they are where they would be a mere line.

    Raises ``UnknownNameError`` for a space that is not there, ``InvalidOptionError`` where it is
    not tiled.
    """
    stages = stages_of(plan, space, sizes)
    shapes: list[Shape] = []
    top = 0.0
    for start in range(0, len(stages), _BESIDE):
        row = stages[start : start + _BESIDE]
        for position, stage in enumerate(row):
            left = 16 + position * (_PANEL + 34)
            panel = _panel(stage, left, PALETTE[(start + position) % len(PALETTE)])
            shapes += [shape.moved(0, top) for shape in panel]
        top += max(_below(stage) for stage in row) + 42
    width = 16 + min(len(stages), _BESIDE) * (_PANEL + 34) - 16
    names = ", ".join(s.name for s in stages)
    return Picture(width, top, tuple(shapes), f"tiles of {space}: {names}")


def _scale(stage: Stage) -> tuple[float, float]:
    """Points per iteration across and down: the same, unless one side would be a mere line."""
    x0, x1, y0, y1 = stage.bounds
    across, down = max(1, x1 - x0), max(1, y1 - y0)
    same = _PANEL / max(across, down)
    return max(same, _LEAST_SIDE * _PANEL / across), max(same, _LEAST_SIDE * _PANEL / down)


def _below(stage: Stage) -> float:
    """Where a stage's panel ends and the text below it starts."""
    _, _, y0, y1 = stage.bounds
    return 44 + (y1 - y0) * _scale(stage)[1]


def _panel(stage: Stage, left: float, colour: str) -> list[Shape]:
    """The tiles of one stage, scaled to the panel."""
    x0, x1, y0, y1 = stage.bounds
    wide, high = _scale(stage)

    def box(tile: tuple[int, int, int, int]) -> tuple[float, float, float, float]:
        a, b, c, d = tile
        return left + (a - x0) * wide, 44 + (c - y0) * high, (b - a) * wide, (d - c) * high

    shapes: list[Shape] = [Text(left, 18, stage.name, 13), Text(left, 33, stage.shape, 10)]
    shapes.append(Rect(*box((x0, x1, y0, y1)), stroke=FAINT))
    for number, tile in enumerate(stage.tiles):
        chosen = number == stage.chosen
        opacity = 0.75 if chosen else 0.12
        name = f"tile {number}: rows {tile[2]} to {tile[3] - 1}, columns {tile[0]} to {tile[1] - 1}"
        shapes.append(Rect(*box(tile), fill=colour, opacity=opacity, title=name))
    for overlap in map(box, stage.overlaps):
        hatched = _widened(overlap)
        told = "computed more than once" + ", drawn wider" * (hatched != overlap)
        shapes.append(
            Rect(*hatched, fill=colour, opacity=0.3, stroke="none", hatch=True, title=told)
        )
    below = _below(stage)
    span = f"{stage.horizontal} {x0} .. {x1 - 1}"
    if stage.vertical:
        span = f"{stage.vertical} {y0} .. {y1 - 1}, {span}"
    shapes.append(Text(left, below + 16, span, 10))
    wider = any(_widened(overlap) != overlap for overlap in map(box, stage.overlaps))
    note = stage.note + "; overlap drawn wider" * wider
    shapes.append(Text(left, below + 29, note, 10))
    return shapes


def _widened(overlap: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """A box at least as wide and as high as hatching needs to be seen, around the same middle."""
    x, y, width, height = overlap
    wide, high = max(width, _LEAST_HATCH), max(height, _LEAST_HATCH)
    return x - (wide - width) / 2, y - (high - height) / 2, wide, high


# -- trees ------------------------------------------------------------------------------------

_ROW, _STEP = 20.0, 18.0
_MARKS = {"parallel": PALETTE[2], "vector": PALETTE[1], "unroll": PALETTE[6]}


@checks_arguments
def draw_tree(plan: Plan) -> Picture:
    """The plan's loops as nested bars: buffers at their loops, marks in colour and in words."""
    rows: list[tuple[int, str, str]] = []
    rows += [(0, f"inline {a}", FAINT) for a in sorted(plan.program.inlined)]
    _rows(plan.program, plan.program.tree, 0, rows)
    shapes: list[Shape] = []
    widest = max((d * _STEP + text_width(t, 12) for d, t, _ in rows), default=100.0)
    width = widest + 40
    for number, (depth, text, colour) in enumerate(rows):
        x, y = 8 + depth * _STEP, 8 + number * _ROW
        right = width - 8 - x
        fill = "none" if colour == "none" else colour
        shapes.append(Rect(x, y, right, _ROW - 3, fill, FAINT, 0.45))
        shapes.append(Text(x + 6, y + 12.5, text, 12))
    return Picture(width, 16 + _ROW * len(rows), tuple(shapes), f"loops of {plan.scop.name}")


def _rows(
    program: ScheduledProgram, tree: Tree, depth: int, rows: list[tuple[int, str, str]]
) -> None:
    """One row per buffer, loop and statement: its depth, text and colour."""
    if not depth:
        rows += _buffers(program, "", 0)
    for node in tree:
        if not isinstance(node, PlanLoop):
            copy = program.copies[node]
            again = ", per tile" if copy.outer else ""
            text = f"{copy.statement.name}: {copy.statement.array}[...] = ...{again}"
            rows.append((depth, text, "none"))
            continue
        width = f" {node.width}" if node.width else ""
        mark = f"  ({node.mark}{width})" if node.mark else ""
        rows.append((depth, f"for {node.name}{mark}", _MARKS.get(node.mark, FAINT)))
        rows += _buffers(program, node.name, depth + 1)
        _rows(program, node.body, depth + 1, rows)


def _buffers(program: ScheduledProgram, loop: str, depth: int) -> list[tuple[int, str, str]]:
    return [(depth, describe(s), PALETTE[3]) for s in program.scratches if s.at == loop]
