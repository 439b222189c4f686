"""Time plans of the library's kernels: ``python -m tests.ranking.record FILE [KERNEL ...]``.

A kernel that the file has already is left out, so that a run that was cut off goes on.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.bench.suites import KERNELS, members
from polyopt.codegen.target import core_count
from polyopt.errors import UserError
from polyopt.library import load_kernel
from polyopt.runtime.measuring.alternate import Subject, summary, timed
from polyopt.runtime.measuring.arguments import CallArguments, inputs_for
from polyopt.scheduler import auto
from tests.ranking.plans import is_swept, plans_of
from tests.ranking.timings import Timing, recorded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.library import LibraryKernel
    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.measuring.alternate import Sample
    from polyopt.transform.plan import Plan

#: rounds in which all plans take turns; calls that take longer (seconds) are made three times
ROUNDS, LONG, FEW = 9, 0.3, 3
#: calls shorter than this (seconds) are timed several at once
SAMPLE = 1e-3
#: plans that take longer are not recorded
LONGEST = 6.0


def main() -> None:
    """Record what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("kernels", nargs="*")
    asked = parser.parse_args()
    known = {t.kernel for t in recorded(asked.file)} if asked.file.exists() else set[str]()
    for name in asked.kernels or members(KERNELS):
        if name in known:
            continue
        found = of_kernel(load_kernel(name))
        with asked.file.open("a", encoding="utf-8") as file:
            file.writelines(timing.as_line() + "\n" for timing in found)
        sys.stderr.write(f"{name}: {len(found)} plans\n")


def of_kernel(kernel: LibraryKernel) -> list[Timing]:
    """The timings of a kernel's plans, in turn."""
    sizes = kernel.sizes["bench"]
    own = auto(kernel.scop, sizes=sizes)
    plans: dict[str, Plan] = {}
    compiled: dict[str, Kernel] = {}
    with tempfile.TemporaryDirectory() as cache:
        for name, plan in plans_of(kernel.scop, sizes, swept=is_swept(kernel.name, own)):
            try:
                compiled[name] = plan.compile(check=False, cache=cache)
            except UserError:
                continue
            plans[name] = plan
        times = {n: _measured(kernel, compiled, sizes, n) for n in sorted({1, core_count()})}
    kept = [name for name in plans if all(name in samples for samples in times.values())]
    return [
        Timing(
            kernel.name, sizes, name,
            [(m.name, m.args, dict(m.options)) for m in plans[name].moves],
            {n: samples[name].median_ms for n, samples in times.items()},
            {n: samples[name].spread for n, samples in times.items()},
        )
        for name in kept
    ]  # fmt: skip


def _measured(
    kernel: LibraryKernel, compiled: Mapping[str, Kernel], sizes: Mapping[str, int], threads: int
) -> dict[str, Sample]:
    inputs = inputs_for(next(iter(compiled.values())), sizes, 0, kernel)
    subjects: dict[str, Subject] = {}
    rounds: dict[str, int] = {}
    repeats: dict[str, int] = {}
    for name, made in compiled.items():
        call = CallArguments.make(made, dict(inputs), sizes)
        subject = Subject(call.bind(made, threads), call.restore if call.changes_inputs else None)
        taken = _seconds(subject)
        if taken > LONGEST:
            continue
        subjects[name] = subject
        rounds[name] = ROUNDS if taken < LONG else FEW
        repeats[name] = 1 if call.changes_inputs else max(1, round(SAMPLE / taken))
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(ROUNDS):
        for name, subject in subjects.items():
            if number < rounds[name]:
                seconds = timed(subject, repeats[name], warm=rounds[name] == ROUNDS)
                times[name].append(seconds * 1e3)
    return {name: summary(values) for name, values in times.items()}


def _seconds(subject: Subject) -> float:
    if subject.restore is not None:
        subject.restore()
    start = time.perf_counter()
    subject.call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
