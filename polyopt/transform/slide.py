"""slide: what a producer computes in each iteration of a loop along which its window moves.

relation: ``instances = { [t, v] -> P[j] }`` is what iteration ``v`` reads of; of it, ``v`` runs
what no earlier iteration ran. The first would run the rows of a whole window at once, for which
the windows that it reads have to be longer, and so on. Where needs move on by as many rows in
each iteration, these rows are spread over iterations before the first, in which nothing runs but
what they need in turn: each window then is as long as its readers' stencil.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.footprint import bounding_box, box_map
from polyopt.isl import Map, dim_type

if TYPE_CHECKING:
    from polyopt.isl import Set


def new_instances(instances: Map) -> Map:
    """``{ [t, v] -> P[j] }`` that each iteration ``v`` of the last loop has to run itself."""
    fresh = _not_earlier(instances)
    return _evenly(instances, fresh) or fresh


def _not_earlier(instances: Map) -> Map:
    """Less what earlier iterations of the same innermost loop ran."""
    times, last = instances.domain(), instances.dim(dim_type.in_) - 1
    earlier = _along(times, last).order_gt(dim_type.in_, last, dim_type.out, last)
    done = earlier.intersect_domain(times).intersect_range(times).apply_range(instances)
    return instances.subtract(done).coalesce()


def _along(times: Set, last: int) -> Map:
    """``{ [t, v] -> [t, w] }``."""
    result = Map.universe(times.get_space().map_from_set())
    for level in range(last):
        result = result.equate(dim_type.in_, level, dim_type.out, level)
    return result


def _evenly(instances: Map, fresh: Map) -> Map | None:
    """As many rows in each iteration, from before the first on; ``None`` where needs do not move
    on evenly."""
    times, last = instances.domain(), instances.dim(dim_type.in_) - 1
    along = _along(times, last)
    others = times.apply(along.order_lt(dim_type.in_, last, dim_type.out, last))
    after = fresh.intersect_domain(others)
    if after.is_empty():
        return None
    ever = instances.project_out(dim_type.in_, last, 1).insert_dims(dim_type.in_, last, 1)
    so_far = along.order_ge(dim_type.in_, last, dim_type.out, last)
    for row in range(instances.dim(dim_type.out)):
        steps = _steps(after, row)
        if steps is None:
            continue
        spread = ever.intersect(steps)
        if instances.is_subset(so_far.apply_range(spread)):
            return spread.coalesce()
    return None


def _steps(fresh: Map, row: int) -> Map | None:
    """``{ [t, v] -> P[j] }``: the rows ``j_row`` that are new at ``v``, if it went on for ever."""
    rank = fresh.dim(dim_type.out)
    to_row = Map.identity(fresh.get_space().range().map_from_set())
    to_row = to_row.project_out(dim_type.out, row + 1, rank - row - 1)
    to_row = to_row.project_out(dim_type.out, 0, row)
    line = fresh.apply_range(to_row).coalesce()
    steps = _several_in_each(line) or _one_in_several(line)
    return steps.apply_range(to_row.reverse()) if steps is not None else None


def _several_in_each(line: Map) -> Map | None:
    """``{ [t, v] -> [r] : c(t) + k * v <= r < c(t) + k * (v + 1) }``."""
    box = bounding_box(line, line.params())
    sides = box.constant_extents if box is not None else None
    if box is None or sides is None or box.strides != (1,) or box.offsets[0].n_piece() != 1:
        return None
    (_, low), *_ = box.offsets[0].get_pieces()
    moves = low.get_coefficient_val(dim_type.in_, line.dim(dim_type.in_) - 1)
    if low.dim(dim_type.div) or moves.to_python() != sides[0]:
        return None
    return box_map(line.get_space(), box)


def _one_in_several(line: Map) -> Map | None:
    """``{ [t, v] -> [r] : a * r = v + c(t) }``."""
    last = line.dim(dim_type.in_) - 1
    for constraint in line.affine_hull().get_constraints():
        by_loop = constraint.get_coefficient_val(dim_type.in_, last).to_python()
        moves = constraint.involves_dims(dim_type.out, 0, 1)
        if constraint.is_equality() and moves and abs(by_loop) == 1:
            return Map.universe(line.get_space()).add_constraint(constraint)
    return None
