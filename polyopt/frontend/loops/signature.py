"""The arguments of a loop function: sizes, arrays and scalars from its annotations."""

from __future__ import annotations

import ast
import inspect
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError, UnsupportedError
from polyopt.frontend.located import located
from polyopt.frontend.loops import annotations
from polyopt.frontend.loops.annotations import ArrayOf, Scalar, as_scalar, half_scalar
from polyopt.frontend.loops.scope import Alias, Binding, Variable, python_names
from polyopt.frontend.sizes import size_form, size_names
from polyopt.frontend.values import Form
from polyopt.ir.scop import Array
from polyopt.ir.types import F64
from polyopt.isl import affine_constant, affine_param, instance_space, params_space

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.frontend.loops.text import FunctionText
    from polyopt.isl import PwAff

_SCALARS = (
    "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "boolean",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Signature:
    """What a function takes: sizes in order of appearance, and its arguments."""

    params: tuple[str, ...]
    arrays: tuple[Array, ...]
    #: names of all arguments in call order; sizes found only in extents come first
    order: tuple[str, ...]
    bindings: dict[str, Binding]


def read_signature(text: FunctionText, function: Callable[..., object]) -> Signature:
    """The signature of a function. Raises ``UnsupportedError`` for what is not annotated."""
    given = text.tree.args
    for extra in (given.vararg, given.kwarg):
        if extra is not None:
            raise UnsupportedError("a program has named arguments only", span=text.span(extra))
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    kinds = {a.arg: _kind(a, text, function) for a in arguments}
    params = _params(arguments, kinds, text)
    _check_names(arguments, kinds, params, text)
    arrays: list[Array] = []
    bindings: dict[str, Binding] = {}
    for argument in arguments:
        name, kind = argument.arg, kinds[argument.arg]
        if kind is int:
            space = instance_space(params, "", ())
            bindings[name] = Alias(Form(affine_param(space, name)))
            continue
        array = _array(argument, kind, params, text)
        arrays.append(array)
        bindings[name] = Variable(array, weak=kind is float, argument=True)
    implicit = [p for p in params if p not in kinds]
    return Signature(params, tuple(arrays), (*implicit, *kinds), bindings)


def _kind(argument: ast.arg, text: FunctionText, function: Callable[..., object]) -> object:
    """The annotation: an ``ArrayOf``, a ``Scalar``, ``int`` or ``float``."""
    hint = 'write `img: u16["H", "W"]`, `n: int` for a size, or `alpha: f32` for a scalar'
    span = text.span(argument)
    if argument.annotation is None:
        raise UnsupportedError(f"the argument {argument.arg!r} has no type", span=span, hint=hint)
    found = _evaluated(argument.annotation, function)
    with located(lambda: text.span(argument.annotation or argument)):
        if isinstance(found, str):
            found = _evaluated(ast.parse(found, mode="eval").body, function)
        if found is int or found is float or isinstance(found, ArrayOf | Scalar):
            return found
        try:
            return as_scalar(found)
        except InvalidOptionError:
            what = ast.unparse(argument.annotation)
            raise UnsupportedError(
                f"the type {what} of {argument.arg!r} is not one polyopt knows", hint=hint
            ) from None


def _evaluated(node: ast.expr, function: Callable[..., object]) -> object:
    """The annotation's value; our own type names are known even where they are not imported."""
    known = {name: getattr(annotations, name) for name in _SCALARS}
    package = SimpleNamespace(**known, array=ArrayOf, ArrayOf=ArrayOf)
    ours = {**known, "po": package, "polyopt": package}
    theirs = python_names(function)
    code = compile(ast.Expression(node), inspect.getfile(function), "eval")
    for names in ({**ours, **theirs}, {**theirs, **ours}):
        with suppress(NameError, AttributeError, TypeError):
            return eval(code, names)  # noqa: S307  (the user's own annotation)
    return None


def _params(
    arguments: list[ast.arg], kinds: dict[str, object], text: FunctionText
) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for argument in arguments:
        kind = kinds[argument.arg]
        if kind is int:
            found[argument.arg] = None
        if isinstance(kind, ArrayOf):
            for position, extent in enumerate(kind.extents):
                place = _extent_node(argument, position, len(kind.extents))
                with located(lambda place=place: text.span(place)):
                    names = size_names(extent) if isinstance(extent, str) else ()
                    found.update(dict.fromkeys(names))
    return tuple(found)


def _check_names(
    arguments: list[ast.arg], kinds: dict[str, object], params: tuple[str, ...], text: FunctionText
) -> None:
    for argument in arguments:
        if kinds[argument.arg] is not int and argument.arg in params:
            raise UnsupportedError(
                f"{argument.arg!r} is both a size and an array or scalar",
                span=text.span(argument),
                hint="annotate a size as int",
            )


def _array(argument: ast.arg, kind: object, params: tuple[str, ...], text: FunctionText) -> Array:
    span = text.span(argument)
    if not isinstance(kind, ArrayOf):
        type_ = kind.type if isinstance(kind, Scalar) else F64
        if type_.is_half:
            raise half_scalar(argument.arg, type_, span)
        return Array(argument.arg, type_, (), "in", span=span)
    extents: list[PwAff] = []
    for position, extent in enumerate(kind.extents):
        place = _extent_node(argument, position, len(kind.extents))
        with located(lambda place=place: text.span(place)):
            extents.append(_extent(extent, params))
    return Array(argument.arg, kind.type, tuple(extents), "in", span=span)


def _extent(extent: int | str, params: tuple[str, ...]) -> PwAff:
    space = params_space(params)
    return affine_constant(space, extent) if isinstance(extent, int) else size_form(extent, space)


def _extent_node(argument: ast.arg, position: int, count: int) -> ast.AST:
    """Where an extent is written: the last subscripts of the annotation are the extents."""
    node = argument.annotation
    if isinstance(node, ast.Subscript):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(items) >= count:
            return items[len(items) - count + position]
    return node or argument
