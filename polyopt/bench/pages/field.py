"""The page of the field's suite: programs as users write them, class by class, beside libraries."""

from __future__ import annotations

import re
from dataclasses import replace
from statistics import geometric_mean
from typing import TYPE_CHECKING

from polyopt.bench.pages.chart import Bar, Group, bar_chart
from polyopt.bench.pages.lines import (
    agreement_text,
    differing,
    lines_of,
    not_measured,
    ratio_text,
    thread_counts,
)
from polyopt.bench.pages.markdown import (
    NONE,
    Page,
    ending,
    joined,
    listed,
    mean_text,
    number_text,
    sizes,
    table,
    threads_text,
    time_text,
)
from polyopt.bench.suites import FIELD
from polyopt.bench.variants import UNFUSED
from polyopt.library import load_kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polyopt.bench.pages.lines import Line
    from polyopt.bench.pages.markdown import Making
    from polyopt.bench.pages.reading import Times

#: the least that each program should reach of the fastest peer
_LEAST = 0.8
#: what compilers make of the program's own C
PLAIN = ("gcc", "clang")
_TITLES = {
    "halide": "Halide", "numba": "Numba", "opencv": "OpenCV", "scipy": "SciPy", "torch": "PyTorch",
}  # fmt: skip

_ABOUT = """\
Programs as users write them, by what the field computes, none of them written for us. Milliseconds
a call, the median. All forms of a program take turns within one run, on the same inputs. *Ours* is
the automatic plan, with its proof. *gcc* and *clang* are given the program's own C, with the flags
that ours is compiled with, and are the faster of sizes as arguments and as constants. *Numba* is
the faster of the program's loops in Python, with and without `prange`, and of what its author would
write; the libraries are called as its author would call them. A ratio is the time of the fastest
peer over ours: above 1 ours is the faster, below 1 theirs. *Plain C* is the faster of gcc and
clang, *unfused* the same program stage by stage, compiled by us. `~` marks times that stayed spread
out although measured again.
"""


def is_field(run: Times) -> bool:
    """Whether a run is of the field's suite."""
    return bool(run.rows) and all(row.suite == FIELD for row in run.rows)


def field_page(run: Times, making: Making) -> Page:
    """The page: goals, classes, programs, what is missing, how it was measured."""
    lines = lines_of(run)
    classes = {name: kernel_class(name) for name in dict.fromkeys(x.ours.kernel for x in lines)}
    parts = [
        "# Programs of the field",
        f"![The fastest peer's time over ours, class by class]({making.picture})",
        _ABOUT,
        "## Goals",
        *not_measured(FIELD, lines, "programs"),
        table(_GOAL_COLUMNS, list(_goals(run, lines))),
        "## Programs",
        table(
            _columns(run),
            [*(_cells(run, x, classes[x.ours.kernel]) for x in lines), *_means(run, lines)],
        ),
        *_losses(run, lines),
        *_ending(run, lines, making),
    ]
    return Page(joined(parts), _chart(run, lines, classes))


def _ending(run: Times, lines: Sequence[Line], making: Making) -> Iterator[str]:
    """What ends the page; the table shows itself which peers have no form of a program."""
    notes = tuple(note for note in run.notes if " has no form of " not in note)
    *parts, made = ending(
        replace(run, notes=notes), differing(lines), sizes(x.ours for x in lines), making
    )
    yield from parts
    in_pieces = "\n" in run.conditions.command
    yield "Measured, and this page made, by `make peers-field`." if in_pieces else made


def kernel_class(name: str) -> str:
    """What a program of the field stands for, as the first line of its module says."""
    found = re.search(r"Class: ([^.]*)\.", load_kernel(name).module.__doc__ or "")
    return found[1] if found else NONE


def cause_of(name: str) -> str:
    """Why a peer is ahead in a program of the field, as its module says; else nothing."""
    text = " ".join((load_kernel(name).module.__doc__ or "").split())
    found = re.search(r"Behind others: (.*)", text)
    return found[1] if found else ""


# -- goals ------------------------------------------------------------------------------------

_GOAL_COLUMNS = (
    ("programs", "left"), ("against", "left"), ("threads", "right"), ("goal", "right"),
    ("measured", "right"), ("short of it", "left"),
)  # fmt: skip


