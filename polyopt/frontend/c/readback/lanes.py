"""Reductions of lanes, in emitted C: clauses beside what loops do, and sums in parts.

A clause says how what lanes have of their own is joined. A loop that updates such a variable by
another operation, reads it between updates, or leaves it as it is, computes something else: that is
wrong. Updates of forms that are never emitted are refused as such.

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
from itertools import pairwise
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import InternalError, UnsupportedError
from polyopt.frontend.c.syntax.nodes import base_of, binary, constant, put, renamed, text_of
from polyopt.frontend.c.syntax.usage import nodes, written_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.frontend.c.syntax.locations import Locator

#: parts that are added up at once
_PARTS = 4
_SUMS = re.compile(r"omp simd( reduction\([+*] : \w+\))+")
#: a pragma and a loop
_LOOP = 2
#: what a part of a sum, or of a product, begins with
_STARTS = {"+": "0", "*": "1"}
_CLAUSE = re.compile(r"reduction\s*\(\s*(\S+?)\s*:\s*([\w\s,]+)\)")
#: how often ``name = name + value`` names its sum
_ONCE_EACH_SIDE = 2
#: an operator of an update -> how what lanes have is joined; differences are added up
_JOINED_BY = {"+": "+", "-": "+", "*": "*", "|": "|", "&": "&", "^": "^"}
#: how C says that such a number is of a type: int and its like else
_SUFFIXES = {"double": ".0", "float": ".0f", "uint32_t": "u", "uint64_t": "u"}
#: what joins lanes -> the sign of the numbers of which it keeps the greater
EXTREMES = {"max_or_nan": 1, "min_or_nan": -1}
#: how clauses may say that lanes are joined
_OPERATIONS = {*_JOINED_BY.values(), "max", "min", *EXTREMES}
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
    if name in re.findall(r"\w+", value):
        return False
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


def check_reductions(items: Sequence[c_ast.Node], locator: Locator) -> None:
    """Raise ``InternalError`` where a loop does something else with a variable than the clause
    before it says, and ``UnsupportedError`` where it is not known whether it does."""
    for pragma, loop in pairwise(items):
        if not isinstance(pragma, c_ast.Pragma) or not isinstance(loop, c_ast.For):
            continue
        joined = [
            (name, "+" if operation == "-" else operation)
            for operation, names in _CLAUSE.findall(pragma.string)
            for name in re.findall(r"\w+", names)
        ]
        wrong = _written_by_all(loop, {name for name, _ in joined}) if joined else ""
        known = [clause for clause in joined if clause[1] in _OPERATIONS]
        for name, operation in known:
            wrong = wrong or _wrong_use(loop, name, operation)
        if wrong:
            message = f"emitted C joins what lanes have of their own wrongly: {wrong}"
            raise InternalError(message, span=locator.span(loop))
        for name, operation in known:
            if not _fits(loop, name, operation):
                message = f"emitted C has no such use of {name} among lanes joined by {operation}"
                raise locator.error(UnsupportedError, loop, message)


def _written_by_all(loop: c_ast.For, joined: set[str]) -> str:
    """What all iterations of a loop write and no clause joins; "" for nothing."""
    own = {node.name for node in nodes(loop) if isinstance(node, c_ast.Decl)}
    targets = [node.lvalue for node in nodes(loop.stmt) if isinstance(node, c_ast.Assignment)]
    shared = [
        target
        for target in targets
        if base_of(target) not in joined
        and not any(isinstance(n, c_ast.ID) and n.name in own for n in nodes(target))
    ]
    return f"all of them write {text_of(shared[0])}, which no clause names" if shared else ""


def _wrong_use(loop: c_ast.For, name: str, operation: str) -> str:
    """What is surely wrong with what a loop does with a variable of a clause; "" for nothing."""
    uses = _uses(loop, name)
    if not uses:
        return f"nothing updates {name}, which is joined by {operation}"
    sets = [node for node in nodes(loop.stmt) if written_name(node) == name]
    others = [node for node in sets if not _is_update(node, name, operation)]
    found = {by for node in others if (by := _operation(node)) and _differ(by, operation)}
    if found:
        return f"{name} is updated by {min(found)} and joined by {operation}"
    elsewhere = uses - sum(_uses(node, name) for node in sets)
    if elsewhere and not others and not _has_address(loop, name):
        return f"{name}, of which each has a part, is read beside its updates"
    if not elsewhere and any(node.op == "=" and _uses(node, name) == 1 for node in others):
        return f"{name} is set to what is no update of it, and joined by {operation}"
    return ""


def _fits(loop: c_ast.For, name: str, operation: str) -> bool:
    """Whether a loop does nothing with a variable but to update it as lanes are joined."""
    updates = [node for node in nodes(loop.stmt) if _is_update(node, name, operation)]
    return _uses(loop, name) == sum(_uses(node, name) for node in updates)


def _is_update(node: c_ast.Node, name: str, operation: str) -> bool:
    """Whether a node updates a variable in a way that lanes may be joined in."""
    if operation in EXTREMES:
        return is_extreme(node, name, operation)
    sets = isinstance(node, c_ast.Assignment) and node.op == "=" and text_of(node.lvalue) == name
    return sets and _operation(node) == operation


def _operation(node: c_ast.Node) -> str:
    """The operation by which a node updates a variable or an element, ``name = name + value``, as
    its clause is to say; "" for what is none, or of no known form."""
    if not isinstance(node, c_ast.Assignment):
        return ""
    name, target, value = base_of(node.lvalue), text_of(node.lvalue), node.rvalue
    if node.op != "=":
        return "" if _uses(value, name) else _JOINED_BY.get(node.op[:-1], node.op[:-1])
    if isinstance(value, c_ast.TernaryOp):
        return next((by for by in EXTREMES if is_extreme(node, target, by)), "")
    if _uses(node, name) != _ONCE_EACH_SIDE:
        return ""
    if isinstance(value, c_ast.FuncCall):
        named = re.fullmatch(r"(max|min)_[iu]\d+", text_of(value.name))
        return named[1] if named and target in map(text_of, value.args.exprs) else ""
    if not isinstance(value, c_ast.BinaryOp):
        return ""
    left, right = (text_of(_as_wide(side)) == target for side in (value.left, value.right))
    if left or (right and value.op in _JOINED_BY and value.op != "-"):
        return _JOINED_BY.get(value.op, value.op)
    return ""


def _differ(one: str, other: str) -> bool:
    """Whether two operations are not the same one, of numbers of some type: a comparison is of
    floats or of integers."""
    return one.partition("_")[0] != other.partition("_")[0]


def _has_address(loop: c_ast.For, name: str) -> bool:
    return any(isinstance(n, c_ast.UnaryOp) and n.op == "&" and _uses(n, name) for n in nodes(loop))


def _uses(node: c_ast.Node, name: str) -> int:
    return sum(isinstance(part, c_ast.ID) and part.name == name for part in nodes(node))


def _as_wide(node: c_ast.Node) -> c_ast.Node:
    """An operand without a cast that keeps all of it, or all that an update of it is stored as."""
    if isinstance(node, c_ast.Cast) and text_of(node.to_type) in {"uint32_t", "uint64_t"}:
        return node.expr
    return node


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
