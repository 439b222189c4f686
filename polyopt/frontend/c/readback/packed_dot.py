"""Dot products of packed pairs in generated C: what a lane of a vector of them is."""

# The parser's trees have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportArgumentType=false

from __future__ import annotations

import re

from pycparser import CParser, c_ast

from polyopt.frontend.c.syntax.nodes import binary, cast, constant, text_of

#: ``dot_2x16packed_i32x8``
DOT = re.compile(r"dot_2x16packed_i32x(\d+)")
_HALF = 16
#: what it returns in each lane where compilers have no instruction for it
_TEXT = """
typedef int int32_t; typedef int {vector};
static inline {vector} {name}(int32_t pair, {vector} pairs) {{
    const {vector} both = (({vector}){{0}}) + pair;
    return ((both << 16) >> 16) * ((pairs << 16) >> 16) + (both >> 16) * (pairs >> 16);
}}
"""


def means_dot(helper: c_ast.FuncDef | None) -> bool:
    """Whether a function's text, of the branch that any compiler has, is that of a dot product."""
    if helper is None:
        return False
    name = helper.decl.name
    text = _TEXT.format(name=name, vector=name.removeprefix("dot_2x16packed_"))
    return text_of(helper) == text_of(CParser().parse(text).ext[-1])


def dot_of(pair: c_ast.Node, pairs: c_ast.Node) -> c_ast.Node:
    """A lane: ``(int32_t)(int16_t)pair * (int32_t)(int16_t)pairs + (pair >> 16) * (pairs >> 16)``."""

    def low(word: c_ast.Node) -> c_ast.Node:
        return cast(cast(word, _type("int16_t")), _type("int32_t"))

    def high(word: c_ast.Node) -> c_ast.Node:
        return binary(">>", word, constant(_HALF))

    return binary("+", binary("*", low(pair), low(pairs)), binary("*", high(pair), high(pairs)))


def _type(name: str) -> c_ast.TypeDecl:
    return c_ast.TypeDecl(None, [], None, c_ast.IdentifierType([name]))
