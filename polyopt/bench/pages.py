"""Pages for people, with a picture each, made from what ``bench --json`` printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING

from polyopt.bench import compiling
from polyopt.bench.chart import Bar, Curve, Group, bar_chart, curve_chart
from polyopt.bench.reading import CompileTimes, Times
from polyopt.bench.report import best_of, speed_ratio
from polyopt.bench.variants import OURS, UNFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from polyopt.bench.reading import Conditions
    from polyopt.bench.runner import Row

#: whose fastest schedule ours is compared with
_RIVAL = "halide"
_TITLES = {"halide": "Halide", "numba": "Numba", "opencv": "OpenCV", "scipy": "SciPy"}
_NONE = "-"

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
ends with its proof; that proof alone, made again; writing the C; the C compiler. *Paper* is what
Zhao and Di (MICRO 2020) report for their whole compile flow, of other code on another machine (Xeon
E5-2683 v4, icc 18): an order of magnitude to compare with, not a race.
"""
_UP = "seconds; dashed: in proportion to the stages"
_CHAIN = """\
Chains of 3 x 3 boxes, one after the other.
"""


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


def page(run: Times | CompileTimes, making: Making) -> Page:
    """The page of a run."""
    if isinstance(run, Times):
        return _peers_page(run, making)
    return _compile_page(run, making)


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
    noisy = sum(row.noisy for row in run.rows)
    rival = _TITLES[_RIVAL]
    parts = [
        "# Beside other systems",
        f"![{rival}'s fastest time over ours, pipeline by pipeline]({making.picture})",
        _PEERS,
        _table(_columns(run), [*_cells(run, lines), *_means(run, lines)]),
        "## Not measured, or not the same",
        _listed(_gaps(run, lines)) or "Nothing: all that was asked for ran, and all results agree.",
        "## Where and how",
        f"{noisy} of {len(run.rows)} times stayed spread out although measured again.",
        _where(run.conditions, [*_limits(run), *_sizes(lines)]),
        _commands(run.conditions, making),
    ]
    return Page(_joined(parts), _peers_chart(lines))


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
        schedule = _name(line.rival).removeprefix(f"{_RIVAL}-") if line.rival else _NONE
        yield [
            line.ours.kernel,
            str(line.ours.threads),
            _time(line.ours),
            _time(line.rival) if line.rival else _absent(run, _RIVAL),
            schedule,
            f"{ratio[1]:.2f} ({ratio[0]:.2f}-{ratio[2]:.2f})" if ratio else _NONE,
            *(_other(run, line, peer) for peer in run.peers if peer != _RIVAL),
            _time(line.unfused) if line.unfused else _NONE,
            f"{gain:.2f}" if gain else _NONE,
            f"{line.ours.fraction:.0%}",
            f"**NO**: {', '.join(line.differ)}" if line.differ else "yes",
        ]


def _time(row: Row) -> str:
    return f"{row.median_ms:.3f}{'~' if row.noisy else ''}"


def _other(run: Times, line: _Line, peer: str) -> str:
    row = line.others.get(peer)
    if row is None:
        return _absent(run, peer)
    return _time(row) if row.agrees else f"{_time(row)} (differs)"


def _absent(run: Times, peer: str) -> str:
    if peer not in run.peers:
        return "not asked for"
    return "not installed" if peer in run.missing else _NONE


def _means(run: Times, lines: Sequence[_Line]) -> Iterator[list[str]]:
    """A row for each number of threads: geometric means of both ratios, over how many."""
    for count in _counts(lines):
        mine = [line for line in lines if line.ours.threads == count]
        rival = [r[1] for line in mine if (r := line.against_rival)]
        gains = [g for line in mine if (g := line.against_unfused)]
        others = [_NONE] * sum(peer != _RIVAL for peer in run.peers)
        yield [
            "**geometric mean**", str(count), _NONE, _NONE, _NONE, _mean(rival, len(mine)),
            *others, _NONE, _mean(gains, len(mine)), _NONE, _NONE,
        ]  # fmt: skip


