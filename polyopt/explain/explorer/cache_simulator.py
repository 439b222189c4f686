"""A simulated memory hierarchy: set-associative caches with LRU replacement.

Each level is asked in turn; a miss allocates the line in every level that missed it, for reads and
writes alike (write-allocate). No prefetching, no write-backs, one core. (J. Hennessy and D.
Patterson, "Computer Architecture", appendix B, has the terms.)
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from polyopt.errors import InvalidOptionError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polyopt.codegen.target import Target

#: bytes of a cache line on x86-64 and most of ARM
LINE_BYTES = 64
#: elements of a line, and ways of both levels, where caches are scaled to the sizes drawn
_LINE_ELEMENTS, _WAYS = 4, 4
#: the data is so many times as large as L1 and as L2 where caches are scaled
_SMALLER = (8, 2)
#: lines that a scaled L1 and L2 have at least
_LEAST_LINES = (4, 8)


@dataclass(frozen=True)
class CacheLevel:
    """One cache: its name, capacity and line in bytes, and the lines of a set (``ways``).

    Raises ``InvalidOptionError`` where the capacity is no whole number of sets.
    """

    name: str
    capacity: int
    line: int = LINE_BYTES
    ways: int = 8

    def __post_init__(self) -> None:
        """Check that it is a cache."""
        numbers: tuple[Any, ...] = (self.capacity, self.line, self.ways)
        if not all(isinstance(n, int) and n > 0 for n in numbers):
            message = f"{shown(self.name)} is no cache: bytes and ways are whole numbers above 0"
            raise InvalidOptionError(message, hint='CacheLevel("L1", 32768, line=64, ways=8)')
        if self.capacity % (self.line * self.ways):
            message = f"{self.name}: {self.capacity} bytes are no whole number of sets"
            hint = f"a set has {self.ways} lines of {self.line} bytes"
            raise InvalidOptionError(message, hint=hint)

    @property
    def sets(self) -> int:
        """Number of sets."""
        return self.capacity // (self.line * self.ways)


def check_caches(levels: object) -> tuple[CacheLevel, ...]:
    """Levels as a tuple, from the core outwards.

    Raises ``InvalidOptionError`` for what is none, and for lines that differ.
    """
    found = cast("Any", levels)
    if not isinstance(found, list | tuple) or not found:
        message = f"caches are a list of levels, not {shown(levels)}"
        raise InvalidOptionError(message, hint='[CacheLevel("L1", 32768)]')
    every = tuple(cast("Sequence[object]", found))
    if not all(isinstance(level, CacheLevel) for level in every):
        message = "each of the caches is a CacheLevel"
        raise InvalidOptionError(message, hint='[CacheLevel("L1", 32768)]')
    known = cast("tuple[CacheLevel, ...]", every)
    if len({level.line for level in known}) > 1:
        message = "all levels have lines of one length"
        raise InvalidOptionError(message, hint=f"such as line={known[0].line}")
    return known


def machine_caches(machine: Target) -> tuple[CacheLevel, ...]:
    """L1 and L2 of a target, 8-way, rounded down to whole sets."""
    whole = LINE_BYTES * 8
    sizes = {"L1": machine.l1_bytes, "L2": machine.l2_bytes}
    return tuple(CacheLevel(n, max(1, size // whole) * whole) for n, size in sizes.items())


def scaled_caches(data_bytes: int, element_bytes: int) -> tuple[CacheLevel, ...]:
    """Caches as much too small for the data drawn as real ones are for real data.

    L1 holds about an eighth of it and L2 a half, in powers of two; a line has four elements.
    """
    line = _LINE_ELEMENTS * element_bytes
    levels: list[CacheLevel] = []
    for name, smaller, least in zip(("L1", "L2"), _SMALLER, _LEAST_LINES, strict=True):
        lines = max(least, data_bytes // (smaller * line))
        levels.append(CacheLevel(name, (1 << (lines.bit_length() - 1)) * line, line, _WAYS))
    return tuple(levels)


class _Level:
    """The lines that a level holds now, per set from the least to the most recently used."""

    def __init__(self, level: CacheLevel) -> None:
        self._ways = level.ways
        self._sets = [OrderedDict[int, None]() for _ in range(level.sets)]

    def hits(self, line: int) -> bool:
        """Access a line: whether it was there; it is afterwards."""
        found = self._sets[line % len(self._sets)]
        if line in found:
            found.move_to_end(line)
            return True
        if len(found) == self._ways:
            found.popitem(last=False)
        found[line] = None
        return False


def simulate(lines: Iterable[int], levels: Sequence[CacheLevel]) -> list[int]:
    """How many levels each access misses, in order, for the numbers of the lines accessed.

    0 is a hit in the first level; ``len(levels)`` goes to memory.
    """
    caches = [_Level(level) for level in levels]
    missed: list[int] = []
    for line in lines:
        count = 0
        for cache in caches:
            if cache.hits(line):
                break
            count += 1
        missed.append(count)
    return missed
