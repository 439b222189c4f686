"""What lanes keep, in emitted C: minima and maxima, and sums in parts.

``m = x < m | m != m ? m : x`` is a maximum that hands on what is no number, and ``m < x ? x : m``
one that passes over it: both may be joined in any order, by ``max_or_nan``. That is shown by trying
them on numbers.

rewrite: ``if (m >= 128) { ... } else { for (j = 0; j < m; j++) s = s + a[j]; }`` -> the loop, where
the first part adds up four parts of it at once, word for word.
"""

# The parser's trees have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false

from __future__ import annotations

import copy
import math
import operator
import re
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.nodes import binary, constant, put, renamed, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

#: parts that are added up at once
_PARTS = 4
_SUMS = re.compile(r"omp simd( reduction\([+*] : \w+\))+")
#: a pragma and a loop
_LOOP = 2
#: what a part of a sum, or of a product, begins with
_STARTS = {"+": "0", "*": "1"}
#: how C says that such a number is of a type: int and its like else
_SUFFIXES = {"double": ".0", "float": ".0f", "uint32_t": "u", "uint64_t": "u"}
#: what joins lanes -> the sign of the numbers of which it keeps the greater
EXTREMES = {"max_or_nan": 1, "min_or_nan": -1}
#: a number kept, another, and which one is to be left; of a NaN that comes either
_CASES = ((1.0, 2.0, 2.0), (2.0, 1.0, 2.0), (math.nan, 1.0, math.nan))
_OPERATORS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "!=": operator.ne, "|": operator.or_, "||": operator.or_, "&": operator.and_,
}  # fmt: skip


def assigned(node: c_ast.Node, name: str) -> c_ast.Node | None:
    """What a node sets ``name`` to; nothing where it does not."""
    sets = isinstance(node, c_ast.Assignment) and text_of(node.lvalue) == name and node.op == "="
    return node.rvalue if sets else None


def is_extreme(node: c_ast.Node, name: str, operation: str) -> bool:
    """Whether a node sets ``name`` to the extreme of itself and a value without it."""
    choice = assigned(node, name)
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


def with_whole_sums(items: list[c_ast.Node]) -> list[c_ast.Node]:
    """Statements of a block, with the whole loop in place of each sum that is done in parts."""
    types: dict[str, str] = {}
    result: list[c_ast.Node] = []
    for item in items:
        if isinstance(item, c_ast.Decl):
            types[item.name] = text_of(item.type).split()[0]
        found = _whole_sum(item, types) if isinstance(item, c_ast.If) else None
        result += [item] if found is None else found
    return result


def _whole_sum(node: c_ast.If, types: Mapping[str, str]) -> list[c_ast.Node] | None:
    """The pragma and the loop that a test chooses where it fails, if it does the same in parts
    where it holds."""
    whole = getattr(node.iffalse, "block_items", None) or []
    parts = getattr(node.iftrue, "block_items", None) or []
    if len(whole) != _LOOP or not isinstance(whole[1], c_ast.For):
        return None
    pragma, loop = whole
    words = " ".join(getattr(pragma, "string", "").split())
    test, ends = loop.cond, isinstance(node.cond, c_ast.BinaryOp) and node.cond.op == ">="
    if not ends or not _SUMS.fullmatch(words) or not isinstance(test, c_ast.BinaryOp):
        return None
    sums = re.findall(r"reduction\((.) : (\w+)\)", words)
    names = [
        item.name for item in parts[: (_PARTS - 1) * len(sums)] if isinstance(item, c_ast.Decl)
    ]
    if len(names) != (_PARTS - 1) * len(sums) or not {name for _, name in sums} <= types.keys():
        return None
    iterator = loop.init.decls[0].name if isinstance(loop.init, c_ast.DeclList) else ""
    starts = text_of(loop.init) == f"int64_t {iterator} = 0" and test.op == "<"
    if not starts or text_of(test) != f"{iterator} < {text_of(node.cond.left)}":
        return None
    wanted = _in_parts(loop, iterator, node.cond.left, sums, names, types)
    return whole if _texts(parts) == wanted else None


def _texts(items: list[c_ast.Node]) -> list[str]:
    return [" ".join(text_of(item).split()) for item in items]


def _in_parts(
    loop: c_ast.For,
    iterator: str,
    end: c_ast.Node,
    sums: list[tuple[str, str]],
    names: list[str],
    types: Mapping[str, str],
) -> list[str]:
    """What adds up a loop in parts, the further ones in ``names``, statement by statement."""
    part = binary("/", end, constant(_PARTS))
    body: list[c_ast.Node] = list(loop.stmt.block_items or [])
    apart = any(isinstance(item, c_ast.Decl) for item in body)
    bodies = [body]
    own = iter(names)
    declared: list[str] = []
    joined: list[str] = []
    clauses = [f"reduction({op} : {name})" for op, name in sums]
    for k in range(1, _PARTS):
        by = part if k == 1 else binary("*", part, constant(k))
        there = binary("+", c_ast.ID(iterator), by)
        copied = [_replaced(item, iterator, there) for item in body]
        for op, name in sums:
            new = next(own)
            copied = [renamed(item, name, new) for item in copied]
            start = _STARTS[op] + _SUFFIXES.get(types[name], "")
            declared.append(f"{types[name]} {new} = {start}")
            joined.append(f"{name} = {name} {op} {new}")
            clauses.append(f"reduction({op} : {new})")
        bodies.append(copied)
    at_once, rest = copy.copy(loop), copy.copy(loop)
    at_once.cond = binary("<", c_ast.ID(iterator), part)
    together = [c_ast.Compound(b) for b in bodies] if apart else [i for b in bodies for i in b]
    at_once.stmt = c_ast.Compound(together)
    rest.init = copy.deepcopy(loop.init)
    rest.init.decls[0].init = binary("*", part, constant(_PARTS))
    lanes, alone = (f"#pragma omp simd {' '.join(c)}" for c in (clauses, clauses[: len(sums)]))
    return [*declared, lanes, *_texts([at_once]), *joined, alone, *_texts([rest])]


def _replaced(node: c_ast.Node, name: str, value: c_ast.Node) -> c_ast.Node:
    """The tree with a value for a name."""
    if isinstance(node, c_ast.ID):
        return value if node.name == name else node
    changed = copy.copy(node)
    for place, child in node.children():
        put(changed, place, _replaced(child, name, value))
    return changed
