"""How many integer points a set has, for given sizes: exact, and without visiting them.

A set becomes disjoint systems of linear constraints, whose integer divisions are explicit. Within
a system, dimensions that no constraint links are counted apart and multiplied. Of linked ones the
small are enumerated, all values at once, and the last is counted in closed form: between its
bounds, once per residue where divisions depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import lcm, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import InternalError
from polyopt.isl import Set, dim_type, params_of, sets_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from polyopt.isl import Aff, UnionSet

    Column = NDArray[Any]
    #: coefficients by variable: dimensions first, then divisions
    Terms = dict[int, int]

#: Rows that are looked at together; more are taken in chunks.
_CHUNK = 1 << 20
#: Beyond this, machine integers might wrap and Python's are used.
_WIDE = 1 << 61


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
    return sum(_count_system(system.at(values)) for system in _systems(domain))


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class System:
    """Constraints over ``rank`` dimensions (variables below ``rank``) and divisions."""

    rank: int
    constraints: tuple[Linear, ...]
    #: division k is variable ``rank + k``; it refers to earlier ones only
    divisions: tuple[Linear, ...]

    def at(self, values: Sequence[int | None]) -> System:
        """The system for given parameter values."""
        return System(
            self.rank,
            tuple(c.at(values) for c in self.constraints),
            tuple(d.at(values) for d in self.divisions),
        )


@lru_cache(maxsize=2048)
def _systems(domain: Set) -> tuple[System, ...]:
    """Disjoint systems, every division explicit, parameters still open."""
    if domain.is_empty():
        return ()
    apart = domain.coalesce().make_disjoint().compute_divs()
    return tuple(_system(basic, domain.dim(dim_type.set)) for basic in apart.get_basic_sets())


def _system(basic: Any, rank: int) -> System:  # noqa: ANN401
    constraints: list[Linear] = []
    divisions: tuple[Linear, ...] = ()
    for constraint in basic.get_constraints():
        aff = constraint.get_aff()
        if not divisions:
            number = aff.dim(dim_type.div)
            divisions = tuple(_linear(aff.get_div(k), rank) for k in range(number))
        constraints.append(_linear(aff, rank, equality=constraint.is_equality()))
    return System(rank, tuple(constraints), divisions)


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


def _count_system(system: System) -> int:
    system = _without_determined(system)
    if any(not c.terms and _fails(c.constant, c.equality) for c in system.constraints):
        return 0
    ranges = _ranges(system)
    if ranges is None:
        return 0
    used = {v for c in system.constraints for v in _dims_of(system, c)}
    counter = _Counter(system, ranges)
    total = 1
    for part in _components(system, frozenset(counter.free & used)):
        total *= int(counter.count(part, {}, 1)[0])
        if not total:
            return 0
    if counter.free - used:
        raise InternalError("an infinite set has no number of points")
    return total


def _fails(value: int, equality: bool) -> bool:  # noqa: FBT001
    return value != 0 if equality else value < 0


def _without_determined(system: System) -> System:
    """The system less dimensions that an equality gives as an expression of the others.

    They become the constant 0 in nothing: no constraint mentions them any more.
    """
    for constraint in system.constraints:
        if not constraint.equality:
            continue
        for variable, factor in constraint.terms.items():
            if variable >= system.rank or abs(factor) != 1:
                continue
            others = {v: c for v, c in constraint.terms.items() if v != variable}
            if variable in _dims_of(system, Linear(0, others, {})):
                continue
            value = Linear(-factor * constraint.constant, {v: -factor * c for v, c in others.items()}, {})
            if _refers_forward(system, variable, value):
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
    #: the variable itself is pinned to 0: one value for each choice of the others
    pin = Linear(0, {variable: 1}, {}, equality=True)
    constraints = tuple(c.substituted(variable, value) for c in rest)
    divisions = tuple(d.substituted(variable, value) for d in system.divisions)
    return System(system.rank, (*constraints, pin) if False else constraints, divisions)
