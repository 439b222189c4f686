"""isl's AST of a schedule, and what each statement in it needs to be printed as C."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polyopt.codegen.lower.register_tile_body import row_subscripts
from polyopt.codegen.schedule.accesses import LoweredStatement, lowered_statement
from polyopt.errors import TooLargeError
from polyopt.ir.expr import Affine, Expr, Inside, walk
from polyopt.isl import (
    AstBuild,
    AstExpr,
    AstNode,
    Id,
    Map,
    PwMultiAff,
    Schedule,
    Set,
    affine_constant,
    ast_node_type,
    ast_options,
    canonical_tuples,
    context,
    dim_type,
    tuple_name,
)
from polyopt.transform.schedule.limits import MOST_NESTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.codegen.lower.register_tile import RegisterBlock
    from polyopt.codegen.lower.register_tile_nests import Blocked
    from polyopt.isl import PwAff


@dataclass(frozen=True, eq=False)
class Leaf:
    """What one generated statement needs: its assignment, and C for its affine parts."""

    assignment: LoweredStatement
    #: id of an affine or condition node -> isl's expression in the generated iterators
    affine: Mapping[int, AstExpr]
    #: of the statement of a register block: which, and the subscripts of its operands
    block: RegisterBlock | None = None
    rows: Mapping[tuple[int, tuple[int, ...]], tuple[AstExpr, ...]] = field(
        default_factory=dict[tuple[int, tuple[int, ...]], "tuple[AstExpr, ...]"]
    )
    #: ``{ [c] -> C[d] }``: the instance that isl's loops run here; none of a register block
    to_copy: PwMultiAff | None = None


def isl_tree(blocked: Blocked, schedule: Schedule, leaves: dict[str, Leaf]) -> AstNode:
    """isl's AST of a schedule; ``leaves`` gets what its statements need."""
    program, cores, number = blocked.program, blocked.cores, itertools.count()
    assignments = {
        copy: blocked.assignments.get(copy) or lowered_statement(blocked.planned, copy)
        for copy in program.places
    }
    names = canonical_tuples(program.places)
    copies = {tuple_: program.copies[name] for name, tuple_ in names.items()}

    errors: list[BaseException] = []

    def each(node: AstNode, build: AstBuild) -> AstNode:
        key = f"leaf{next(number)}"
        try:
            schedule = Map.from_union_map(build.get_schedule())
            copy = copies.get(tuple_name(schedule.domain()))
            # a statement that is no copy is no more than the place of a block
            if not errors and copy is not None:
                to_copy = schedule.reverse().as_pw_multi_aff()
                to_copy = to_copy.set_tuple_id(dim_type.out, copy.domain.get_tuple_id())
                block, assignment = cores.get(copy.name), assignments[copy.name]
                leaves[key] = _leaf(build, assignment, to_copy, block)
        except BaseException as error:  # noqa: BLE001 (isl frees the node twice where it sees one)
            errors.append(error)
        return node.set_annotation(Id(key, context=context()))

    with ast_options():
        # islpy hands back the callback's handle too: it has to outlive the generation
        build, _handle = AstBuild.from_context(program.scop.context).set_at_each_domain(each)
        tree = build.node_from_schedule(schedule)
    if errors:
        raise errors[0]
    check_nesting(tree)
    return tree


def check_nesting(tree: AstNode) -> None:
    """Raise ``TooLargeError`` where loops and conditions are too deep inside of each other.

    Full tiles whose loops are unrolled give a chain of conditions, each in the last one's ``else``.
    """
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MOST_NESTED:
            message = f"the C would have more than {MOST_NESTED} loops and conditions in each other"
            raise TooLargeError(message, hint="unroll by a factor, or separate_full_tiles() fewer")
        waiting += [(inner, depth + deeper) for inner, deeper in _inside(node)]


def _inside(node: AstNode) -> list[tuple[AstNode, int]]:
    """The nodes of a node, and by how much they are nested deeper."""
    kind = node.get_type()
    if kind == ast_node_type["for_"]:
        return [(node.for_get_body(), 1)]
    if kind == ast_node_type.mark:
        return [(node.mark_get_node(), 0)]
    if kind == ast_node_type.block:
        return [(child, 0) for child in children(node)]
    if kind == ast_node_type["if_"]:
        found = [(node.if_get_then_node(), 1)]
        return found + ([(node.if_get_else_node(), 1)] if node.if_has_else_node() else [])
    return []


def _leaf(
    build: AstBuild, assignment: LoweredStatement, to_copy: PwMultiAff, block: RegisterBlock | None
) -> Leaf:
    """What a statement needs, of a register block the subscripts of each row's operands;
    ``to_copy`` is ``{ [c] -> C[d] }``."""
    if block is not None:
        return Leaf(assignment, {}, block, row_subscripts(block, build, to_copy))
    affine: dict[int, AstExpr] = {}
    #: by their text, see ``Written``: a block of rows has many of each
    known: dict[str, AstExpr] = {}
    for expr in (*assignment.index, assignment.value):
        for node in walk(expr):
            form = _form(node)
            if form is None:
                continue
            text = str(form)
            if text not in known:
                known[text] = _in_loops(build, form, to_copy)
            affine[id(node)] = known[text]
    return Leaf(assignment, affine, to_copy=to_copy)


def _form(node: Expr) -> PwAff | Set | None:
    """The affine value or condition that a node is, if it is one."""
    if isinstance(node, Affine):
        return node.form
    return node.where if isinstance(node, Inside) else None


def _in_loops(build: AstBuild, form: PwAff | Set, to_copy: PwMultiAff) -> AstExpr:
    if isinstance(form, Set):
        return build.expr_from_set(form.preimage_pw_multi_aff(to_copy))
    form = form.pullback_pw_multi_aff(to_copy)
    if form.domain().is_empty():
        # in a branch that is never taken, where a buffer has no element to name
        form = affine_constant(form.get_space().domain(), 0)
    return build.expr_from_pw_aff(form)


def children(node: AstNode) -> list[AstNode]:
    """The nodes of a sequence."""
    children = node.block_get_children()
    return [children.get_at(i) for i in range(children.n_ast_node())]


def users(node: AstNode) -> Iterator[AstNode]:
    """The statements in a node that no loop inside is around."""
    kind = node.get_type()
    if kind == ast_node_type.user:
        yield node
    elif kind == ast_node_type.mark:
        yield from users(node.mark_get_node())
    elif kind == ast_node_type.block:
        for child in children(node):
            yield from users(child)
    elif kind == ast_node_type["if_"]:
        yield from users(node.if_get_then_node())
        if node.if_has_else_node():
            yield from users(node.if_get_else_node())


def all_users(node: AstNode) -> list[AstNode]:
    """The statements in a node, those in loops too."""
    found: list[AstNode] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.get_type() == ast_node_type.user:
            found.append(one)
        waiting += [inner for inner, _ in _inside(one)]
    return found


def is_loop(node: AstNode) -> bool:
    """Whether a node is, or holds, iterations of the loop whose mark is above it."""
    kind = node.get_type()
    if kind == ast_node_type.block:
        return any(map(is_loop, children(node)))
    if kind == ast_node_type["if_"]:
        branches = [node.if_get_then_node()]
        if node.if_has_else_node():
            branches.append(node.if_get_else_node())
        return any(map(is_loop, branches))
    return kind == ast_node_type["for_"]
