"""Dependences as arrows: from the instances that write a value to those that read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.analysis.sets.points import points
from polyopt.arguments import checks_arguments
from polyopt.errors import InvalidOptionError
from polyopt.explain.pictures.draw import MOST_POINTS, SMALL, columns, sizes_text, statement_of
from polyopt.explain.pictures.picture import (
    FAINT,
    INK,
    PALETTE,
    Dot,
    Line,
    Picture,
    Shape,
    Text,
    text_width,
)
from polyopt.isl import dim_type, fix_param_values, maps_of, tuple_name
from polyopt.scheduler.model.parameters import assumed_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.ir.scop import Scop, Statement

    Point = tuple[int, ...]

_CELL, _DOT, _LEFT, _TOP, _GAP = 20.0, 4.2, 40.0, 64.0, 80.0
_FROM, _TO = PALETTE[4], PALETTE[5]
#: beyond so many arrows only those to one reader are drawn
MOST_ARROWS = 60


@dataclass(frozen=True, eq=False)
class _Panel:
    """The instances of a statement as points, from ``left`` on."""

    statement: Statement
    rows: Sequence[Point]
    left: float

    @property
    def corner(self) -> tuple[int, int]:
        xs, ys = columns(self.rows)
        return min(xs, default=0), min(ys, default=0)

    @property
    def extent(self) -> tuple[float, float]:
        """Width and height in points."""
        xs, ys = columns(self.rows)
        x, y = self.corner
        return (max(xs, default=0) - x) * _CELL, (max(ys, default=0) - y) * _CELL

    def place(self, row: Point) -> tuple[float, float]:
        """Where an instance is drawn."""
        (x,), (y,) = columns([row])
        left, top = self.corner
        return self.left + (x - left) * _CELL, _TOP + (y - top) * _CELL

    def shapes(self, ends: Sequence[tuple[set[Point], str]]) -> Iterator[Shape]:
        """The points, those at the ends of arrows in colour; the names of the iterators."""
        yield Text(self.left - 8, 40, self.statement.name, 13)
        names = self.statement.iterators[-2:]
        yield Text(self.left - 8, 54, f"({', '.join(names)})", 10)
        for row in self.rows:
            name = f"{self.statement.name}[{', '.join(map(str, row))}]"
            colour = next((colour for those, colour in ends if row in those), FAINT)
            yield Dot(*self.place(row), _DOT, colour, name)


@checks_arguments
def draw_dependences(
    scop: Scop,
    source: str,
    sink: str | None = None,
    sizes: Mapping[str, int] | None = None,
    *,
    at: Sequence[int] | None = None,
) -> Picture:
    """Arrows from the instances of ``source`` to those of ``sink`` that read their values.

    ``sink`` is left out for a statement that reads its own values. All arrows are drawn where
    they are few; else those to the instance ``at`` of ``sink``, or to one in the middle. The last
    two iterators are drawn, those outside are fixed. The distances are below.

    Raises ``UnknownNameError`` for a statement that is not there, ``InvalidOptionError`` where
    nothing flows from one to the other or there are too many points.
    """
    one, other = statement_of(scop, source), statement_of(scop, sink or source)
    known = assumed_sizes(scop, sizes, dict.fromkeys(scop.params, SMALL))
    pairs = _pairs(scop, one, other, known)
    if not pairs:
        message = f"no value flows from {one.name} to {other.name}"
        raise InvalidOptionError(message, hint="scop.dependences() lists what depends on what")
    if at is not None:
        pairs = [pair for pair in pairs if pair[1] == tuple(at)]
    elif len(pairs) > MOST_ARROWS:
        middle = sorted({pair[1] for pair in pairs})
        chosen = middle[len(middle) // 2 + _half_row(middle)]
        pairs = [pair for pair in pairs if pair[1] == chosen]
    first = _panel(scop, one, known, [p for p, _ in pairs], _LEFT)
    same = one.name == other.name
    start = _LEFT if same else first.left + first.extent[0] + _GAP
    second = first if same else _panel(scop, other, known, [p for _, p in pairs], start)
    read, written = ({p for _, p in pairs}, _TO), ({p for p, _ in pairs}, _FROM)
    shapes: list[Shape] = [*first.shapes([read, written] if same else [written])]
    shapes += [] if same else second.shapes([read])
    for a, b in pairs:
        shapes.append(_arrow(first.place(a), second.place(b)))
    return _finished(scop, one, other, known, shapes, (first, second))


def _finished(
    scop: Scop,
    one: Statement,
    other: Statement,
    sizes: Mapping[str, int],
    shapes: list[Shape],
    panels: tuple[_Panel, _Panel],
) -> Picture:
    title = f"flow {one.name} -> {other.name} for {sizes_text(sizes)}"
    distances = dict.fromkeys(
        r.distance_text for r in scop.dependences().rows()
        if (r.kind, r.source, r.sink) == ("flow", one.name, other.name)
    )  # fmt: skip
    said = f"distance {' and '.join(distances)}: the reader's iterators less the writer's"
    below = _TOP + max(p.extent[1] for p in panels) + 30
    shapes += [Text(8, 18, title, 12), Text(8, below, said, 11)]
    right = max(p.left + p.extent[0] for p in panels) + 30
    width = max(right, text_width(title, 12) + 16, text_width(said, 11) + 16)
    return Picture(width, below + 14, tuple(shapes), title)


def _half_row(instances: Sequence[Point]) -> int:
    """Half the length of a row, so that the middle instance is in the middle of its row too."""
    if not instances or len(instances[0]) < 2:
        return 0
    middle = instances[len(instances) // 2]
    row = [p for p in instances if p[:-1] == middle[:-1]]
    return len(row) // 2 - row.index(middle)


def _pairs(
    scop: Scop, one: Statement, other: Statement, sizes: Mapping[str, int]
) -> list[tuple[Point, Point]]:
    """Writer and reader of every value that flows between two statements."""
    found: list[tuple[Point, Point]] = []
    for part in maps_of(scop.dependences().flow):
        ends = tuple_name(part, dim_type.in_), tuple_name(part, dim_type.out)
        if ends != (one.name, other.name):
            continue
        rank = len(one.iterators)
        for row in points(fix_param_values(part.wrap().flatten(), sizes), sizes).tolist():
            found.append((tuple(row[:rank]), tuple(row[rank:])))
            if len(found) > 100 * MOST_POINTS:
                message = f"{one.name} -> {other.name} has too many dependences to draw"
                raise InvalidOptionError(message, hint="give smaller sizes=")
    return found


def _panel(
    scop: Scop, statement: Statement, sizes: Mapping[str, int], ends: Sequence[Point], left: float
) -> _Panel:
    """The instances that agree with the arrows' ends in all but the last two iterators."""
    rows = points(statement.domain.intersect_params(scop.context), sizes).tolist()
    outer = {tuple(end[:-2]) for end in ends}
    kept = [tuple(row) for row in rows if tuple(row[:-2]) in outer]
    if len(kept) > MOST_POINTS:
        message = f"{statement.name} has {len(kept):,} instances to draw; {MOST_POINTS:,} are most"
        raise InvalidOptionError(message, hint="give smaller sizes=")
    return _Panel(statement, kept, left)


def _arrow(one: tuple[float, float], two: tuple[float, float]) -> Line:
    across, down = two[0] - one[0], two[1] - one[1]
    length = max(1.0, (across**2 + down**2) ** 0.5)
    gap = 1 - (_DOT + 1) / length  # ends at the point's rim
    return Line(*one, one[0] + gap * across, one[1] + gap * down, INK, 0.9, arrow=True)
