"""Helper functions in place of their calls, and what reading a function over again keeps."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.control import structured_text
from polyopt.frontend.arrays.grid import Grid, Pair, Placed
from polyopt.frontend.complex_values import number_of
from polyopt.frontend.loops.scope import Alias, Known, Variable, View, stores

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FunctionType

    from polyopt.frontend.arrays.statements import ArrayStatements
    from polyopt.frontend.loops.scope import Scope
    from polyopt.frontend.loops.text import FunctionText
    from polyopt.ir.scop import Array

#: Helper functions may call helpers, but not without end.
_MAX_INLINE = 16


class InPlace:
    """A callable object that, as a helper, is the function that it wraps."""

    __wrapped__: Callable[..., object]


def check_bare(function: Callable[..., object]) -> None:
    """Refuse a function that another one was put around. Raises ``UnsupportedError``."""
    if hasattr(function, "__wrapped__"):
        raise UnsupportedError(
            f"{function.__name__} is what a decorator made of a function",
            hint="call the function without the decorator",
        )


class Helpers:
    """Shared by the readers of a function and of its helpers; outlives one reading of them."""

    def __init__(self) -> None:
        #: names from outside, by function or module and name, with what they are
        self.seen: dict[tuple[int, str], tuple[object, object]] = {}
        #: arrays that are no name's yet: values that nobody else can change
        self.unnamed: set[str] = set()
        #: arrays that were written so far
        self.written: set[str] = set()
        #: arrays of the function that it writes to where data say
        self.scattered: set[str] = set()
        #: the caller's arrays, by name
        self.given: dict[str, Array] = {}
        #: the call that is all of a statement, or all of what one assigns
        self.direct: ast.AST | None = None
        self._texts: dict[tuple[int, int], FunctionText] = {}
        self._targets: dict[tuple[int, str], ast.Name] = {}
        self._kept: list[object] = []
        self._depth = 0

    def target(self, name: str, node: ast.AST) -> ast.Name:
        """A variable's name as a node, the same one in each reading."""
        key = (id(node), name)
        if key not in self._targets:
            self._targets[key] = ast.copy_location(ast.Name(name, ast.Store()), node)
            self._kept.append(node)
        return self._targets[key]

    def inline(self, found: ArrayStatements, node: ast.Call, function: FunctionType) -> Any:  # noqa: ANN401
        """What a call of a helper returns, its statements done.

        Raises ``UnsupportedError`` for helpers that nest too deeply, or take other arguments.
        """
        if self._depth >= _MAX_INLINE:
            raise UnsupportedError(f"{function.__name__} calls itself, or helpers nest too deeply")
        check_bare(function)
        text = self._text(node, function)
        names = self._bound(found, node, function)
        scope = found.scope.inside(text, function)
        scope.frames[-1] = replace(
            scope.frames[-1], names={n: Alias(o) for n, o in names.items()},
            stores=stores(text.tree.body),
        )  # fmt: skip
        inner = found.child(scope)
        is_direct, known = self.direct is node, {array.name for array in found.temps}
        before, self.written = self.written, set()
        self._depth += 1
        try:
            inner.block(text.tree.body)
        finally:
            self._depth -= 1
            changed, self.written = self.written, self.written | before
        made = {array.name for array in found.temps} - known
        if changed - made and not is_direct:
            raise UnsupportedError(
                f"{function.__name__} changes arrays, and is called inside of an expression",
                hint="give what it returns a name first",
            )
        found.own_updates += inner.own_updates
        return inner.results.operand

    def _text(self, node: ast.Call, function: FunctionType) -> FunctionText:
        """The helper's text, one for each place of a call: locals have types of their own there."""
        key = (id(node), id(function))
        if key not in self._texts:
            self._texts[key] = structured_text(function)
            self._kept += [node, function]
        return self._texts[key]

    def _bound(
        self, found: ArrayStatements, node: ast.Call, function: FunctionType
    ) -> dict[str, Any]:
        signature = inspect.signature(function)
        kinds = {p.kind for p in signature.parameters.values()}
        starred = any(isinstance(a, ast.Starred) for a in node.args)
        if kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL} or starred:
            raise UnsupportedError(f"{function.__name__} takes any number of arguments")
        given = [found.read.operand(a) for a in node.args]
        named = {k.arg or "": found.read.operand(k.value) for k in node.keywords}
        try:
            bound = signature.bind(*given, **named)
        except TypeError as error:
            raise UnsupportedError(f"{function.__name__} is called otherwise: {error}") from None
        defaults = {
            name: operand_of(parameter.default)
            for name, parameter in signature.parameters.items()
            if name not in bound.arguments
        }
        return {
            **{n: self._settled(found, o, node) for n, o in bound.arguments.items()},
            **defaults,
        }

    def _settled(self, found: ArrayStatements, operand: Any, node: ast.AST) -> Any:  # noqa: ANN401
        """An argument as it is at the call: an element is read then."""
        if isinstance(operand, View) or (isinstance(operand, Pair) and not operand.rank):
            return found.stored(found.read.as_number(operand), node)
        if isinstance(operand, Grid) and not isinstance(operand, Placed | Pair):
            return found.materialise(operand, node)
        return operand

    def is_fresh(self, array: Array, scope: Scope, node: ast.AST) -> bool:
        """Whether no name is left, after a statement, under which an array could be changed."""
        if array.name in self.unnamed:
            return True
        if array.private != scope.depth or array.role != "temp":
            return False
        names = {
            name
            for frame in scope.frames
            for name, binding in frame.names.items()
            if _is_of(binding, array)
        }
        line = getattr(node, "end_lineno", 0)
        return not any(
            isinstance(n, ast.Name) and n.id in names and n.lineno > line
            for n in ast.walk(scope.text.tree)
        )


def _is_of(binding: Alias | Variable, array: Array) -> bool:
    if isinstance(binding, Variable):
        return binding.array is array
    return isinstance(binding.operand, Grid) and getattr(binding.operand, "array", None) is array


def operand_of(value: object) -> Any:  # noqa: ANN401
    """A Python object as an operand: a number, or what is known beforehand."""
    try:
        return number_of(value)
    except UnsupportedError:
        return Known(value)
