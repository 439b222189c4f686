"""Pages for people, with a picture each, made from what ``bench --json`` printed."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING

from polyopt.bench import compiling
from polyopt.bench.pages.affine import affine_page, is_affine
from polyopt.bench.pages.chart import Bar, Curve, Group, bar_chart, curve_chart
from polyopt.bench.pages.field import field_page, is_field
from polyopt.bench.pages.frameworks import frameworks_page, is_networks
from polyopt.bench.pages.markdown import (
    NONE,
    Page,
    commands,
    ending,
    joined,
    mean_text,
    sizes,
    table,
    threads_text,
    time_text,
    where,
)
from polyopt.bench.pages.reading import Sweeps, Times
from polyopt.bench.pages.report import best_of, speed_ratio
from polyopt.bench.pages.sweep import sweep_page
from polyopt.bench.variants import OURS, UNFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polyopt.bench.pages.markdown import Making
    from polyopt.bench.pages.reading import CompileTimes
    from polyopt.bench.runner import Row

#: whose fastest schedule ours is compared with
_RIVAL = "halide"
_TITLES = {"halide": "Halide", "numba": "Numba", "opencv": "OpenCV", "scipy": "SciPy"}

_PEERS = """\
Milliseconds a call, the median of calls with hot caches. All forms of a pipeline take turns within
one run, on the same inputs. *Ours* is the automatic plan; *unfused* is the same program stage by
stage, compiled by us. *Halide* is the fastest, of those whose results agree, of an expert's
schedules and of Halide's autoschedulers; its name is beside it. A ratio is their time over ours:
above 1 ours is the faster, below 1 theirs. The range is what the middle halves of both times allow.
*Of the limit* is the share that ours reaches of what measured bandwidth and arithmetic allow. `~`
marks times that stayed spread out although measured again.
"""
_COMPILE = """\
Seconds from a program to a shared library, with nothing remembered: the search for a plan, which
ends with its proof; that proof alone, made again; writing the C; its check, beside
which the C compiler runs; that compiler. *Paper* is what
Zhao and Di (MICRO 2020) report for their whole compile flow, of other code on another machine (Xeon
E5-2683 v4, icc 18): an order of magnitude to compare with, not a race.
"""
_UP = "seconds; dashed: in proportion to the stages"
_CHAIN = """\
Chains of 3 x 3 boxes, one after the other.
"""


def page(run: Times | CompileTimes | Sweeps, making: Making) -> Page:
    """The page of a run."""
    if isinstance(run, Sweeps):
        return sweep_page(run, making)
    if not isinstance(run, Times):
        return _compile_page(run, making)
    if is_networks(run):
        return frameworks_page(run, making)
    if is_field(run):
        return field_page(run, making)
    return affine_page(run, making) if is_affine(run) else _peers_page(run, making)


# -- times beside peers -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Line:
    """A pipeline on a number of threads. Rows whose results differ are not compared with."""

    ours: Row
    rival: Row | None
    unfused: Row | None
    #: by other peer: its fastest row
    others: dict[str, Row]
    #: forms whose results differ
    differ: tuple[str, ...]

    @property
    def against_rival(self) -> tuple[float, float, float] | None:
        """The rival's time over ours: least, of the medians, most."""
        if self.rival is None or not self.ours.agrees:
            return None
        return speed_ratio(self.ours, self.rival)

    @property
    def against_unfused(self) -> float | None:
        """The unfused form's time over ours."""
        if self.unfused is None or not (self.unfused.agrees and self.ours.agrees):
            return None
        return self.unfused.median_ms / self.ours.median_ms


def _lines(run: Times) -> Iterator[_Line]:
    for ours in run.rows:
        if ours.variant != OURS:
            continue
        beside = [r for r in run.rows if (r.kernel, r.threads) == (ours.kernel, ours.threads)]
        others = {
            peer: min(found, key=lambda r: (not r.agrees, r.median_ms))
            for peer in run.peers
            if peer != _RIVAL and (found := [r for r in beside if r.variant.startswith(peer)])
        }
        yield _Line(
            ours,
            best_of(beside, ours, _RIVAL),
            next((r for r in beside if r.variant == UNFUSED), None),
            others,
            tuple(_name(r) for r in beside if not r.agrees),
        )


def _name(row: Row) -> str:
    """A form as people name it: variant, and which of its schedules."""
    return f"{row.variant.partition('/')[0]} {row.schedule}".strip()


def _peers_page(run: Times, making: Making) -> Page:
    lines = list(_lines(run))
    rival = _TITLES[_RIVAL]
    parts = [
        "# Beside other systems",
        f"![{rival}'s fastest time over ours, pipeline by pipeline]({making.picture})",
        _PEERS,
        table(_columns(run), [*_cells(run, lines), *_means(run, lines)]),
        *ending(run, _differing(lines), sizes(line.ours for line in lines), making),
    ]
    return Page(joined(parts), _peers_chart(lines))