def _goals(run: Times, lines: Sequence[Line]) -> Iterator[list[str]]:
    for count in thread_counts(lines):
        mine = [line for line in lines if line.ours.threads == count]
        found = _ratios(mine, run.peers)
        mean = f"{geometric_mean(found.values()):.2f}" if found else "not measured"
        yield ["all, geometric mean", "fastest peer", str(count), ">= 1.3", mean, NONE]
        yield _each("fastest peer", count, _LEAST, found)
        yield _each("plain C", count, 0.95, _ratios(mine, PLAIN))


def _each(against: str, threads: int, goal: float, ratios: dict[str, float]) -> list[str]:
    """A row about every program: the least, and those that do not reach the goal."""
    short = sorted((r, name) for name, r in ratios.items() if r < goal)
    return [
        "each", against, str(threads), f">= {goal:g}",
        f"{min(ratios.values()):.2f}" if ratios else "not measured",
        ", ".join(f"{name} {r:.2f}" for r, name in short) or "none",
    ]  # fmt: skip


def _ratios(lines: Iterable[Line], peers: Iterable[str]) -> dict[str, float]:
    asked = tuple(peers)
    return {x.ours.kernel: r for x in lines if (r := x.ratio(asked)) is not None}


# -- programs ---------------------------------------------------------------------------------


def _columns(run: Times) -> list[tuple[str, str]]:
    return [
        ("program", "left"), ("class", "left"), ("threads", "right"), ("ours ms", "right"),
        *((f"{_TITLES.get(p, p)} ms", "right") for p in run.peers),
        ("fastest", "left"), ("fastest / ours", "right"), ("plain C / ours", "right"),
        ("unfused / ours", "right"), ("of the limit", "right"), ("agree", "left"),
    ]  # fmt: skip


def _cells(run: Times, line: Line, of: str) -> list[str]:
    fastest = line.fastest(run.peers)
    return [
        line.ours.kernel,
        of,
        str(line.ours.threads),
        time_text(line.ours),
        *(time_text(line.theirs[p]) if p in line.theirs else NONE for p in run.peers),
        _TITLES.get(fastest.variant, fastest.variant) if fastest else NONE,
        ratio_text(line.spread(run.peers)),
        *(number_text(line.ratio(peers)) for peers in (PLAIN, (UNFUSED,))),
        f"{line.ours.fraction:.0%}",
        agreement_text(line),
    ]


def _means(run: Times, lines: Sequence[Line]) -> Iterator[list[str]]:
    for count in thread_counts(lines):
        mine = [line for line in lines if line.ours.threads == count]
        means = [
            mean_text(list(_ratios(mine, peers).values()), len(mine))
            for peers in (run.peers, PLAIN, (UNFUSED,))
        ]
        times = [NONE] * (1 + len(run.peers))
        yield ["**geometric mean**", NONE, str(count), *times, NONE, *means, NONE, NONE]


# -- losses -----------------------------------------------------------------------------------


def _losses(run: Times, lines: Sequence[Line]) -> Iterator[str]:
    """The section of programs that a peer is well ahead in, each with its cause."""
    worst: dict[str, tuple[float, str]] = {}
    for line in lines:
        ratio, fastest = line.ratio(run.peers), line.fastest(run.peers)
        if ratio is not None and fastest is not None and ratio < _LEAST:
            found = ratio, _TITLES.get(fastest.variant, fastest.variant)
            name = line.ours.kernel
            worst[name] = min(found, worst.get(name, found))
    if worst:
        told = (
            f"{name}, {ratio:.2f} of {peer}: {cause_of(name) or 'its cause is not known yet'}"
            for name, (ratio, peer) in sorted(worst.items(), key=lambda item: item[1])
        )
        yield from ("## Losses", listed(told))


# -- the picture ------------------------------------------------------------------------------


def _chart(run: Times, lines: Sequence[Line], classes: dict[str, str]) -> str:
    counts = thread_counts(lines)
    names = sorted(set(classes.values()))
    groups = [
        Group(of, tuple(_bar(run, [x for x in lines if classes[x.ours.kernel] == of], c)
                        for c in counts))
        for of in names
    ]  # fmt: skip
    means = tuple(_bar(run, lines, count) for count in counts)
    return bar_chart(
        "The fastest peer's time over ours: geometric means, least and most",
        [threads_text(c) for c in counts],
        [*groups, Group("all", means)],
        note="right of the line at 1, polyopt is the faster",
    )


def _bar(run: Times, lines: Iterable[Line], threads: int) -> Bar | str:
    mine = (line for line in lines if line.ours.threads == threads)
    found = _ratios(mine, run.peers).values()
    if not found:
        return "not measured"
    return Bar(geometric_mean(found), min(found), max(found))
