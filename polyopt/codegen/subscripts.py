"""The text of an array's element, taken apart: its name, its subscripts, how they move."""

from __future__ import annotations

import re

from polyopt.codegen.ctext import ADD, precedence_of
from polyopt.codegen.names import names_in

#: a subscript that moves with an iterator: ``2 * x + rest``
_MOVING = r"(?:(\d+) \* )?X((?: [+-] .*)?)"
_CONSTANT = re.compile(r"(.*) ([+-]) (\d+)")


def moving(subscript: str, iterator: str) -> int | None:
    """How far a subscript moves with an iterator; ``None`` where its text does not tell."""
    found = re.fullmatch(_MOVING.replace("X", re.escape(iterator)), subscript)
    if found is None or iterator in names_in(found[2]) or not _is_sum(subscript):
        return None
    return int(found[1] or 1)


def parts(text: str) -> tuple[str, list[str]]:
    """``a[x][i]`` as ``a`` and ``x``, ``i``; no subscripts where it is something else."""
    name, bracket, behind = text.partition("[")
    rest = bracket + behind
    subscripts: list[str] = []
    depth, start = 0, 0
    for position, sign in enumerate(rest):
        if sign == "[":
            start = position + 1 if depth == 0 else start
            depth += 1
        elif sign == "]":
            depth -= 1
            if depth == 0:
                subscripts.append(rest[start:position])
        elif depth == 0:
            return name, []
    return name, subscripts


def apart(subscript: str) -> tuple[str, int]:
    """``x + i - 3`` as ``x + i`` and -3."""
    found = _CONSTANT.fullmatch(subscript) if _is_sum(subscript) else None
    return (found[1], int(found[2] + found[3])) if found else (subscript, 0)


def _is_sum(text: str) -> bool:
    """Whether what stands after a sign is a term of the whole: not in ``c ? x : y + 1``."""
    return precedence_of(text) >= ADD


def moved(subscript: str, by: int) -> str:
    """``x + 2`` for ``x`` moved by two."""
    stem, known = apart(subscript)
    total = known + by
    if stem.isdigit():
        return str(int(stem) + total)
    stem = stem if _is_sum(stem) else f"({stem})"
    return f"{stem} {'-' if total < 0 else '+'} {abs(total)}" if total else stem
