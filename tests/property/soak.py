"""Random programs and plans for hours: ``python -m tests.property.soak --programs N --hours H``.

Goes on where the last run stopped, writes what fails, made small, to ``tests/property/corpus``,
a journal of all runs to ``build/soak``, and, where asked, a page with its numbers beside it, from
which another machine goes on. The exit code is 1 after any failure. Batches of programs run in
processes of this machine, or on the workers of a dask cluster (``--cluster tcp://...``), which have
to find these tests in the same place.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .batches import HANGS_S, apart, batch, one_by_one
from .cases import BATCH
from .shrink import shrunk
from .soak_page import page
from .trial import Example, check

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from .batches import Outcome
    from .trial import Failure

    #: submits a batch, by its first seed and how many
    Submit = Callable[[int, int], Future[Outcome]]

CORPUS = Path(__file__).with_name("corpus")
#: workers start anew after so many batches: isl keeps what it once needed
_BATCHES_PER_PROCESS = 12
#: how long a cluster may take to answer, and how often a batch's worker may be lost
_ANSWERS_S, _REVIVALS = 10, 3
#: failures of one kind beyond this many are counted, and not made small
_MOST_SHRUNK = 5


# -- what is driven -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A generator of random programs: how its batches run, and how its failures are kept."""

    #: its key in a report
    name: str
    #: programs of a batch
    size: int
    batch: Callable[[int, int], Outcome]
    #: a batch in a process of its own, and each program of one in its own
    apart: Callable[[int, int], Outcome]
    one_by_one: Callable[[int, int], Iterable[Outcome]]
    #: the name of the file that keeps a failure, made small; none where there is no text
    keep: Callable[[int, Any], str]
    #: whether a failure that a report tells does not fail any more
    mended: Callable[[Mapping[str, Any]], bool]


def kept(seed: int, failure: Failure) -> str:
    """The name of the file that keeps a failure, made small; none where there is no text."""
    if not failure.example.text:
        return ""
    small = shrunk(failure, timeout_s=HANGS_S)
    CORPUS.mkdir(exist_ok=True)
    words = re.findall(
        r"[a-z]+", small.example.calls[-1].name if small.example.calls else "unfused"
    )
    path = CORPUS / f"seed_{seed}_{small.kind}_{'_'.join(words)}.c"
    small.example.save(path, f"{small.kind}: {small.text.splitlines()[0]}")
    return path.name


def mended(example: Mapping[str, Any]) -> bool:
    """Whether a failure's file does no wrong any more; where there is none, its seed."""
    if (path := CORPUS / example["file"]).is_file():
        return check(Example.load(path), timeout_s=HANGS_S) is None
    return not example["file"] and not apart(example["seed"], 1).failures


PROPERTY = Kind("property", BATCH, batch, apart, one_by_one, kept, mended)


# -- the runs, and where they stand ---------------------------------------------------------------

_COUNTED = ("kinds", "accepted", "refused", "failed")


