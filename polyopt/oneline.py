"""Reprs of one line: what a value is, of what, and how much it holds; ``str`` shows it all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def one_line(value: object, name: str, *parts: str) -> str:
    """``<Plan of blur: 2 statements, 6 moves>``: the type, whose, and what is in it."""
    has = ", ".join(part for part in parts if part)
    return f"<{type(value).__name__} of {name}{f': {has}' if has else ''}>"


def at_sizes(name: str, sizes: Mapping[str, int]) -> str:
    """``blur(H=1024, W=1024)``."""
    return f"{name}({', '.join(f'{k}={v}' for k, v in sizes.items())})" if sizes else name


def some(number: int, noun: str) -> str:
    """``1 statement``, ``3 arrays``; nothing for none."""
    if not number:
        return ""
    return f"{number:,} {noun}{'s' * (number != 1)}"
