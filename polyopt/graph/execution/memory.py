"""One arena for all tensors: which may share memory, because they never live at the same time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: tensors start on cache lines
ALIGNMENT = 64


@dataclass(frozen=True)
class Lifetime:
    """A tensor from the step that writes it to the last that reads it, both included."""

    name: str
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Arena:
    """Where each tensor lies, in bytes from the start, and how many bytes there are in all."""

    offsets: Mapping[str, int]
    bytes: int
    #: what the tensors would take one after the other
    unshared_bytes: int


def plan_memory(lifetimes: Sequence[Lifetime]) -> Arena:
    """Offsets by size: the largest tensor first, each at the lowest place that is free.

    The heuristic is 'greedy by size' of Y. Pisarchyk and J. Lee, "Efficient memory management for
    deep neural net inference", 2020.
    """
    placed: list[tuple[int, Lifetime]] = []
    for tensor in sorted(lifetimes, key=lambda t: (-t.bytes, t.first, t.name)):
        taken = sorted(
            (start, start + aligned(other.bytes))
            for start, other in placed
            if tensor.first <= other.last and other.first <= tensor.last
        )
        placed.append((_first_gap(taken, aligned(tensor.bytes)), tensor))
    return Arena(
        {tensor.name: start for start, tensor in placed},
        max((start + aligned(tensor.bytes) for start, tensor in placed), default=0),
        sum(aligned(tensor.bytes) for tensor in lifetimes),
    )


def _first_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """The lowest place with ``size`` free bytes; ``taken`` are sorted ranges."""
    place = 0
    for start, stop in taken:
        if start - place >= size:
            break
        place = max(place, stop)
    return place


def aligned(size: int) -> int:
    """The next multiple of ``ALIGNMENT``."""
    return -(-size // ALIGNMENT) * ALIGNMENT
