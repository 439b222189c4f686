"""Which iterations of a loop have no tests inside: all of the unrolled loops below, and of those
that are whole vectors, run in full, and no border is near.

isl generates these apart (its ``isolate`` option), so that conditions of borders and partial
blocks stay in loops of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.footprint import bounding_box
from polyopt.codegen.schedule.boundaries import first_values, interior
from polyopt.isl import Map, Set, UnionSet, affine_constant, affine_var, dim_type
from polyopt.transform.schedule.tree import copies_in

if TYPE_CHECKING:
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop


def isolate_option(
    program: ScheduledProgram, loop: PlanLoop, planned: ScheduledProgram
) -> UnionSet | None:
    """``{ isolate[[outer] -> [v]] : ... }`` for a loop, or ``None`` where nothing is to gain."""
    full = interior(program, loop, planned)
    everything: Set | None = None
    for name in copies_in(loop):
        path = program.places[name].loops
        depth = next(i for i, node in enumerate(path, 1) if node.name == loop.name)
        outer = len(path)
        while outer > depth and _is_whole(path[outer - 1]):
            outer -= 1
        whole = program.prefixes[name].range()
        around = first_values(whole, depth)
        everything = around if everything is None else everything.union(around)
        if outer == len(path):
            continue
        part = first_values(_complete(whole, outer, program.scop.context), depth)
        full = part if full is None else full.intersect(part)
    if full is None or everything is None:
        return None
    full = full.intersect_params(program.scop.context).coalesce()
    if full.is_empty() or everything.is_subset(full):
        return None
    return _option(full)


def _is_whole(loop: PlanLoop) -> bool:
    """Whether C is better of where a loop runs in full: unrolled, or vectors of a width."""
    return loop.mark == "unroll" or (loop.mark == "vector" and loop.width > 0)


def _complete(whole: Set, outer: int, context: Set) -> Set:
    """``{ [v] }`` of the outer loops for which the inner ones take all values of their box."""
    identity = whole.identity()
    total = whole.dim(dim_type.set)
    inner = identity.project_out(dim_type.out, 0, outer)
    inner = inner.project_out(dim_type.in_, outer, total - outer)  # { [v] -> [u] }
    box = bounding_box(inner, context)
    domain = inner.domain()
    sides = box.constant_extents if box is not None else None
    if box is None or sides is None or any(stride != 1 for stride in box.strides):
        return Set.empty(domain.get_space())
    cells = Map.universe(inner.get_space()).intersect_domain(domain).wrap()
    for position, (offset, extent) in enumerate(zip(box.offsets, sides, strict=True)):
        pairs = cells.get_space()
        value = affine_var(pairs, outer + position)
        low = offset.pullback_pw_multi_aff(
            Map.universe(inner.get_space()).domain_map().as_pw_multi_aff()
        )
        high = low.add(affine_constant(pairs, extent))
        cells = cells.intersect(value.ge_set(low)).intersect(value.lt_set(high))
    missing = cells.unwrap().subtract(inner)
    return domain.subtract(missing.domain())


def _option(full: Set) -> UnionSet:
    depth = full.dim(dim_type.set)
    relation = full.identity().project_out(dim_type.in_, depth - 1, 1)
    relation = relation.project_out(dim_type.out, 0, depth - 1)
    return relation.wrap().set_tuple_name("isolate").to_union_set()
