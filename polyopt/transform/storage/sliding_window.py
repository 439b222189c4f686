"""Sliding windows: what a producer computes in each iteration of a loop that moves its window.

relation: ``instances = { [t, v] -> P[j] }`` is what iteration ``v`` of the last loop reads of; of
it, ``v`` runs what no earlier iteration ran. The first one then runs the rows of a whole window at
once, for which the windows that it reads have to be longer, and so on. Where needs move on by
``p`` rows in ``q`` iterations, row ``r`` runs in iteration ``floor((q * r - c) / p)`` instead: the
last that is early enough for all who read it, and before the first iteration for the first rows.
Nothing else runs there but what these need in turn, and each window is as long as its readers'
stencil.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from polyopt.isl import (
    Map,
    affine_constant,
    affine_var,
    coalesced_map,
    dim_type,
    integer_val,
)

if TYPE_CHECKING:
    from polyopt.isl import PwAff, Set, Space


def new_instances(instances: Map, domain: Set) -> Map:
    """``{ [t, v] -> P[j] }`` that each iteration ``v`` of the last loop has to run itself.

    ``domain`` holds all instances ``P[j]`` that there are.
    """
    for row in range(instances.dim(dim_type.out)):
        steps = _steps(instances, row)
        if steps is not None:
            last = instances.dim(dim_type.in_) - 1
            ever = instances.project_out(dim_type.in_, last, 1).insert_dims(dim_type.in_, last, 1)
            # one piece without divisions: through long chains, more would take for ever
            hull = Map.from_basic_map(ever.remove_divs().simple_hull())
            return hull.intersect_range(domain).intersect(steps).coalesce()
    return _not_earlier(instances)


def _not_earlier(instances: Map) -> Map:
    """Less what earlier iterations of the same innermost loop ran."""
    times, last = instances.domain(), instances.dim(dim_type.in_) - 1
    earlier = Map.universe(times.get_space().map_from_set())
    for level in range(last):
        earlier = earlier.equate(dim_type.in_, level, dim_type.out, level)
    earlier = earlier.order_gt(dim_type.in_, last, dim_type.out, last)
    done = earlier.intersect_domain(times).intersect_range(times).apply_range(instances)
    return instances.subtract(done).coalesce()


def _steps(instances: Map, row: int) -> Map | None:
    """``{ [t, v] -> P[j] : v = floor((q * j_row - c) / p) }``, or ``None`` where rows do not move
    with the loop."""
    rank = instances.dim(dim_type.out)
    to_row = Map.identity(instances.get_space().range().map_from_set())
    to_row = to_row.project_out(dim_type.out, row + 1, rank - row - 1)
    to_row = to_row.project_out(dim_type.out, 0, row)
    line = coalesced_map(instances.apply_range(to_row))
    pairs = line.wrap()
    for p, q in _ratios(line):
        distance = _distance(pairs.get_space(), p, q)
        most = pairs.max_val(distance.as_aff())
        if not most.is_int():
            continue
        left = distance.sub(affine_constant(pairs.get_space(), most.to_python() - p + 1))
        steps = left.nonneg_set().intersect(left.lt_set(affine_constant(pairs.get_space(), p)))
        return steps.unwrap().apply_range(to_row.reverse())
    return None


def drift(line: Map) -> int | None:
    """How far ``r`` gets from moving along with ``v`` in ``{ [t, v] -> [r] }``: the length of the
    range of ``q * r - p * v``, for the ``p`` and ``q`` that give the shortest. ``None``: endless.
    """
    pairs = line.wrap()
    found: list[int] = []
    for p, q in _ratios(line):
        distance = _distance(pairs.get_space(), p, q).as_aff()
        most, least = pairs.max_val(distance), pairs.min_val(distance)
        if most.is_int() and least.is_int():
            found.append(most.to_python() - least.to_python())
    return min(found, default=None)


def _ratios(line: Map) -> list[tuple[int, int]]:
    """``(p, q)`` such that ``q * r - p * v`` may have bounds in ``{ [t, v] -> [r] }``."""
    last = line.dim(dim_type.in_) - 1
    found: list[tuple[int, int]] = []
    for constraint in line.remove_divs().simple_hull().get_constraints():
        by_loop = constraint.get_coefficient_val(dim_type.in_, last).to_python()
        by_row = constraint.get_coefficient_val(dim_type.out, 0).to_python()
        if by_loop * by_row < 0:
            p, q = abs(by_loop), abs(by_row)
            found.append((p // gcd(p, q), q // gcd(p, q)))
    return list(dict.fromkeys(found))


def _distance(pairs: Space, p: int, q: int) -> PwAff:
    """``{ [[t, v] -> [r]] -> [q * r - p * v] }``."""
    last = pairs.dim(dim_type.set) - 1
    row = affine_var(pairs, last).scale_val(integer_val(q))
    return row.sub(affine_var(pairs, last - 1).scale_val(integer_val(p)))
