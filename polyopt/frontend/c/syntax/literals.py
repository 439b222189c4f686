"""C literals to constants of their C types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from polyopt.ir.build import const
from polyopt.ir.types import F32, F64, I8, I32, I64, U32, U64, ScalarType, contains

if TYPE_CHECKING:
    from polyopt.ir.expr import Const

#: 64 bits in octal: what has more digits behind its zeros is no integer of C
_MOST_DIGITS = 22
_BASES = {"0x": 16, "0b": 2}
_ESCAPES = {
    "'": 39, '"': 34, "?": 63, "\\": 92, "a": 7, "b": 8, "e": 27, "f": 12, "n": 10, "r": 13,
    "t": 9, "v": 11,
}  # fmt: skip


def literal(text: str) -> Const | None:
    """The constant that a literal spells, with its C type; ``None`` for any other text."""
    if text.startswith("'"):
        return _character(text)
    found = re.fullmatch(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)([uUlL]*)", text)
    if found is not None:
        return _integer(found.group(1).lower(), found.group(2).lower())
    return _floating(text)


def _floating(text: str) -> Const | None:
    """As C rounds it: to infinity beyond the largest number."""
    found = re.fullmatch(
        r"(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+"
        r"|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([fF]?)",
        text,
    )
    if found is None:
        return None
    digits = found.group(1)
    try:
        value = float.fromhex(digits) if digits[:2] in {"0x", "0X"} else float(digits)
    except OverflowError:
        value = float("inf")
    with np.errstate(over="ignore"):
        return const(F32 if found.group(2) else F64, value)


def _integer(digits: str, suffix: str) -> Const | None:
    base = _BASES.get(digits[:2], 8 if digits[0] == "0" else 10)
    own = digits[2:] if digits[:2] in _BASES else digits
    own = own.lstrip("0") or "0"
    if len(own) > (64 if base == 2 else _MOST_DIGITS) or (base == 8 and set(own) & set("89")):
        return None
    value = int(own, base)
    kinds = [I32, U32, I64, U64]
    if "u" in suffix:
        kinds = [U32, U64]
    elif base == 10:
        kinds = [I32, I64]
    if "l" in suffix:
        kinds = [kind for kind in kinds if kind.bits == 64]
    return next((const(k, value) for k in kinds if _holds(k, value)), None)


def _holds(kind: ScalarType, value: int) -> bool:
    return contains(kind, kind) and kind.range[0] <= value <= kind.range[1]


def _character(text: str) -> Const | None:
    """One character of ASCII, or one byte by its number, as a ``char`` with a sign."""
    found = re.fullmatch(r"'(?:([ -&(-\[\]-~])|\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.)))'", text)
    if found is None:
        return None
    plain, octal, hexadecimal, escape = found.groups()
    if plain is not None:
        value = ord(plain)
    elif escape is not None:
        value = _ESCAPES.get(escape, -1)
    else:
        value = int(octal, 8) if octal is not None else int(hexadecimal, 16)
    if not 0 <= value < 1 << I8.bits:
        return None
    return const(I32, value - (1 << I8.bits) if value > I8.range[1] else value)
