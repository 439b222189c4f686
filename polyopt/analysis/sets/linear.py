"""Sets as plain linear constraints over integers: systems, ranges, and which dimensions are tied.

isl answers exactly and slowly; here are the quick answers of interval arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from polyopt.errors import InternalError
from polyopt.isl import Set, TextKeyed, coalesced, dim_type, fix_param_values, params_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polyopt.isl import Aff, BasicSet

    #: coefficients by variable: dimensions first, then divisions
    Terms = dict[int, int]


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


def systems(domain: Set) -> tuple[System, ...]:
    """Disjoint systems, every division explicit, parameters still open."""
    return _systems(TextKeyed.of(domain))


@lru_cache(maxsize=2048)
def _systems(written: TextKeyed) -> tuple[System, ...]:
    domain = written.value
    if domain.is_empty():
        return ()
    apart = coalesced(domain).make_disjoint().compute_divs()
    return tuple(_system(basic, domain.dim(dim_type.set)) for basic in apart.get_basic_sets())


def _system(basic: BasicSet, rank: int) -> System:
    constraints: list[Linear] = []
    divisions: tuple[Linear, ...] = ()
    for constraint in basic.get_constraints():
        aff = constraint.get_aff()
        if not divisions:
            number = aff.dim(dim_type.div)
            divisions = tuple(linear(aff.get_div(k), rank) for k in range(number))
        constraints.append(linear(aff, rank, equality=constraint.is_equality()))
    return System(rank, frozenset(range(rank)), tuple(constraints), divisions, basic)


def linear(aff: Aff, rank: int, *, equality: bool = False) -> Linear:
    """A quasi-affine expression, times its denominator; its division k is variable rank + k."""
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


#: least and greatest value; ``None`` where nothing is known
_Range = tuple[int | None, int | None]


def system_ranges(
    system: System, values: tuple[int | None, ...]
) -> dict[int, tuple[int, int]] | None:
    """Bounds on every free dimension, not always tight; ``None`` where they exclude each other.

    Raises ``InternalError`` where a dimension has no bounds.
    """
    found = narrowed_ranges(system)
    if _are_empty(found):
        return None
    result: dict[int, tuple[int, int]] = {}
    for variable in sorted(system.free):
        low, high = found[variable]
        limits = (low, high) if low is not None and high is not None else None
        limits = limits or _exact_range(system.origin, values, variable)
        if limits is None:
            return None
        result[variable] = limits
    return result


def narrowed_ranges(system: System, more: Iterable[Linear] = ()) -> dict[int, _Range]:
    """What interval arithmetic says of every dimension and division; ``more`` holds as well."""
    found: dict[int, _Range] = dict.fromkeys(system.free, (None, None))
    forms = [c for c in (*system.constraints, *more) if c.terms]
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
        if found == before or _are_empty(found):
            break
    return found


def _are_empty(found: Mapping[int, _Range]) -> bool:
    return any(low is not None and high is not None and low > high for low, high in found.values())


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


def ranges(domain: Set, sizes: Mapping[str, int]) -> dict[int, tuple[int, int]] | None:
    """Bounds on every dimension for given sizes, not always tight; ``None`` for an empty set."""
    values = tuple(sizes.get(name) for name in params_of(domain.get_space()))
    found = [system_ranges(system.at(values), values) for system in systems(domain)]
    boxes = [box for box in found if box is not None]
    if not boxes:
        return None
    return {d: (min(box[d][0] for box in boxes), max(box[d][1] for box in boxes)) for d in boxes[0]}


def links(domain: Set) -> tuple[frozenset[int], ...]:
    """The dimensions in groups such that no constraint mentions two groups."""
    groups = [frozenset({d}) for d in range(domain.dim(dim_type.set))]
    for system in systems(domain):
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
    own = linear(form, rank).at([sizes.get(name) for name in names])
    low = high = own.constant
    for variable, factor in own.terms.items():
        if variable < rank:
            ends = limits[variable]
        else:
            ends = bounds_of(form.get_div(variable - rank), limits, sizes)
        low += min(factor * ends[0], factor * ends[1])
        high += max(factor * ends[0], factor * ends[1])
    return low // own.divisor, high // own.divisor
