"""Ways of fusing loops beside each other: ours, and what the method's authors measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.bench.pages.markdown import NONE, joined, table, time_text
from polyopt.bench.variants import FUSED, OURS, UNFUSED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.bench.runner import Row

#: seconds on 1, 8 and 32 threads; the sequential form on one
PAPER: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "2mm": {
        "sequential": (4.9,), "smart": (15.3, 2.6, 1.1), "hybrid": (9.1, 1.6, 0.7),
        "output": (15.3, 2.5, 1.1),
    },
    "gemver": {
        "sequential": (0.07,), "smart": (0.08, 0.03, 0.03), "max": (0.46, 8.86, 16.88),
        "output": (0.08, 0.03, 0.03),
    },
    "covariance": {
        "sequential": (8.1,), "smart": (10.3, 2.7, 1.1), "max": (10.7, 3.6, 4.6),
        "output": (10.5, 2.7, 1.1),
    },
}  # fmt: skip
_WAYS = ("sequential", "output", "min", "smart", "max", "hybrid")
_ABOUT = """\
Milliseconds a call of the same programs in other orders: *sequential* is the source's own order,
unfused, on one thread; *output* the automatic plan; the others isl's order by that heuristic, with
the same blocks, vectors and threads after it (`po.auto(scop, fusion="smart")`, `polyopt emit
--fuse`). Where isl's heuristics give one order, they give one plan."""
_PAPER = """\
What J. Zhao and P. Di measured (MICRO 2020, Table II; seconds on 1 / 8 / 32 threads of a 32-core
Xeon E5-2683 v4, tiles of 32 x 32; *output* is their method; what they do not give is left out):"""


def fusion_section(rows: Sequence[Row]) -> str:
    """The section of a page; nothing where no other way of fusing was measured."""
    kernels = dict.fromkeys(row.kernel for row in rows if row.variant in FUSED.values())
    if not kernels:
        return ""
    ours: list[list[str]] = []
    for kernel in kernels:
        mine = [row for row in rows if row.kernel == kernel]
        for threads in dict.fromkeys(row.threads for row in mine):
            here = {row.variant: row for row in mine if row.threads == threads}
            cells = [_time(here.get(_variant(way))) for way in _WAYS]
            ours.append([kernel, str(threads), *cells])
    columns = [("kernel", "left"), ("threads", "right"), *((way, "right") for way in _WAYS)]
    paper = [
        [kernel, *(_seconds(PAPER[kernel].get(way, ())) for way in _WAYS)]
        for kernel in kernels
        if kernel in PAPER
    ]
    parts = ["## Ways of fusing", _ABOUT, table(columns, ours)]
    if paper:
        parts += [_PAPER, table([columns[0], *columns[2:]], paper)]
    return joined(parts)


def _variant(way: str) -> str:
    return {"sequential": UNFUSED, "output": OURS}.get(way) or FUSED[way]


def _time(row: Row | None) -> str:
    if row is None:
        return NONE
    return time_text(row) if row.agrees else f"{time_text(row)} (differs)"


def _seconds(found: Sequence[float]) -> str:
    return " / ".join(f"{value:g}" for value in found) or NONE