@dataclass
class Soak:
    """Runs that can be stopped and go on; everything is in their folder.

    ``counts`` are those of all runs since the first; ``programs`` are those of this one.
    """

    folder: Path
    next_seed: int
    first_seed: int = 0
    programs: int = 0
    failures: int = 0
    totals: dict[str, float] = field(
        default_factory=lambda: {"programs": 0, "plans": 0, "hours": 0}
    )
    counts: dict[str, Counter[str]] = field(
        default_factory=lambda: {name: Counter[str]() for name in _COUNTED}
    )
    examples: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    slowest: tuple[float, int] = (0.0, 0)
    #: how many programs of the batches that ended before one that came earlier, by first seed
    ahead: dict[int, int] = field(default_factory=dict[int, int])
    #: which code runs: numbers of several versions may be in one journal
    code: str = "unknown"
    kind: Kind = PROPERTY

    @classmethod
    def resume(
        cls, folder: Path, seed: int | None, page: Path | None = None, kind: Kind = PROPERTY
    ) -> Soak:
        """The runs as they were left, here or by who wrote the page; ``seed`` starts new ones."""
        state = _state(folder, kind)
        left = reported(page).get(kind.name) if page else None
        if state.exists():
            left = json.loads(state.read_text(encoding="utf-8"))
        if seed is not None or left is None:
            return cls(folder, seed or 0, seed or 0, kind=kind)
        return cls(
            folder,
            left["next_seed"],
            left["first_seed"],
            totals=left["totals"],
            counts={name: Counter(left["counts"][name]) for name in _COUNTED},
            examples=left["examples"],
            slowest=(left["slowest"][0], left["slowest"][1]),
            ahead=dict(left.get("ahead", ())),
            kind=kind,
        )

    def done(self, first: int, count: int) -> None:
        """A batch has ended; ``next_seed`` is the first of those that have not."""
        self.ahead[first] = count
        while self.next_seed in self.ahead:
            self.next_seed += self.ahead.pop(self.next_seed)

    def add(self, outcome: Outcome) -> None:
        """Count a batch."""
        self.programs += outcome.programs
        self.totals["programs"] += outcome.programs
        self.totals["plans"] += outcome.plans
        self.totals["hours"] += outcome.seconds / 3600
        self.counts["kinds"].update({**outcome.kinds, f"code: {self.code}": outcome.programs})
        self.counts["accepted"].update(outcome.tally.accepted)
        self.counts["refused"].update(outcome.tally.refused)
        self.slowest = max(self.slowest, outcome.slowest)
        for seed, failure in outcome.failures:
            self.failures += 1
            self.counts["failed"][failure.kind] += 1
            print(f"seed {seed}: {failure.kind}: {failure.text.splitlines()[0]}", flush=True)  # noqa: T201
            number = self.counts["failed"][failure.kind]
            file = self.kind.keep(seed, failure) if number <= _MOST_SHRUNK else ""
            said = failure.text.splitlines()[0]
            told = {"seed": seed, "kind": failure.kind, "text": said, "file": file}
            self.examples.append({**told, "code": self.code})

    def look_again(self) -> None:
        """Note of each failure with which code it is gone."""
        for example in self.examples:
            if not example.get("mended") and _gone(self.kind, example):
                example["mended"] = self.code

    def summary(self) -> dict[str, Any]:
        """The runs in numbers."""
        return {
            "first_seed": self.first_seed,
            "next_seed": self.next_seed,
            "ahead": sorted(self.ahead.items()),
            "totals": self.totals,
            "counts": {name: dict(self.counts[name].most_common()) for name in _COUNTED},
            "examples": self.examples,
            "slowest": list(self.slowest),
        }

    def save(self) -> None:
        """Write where the runs stand."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = _state(self.folder, self.kind)
        new = path.with_suffix(".new")  # replaced at once: a run may be stopped at any moment
        new.write_text(self.text, encoding="utf-8")
        new.replace(path)

    @property
    def text(self) -> str:
        """The summary as it is kept."""
        return json.dumps(self.summary(), indent=2) + "\n"


def _gone(kind: Kind, example: Mapping[str, Any]) -> bool:
    """Whether a failure is gone, tried in a process of its own; if that dies, it is not."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        tried = pool.submit(kind.mended, example)
    return tried.exception() is None and tried.result()


def _state(folder: Path, kind: Kind = PROPERTY) -> Path:
    return folder / ("state.json" if kind is PROPERTY else f"{kind.name}.json")


def _beside(page: Path) -> Path:
    """Where the numbers of a page are kept with it."""
    return page.with_suffix(".json")


def reported(page: Path) -> dict[str, dict[str, Any]]:
    """The numbers beside a page, by generator."""
    if not _beside(page).exists():
        return {}
    found = json.loads(_beside(page).read_text(encoding="utf-8"))
    return {PROPERTY.name: found} if "totals" in found else found


def report(run: Soak, path: Path) -> None:
    """Write the page, and the numbers beside it: those of other generators stay."""
    states = {**reported(path), run.kind.name: run.summary()}
    path.write_text(page(states), encoding="utf-8")
    _beside(path).write_text(json.dumps(states, indent=2) + "\n", encoding="utf-8")