def _columns(run: Times) -> list[tuple[str, str]]:
    names = [_TITLES.get(p, p) for p in run.peers if p != _RIVAL]
    return [
        ("pipeline", "left"), ("threads", "right"), ("ours ms", "right"),
        (f"{_TITLES[_RIVAL]} ms", "right"), ("its schedule", "left"),
        (f"{_TITLES[_RIVAL]} / ours", "right"), *((f"{name} ms", "right") for name in names),
        ("unfused ms", "right"), ("unfused / ours", "right"), ("of the limit", "right"),
        ("results agree", "left"),
    ]  # fmt: skip


def _cells(run: Times, lines: Iterable[_Line]) -> Iterator[list[str]]:
    for line in lines:
        ratio, gain = line.against_rival, line.against_unfused
        schedule = _name(line.rival).removeprefix(f"{_RIVAL}-") if line.rival else NONE
        yield [
            line.ours.kernel,
            str(line.ours.threads),
            time_text(line.ours),
            time_text(line.rival) if line.rival else _absent(run, _RIVAL),
            schedule,
            f"{ratio[1]:.2f} ({ratio[0]:.2f}-{ratio[2]:.2f})" if ratio else NONE,
            *(_other(run, line, peer) for peer in run.peers if peer != _RIVAL),
            time_text(line.unfused) if line.unfused else NONE,
            f"{gain:.2f}" if gain else NONE,
            f"{line.ours.fraction:.0%}",
            f"**NO**: {', '.join(line.differ)}" if line.differ else "yes",
        ]


def _other(run: Times, line: _Line, peer: str) -> str:
    row = line.others.get(peer)
    if row is None:
        return _absent(run, peer)
    return time_text(row) if row.agrees else f"{time_text(row)} (differs)"


def _absent(run: Times, peer: str) -> str:
    if peer not in run.peers:
        return "not asked for"
    return "not installed" if peer in run.missing else NONE


def _means(run: Times, lines: Sequence[_Line]) -> Iterator[list[str]]:
    """A row for each number of threads: geometric means of both ratios, over how many."""
    for count in _counts(lines):
        mine = [line for line in lines if line.ours.threads == count]
        rival = [r[1] for line in mine if (r := line.against_rival)]
        gains = [g for line in mine if (g := line.against_unfused)]
        others = [NONE] * sum(peer != _RIVAL for peer in run.peers)
        yield [
            "**geometric mean**", str(count), NONE, NONE, NONE, mean_text(rival, len(mine)),
            *others, NONE, mean_text(gains, len(mine)), NONE, NONE,
        ]  # fmt: skip


def _counts(lines: Iterable[_Line]) -> list[int]:
    return sorted({line.ours.threads for line in lines})


def _differing(lines: Iterable[_Line]) -> Iterator[str]:
    return (f"{form} of {line.ours.kernel}" for line in lines for form in line.differ)


def _peers_chart(lines: Sequence[_Line]) -> str:
    counts = _counts(lines)
    names = list(dict.fromkeys(line.ours.kernel for line in lines))
    at = {(line.ours.kernel, line.ours.threads): line for line in lines}
    groups = [Group(n, tuple(_bar(at.get((n, c))) for c in counts)) for n in names]
    means = tuple(_mean_bar(lines, c) for c in counts)
    return bar_chart(
        f"{_TITLES[_RIVAL]}'s fastest time over ours",
        [threads_text(c) for c in counts],
        [*groups, Group("geometric mean", means)],
        note="right of the line at 1, polyopt is the faster",
    )


def _bar(line: _Line | None) -> Bar | str:
    """The ratio, or why there is none."""
    if line is None or (line.rival is None and line.ours.agrees):
        return "not measured"
    if (ratio := line.against_rival) is None:
        return "results differ"
    return Bar(ratio[1], ratio[0], ratio[2])


def _mean_bar(lines: Iterable[_Line], threads: int) -> Bar | str:
    found = [r[1] for line in lines if line.ours.threads == threads and (r := line.against_rival)]
    if not found:
        return "not measured"
    mean = geometric_mean(found)
    return Bar(mean, mean, mean)


# -- compile time -----------------------------------------------------------------------------


def _compile_page(run: CompileTimes, making: Making) -> Page:
    programs = [
        [name, *others, paper or NONE]
        for name, *others, paper in compiling.table(run.programs)
    ]  # fmt: skip
    parts = [
        "# What compiling takes",
        _COMPILE,
        table(compiling.COLUMNS, programs),
        "## More and more stages",
        f"![Seconds for a plan and its proof over the stages of a chain]({making.picture})",
        _CHAIN,
        table(compiling.CHAIN_COLUMNS, list(compiling.chain_table(run.chain))),
        "## Where and how",
        where(run.conditions, []),
        commands(run.conditions, making),
    ]
    curves = (
        Curve("plan", tuple((t.stages, t.plan_s) for t in run.chain if t.plan_s > 0)),
        Curve("its proof", tuple((t.stages, t.proof_s) for t in run.chain if t.proof_s > 0)),
    )
    svg = curve_chart("Planning chains of stages", curves, across="stages", up=_UP)
    return Page(joined(parts), svg)
