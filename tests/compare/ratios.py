"""Ratios of times, how far they can be trusted, and what they say: base over new, so that more
than 1 is faster than before."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: a ratio below this is a loss, where its interval excludes 1
LOSS = 0.95
#: fewer rounds than this say nothing about how far their median would move
LEAST_ROUNDS = 5
_RESAMPLES = 2000
SLOWER, FASTER, ALIKE = "slower", "faster", "alike"


@dataclass(frozen=True)
class Ratio:
    """The ratio of two medians, with its bootstrap 95 % confidence interval.

    Times are seconds a call. ``low`` and ``high`` are ``None`` with too few rounds.
    """

    base_s: float
    new_s: float
    low: float | None
    high: float | None

    @property
    def value(self) -> float:
        """Base over new."""
        return self.base_s / self.new_s

    @property
    def verdict(self) -> str:
        """Slower, faster, or alike: beyond the limit, with an interval that excludes 1."""
        if self.low is None or self.high is None:
            return ALIKE
        if self.value < LOSS and self.high < 1:
            return SLOWER
        return FASTER if self.value > 1 / LOSS and self.low > 1 else ALIKE


def ratio_of(turns: Sequence[tuple[float, float]]) -> Ratio:
    """The ratio of the medians of both columns.

    Rounds are drawn as pairs: what slowed the machine down slowed both, and cancels out.
    """
    both = np.array(turns, dtype=float)
    base, new = np.median(both, axis=0)
    low = high = None
    if len(turns) >= LEAST_ROUNDS:
        drawn = np.random.default_rng(0).integers(len(turns), size=(_RESAMPLES, len(turns)))
        medians = np.median(both[drawn], axis=1)
        low, high = map(float, np.quantile(medians[:, 0] / medians[:, 1], (0.025, 0.975)))
    return Ratio(float(base), float(new), low, high)


def geometric_mean(values: Iterable[float]) -> float:
    """The mean of ratios; 1 of none."""
    known = list(values)
    return statistics.geometric_mean(known) if known else 1.0


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The bootstrap 95 % interval of the geometric mean, of which kernels there are by chance;
    ``None`` of too few."""
    if len(values) < LEAST_ROUNDS:
        return None
    logs = np.log(np.array(values))
    drawn = np.random.default_rng(0).integers(len(logs), size=(_RESAMPLES, len(logs)))
    low, high = np.exp(np.quantile(logs[drawn].mean(axis=1), (0.025, 0.975)))
    return float(low), float(high)
