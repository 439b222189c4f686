"""Calls of generated C that put a square of elements across, as two loops over it.

rewrite: ``transposed_f32(&a[i][0], sizeof(a[0]) / sizeof(float), &b[0][i], ..., 16, 14);`` ->
``for (c < 14) for (r < 16) b[0 + c][i + r] = a[i + r][0 + c];``
"""

# The parser's trees are copied and changed by the names of their parts, which have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportReturnType=false
# pyright: reportOptionalIterable=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.nodes import binary, constant, integer, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TRANSPOSED = "transposed_f32"
#: what that does, with its arguments in their order, as the parser's printer writes it
_MEANING = """{
  for (int64_t c = 0; c < columns; c++)
  {
    for (int64_t r = 0; r < rows; r++)
    {
      to[(c * to_step) + r] = from[(r * from_step) + c];
    }

  }

}
"""
#: ``2 * sizeof(a[0][0]) / sizeof(float)`` without blanks and parentheses
_ROW = re.compile(r"(?:(\d+)\*)?sizeof(\w+?)((?:\[0\])+)/sizeoffloat")


def square_of(
    call: c_ast.FuncCall,
    helper: c_ast.FuncDef,
    shapes: Mapping[str, tuple[str, ...]],
    fresh: Callable[[str], str],
) -> c_ast.For:
    """The call as loops. ``shapes`` are the extents of arrays, ``fresh`` makes names.

    Raises ``ValueError`` with the rule of generated code that is broken.
    """
    if text_of(helper.body) != _MEANING:
        msg = f"{TRANSPOSED} is not what it is known as"
        raise ValueError(msg)
    source, step, target, to_step, rows, columns = call.args.exprs
    row, column = fresh("row"), fresh("column")
    read = _moved(source, _level(source, step, shapes), row, column)
    written = _moved(target, _level(target, to_step, shapes), column, row)
    body: c_ast.Node = c_ast.Assignment("=", written, read, call.coord)
    for name, count in ((row, rows), (column, columns)):
        condition = binary("<", c_ast.ID(name), count)
        init = c_ast.DeclList([integer(name, constant(0))])
        up = c_ast.UnaryOp("p++", c_ast.ID(name))
        body = c_ast.For(init, condition, up, c_ast.Compound([body]), call.coord)
    return body


def _subscripts(element: c_ast.ArrayRef) -> list[c_ast.ArrayRef]:
    """The nodes of ``a[i][j]``, the first subscript's first."""
    found = [element]
    while isinstance(found[0].name, c_ast.ArrayRef):
        found.insert(0, found[0].name)
    return found


def _level(
    first: c_ast.Node, step: c_ast.Node, shapes: Mapping[str, tuple[str, ...]]
) -> tuple[int, int]:
    """Which subscript of ``&a[i][j]`` moves by a step of so many elements, and how far."""
    subscripts = _subscripts(first.expr)
    name = subscripts[0].name.name
    text = re.sub(r"[()\s]", "", text_of(step))
    found = _ROW.fullmatch(text)
    level, factor = None, 1
    if found is not None and found[2] == name:
        level, factor = found[3].count("[0]") - 1, int(found[1] or 1)
    elif found is None:
        extents = shapes[name]
        rows = (k for k in range(len(extents)) if "*".join(extents[k + 1 :]) == text)
        level = next(rows, None)
    if level is None or level >= len(subscripts) - 1:
        msg = f"a step that is no row of {name}"
        raise ValueError(msg)
    return level, factor


def _moved(first: c_ast.Node, by: tuple[int, int], row: str, column: str) -> c_ast.Node:
    """The element that lies ``row`` steps and ``column`` elements behind ``&a[i][j]``."""
    level, factor = by
    element = copy.deepcopy(first.expr)
    subscripts = _subscripts(element)
    steps = binary("*", constant(factor), c_ast.ID(row))
    for node, moved in ((subscripts[level], steps), (element, c_ast.ID(column))):
        node.subscript = binary("+", node.subscript, moved)
    return element
