"""Which iterations of a loop are away from borders: no clamp acts there, no boundary test fails.

A subscript such as ``max(0, min(W - 1, x - 3))`` and a test such as ``0 <= x < W`` are each of
one form in most iterations, and of others in a few at either end. What a loop's own values have
to say of it is dropped from the few; conditions on loops around stay where they are, as tests.
"""

from __future__ import annotations

from functools import reduce
from math import inf
from typing import TYPE_CHECKING

from polyopt.analysis.footprint import bounding_box
from polyopt.codegen.schedule.accesses import lowered_statement
from polyopt.ir.expr import Affine, Inside, walk
from polyopt.isl import Map, Set, dim_type
from polyopt.transform.schedule.tree import copies_in

if TYPE_CHECKING:
    from polyopt.ir.expr import Expr
    from polyopt.isl import PwAff
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop


def interior(
    program: ScheduledProgram, loop: PlanLoop, planned: ScheduledProgram | None = None
) -> Set | None:
    """``{ [t] }``: values of a loop and those around it at which no border is near.

    ``None`` where the loop meets no border. ``planned`` is the plan's program where this one has
    copies that move register blocks: these meet none.
    """
    result = everywhere(program, loop)
    for name in copies_in(loop):
        if planned is not None and name not in planned.places:
            continue
        depth = next(i for i, n in enumerate(program.places[name].loops, 1) if n.name == loop.name)
        assignment = lowered_statement(planned or program, name)
        for expr in (*assignment.index, assignment.value):
            for node in walk(expr):
                part = _inside(program, loop, name, depth, node)
                if part is not None:
                    result = part if result is None else result.intersect(part)
    return result


def everywhere(program: ScheduledProgram, loop: PlanLoop) -> Set | None:
    """``{ [t] }``: values of a loop and those around it at which the copies run that do so in most
    of its iterations, and no others: those of a border have statements of their own.

    ``None`` where all copies run in all iterations, or have innermost loops of their own: what is
    computed ahead for others is no border.
    """
    copies = copies_in(loop)
    if len({program.places[name].loops[-1].name for name in copies}) > 1 or len(copies) == 1:
        return None
    path = program.places[copies[0]].loops
    depth = next(i for i, n in enumerate(path, 1) if n.name == loop.name)
    runs = [first_values(program.prefixes[name].range(), depth) for name in copies]
    all_ = reduce(Set.union, runs).intersect_params(program.scop.context).coalesce()
    result: Set | None = None
    for one in runs:
        own = _along(all_.intersect(one), [depth - 1])
        if all_.is_subset(own):
            continue
        forms = [all_.intersect(own), all_.subtract(own)]
        usual = _usual(program, forms)
        if usual is None:
            return None
        result = forms[usual] if result is None else result.intersect(forms[usual])
    return result


def _inside(
    program: ScheduledProgram, loop: PlanLoop, name: str, depth: int, node: Expr
) -> Set | None:
    """``{ [t] }`` at which a node of a copy's value has the form that it has in most iterations.

    ``None`` where its form does not depend on the loop, or no form is the usual one.
    """
    copy = program.copies[name]
    domain = copy.domain.intersect_params(program.scop.context)
    value = loop.values[name]
    moving = [d for d in range(domain.dim(dim_type.set)) if value.involves_dims(dim_type.in_, d, 1)]
    prefix = program.prefixes[name]
    forms = [_along(form, moving) for form in _forms(node, domain)]
    if isinstance(node, Inside):
        # what other loops say of it stays a test: only where this loop fails it is a border
        forms = [forms[0], domain.subtract(forms[0])]
    if all(domain.is_subset(form) for form in forms):
        return None
    runs = [prefix.intersect_domain(domain.intersect(form)).range() for form in forms]
    usual = _usual(program, [first_values(values, depth) for values in runs])
    if usual is None:
        return None
    beyond = prefix.intersect_domain(domain.subtract(forms[usual])).range()
    return first_values(prefix.intersect_domain(domain).range(), depth).subtract(
        first_values(beyond, depth)
    )


def _forms(node: Expr, domain: Set) -> list[Set]:
    """``{ C[d] }`` for each of the forms that an affine expression or a condition has."""
    if isinstance(node, Affine):
        pieces = node.form.coalesce().get_pieces()
        return [domain.intersect(where) for where, _ in pieces] if len(pieces) > 1 else []
    if isinstance(node, Inside):
        return [domain.intersect(node.where), domain.subtract(node.where)]
    return []


def _along(form: Set, moving: list[int]) -> Set:
    """The form with those constraints alone that some of the dimensions ``moving`` take part in."""
    result = Set.empty(form.get_space())
    for piece in form.coalesce().get_basic_sets():
        kept = Set.universe(form.get_space())
        for constraint in piece.remove_divs().get_constraints():
            if any(constraint.involves_dims(dim_type.set, d, 1) for d in moving):
                kept = kept.add_constraint(constraint)
        result = result.union(kept)
    return result


def _usual(program: ScheduledProgram, forms: list[Set]) -> int | None:
    """The form, as ``{ [t] }``, that most iterations of the innermost of some loops have.

    Borders are few iterations: as many for all sizes, or never more than the usual ones.
    """
    context = program.scop.context
    counts = [_length(values, context) for values in forms]
    most = max(counts)
    if counts.count(most) == 1:
        return counts.index(most)
    if most != inf:
        return None
    longest = [_longest(values, context) for values in forms]
    found = [
        k
        for k, own in enumerate(longest)
        if own is not None and all(_is_at_least(own, other) for other in longest)
    ]
    return found[0] if len(found) == 1 else None


def _is_at_least(one: PwAff, other: PwAff | None) -> bool:
    """Whether one length is no less than another wherever there is that."""
    return other is not None and other.domain().is_subset(one.ge_set(other))


def _length(values: Set, context: Set) -> float:
    """Iterations of the last of some loops per entry: at most; endless where sizes decide.

    Borders at both ends are few iterations, with many in between: pieces are measured one by one.
    """
    total = 0.0
    for piece in values.coalesce().get_basic_sets():
        box = bounding_box(_lines(Set.from_basic_set(piece)), context)
        sides = box.constant_extents if box is not None else None
        if sides is None:
            return inf
        total += sides[0]
    return total


def _longest(values: Set, context: Set) -> PwAff | None:
    """``[N] -> { [length] }``: of the last of some loops, at most, over all entries; ``None`` where
    it has no end."""
    lines = _lines(values).intersect_params(context)
    if not lines.range().is_bounded():
        return None
    lengths = Map.from_pw_aff(lines.dim_max(0).sub(lines.dim_min(0))).range()
    return lengths.dim_max(0)


def _lines(values: Set) -> Map:
    """``{ [t_1, ..., t_n-1] -> [t_n] }``."""
    depth = values.dim(dim_type.set)
    line = values.identity().project_out(dim_type.in_, depth - 1, 1)
    return line.project_out(dim_type.out, 0, depth - 1)


def first_values(values: Set, count: int) -> Set:
    """``{ [v_1, ..., v_count] }``."""
    return values.project_out(dim_type.set, count, values.dim(dim_type.set) - count)
