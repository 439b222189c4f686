"""What declarations of generated C say: shapes of arrays, and names."""

# The parser's trees have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportOptionalIterable=false
# pyright: reportOptionalMemberAccess=false, reportReturnType=false

from __future__ import annotations

from pycparser import c_ast

from polyopt.frontend.c.syntax.nodes import called, text_of
from polyopt.frontend.c.syntax.usage import nodes

_THREAD = "omp_get_thread_num"
#: element type, and the text of every extent
Shape = tuple[str, tuple[str, ...]]


def shape_of(kind: c_ast.Node) -> Shape:
    """The element and the extents of an array type; a number has none."""
    extents: list[str] = []
    while isinstance(kind, (c_ast.ArrayDecl, c_ast.PtrDecl)):
        extents.append(text_of(kind.dim) if isinstance(kind, c_ast.ArrayDecl) else "1")
        kind = kind.type
    return " ".join(kind.type.names), tuple(extents)


def arrays_among(function: c_ast.FuncDef) -> dict[str, Shape]:
    """The arrays among a function's parameters."""
    arrays = (c_ast.ArrayDecl, c_ast.PtrDecl)
    listed = function.decl.type.args.params
    return {p.name: shape_of(p.type) for p in listed if isinstance(p.type, arrays)}


def names_in(node: c_ast.Node | None) -> list[str]:
    """The variables in a tree, in order, as often as they are there."""
    return [found.name for found in nodes(node) if isinstance(found, c_ast.ID)]


def is_thread(node: c_ast.Node) -> bool:
    """Whether an expression is the number of the thread."""
    return isinstance(node, c_ast.FuncCall) and called(node) == _THREAD


def is_task(function: c_ast.FuncDef) -> bool:
    """Whether a function has no result: what runs an iteration of a loop, or some."""
    kind = function.decl.type.type
    return isinstance(kind, c_ast.TypeDecl) and kind.type.names == ["void"]