class _Processes:
    """Processes of this machine; new ones where one has died, for it takes the others along."""

    def __init__(self, jobs: int, kind: Kind) -> None:
        self._jobs, self._kind = jobs, kind
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._jobs, mp_context=get_context("spawn"), max_tasks_per_child=_BATCHES_PER_PROCESS
        )

    def submit(self, first: int, count: int) -> Future[Outcome]:
        try:
            return self._pool.submit(self._kind.batch, first, count)
        except BrokenProcessPool:
            self.close()
            self._pool = self._new()
            return self._pool.submit(self._kind.batch, first, count)

    def close(self) -> None:
        self._pool.shutdown()


@contextmanager
def workers(jobs: int, cluster: str | None, kind: Kind = PROPERTY) -> Generator[tuple[Submit, int]]:
    """What runs batches, and how many at once: processes of this machine, or a dask cluster.

    A worker of a cluster that is lost loses nothing: its batches run again.
    """
    if cluster is None:
        with closing(_Processes(jobs, kind)) as pool:
            yield pool.submit, jobs
        return
    from distributed import Client

    try:
        client: Any = Client(cluster, timeout=_ANSWERS_S)
    except (OSError, ValueError) as error:
        raise SystemExit(f"no cluster answers at {cluster}: {error}".splitlines()[0]) from None
    with client:
        there = client.get_executor(pure=False, retries=_REVIVALS)
        yield partial(there.submit, kind.apart), sum(client.nthreads().values()) or jobs


def soak(run: Soak, programs: int, deadline: float, jobs: int, cluster: str | None = None) -> None:
    """Run batches until there are enough programs or it is late."""
    target = run.next_seed + programs
    with workers(jobs, cluster, run.kind) as (submit, window):
        drive(run, submit, range(run.next_seed, target), deadline, window)


def drive(run: Soak, submit: Submit, seeds: range, deadline: float, jobs: int) -> None:
    """Count and keep batches as they end."""
    ahead, done = seeds.start, {**run.ahead}
    running: dict[Future[Outcome], tuple[int, int]] = {}
    while True:
        while len(running) < jobs and ahead < seeds.stop and time.monotonic() < deadline:
            # batches keep their place, so that a seed's compiler is always the same
            count = min(run.kind.size - ahead % run.kind.size, seeds.stop - ahead)
            if ahead in done:
                ahead += done[ahead]
                continue
            running[submit(ahead, count)] = ahead, count
            ahead += count
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            first, count = running.pop(future)
            for outcome in _outcomes(run.kind, future, first, count):
                run.add(outcome)
            run.done(first, count)
            run.save()


def _outcomes(kind: Kind, future: Future[Outcome], first: int, count: int) -> Iterable[Outcome]:
    """What a batch gave; where its process died, for whatever reason, what its programs give."""
    try:
        return [future.result()]
    except RuntimeError:  # what a broken pool raises is one
        return kind.one_by_one(first, count)


def _commit() -> str:
    """The commit whose code runs, with a plus where files differ from it."""
    words = ["git", "describe", "--always", "--exclude=*", "--abbrev=8", "--dirty=+"]
    try:
        done = subprocess.run(words, cwd=CORPUS.parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def main(
    arguments: Sequence[str] | None = None, kind: Kind = PROPERTY, told: str | None = __doc__
) -> int:
    """The command line; the exit code says whether anything failed."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.{kind.name}.soak", description=told)
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--hours", type=float, default=None)
    parser.add_argument("--seed", type=int, default=None, help="start here, and not where it was")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cluster", metavar="ADDRESS", help="run batches on a dask cluster")
    parser.add_argument("--folder", type=Path, default=Path("build/soak"))
    parser.add_argument("--page", type=Path, default=None, help="write all runs' numbers there")
    given = parser.parse_args(arguments)
    os.environ.setdefault("POLYOPT_CC_TIMEOUT", "3600")  # a soak gives way to all else
    run = Soak.resume(given.folder, given.seed, given.page, kind)
    run.code = _commit()
    hours = float("inf") if given.hours is None else given.hours
    try:
        deadline = time.monotonic() + hours * 3600
        soak(run, given.programs, deadline, max(1, given.jobs), given.cluster)
    except KeyboardInterrupt:
        print("stopped; the next run goes on from here", file=sys.stderr)  # noqa: T201
    run.look_again()
    run.save()
    if given.page:
        report(run, given.page)
    print(run.text)  # noqa: T201
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
