"""What a statement does where its control is not affine: a small program of its own.

``y[i] = Block(...)`` stands for a piece of the source with loops, conditions and local variables
that data decide. To everything around it, it is one statement: it reads what its loads may
read, and writes what it may write. Where that is not one element for certain, the block also
reads all that it may write, so that what it leaves alone is passed on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.ir.expr import Expr, Load

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, eq=False)
class Let:
    """``type name = value;``, or ``name = value;`` where the local is there already."""

    name: str
    value: Expr
    declares: bool = False


@dataclass(frozen=True, eq=False)
class Store:
    """``array[index] = value;`` of the statement's array."""

    index: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, eq=False)
class If:
    """``if (cond) then else other``."""

    cond: Expr
    then: tuple[Action, ...]
    other: tuple[Action, ...] = ()


@dataclass(frozen=True, eq=False)
class While:
    """``for (; cond; step) body``; ``first`` says that the body runs before the first test."""

    cond: Expr
    body: tuple[Action, ...]
    step: tuple[Action, ...] = ()
    first: bool = False


@dataclass(frozen=True, eq=False)
class Jump:
    """``break`` or ``continue`` of the innermost ``While``."""

    word: str


Action = Let | Store | If | While | Jump


@dataclass(frozen=True, eq=False)
class Block(Expr):
    """Actions in order; ``type`` is that of the array they write.

    ``old`` are the elements that may be left as they were, as a load whose value is not used.
    """

    body: tuple[Action, ...]
    old: Load | None = None

    @property
    def children(self) -> tuple[Expr, ...]:
        """Every expression in it, in textual order."""
        first = () if self.old is None else (self.old,)
        return (*first, *(part for action in self.body for part in _parts(action)))

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        rest = iter(children)
        old = None
        if self.old is not None:
            old = next(rest)
            assert isinstance(old, Load)
        return Block(self.type, _rebuilt(self.body, rest), old)


def _parts(action: Action) -> Iterator[Expr]:
    match action:
        case Let():
            yield action.value
        case Store():
            yield from action.index
            yield action.value
        case If():
            yield action.cond
            for inner in (*action.then, *action.other):
                yield from _parts(inner)
        case While():
            yield action.cond
            for inner in (*action.body, *action.step):
                yield from _parts(inner)
        case Jump():
            return


def _rebuilt(actions: tuple[Action, ...], parts: Iterator[Expr]) -> tuple[Action, ...]:
    return tuple(_one(action, parts) for action in actions)


def _one(action: Action, parts: Iterator[Expr]) -> Action:
    match action:
        case Let():
            return Let(action.name, next(parts), action.declares)
        case Store():
            index = tuple(next(parts) for _ in action.index)
            return Store(index, next(parts))
        case If():
            cond = next(parts)
            then = _rebuilt(action.then, parts)
            return If(cond, then, _rebuilt(action.other, parts))
        case While():
            cond = next(parts)
            body = _rebuilt(action.body, parts)
            return While(cond, body, _rebuilt(action.step, parts), action.first)
        case Jump():
            return action


def actions_in(body: tuple[Action, ...]) -> Iterator[Action]:
    """All actions, outer ones first."""
    for action in body:
        yield action
        match action:
            case If():
                yield from actions_in((*action.then, *action.other))
            case While():
                yield from actions_in((*action.body, *action.step))
            case _:
                pass
