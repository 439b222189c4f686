"""Functions of generated C's own, as the C library's or as casts: their text is compared whole.

rewrite: ``exp_f32(x)`` -> ``expf(x)``

rewrite: ``f16_bits h = f16_of_f32(x);`` -> ``_Float16 h = (_Float16)x;``
"""

# The parser's trees have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

import re

from pycparser import c_ast

from polyopt.frontend.c.syntax.nodes import called, cast, put
from polyopt.frontend.c.syntax.usage import nodes
from polyopt.ir.types import BF16, F16, F32

_OURS = re.compile(r"(exp2?|log2?|tanh|erf|pow|sin|cos|tan)_(f32|f64)")


#: types of emitted C that are bits there
_HALVES = {F16.c_name: "_Float16", BF16.c_name: "__bf16"}
_CONVERSION = re.compile(r"(f32|f16|bf16)_of_(?:f32|f16|bf16)")
_NAMED = {F32.name: "float", **{t.name: _HALVES[t.c_name] for t in (F16, BF16)}}


def with_halves(tree: c_ast.FileAST) -> c_ast.FileAST:
    """The file with halves as types of their own, and with casts for their conversions."""
    tree.ext = [n for n in tree.ext if getattr(n, "name", None) not in _HALVES]
    for node in nodes(tree):
        if isinstance(node, c_ast.IdentifierType):
            node.names = [_HALVES.get(name, name) for name in node.names]
        for name, child in node.children():
            found = isinstance(child, c_ast.FuncCall) and _CONVERSION.fullmatch(called(child))
            if found:
                kind = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType([_NAMED[found[1]]]))
                put(node, name, cast(child.args.exprs[0], kind))
    return tree


def with_library_calls(tree: c_ast.FileAST) -> c_ast.FileAST:
    """The file, whose calls of ours are calls of the C library's now."""
    for node in nodes(tree):
        if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID):
            found = _OURS.fullmatch(node.name.name)
            if found:
                node.name = c_ast.ID(found[1] + "f" * (found[2] == "f32"), node.name.coord)
    return tree
