"""The page of the affine suite: beside compilers and polyhedral optimisers, with the goals."""

from __future__ import annotations

from statistics import geometric_mean
from typing import TYPE_CHECKING

from polyopt.bench.pages.chart import Bar, Group, bar_chart
from polyopt.bench.pages.fusions import fusion_section
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
    mean_text,
    number_text,
    sizes,
    table,
    threads_text,
    time_text,
)
from polyopt.bench.peers.compilers import COMPILERS
from polyopt.bench.suites import AFFINE, CONTRACTIONS, TIME_STENCILS
from polyopt.bench.variants import REASSOCIATED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polyopt.bench.pages.lines import Line
    from polyopt.bench.pages.markdown import Making
    from polyopt.bench.pages.reading import Times
    from polyopt.bench.runner import Row

_PLAIN, _NUMBA, _BLAS = ("gcc", "clang"), "numba", "blas"
_TITLES = {"graphite": "Graphite", "polly": "Polly", _NUMBA: "Numba", _BLAS: "BLAS"}
#: seconds that plans may take: one, and all of a suite
_PLAN_S, _PLANS_S = 30.0, 180.0

_ABOUT = """\
Milliseconds a call, the median. All forms of a kernel take turns within one run, on the same
inputs. *Ours* is the automatic plan, with its proof. The compilers are given the kernel's own C,
with the flags that ours is compiled with: gcc, clang, gcc with Graphite, and clang with Polly; the
latter two also with their own threads. Each is the fastest, in a first call, of the source as it is
and of the source with constant sizes, on one thread and on those that are there. A ratio is the
time of the fastest of them over ours: above 1 ours is the faster, below 1 theirs. *Numba*, where it
was measured, compiles the same loops in Python, with and without `prange` for the outermost loops
whose iterations are independent, and with the freedom that the compilers have: multiply-adds may
round once, sums keep their order. It is none of the compilers that goals are about. *BLAS* is
OpenBLAS through SciPy or NumPy, a limit for products of matrices; *of BLAS* is the share of its
speed that ours has. *Plan* is what choosing and proving the plan took. *Same bits* says whether the
results equal those of the source's C bit for bit with contraction off in both; *agree* is with
contraction, up to rounding. `~` marks times that stayed spread out although measured again.
"""


def is_affine(run: Times) -> bool:
    """Whether a run is of the affine suite."""
    return bool(run.rows) and all(row.suite == AFFINE for row in run.rows)


def affine_page(run: Times, making: Making) -> Page:
    """The page: goals, kernels, what is missing, how it was measured."""
    lines = lines_of(run)
    parts = [
        "# Affine kernels beside compilers",
        f"![The fastest compiler's time over ours, kernel by kernel]({making.picture})",
        _ABOUT,
        "## Goals",
        *not_measured(AFFINE, lines, "kernels"),
        table(_GOAL_COLUMNS, list(_goals(lines))),
        "## Kernels",
        table(_columns(run), [*(_cells(run, line) for line in lines), *_means(run, lines)]),
        *_freed(lines),
        *filter(None, [fusion_section(run.rows)]),
        *ending(run, differing(lines), sizes(line.ours for line in lines), making),
    ]
    return Page(joined(parts), _chart(lines))


_FREED = """\
Ours keeps the order of floating sums, as the compilers do. *Any order* is the automatic plan that
need not (`--reassociate`), and the time of the fastest compiler, which keeps the order, over it.
Kernels without such sums, or with better plans for them, are left out. As many threads as there are
give one result: parts of sums are added in a fixed order.
"""


def _freed(lines: Sequence[Line]) -> Iterator[str]:
    """The section of plans whose sums are added up in any order, where they were measured."""
    freed = [(line, line.forms[REASSOCIATED]) for line in lines if REASSOCIATED in line.forms]
    if not freed:
        return
    columns = [
        ("kernel", "left"), ("threads", "right"), ("ours ms", "right"), ("any order ms", "right"),
        ("fastest / ours", "right"), ("fastest / any order", "right"),
    ]  # fmt: skip
    rows = [
        [line.ours.kernel, str(line.ours.threads), time_text(line.ours), time_text(free),
         number_text(line.ratio(COMPILERS)), number_text(_free_ratio(line, free))]
        for line, free in freed
    ]  # fmt: skip
    for count in thread_counts(lines):
        mine = [(x, free) for x, free in freed if x.ours.threads == count]
        both = ([x.ratio(COMPILERS) for x, _ in mine], [_free_ratio(*pair) for pair in mine])
        means = (mean_text([r for r in group if r is not None], len(mine)) for group in both)
        rows.append(["**geometric mean**", str(count), NONE, NONE, *means])
    yield from ("## Sums in any order", _FREED, table(columns, rows))


def _free_ratio(line: Line, free: Row) -> float | None:
    fastest = line.fastest(COMPILERS)
    return None if fastest is None else fastest.median_ms / free.median_ms


# -- goals ------------------------------------------------------------------------------------

_GOAL_COLUMNS = (
    ("kernels", "left"), ("against", "left"), ("threads", "right"), ("goal", "right"),
    ("measured", "right"), ("reached", "left"),
)  # fmt: skip


