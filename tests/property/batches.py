"""A batch of random programs and plans, made, compiled and compared: what a worker of a soak does.

``python -m tests.property.batches FILE FIRST COUNT`` leaves what a batch gave in a file: workers
of a cluster have threads of their own, and isl keeps what it once needed.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .cases import build_of, make_case
from .plans import Tally
from .trial import Example, Failure, failures_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from .trial import Trial

#: the folder that holds the tests
_ROOT = Path(__file__).parents[2]
#: a compiled batch that takes more processor time than this does not end: it takes a second
HANGS_S = 120.0
#: a program and its plan that take more processor time than this are a failure: most take 0.1 s
_SLOW_S = 90.0


class TooSlow(BaseException):
    """A program and its plan took more processor time than any should.

    No ``Exception``: what is told as that of a step is not the time that it took.
    """


@dataclass
class Outcome:
    """What a batch of seeds gave."""

    programs: int = 0
    plans: int = 0
    #: of processor time: a soak gives way to all else, so the clock says nothing
    seconds: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter[str])
    tally: Tally = field(default_factory=Tally)
    failures: list[tuple[int, Failure]] = field(default_factory=list[tuple[int, Failure]])
    slowest: tuple[float, int] = (0.0, 0)


def batch(first: int, count: int) -> Outcome:
    """Make, compile and compare the programs of some seeds."""
    outcome = Outcome(programs=count)
    started = _spent()
    build = build_of(first)
    trials: list[tuple[int, Trial]] = []
    gc.disable()  # a batch is short, and what it makes is many small values that stay
    for seed in range(first, first + count):
        before = time.process_time()
        try:
            with limited(_SLOW_S):
                case = make_case(seed, outcome.tally)
        except TooSlow:
            failure = Failure("slow", f"more than {_SLOW_S:g} s", Example("", {}, ()))
            outcome.failures.append((seed, failure))
            continue
        trials.append((seed, case.trial))
        outcome.kinds.update(case.kinds)
        outcome.slowest = max(outcome.slowest, (time.process_time() - before, seed))
    outcome.kinds[f"build: {build}"] += len(trials)
    outcome.plans = sum(len(t.subject.functions) for _, t in trials)
    outcome.kinds["runs"] = sum(len(t.subject.runs) for _, t in trials)
    seeds = {trial.example.text: seed for seed, trial in trials}
    found = failures_of([t for _, t in trials], build=build, timeout_s=HANGS_S)
    outcome.failures += [(seeds[failure.example.text], failure) for failure in found]
    del trials
    gc.enable()
    gc.collect()
    outcome.seconds = _spent() - started
    return outcome


def _spent() -> float:
    """Processor time of this process, compilers and compiled functions included, in seconds."""
    return sum(os.times()[:4])


@contextmanager
def limited(seconds: float) -> Generator[None]:
    """Stop what takes more processor time, at the next chance that Python gets.

    It is told again each second: isl's callbacks swallow what is raised in them. A search of isl
    that has no end gives Python no chance: after twice the time the process is killed.
    """

    def stop(_signal: int, _frame: object) -> None:
        raise TooSlow

    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    taken = resource.getrusage(resource.RUSAGE_SELF)
    last = int(taken.ru_utime + taken.ru_stime + 2 * seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (last if soft < 0 else min(last, soft), hard))
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def apart(first: int, count: int, module: str = __name__) -> Outcome:
    """A batch in a process of its own. Raises ``RuntimeError`` where that ends without a result."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcome"
        words = [sys.executable, "-m", module, str(file), str(first), str(count)]
        done = subprocess.run(words, cwd=_ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines()[-1:] or ["nothing said"]
            message = f"the batch from seed {first} ended with {done.returncode}: {said[0]}"
            raise RuntimeError(message)
        return pickle.loads(file.read_bytes())


def one_by_one(
    first: int, count: int, alone: Callable[[int, int], Outcome] = apart
) -> Generator[Outcome]:
    """A batch whose process died, each program in its own: who dies there again is a finding."""
    for seed in range(first, first + count):
        try:
            yield alone(seed, 1)
        except RuntimeError as error:
            crash = Failure("crash", str(error), Example("", {}, ()))
            yield Outcome(programs=1, failures=[(seed, crash)])


if __name__ == "__main__":
    from tests.property import batches  # as others know what is pickled

    outcome = batches.batch(int(sys.argv[2]), int(sys.argv[3]))
    Path(sys.argv[1]).write_bytes(pickle.dumps(outcome))
