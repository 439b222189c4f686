"""Whether printed C relies on signed overflow that wraps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Symbol, Var
from polyopt.codegen.expressions.indices import index_variable
from polyopt.codegen.expressions.ir import lowered
from polyopt.codegen.expressions.lowered import Lowered, loaded
from polyopt.ir.block import Block
from polyopt.ir.expr import Local, loads, walk
from polyopt.ir.types import I64

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.expr import Expr, Load


def needs_wrapv(expr: Expr, temps: Mapping[str, tuple[int, int]] | None = None) -> bool:
    """Whether printed C relies on signed overflow that wraps: compile it with ``-fwrapv``.

    ``temps`` has the least and the greatest value of arrays, where those are known.
    """
    if isinstance(expr, Block):
        known = {
            id(n): loaded(n.type, Var(Symbol(n.name, n.type)))
            for n in walk(expr)
            if isinstance(n, Local)
        }
        return any(_wraps(part, known) for part in expr.children)
    known = {
        id(n): replace(loaded(n.type, Var(Symbol("x", n.type))), bounds=temps[n.array])
        for n in loads(expr)
        if temps and n.array in temps and n.type.is_integer
    }
    return _wraps(expr, known)


def _wraps(expr: Expr, known: Mapping[int, Lowered]) -> bool:
    # each leaf is a symbol of its own: what looks alike is taken to be equal
    def load(node: Load) -> Var:
        return Var(Symbol("x", node.type))

    def affine(_: Expr) -> Lowered:
        return index_variable(Var(Symbol("x", I64)))  # no number that it may be wraps sooner

    return lowered(expr, load, affine, affine, known=known).wraps
