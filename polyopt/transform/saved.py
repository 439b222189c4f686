"""Saved plans: the moves as JSON, and what is wrong with a file that holds something else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from polyopt.errors import InvalidOptionError
from polyopt.transform.whole import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.transform.moves import Move

#: of what is written; readers refuse others
FORMAT = 1
_PARTS = {"move": str, "args": list, "options": dict}


def write_moves(path: str | Path, name: str, moves: Sequence[Move]) -> None:
    """Write the moves of a plan for the program called ``name``.

    Raises ``InvalidOptionError`` where the file cannot be written.
    """
    listed = [{"move": m.name, "args": m.args, "options": dict(m.options)} for m in moves]
    document = {"format": FORMAT, "scop": name, "moves": listed}
    try:
        write_whole(Path(path), json.dumps(document, indent=2) + "\n")
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise InvalidOptionError(message) from None


def read_moves(path: str | Path) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """The moves of a file with their arguments and options, not yet made.

    Raises ``InvalidOptionError`` where the file holds no plan, or one of another format.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=_once)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise InvalidOptionError(message) from None
    except RecursionError:
        raise _no_plan(path, "its lists are too deep") from None
    except ValueError as error:
        raise _no_plan(path, str(error)) from None
    if not isinstance(document, dict):
        raise _no_plan(path, "it holds no object")
    known = cast("dict[str, Any]", document)
    moves = known.get("moves")
    if not isinstance(moves, list):
        raise _no_plan(path, "it has no list of moves")
    listed = [_move(path, number, move) for number, move in enumerate(cast("list[Any]", moves), 1)]
    found = known.get("format", "none")
    if found != FORMAT or isinstance(found, bool):
        message = f"{path} is a plan of format {found!r}"
        raise InvalidOptionError(message, hint=f"this version of polyopt reads format {FORMAT}")
    return listed


def _move(path: str | Path, number: int, move: object) -> tuple[str, list[Any], dict[str, Any]]:
    parts = cast("dict[str, Any]", move if isinstance(move, dict) else {})
    for part, kind in _PARTS.items():
        if not isinstance(parts.get(part), kind):
            raise _no_plan(path, f"move {number} has no {part}")
    return parts["move"], parts["args"], parts["options"]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of which nothing is said twice."""
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is said twice")
    return result


def _no_plan(path: str | Path, reason: str) -> InvalidOptionError:
    return InvalidOptionError(f"{path} is not a saved plan: {reason}")
