"""A buffer at work, frame by frame: what is computed, what is read, what is still needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.analysis.sets.points import parameter_value, points
from polyopt.arguments import checks_arguments
from polyopt.errors import InvalidOptionError
from polyopt.explain.pictures.draw import SMALL
from polyopt.explain.pictures.picture import (
    FAINT,
    INK,
    PALETTE,
    Picture,
    Rect,
    Shape,
    Text,
    text_width,
)
from polyopt.isl import dim_type, fix_param_values
from polyopt.oneline import one_line, some
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.transform.schedule.printer import describe
from polyopt.transform.schedule.query import unknown
from polyopt.transform.schedule.storage import project_tail

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from polyopt.isl import Map
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.storage import Scratch

    #: one or more numbers
    Point = tuple[int, ...]

_CELL, _LEFT, _TOP = 15.0, 40.0, 62.0
_NEW, _KEPT, _GONE = PALETTE[0], PALETTE[1], "#EEEEEE"
#: frames that an animation shows, from the first iteration on
MOST_FRAMES = 12
#: seconds that a frame stays
_SECONDS = 1.0


@dataclass(frozen=True)
class Animation:
    """Pictures of one size that follow one another. Jupyter plays it; ``sheet`` is for print."""

    frames: tuple[Picture, ...]

    def __repr__(self) -> str:
        """What it shows, and of how many pictures."""
        return one_line(self, self.frames[0].label, some(len(self.frames), "frame"))

    @property
    def svg(self) -> str:
        """One SVG element that plays by itself, without scripts; still readers see frame one."""
        first = self.frames[0]
        head, _, _ = first.svg.partition("<title>")
        count = len(self.frames)
        parts = [
            head,
            f"<title>{first.label}</title>",
            max((f.definitions for f in self.frames), key=len),
        ]
        for number, frame in enumerate(self.frames):
            starts, ends = number / count, (number + 1) / count
            shown = "visible" if not number else "hidden"
            values = f"hidden;visible;{'hidden' if number < count - 1 else 'visible'}"
            times = f"0;{starts:.4f};{ends:.4f}"
            if not number:
                values, times = "visible;hidden", f"0;{ends:.4f}"
            elif number == count - 1:
                values, times = "hidden;visible", f"0;{starts:.4f}"
            parts.append(
                f'<g visibility="{shown}"><animate attributeName="visibility" values="{values}" '
                f'keyTimes="{times}" calcMode="discrete" dur="{count * _SECONDS:g}s" '
                f'repeatCount="indefinite"/>{frame.body}</g>'
            )
        return "".join([*parts, "</svg>"])

    def sheet(self, across: int = 4) -> Picture:
        """All frames on one picture, ``across`` beside each other."""
        wide, high = self.frames[0].width, self.frames[0].height
        rows = -(-len(self.frames) // across)
        shapes = [
            shape.moved(number % across * wide, number // across * high)
            for number, frame in enumerate(self.frames)
            for shape in frame.shapes
        ]
        width = wide * min(across, len(self.frames))
        return Picture(width, high * rows, tuple(shapes), self.frames[0].label)

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the animation as .svg, or its sheet as .png or .pdf.

        Raises what ``Picture.save`` raises.
        """
        where = Path(path)
        if where.suffix != ".svg":
            return self.sheet().save(where)
        try:
            where.write_text(self.svg, encoding="utf-8")
        except OSError as error:
            message = f"{where} cannot be written: {error.strerror or error}"
            raise InvalidOptionError(message) from None
        return where


@checks_arguments
def animate(plan: Plan, producer: str, sizes: Mapping[str, int] | None = None) -> Animation:
    """The buffer of a fused producer over the first iterations of the loop it is fused into.

    The array's last two dimensions are drawn: orange is computed now, framed is read now, blue is
    kept because it is read again; hatched was computed before already. Small sizes unless given.

    Raises ``UnknownNameError`` for a producer without a buffer.
    """
    known = assumed_sizes(plan.scop, sizes, dict.fromkeys(plan.scop.params, SMALL))
    stores = [s for s in plan.program.scratches if s.array == producer]
    if not stores:
        names = [s.array for s in plan.program.scratches]
        raise unknown("producer with a buffer", producer, names)
    steps = _steps(plan, producer, known, folded=stores[-1].is_folded)
    if not steps:
        message = f"{producer} has no instances for these sizes"
        raise InvalidOptionError(message, hint="give larger sizes=")
    return Animation(tuple(_frames(plan, stores[-1], steps, known)))


@dataclass(frozen=True, eq=False)
class _Step:
    """An iteration of the loop: its values, the elements written and those read."""

    at: Point
    written: frozenset[Point]
    read: frozenset[Point]


def _steps(plan: Plan, array: str, sizes: Mapping[str, int], *, folded: bool) -> list[_Step]:
    program = plan.program
    copies = [n for n in program.places if program.copies[n].statement.array == array
              and program.copies[n].outer]  # fmt: skip
    depth = min(program.copies[name].outer for name in copies)
    inside = {loop.name for loop in program.places[copies[-1]].loops[:depth]}
    hosts = [
        n for n, place in program.places.items()
        if inside <= {loop.name for loop in place.loops} and n not in copies
    ]  # fmt: skip
    writes = [t for t in program.writes if t.host in copies]
    written = _table([project_tail(t.prefix, depth).reverse().apply_range(t.element)
                      for t in writes], sizes)  # fmt: skip
    read = _table([project_tail(t.prefix, depth).reverse().apply_range(t.element)
                   for t in program.reads_of(array, hosts)], sizes)  # fmt: skip
    times = sorted(written.keys() | read.keys())
    # a window slides down one strip; buffers that are no windows follow tile after tile
    first = times[0][:-1] if times and folded else None
    kept = [t for t in times if first is None or t[:-1] == first]
    return [
        _Step(t, frozenset(written.get(t, ())), frozenset(read.get(t, ())))
        for t in kept[:MOST_FRAMES]
    ]


