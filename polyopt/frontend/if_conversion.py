"""If-conversion of accumulations: a condition chooses what is added, not whether.

rewrite: ``s = c ? s + x : s`` -> ``s = s + (c ? x : -0.0)``

The sum is one of all iterations then, and what decides on an operand is no jump. *Requires* an
element that the innermost loop does not move along: others are stored where the condition holds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.ir import build
from polyopt.ir.expr import Binary, Select
from polyopt.isl import dim_type

if TYPE_CHECKING:
    from polyopt.ir.scop import Statement

#: what leaves an element as it is, bit for bit: ``-0.0 + -0.0`` and ``-0.0 - 0.0`` are ``-0.0``
_NEUTRAL = {"add": -0.0, "sub": 0.0, "mul": 1.0}


def if_converted(statement: Statement) -> Statement:
    """The statement with a conditional sum or product of its element as one without a condition;
    others as they are."""
    value, inner = statement.value, len(statement.iterators) - 1
    if not isinstance(value, Select) or statement.spread or inner < 0:
        return statement
    if any(part.form.involves_dims(dim_type.in_, inner, 1) for part in statement.index):
        return statement
    holds = statement.is_target(value.other)
    update = value.then if holds else value.other
    if not (holds or statement.is_target(value.then)) or not isinstance(update, Binary):
        return statement
    own, operand = update.left, update.right
    if update.op in {"add", "mul"} and statement.is_target(operand):
        own, operand = operand, own
    if update.op not in _NEUTRAL or not statement.is_target(own):
        return statement
    neutral = build.const(update.type, _NEUTRAL[update.op])
    chosen = (operand, neutral) if holds else (neutral, operand)
    choice = build.select(value.cond, *chosen)
    return replace(statement, value=build.binary(update.op, own, choice))
