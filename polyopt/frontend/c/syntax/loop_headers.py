"""Loops whose test steps their iterator: ``for (i = n; i-- > 0;)``, ``for (i = 0; ++i < n;)``.

rewrite: ``for (i = s; i-- > c;) S(i);`` ->
``for (t = s; t > c; t--) S(t - 1);`` and ``for (i = s; --i > c;) S(i);`` ->
``for (i = s - 1; i > c; i--) S(i);``

*Requires* that the loop has no other step, and that the test is one comparison, or the iterator
alone, whose other side does not mention the iterator.
"""

from __future__ import annotations

from dataclasses import dataclass

from pycparser import c_ast

_BEFORE = {"++": 1, "--": -1}
_AFTER = {"p++": 1, "p--": -1}


@dataclass(frozen=True)
class Counted:
    """A test that steps, as a test and a step."""

    #: the test without its effect
    cond: c_ast.Node
    step: int
    #: whether the test looks at the value that the body sees, else at the one before the step
    stepped: bool


def counted(loop: c_ast.For, name: str | None) -> Counted | None:
    """What a loop's test looks at and how it steps ``name``; ``None`` where it does not step."""
    if loop.next is not None or name is None:
        return None
    match loop.cond:
        case c_ast.UnaryOp() as stepping if _moves(stepping, name):
            zero = c_ast.Constant("int", "0", stepping.coord)
            return _of(c_ast.BinaryOp("!=", stepping.expr, zero, stepping.coord), stepping)
        case c_ast.BinaryOp(left=c_ast.UnaryOp() as stepping, right=other) if _moves(
            stepping, name
        ):
            plain = c_ast.BinaryOp(loop.cond.op, stepping.expr, other, loop.cond.coord)
        case c_ast.BinaryOp(left=other, right=c_ast.UnaryOp() as stepping) if _moves(
            stepping, name
        ):
            plain = c_ast.BinaryOp(loop.cond.op, other, stepping.expr, loop.cond.coord)
        case _:
            return None
    if loop.cond.op not in {"<", "<=", ">", ">=", "!="} or _mentions(other, name):
        return None
    return _of(plain, stepping)


def stray_step(loop: c_ast.For) -> c_ast.UnaryOp | None:
    """The place in a test that steps a variable, where ``counted`` does not take it."""
    waiting = [loop.cond] if loop.cond is not None else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, c_ast.UnaryOp) and (node.op in _BEFORE or node.op in _AFTER):
            return node
        waiting += [child for _, child in reversed(node.children())]
    return None


def _moves(node: c_ast.UnaryOp, name: str) -> bool:
    moves = node.op in _BEFORE or node.op in _AFTER
    return moves and isinstance(node.expr, c_ast.ID) and node.expr.name == name


def _of(cond: c_ast.Node, stepping: c_ast.UnaryOp) -> Counted:
    stepped = stepping.op in _BEFORE
    return Counted(cond, {**_BEFORE, **_AFTER}[stepping.op], stepped)


def _mentions(node: c_ast.Node, name: str) -> bool:
    if isinstance(node, c_ast.ID) and node.name == name:
        return True
    return any(_mentions(child, name) for _, child in node.children())
