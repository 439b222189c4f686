"""Loop-invariant code motion: subscripts and tests that stay the same in a loop go before it.

rewrite: ``for (x) a[max(0, y - 3)][x];`` -> ``row = max(0, y - 3); for (x) a[row][x];``

Only those with branches: compilers move plain arithmetic themselves, but give up on vectors where
a loop holds a choice. Their values are integers from iterators and sizes, so that working them
out where nothing may run at all does no harm.

The fixed values of a vector loop (``lower/cse.py``) go before it as well. They may load, so they
are worked out only where the loop runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary, Call, Select, Symbol, Var
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    For,
    If,
    Local,
    Node,
    as_block,
    assigns_in,
    loops_in,
    rebuilt,
    with_expressions,
)
from polyopt.codegen.ast.visit import substitute, walk
from polyopt.codegen.passes.strip_mine import span_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.codegen.ast.expr import CType, Expr
    from polyopt.codegen.ast.nodes import AffineExpr


def licm(block: Block) -> Block:
    """The block with branching subscripts and tests before the loops that they do not depend on."""
    return _block(block, {})


def _block(block: Block, known: dict[Expr, Expr]) -> Block:
    body: list[Node] = []
    known = dict(known)
    for node in block.body:
        for form in _invariant(node):
            if form.value not in known:
                held = Var(Symbol(form.hint, form.value.type))
                known[form.value] = held
                body.append(Assign(held, form.value, declares=True, constant=True))
        inside = _node(node, known)
        body.append(_fixed_first(inside) if isinstance(inside, For) else inside)
    return replace(block, body=tuple(body))


def _node(node: Node, known: dict[Expr, Expr]) -> Node:
    match node:
        case Block():
            return _block(node, known)
        case Assign():
            return _assign(node, known)
        case _:
            return rebuilt(node, lambda inner: _node(inner, known))


def _assign(assign: Assign, known: dict[Expr, Expr]) -> Assign:
    """The assignment with variables for forms that are known."""
    own = {form.value: known[form.value] for form in assign.forms if form.value in known}
    return with_expressions(assign, lambda part: substitute(part, own)) if own else assign


def _invariant(node: Node) -> Iterator[AffineExpr]:
    """The branching forms below a loop that depend on none of the loops there."""
    if not isinstance(node, For):
        return
    inner = {loop.iterator for loop in loops_in(node)}
    for assign in assigns_in(node):
        for form in assign.forms:
            if inner.isdisjoint(form.value.symbols) and any(map(_branches, walk(form.value))):
                yield form


def _branches(expr: Expr) -> bool:
    return isinstance(expr, (Select, Call)) or (
        isinstance(expr, Binary) and expr.sign in {"&&", "||"}
    )


# -- the fixed values of vector loops -------------------------------------------------------------


def _fixed_first(loop: For) -> For | If | Block:
    """The loop after its fixed values, under a test that it runs unless that is known."""
    made: dict[tuple[CType, Expr], Local] = {}
    body = as_block(_without_fixed(loop.body, made))
    if not made:
        return loop
    before = tuple(
        Assign(Var(local.symbol), local.value, declares=True, constant=True)
        for local in made.values()
    )
    whole = Block((*before, replace(loop, body=body)))
    return whole if _holds(loop) else If(loop.test_at(loop.start), whole)


def _holds(loop: For) -> bool:
    """Whether a loop is known to run: its end is a constant further than its start."""
    return (span_of(loop) or 0) > 0


def _without_fixed(node: Node, made: dict[tuple[CType, Expr], Local]) -> Node:
    """A node of the loop's body by the names of fixed values, which are added to ``made``."""
    if isinstance(node, Block):
        return rebuilt(node, lambda inner: _without_fixed(inner, made))
    if not isinstance(node, Assign) or not any(local.fixed for local in node.locals):
        return node
    known: dict[Expr, Expr] = {}
    for local in node.locals:
        if local.fixed:
            value = substitute(local.value, known)
            key = local.symbol.type, value
            if key not in made:
                hint = local.symbol.hint or "fixed"
                made[key] = Local(Symbol(hint, local.symbol.type), value)
            known[Var(local.symbol)] = Var(made[key].symbol)
    kept = (local for local in node.locals if not local.fixed)
    return replace(
        node,
        value=substitute(node.value, known),
        locals=tuple(replace(v, value=substitute(v.value, known)) for v in kept),
    )
