"""How many integer points a set has, for given sizes: exact, and without visiting them.

A set becomes disjoint systems of linear constraints, whose integer divisions are explicit. Within
a system, dimensions that no constraint links are counted apart and multiplied. Of linked ones the
small are enumerated, all values at once, and the last is counted in closed form: between its
bounds, once per residue where divisions depend on it.

What is enumerated has a limit, the same on every machine: beyond it dimensions become differences
of each other where that makes their ranges narrow (``unimodular``). Where that does not do either,
there is no exact number: ``counted`` says which it is, and takes evenly spaced values of some
million rows in place of all. Such an estimate has no bound on its error; on tiled, skewed and
strided sets that can be counted otherwise it is off by less than a hundredth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.analysis.sets.linear import Linear, System, system_ranges, systems
from polyopt.analysis.sets.unimodular import in_narrow_ranges
from polyopt.errors import NotDecidedError
from polyopt.isl import Set, TextKeyed, params_of, sets_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from polyopt.isl import UnionSet

    Column = NDArray[Any]

#: Rows that are looked at together; more are taken in chunks.
_CHUNK = 1 << 20
#: Rows that are looked at for one exact number, all chunks and dimensions together.
MOST_ROWS = 1 << 24
#: Rows of each dimension that an estimate looks at, where one value has no more.
_SAMPLE = 1 << 20
#: Beyond this, machine integers might wrap and Python's are used.
_WIDE = 1 << 61
#: Of more linked dimensions than this, only the shortest are tried as the first to enumerate.
_FEW = 6


def count(domain: Set | UnionSet, sizes: Mapping[str, int]) -> int:
    """The number of elements for the given parameter values.

    ``sizes`` has to name every parameter that the set depends on. Raises ``NotDecidedError`` where
    more than ``MOST_ROWS`` rows would have to be looked at, ``InternalError`` for an infinite set
    or a parameter without a value.
    """
    found = _in_all(domain, sizes)
    if found is not None:
        return found
    message = f"not counted: more than {MOST_ROWS:,} values would have to be looked at"
    raise NotDecidedError(message, hint="ask for smaller sizes, or for larger tiles")


@dataclass(frozen=True)
class Number:
    """How many elements a set has, exactly or by an estimate."""

    value: int
    is_exact: bool


class Estimate(float):
    """A number that rests on an estimate: it prints with ``~`` before it."""

    def __format__(self, form: str) -> str:
        return f"~{float(self):{form}}"


def guessed(numbers: Mapping[str, float]) -> list[str]:
    """The names of those numbers that are estimates."""
    return [name for name, value in numbers.items() if isinstance(value, Estimate)]


def rounded(value: float, digits: int) -> float:
    """The number with so many digits after the point; an estimate stays one."""
    found = round(value, digits)
    return Estimate(found) if isinstance(value, Estimate) else found


def counted(domain: Set | UnionSet, sizes: Mapping[str, int]) -> Number:
    """The number of elements: exact where ``count`` gives one, else from evenly spaced ones.

    Raises ``InternalError`` as ``count`` does.
    """
    found = _in_all(domain, sizes)
    if found is not None:
        return Number(found, is_exact=True)
    return Number(_in_all(domain, sizes, sampled=True) or 0, is_exact=False)


def about(domain: Set | UnionSet, sizes: Mapping[str, int]) -> int:
    """The number of elements as ``counted`` finds it, however exact."""
    return counted(domain, sizes).value


def _in_all(
    domain: Set | UnionSet, sizes: Mapping[str, int], *, sampled: bool = False
) -> int | None:
    """The number of elements; ``None`` where it takes too long."""
    parts = [domain] if isinstance(domain, Set) else sets_of(domain)
    total = 0
    for part in parts:
        names = params_of(part.get_space())
        found = _count(
            TextKeyed.of(part), tuple(sizes.get(name) for name in names), sampled=sampled
        )
        if found is None:
            return None
        total += found
    return total


class _TooManyError(Exception):
    """More rows than may be looked at."""


@lru_cache(maxsize=8192)
def _count(written: TextKeyed, values: tuple[int | None, ...], *, sampled: bool) -> int | None:
    parts = systems(written.value)
    try:
        return sum(_count_system(part, values, sampled=sampled) for part in parts)
    except _TooManyError:
        return None


def _count_system(parametric: System, values: tuple[int | None, ...], *, sampled: bool) -> int:
    system = _without_determined(parametric.at(values))
    for constraint in system.constraints:
        value = constraint.constant
        if not constraint.terms and (value != 0 if constraint.equality else value < 0):
            return 0
    ranges = system_ranges(system, values)
    if ranges is None:
        return 0
    counter = _Counter(system, ranges, sampled=sampled)
    if not sampled and counter.needs(system.free) > MOST_ROWS:
        counter = _Counter(*in_narrow_ranges(system, ranges), sampled=False)
    return int(counter.rows(system.free, {}, 1)[0])


def _without_determined(system: System) -> System:
    """The system less dimensions that an equality gives as an expression of the others."""
    for constraint in system.constraints:
        if not constraint.equality:
            continue
        for variable, factor in constraint.terms.items():
            if variable >= system.rank or abs(factor) != 1:
                continue
            others = {v: -factor * c for v, c in constraint.terms.items() if v != variable}
            value = Linear(-factor * constraint.constant, others, {})
            if variable in system.dims_of(value) or _refers_forward(system, variable, value):
                continue
            return _without_determined(_determined(system, constraint, variable, value))
    return system


def _refers_forward(system: System, variable: int, value: Linear) -> bool:
    """Whether a division that uses the variable comes before one that its value uses."""
    last = max((v for v in value.terms if v >= system.rank), default=-1)
    users = [k + system.rank for k, d in enumerate(system.divisions) if variable in d.terms]
    return bool(users) and last >= min(users)


def _determined(system: System, equation: Linear, variable: int, value: Linear) -> System:
    rest = (c for c in system.constraints if c is not equation)
    return replace(
        system,
        free=system.free - {variable},
        constraints=tuple(c.substituted(variable, value) for c in rest),
        divisions=tuple(d.substituted(variable, value) for d in system.divisions),
    )


class _Counter:
    """Counts a system's points by rows: values of enumerated dimensions, columns of numbers."""

    def __init__(
        self, system: System, ranges: Mapping[int, tuple[int, int]], *, sampled: bool
    ) -> None:
        self.system, self.ranges, self.sampled = system, ranges, sampled
        self.left = MOST_ROWS
        self.deps = {c: system.dims_of(c) for c in system.constraints if c.terms}
        self.works: dict[frozenset[int], int] = {}
        volume = 1
        for low, high in ranges.values():
            volume *= high - low + 1
        self.dtype: Any = object if volume > _WIDE else np.int64
        #: of values of dimensions and expressions
        self.index_type: Any = object if self._largest() > _WIDE else np.int64

    def _largest(self) -> int:
        """A bound of the absolute values that counting computes with."""
        ends = [abs(end) for pair in self.ranges.values() for end in pair]
        periods = [self._period(dim) for dim in self.ranges]
        reach = max([1, *ends, *periods])
        return max((self._reach(c, reach) for c in self.deps), default=reach) + reach

    def _reach(self, form: Linear, reach: int) -> int:
        """A bound of an expression's absolute value, divisions not made, for dimensions within
        ``reach``."""
        inner = (
            abs(factor) * (reach if v < self.system.rank else self._reach(self._division(v), reach))
            for v, factor in form.terms.items()
        )
        return max(form.divisor, abs(form.constant) + sum(inner))

    def _division(self, variable: int) -> Linear:
        return self.system.divisions[variable - self.system.rank]

    def needs(self, dims: frozenset[int]) -> int:
        """How many rows counting looks at, were every dimension to take its whole range."""
        return max((self._work(part, frozenset()) for part in self._components(dims, frozenset())),
                   default=1)  # fmt: skip

    def rows(self, dims: frozenset[int], known: Mapping[int, Column], number: int) -> Column:
        """For each row of known values, how many values the other dimensions take together."""
        total = np.ones(number, self.dtype)
        for part in self._components(dims, frozenset(known)):
            total *= self._component(part, known, number)
            if not total.any():
                break
        return total

    def _components(self, dims: frozenset[int], known: frozenset[int]) -> list[frozenset[int]]:
        """The dimensions in groups that no constraint links, given the known ones."""
        groups = [frozenset({d}) for d in sorted(dims)]
        for linked in self.deps.values():
            # a constraint whose dimensions are all known has been looked at already
            inside = linked - known
            touched = [g for g in groups if g & inside]
            if len(touched) > 1:
                groups = [g for g in groups if not g & inside]
                groups.append(frozenset(d for g in touched for d in g))
        return groups

    def _component(self, dims: frozenset[int], known: Mapping[int, Column], number: int) -> Column:
        if len(dims) == 1:
            (dim,) = dims
            period = self._period(dim)
            low, high = self.ranges[dim]
            if period <= max(1, high - low + 1):
                if self.sampled and number > 1 and number * period > _SAMPLE:
                    return self._of_some(dims, known, number, max(1, _SAMPLE // period))
                return self._closed(dim, period, known, number)
        dim = self._cheapest(dims, frozenset(known))
        width = self.ranges[dim][1] - self.ranges[dim][0] + 1
        if self.sampled and number > 1 and number * width > _SAMPLE:
            return self._of_some(dims, known, number, max(1, _SAMPLE // width))
        step = max(1, _CHUNK // width)
        parts = [
            self._enumerated(dim, dims, {d: c[at : at + step] for d, c in known.items()},
                             min(step, number - at))
            for at in range(0, number, step)
        ]  # fmt: skip
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def _of_some(
        self, dims: frozenset[int], known: Mapping[int, Column], number: int, some: int
    ) -> Column:
        """An estimate per row: what the nearest of about ``some`` evenly spaced rows has."""
        step = -(-number // some) | 1  # odd: tiles and strides are mostly even
        nearest = np.minimum(np.arange(0, number, step) + step // 2, number - 1)
        found = self._component(dims, {d: c[nearest] for d, c in known.items()}, len(nearest))
        return np.repeat(found, step)[:number]

    def _look_at(self, rows: int) -> None:
        """Raise ``_TooManyError`` where an exact number takes more rows than are left."""
        self.left -= rows
        if self.left < 0 and not self.sampled:
            raise _TooManyError

    def _cheapest(self, dims: frozenset[int], known: frozenset[int]) -> int:
        """The dimension to enumerate first: it leaves the least work."""
        return min(sorted(dims), key=lambda d: self._work_with(d, dims, known))

    def _work_with(self, dim: int, dims: frozenset[int], known: frozenset[int]) -> int:
        low, high = self.ranges[dim]
        rest = dims - {dim}
        parts = self._components(rest, known | {dim}) if rest else []
        inner = max((self._work(part, known | {dim}) for part in parts), default=1)
        return (high - low + 1) * inner

    def _work(self, dims: frozenset[int], known: frozenset[int]) -> int:
        if len(dims) == 1:
            low, high = self.ranges[next(iter(dims))]
            return min(self._period(next(iter(dims))), max(1, high - low + 1))
        if len(dims) > _FEW:
            dims = frozenset(
                sorted(dims, key=lambda d: self.ranges[d][1] - self.ranges[d][0])[:_FEW]
            )
        return min(self._work_with(d, dims, known) for d in dims)

    def _enumerated(
        self, dim: int, dims: frozenset[int], known: Mapping[int, Column], number: int
    ) -> Column:
        """The rows continued by every value of a dimension, counted, and summed again."""
        low, high = self._limits(dim, known, number)
        widths = np.maximum(high - low + 1, 0)
        ends = np.cumsum(widths)
        total = int(ends[-1]) if number else 0
        self._look_at(total)
        widths = widths.astype(np.int64)
        owner = np.repeat(np.arange(number), widths)
        values = np.arange(total) - np.repeat(ends - widths - low, widths)
        longer = {d: column[owner] for d, column in known.items()}
        longer[dim] = values
        fine = self._holds(dim, longer, total)
        owner = owner[fine]
        longer = {d: column[fine] for d, column in longer.items()}
        counts = self.rows(dims - {dim}, longer, len(owner))
        sums = np.concatenate((np.zeros(1, self.dtype), np.cumsum(counts)))
        starts = np.searchsorted(owner, np.arange(number + 1))
        return sums[starts[1:]] - sums[starts[:-1]]

    def _limits(self, dim: int, known: Mapping[int, Column], number: int) -> tuple[Column, Column]:
        """Bounds of a dimension per row, from constraints without divisions of it."""
        low = np.full(number, self.ranges[dim][0], self.index_type)
        high = np.full(number, self.ranges[dim][1], self.index_type)
        for constraint, dims in self.deps.items():
            factor = constraint.terms.get(dim)
            if factor is None or not dims <= {dim, *known}:
                continue
            others = {v: c for v, c in constraint.terms.items() if v != dim}
            rest = Linear(constraint.constant, others, {})
            if dim in self.system.dims_of(rest):
                continue
            value = self._values(rest, known, number)
            if constraint.equality:
                value, factor = (value, factor) if factor > 0 else (-value, -factor)
                low = np.maximum(low, -(value // factor))
                high = np.minimum(high, (-value) // factor)
            elif factor > 0:
                low = np.maximum(low, -(value // factor))
            else:
                high = np.minimum(high, value // -factor)
        return low, high

    def _holds(self, dim: int, known: Mapping[int, Column], number: int) -> Column:
        """Whether the constraints that a new column completes hold, per row."""
        fine = np.ones(number, np.bool_)
        for constraint, dims in self.deps.items():
            if dim in dims and dims <= set(known):
                value = self._values(constraint, known, number)
                fine &= value == 0 if constraint.equality else value >= 0
        return fine

    def _values(self, form: Linear, known: Mapping[int, Column], number: int) -> Column:
        total = np.full(number, form.constant, self.index_type)
        for variable, factor in form.terms.items():
            if variable < self.system.rank:
                total += factor * known[variable]
            else:
                total += factor * self._values(self._division(variable), known, number)
        return total if form.divisor == 1 else total // form.divisor

    def _period(self, dim: int) -> int:
        """The least L such that every division is linear along ``dim`` in steps of L."""
        return lcm(1, *(self._steps(v, dim) for v in self._divisions_used(dim)))

    def _divisions_used(self, dim: int) -> set[int]:
        used = {v for c, dims in self.deps.items() if dim in dims for v in c.terms}
        return {v for v in used if v >= self.system.rank}

    def _steps(self, variable: int, dim: int) -> int:
        division = self._division(variable)
        if dim not in self.system.dims_of(division):
            return 1
        inner = [self._steps(v, dim) for v in division.terms if v >= self.system.rank]
        return division.divisor * lcm(1, *inner)

    def _closed(self, dim: int, period: int, known: Mapping[int, Column], number: int) -> Column:
        """How many values a last dimension takes per row: an interval for each residue."""
        step = max(1, _CHUNK // period)
        if number > step:
            parts = [
                self._closed(dim, period, {d: c[at : at + step] for d, c in known.items()},
                             min(step, number - at))
                for at in range(0, number, step)
            ]  # fmt: skip
            return np.concatenate(parts)
        residue = np.tile(np.arange(period).astype(self.index_type), number)
        wide = {d: np.repeat(column, period) for d, column in known.items()}
        size = number * period
        self._look_at(size)
        first, ok = {**wide, dim: residue}, np.ones(size, np.bool_)
        # x = period * q + residue, q between
        low = -((residue - self.ranges[dim][0]) // period)
        high = (self.ranges[dim][1] - residue) // period
        for constraint, dims in self.deps.items():
            if dim not in dims:
                continue
            slope = self._slope(constraint, dim, period)
            value = self._values(constraint, first, size)
            if slope == 0:
                ok &= value == 0 if constraint.equality else value >= 0
            if constraint.equality and slope:
                value, slope = (value, slope) if slope > 0 else (-value, -slope)
                high = np.minimum(high, (-value) // slope)
            if slope > 0:
                low = np.maximum(low, -(value // slope))
            elif slope < 0:
                high = np.minimum(high, value // -slope)
        found = np.where(ok, np.maximum(high - low + 1, 0), 0)
        return found.reshape(number, period).sum(axis=1).astype(self.dtype)

    def _slope(self, form: Linear, dim: int, period: int) -> int:
        """By how much an expression grows when ``dim`` grows by ``period``."""
        total = form.terms.get(dim, 0) * period
        for variable, factor in form.terms.items():
            if variable >= self.system.rank:
                total += factor * self._slope(self._division(variable), dim, period)
        return total // form.divisor
