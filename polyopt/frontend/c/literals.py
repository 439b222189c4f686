"""C literals to constants of their C types."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from polyopt.ir.build import const
from polyopt.ir.types import F32, F64, I32, I64, U32, U64, ScalarType, contains

if TYPE_CHECKING:
    from polyopt.ir.expr import Const


def literal(text: str) -> Const | None:
    """The constant that a literal spells, with its C type; ``None`` for any other text."""
    if text.startswith("'"):
        return _character(text)
    found = re.fullmatch(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)([uUlL]*)", text)
    if found is not None:
        return _integer(found.group(1), found.group(2).lower())
    found = re.fullmatch(r"(0[xX].*[pP][+-]?\d+|[\d.]+(?:[eE][+-]?\d+)?)([fF]?)", text)
    if found is None:
        return None
    digits = found.group(1)
    value = float.fromhex(digits) if digits[:2] in {"0x", "0X"} else float(digits)
    return const(F32 if found.group(2) else F64, value)


def _integer(digits: str, suffix: str) -> Const | None:
    decimal = digits[:1] != "0" or digits == "0"
    if decimal:
        value = int(digits)
    elif digits[1:2] in {"x", "X", "b", "B"}:
        value = int(digits, 0)
    else:
        value = int(digits, 8) if set(digits) <= set("01234567") else -1
    if value < 0:
        return None
    kinds = [I32, U32, I64, U64]
    if "u" in suffix:
        kinds = [U32, U64]
    elif decimal:
        kinds = [I32, I64]
    if "l" in suffix:
        kinds = [kind for kind in kinds if kind.bits == 64]
    return next((const(k, value) for k in kinds if _holds(k, value)), None)


def _holds(kind: ScalarType, value: int) -> bool:
    return contains(kind, kind) and kind.range[0] <= value <= kind.range[1]


def _character(text: str) -> Const | None:
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None
    return const(I32, ord(value)) if isinstance(value, str) and len(value) == 1 else None
