"""What each stage of a plan keeps: its array, the part that one tile computes, and the window."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.analysis.sets.points import parameter_value
from polyopt.arguments import checks_arguments
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
from polyopt.isl import Val, dim_type, fix_param_values, integer_val
from polyopt.scheduler.model.cost import cost
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.scheduler.model.symbolic import block_size
from polyopt.scheduler.model.table import human_bytes
from polyopt.transform.schedule.tree import PlanLoop, copies_in, prefix_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.isl import Map, Set
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.storage import Scratch
    from polyopt.transform.schedule.tree import ScheduledStatement

    #: per iterator: its first and its last value
    Box = tuple[tuple[int, int], ...]

_SIDE, _GAP, _TEXT, _WIDTH = 92.0, 20.0, 38.0, 1000.0
#: what is kept is drawn this thick at least, or it would not be seen
_LEAST = 2.5
_TILE, _KEPT = PALETTE[1], PALETTE[5]


@dataclass(frozen=True)
class Window:
    """One stage in one nest: boxes of its two longest iterators, and what it says below them."""

    name: str
    whole: Box
    #: what one tile of the nest computes of it
    tile: Box
    #: what is in its buffer while the nest is in the middle of that tile; empty without a buffer
    kept: Box
    notes: tuple[str, str]


@dataclass(frozen=True)
class Nest:
    """A nest of the plan, by its outermost loop, with its stages in textual order."""

    title: str
    windows: tuple[Window, ...]


def windows_of(plan: Plan, sizes: Mapping[str, int] | None = None) -> tuple[Nest, ...]:
    """What every stage keeps, nest by nest, half-way through each; of those that run."""
    known = assumed_sizes(plan.scop, sizes)
    explorer = _Explorer(plan, known)
    nests = (explorer.nest(node) for node in plan.program.tree)
    return tuple(nest for nest in nests if nest.windows)


class _Explorer:
    """Boxes of the stages of one plan at given sizes."""

    def __init__(self, plan: Plan, sizes: Mapping[str, int]) -> None:
        self.program, self.sizes = plan.program, sizes
        self.repeated = cost(plan.program, sizes).repeated

    def nest(self, node: PlanLoop | str) -> Nest:
        """A nest's stages, each once, seen from the middle of what its last copy computes."""
        names = [name for name in copies_in(node) if self._runs(name)]
        title = node if isinstance(node, str) else node.name
        if isinstance(node, PlanLoop) and node.mark:
            title += f"  ({node.mark})"
        if not names:
            return Nest(title, ())
        last = names[-1]
        loops = self.program.places[last].loops
        middle = self._middle(self._times(last, loops), len(loops))
        # blocks of one stage alone are for vectors and unrolling
        tiled = [
            k for k, loop in enumerate(loops)
            if len(loop.copies) > 1 and block_size(loop.values[last])
        ]  # fmt: skip
        # windows are of the loop that they are private to: blocks of rows inside are steps
        private = {scratch.at for scratch in self.program.scratches}
        tiled = [k for k in tiled if loops[k].name in private] or tiled
        found: dict[str, Window] = {}
        for name in names:
            array = self.program.copies[name].statement.array
            if array not in found:
                found[array] = self._window(name, loops, middle, tiled[-1] + 1 if tiled else 0)
        return Nest(title, tuple(found.values()))

    def _runs(self, name: str) -> bool:
        """Whether a copy has instances at these sizes."""
        return not fix_param_values(self.program.copies[name].domain, self.sizes).is_empty()

    def _times(self, name: str, loops: tuple[PlanLoop, ...]) -> Map:
        times = prefix_map(self.program.copies[name], loops)
        return fix_param_values(times.wrap(), self.sizes).unwrap()

    def _middle(self, times: Map, depth: int) -> list[int]:
        """Values of the loops half-way through each, given those around it."""
        values: list[int] = []
        left = times.range()
        for level in range(depth):
            low, high = _span(left, level)
            values.append((low + high) // 2)
            left = left.fix_val(dim_type.set, level, _val(values[-1]))
            if left.is_empty():  # a stage that skips values: its first one after all
                values[-1] = low
                left = times.range()
                for known, value in enumerate(values):
                    left = left.fix_val(dim_type.set, known, _val(value))
        return values

    def _window(
        self, name: str, around: tuple[PlanLoop, ...], middle: list[int], tiled: int
    ) -> Window:
        copy = self.program.copies[name]
        loops = self.program.places[name].loops
        shared = 0
        for mine, other in zip(loops, around, strict=False):
            if mine.name != other.name:
                break
            shared += 1
        times = self._times(name, loops[:shared])
        dims = self._drawn(copy, fix_param_values(copy.domain, self.sizes))
        whole = self._box(copy, times.domain(), dims)
        tile = self._at(copy, times, middle[: min(tiled, shared)], dims) or whole
        step = self._at(copy, times, middle[:shared], dims) or tile
        scratch = self.program.scratch(name, copy.statement.array, reading=False)
        again = self.repeated.get(copy.statement.array, 1.0)
        times_text = "once" if abs(again - 1) < 5e-3 else f"{again:.3g} times"
        if scratch is None:
            note = "stored in full", f"computed {times_text}"
            return Window(copy.statement.array, whole, tile, (), note)
        extents = [parameter_value(extent, self.sizes) for extent in scratch.extents]
        size = self.program.scop.array(scratch.array).type.bytes
        for extent in extents:
            size *= extent
        shape = " x ".join(
            f"{extent}{' rolling' if scratch.fold(d) else ''}" for d, extent in enumerate(extents)
        )
        made = "copied" if copy.fills else times_text
        note = shape, f"{human_bytes(size)}, {made}"
        if all(extent == 1 for extent in extents):
            note = "one element, in a register", f"computed {times_text}"
        kept = self._kept(scratch, extents, dims, tile, step)
        return Window(copy.statement.array, whole, tile, kept, note)

    def _drawn(self, copy: ScheduledStatement, domain: Set) -> list[int]:
        """The array's two longest dimensions, in their order; the iterators are those first.

        A statement with fewer iterators than that, of a diagonal or one row, has those alone.
        """
        rank = self.program.scop.array(copy.statement.array).rank
        rank = min(rank, domain.dim(dim_type.set) - copy.outer)
        spans = [_span(domain, copy.outer + d) for d in range(rank)]
        longest = sorted(range(rank), key=lambda d: spans[d][0] - spans[d][1])
        return sorted(longest[:2])

    def _box(self, copy: ScheduledStatement, domain: Set, dims: list[int]) -> Box:
        return tuple(_span(domain, copy.outer + d) for d in dims)

    def _at(self, copy: ScheduledStatement, times: Map, values: list[int], dims: list[int]) -> Box:
        """The box of what runs at given values of loops around; empty for nothing."""
        for level, value in enumerate(values):
            times = times.fix_val(dim_type.out, level, _val(value))
        domain = times.domain()
        return () if domain.is_empty() else self._box(copy, domain, dims)

    def _kept(
        self, scratch: Scratch, extents: list[int], dims: list[int], tile: Box, step: Box
    ) -> Box:
        """The last rows of a window up to those just computed; else the buffer from the tile on.

        A buffer that is smaller than that belongs to a loop inside: it holds what a step computes.
        """
        sides: list[tuple[int, int]] = []
        for (low, high), (first, latest), d in zip(tile, step, dims, strict=True):
            if scratch.fold(d):
                sides.append((max(low, latest - extents[d] + 1), latest))
            else:
                is_inner = extents[d] < high - low + 1
                sides.append((first, latest) if is_inner else (low, high))
        return tuple(sides)


def _span(domain: Set, dim: int) -> tuple[int, int]:
    return domain.dim_min_val(dim).to_python(), domain.dim_max_val(dim).to_python()


def _val(value: int) -> Val:
    return integer_val(value)


# -- the picture ------------------------------------------------------------------------------


@checks_arguments
def draw_windows(plan: Plan, sizes: Mapping[str, int] | None = None) -> Picture:
    """What each stage keeps, nest by nest: the array, what one tile computes, the window.

    A stage is drawn as large as its array; ``x`` runs to the right.
    """
    shapes: list[Shape] = list(_legend())
    top, width = 34.0, 370.0
    if plan.program.inlined:
        names = "inlined, never stored: " + ", ".join(sorted(plan.program.inlined))
        for text in textwrap.wrap(names, 140):
            shapes.append(Text(8, top + 4, text, 11))
            width, top = max(width, 16 + text_width(text)), top + 15
    left = 8.0
    lowest = top
    for nest in windows_of(plan, sizes):
        for number, row in enumerate(_rows(nest)):
            across = sum(map(_pitch, row))
            title = "" if number else nest.title
            if number or left + max(across, text_width(title, 12)) > _WIDTH:
                left, top = 8.0, lowest
            shapes.append(Text(left, top + 14, title, 12))
            start = left
            for window in row:
                shapes += _panel(window, left, top + 22)
                left += _pitch(window)
            left = max(left, start + text_width(title, 12)) + _GAP
            width, lowest = max(width, left), max(lowest, top + 22 + _SIDE + _TEXT + 8)
    label = f"what the stages of {plan.scop.name} keep"
    return Picture(width, lowest + 4, tuple(shapes), label)


def _rows(nest: Nest) -> list[list[Window]]:
    """A nest's stages in rows that fit the picture."""
    rows: list[list[Window]] = [[]]
    for window in nest.windows:
        if rows[-1] and sum(map(_pitch, [*rows[-1], window])) > _WIDTH:
            rows.append([])
        rows[-1].append(window)
    return rows


def _legend() -> list[Shape]:
    shapes: list[Shape] = []
    left = 8.0
    for fill, opacity, text in (
        ("none", 1.0, "array"), (_TILE, 0.4, "computed by one tile"),
        (_KEPT, 0.9, "kept in a buffer"),
    ):  # fmt: skip
        shapes += [Rect(left, 8, 14, 10, fill, INK, opacity), Text(left + 19, 17, text, 11)]
        left += 34 + text_width(text)
    return shapes


def _pitch(window: Window) -> float:
    widest = max(_size(window.whole)[0], *(text_width(t, 9) for t in window.notes),
                 text_width(window.name, 11))  # fmt: skip
    return widest + _GAP


def _sides(box: Box) -> tuple[tuple[int, int], tuple[int, int]]:
    """Rows and columns; an array of one dimension is one row, a scalar one element."""
    rows = box[0] if len(box) > 1 else (0, 0)
    return rows, box[-1] if box else (0, 0)


def _scale(whole: Box) -> float:
    rows, columns = _sides(whole)
    return _SIDE / max(rows[1] - rows[0] + 1, columns[1] - columns[0] + 1)


def _size(whole: Box) -> tuple[float, float]:
    """Width and height of an array's outline."""
    rows, columns = _sides(whole)
    scale = _scale(whole)
    return (
        max(_LEAST, (columns[1] - columns[0] + 1) * scale),
        max(_LEAST, (rows[1] - rows[0] + 1) * scale),
    )


def _panel(window: Window, left: float, top: float) -> list[Shape]:
    rows, columns = _sides(window.whole)
    scale = _scale(window.whole)

    def place(box: Box) -> tuple[float, float, float, float]:
        (y0, y1), (x0, x1) = _sides(box)
        x, y = left + (x0 - columns[0]) * scale, top + (y0 - rows[0]) * scale
        return x, y, max(_LEAST, (x1 - x0 + 1) * scale), max(_LEAST, (y1 - y0 + 1) * scale)

    shapes: list[Shape] = [
        Rect(*place(window.tile), fill=_TILE, stroke="none", opacity=0.4, title="one tile"),
    ]
    if window.kept:
        kept = Rect(*place(window.kept), fill=_KEPT, stroke="none", opacity=0.9, title="kept")
        shapes.append(kept)
    shapes.append(Rect(left, top, *_size(window.whole), stroke=FAINT))
    below = top + _size(window.whole)[1]
    shapes.append(Text(left, below + 13, window.name, 11))
    shapes += [Text(left, below + 25 + 11 * k, note, 9) for k, note in enumerate(window.notes)]
    return shapes
