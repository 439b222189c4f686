"""Whether printed C relies on signed overflow that wraps."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from polyopt.codegen.cexpr import c_expression
from polyopt.codegen.ctext import PRIMARY, CText, whole
from polyopt.codegen.indices import index_variable
from polyopt.ir.block import Block
from polyopt.ir.expr import Local, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.expr import Expr
    from polyopt.ir.types import ScalarType


def needs_wrapv(expr: Expr) -> bool:
    """Whether printed C relies on signed overflow that wraps: compile it with ``-fwrapv``."""
    if isinstance(expr, Block):
        known = {id(n): c_local(n.name, n.type) for n in walk(expr) if isinstance(n, Local)}
        return any(_wraps(part, known) for part in expr.children)
    return _wraps(expr, {})


def _wraps(expr: Expr, known: Mapping[int, CText]) -> bool:
    # each leaf has a text of its own: what looks alike is taken to be equal
    names = (f"{number}x" for number in count())

    def affine(_: Expr) -> CText:
        return index_variable(next(names))  # no number that it may be wraps sooner

    return c_expression(expr, lambda _: next(names), affine, affine, known=known).wraps


def c_local(name: str, type_: ScalarType) -> CText:
    """The name of a variable of a type."""
    return CText(name, PRIMARY, type_, type_, whole(type_))
