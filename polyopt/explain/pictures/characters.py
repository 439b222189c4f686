"""The tiles of a fused group in characters, for terminals: a letter per tile, ``#`` for overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.explain.pictures.tiles import stages_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.explain.pictures.tiles import Box, Stage
    from polyopt.transform.plan import Plan

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
#: two stages fit beside each other in 80 columns
_ACROSS, _DOWN, _GAP = 36, 12, 4


def tiles_text(plan: Plan) -> str:
    """The tiles of every tiled result, stage by stage, two beside each other; at most 80 columns.

    Tiles are named by letters; ``#`` is computed by more than one of them. A text says so where
    nothing is tiled.
    """
    program = plan.program
    spaces = dict.fromkeys(
        program.copies[n].statement.array
        for n in reversed(list(program.places))
        if not program.copies[n].outer
    )
    blocks: list[str] = []
    for space in spaces:
        try:
            stages = stages_of(plan, space)
        except UserError:
            continue
        pictures = [list(_picture(stage)) for stage in stages]
        blocks += ["\n".join(_beside(pictures[k : k + 2])) for k in range(0, len(pictures), 2)]
    return "\n\n".join(blocks) or "no loop is tiled"


def _picture(stage: Stage) -> Iterator[str]:
    """A stage's name, its tiles, and how much they repeat."""
    x0, x1, y0, y1 = stage.bounds
    across, down = min(_ACROSS, x1 - x0), min(_DOWN, y1 - y0)
    yield f"{stage.name} {stage.shape}"[:_ACROSS]
    for row in range(down):
        y = y0 + (row + 0.5) * (y1 - y0) / down
        line = ""
        for column in range(across):
            x = x0 + (column + 0.5) * (x1 - x0) / across
            found = [k for k, tile in enumerate(stage.tiles) if _holds(tile, x, y)]
            line += "#" if len(found) > 1 else _LETTERS[found[0] % 26] if found else "."
        yield line
    yield stage.note


def _holds(tile: Box, x: float, y: float) -> bool:
    return tile[0] <= x < tile[1] and tile[2] <= y < tile[3]


def _beside(pictures: list[list[str]]) -> Iterator[str]:
    """Pictures next to each other, line by line."""
    for number in range(max(map(len, pictures))):
        parts = [p[number] if number < len(p) else "" for p in pictures]
        yield (" " * _GAP).join(f"{part:<{_ACROSS}}" for part in parts).rstrip()
