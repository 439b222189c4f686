"""Write docs/model.md: ``python -m tests.ranking.page``."""

from __future__ import annotations

import argparse
import math
import statistics
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.bench.tuning.sweep import spearman
from polyopt.scheduler.model.machine import costs_of
from polyopt.scheduler.model.time import NestWork, work_of
from tests.ranking.numbers import numbers_of_scheduler
from tests.ranking.timings import EPYC, FILE, recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from polyopt.scheduler.model.machine import Costs
    from tests.ranking.timings import Timing

    ByKernel = Mapping[str, Sequence["Ranked"]]

COSTS = costs_of(EPYC)
#: values of the two costs that were fitted, on the kernels that are not left out
OVERLAPS = (1.0, 1.5, 2.0, 3.0)
EXPOSED = (0.25, 0.4, 0.55, 0.75, 1.0)
#: sizes that a sweep has
FEWEST = 24
INTRODUCTION = """# The time model beside the clock

How long a plan takes is predicted before anything runs (`plan.cost()`, `polyopt explain
--candidates`), and the search decides by it. Here are recorded times of plans of all kernels, and how
well predictions put them in order. Plans are the automatic one, those of other caches, instruction
sets and orders of loops, with other tiles and other places for intermediate arrays, and the source's
own order.

The costs that predictions rest on are measured one by one (`polyopt doctor --measure`): instructions,
caches, starts of loops and threads. Two numbers are fitted, how much of computing and of moving bytes
is at once, and how much of what is moved was fetched ahead, and those on every second kernel; the
others, **left out**, tell how well the model does on what it was not fitted to. Times were recorded on a machine that others use too, those of two
threads while it was at work: `tests/ranking/record.py`.
"""


@dataclass(frozen=True)
class Ranked:
    """A recorded timing with what the plan does."""

    timing: Timing
    work: tuple[NestWork, ...]

    def predicted(self, threads: int, costs: Costs = COSTS) -> float:
        """Milliseconds of a call."""
        return sum(nest.time(costs, threads).ns for nest in self.work) / 1e6

    @property
    def is_swept(self) -> bool:
        """Whether it is a plan of a sweep of tile sizes."""
        return self.timing.name == "auto" or self.timing.name.startswith("sweep")


def ranked(timings: Iterable[Timing]) -> dict[str, list[Ranked]]:
    """Timings with what their plans do, by kernel."""
    found: dict[str, list[Ranked]] = defaultdict(list)
    for timing in timings:
        work = work_of(timing.plan().program, timing.sizes, EPYC)
        found[timing.kernel].append(Ranked(timing, work))
    return found


def left_out(kernels: Iterable[str]) -> set[str]:
    """The kernels that nothing was fitted to: every second one."""
    return set(sorted(set(kernels))[1::2])


def correlation(plans: Iterable[Ranked], threads: int) -> float:
    """Spearman's, of predicted and recorded times."""
    known = list(plans)
    return spearman([p.predicted(threads) for p in known], [p.timing.ms[threads] for p in known])


def sweeps(found: ByKernel) -> dict[str, list[Ranked]]:
    """The plans of each sweep of tile sizes."""
    kept = {kernel: [p for p in plans if p.is_swept] for kernel, plans in found.items()}
    return {kernel: plans for kernel, plans in kept.items() if len(plans) >= FEWEST}


def error(plans: ByKernel, costs: Costs) -> float:
    """How far apart plans of one kernel are predicted to be, wrongly: a mean of logarithms."""
    total = 0.0
    for some in plans.values():
        logs = [math.log(p.predicted(1, costs) / p.timing.ms[1]) for p in some]
        middle = statistics.median(logs)
        total += statistics.fmean(min(abs(e - middle), 1.0) for e in logs)
    return total / len(plans)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/model.md"))
    asked = parser.parse_args()
    found = ranked(recorded(asked.file))
    asked.output.write_text("\n".join(page(found)) + "\n", encoding="utf-8")


