"""Minima and maxima that lanes keep, in emitted C: shown by trying them on numbers.

``m = x < m | m != m ? m : x`` is a maximum that hands on what is no number, and ``m < x ? x : m``
one that passes over it: both may be joined in any order, by ``max_or_nan``.
"""

# The parser's trees have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.nodes import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

#: what joins lanes -> the sign of the numbers of which it keeps the greater
EXTREMES = {"max_or_nan": 1, "min_or_nan": -1}
#: a number kept, another, and which one is to be left; of a NaN that comes either
_CASES = ((1.0, 2.0, 2.0), (2.0, 1.0, 2.0), (math.nan, 1.0, math.nan))
_OPERATORS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "!=": operator.ne, "|": operator.or_, "||": operator.or_, "&": operator.and_,
}  # fmt: skip


def is_extreme(node: c_ast.Node, name: str, operation: str) -> bool:
    """Whether a node sets ``name`` to the extreme of itself and a value without it."""
    if not isinstance(node, c_ast.Assignment) or text_of(node.lvalue) != name or node.op != "=":
        return False
    choice = node.rvalue
    if not isinstance(choice, c_ast.TernaryOp):
        return False
    sides = [text_of(choice.iftrue), text_of(choice.iffalse)]
    if sides.count(name) != 1:
        return False
    value = sides[1 - sides.index(name)]
    sign = EXTREMES[operation]
    for old, new, left in _CASES:
        known = {name: sign * old, value: sign * new}
        test = _number(choice.cond, known)
        if test is None or not _same(known[sides[0 if test else 1]], sign * left):
            return False
    return True


def _same(one: float, other: float) -> bool:
    return one == other or (one != one and other != other)  # noqa: PLR0124 - NaN


def _number(node: c_ast.Node, known: Mapping[str, float]) -> float | bool | None:
    """What an expression of known ones gives; nothing for others."""
    text = text_of(node)
    if text in known:
        return known[text]
    if not isinstance(node, c_ast.BinaryOp) or node.op not in _OPERATORS:
        return None
    left, right = _number(node.left, known), _number(node.right, known)
    if left is None or right is None:
        return None
    return _OPERATORS[node.op](left, right)
