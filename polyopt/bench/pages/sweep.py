"""The page of a sweep: the model's predictions beside times, size by size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.bench.pages.chart import Dot, Dots, Panel, scatter_chart
from polyopt.bench.pages.markdown import NONE, Page, commands, joined, table, threads_text, where
from polyopt.bench.tuning.sweep import HEADINGS
from polyopt.bench.tuning.sweep import table as cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyopt.bench.pages.markdown import Making
    from polyopt.bench.pages.reading import Sweeps
    from polyopt.bench.tuning.sweep import Sweep

_ABOUT = """\
Each program's automatic plan, made again with other sizes of its strips or tiles: rows across
which values are kept, and columns, or rows left whole. All sizes take turns within one run, the
fastest and the model's choice once more. *Predicted* is what the time
model makes of a size before anything runs ([how well it does](model.md)). *Rank correlation* is
Spearman's, of predictions and times: 1 would be the same order. *Behind* is how much
longer the model's choice takes than the best of the grid; *its favourite* is the size with the
least prediction, and how far that one is behind.
"""
_OVERVIEW = (
    ("program", "left"), ("threads", "right"), ("sizes", "right"), ("rank correlation", "right"),
    ("the model's choice", "right"), ("ms", "right"), ("best", "right"), ("ms", "right"),
    ("behind", "right"), ("its favourite", "right"),
)  # fmt: skip


def sweep_page(run: Sweeps, making: Making) -> Page:
    """The page of a run."""
    parts = [
        "# Tile sizes: predicted and measured",
        f"![Times over predictions, program by program]({making.picture})",
        _ABOUT,
        table(_OVERVIEW, [_overview(found) for found in run.sweeps]),
    ]
    for found in run.sweeps:
        parts += [f"## {found.program}, {threads_text(found.threads)}", _grid(found)]
    sizes = {s.program: ", ".join(f"{k} = {v}" for k, v in s.size.items()) for s in run.sweeps}
    lines = [f"sizes: {'; '.join(f'{name} {size}' for name, size in sizes.items())}"]
    parts += [
        "## Where and how",
        where(run.conditions, lines),
        commands(run.conditions, making),
    ]
    return Page(joined(parts), _chart(run.sweeps))


def _overview(found: Sweep) -> list[str]:
    chosen, best = found.chosen, found.best
    favourite = min(found.points, key=lambda p: p.estimate)
    behind = favourite.median_ms / best.median_ms - 1
    return [
        found.program, str(found.threads), str(len(found.points)), f"{found.correlation:.2f}",
        chosen.name, f"{chosen.median_ms:.3f}", best.name, f"{best.median_ms:.3f}",
        f"{found.behind:.1%}", f"{favourite.name} ({behind:.1%})",
    ]  # fmt: skip


def _grid(found: Sweep) -> str:
    rows = ([cell.strip() or NONE for cell in line] for line in cells(found))
    titles = [(title or "which", side) for title, side in HEADINGS]
    return table(titles, list(rows))


def _chart(sweeps: Sequence[Sweep]) -> str:
    names = dict.fromkeys(found.program for found in sweeps)
    panels = [Panel(name, tuple(_dots(sweeps, name))) for name in names]
    return scatter_chart(
        "Tile sizes: time over prediction", panels,
        across="prediction, over the least", up="time, over the best; ringed: the model's choice",
    )  # fmt: skip


def _dots(sweeps: Sequence[Sweep], name: str) -> Iterator[Dots]:
    for found in sweeps:
        if found.program != name:
            continue
        least = min(p.estimate for p in found.points)
        yield Dots(
            threads_text(found.threads),
            tuple(
                Dot(p.name, p.estimate / least, p.median_ms / found.best.median_ms, p.chosen)
                for p in found.points
            ),
        )
