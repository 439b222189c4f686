"""Loops over elements: ``for x in a``, ``enumerate`` and ``zip``, as loops over ``range``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.grid import Grid
from polyopt.frontend.arrays.operands import Items
from polyopt.frontend.loops.scope import Alias, Known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.frontend.arrays.statements import ArrayStatements

#: loops over the items of a tuple are written out, if they are no more
MOST_ITEMS = 64


def as_range(found: ArrayStatements, node: ast.For) -> ast.For | Items | None:
    """A loop over arrays as one over ``range``, or the items that a loop goes over; nothing for a
    loop that is over ``range`` already.

    Raises ``UnsupportedError`` for what cannot be gone over.
    """
    function = _called(found, node.iter)
    if function is range or function is reversed:
        return None
    if function is enumerate or function is zip:
        assert isinstance(node.iter, ast.Call)
        return _over_call(found, node, function, node.iter)
    operand = found.read.operand(node.iter)
    if isinstance(operand, Items) and len(operand.items) <= MOST_ITEMS:
        return operand
    if isinstance(operand, Known) and isinstance(operand.value, range):
        return None
    return _loop(found, node, [operand], [node.target], None)


def _called(found: ArrayStatements, node: ast.expr) -> object:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    target = found.read.operand(node.func)
    return target.value if isinstance(target, Known) else None


def _over_call(found: ArrayStatements, node: ast.For, function: object, call: ast.Call) -> ast.For:
    operands = [found.read.operand(argument) for argument in call.args]
    targets = node.target.elts if isinstance(node.target, ast.Tuple) else []
    if function is enumerate and len(operands) == 1 and len(targets) == 2 and not call.keywords:
        return _loop(found, node, operands, [targets[1]], targets[0])
    if function is zip and len(targets) == len(operands) and not call.keywords:
        return _loop(found, node, operands, targets, None)
    raise UnsupportedError(
        "loops go over range, arrays, zip and enumerate", hint="for i, x in enumerate(a)"
    )


def _loop(
    found: ArrayStatements,
    node: ast.For,
    operands: Sequence[Any],
    targets: Sequence[ast.expr],
    counter: ast.expr | None,
) -> ast.For:
    """``for k in range(n)`` with the elements of the arrays at ``k`` as the targets."""
    grids = [operand for operand in operands if isinstance(operand, Grid)]
    if not grids or len(grids) < len(operands):
        raise UnsupportedError(
            "loops run over range(...), or over arrays", hint="write `for y in range(H):`"
        )
    here = found.read.here
    first, *others = (found.read.lifted(grid.shape[0]) for grid in grids)
    if not all(here.equal(first, other) for other in others):
        raise UnsupportedError("zip of arrays of different lengths")
    names = found.scope.frames[-1].names
    names |= {f"<{k}>": Alias(grid) for k, grid in enumerate(grids)}
    names |= {"<range>": Alias(Known(range)), "<len>": Alias(Known(len))}

    def name(text: str, context: ast.expr_context | None = None) -> ast.Name:
        return ast.copy_location(ast.Name(text, context or ast.Load()), node.iter)

    index = counter.id if isinstance(counter, ast.Name) else found.unused("k")
    body: list[ast.stmt] = [
        ast.copy_location(
            ast.Assign(
                [target],
                ast.copy_location(
                    ast.Subscript(name(f"<{k}>"), name(index), ast.Load()), node.iter
                ),
            ),
            target,
        )
        for k, target in enumerate(targets)
    ]
    length = ast.copy_location(ast.Call(name("<len>"), [name("<0>")], []), node.iter)
    bounds = ast.copy_location(ast.Call(name("<range>"), [length], []), node.iter)
    loop = ast.For(name(index, ast.Store()), bounds, [*body, *node.body], node.orelse)
    return ast.copy_location(loop, node)
