"""The isl operations that the lowering of one function or region may take."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pycparser import c_ast

from polyopt.errors import NotDecidedError
from polyopt.frontend.c.syntax.usage import nodes
from polyopt.isl import budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from polyopt.frontend.c.syntax.locations import Locator
    from polyopt.source import Span

T = TypeVar("T")

#: several times what has been seen: of an assignment or subscript of a region, and of a region of
#: few, whose loops and conditions take more; a million takes about a third of a second
OPERATIONS_EACH, OPERATIONS = 100_000, 1_000_000
_ACCESSES = (c_ast.Assignment, c_ast.ArrayRef)
#: of one function or region: what their order and flow take grows with the square
MAX_STATEMENTS = 1_000
_HINT = "nest fewer loops, % and / in one another, or mark a smaller part of the program"


def within(
    work: Callable[[], T],
    items: Iterable[c_ast.Node],
    what: str,
    node: c_ast.Node | Span,
    locator: Locator,
) -> T:
    """What the lowering of some items gives, within a budget of isl operations.

    Raises ``NotDecidedError``, at the node, where that is spent.
    """
    accesses = sum(isinstance(n, _ACCESSES) for item in items for n in nodes(item))
    try:
        with budget(OPERATIONS + OPERATIONS_EACH * min(accesses, MAX_STATEMENTS), what):
            return work()
    except NotDecidedError as error:
        message = error.diagnostic.message
        raise locator.error(NotDecidedError, node, message, hint=_HINT) from None
