"""What keeps a function from being compiled whatever its arguments are: found without a call."""

from __future__ import annotations

import ast
import builtins
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from polyopt.errors import PolyoptError, UnsupportedError
from polyopt.frontend.arrays.control import structured_text
from polyopt.frontend.arrays.functions.calls import is_taken
from polyopt.frontend.arrays.helpers import InPlace, check_bare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polyopt.frontend.loops.text import FunctionText

#: statements that are read, once ``continue`` and loops with a counter are written otherwise
_STATEMENTS = (
    ast.Pass, ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.If, ast.Return,
    ast.Assert,
)  # fmt: skip
#: expressions that no number and no array is made of, by what people call them
_EXPRESSIONS: dict[type[ast.expr], str] = {
    ast.Lambda: "a lambda", ast.JoinedStr: "a text that is put together", ast.Dict: "a dictionary",
    ast.Set: "a set", ast.DictComp: "a dictionary", ast.SetComp: "a set", ast.Await: "await",
    ast.Yield: "yield", ast.YieldFrom: "yield", ast.NamedExpr: "an assignment in an expression",
    ast.Starred: "an argument behind a star",
}  # fmt: skip
#: helpers are looked into, but not without end
_DEPTH = 4


def untaken(function: Callable[..., Any]) -> tuple[PolyoptError, ...]:
    """Why no call of a function is compiled: each reason with its place; none where calls decide.

    Types and shapes are those of a call: a function that passes may still be refused for some.
    """
    return tuple(_of(function, 0))


def _of(function: Callable[..., Any], depth: int) -> Iterator[PolyoptError]:
    try:
        check_bare(function)
        text = structured_text(function)
    except PolyoptError as error:
        yield error
        return
    assigned = {n.id for n in ast.walk(text.tree) if _is_stored(n) and isinstance(n, ast.Name)}
    arguments = text.tree.args
    if arguments.vararg or arguments.kwarg:
        what = f"{function.__name__} takes any number of arguments"
        yield UnsupportedError(
            what, span=text.span(arguments.vararg or arguments.kwarg or text.tree)
        )
    assigned |= {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for statement in text.tree.body:
        for node in ast.walk(statement):
            yield from _node(node, text, function, assigned, depth)


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _node(
    node: ast.AST,
    text: FunctionText,
    function: Callable[..., Any],
    assigned: set[str],
    depth: int,
) -> Iterator[PolyoptError]:
    if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
        name = type(node).__name__.lower()
        hint = "a loop with a counter, or over range(...), is taken" if name == "while" else ""
        yield UnsupportedError(
            f"the statement {name!r} is not taken", span=text.span(node), hint=hint
        )
    elif type(node) in _EXPRESSIONS:
        what = _EXPRESSIONS[type(node)]  # type: ignore[index]
        yield UnsupportedError(f"{what} is not taken", span=text.span(node))
    elif isinstance(node, ast.Call):
        yield from _call(node, text, function, assigned, depth)


def _call(
    node: ast.Call,
    text: FunctionText,
    function: Callable[..., Any],
    assigned: set[str],
    depth: int,
) -> Iterator[PolyoptError]:
    found = _meaning(node.func, function, assigned)
    if found is None:
        return
    (called,) = found
    helper = called.__wrapped__ if isinstance(called, InPlace) else called
    module = (getattr(helper, "__module__", None) or "").partition(".")[0]
    if isinstance(helper, FunctionType) and module != "numpy":
        if depth < _DEPTH:
            yield from _of(helper, depth + 1)
        return
    if not is_taken(called):
        yield UnsupportedError(
            f"a call of {ast.unparse(node.func)} is not taken",
            span=text.span(node),
            hint="docs/howto/jit.md lists the functions that are taken",
        )


def _meaning(node: ast.expr, function: Callable[..., Any], assigned: set[str]) -> tuple[Any] | None:
    """What a name, or an attribute of a module, stands for outside of the function, in a tuple;
    ``None`` where that is not known."""
    if isinstance(node, ast.Attribute):
        base = _meaning(node.value, function, assigned)
        if base is None or not isinstance(base[0], ModuleType) or not hasattr(base[0], node.attr):
            return None
        return (getattr(base[0], node.attr),)
    if not isinstance(node, ast.Name) or node.id in assigned:
        return None
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()
    for name, cell in zip(getattr(code, "co_freevars", ()), cells, strict=True):
        if name == node.id:
            return _content(cell)
    scope = getattr(function, "__globals__", {})
    if node.id in scope:
        return (scope[node.id],)
    return (getattr(builtins, node.id),) if hasattr(builtins, node.id) else None


def _content(cell: Any) -> tuple[Any] | None:  # noqa: ANN401
    try:
        return (cell.cell_contents,)
    except ValueError:  # it is set after the function was made
        return None
