"""Floating-point promotion: float arithmetic that is done in double because of a literal.

``y[i] = x[i] * 0.5;`` on floats is, in C, a product of doubles that is rounded at the end: half as
many elements fit a vector, and two conversions are added. The literal alone decides it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from polyopt.ir.block import Block, Let, Store, actions_in
from polyopt.ir.expr import Cast, Compare, Const, Load, Local, walk
from polyopt.ir.types import F32, F64
from polyopt.transform.schedule.remark import Remark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Scop, Statement


@dataclass
class _Leaves:
    """What arithmetic in double is made of."""

    literals: list[float] = field(default_factory=list[float])
    floats: int = 0
    others: int = 0


def promotions(scop: Scop) -> Iterator[Remark]:
    """A remark for each C statement whose floats become doubles and floats again for a literal.

    Literals of Python are of no type of their own: there a double is asked for.
    """
    if scop.source is None or scop.reference is not None:
        return
    for statement in scop.statements:
        found = list(dict.fromkeys(_literals(statement)))
        if found:
            shown = ", ".join(f"{value:g}" for value in found)
            plural = "s" if len(found) > 1 else ""
            yield Remark(
                "applied",
                "promote",
                statement.name,
                f"floats are computed in double because of the literal{plural} {shown}",
                hint=f"write {_as_float(found[0])}, if the precision of float is enough",
                span=statement.span,
            )


def _literals(statement: Statement) -> Iterator[float]:
    value = statement.value
    roots = [value]
    if isinstance(value, Block):
        roots = [a.value for a in actions_in(value.body) if isinstance(a, (Let, Store))]
    for root in roots:
        for node in walk(root):
            leaves = _Leaves()
            for part in _rounded(node):
                _gather(part, leaves)
            if leaves.floats and not leaves.others:
                exact = isinstance(node, Compare)  # then compilers compare floats
                yield from (x for x in leaves.literals if not exact or float(np.float32(x)) != x)


def _rounded(node: Expr) -> tuple[Expr, ...]:
    """Values in double of which only a float, or a comparison, is kept."""
    if isinstance(node, Cast) and node.type == F32 and node.operand.type == F64:
        return (node.operand,)
    if isinstance(node, Compare) and node.left.type == F64:
        return (node.left, node.right)
    return ()


def _gather(node: Expr, leaves: _Leaves) -> None:
    """The leaves of an operation in double: literals, floats, and doubles of other origin."""
    match node:
        case Const():
            leaves.literals.append(float(node.value))
        case Cast():
            leaves.floats += node.operand.type == F32
            leaves.others += node.operand.type == F64
        case Load() | Local():
            leaves.others += 1
        case _:
            for child in node.children:
                if child.type == F64:
                    _gather(child, leaves)


def _as_float(value: float) -> str:
    """The literal of type float, as C writes it."""
    text = f"{value:.9g}"
    return f"{text}f" if any(c in text for c in ".en") else f"{text}.0f"
