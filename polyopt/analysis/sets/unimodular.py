"""Unimodular changes of variables that make the ranges of a system's dimensions narrow.

Where ``i <= x <= i + 1``, the dimension ``x`` becomes ``u = x - i`` with two values in place of
thousands. The change is one to one over the integers: the system has as many points as before.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from polyopt.analysis.sets.linear import Linear, System, narrowed_ranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Ranges = Mapping[int, tuple[int, int]]


def in_narrow_ranges(system: System, ranges: Ranges) -> tuple[System, Ranges]:
    """The system with dimensions that are differences of its own, as long as the box shrinks.

    Parameters have to be substituted already.
    """
    box = tuple(_sides(ranges))
    while True:
        found = [
            (_volume(narrow), k, change, narrow)
            for k, change in enumerate(_changes(system))
            if (narrow := _ranges(_changed(system, change), [f.substituted(*change) for f in box]))
        ]
        least = min(found, key=lambda one: one[:2], default=None)
        if least is None or least[0] >= _volume(ranges):
            return system, ranges
        _, _, change, ranges = least
        system = _changed(system, change)
        box = tuple(form.substituted(*change) for form in box)


def _volume(ranges: Ranges) -> int:
    return prod(high - low + 1 for low, high in ranges.values())


def _sides(ranges: Ranges) -> Iterator[Linear]:
    for variable, (low, high) in ranges.items():
        yield Linear(-low, {variable: 1}, {})
        yield Linear(high, {variable: -1}, {})


def _changes(system: System) -> Iterator[tuple[int, Linear]]:
    """Every dimension in terms of the new one that is a constraint's linear form."""
    known: set[tuple[int, tuple[tuple[int, int], ...]]] = set()
    for constraint in system.constraints:
        if len(constraint.terms) == 1 or any(v >= system.rank for v in constraint.terms):
            continue
        for variable, factor in constraint.terms.items():
            rest = {v: -c * factor for v, c in constraint.terms.items() if v != variable}
            key = variable, tuple(sorted(rest.items()))
            if abs(factor) == 1 and key not in known:
                known.add(key)
                yield variable, Linear(0, {variable: 1, **rest}, {})


def _changed(system: System, change: tuple[int, Linear]) -> System:
    return replace(
        system,
        constraints=tuple(c.substituted(*change) for c in system.constraints),
        divisions=tuple(d.substituted(*change) for d in system.divisions),
    )


def _ranges(system: System, box: Iterable[Linear]) -> dict[int, tuple[int, int]]:
    """Bounds on the free dimensions; nothing where they exclude each other."""
    found = narrowed_ranges(system, box)
    result: dict[int, tuple[int, int]] = {}
    for variable in sorted(system.free):
        low, high = found[variable]
        if low is None or high is None or low > high:
            return {}
        result[variable] = low, high
    return result
