"""Loop unrolling of short loops that are no vectors: clang does it, gcc at -O3 does not.

rewrite: ``for (x) { row = row + a[x]; s[x] = row; }`` ->
``#pragma GCC unroll 4`` before the same loop

Counting and testing take two instructions of each iteration, beside a body of a few. Vectors have
long bodies already, and so has what has loops or conditions in it. A test that computes its bound
is no plain end of a loop where sanitizers look at it, and gcc warns of what is asked of such loops.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Const, Var
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    For,
    If,
    Node,
    Sequential,
    as_block,
    assigns_in,
    rebuilt,
    walk,
)
from polyopt.codegen.ast.visit import walk as parts

if TYPE_CHECKING:
    from polyopt.codegen.ast.expr import Expr

#: iterations that are written out: counting is then a quarter of what it was
TIMES = 4
#: operations of a body beside which counting shows: it is two instructions, four may start at once
_MOST = 32


def unrolled(block: Block) -> Block:
    """The block whose short innermost loops compilers are asked to unroll."""
    return as_block(_node(block))


def _node(node: Node) -> Node:
    node = rebuilt(node, _node)
    if isinstance(node, For) and node.is_sequential and _is_short(node):
        return replace(node, kind=Sequential(unroll=TIMES))
    return node


def _is_short(loop: For) -> bool:
    if not all(isinstance(side, (Var, Const)) for side in loop.condition.children):
        return False
    if any(isinstance(n, (For, If)) or not isinstance(n, (Assign, Block)) for n in walk(loop.body)):
        return False
    values = [v for a in assigns_in(loop.body) for v in (a.target, *a.values)]
    return sum(map(_operations, values)) <= _MOST


def _operations(value: Expr) -> int:
    return sum(1 for part in parts(value) if not isinstance(part, (Var, Const)))
