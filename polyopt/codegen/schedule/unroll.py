"""The iterations of unrolled loops, found by us where isl finds no bound to count them from.

isl unrolls from a lower bound that the constraints of all pieces of a loop have in common. Pieces
such as a first and a last block may have none, however few their iterations are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.analysis.footprint import bounding_box
from polyopt.isl import affine_constant, dim_type
from polyopt.transform.schedule.tree import copies_in, loops_of, replace_loop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.isl import Map, PwAff, Set
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop


def from_zero(program: ScheduledProgram) -> ScheduledProgram:
    """The program with unrolled loops that start near zero, whatever the iterations around.

    rewrite: ``for (i = 4*b; i < 4*b + 4; i++) S(i)`` -> ``for (u = 0; u < 4; u++) S(4*b + u)``
    """
    for name in [loop.name for loop in loops_of(program.tree) if loop.mark == "unroll"]:
        loop = next(node for node in loops_of(program.tree) if node.name == name)
        counted = replace(loop, values=_from_zero(program, loop))
        program = replace(program, tree=replace_loop(program.tree, name, lambda _, c=counted: (c,)))
    return program


def iterations(program: ScheduledProgram, loop: PlanLoop) -> tuple[Mapping[str, Set], ...]:
    """``{ C[d] }`` of each iteration of a loop of a program from ``from_zero``, by copy."""
    found: dict[int, dict[str, Set]] = {}
    for name in copies_in(loop):
        value = loop.values[name].intersect_domain(program.copies[name].domain)
        numbers = value.as_map().range()
        if numbers.is_empty():
            continue
        low, high = numbers.dim_min_val(0).to_python(), numbers.dim_max_val(0).to_python()
        for number in range(low, high + 1):
            part = value.eq_set(affine_constant(value.get_space().domain(), number))
            if not part.is_empty():
                found.setdefault(number, {})[name] = part
    return tuple(found[number] for number in sorted(found))


def _from_zero(program: ScheduledProgram, loop: PlanLoop) -> dict[str, PwAff]:
    """``{ C[d] -> [v - first(t)] }`` where ``t`` are the values of the loops around."""
    names = copies_in(loop)
    path = [node.name for node in program.places[names[0]].loops]
    depth = path.index(loop.name)
    lines = _line(program, names[0], depth)
    for name in names[1:]:
        lines = lines.union(_line(program, name, depth))
    box = bounding_box(lines, program.scop.context)
    if box is not None and box.constant_extents is not None:
        first = box.offsets[0]
    else:
        first = lines.lexmin_pw_multi_aff().get_at(0)
    result: dict[str, PwAff] = {}
    for name in names:
        prefix = program.prefixes[name].as_pw_multi_aff()
        around = prefix.drop_dims(dim_type.out, depth, prefix.dim(dim_type.out) - depth)
        result[name] = loop.values[name].sub(first.pullback_pw_multi_aff(around)).coalesce()
    return result


def _line(program: ScheduledProgram, name: str, depth: int) -> Map:
    """``{ [t] -> [v] }``: the values of the loop at ``depth`` at one copy, by those around it."""
    values = program.prefixes[name].range().intersect_params(program.scop.context)
    values = values.project_out(dim_type.set, depth + 1, values.dim(dim_type.set) - depth - 1)
    line = values.identity().project_out(dim_type.in_, depth, 1)
    return line.project_out(dim_type.out, 0, depth)
