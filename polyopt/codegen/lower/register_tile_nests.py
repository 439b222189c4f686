"""A program with register blocks in place of the nests that they are made of.

rewrite: ``for (k) nest`` -> ``for (k) part before; fill; for (k) core; drain; for (k) part after``
rewrite: ``C = 0; for (k) nest`` -> ``for (k) core`` from zero, where all of each block is stored
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import copysign
from typing import TYPE_CHECKING

from polyopt.codegen.lower.register_tile import block_of, named, nest_of
from polyopt.codegen.schedule.accesses import LoweredStatement, lowered_statement
from polyopt.ir.expr import Affine, Const, Expr
from polyopt.isl import Map, affine_var, dim_type
from polyopt.transform.schedule.query import find_loop, path_to
from polyopt.transform.schedule.storage import project_tail
from polyopt.transform.schedule.tree import (
    PlanLoop,
    ScheduledStatement,
    copies_in,
    loops_of,
    replace_loop,
    with_loop,
    with_values,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.lower.register_tile import Nest, RegisterBlock
    from polyopt.isl import PwAff, Set
    from polyopt.transform.schedule.program import ScheduledProgram


@dataclass(frozen=True, eq=False)
class Blocked:
    """A program with blocks in place of the nests of loops marked ``register_tile``."""

    program: ScheduledProgram
    #: the program as planned: storage is what it says
    planned: ScheduledProgram
    #: by the name of the loop
    blocks: Mapping[str, RegisterBlock]
    #: what the copies compute that are not in the program they were made from
    assignments: Mapping[str, LoweredStatement]

    @property
    def cores(self) -> Mapping[str, RegisterBlock]:
        """The blocks by the copy that computes them."""
        return {block.core: block for block in self.blocks.values()}


def with_blocks(program: ScheduledProgram, assignments: Mapping[str, LoweredStatement]) -> Blocked:
    """The program as code is made of it: blocks where loops are marked and allow them.

    ``assignments`` are of copies that compute something else than their statements.
    """
    result = Blocked(program, program, {}, assignments)
    for loop in loops_of(program.tree):
        if loop.mark == "register_tile":
            nest = nest_of(program, loop)
            found = block_of(program, nest) if nest is not None else None
            if nest is None or found is None:
                plain = with_loop(result.program.tree, loop.name, mark="")
                result = replace(result, program=replace(result.program, tree=plain))
            elif found[0].whole is not None:
                result = _whole(result, program, nest, *found)
            else:
                result = _blocked(result, nest, *found)
    return result


def _whole(
    result: Blocked, planned: ScheduledProgram, nest: Nest, block: RegisterBlock, full: Set
) -> Blocked:
    """The program with a block's core alone: it loads and stores the elements themselves."""
    program, zero = result.program, _zeroed(planned, nest, block)
    block = replace(block, from_zero=bool(zero))
    moving = _Maker(program, nest.path[: nest.outer])
    core = moving.loops(block.core, full, nest.path[nest.outer : nest.outer + nest.reductions], "")
    tree = replace_loop(program.tree, nest.loop.name, lambda _: (core,))
    if zero:
        tree = replace_loop(tree, zero, lambda _: ())
    gone = {nest.copy.name, *(find_loop(planned, zero).copies if zero else ())}
    copies = {n: c for n, c in program.copies.items() if n not in gone} | moving.copies
    changed = replace(program, copies=copies, tree=with_values(tree, moving.values))
    assignments = {**result.assignments, block.core: block.assignment}
    return Blocked(changed, result.planned, {**result.blocks, block.loop: block}, assignments)


def _zeroed(program: ScheduledProgram, nest: Nest, block: RegisterBlock) -> str:
    """The loop right before a nest that stores a zero in every element of its blocks; "" for none.

    Each iteration of the loops around both sets the elements that it then updates, and no others;
    each of them is in one block.
    """
    path = path_to(program, block.loop)
    shared = next((k for k in reversed(range(nest.outer)) if len(path[k].body) > 1), None)
    if shared is None:
        return ""
    around = path[shared].body
    place = around.index(path[shared + 1])
    loop = around[place - 1] if place else None
    if not isinstance(loop, PlanLoop) or len(copies_in(loop)) != 1:
        return ""
    (name,) = copies_in(loop)
    assignment = lowered_statement(program, name)
    value = assignment.value
    if not isinstance(value, Const) or value.value != 0 or copysign(1, value.value) < 0:
        return ""
    if assignment.buffer != block.assignment.buffer or value.type != block.assignment.type:
        return ""
    stored, updated = (_elements(program, copy, shared + 1) for copy in (name, nest.copy.name))
    #: { [t] -> [[t, ..., t_shared] -> A[x]] }
    blocks = _elements(program, nest.copy.name, nest.outer)
    times = project_tail(blocks.domain().identity(), shared + 1)
    is_whole = stored.is_equal(updated) and times.range_product(blocks).is_injective()
    return loop.name if is_whole else ""


def _elements(program: ScheduledProgram, name: str, depth: int) -> Map:
    """``{ [t] -> A[x] }``: what a copy stores in an iteration of the outer ``depth`` loops."""
    (touch,) = program.touches_in([name])[0]
    times = project_tail(touch.prefix, depth).intersect_params(program.scop.context)
    return times.reverse().apply_range(touch.element)