def _table(parts: Sequence[Map], sizes: Mapping[str, int]) -> dict[Point, set[Point]]:
    """``{ [t] -> A[x] }`` as elements per iteration; the last two dimensions of the first plane."""
    found: dict[Point, set[Point]] = {}
    for part in parts:
        depth = part.dim(dim_type.in_)
        for row in points(fix_param_values(part.wrap().flatten(), sizes), sizes).tolist():
            found.setdefault(tuple(row[:depth]), set()).add(tuple(row[depth:]))
    planes = sorted({x[:-2] for elements in found.values() for x in elements})
    return {t: {x[-2:] for x in xs if x[:-2] == planes[0]} for t, xs in found.items()}


def _frames(
    plan: Plan, scratch: Scratch, steps: Sequence[_Step], sizes: Mapping[str, int]
) -> Iterator[Picture]:
    every = {x for step in steps for x in step.written | step.read}
    rows, line = (sorted(set(side)) for side in zip(*map(_in_plane, every), strict=True))
    loops = next(
        p.loops for n, p in plan.program.places.items()
        if plan.program.copies[n].statement.array == scratch.array and plan.program.copies[n].outer
    )  # fmt: skip
    extents = " x ".join(str(parameter_value(e, sizes)) for e in scratch.extents)
    before: set[Point] = set()
    for number, step in enumerate(steps):
        later = {x for other in steps[number:] for x in other.read}
        again = step.written & before
        before |= step.written
        # a buffer private to an iteration is gone with it; a window is kept
        kept = before & later if scratch.is_folded else step.written
        at = ", ".join(f"{n.name} = {v}" for n, v in zip(loops, step.at, strict=False))
        shapes: list[Shape] = [Text(8, 16, at, 12), Text(8, 31, describe(scratch), 10)]
        shapes.append(Text(8, 45, f"{extents} elements; computes {len(step.written)}, "
                                  f"reads {len(step.read)}", 10))  # fmt: skip
        corner = rows[0], line[0]
        for state, cells in (
            (_GONE, before - kept - step.written), (_KEPT, kept - step.written),
            (_NEW, step.written),
        ):  # fmt: skip
            shapes += _runs(cells, corner, state)
        shapes += _runs(again, corner, "none", hatch=True)
        shapes += _outline(step.read, corner)
        whole = _box((rows[0], rows[-1], line[0], line[-1]), corner)
        shapes.append(Rect(*whole, stroke=FAINT))
        shapes += _axes(rows, line)
        width = max(_LEFT + len(line) * _CELL + 16, text_width(describe(scratch), 10) + 16,
                    text_width(at, 12) + 16, 250)  # fmt: skip
        height = _TOP + (rows[-1] - rows[0] + 1) * _CELL + 26
        label = f"{scratch.array} in its buffer, iteration after iteration"
        yield Picture(width, height, tuple(shapes), label)


def _in_plane(element: Point) -> tuple[int, int]:
    """Row and column of an element; an array of one dimension is one row."""
    padded = (0, 0, *element)
    return padded[-2], padded[-1]


def _box(sides: tuple[int, int, int, int], corner: Point) -> tuple[float, float, float, float]:
    top, bottom, left, right = sides
    x, y = _LEFT + (left - corner[1]) * _CELL, _TOP + (top - corner[0]) * _CELL
    return x, y, (right - left + 1) * _CELL, (bottom - top + 1) * _CELL


def _runs(
    cells: Collection[Point], corner: Point, fill: str, *, hatch: bool = False
) -> Iterator[Rect]:
    """Neighbours in a row as one box."""
    rows: dict[int, list[int]] = {}
    for row, column in sorted(map(_in_plane, cells)):
        rows.setdefault(row, []).append(column)
    for row, found in rows.items():
        start = last = found[0]
        for column in [*found[1:], None]:
            if column is not None and column == last + 1:
                last = column
                continue
            yield Rect(*_box((row, row, start, last), corner), fill, FAINT, hatch=hatch)
            start = last = column if column is not None else 0


def _outline(cells: frozenset[Point], corner: Point) -> Iterator[Rect]:
    """A frame around what is read: the box of it."""
    if cells:
        rows, line = zip(*map(_in_plane, cells), strict=True)
        x, y, width, height = _box((min(rows), max(rows), min(line), max(line)), corner)
        yield Rect(x - 1.5, y - 1.5, width + 3, height + 3, stroke=INK, opacity=1.0)
        yield Rect(x - 0.5, y - 0.5, width + 1, height + 1, stroke=INK, opacity=1.0)


def _axes(rows: Sequence[int], line: Sequence[int]) -> Iterator[Text]:
    for row in sorted({rows[0], rows[-1]}):
        yield Text(_LEFT - 6, _TOP + (row - rows[0] + 0.75) * _CELL, str(row), 10, "end")
    low = _TOP + (rows[-1] - rows[0] + 1) * _CELL + 14
    for column in sorted({line[0], line[-1]}):
        yield Text(_LEFT + (column - line[0] + 0.5) * _CELL, low, str(column), 10, "middle")
