"""Loops in the form that is read: ``while`` with a counter and ``continue``, written otherwise.

rewrite: ``i = a; while i < n: body; i += 1`` -> ``for i in range(a, n): body``, and
``if test: continue; rest`` -> ``if test: pass else: rest``.

*Requires* for ``while`` that the counter is set before, in the same block, and moves last in the
body and nowhere else in it, by a fixed number, that nothing changes what it is compared with, and
that no jump leaves the loop. *Does not handle* conditions on data: how often such a loop runs is
known when it ends. What is none of this stays as it is, and is refused where it is read.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from polyopt.frontend.loops.scope import stores
from polyopt.frontend.loops.text import function_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polyopt.frontend.loops.text import FunctionText

#: comparisons of a counter that moves up, and down; whether the end is one of its values
_ENDS: dict[type[ast.cmpop], tuple[int, bool]] = {
    ast.Lt: (1, False), ast.LtE: (1, True), ast.Gt: (-1, False), ast.GtE: (-1, True),
}  # fmt: skip


def structured_text(function: Callable[..., object]) -> FunctionText:
    """The text of a function with such loops. Raises ``UnsupportedError`` as ``function_text``."""
    text = function_text(function)
    text.tree.body = _block(text.tree.body, text.tree)
    return text


def _block(nodes: Sequence[ast.stmt], within: ast.AST) -> list[ast.stmt]:
    result: list[ast.stmt] = []
    for node in nodes:
        place = _start(node, result)
        found = None if place is None else _counted(node, result[place], within)
        if place is not None and found is not None:
            del result[place]
            result += found
        else:
            result.append(_inside(node, within))
    return result


def _start(node: ast.stmt, before: Sequence[ast.stmt]) -> int | None:
    """Where the counter of a ``while`` is set, with nothing after it that could tell when."""
    match node:
        case ast.While(test=ast.Compare(left=ast.Name(id=name))):
            pass
        case _:
            return None
    for place in reversed(range(len(before))):
        match before[place]:
            case ast.Assign(targets=[ast.Name(id=set_)], value=value) if set_ == name:
                changed = {*stores(before[place + 1 :])}
                read = (n.id for n in ast.walk(value) if isinstance(n, ast.Name))
                return None if changed.intersection(read) else place
            case other if _names(other, name):
                return None
            case _:
                pass
    return None


def _inside(node: ast.stmt, within: ast.AST) -> ast.stmt:
    match node:
        case ast.For(target=target, iter=items, body=body, orelse=other):
            kept = _block(_without_continue(body), within)
            return ast.copy_location(ast.For(target, items, kept or [ast.Pass()], other), node)
        case ast.If(test=test, body=body, orelse=other):
            made = ast.If(test, _block(body, within), _block(other, within))
            return ast.copy_location(made, node)
        case _:
            return node


def _without_continue(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The body of a loop with what a ``continue`` passes over in the other branch."""
    for k, node in enumerate(body):
        if isinstance(node, ast.Continue):
            return list(body[:k])
        if not isinstance(node, ast.If):
            continue
        sides = (node.body, node.orelse)
        ends = [bool(part) and isinstance(part[-1], ast.Continue) for part in sides]
        if any(ends):
            rest = list(body[k + 1 :])
            then, other = (
                _without_continue(part if end else [*part, *([] if all(ends) else rest)])
                for part, end in zip(sides, ends, strict=True)
            )
            made = ast.If(node.test, then or [ast.copy_location(ast.Pass(), node)], other)
            return [*body[:k], ast.copy_location(made, node)]
    return list(body)


def _counted(node: ast.stmt, before: ast.stmt | None, within: ast.AST) -> list[ast.stmt] | None:
    """The loop over a counter that a ``while`` and the assignment before it are."""
    match node, before:
        case (
            ast.While(
                test=ast.Compare(left=ast.Name(id=name), ops=[order], comparators=[end]),
                body=[*body, ast.AugAssign(target=ast.Name(id=moved)) as move],
                orelse=[],
            ),
            ast.Assign(targets=[ast.Name(id=begun) as target], value=start),
        ) if name == moved == begun and type(order) in _ENDS:
            sign, closed = _ENDS[type(order)]
        case _:
            return None
    by = _steps(move)
    fixed = {n.id for part in (start, end) for n in ast.walk(part) if isinstance(n, ast.Name)}
    changed = {*stores(body), name}
    if by * sign <= 0 or fixed & changed or name in stores(body) or _leaves(body):
        return None
    beyond = _moved(end, sign) if closed else end
    values = ast.Call(ast.Name("range", ast.Load()), [start, beyond, ast.Constant(by)], [])
    inner = _block(_without_continue(body), within) or [ast.Pass()]
    loop = ast.copy_location(ast.For(target, values, inner, []), node)
    after: list[ast.stmt] = []
    if _names(within, name) > _names(node, name) + _names(before, name):
        if abs(by) != 1:
            return None
        last = ast.Call(ast.Name("max" if by > 0 else "min", ast.Load()), [start, beyond], [])
        after = [ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], last), node)]
    for made in (loop, *after):
        ast.fix_missing_locations(made)
    return [loop, *after]


def _steps(move: ast.AugAssign) -> int:
    """By how much a counter moves; 0 where that is no number."""
    sign = 1 if isinstance(move.op, ast.Add) else -1 if isinstance(move.op, ast.Sub) else 0
    value = move.value.value if isinstance(move.value, ast.Constant) else None
    return sign * value if isinstance(value, int) else 0


def _moved(end: ast.expr, by: int) -> ast.expr:
    return ast.copy_location(ast.BinOp(end, ast.Add(), ast.Constant(by)), end)


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether a jump of the loop's own leaves an iteration before its end."""
    return any(isinstance(n, ast.Break | ast.Continue | ast.Return) for n in _own(body))


def _own(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes but those of loops inside, whose jumps are theirs."""
    for node in nodes:
        yield node
        inside = isinstance(node, ast.For | ast.While)
        yield from (
            (n for n in ast.walk(node) if isinstance(n, ast.Return))
            if inside
            else _own(list(ast.iter_child_nodes(node)))
        )


def _names(node: ast.AST | None, name: str) -> int:
    return sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node)) if node else 0
