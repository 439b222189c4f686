"""Comprehensions over what is known beforehand, written out: ``[f(i) for i in (-1, 1)]``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.iteration import MOST_ITEMS
from polyopt.frontend.arrays.operands import Items
from polyopt.frontend.loops.scope import Alias, Known, Shape
from polyopt.frontend.values import Number, truth

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyopt.frontend.arrays.operands import AnyOperand, ArrayOperands


class _Open(Exception):  # noqa: N818
    """Sizes or data decide how many items there are."""


_HINT = "write it with a loop, or with operations on whole arrays, such as np.sum"


def items_of(read: ArrayOperands, node: ast.ListComp | ast.GeneratorExp) -> Sequence[AnyOperand]:
    """The items of a comprehension. Raises ``UnsupportedError`` where sizes or data decide how
    many there are."""
    names = read.scope.frames[-1].names
    before = dict(names)
    try:
        return [read.operand(node.elt) for _ in _bound(read, node.generators)]
    except _Open:
        what = "list comprehensions" if isinstance(node, ast.ListComp) else "generator expressions"
        message = f"{what} go over what is known beforehand, at most {MOST_ITEMS} items"
        raise UnsupportedError(message, hint=_HINT) from None
    finally:
        names.clear()
        names |= before


def _bound(read: ArrayOperands, generators: Sequence[ast.comprehension]) -> Iterator[None]:
    """Once for each item, with the names of the generators bound."""
    if not generators:
        yield
        return
    first, rest = generators[0], generators[1:]
    for item in known_items(read, first.iter):
        _bind(read, first.target, item)
        tests = [truth(read.value(test)) for test in first.ifs]
        if not all(isinstance(test, Number) for test in tests):
            raise _Open
        if all(test.value for test in tests if isinstance(test, Number)):
            yield from _bound(read, rest)


def known_items(read: ArrayOperands, node: ast.expr) -> Sequence[Any]:
    """What a loop goes over, where it is known beforehand. Raises ``UnsupportedError``."""
    match node:
        case ast.Call(func=ast.Name() as function, args=args, keywords=[]) if _is_range(
            read, function
        ):
            ends = [read.value(argument) for argument in args]
            if all(isinstance(e, Number) and isinstance(e.value, int) for e in ends):
                numbers = range(*(int(e.value) for e in ends if isinstance(e, Number)))
                return _few([Number(k) for k in numbers[: MOST_ITEMS + 1]])
        case _:
            found = read.operand(node)
            if isinstance(found, Items):
                return _few(found.items)
            if isinstance(found, Shape):
                return found.sizes
            if isinstance(found, Known) and isinstance(found.value, range):
                return _few([Number(k) for k in found.value[: MOST_ITEMS + 1]])
    raise _Open


def _few(items: Sequence[Any]) -> Sequence[Any]:
    if len(items) > MOST_ITEMS:
        raise _Open
    return items


def _is_range(read: ArrayOperands, node: ast.Name) -> bool:
    found = read.operand(node)
    return isinstance(found, Known) and found.value is range


def _bind(read: ArrayOperands, target: ast.expr, item: AnyOperand) -> None:
    if isinstance(target, ast.Name):
        read.scope.frames[-1].names[target.id] = Alias(item)
        return
    if not isinstance(target, ast.Tuple) or not isinstance(item, Items):
        raise UnsupportedError("this cannot be unpacked")
    if len(item.items) != len(target.elts):
        raise UnsupportedError("both sides need the same number of items")
    for one, part in zip(target.elts, item.items, strict=True):
        _bind(read, one, part)
