"""Polynomials: integer expressions of C as sums of products of names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.literals import literal
from polyopt.frontend.c.syntax.usage import names_in, nodes, usage_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.frontend.c.lower.ctypes import Types

#: a product of names, sorted; the empty product is 1
Monomial = tuple[str, ...]
Polynomial = dict[Monomial, int]
#: products of more terms are not looked at
_MOST_TERMS = 64


@dataclass(frozen=True, eq=False)
class Known:
    """What names stand for, which casts keep every index, and which names wrap below zero."""

    definitions: Mapping[str, c_ast.Node]
    types: Types
    wrapping: frozenset[str]


def definitions_in(items: list[c_ast.Node], types: Types) -> dict[str, c_ast.Node]:
    """Locals that are set once, where they are declared: names for their expressions.

    What they are made of does not change, so that they are the same wherever they are used.
    """
    everything = [node for item in items for node in nodes(item)]
    changed = usage_of(items).assigned
    writes = Counter(
        target.name for node in everything if isinstance(target := target_of(node), c_ast.ID)
    )
    decls = [n for n in everything if isinstance(n, c_ast.Decl) and n.name and n.init is not None]
    heads = {
        id(d)
        for n in everything
        if isinstance(n, c_ast.For) and isinstance(n.init, c_ast.DeclList)
        for d in n.init.decls
    }
    names = Counter(d.name for d in decls)
    return {
        d.name: d.init
        for d in decls
        if d.init is not None and id(d) not in heads and not writes[d.name] and names[d.name] == 1
        and not names_in(d.init) & changed.keys() and is_index(d.type, types)
    }  # fmt: skip


def is_index(type_: c_ast.Node, types: Types) -> bool:
    """Whether a type holds every index: then a conversion to it changes nothing."""
    kind = types.of(type_)
    return kind.scalar is not None and kind.scalar.is_integer and kind.scalar.bits >= 32


def target_of(node: c_ast.Node) -> c_ast.Node | None:
    """What a node assigns to, counts, or takes the address of."""
    if isinstance(node, c_ast.Assignment):
        return node.lvalue
    if isinstance(node, c_ast.UnaryOp) and node.op in {"++", "--", "p++", "p--", "&"}:
        return node.expr
    return None


def polynomial(node: c_ast.Node, known: Known) -> Polynomial | None:
    """An integer expression as a polynomial in names, or ``None``."""
    match node:
        case c_ast.Constant():
            value = literal(node.value)
            whole = value is not None and value.type.is_integer
            return {(): int(value.value)} if whole and value is not None else None
        case c_ast.ID() if node.name in known.definitions:
            return polynomial(known.definitions[node.name], known)
        case c_ast.ID():
            return {(node.name,): 1}
        case c_ast.Cast() if is_index(node.to_type, known.types):
            return polynomial(node.expr, known)
        case c_ast.UnaryOp(op="-"):
            inner = polynomial(node.expr, known)
            return None if inner is None else {m: -c for m, c in inner.items()}
        case c_ast.BinaryOp(op="+" | "-" | "*"):
            left, right = polynomial(node.left, known), polynomial(node.right, known)
            if left is None or right is None or len(left) * len(right) > _MOST_TERMS:
                return None
            return combined(node.op, left, right)
        case _:
            return None


def combined(op: str, left: Polynomial, right: Polynomial) -> Polynomial:
    """The sum, difference or product of two polynomials."""
    result: Counter[Monomial] = Counter()
    if op == "*":
        for one, a in left.items():
            for two, b in right.items():
                result[tuple(sorted((*one, *two)))] += a * b
    else:
        result.update(left)
        for two, b in right.items():
            result[two] += b if op == "+" else -b
    return {m: c for m, c in result.items() if c}
