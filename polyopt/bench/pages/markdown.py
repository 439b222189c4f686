"""The parts that pages of measurements share, in Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from polyopt.bench.pages.reading import Conditions, Times
    from polyopt.bench.runner import Row

#: a cell without a value
NONE = "-"


@dataclass(frozen=True)
class Page:
    """A page in Markdown and the picture that it shows."""

    markdown: str
    svg: str


@dataclass(frozen=True)
class Making:
    """How a page is made, for itself to tell."""

    #: the file that the measurements are read from; ``-`` for stdin
    source: str
    #: the picture's file, as the page links to it
    picture: str
    command: str


def time_text(row: Row) -> str:
    """Milliseconds, marked where they stayed spread out."""
    return f"{row.median_ms:.3f}{'~' if row.noisy else ''}"


def number_text(value: float | None) -> str:
    """A ratio, if there is one."""
    return NONE if value is None else f"{value:.2f}"


def mean_text(ratios: Sequence[float], asked: int) -> str:
    """A geometric mean, and over how many of those asked for where that is not all."""
    if not ratios:
        return NONE
    of = "" if len(ratios) == asked else f" ({len(ratios)} of {asked})"
    return f"**{geometric_mean(ratios):.2f}**{of}"


def threads_text(count: int | str) -> str:
    """A number of threads in words."""
    return f"{count} thread{'s' * (str(count) != '1')}"


def gaps(run: Times, differing: Iterable[str]) -> Iterator[str]:
    """What a table lacks, and why; forms whose results differ, once for all threads."""
    for peer in run.missing:
        yield f"{peer} is not installed"
    for note in dict.fromkeys(run.notes):
        yield re.sub(r"[*<\[\]`]", r"\\\g<0>", note)  # other systems' words, no Markdown
    for form in dict.fromkeys(differing):
        yield f"{form}: its results are not the reference's; it is left out of ratios and means"


def limits(run: Times) -> Iterator[str]:
    """What the machine allows, a line for each number of threads."""
    for threads, rate in run.bandwidth_gbs.items():
        peak = run.peak_gflops.get(threads, 0.0)
        yield f"limits on {threads_text(threads)}: {rate:.1f} GB/s, {peak:.0f} GFLOP/s"


def sizes(rows: Iterable[Row]) -> Iterator[str]:
    """The sizes of each kernel."""
    found = {row.kernel: row.size for row in rows}
    shown = (f"{name} {_size(size)}" for name, size in found.items())
    yield "sizes: " + "; ".join(shown)


def _size(size: Mapping[str, int]) -> str:
    return ", ".join(f"{k} = {v}" for k, v in size.items())


def table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> str:
    """A table, its columns given by title and side."""
    rule = ["---:" if side == "right" else "---" for _, side in columns]
    found = [[title for title, _ in columns], rule, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in found)


def listed(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {line}" for line in lines)


def where(conditions: Conditions, more: Iterable[str]) -> str:
    """The machine, the day, versions, and more lines."""
    versions = ", ".join(f"{name} {version}" for name, version in conditions.versions.items())
    return listed([
        f"machine: {conditions.cpu}, {conditions.cores} cores",
        f"date: {conditions.date}",
        f"compiler: {conditions.compiler}",
        f"versions: {versions}",
        *more,
    ])  # fmt: skip


def commands(conditions: Conditions, making: Making) -> str:
    """The very commands, measuring and rendering."""
    between = " | " if making.source == "-" else f" > {making.source}\n"
    commands = f"{conditions.command}{between}{making.command}"
    return f"Measured, and this page made, by\n\n```sh\n{commands}\n```"


def ending(
    run: Times, differing: Iterable[str], more: Iterable[str], making: Making
) -> tuple[str, ...]:
    """What ends a page of times: what is missing, where and how it was measured."""
    noisy = sum(row.noisy for row in run.rows)
    return (
        "## Not measured, or not the same",
        listed(gaps(run, differing))
        or "Nothing: all that was asked for ran, and all results agree.",
        "## Where and how",
        f"{noisy} of {len(run.rows)} times stayed spread out although measured again.",
        where(run.conditions, [*limits(run), *more]),
        commands(run.conditions, making),
    )


def joined(parts: Iterable[str]) -> str:
    """The parts with an empty line between them."""
    return "\n\n".join(part.strip() for part in parts) + "\n"
