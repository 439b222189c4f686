"""Calls of generated C that look places up in a short table, as plain loops.

rewrite: ``lookup_f32(grid[y][0], 12, &at[i], found, n);`` ->
``for (k < n) found[k] = grid[y][0][at[i + k]];``

Registers hold a table of the length that is passed: what is read of a table's row has to be all
of it, and places and elements have to be of the types that lanes are permuted by.
"""

# The parser's trees are copied and changed by the names of their parts, which have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportReturnType=false
# pyright: reportOptionalIterable=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pycparser import c_ast

from polyopt.frontend.c.syntax.nodes import base_of, binary, constant, integer, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LOOKUP = re.compile(r"lookup_[uif]\d+")
#: what that does where the processor has no permutations, as the parser's printer writes it
_MEANING = """{
  (void) length;
  for (int64_t k = 0; k < n; k++)
  {
    found[k] = table[at[k]];
  }

}
"""


class _Row(NamedTuple):
    """A row of elements: ``a``, ``a[i]`` or ``&a[i][x]``, and where in it to begin."""

    array: c_ast.Node
    first: c_ast.Node | None
    element: str
    extent: str

    def at(self, place: c_ast.Node) -> c_ast.ArrayRef:
        """The element so many places behind the first."""
        subscript = place if self.first is None else binary("+", self.first, place)
        return c_ast.ArrayRef(self.array, subscript, self.array.coord)


def looked_up(
    call: c_ast.FuncCall,
    helper: c_ast.FuncDef,
    shapes: Mapping[str, tuple[str, tuple[str, ...]]],
    fresh: Callable[[str], str],
) -> c_ast.For:
    """The call as a loop. ``shapes`` are element and extents of arrays, ``fresh`` makes names.

    Raises ``ValueError`` with the rule of generated code that is broken.
    """
    name = helper.decl.name
    if text_of(helper.body) != _MEANING:
        msg = f"{name} is not what it is known as"
        raise ValueError(msg)
    given, length, *others, count = call.args.exprs
    table, at, found = rows = [_row(node, shapes, name) for node in (given, *others)]
    formals = helper.decl.type.args.params
    wanted = [" ".join(formals[k].type.type.type.names) for k in (0, 2, 3)]
    if [row.element for row in rows] != wanted:
        msg = f"{name} is given rows of other types than its own"
        raise ValueError(msg)
    if table.first is not None or text_of(length) != table.extent:
        msg = f"{name} is given another length than its table's"
        raise ValueError(msg)
    if base_of(found.array) in {base_of(table.array), base_of(at.array)}:
        msg = f"{name} writes what it reads"
        raise ValueError(msg)
    index = fresh("k")
    here = c_ast.ID(index, call.coord)
    body = c_ast.Assignment("=", found.at(here), table.at(at.at(here)), call.coord)
    init = c_ast.DeclList([integer(index, constant(0))])
    up = c_ast.UnaryOp("p++", here)
    return c_ast.For(init, binary("<", here, count), up, c_ast.Compound([body]), call.coord)


def _row(node: c_ast.Node, shapes: Mapping[str, tuple[str, tuple[str, ...]]], name: str) -> _Row:
    """What an argument points to: one row of an array that is in scope."""
    first = None
    if isinstance(node, c_ast.UnaryOp) and node.op == "&" and isinstance(node.expr, c_ast.ArrayRef):
        node, first = node.expr.name, node.expr.subscript
    element, extents = shapes.get(base_of(node), ("", ()))
    if not extents or _rank(node) != len(extents) - 1:
        msg = f"{name} is given what is no row of an array"
        raise ValueError(msg)
    return _Row(node, first, element, extents[-1])


def _rank(node: c_ast.Node) -> int:
    """The subscripts of ``a[i][j]``."""
    return 1 + _rank(node.name) if isinstance(node, c_ast.ArrayRef) else 0
