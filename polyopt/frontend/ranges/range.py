"""Interval arithmetic: the least and the greatest value, affine in sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from polyopt.isl import PwAff

if TYPE_CHECKING:
    from collections.abc import Callable

    _Join = Callable[[PwAff, PwAff], PwAff]


class Range(NamedTuple):
    """The least and the greatest value, ``[N] -> { [bound] }``; ``None`` where there is none."""

    low: PwAff | None = None
    high: PwAff | None = None

    def meet(self, other: Range) -> Range:
        """What both say of one value."""
        low = _either(self.low, other.low, PwAff.max)
        return Range(low, _either(self.high, other.high, PwAff.min))

    def join(self, other: Range) -> Range:
        """What holds of either value."""
        low = _both(self.low, other.low, PwAff.min)
        return Range(low, _both(self.high, other.high, PwAff.max))

    def plus(self, other: Range) -> Range:
        """Sums."""
        return Range(_both(self.low, other.low, PwAff.add), _both(self.high, other.high, PwAff.add))

    def minus(self, other: Range) -> Range:
        """Differences."""
        return Range(_both(self.low, other.high, PwAff.sub), _both(self.high, other.low, PwAff.sub))

    def minimum(self, other: Range) -> Range:
        """The smaller of two values."""
        high = _either(self.high, other.high, PwAff.min)
        return Range(_both(self.low, other.low, PwAff.min), high)

    def maximum(self, other: Range) -> Range:
        """The greater of two values."""
        low = _either(self.low, other.low, PwAff.max)
        return Range(low, _both(self.high, other.high, PwAff.max))


def _either(one: PwAff | None, other: PwAff | None, join: _Join) -> PwAff | None:
    if one is None or other is None:
        return one if other is None else other
    return join(one, other)


def _both(one: PwAff | None, other: PwAff | None, join: _Join) -> PwAff | None:
    return None if one is None or other is None else join(one, other)
