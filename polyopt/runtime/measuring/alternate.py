"""Times of several variants in one run: they alternate, so that all see the same machine.

What is measured is a call with hot caches at full clock: before each timed sample the same variant
runs untimed, once or for as long as a core that slept needs to speed up. Otherwise each would find
what the one before it left in the caches, and a variant would pay or profit for its neighbour's
sake. Work that does not fit into the caches is unaffected; calls that take long go without, because
filling the caches is a small part of them.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: a middle half wider than this, relative to the median, is measured again
WIDE = 0.1
#: so is a median this many times the least: threads that wait for one that other programs took the
#: processor from do so in most calls, and their median is as narrow as it is wrong. On a busy
#: machine of two cores it was 30 times the least, on a quiet one below 1.1 times
FAR = 2.0
_ATTEMPTS = 3
_LEAST_ROUNDS, _MOST_ROUNDS = 7, 200
#: calls shorter than this are timed several at once
_SAMPLE_S = 1e-3
#: calls longer than this fill the caches themselves
_LONG_S = 0.2
#: for as long the threads of another variant may spin, waiting for more work
_SETTLING_S = 2e-3
#: a core is slow after such a wait: a copy of 20 MB took a third longer right after it
_WARMING_S = 3e-3


@dataclass(frozen=True)
class Sample:
    """What one variant took, in milliseconds a call; ``noisy`` where it stayed spread out."""

    median_ms: float
    min_ms: float
    iqr_ms: float
    runs: int
    noisy: bool = False

    @property
    def spread(self) -> float:
        """The middle half's width relative to the median."""
        return self.iqr_ms / self.median_ms if self.median_ms else 0.0

    @property
    def is_steady(self) -> bool:
        """Whether the middle half is narrow, and the median not far from the least."""
        return self.spread <= WIDE and self.median_ms <= FAR * self.min_ms


@dataclass(frozen=True)
class Subject:
    """A call to time, and what has to be put back before it.

    What runs in another process brings its own ``sample``: as ``timed``, from repeats and warmth.
    """

    call: Callable[[], object]
    restore: Callable[[], object] | None = None
    sample: Callable[[int, bool], float] | None = None


def alternate(
    subjects: Mapping[str, Subject], *, seconds: float = 1.0, rounds: int | None = None
) -> dict[str, Sample]:
    """Time all subjects in turn, round after round; again, up to three times, while spread out.

    Each sample is of a variant whose data is in the caches and whose neighbour's threads sleep: it
    waits a little and then calls untimed, unless calls take long, for one variant as for many.

    ``rounds`` fixes the number of rounds; without it they fill ``seconds`` for each subject.
    Of several attempts the first one that is not spread out counts. Where all are, their rounds
    count together: each alone has too few for a median that more of them would not move.
    """
    plans = {name: _Sampling.of(subject) for name, subject in subjects.items()}
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(_ATTEMPTS):
        attempt = _attempt(subjects, plans, seconds * len(subjects), rounds)
        samples = {name: summary(values) for name, values in attempt.items()}
        if all(sample.is_steady for sample in samples.values()):
            return samples
        for name, values in attempt.items():
            times[name] += values
    return {name: _marked(summary(values)) for name, values in times.items()}


def _marked(sample: Sample) -> Sample:
    return replace(sample, noisy=not sample.is_steady)


@dataclass(frozen=True)
class _Sampling:
    """How a subject is sampled: calls in one sample, and whether one more comes before."""

    repeats: int
    warm: bool

    @classmethod
    def of(cls, subject: Subject) -> _Sampling:
        """By the second call, or the first where that takes long already.

        What changes its own input is timed call by call.
        """
        taken = timed(subject, 1, warm=False)
        if taken < _LONG_S:
            taken = timed(subject, 1, warm=False)
        several = max(1, min(1000, round(_SAMPLE_S / max(taken, 1e-7))))
        return cls(1 if subject.restore else several, taken < _LONG_S)


def timed(subject: Subject, repeats: int, *, warm: bool = True) -> float:
    """Seconds a call, after some that warm the core and its caches up."""
    if subject.sample is not None:
        return subject.sample(repeats, warm)
    time.sleep(_SETTLING_S)
    if warm:
        _warm_up(subject)
    _restored(subject)
    call = subject.call
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def _warm_up(subject: Subject) -> None:
    end = time.perf_counter() + _WARMING_S
    while True:
        _restored(subject)
        subject.call()
        if time.perf_counter() >= end:
            return


def _restored(subject: Subject) -> None:
    if subject.restore is not None:
        subject.restore()


def _attempt(
    subjects: Mapping[str, Subject],
    plans: Mapping[str, _Sampling],
    seconds: float,
    rounds: int | None,
) -> dict[str, list[float]]:
    """Milliseconds a call of each subject, by rounds."""
    times: dict[str, list[float]] = {name: [] for name in subjects}
    end = time.perf_counter() + seconds
    count = 0
    while count < (rounds or _LEAST_ROUNDS) or (
        rounds is None and count < _MOST_ROUNDS and time.perf_counter() < end
    ):
        for name, subject in subjects.items():
            how = plans[name]
            times[name].append(timed(subject, how.repeats, warm=how.warm) * 1e3)
        count += 1
    return times


def summary(times: list[float]) -> Sample:
    """Median, least and middle half of times in milliseconds."""
    if len(times) < 2:
        return Sample(times[0], times[0], 0.0, 1)
    low, _, high = statistics.quantiles(times, n=4, method="inclusive")
    return Sample(statistics.median(times), min(times), high - low, len(times))
