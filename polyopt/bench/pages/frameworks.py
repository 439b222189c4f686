"""The page of the suite of networks: beside frameworks, with the goals by group of subjects."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from statistics import geometric_mean
from typing import TYPE_CHECKING

from polyopt.bench.pages.chart import Bar, Group, bar_chart
from polyopt.bench.pages.lines import differing, lines_of, thread_counts
from polyopt.bench.pages.markdown import (
    NONE,
    Page,
    ending,
    joined,
    mean_text,
    table,
    threads_text,
    time_text,
)
from polyopt.bench.suites import NN
from polyopt.bench.variants import OURS, UNFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polyopt.bench.pages.lines import Line
    from polyopt.bench.pages.markdown import Making
    from polyopt.bench.pages.reading import Times

_TITLES = {
    "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "torch": "torch eager",
    "inductor": "Inductor", UNFUSED: "ours unfused",
}  # fmt: skip
_BLOCKED = f"{OURS}-blocked"

_ABOUT = """\
Milliseconds for one call of a compiled network, the median, float32, batch 1 unless said. All forms
of a subject get the same ONNX model (torch the same layers with the same weights) and the same
input, and take turns within one run; each framework has a process of its own, which is stopped
while others are timed. *Ours* is `po.compile_model(net)(x)`: the copies of input and output into
blocks of channels and back are part of it. *In blocks* is the kernel with the convolution alone, in
its own layout. *Unfused* is ours with a kernel for each operator. Inductor has its weights frozen
where it can do that, which lets it fold them. A ratio is their time over ours: above 1 ours is the
faster. *Of the limit* is the share that ours reaches of what measured bandwidth and multiply-adds
allow. `~` marks times that stayed spread out although measured again.
"""
_TRAFFIC = """\
Bytes of tensors that kernels read and write in one call, weights included, and what the difference
takes at the measured bandwidth: about what fusing can save where no cache holds them. *At most* is
the ratio that this would give; what the caches hold costs less, and so less is gained.
"""
_NAMES = """\
Convolutions are named by channels, results, rows, kernel and stride; depthwise and separable ones
by channels, rows and stride; bottlenecks by channels inside and rows.
"""


@dataclass(frozen=True)
class _Goal:
    """What a group is measured by: against the fastest of ``peers``, on some numbers of threads."""

    least: float
    peers: tuple[str, ...]
    threads: tuple[int, ...] = (1, 2)


@dataclass(frozen=True)
class _Group:
    """Subjects of one kind, by a pattern of their names."""

    name: str
    pattern: str
    goals: tuple[_Goal, ...] = ()
    #: the least share of the limit, if that is a goal
    share: float | None = None
    #: the most seconds that compiling may take, if that is a goal
    seconds: float | None = None

    def of(self, lines: Iterable[Line], threads: int) -> list[Line]:
        """Its lines."""
        return [
            x for x in lines
            if x.ours.threads == threads and fnmatch(x.ours.kernel, self.pattern)
        ]  # fmt: skip


_ORT, _ALL = ("onnxruntime",), ("onnxruntime", "openvino", "torch", "inductor")
_GROUPS = (
    _Group("convolution + BN + ReLU", "conv_*", (_Goal(1.3, _ORT, (1,)), _Goal(1.1, _ORT, (2,))),
           share=0.7),
    _Group("depthwise 3 x 3", "depthwise_*", (_Goal(2.0, _ORT),)),
    _Group("depthwise + 1 x 1", "separable_*", (_Goal(1.5, _ORT),)),
    _Group("bottleneck blocks", "bottleneck_*"),
    _Group("stem with pooling", "stem_pool", (_Goal(1.3, _ALL),)),
    _Group("BN + ReLU + MaxPool", "bn_relu_pool",
           (_Goal(3.0, ("inductor", "onnxruntime")), _Goal(2.0, (UNFUSED,)))),
    _Group("ResNet-50", "resnet50",
           (_Goal(1.05, _ORT), _Goal(1.5, ("inductor",)), _Goal(2.2, ("torch",))), seconds=120),
    _Group("ResNet-50, batch 8", "resnet50_batch8", (_Goal(1.8, (UNFUSED,)),)),
)  # fmt: skip


def is_networks(run: Times) -> bool:
    """Whether a run is of the suite of networks."""
    return bool(run.rows) and all(row.suite == NN for row in run.rows)


def frameworks_page(run: Times, making: Making) -> Page:
    """The page: groups, goals, subjects, what is missing, how it was measured."""
    lines = lines_of(run)
    parts = [
        "# Networks beside frameworks",
        f"![The fastest framework's time over ours, group by group]({making.picture})",
        _ABOUT,
        "## Groups",
        "Geometric means of their times over ours, and of the shares of the limit.",
        table(_group_columns(run), list(_group_cells(run, lines))),
        "## Goals",
        table(_GOAL_COLUMNS, list(_goals(lines))),
        *_saved(run, lines),
        "## Subjects",
        _NAMES,
        table(_columns(run), [_cells(run, line) for line in lines]),
        *ending(run, differing(lines), (), making),
    ]
    return Page(joined(parts), _chart(run, lines))


def _title(peer: str) -> str:
    return _TITLES.get(peer, peer)


def _measured(lines: Sequence[Line]) -> Iterator[tuple[_Group, int, list[Line]]]:
    """The groups that there are, by number of threads."""
    for group in _GROUPS:
        for count in thread_counts(lines):
            if some := group.of(lines, count):
                yield group, count, some


# -- groups and goals -------------------------------------------------------------------------


def _group_columns(run: Times) -> list[tuple[str, str]]:
    return [
        ("group", "left"), ("subjects", "right"), ("threads", "right"),
        *((f"{_title(p)} / ours", "right") for p in (*run.peers, UNFUSED)),
        ("of the limit", "right"),
    ]  # fmt: skip


def _group_cells(run: Times, lines: Sequence[Line]) -> Iterator[list[str]]:
    for group, count, some in _measured(lines):
        yield [
            group.name, str(len(some)), str(count),
            *(mean_text(_ratios(some, (p,)), len(some)) for p in (*run.peers, UNFUSED)),
            f"{geometric_mean(x.ours.fraction for x in some):.0%}",
        ]  # fmt: skip


def _ratios(lines: Iterable[Line], peers: Sequence[str]) -> list[float]:
    return [r for line in lines if (r := line.ratio(peers)) is not None]


_GOAL_COLUMNS = (
    ("group", "left"), ("against", "left"), ("threads", "right"), ("goal", "right"),
    ("measured", "right"), ("reached", "left"),
)  # fmt: skip


def _goals(lines: Sequence[Line]) -> Iterator[list[str]]:
    for group, count, some in _measured(lines):
        for goal in group.goals:
            if count in goal.threads:
                against = _title(goal.peers[0]) if len(goal.peers) == 1 else (
                    f"fastest of {', '.join(map(_title, goal.peers))}"
                )  # fmt: skip
                yield _goal(group.name, against, count, goal.least, _ratios(some, goal.peers))
        if group.share is not None:
            shares = [x.ours.fraction for x in some]
            yield _goal(group.name, "the limit", count, group.share, shares)
    for group in _GROUPS:
        if group.seconds is not None and (some := group.of(lines, thread_counts(lines)[-1])):
            longest = max(x.ours.compile_s for x in some)
            told = "yes" if longest < group.seconds else "**no**"
            yield [group.name, "compiled, nothing cached", "", f"< {group.seconds:g} s",
                   f"{longest:.1f} s", told]  # fmt: skip


def _goal(name: str, against: str, count: int, least: float, found: list[float]) -> list[str]:
    head = [name, against, str(count), f">= {least:g}"]
    if not found:
        return [*head, NONE, "not measured"]
    mean = geometric_mean(found)
    return [*head, f"{mean:.2f}", "yes" if mean >= least else "**no**"]


# -- what fusing saves ------------------------------------------------------------------------

_SAVING_COLUMNS = (
    ("subject", "left"), ("threads", "right"), ("unfused MB", "right"), ("ours MB", "right"),
    ("the difference takes ms", "right"), ("unfused ms", "right"), ("at most", "right"),
    ("measured", "right"),
)  # fmt: skip


def _saved(run: Times, lines: Sequence[Line]) -> Iterator[str]:
    """The section on traffic; nothing where it was not counted."""
    rows = [cells for line in lines if (cells := _saving(run, line)) is not None]
    if rows:
        yield from ("## What fusing saves", _TRAFFIC, table(_SAVING_COLUMNS, rows))


def _saving(run: Times, line: Line) -> list[str] | None:
    ours, unfused = line.ours, line.forms.get(UNFUSED)
    if unfused is None or ours.moved_mb is None or unfused.moved_mb is None:
        return None
    # megabytes over gigabytes a second are milliseconds
    saved = (unfused.moved_mb - ours.moved_mb) / run.bandwidth_gbs[str(ours.threads)]
    rest = unfused.median_ms - saved
    return [
        ours.kernel, str(ours.threads), f"{unfused.moved_mb:.1f}", f"{ours.moved_mb:.1f}",
        f"{saved:.2f}", time_text(unfused), f"{unfused.median_ms / rest:.2f}" if rest > 0 else NONE,
        f"{unfused.median_ms / ours.median_ms:.2f}",
    ]  # fmt: skip


# -- subjects ---------------------------------------------------------------------------------


def _columns(run: Times) -> list[tuple[str, str]]:
    return [
        ("subject", "left"), ("threads", "right"), ("ours ms", "right"), ("in blocks ms", "right"),
        ("unfused ms", "right"), *((f"{_title(p)} ms", "right") for p in run.peers),
        ("fastest / ours", "right"), ("of the limit", "right"), ("agree", "left"),
    ]  # fmt: skip


def _cells(run: Times, line: Line) -> list[str]:
    beside = {**line.theirs, **line.forms}
    spread = line.spread(run.peers)
    return [
        line.ours.kernel,
        str(line.ours.threads),
        time_text(line.ours),
        *(
            time_text(beside[form]) if form in beside else NONE
            for form in (_BLOCKED, UNFUSED, *run.peers)
        ),
        f"{spread[1]:.2f} ({spread[0]:.2f}-{spread[2]:.2f})" if spread else NONE,
        f"{line.ours.fraction:.0%}",
        f"**NO**: {', '.join(line.differ)}" if line.differ else "yes",
    ]


# -- the picture ------------------------------------------------------------------------------


def _chart(run: Times, lines: Sequence[Line]) -> str:
    counts = thread_counts(lines)
    groups = [
        Group(group.name, tuple(_bar(group.of(lines, count), run.peers) for count in counts))
        for group in _GROUPS
        if any(group.of(lines, count) for count in counts)
    ]
    return bar_chart(
        "The fastest framework's time over ours",
        [threads_text(c) for c in counts],
        groups,
        note="geometric means of groups; right of the line at 1, polyopt is the faster",
    )


def _bar(lines: Sequence[Line], peers: Sequence[str]) -> Bar | str:
    found = [s for line in lines if (s := line.spread(peers)) is not None]
    if not found:
        return "not measured"
    low, middle, high = (geometric_mean([max(s[k], 1e-9) for s in found]) for k in range(3))
    return Bar(middle, low, high)
