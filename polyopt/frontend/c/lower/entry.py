"""Which function of a file is the program, and which its calls may be replaced by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import ProgramSyntaxError, UnknownNameError
from polyopt.frontend.c.lower.scope import Inline
from polyopt.frontend.c.normalize.single_exit import value_of
from polyopt.frontend.c.syntax.usage import nodes

if TYPE_CHECKING:
    from polyopt.frontend.c.syntax.locations import Locator


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
    found = programs_of(functions, inlines)
    if len(found) == 1:
        return found[0], inlines
    if not functions:
        msg = "there is no function in this program"
        hint = "write the loops into a function with the arrays as arguments"
        raise locator.error(ProgramSyntaxError, None, msg, hint=hint)
    msg = "there are several functions: which one is meant?"
    node = (found or list(functions.values()))[-1].decl
    hint = f"pass function=... (--function), one of: {listed}; or mark the loops with #pragma scop"
    raise locator.error(UnknownNameError, node, msg, hint=hint)


def programs_of(
    functions: dict[str, c_ast.FuncDef], inlines: dict[str, Inline]
) -> list[c_ast.FuncDef]:
    """The functions that may be meant as the program: those that are nobody's helpers."""
    found = [node for key, node in functions.items() if key not in inlines]
    return _without_helpers(found, functions) if len(found) > 1 else found


def _without_helpers(
    found: list[c_ast.FuncDef], functions: dict[str, c_ast.FuncDef]
) -> list[c_ast.FuncDef]:
    """The functions that are no other's helpers: those that are ``static`` and called in the file.

    What ``main`` calls is no helper of it: the program is among what it tries out.
    """
    used = {
        node.name.name
        for key, function in functions.items()
        if key != "main"
        for node in nodes(function.body)
        if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID)
        if node.name.name != key
    }
    kept = [f for f in found if not (f.decl.name in used and _is_internal(f))]
    return kept or found


def _is_internal(function: c_ast.FuncDef) -> bool:
    return bool({"static", "inline"} & {*(function.decl.storage or []), *function.decl.funcspec})


def functions_of(tree: c_ast.FileAST) -> dict[str, c_ast.FuncDef]:
    """The functions that a file defines, by name."""
    return {node.decl.name: node for node in tree.ext if isinstance(node, c_ast.FuncDef)}


def inlines_of(tree: c_ast.FileAST) -> dict[str, Inline]:
    """The functions that calls may be replaced by."""
    functions = functions_of(tree)
    return {key: found for key, node in functions.items() if (found := _inline(node))}


def body_of(function: c_ast.FuncDef) -> list[c_ast.Node]:
    """The statements of a function without a ``return;`` or ``return 0;`` at its very end."""
    items: list[c_ast.Node] = list(function.body.block_items or [])
    last = items[-1] if items else None
    plain = isinstance(last, c_ast.Return) and isinstance(last.expr, (c_ast.Constant, type(None)))
    return items[:-1] if plain else items


def _inline(node: c_ast.FuncDef) -> Inline | None:
    """A function whose body is one value: it returns, or chooses what to return."""
    value = value_of(node.body.block_items or [], node.decl.type.type)
    return None if value is None else Inline(node, value)
