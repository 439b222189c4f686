"""What is in an expression, and the expression with other parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Call, Deref, Foreign, Index, Var, VectorAt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.codegen.ast.expr import Expr, Symbol


def walk(expr: Expr) -> Iterator[Expr]:
    """An expression and all below it, from the left."""
    waiting = [expr]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += reversed(found.children)


def base_of(expr: Expr) -> Symbol | None:
    """The variable, array or buffer that an element or a vector of elements belongs to."""
    match expr:
        case Var(symbol=symbol) | Index(array=symbol) | Deref(pointer=symbol):
            return symbol
        case Foreign(array=array):
            return array
        case VectorAt(element=element):
            return base_of(element)
        case _:
            return None


def subscripts_of(expr: Expr) -> tuple[Expr, ...]:
    """The subscripts of an element of an array; none of anything else."""
    return expr.children if isinstance(expr, (Index, Foreign)) else ()


def is_element(expr: Expr) -> bool:
    """Whether it is something in memory: an element of an array or a buffer."""
    return isinstance(expr, (Index, Deref)) or (isinstance(expr, Foreign) and bool(expr.array))


def elements_in(expr: Expr) -> Iterator[Expr]:
    """The elements that an expression loads, those in subscripts too."""
    return (found for found in walk(expr) if is_element(found))


def called_in(expr: Expr) -> frozenset[str]:
    """The functions of the C library and of code generation's own that an expression calls."""
    return frozenset(found.function for found in walk(expr) if isinstance(found, Call))


def substitute(expr: Expr, known: dict[Expr, Expr]) -> Expr:
    """The expression with others in the place of some; the largest that are known."""
    if not known:
        return expr
    found = known.get(expr)
    if found is not None:
        return found
    children = expr.children
    if not children:
        return expr
    new = tuple(substitute(child, known) for child in children)
    same = all(a is b for a, b in zip(children, new, strict=True))
    return expr if same else expr.with_children(new)
