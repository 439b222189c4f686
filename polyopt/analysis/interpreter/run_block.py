"""The slow oracle's way through a ``Block``: its actions, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from polyopt.analysis.interpreter.evaluate import compile_expr
from polyopt.errors import ArgumentError
from polyopt.ir.block import If, Jump, Let, Store, While

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.analysis.interpreter.evaluate import Compiled, Leaves, Scalar
    from polyopt.ir.block import Action, Block

    #: Runs an action for a row; the word of a ``Jump`` that it ends with, or nothing.
    Step = Callable[[int], str]
    #: Writes an element of the statement's array: its subscripts, the row, the value.
    Write = Callable[[tuple[int, ...], int, Scalar], None]

#: a loop that turns more often than this for one instance is taken not to end
MOST_TURNS = 10_000_000


class BlockLeaves(Protocol):
    """The leaves of a block, with the locals that its actions set."""

    locals: dict[str, Scalar]


def run_block(block: Block, leaves: _Leaves, write: Write) -> Callable[[int], None]:
    """The block as a function of the row. Raises ``ArgumentError`` for a loop without an end."""
    if block.old is not None:
        compile_expr(block.old, leaves)  # loads count in their order
    steps = [_step(action, leaves, write) for action in block.body]

    def run(row: int) -> None:
        leaves.locals.clear()
        _all(steps, row)

    return run


if TYPE_CHECKING:

    class _Leaves(BlockLeaves, Leaves, Protocol): ...


def _all(steps: list[Step], row: int) -> str:
    for step in steps:
        word = step(row)
        if word:
            return word
    return ""


def _step(action: Action, leaves: _Leaves, write: Write) -> Step:
    match action:
        case Let():
            return _let(action.name, compile_expr(action.value, leaves), leaves)
        case Store():
            index = [compile_expr(part, leaves) for part in action.index]
            return _put(index, compile_expr(action.value, leaves), write)
        case If():
            cond = compile_expr(action.cond, leaves)
            then = [_step(inner, leaves, write) for inner in action.then]
            other = [_step(inner, leaves, write) for inner in action.other]
            return lambda row: _all(then if cond(row) else other, row)
        case While():
            cond = compile_expr(action.cond, leaves)
            body = [_step(inner, leaves, write) for inner in action.body]
            after = [_step(inner, leaves, write) for inner in action.step]
            return _repeat(cond, body, after, first=action.first)
        case Jump():
            return lambda _row: action.word


def _let(name: str, value: Compiled, leaves: _Leaves) -> Step:
    def run(row: int) -> str:
        leaves.locals[name] = value(row)
        return ""

    return run


def _put(index: list[Compiled], value: Compiled, write: Write) -> Step:
    def run(row: int) -> str:
        result = value(row)
        write(tuple(int(part(row)) for part in index), row, result)
        return ""

    return run


def _repeat(cond: Compiled, body: list[Step], after: list[Step], *, first: bool) -> Step:
    def run(row: int) -> str:
        turns = 0
        while (first and not turns) or cond(row):
            turns += 1
            if turns > MOST_TURNS:
                msg = f"a loop does not end within {MOST_TURNS:,} turns"
                raise ArgumentError(msg)
            if _all(body, row) == "break":
                break
            _all(after, row)
        return ""

    return run
