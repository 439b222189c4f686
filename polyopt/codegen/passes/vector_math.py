"""Math functions that compilers make vectors of, in the place of the C library's.

rewrite: ``out[x] = expf(a[x]);`` -> ``out[x] = exp_f32(a[x]);``

*Requires* that the program does not ask for the C library's bits, and that only floats come out.

*Does not handle* regions that data control: they are no vectors, and what a comparison with a value
of the C library's decides stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Call
from polyopt.codegen.ast.nodes import as_block, rebuilt, with_expressions
from polyopt.codegen.ast.visit import called_in
from polyopt.codegen.helpers.math.functions import VECTOR_MATH

if TYPE_CHECKING:
    from polyopt.codegen.ast.expr import Expr
    from polyopt.codegen.ast.nodes import Function, Node


def vector_math(function: Function) -> Function:
    """The function with ours for the C library's, in all that it runs."""
    return function.with_bodies(lambda body: as_block(_node(body)))


def _node(node: Node) -> Node:
    return with_expressions(rebuilt(node, _node), _expr)


def _expr(expr: Expr) -> Expr:
    """The expression with calls of ours."""
    if VECTOR_MATH.keys().isdisjoint(called_in(expr)):
        return expr
    changed = expr.with_children(tuple(map(_expr, expr.children)))
    if isinstance(changed, Call):
        return replace(changed, function=VECTOR_MATH.get(changed.function, changed.function))
    return changed