def _mean(ratios: Sequence[float], asked: int) -> str:
    if not ratios:
        return _NONE
    of = "" if len(ratios) == asked else f" ({len(ratios)} of {asked})"
    return f"**{geometric_mean(ratios):.2f}**{of}"


def _counts(lines: Iterable[_Line]) -> list[int]:
    return sorted({line.ours.threads for line in lines})


def _gaps(run: Times, lines: Iterable[_Line]) -> Iterator[str]:
    """What the table lacks, and why; forms whose results differ, once for all threads."""
    for peer in run.missing:
        yield f"{peer} is not installed"
    for note in dict.fromkeys(run.notes):
        yield re.sub(r"[*<\[\]`]", r"\\\g<0>", note)  # other systems' words, no Markdown
    differ = [f"{form} of {line.ours.kernel}" for line in lines for form in line.differ]
    for form in dict.fromkeys(differ):
        yield f"{form}: its results are not the reference's; it is left out of ratios and means"


def _limits(run: Times) -> Iterator[str]:
    for threads, rate in run.bandwidth_gbs.items():
        peak = run.peak_gflops.get(threads, 0.0)
        yield f"limits on {_threads(threads)}: {rate:.1f} GB/s, {peak:.0f} GFLOP/s"


def _sizes(lines: Iterable[_Line]) -> Iterator[str]:
    found = {line.ours.kernel: line.ours.size for line in lines}
    shown = (f"{name} {_size(size)}" for name, size in found.items())
    yield "sizes: " + "; ".join(shown)


def _size(size: Mapping[str, int]) -> str:
    return ", ".join(f"{k} = {v}" for k, v in size.items())


def _peers_chart(lines: Sequence[_Line]) -> str:
    counts = _counts(lines)
    names = list(dict.fromkeys(line.ours.kernel for line in lines))
    at = {(line.ours.kernel, line.ours.threads): line for line in lines}
    groups = [Group(n, tuple(_bar(at.get((n, c))) for c in counts)) for n in names]
    means = tuple(_mean_bar(lines, c) for c in counts)
    return bar_chart(
        f"{_TITLES[_RIVAL]}'s fastest time over ours",
        [_threads(c) for c in counts],
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


def _threads(count: int | str) -> str:
    return f"{count} thread{'s' * (str(count) != '1')}"


# -- compile time -----------------------------------------------------------------------------


def _compile_page(run: CompileTimes, making: Making) -> Page:
    programs = [
        [name, *others, paper or _NONE]
        for name, *others, paper in compiling.table(run.programs)
    ]  # fmt: skip
    parts = [
        "# What compiling takes",
        _COMPILE,
        _table(compiling.COLUMNS, programs),
        "## More and more stages",
        f"![Seconds for a plan and its proof over the stages of a chain]({making.picture})",
        _CHAIN,
        _table(compiling.CHAIN_COLUMNS, list(compiling.chain_table(run.chain))),
        "## Where and how",
        _where(run.conditions, []),
        _commands(run.conditions, making),
    ]
    curves = (
        Curve("plan", tuple((t.stages, t.plan_s) for t in run.chain if t.plan_s > 0)),
        Curve("its proof", tuple((t.stages, t.proof_s) for t in run.chain if t.proof_s > 0)),
    )
    svg = curve_chart("Planning chains of stages", curves, across="stages", up=_UP)
    return Page(_joined(parts), svg)


# -- Markdown ---------------------------------------------------------------------------------


def _table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---:" if side == "right" else "---" for _, side in columns]
    found = [[title for title, _ in columns], rule, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in found)


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _where(conditions: Conditions, more: Iterable[str]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in conditions.versions.items())
    return _listed([
        f"machine: {conditions.cpu}, {conditions.cores} cores",
        f"date: {conditions.date}",
        f"compiler: {conditions.compiler}",
        f"versions: {versions}",
        *more,
    ])  # fmt: skip


def _commands(conditions: Conditions, making: Making) -> str:
    """The very commands, measuring and rendering."""
    between = " | " if making.source == "-" else f" > {making.source}\n"
    commands = f"{conditions.command}{between}{making.command}"
    return f"Measured, and this page made, by\n\n```sh\n{commands}\n```"


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip() for part in parts) + "\n"
