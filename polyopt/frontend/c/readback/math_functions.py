"""Math functions of generated C's own, as the C library's: their text is compared as a whole."""

# The parser's trees have no types.
# pyright: basic, reportAttributeAccessIssue=false

from __future__ import annotations

import re

from pycparser import c_ast

from polyopt.frontend.c.syntax.usage import nodes

_OURS = re.compile(r"(exp2?|log2?|tanh|erf|pow|sin|cos|tan)_(f32|f64)")


def with_library_calls(tree: c_ast.FileAST) -> c_ast.FileAST:
    """The file, whose calls of ours are calls of the C library's now."""
    for node in nodes(tree):
        if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID):
            found = _OURS.fullmatch(node.name.name)
            if found:
                node.name = c_ast.ID(found[1] + "f" * (found[2] == "f32"), node.name.coord)
    return tree
