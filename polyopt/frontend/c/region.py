"""Which function of a file is the program, and which part of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import ProgramSyntaxError, UnknownNameError, UnsupportedError
from polyopt.frontend.c.returns import value_of
from polyopt.frontend.c.scope import Inline
from polyopt.frontend.c.usage import names_in, nodes

if TYPE_CHECKING:
    from polyopt.frontend.c.locate import Locator


@dataclass(frozen=True, eq=False)
class Region:
    """The statements to lower, and the function around them."""

    function: c_ast.FuncDef
    items: list[c_ast.Node]


def choose_function(
    tree: c_ast.FileAST, name: str | None, locator: Locator
) -> tuple[c_ast.FuncDef, dict[str, Inline]]:
    """The function that is the program, and those that calls may be replaced by.

    Raises ``UnknownNameError`` or ``ProgramSyntaxError``.
    """
    functions = functions_of(tree)
    inlines = inlines_of(tree)
    listed = ", ".join(functions)
    if name is not None:
        if name not in functions:
            msg = f"no function is called {name!r}"
            raise locator.error(UnknownNameError, None, msg, hint=f"there are: {listed or 'none'}")
        return functions[name], {k: v for k, v in inlines.items() if k != name}
    marked = [node for node in functions.values() if any(_is(n, "scop") for n in nodes(node))]
    found = marked or [node for key, node in functions.items() if key not in inlines]
    if len(found) == 1:
        return found[0], inlines
    if not functions:
        msg = "there is no function in this program"
        hint = "write the loops into a function with the arrays as arguments"
        raise locator.error(ProgramSyntaxError, None, msg, hint=hint)
    msg = "there are several functions: which one is meant?"
    node = (found or list(functions.values()))[-1].decl
    hint = f"pass function=..., one of: {listed}; or mark the loops with #pragma scop"
    raise locator.error(UnknownNameError, node, msg, hint=hint)


def functions_of(tree: c_ast.FileAST) -> dict[str, c_ast.FuncDef]:
    """The functions that a file defines, by name."""
    return {node.decl.name: node for node in tree.ext if isinstance(node, c_ast.FuncDef)}


def inlines_of(tree: c_ast.FileAST) -> dict[str, Inline]:
    """The functions that calls may be replaced by."""
    functions = functions_of(tree)
    return {key: found for key, node in functions.items() if (found := _inline(node))}


def region_of(function: c_ast.FuncDef, locator: Locator) -> Region:
    """The part between the pragmas, with the declarations before it; else the whole body.

    Raises ``ProgramSyntaxError`` or ``UnsupportedError``.
    """
    items: list[c_ast.Node] = list(function.body.block_items or [])
    begins = [k for k, item in enumerate(items) if _is(item, "scop")]
    ends = [k for k, item in enumerate(items) if _is(item, "endscop")]
    if not begins and not ends:
        stray = next((n for n in nodes(function) if _is(n, "scop") or _is(n, "endscop")), None)
        if stray is None:
            return Region(function, _without_return(items))
        msg = "the region has to stand at the top level of its function"
        raise locator.error(UnsupportedError, stray, msg, hint="move the pragma out of the loops")
    if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0]:
        where = items[(begins or ends)[-1]]
        msg = "a function has one #pragma scop followed by one #pragma endscop"
        raise locator.error(ProgramSyntaxError, where, msg, hint="mark one region")
    before, inside = items[: begins[0]], items[begins[0] + 1 : ends[0]]
    declared = [item for item in before if isinstance(item, c_ast.Decl)]
    _check_outside(inside, declared, before, items[ends[0] + 1 :], locator)
    return Region(function, [*declared, *inside])


def _check_outside(
    inside: list[c_ast.Node],
    declared: list[c_ast.Decl],
    before: list[c_ast.Node],
    after: list[c_ast.Node],
    locator: Locator,
) -> None:
    """Refuse locals that carry values into the region or out of it."""
    used = {name for item in inside for name in names_in(item)}
    local = {decl.name for decl in declared} & used
    changed = {name for item in inside for name in _assigned(item)}
    for items, names, what in (
        (before, local, "set before"),
        (after, local & changed, "used after"),
    ):
        for item in items:
            if isinstance(item, c_ast.Decl):
                continue
            for node in nodes(item):
                if isinstance(node, c_ast.ID) and node.name in names:
                    msg = f"the local {node.name!r} is {what} the region"
                    hint = "make it an argument, or move the pragma"
                    raise locator.error(UnsupportedError, node, msg, hint=hint)


def _assigned(item: c_ast.Node) -> set[str]:
    found: set[str] = set()
    for node in nodes(item):
        target = node.lvalue if isinstance(node, c_ast.Assignment) else None
        while isinstance(target, c_ast.ArrayRef):
            target = target.name
        if isinstance(target, c_ast.ID):
            found.add(target.name)
    return found


def _is(node: c_ast.Node, word: str) -> bool:
    return isinstance(node, c_ast.Pragma) and node.string.split()[:1] == [word]


def _without_return(items: list[c_ast.Node]) -> list[c_ast.Node]:
    """The body without a ``return;`` or ``return 0;`` at its very end."""
    last = items[-1] if items else None
    plain = isinstance(last, c_ast.Return) and isinstance(last.expr, (c_ast.Constant, type(None)))
    return items[:-1] if plain else items


def _inline(node: c_ast.FuncDef) -> Inline | None:
    """A function whose body is one value: it returns, or chooses what to return."""
    value = value_of(node.body.block_items or [], node.decl.type.type)
    return None if value is None else Inline(node, value)
