"""How much arithmetic an expression is: weights in units of one add, for the model's choices."""

from __future__ import annotations

from polyopt.ir.expr import Affine, Binary, Call, Cast, Const, Expr, Inside, Load, Select

#: relative cost of one lane of a vector operation; a division by a constant is a multiply-high
#: and shifts. Measured order of magnitude, not cycles.
_DIVIDE = 8.0
#: by a constant: a multiplication and shifts
_DIVIDE_CONSTANT = 3.0
#: a math function
_CALL = 12.0
#: a boundary test per element: comparisons and a masked load
_BOUNDARY = 4.0
#: a load takes part of a cache line, or of two; one that data decide is done lane by lane
LOAD = 1.5
#: an element that data decide
_GATHER = 20.0
_CHEAP_CALLS = {"fabs", "abs", "sqrt", "floor", "ceil", "trunc"}


def work(expr: Expr) -> float:
    """The operations of one evaluation; affine subscripts are free."""
    if isinstance(expr, Select) and isinstance(expr.cond, Inside):
        return _BOUNDARY + max(work(expr.then), work(expr.other))
    return weight(expr) + sum(map(work, expr.children))


def weight(expr: Expr) -> float:
    """The operations of a node alone, without those of its operands."""
    match expr:
        case Affine() | Const() | Inside():
            return 0.0
        case Load():
            return LOAD if all(isinstance(i, Affine) for i in expr.index) else _GATHER
        case Binary(op="div" | "mod" | "floordiv" | "floormod"):
            constant = isinstance(expr.right, Const) and expr.type.is_integer
            return _DIVIDE_CONSTANT if constant else _DIVIDE
        case Call():
            return 2.0 if expr.function in _CHEAP_CALLS else _CALL
        case Cast():
            return 1.0 if expr.type.is_float != expr.operand.type.is_float else 0.0
        case _:
            return 1.0
