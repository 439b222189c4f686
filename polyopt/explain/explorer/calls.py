"""A move as people type it: ``tile("out", y=64)``. Read, never evaluated."""

from __future__ import annotations

import ast

from polyopt.errors import InvalidOptionError, shown
from polyopt.transform.schedule.move import Move

#: characters that a call has at most
_LONGEST = 2000


def read_call(text: str) -> Move:
    """The move that one call makes, its arguments all literals.

    A leading dot and what is called are left out or not: ``plan.tile(...)``, ``.tile(...)``.
    Raises ``InvalidOptionError`` for anything else.
    """
    try:
        tree = ast.parse(text[:_LONGEST].strip().lstrip("."), mode="eval").body
        found = _move(tree) if isinstance(tree, ast.Call) else None
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
        found = None
    if found is None or len(text) > _LONGEST:
        message = f"{shown(text)} is no move"
        raise InvalidOptionError(message, hint="write one: tile('out', y=64, x=512)")
    return found


def _move(call: ast.Call) -> Move | None:
    """The move, or nothing where no name is called; raises what ``literal_eval`` does."""
    function = call.func
    name = function.id if isinstance(function, ast.Name) else ""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        name = function.attr
    args = tuple(ast.literal_eval(arg) for arg in call.args)
    options = [(k.arg or "", ast.literal_eval(k.value)) for k in call.keywords]
    if not name or any(not option for option, _ in options):
        return None
    return Move(name, args, tuple(options))
