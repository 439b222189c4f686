"""Random programs and plans for hours: ``python -m tests.property.soak --programs N --hours H``.

Goes on where the last run stopped, writes what fails, made small, to ``tests/property/corpus``
and a summary as JSON. The exit code is 1 after any failure.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .plans import Tally
from .shrink import shrunk
from .trial import Failure, failures_of, make_trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .trial import Trial

CORPUS = Path(__file__).with_name("corpus")
#: programs of one compilation
BATCH = 20
#: a compiled batch that runs longer than this does not end: it takes a second
_HANGS_S = 300.0
#: workers start anew after so many batches: isl keeps what it once needed
_BATCHES_PER_PROCESS = 25
#: failures of one kind beyond this many are counted, and not made small
_MOST_SHRUNK = 5


@dataclass
class Outcome:
    """What a batch of seeds gave."""

    seeds: int = 0
    plans: int = 0
    tally: Tally = field(default_factory=Tally)
    failures: list[tuple[int, Failure]] = field(default_factory=list[tuple[int, Failure]])
    slowest: tuple[float, int] = (0.0, 0)


def batch(first: int, count: int) -> Outcome:
    """Make, compile and compare the programs of some seeds."""
    outcome = Outcome(seeds=count)
    trials: list[tuple[int, Trial]] = []
    for seed in range(first, first + count):
        before = time.perf_counter()
        trials.append((seed, make_trial(seed, outcome.tally)))
        outcome.slowest = max(outcome.slowest, (time.perf_counter() - before, seed))
    outcome.plans = sum(len(t.plans) - 1 for _, t in trials)
    outcome.failures = list(_failures(trials))
    return outcome


def _failures(trials: Sequence[tuple[int, Trial]]) -> Iterator[tuple[int, Failure]]:
    seeds = {trial.example.text: seed for seed, trial in trials}
    for failure in failures_of([t for _, t in trials], timeout_s=_HANGS_S):
        yield seeds[failure.example.text], failure


# -- the run, and where it stands -----------------------------------------------------------------


@dataclass
class Soak:
    """A run that can be stopped and go on; everything is in its folder."""

    folder: Path
    next_seed: int
    programs: int = 0
    plans: int = 0
    seconds: float = 0.0
    tally: Tally = field(default_factory=Tally)
    failed: Counter[str] = field(default_factory=Counter[str])
    examples: list[str] = field(default_factory=list[str])
    slowest: tuple[float, int] = (0.0, 0)

    @classmethod
    def resume(cls, folder: Path, seed: int | None) -> Soak:
        """The run as it was left, or a new one; ``seed`` starts a new one there."""
        state = folder / "state.json"
        if seed is not None or not state.exists():
            return cls(folder, seed or 0)
        return cls(folder, json.loads(state.read_text(encoding="utf-8"))["next_seed"])

    def add(self, outcome: Outcome) -> None:
        """Count a batch."""
        self.programs += outcome.seeds
        self.plans += outcome.plans
        self.tally.add(outcome.tally)
        self.slowest = max(self.slowest, outcome.slowest)
        for seed, failure in outcome.failures:
            self.failed[failure.kind] += 1
            print(f"seed {seed}: {failure.kind}: {failure.text.splitlines()[0]}", flush=True)  # noqa: T201
            if self.failed[failure.kind] <= _MOST_SHRUNK:
                self.examples.append(_kept(seed, failure))

    def summary(self) -> dict[str, Any]:
        """The run in numbers."""
        refused: Counter[str] = Counter()
        for name, count in self.tally.refused.items():
            refused[name.split()[1]] += count
        return {
            "programs": self.programs,
            "plans": self.plans,
            "seconds": round(self.seconds, 1),
            "next_seed": self.next_seed,
            "failures": dict(self.failed),
            "examples": self.examples,
            "accepted": dict(self.tally.accepted.most_common()),
            "refused": dict(refused.most_common()),
            "refused_by_move": dict(sorted(self.tally.refused.items())),
            "slowest": {"seconds": round(self.slowest[0], 1), "seed": self.slowest[1]},
        }

    def save(self) -> None:
        """Write where the run stands, and its summary."""
        self.folder.mkdir(parents=True, exist_ok=True)
        _write(self.folder / "state.json", {"next_seed": self.next_seed})
        _write(self.folder / "summary.json", self.summary())


def _write(path: Path, value: object) -> None:
    """Replace a file at once: a run may be stopped at any moment."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    new.replace(path)


def _kept(seed: int, failure: Failure) -> str:
    """The name of the file that keeps a failure, made small."""
    small = shrunk(failure, timeout_s=_HANGS_S)
    CORPUS.mkdir(exist_ok=True)
    words = re.findall(
        r"[a-z]+", small.example.calls[-1].name if small.example.calls else "unfused"
    )
    path = CORPUS / f"seed_{seed}_{small.kind}_{'_'.join(words)}.c"
    small.example.save(path, f"{small.kind}: {small.text.splitlines()[0]}")
    return path.name


def soak(run: Soak, programs: int, deadline: float, jobs: int) -> None:
    """Run batches until there are enough programs or it is late."""
    started = time.monotonic()
    target = run.next_seed + programs
    ahead = run.next_seed
    done: dict[int, int] = {}
    running: dict[Future[Outcome], int] = {}
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), max_tasks_per_child=_BATCHES_PER_PROCESS
    ) as pool:
        while True:
            while len(running) < jobs and ahead < target and time.monotonic() < deadline:
                count = min(BATCH, target - ahead)
                running[pool.submit(batch, ahead, count)] = ahead
                ahead += count
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                first = running.pop(future)
                outcome = future.result()
                run.add(outcome)
                done[first] = outcome.seeds
            while run.next_seed in done:
                run.next_seed += done[run.next_seed]
            run.seconds = time.monotonic() - started
            run.save()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit code says whether anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.property.soak", description=__doc__)
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--hours", type=float, default=None)
    parser.add_argument("--seed", type=int, default=None, help="start here, and not where it was")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=Path("build/soak"))
    given = parser.parse_args(arguments)
    run = Soak.resume(given.folder, given.seed)
    hours = float("inf") if given.hours is None else given.hours
    try:
        soak(run, given.programs, time.monotonic() + hours * 3600, max(1, given.jobs))
    except KeyboardInterrupt:
        print("stopped; the next run goes on from here", file=sys.stderr)  # noqa: T201
    run.save()
    print(json.dumps(run.summary(), indent=2))  # noqa: T201
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
