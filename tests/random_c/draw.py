"""Drawing: what a seed decides."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Draw:
    """Choices that follow from a seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # noqa: S311 (nothing secret)

    def integer(self, low: int, high: int) -> int:
        """One of ``low..high``."""
        return self._random.randint(low, high)

    def chance(self, percent: int) -> bool:
        """True in so many cases of a hundred."""
        return self._random.randrange(100) < percent

    def choose(self, options: Sequence[T]) -> T:
        """One of the options; repeat what should come often."""
        return options[self._random.randrange(len(options))]

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """So many different ones, in any order."""
        return self._random.sample(list(options), min(count, len(options)))

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """All in another order."""
        return self.some(options, len(options))
