"""Saved plans: the moves as JSON, and what is wrong with a file that holds something else."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from polyopt.atomic_file import write_whole
from polyopt.errors import InvalidOptionError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from polyopt.ir.scop import Scop
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.move import Move

    #: a move by its name, with its arguments and options
    _Move = tuple[str, Sequence[Any], Mapping[str, Any]]

#: so many differences of programs are listed
_MOST = 6
#: of what is written; readers refuse others. In format 1 moves had other names
FORMAT = 2
_PARTS = {"move": str, "args": list, "options": dict}


@dataclass(frozen=True)
class Saved:
    """What a file holds: moves with their arguments and options, and the program they are for."""

    path: str
    moves: tuple[tuple[str, list[Any], dict[str, Any]], ...]
    #: the program's name, and per array and statement what tells them from another program's
    scop: str
    parts: Mapping[str, str]

    def differences(self, scop: Scop) -> list[str]:
        """What another program has and this one has not, and the other way round."""
        mine = parts_of(scop)
        if not self.parts:
            return []
        lines = [f"{name} is {text} there, and {mine.get(name, 'nothing')} here"
                 for name, text in self.parts.items() if mine.get(name) != text]  # fmt: skip
        new = [f"{n} is {text} here, and nothing there"
               for n, text in mine.items() if n not in self.parts]  # fmt: skip
        return [*lines, *new]

    def check(self, scop: Scop) -> None:
        """Raises ``InvalidOptionError`` for a plan of a program of another name and other parts."""
        if self.scop != scop.name and self.differences(scop):
            raise self.of_another(scop, ())

    def of_another(self, scop: Scop, notes: Sequence[str]) -> InvalidOptionError:
        """The error that says which program the plan is of, which this is, and what differs."""
        said = f"a plan of {self.scop}" if self.scop else "a plan of a program without a name"
        found = self.differences(scop)
        more = [f"and {len(found) - _MOST} more"] * (len(found) > _MOST)
        return InvalidOptionError(
            f"{self.path} is {said}, which does not fit this program, {scop.name}",
            notes=[*found[:_MOST], *more, *notes],
            hint="load it for the program that it was saved from",
        )


def parts_of(scop: Scop) -> dict[str, str]:
    """Per array its rank, and per statement its loops: what moves speak of."""
    arrays = {f"array {a.name}": f"of rank {a.rank}" for a in scop.arrays}
    loops = {f"statement {s.name}": f"in loops {', '.join(s.iterators) or 'none'}"
             for s in scop.statements}  # fmt: skip
    return {**arrays, **loops}


def write_moves(path: str | Path, scop: Scop, moves: Sequence[Move]) -> None:
    """Write the moves of a plan for a program.

    Raises ``InvalidOptionError`` where the file cannot be written.
    """
    listed = [{"move": m.name, "args": m.args, "options": dict(m.options)} for m in moves]
    document = {"format": FORMAT, "scop": scop.name, "parts": parts_of(scop), "moves": listed}
    try:
        write_whole(Path(path), json.dumps(document, indent=2) + "\n")
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise InvalidOptionError(message) from None


def read_moves(path: str | Path) -> Saved:
    """What a file holds; its moves are not made yet.

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
    listed = tuple(_move(path, k, move) for k, move in enumerate(cast("list[Any]", moves), 1))
    found = known.get("format", "none")
    if found != FORMAT or isinstance(found, bool):
        raise _of_another_format(path, found)
    parts, name = known.get("parts", {}), known.get("scop", "")
    if not isinstance(name, str) or not _is_texts(parts):
        raise _no_plan(path, "it does not say which program it is of")
    return Saved(str(path), listed, name, parts)


def _of_another_format(path: str | Path, found: object) -> InvalidOptionError:
    hint = f"this version of polyopt reads format {FORMAT}"
    if found == 1 and not isinstance(found, bool):
        hint += ", in which moves have new names: make the plan again, and save it"
    return InvalidOptionError(f"{path} is a plan of format {found!r}", hint=hint)


def _is_texts(parts: object) -> bool:
    if not isinstance(parts, dict):
        return False
    return all(isinstance(text, str) for text in cast("dict[str, object]", parts).values())


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


def load_plan(path: str | Path, plan: Plan) -> Plan:
    """A file's moves made on a plan that has none, and proven.

    Raises ``InvalidOptionError`` for what holds no plan, or one of another program.
    """
    saved = read_moves(path)
    saved.check(plan.scop)
    try:
        result = replayed(plan, saved.moves)
        result.prove()
    except UserError as error:
        if not saved.differences(plan.scop):
            raise
        raise saved.of_another(plan.scop, [error.diagnostic.message]) from None
    return result


def replayed(plan: Plan, moves: Iterable[_Move]) -> Plan:
    """A plan with more moves; their legality is left to ``prove``. Raises what they raise."""
    result = replace(plan, checked=False)
    for name, args, options in moves:
        result = result.replay(name, args, options)
    return replace(result, checked=plan.checked)


def arrived(
    kind: Callable[[Scop], Plan],
    scop: Scop,
    moves: Iterable[_Move],
    remarks: tuple[Any, ...],
    checked: bool,  # noqa: FBT001  (unpickled by position)
) -> Plan:
    """A plan from what travelled of it: it was proven where it came from."""
    return replace(replayed(kind(scop), moves), remarks=remarks, checked=checked)


def _no_plan(path: str | Path, reason: str) -> InvalidOptionError:
    return InvalidOptionError(f"{path} is not a saved plan: {reason}")