def _blocked(result: Blocked, nest: Nest, block: RegisterBlock, full: Set) -> Blocked:
    """The program with fill, core and drain in place of a nest, and what is left of it."""
    program = result.program
    start, count = nest.outer + nest.reductions, len(nest.extents)
    present = nest.times.project_out(dim_type.set, start, count)
    rest = present.subtract(full).coalesce()
    earlier, later = _around(full, rest, nest)
    stored = nest.times.intersect(full.insert_dims(dim_type.set, start, count))
    stored = stored.project_out(dim_type.set, nest.outer, nest.reductions).coalesce()
    outer, reductions, inner = (
        nest.path[: nest.outer],
        nest.path[nest.outer : start],
        nest.path[start:],
    )
    moving = _Maker(program, outer)
    nodes: list[PlanLoop | str] = []
    if not earlier.is_empty():
        nodes.append(moving.part(nest, earlier, "before"))
    nodes += [
        moving.loops(block.fill, stored, inner, "load"),
        moving.loops(block.core, full, reductions, ""),
        moving.loops(block.drain, stored, inner, "store"),
    ]
    if not later.is_empty():
        nodes.append(moving.part(nest, later, "after"))
    tree = replace_loop(program.tree, nest.loop.name, lambda _: tuple(nodes))
    tree = with_values(tree, moving.values)
    copies = {n: c for n, c in program.copies.items() if n != nest.copy.name}
    assignments = {
        **result.assignments,
        block.fill: block.filled,
        block.drain: block.drained,
        block.core: block.assignment,
        **{name: _over(block.assignment, copy) for name, copy in moving.parts.items()},
    }
    changed = replace(program, copies={**copies, **moving.copies}, tree=tree)
    return Blocked(changed, result.planned, {**result.blocks, block.loop: block}, assignments)


def _around(full: Set, rest: Set, nest: Nest) -> tuple[Set, Set]:
    """Iterations ``{ [t, k] }`` of the rest before those of the block, and after them."""
    if rest.is_empty():
        return rest, rest
    order = Map.lex_lt(rest.get_space())
    for level in range(nest.outer):
        order = order.equate(dim_type.in_, level, dim_type.out, level)
    before = order.intersect_domain(rest).intersect_range(full).domain().coalesce()
    return before, rest.subtract(before).coalesce()


class _Maker:
    """Makes copies over loop values, and the loops around them."""

    def __init__(self, program: ScheduledProgram, outer: tuple[PlanLoop, ...]) -> None:
        self.program = program
        self.outer = outer
        self.copies: dict[str, ScheduledStatement] = {}
        self.parts: dict[str, ScheduledStatement] = {}
        self.values: dict[str, dict[str, PwAff]] = {loop.name: {} for loop in outer}

    def loops(self, name: str, domain: Set, inner: tuple[PlanLoop, ...], suffix: str) -> PlanLoop:
        """A nest whose loops' values are the dimensions of a new copy."""
        statement = self.program.copies[name.rpartition("#")[0]].statement
        copy = ScheduledStatement(name, statement, domain.set_tuple_name(name), len(self.outer))
        self.copies[name] = copy
        space = copy.domain.get_space()
        for level, loop in enumerate(self.outer):
            self.values[loop.name][name] = affine_var(space, level)
        node: PlanLoop | str = name
        for level, loop in reversed(list(enumerate(inner, len(self.outer)))):
            mark = "" if suffix else loop.mark
            values = {name: affine_var(space, level)}
            node = PlanLoop(f"{loop.name}{suffix and '_'}{suffix}", values, (node,), mark)
        assert isinstance(node, PlanLoop)
        return node

    def part(self, nest: Nest, times: Set, suffix: str) -> PlanLoop:
        """The nest itself for some of its iterations ``{ [t, k] }``."""
        name = f"{nest.copy.name}#{suffix}"
        extra = len(nest.path) - times.dim(dim_type.set)
        wanted = times.add_dims(dim_type.set, extra)
        domain = self.program.prefixes[nest.copy.name].intersect_range(wanted).domain()
        copy = replace(nest.copy, name=name, domain=domain.coalesce().set_tuple_name(name))
        self.copies[name] = self.parts[name] = copy
        for loop in self.outer:
            self.values[loop.name][name] = named(loop.values[nest.copy.name], name)
        node: PlanLoop | str = name
        for loop in reversed(nest.path[nest.outer :]):
            values = {name: named(loop.values[nest.copy.name], name)}
            mark = "" if loop.mark == "register_tile" else loop.mark
            node = replace(
                loop, name=f"{loop.name}_{suffix}", values=values, body=(node,), mark=mark
            )
        assert isinstance(node, PlanLoop)
        return node


def _over(assignment: LoweredStatement, copy: ScheduledStatement) -> LoweredStatement:
    """The assignment over a copy of another name."""

    def renamed(expr: Expr) -> Expr:
        if isinstance(expr, Affine):
            return Affine(expr.type, named(expr.form, copy.name))
        children = tuple(map(renamed, expr.children))
        return expr.with_children(children) if children else expr

    index = tuple(map(renamed, assignment.index))
    return LoweredStatement(assignment.buffer, index, renamed(assignment.value), ())