def page(found: ByKernel) -> Iterator[str]:
    """The page's lines."""
    out = left_out(found)
    yield INTRODUCTION
    yield from _overall(found, out)
    yield from _sweeps(found, out)
    yield from _pairs(found)
    yield from _kernels(found, out)
    fitting = {k: plans for k, plans in found.items() if k not in out}
    yield "\n## What was fitted\n"
    yield "Mean error on the kernels for fitting, by both costs.\n"
    yield "| overlap | " + " | ".join(f"exposed {share}" for share in EXPOSED) + " |"
    yield "| ---: |" + " ---: |" * len(EXPOSED)
    for value in OVERLAPS:
        errors = [error(fitting, replace(COSTS, overlap=value, exposed=e)) for e in EXPOSED]
        yield f"| {value} | " + " | ".join(f"{found:.3f}" for found in errors) + " |"
    yield from _numbers()


def _overall(found: ByKernel, out: set[str]) -> Iterator[str]:
    yield "## All plans of all kernels\n"
    yield "| plans | number | 1 thread | 2 threads |\n| --- | ---: | ---: | ---: |"
    for name, kernels in (("all", set(found)), ("left out", out)):
        plans = [p for kernel in sorted(kernels) for p in found[kernel]]
        yield (f"| {name} | {len(plans)} | {correlation(plans, 1):.3f} "
               f"| {correlation(plans, 2):.3f} |")  # fmt: skip
    yield "\nSpearman's rank correlation of predicted and recorded times; 1 is the same order."


def _sweeps(found: ByKernel, out: set[str]) -> Iterator[str]:
    yield "\n## Sweeps of tile sizes\n"
    yield "| program | sizes | 1 thread | 2 threads | least to most, ms | left out |"
    yield "| --- | ---: | ---: | ---: | ---: | --- |"
    for kernel, plans in sweeps(found).items():
        ms = [p.timing.ms[1] for p in plans]
        yield (f"| {kernel} | {len(plans)} | {correlation(plans, 1):.2f} "
               f"| {correlation(plans, 2):.2f} | {min(ms):.3g} to {max(ms):.3g} "
               f"| {'yes' if kernel in out else ''} |")  # fmt: skip


def _pairs(found: ByKernel) -> Iterator[str]:
    """How often the model is right about which of two plans of a kernel is faster."""
    right: dict[int, list[bool]] = defaultdict(list)
    for plans in found.values():
        for one, other in combinations(plans, 2):
            ours, theirs = one.predicted(1), other.predicted(1)
            share = min(ours, theirs) / max(ours, theirs)
            agrees = (ours < theirs) == (one.timing.ms[1] < other.timing.ms[1])
            right[min(9, int(share * 10))].append(agrees)
    yield "\n## Two plans of one kernel\n"
    yield "| predicted to take this share of the other's time | pairs | it is faster |"
    yield "| ---: | ---: | ---: |"
    for tenth, agree in sorted(right.items()):
        share = f"{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}"
        yield f"| {share} | {len(agree)} | {sum(agree) / len(agree):.0%} |"


def _kernels(found: ByKernel, out: set[str]) -> Iterator[str]:
    yield "\n## Kernel by kernel, one thread\n"
    yield ("*Off by* is predicted over recorded time, the least and the most of the plans. *Its "
           "favourite* is the plan with the least prediction, and how much longer than the best "
           "it takes.\n")  # fmt: skip
    yield "| kernel | plans | correlation | off by | its favourite | behind | left out |"
    yield "| --- | ---: | ---: | ---: | --- | ---: | --- |"
    for kernel in sorted(found):
        plans = found[kernel]
        ratios = [p.predicted(1) / p.timing.ms[1] for p in plans]
        best = min(p.timing.ms[1] for p in plans)
        favourite = min(plans, key=lambda p: p.predicted(1))
        name = favourite.timing.name.replace("|", "")
        yield (f"| {kernel} | {len(plans)} | {correlation(plans, 1):.2f} "
               f"| {min(ratios):.2f} to {max(ratios):.2f} | {name} "
               f"| {favourite.timing.ms[1] / best - 1:.0%} "
               f"| {'yes' if kernel in out else ''} |")  # fmt: skip


def _numbers() -> Iterator[str]:
    known = list(numbers_of_scheduler())
    yield f"\n## Numbers of the scheduler that are no costs: {len(known)}\n"
    yield "| number | value | where | what it is |\n| --- | --- | --- | --- |"
    for number in known:
        yield f"| `{number.name}` | {number.value} | `{number.file}` | {number.said} |"


if __name__ == "__main__":
    main()
