"""What was measured of one kernel on one number of threads: ours, and theirs beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.bench.pages.markdown import NONE
from polyopt.bench.pages.report import speed_ratio
from polyopt.bench.suites import members
from polyopt.bench.variants import OURS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from polyopt.bench.pages.reading import Times
    from polyopt.bench.runner import Row


@dataclass(frozen=True)
class Line:
    """A kernel on a number of threads; theirs are the rows whose results agree, by peer."""

    ours: Row
    theirs: dict[str, Row]
    #: our other forms, by variant
    forms: dict[str, Row]
    differ: tuple[str, ...]

    def fastest(self, peers: Iterable[str]) -> Row | None:
        """The fastest of these peers; forms of ours may be among them."""
        beside = {**self.forms, **self.theirs}
        found = [beside[p] for p in peers if p in beside]
        return min(found, key=lambda row: row.median_ms, default=None)

    def ratio(self, peers: Iterable[str]) -> float | None:
        """The time of the fastest of these peers over ours."""
        fastest = self.fastest(peers)
        if fastest is None or not self.ours.agrees:
            return None
        return fastest.median_ms / self.ours.median_ms

    def spread(self, peers: Iterable[str]) -> tuple[float, float, float] | None:
        """That ratio as least, of the medians, most."""
        fastest = self.fastest(peers)
        if fastest is None or not self.ours.agrees:
            return None
        return speed_ratio(self.ours, fastest)


def lines_of(run: Times) -> list[Line]:
    """A line for each of our rows, in their order."""
    lines: list[Line] = []
    for ours in (row for row in run.rows if row.variant == OURS):
        beside = [r for r in run.rows if (r.kernel, r.threads) == (ours.kernel, ours.threads)]
        theirs = {r.variant: r for r in beside if r.variant in run.peers and r.agrees}
        forms = {r.variant: r for r in beside if r.variant.startswith(f"{OURS}-") and r.agrees}
        differ = tuple(dict.fromkeys(r.variant for r in beside if not r.agrees))
        lines.append(Line(ours, theirs, forms, differ))
    return lines


def thread_counts(lines: Iterable[Line]) -> list[int]:
    """Numbers of threads that were measured, in order."""
    return sorted({line.ours.threads for line in lines})


def differing(lines: Iterable[Line]) -> Iterator[str]:
    """Forms whose results differ, and of what."""
    return (f"{form} of {line.ours.kernel}" for line in lines for form in line.differ)


def not_measured(suite: str, lines: Iterable[Line], what: str) -> Iterator[str]:
    """What to know where a suite was not measured whole; ``what`` its members are called."""
    measured = {line.ours.kernel for line in lines}
    rest = [name for name in members(suite) if name not in measured]
    if rest:
        yield (
            f"{len(measured)} {what} were measured, and means are of these. Not among them: "
            f"{', '.join(rest)}."
        )


def ratio_text(spread: tuple[float, float, float] | None) -> str:
    """A ratio of medians, with the range that the spread of both allows."""
    return NONE if spread is None else f"{spread[1]:.2f} ({spread[0]:.2f}-{spread[2]:.2f})"


def agreement_text(line: Line) -> str:
    """Whether all forms agree, or which do not."""
    return f"**NO**: {', '.join(line.differ)}" if line.differ else "yes"