def _goals(lines: Sequence[Line]) -> Iterator[list[str]]:
    every = tuple(COMPILERS)
    all_of = {
        count: [x for x in lines if x.ours.threads == count] for count in thread_counts(lines)
    }
    for count, goals in ((2, (2.0, 4.0)), (1, (1.3, 2.5))):
        for peers, goal in zip((every, _PLAIN), goals, strict=True):
            yield _goal("all, geometric mean", peers, count, goal, all_of.get(count, []), _mean_of)
    for count in (1, 2):
        some = [x for x in all_of.get(count, []) if x.ours.kernel in CONTRACTIONS]
        yield _goal("products of matrices, each", (_BLAS,), count, 0.5, some, _least_of)
    some = [x for x in all_of.get(2, []) if x.ours.kernel in TIME_STENCILS]
    yield _goal("stencils in time, each", every, 2, 2.5, some, _least_of)
    for count in (1, 2):
        yield _goal("each", every, count, 0.95, all_of.get(count, []), _least_of)
    taken = {x.ours.kernel: x.ours.schedule_s for x in lines}
    for name, limit, found in (
        ("plans, seconds of the longest", _PLAN_S, max(taken.values(), default=0.0)),
        ("plans, seconds of all", _PLANS_S, sum(taken.values())),
    ):
        reached = "yes" if found <= limit else "**no**"
        yield [name, NONE, NONE, f"<= {limit:g}", f"{found:.1f}", reached]


def _goal(
    name: str,
    peers: tuple[str, ...],
    threads: int,
    goal: float,
    lines: Sequence[Line],
    taken: Callable[[dict[str, float]], tuple[float, str]],
) -> list[str]:
    """A row; what is compared is told by ``taken``, from the ratios by kernel."""
    against = _BLAS.upper() if peers == (_BLAS,) else f"fastest of {', '.join(map(_title, peers))}"
    head = [name, against, str(threads), f">= {goal:g}"]
    ratios = {x.ours.kernel: r for x in lines if (r := x.ratio(peers)) is not None}
    if not ratios:
        return [*head, NONE, "not measured"]
    value, note = taken(ratios)
    return [*head, f"{value:.2f}{note}", "yes" if value >= goal else "**no**"]


def _mean_of(ratios: dict[str, float]) -> tuple[float, str]:
    return geometric_mean(ratios.values()), ""


def _least_of(ratios: dict[str, float]) -> tuple[float, str]:
    worst = min(ratios, key=ratios.__getitem__)
    return ratios[worst], f" ({worst})"


# -- kernels ----------------------------------------------------------------------------------


def _columns(run: Times) -> list[tuple[str, str]]:
    return [
        ("kernel", "left"), ("threads", "right"), ("ours ms", "right"),
        *((f"{_title(p)} ms", "right") for p in run.peers),
        ("fastest / ours", "right"), *((title, "right") for title in _ratios(run)),
        ("plan s", "right"), ("same bits", "left"), ("agree", "left"),
    ]  # fmt: skip


def _ratios(run: Times) -> dict[str, tuple[str, ...]]:
    """Columns of ratios beside the first, and the peers whose fastest they are about."""
    numba = {"Numba / ours": (_NUMBA,)} if _NUMBA in run.peers else {}
    return {"gcc, clang / ours": _PLAIN, **numba, "of BLAS": (_BLAS,)}


def _title(peer: str) -> str:
    return _TITLES.get(peer, peer)


def _cells(run: Times, line: Line) -> list[str]:
    return [
        line.ours.kernel,
        str(line.ours.threads),
        time_text(line.ours),
        *(time_text(line.theirs[p]) if p in line.theirs else NONE for p in run.peers),
        ratio_text(line.spread(COMPILERS)),
        *(number_text(line.ratio(peers)) for peers in _ratios(run).values()),
        f"{line.ours.schedule_s:.1f}",
        {True: "yes", False: "**NO**", None: NONE}[line.ours.exact],
        agreement_text(line),
    ]


def _means(run: Times, lines: Sequence[Line]) -> Iterator[list[str]]:
    for count in thread_counts(lines):
        mine = [line for line in lines if line.ours.threads == count]
        groups = [
            [r for line in mine if (r := line.ratio(peers)) is not None]
            for peers in (tuple(COMPILERS), *_ratios(run).values())
        ]
        means = [mean_text(group, len(mine)) for group in groups]
        times = [NONE] * (1 + len(run.peers))
        yield ["**geometric mean**", str(count), *times, *means, NONE, NONE, NONE]


# -- the picture ------------------------------------------------------------------------------


def _chart(lines: Sequence[Line]) -> str:
    counts = thread_counts(lines)
    at = {(line.ours.kernel, line.ours.threads): line for line in lines}
    names = dict.fromkeys(line.ours.kernel for line in lines)
    groups = [Group(n, tuple(_bar(at.get((n, c))) for c in counts)) for n in names]
    means: list[Bar | str] = []
    for count in counts:
        found = [
            r for x in lines if x.ours.threads == count and (r := x.ratio(COMPILERS)) is not None
        ]
        mean = geometric_mean(found) if found else 0.0
        means.append(Bar(mean, mean, mean) if found else "not measured")
    return bar_chart(
        "The fastest compiler's time over ours",
        [threads_text(c) for c in counts],
        [*groups, Group("geometric mean", tuple(means))],
        note="of gcc, clang, Graphite and Polly; right of the line at 1, polyopt is the faster",
    )


def _bar(line: Line | None) -> Bar | str:
    if line is None or line.fastest(COMPILERS) is None:
        return "not measured"
    spread = line.spread(COMPILERS)
    if spread is None:
        return "results differ"
    low, middle, high = spread
    return Bar(middle, low, high)
