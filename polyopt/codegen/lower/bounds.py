"""From where to where a generated loop runs, said without the loop's own iterator.

isl writes ``c1 <= 2*floord(c1 + 1, 2) - 1`` for "c1 is odd" where it finds no stride, because every
part of the loop's values has an equality with an outer iterator. It is a constraint that each value
has to meet; as the condition of a C loop it would end the loop at the first that does not.

relation: ``{ c : l <= c <= u and c <= e(c) }`` -> the loop ``l <= c <= u``, the test ``c <= e(c)``
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.codegen.expressions.affine import operation_name
from polyopt.errors import InternalError
from polyopt.isl import ast_expr_type

if TYPE_CHECKING:
    from polyopt.isl import AstExpr, AstNode


@dataclass(frozen=True, eq=False)
class LoopBounds:
    """Loop bounds: the first value, the last one, and what else holds for those between them."""

    start: AstExpr
    #: ``iterator <= end`` or ``iterator < end``
    condition: AstExpr
    tests: tuple[AstExpr, ...] = ()

    @property
    def end(self) -> AstExpr:
        """What the iterator is compared with."""
        return self.condition.get_op_arg(1)

    @property
    def closed(self) -> bool:
        """Whether ``end`` itself belongs to the loop."""
        return operation_name(self.condition) == "le"


def limits(node: AstNode) -> LoopBounds:
    """Of a loop that is not degenerate. Raises ``InternalError`` where it has no end."""
    iterator, condition = node.for_get_iterator(), node.for_get_cond()
    if condition.get_type() == ast_expr_type.int:
        raise InternalError(_ENDLESS)
    name = iterator.get_id().get_name()
    start, lower = _split(node.for_get_init(), "max", name)
    end, upper = _split(condition.get_op_arg(1), "min", name)
    tests = [iterator.ge(bound) for bound in lower]
    tests += [condition.set_op_arg(1, bound) for bound in upper]
    return LoopBounds(start, condition.set_op_arg(1, end) if upper else condition, tuple(tests))


_ENDLESS = "a generated loop has no end"


def _split(bound: AstExpr, operation: str, iterator: str) -> tuple[AstExpr, list[AstExpr]]:
    """A bound less those of its operands that the iterator is in, and those."""
    if not _mentions(bound, iterator):
        return bound, []
    several = operation_name(bound) == operation
    operands = _operands(bound) if several else [bound]
    own = [operand for operand in operands if _mentions(operand, iterator)]
    others = [operand for operand in operands if not _mentions(operand, iterator)]
    if not others:
        raise InternalError(_ENDLESS)
    if len(others) == 1:
        return others[0], own
    for place, operand in enumerate(operands):
        if _mentions(operand, iterator):
            bound = bound.set_op_arg(place, others[0])
    return bound, own


def _operands(expr: AstExpr) -> list[AstExpr]:
    return [expr.get_op_arg(i) for i in range(expr.get_op_n_arg())]


def _mentions(expr: AstExpr, iterator: str) -> bool:
    kind = expr.get_type()
    if kind == ast_expr_type.id:
        return expr.get_id().get_name() == iterator
    return kind == ast_expr_type.op and any(_mentions(e, iterator) for e in _operands(expr))
