"""Sums that threads share: each iteration of a parallel loop has its own, added in their order.

rewrite: ``for (i) for (j) y[j] = y[j] + A[i][j];``, with ``i`` in blocks that threads share ->
``for (it) { for (j) part[j] = 0; for (i in block) for (j) part[j] = part[j] + A[i][j];
#pragma omp ordered
{ for (j) y[j] = y[j] + part[j]; } }``

Blocks are added one after the other, whatever thread has done them: the number of threads does
not change the result.

*Requires* that the order of the sums is free, and that nothing else in the loop touches their
arrays (``transform/legality/parallel.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.schedule.accesses import LoweredStatement, lowered_statement
from polyopt.ir.build import binary, compare, identity, load, select
from polyopt.ir.expr import index_of
from polyopt.ir.scop import Statement
from polyopt.isl import Map, affine_constant, affine_var, dim_type
from polyopt.transform.annotations.reassociate import sums_in
from polyopt.transform.legality.parallel import shared_sums
from polyopt.transform.schedule.query import fresh_loop_name, path_to
from polyopt.transform.schedule.storage import StorageDirective, project_tail
from polyopt.transform.schedule.tree import (
    PlanLoop,
    ScheduledStatement,
    loops_of,
    replace_loop,
    with_values,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Array
    from polyopt.transform.schedule.program import ScheduledProgram

#: the mark of loops whose iterations threads run one after the other
ORDERED = "ordered"
#: how the partial results of an operation are joined
_JOINED = {"+": "add", "*": "mul", "max": "max", "min": "min"}


@dataclass(frozen=True, eq=False)
class PrivatizedReductions:
    """Privatised reductions: a program whose parallel loops keep sums of their own in buffers."""

    program: ScheduledProgram
    #: what the copies compute that add partial sums to an array
    joins: Mapping[str, LoweredStatement]


def with_partials(program: ScheduledProgram) -> PrivatizedReductions:
    """The program with a buffer for what each iteration of a parallel loop adds up."""
    result = PrivatizedReductions(program, {})
    for loop in loops_of(program.tree) if program.reassociated else ():
        around = path_to(program, loop.name)[:-1]
        if loop.mark != "parallel" or any(n.mark in {"parallel", "vector"} for n in around):
            continue
        shared = shared_sums(program, loop)
        if not shared:
            continue
        operations = sums_in(program, loop)
        result = _ordered(result, loop.name)
        for array, copies in shared.items():
            result = _apart(result, loop.name, array, copies, operations[copies[0]])
    return result


def _ordered(result: PrivatizedReductions, at: str) -> PrivatizedReductions:
    """The program with a loop of one iteration, still empty, at the end of loop ``at``: what it
    gets threads run in their order."""
    name = f"{at}_ordered"
    tree = replace_loop(
        result.program.tree,
        at,
        lambda found: (replace(found, body=(*found.body, PlanLoop(name, {}, (), ORDERED))),),
    )
    return replace(result, program=replace(result.program, tree=tree))


def is_ordered(loop: PlanLoop) -> bool:
    """Whether threads run something in a loop in the order of its iterations."""
    return any(inner.mark == ORDERED for inner in loop.body if isinstance(inner, PlanLoop))


def _apart(
    result: PrivatizedReductions, at: str, array: str, copies: Sequence[str], operation: str
) -> PrivatizedReductions:
    """The program with partial sums of one array, per iteration of loop ``at``."""
    program = result.program
    name = _JOINED[operation]
    path = path_to(program, at)
    needed = _needed(program, array, copies, len(path))
    store = StorageDirective(f"{array}@{at}#part", array, at)
    known = program.scop.array(array)
    start = identity(name, known.type)
    fill = _copy(program, known, needed, len(path), f"{store.name}#fill", start)
    join = _copy(program, known, needed, len(path), f"{store.name}#join", None)
    nests = [_nest(program, copy, known, len(path)) for copy in (fill, join)]
    tree = replace_loop(program.tree, at, lambda n: (replace(n, body=(nests[0], *n.body)),))
    tree = replace_loop(tree, f"{at}_ordered", lambda n: (replace(n, body=(*n.body, nests[1])),))
    added = {
        node.name: {c.name: affine_var(c.domain.get_space(), level) for c in (fill, join)}
        for level, node in enumerate(path)
    }
    zero = affine_constant(join.domain.get_space(), 0)
    added[f"{at}_ordered"] = {join.name: zero}
    grown = {**program.copies, fill.name: fill, join.name: join}
    bare = replace(program, copies=grown, tree=with_values(tree, added))
    changed = replace(bare, stores=(*program.stores, store))
    there, here = lowered_statement(bare, join.name), lowered_statement(changed, join.name)
    value = _joined(name, there.value, here.value)
    joins = {**result.joins, join.name: LoweredStatement(there.buffer, there.index, value, ())}
    return PrivatizedReductions(changed, joins)


def _joined(name: str, whole: Expr, part: Expr) -> Expr:
    """A result with a partial one; extremes hand on what is no number in either."""
    if name not in {"max", "min"}:
        return binary(name, whole, part)
    order = compare("lt" if name == "max" else "gt", part, whole)
    return select(binary("or", order, compare("ne", whole, whole)), whole, part)


def _needed(program: ScheduledProgram, array: str, copies: Sequence[str], depth: int) -> Map:
    """``{ [t] -> A[x] }`` that an iteration adds to."""
    writes, _ = program.touches_in({*copies})
    parts = [project_tail(t.prefix, depth).reverse().apply_range(t.element) for t in writes]
    result = parts[0]
    for part in parts[1:]:
        result = result.union(part)
    result = result.intersect_range(program.elements[array])
    return result.intersect_params(program.scop.context).coalesce()


def _copy(
    program: ScheduledProgram, array: Array, needed: Map, depth: int, name: str, value: Expr | None
) -> ScheduledStatement:
    """Instances ``{ C[t, x] }`` that set each element to a value, or to itself."""
    elements = program.elements[array.name].set_tuple_name(name)
    index = tuple(index_of(affine_var(elements.get_space(), d)) for d in range(array.rank))
    own = load(array.type, array.name, index) if value is None else value
    iterators = tuple(f"{array.name}_{d}" for d in range(array.rank))
    statement = Statement(name, iterators, elements, array.name, index, own)
    domain = needed.wrap().flatten().set_tuple_name(name).coalesce()
    return ScheduledStatement(name, statement, domain, depth)


def _nest(
    program: ScheduledProgram, copy: ScheduledStatement, array: Array, depth: int
) -> PlanLoop | str:
    """A loop per dimension of the array, the last a vector loop."""
    node: PlanLoop | str = copy.name
    space = copy.domain.get_space()
    what = copy.name.rpartition("#")[2]
    for position in reversed(range(depth, copy.domain.dim(dim_type.set))):
        iterator = copy.statement.iterators[position - depth]
        name = fresh_loop_name(program.tree, f"{array.name}@{what}.{iterator}")
        mark = "" if isinstance(node, PlanLoop) else "vector"
        node = PlanLoop(name, {copy.name: affine_var(space, position)}, (node,), mark)
    return node
