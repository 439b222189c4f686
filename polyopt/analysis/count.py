"""How many integer points a set has, for given sizes: exact, and without visiting them.

A set becomes disjoint systems of linear constraints, whose integer divisions are explicit. Within
a system, dimensions that no constraint links are counted apart and multiplied. Of linked ones the
small are enumerated, all values at once, and the last is counted in closed form: between its
bounds, once per residue where divisions depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import InternalError
from polyopt.isl import Set, dim_type, fix_param_values, params_of, sets_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from polyopt.isl import Aff, BasicSet, UnionSet

    Column = NDArray[Any]
    #: coefficients by variable: dimensions first, then divisions
    Terms = dict[int, int]

#: Rows that are looked at together; more are taken in chunks.
_CHUNK = 1 << 20
#: Beyond this, machine integers might wrap and Python's are used.
_WIDE = 1 << 61
#: Of more linked dimensions than this, only the shortest are tried as the first to enumerate.
_FEW = 6


def count(domain: Set | UnionSet, sizes: Mapping[str, int]) -> int:
    """The number of elements for the given parameter values.

    ``sizes`` has to name every parameter that the set depends on. Raises ``InternalError`` for an
    infinite set or a parameter without a value.
    """
    if not isinstance(domain, Set):
        return sum(count(part, sizes) for part in sets_of(domain))
    names = params_of(domain.get_space())
    return _count(domain, tuple(sizes.get(name) for name in names))


@lru_cache(maxsize=8192)
def _count(domain: Set, values: tuple[int | None, ...]) -> int:
    return sum(_count_system(system, values) for system in _systems(domain))


@dataclass(frozen=True, eq=False)
class Linear:
    """``constant + terms``; where it is a constraint, ``= 0`` or ``>= 0``."""

    constant: int
    terms: Terms
    #: coefficients of parameters, by position
    params: Terms
    equality: bool = False
    #: for a division: floor(... / divisor)
    divisor: int = 1

    def at(self, values: Sequence[int | None]) -> Linear:
        """The same without parameters."""
        constant = self.constant
        for position, factor in self.params.items():
            value = values[position]
            if value is None:
                message = "no value is given for a size that the count depends on"
                raise InternalError(message)
            constant += factor * value
        return Linear(constant, self.terms, {}, self.equality, self.divisor)

    def substituted(self, variable: int, value: Linear) -> Linear:
        """The same with a variable replaced by a linear expression."""
        factor = self.terms.get(variable)
        if not factor:
            return self
        terms = {v: c for v, c in self.terms.items() if v != variable}
        for other, c in value.terms.items():
            terms[other] = terms.get(other, 0) + factor * c
        terms = {v: c for v, c in terms.items() if c}
        constant = self.constant + factor * value.constant
        return Linear(constant, terms, {}, self.equality, self.divisor)


@dataclass(frozen=True, eq=False)
class System:
    """Constraints over dimensions (variables below ``rank``) and divisions (from ``rank`` on)."""

    rank: int
    #: dimensions that are not given by others
    free: frozenset[int]
    constraints: tuple[Linear, ...]
    #: division k is variable ``rank + k``; it refers to earlier ones only
    divisions: tuple[Linear, ...]
    #: what it was made of
    origin: BasicSet

    def at(self, values: Sequence[int | None]) -> System:
        """The system for given parameter values."""
        constraints = tuple(c.at(values) for c in self.constraints)
        return replace(
            self, constraints=constraints, divisions=tuple(d.at(values) for d in self.divisions)
        )

    def dims_of(self, form: Linear) -> frozenset[int]:
        """The dimensions that an expression depends on, through divisions too."""
        found: set[int] = set()
        for variable in form.terms:
            if variable < self.rank:
                found.add(variable)
            else:
                found |= self.dims_of(self.divisions[variable - self.rank])
        return frozenset(found)


@lru_cache(maxsize=2048)
def _systems(domain: Set) -> tuple[System, ...]:
    """Disjoint systems, every division explicit, parameters still open."""
    if domain.is_empty():
        return ()
    apart = domain.coalesce().make_disjoint().compute_divs()
    return tuple(_system(basic, domain.dim(dim_type.set)) for basic in apart.get_basic_sets())


def _system(basic: BasicSet, rank: int) -> System:
    constraints: list[Linear] = []
    divisions: tuple[Linear, ...] = ()
    for constraint in basic.get_constraints():
        aff = constraint.get_aff()
        if not divisions:
            number = aff.dim(dim_type.div)
            divisions = tuple(_linear(aff.get_div(k), rank) for k in range(number))
        constraints.append(_linear(aff, rank, equality=constraint.is_equality()))
    return System(rank, frozenset(range(rank)), tuple(constraints), divisions, basic)


def _linear(aff: Aff, rank: int, *, equality: bool = False) -> Linear:
    scale = aff.get_denominator_val()
    terms: Terms = {}
    params: Terms = {}
    for kind, first, found in (
        (dim_type.in_, 0, terms), (dim_type.div, rank, terms), (dim_type.param, 0, params),
    ):  # fmt: skip
        for position in range(aff.dim(kind)):
            factor = aff.get_coefficient_val(kind, position)
            if not factor.is_zero():
                found[first + position] = factor.mul(scale).to_python()
    constant = aff.get_constant_val().mul(scale).to_python()
    return Linear(constant, terms, params, equality, scale.to_python())


def _count_system(parametric: System, values: tuple[int | None, ...]) -> int:
    system = _without_determined(parametric.at(values))
    for constraint in system.constraints:
        value = constraint.constant
        if not constraint.terms and (value != 0 if constraint.equality else value < 0):
            return 0
    ranges = _ranges(system, values)
    if ranges is None:
        return 0
    counter = _Counter(system, ranges)
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


#: least and greatest value; ``None`` where nothing is known
_Range = tuple[int | None, int | None]


def _ranges(system: System, values: tuple[int | None, ...]) -> dict[int, tuple[int, int]] | None:
    """Bounds on every free dimension, not always tight; ``None`` where they exclude each other.

    Raises ``InternalError`` where a dimension has no bounds.
    """
    found: dict[int, _Range] = dict.fromkeys(system.free, (None, None))
    forms = [c for c in system.constraints if c.terms]
    for k, division in enumerate(system.divisions):
        # 0 <= e - m * floor(e / m) <= m - 1
        own = {system.rank + k: -division.divisor}
        forms.append(Linear(division.constant, {**division.terms, **own}, {}))
        opposite = {v: -c for v, c in forms[-1].terms.items()}
        forms.append(Linear(division.divisor - 1 - division.constant, opposite, {}))
        found[system.rank + k] = (None, None)
    for _ in range(4 + 2 * len(found)):
        before = dict(found)
        for form in forms:
            _narrow(form, found)
        if any(low is not None and high is not None and low > high for low, high in found.values()):
            return None
        if found == before:
            break
    result: dict[int, tuple[int, int]] = {}
    for variable in sorted(system.free):
        low, high = found[variable]
        limits = (low, high) if low is not None and high is not None else None
        limits = limits or _exact_range(system.origin, values, variable)
        if limits is None:
            return None
        result[variable] = limits
    return result


def _exact_range(
    basic: BasicSet, values: tuple[int | None, ...], position: int
) -> tuple[int, int] | None:
    """Least and greatest value of a dimension; ``None`` where the set is empty."""
    domain = Set.from_basic_set(basic)
    given = zip(params_of(domain.get_space()), values, strict=True)
    domain = fix_param_values(domain, {name: v for name, v in given if v is not None})
    if domain.is_empty():
        return None
    low, high = domain.dim_min_val(position), domain.dim_max_val(position)
    if not (low.is_int() and high.is_int()):
        message = "an infinite set has no number of points"
        raise InternalError(message)
    return low.to_python(), high.to_python()


def _narrow(form: Linear, found: dict[int, _Range]) -> None:
    """Tighten the range of each variable of a constraint by those of the others."""
    most = {v: _most(c, found[v]) for v, c in form.terms.items()}
    unknown = [v for v, value in most.items() if value is None]
    if len(unknown) <= 1:
        total = form.constant + sum(value or 0 for value in most.values())
        for variable in unknown or form.terms:
            rest = total - (most[variable] or 0)
            _bound(variable, form.terms[variable], rest, found)
    if form.equality:
        opposite = {v: -c for v, c in form.terms.items()}
        _narrow(Linear(-form.constant, opposite, {}), found)


def _most(factor: int, limits: _Range) -> int | None:
    """The greatest value of ``factor * x``."""
    end = limits[1] if factor > 0 else limits[0]
    return None if end is None else factor * end


def _bound(variable: int, factor: int, rest: int, found: dict[int, _Range]) -> None:
    """Use ``factor * x + rest >= 0``."""
    low, high = found[variable]
    if factor > 0:
        least = -(rest // factor)
        found[variable] = (least if low is None else max(low, least), high)
    else:
        greatest = rest // -factor
        found[variable] = (low, greatest if high is None else min(high, greatest))


class _Counter:
    """Counts a system's points by rows: values of enumerated dimensions, columns of numbers."""

    def __init__(self, system: System, ranges: Mapping[int, tuple[int, int]]) -> None:
        self.system, self.ranges = system, ranges
        self.deps = {c: system.dims_of(c) for c in system.constraints if c.terms}
        self.works: dict[frozenset[int], int] = {}
        volume = 1
        for low, high in ranges.values():
            volume *= high - low + 1
        self.dtype: Any = object if volume > _WIDE else np.int64

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
                return self._closed(dim, period, known, number)
        dim = self._cheapest(dims, frozenset(known))
        width = self.ranges[dim][1] - self.ranges[dim][0] + 1
        step = max(1, _CHUNK // width)
        parts = [
            self._enumerated(dim, dims, {d: c[at : at + step] for d, c in known.items()},
                             min(step, number - at))
            for at in range(0, number, step)
        ]  # fmt: skip
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

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
        low = np.full(number, self.ranges[dim][0], np.int64)
        high = np.full(number, self.ranges[dim][1], np.int64)
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
        total = np.full(number, form.constant, np.int64)
        for variable, factor in form.terms.items():
            if variable < self.system.rank:
                total += factor * known[variable]
            else:
                inner = self.system.divisions[variable - self.system.rank]
                total += factor * self._values(inner, known, number)
        return total if form.divisor == 1 else total // form.divisor

    def _period(self, dim: int) -> int:
        """The least L such that every division is linear along ``dim`` in steps of L."""
        return lcm(1, *(self._steps(v, dim) for v in self._divisions_used(dim)))

    def _divisions_used(self, dim: int) -> set[int]:
        used = {v for c, dims in self.deps.items() if dim in dims for v in c.terms}
        return {v for v in used if v >= self.system.rank}

    def _steps(self, variable: int, dim: int) -> int:
        division = self.system.divisions[variable - self.system.rank]
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
        residue = np.tile(np.arange(period), number)
        wide = {d: np.repeat(column, period) for d, column in known.items()}
        size = number * period
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
                inner = self.system.divisions[variable - self.system.rank]
                total += factor * self._slope(inner, dim, period)
        return total // form.divisor


def ranges(domain: Set, sizes: Mapping[str, int]) -> dict[int, tuple[int, int]] | None:
    """Bounds on every dimension for given sizes, not always tight; ``None`` for an empty set."""
    values = tuple(sizes.get(name) for name in params_of(domain.get_space()))
    found = [_ranges(system.at(values), values) for system in _systems(domain)]
    boxes = [box for box in found if box is not None]
    if not boxes:
        return None
    return {d: (min(box[d][0] for box in boxes), max(box[d][1] for box in boxes)) for d in boxes[0]}


def links(domain: Set) -> tuple[frozenset[int], ...]:
    """The dimensions in groups such that no constraint mentions two groups."""
    groups = [frozenset({d}) for d in range(domain.dim(dim_type.set))]
    for system in _systems(domain):
        for constraint in system.constraints:
            together = system.dims_of(constraint)
            touched = [g for g in groups if g & together]
            if len(touched) > 1:
                groups = [g for g in groups if not g & together]
                groups.append(frozenset(d for g in touched for d in g))
    return tuple(groups)


def bounds_of(
    form: Aff, limits: Mapping[int, tuple[int, int]], sizes: Mapping[str, int]
) -> tuple[int, int]:
    """Least and greatest value of a quasi-affine expression over a box of its dimensions."""
    rank = form.dim(dim_type.in_)
    names = params_of(form.get_domain_space())
    own = _linear(form, rank).at([sizes.get(name) for name in names])
    low = high = own.constant
    for variable, factor in own.terms.items():
        if variable < rank:
            ends = limits[variable]
        else:
            ends = bounds_of(form.get_div(variable - rank), limits, sizes)
        low += min(factor * ends[0], factor * ends[1])
        high += max(factor * ends[0], factor * ends[1])
    return low // own.divisor, high // own.divisor
