"""Arguments of public functions that are not what their annotations say.

Functions check what they can say something about. What they did not expect, and what so ends in an
exception of Python's, is compared with the annotations: an argument that does not fit is an
``InvalidOptionError``. Where all fit, the exception is a defect of ours and goes on.
"""

from __future__ import annotations

import ast
import collections.abc
import contextlib
import dataclasses
import functools
import inspect
import math
import sys
import types
import typing
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeVar, cast

from polyopt.errors import InvalidOptionError, PolyoptError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Wrapped = TypeVar("Wrapped", bound=Callable[..., Any])
    Kind = TypeVar("Kind", bound=type[Any])

#: what Python raises where a value is of another kind than the code meant
_UNEXPECTED = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError, NameError,
)  # fmt: skip
_PLAIN: Mapping[object, Callable[[Any], bool]] = {
    int: lambda v: isinstance(v, Integral) and not isinstance(v, bool) and _is_small(v),
    float: lambda v: isinstance(v, Real) and not isinstance(v, bool) and _is_small(v),
    bool: lambda v: isinstance(v, bool) or type(v).__name__ == "bool",
    type(None): lambda v: v is None,
    cast("object", collections.abc.Callable): callable,
}


def checks_arguments(function: Wrapped) -> Wrapped:
    """The function; where Python raises in it for an argument's sake, an error says which."""

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        try:
            return function(*args, **named)
        except _UNEXPECTED as error:
            if isinstance(error, PolyoptError):
                raise
            wrong = misfit(function, args, named)
            if wrong is None:
                raise
        raise wrong

    return cast("Wrapped", called)


def checks_methods(owner: Kind) -> Kind:
    """The class, its public methods with their arguments checked."""
    for name, found in list(vars(owner).items()):
        if name.startswith("_"):
            continue
        if isinstance(found, classmethod):
            method = cast("classmethod[Any, Any, Any]", found)
            setattr(owner, name, classmethod(checks_arguments(method.__func__)))
        elif inspect.isfunction(found):
            setattr(owner, name, checks_arguments(found))
    return owner


def misfit(
    function: Callable[..., object], args: tuple[object, ...], named: Mapping[str, object]
) -> InvalidOptionError | None:
    """The error for the first argument that its annotation does not allow, if there is one."""
    try:
        bound = inspect.signature(function).bind(*args, **named).arguments
    except TypeError:
        return None  # Python's own words say what is missing or too much
    for name, value, hint, text in _arguments(function, bound):
        if _has_huge(value):
            return InvalidOptionError(f"{function.__name__}: a number in {name} is too large",
                                      hint="whole numbers have 64 bits")  # fmt: skip
        found = (name, value, text) if not _fits(value, hint) else _misfit_in(name, value)
        if found is not None:
            where, what, kind = found
            return InvalidOptionError(
                f"{function.__name__}: {where} is {shown(what)}", hint=_wanted(function, kind)
            )
    return None


def _wanted(function: Callable[..., object], kind: str) -> str:
    """What an argument is to be: of a function, the call that the documentation begins with."""
    opening = (function.__doc__ or "").partition("\n")[0]
    shown_call = opening.removeprefix("``").partition("``")[0]
    if kind.startswith("Callable") and opening.startswith("``") and "(" in shown_call:
        return f"it is to be a function, as in {shown_call}"
    return f"it is to be: {kind}"


def _misfit_in(name: str, value: Any, depth: int = 3) -> tuple[str, object, str] | None:  # noqa: ANN401
    """A field of a dataclass that its annotation does not allow: where, what, what it is to be."""
    if depth and isinstance(value, list | tuple):
        parts = enumerate(cast("list[Any]", value))
        found = (_misfit_in(f"{name}[{k}]", part, depth - 1) for k, part in parts)
        return next((one for one in found if one is not None), None)
    if not depth or isinstance(value, type) or not dataclasses.is_dataclass(value):
        return None
    for field in dataclasses.fields(value):
        where, text, part = f"{name}.{field.name}", field.type, getattr(value, field.name)
        if not _fits(part, _resolved(type(value).__module__, text)):
            return where, part, str(text)
        if (found := _misfit_in(where, part, depth - 1)) is not None:
            return found
    return None


def _arguments(
    function: Callable[..., object], bound: Mapping[str, Any]
) -> Iterable[tuple[str, object, object, str]]:
    """Each argument's name, value, and annotation, also as text; those of ``*args`` one by one."""
    parameters = inspect.signature(function).parameters
    for name, value in bound.items():
        given = parameters[name].annotation
        text = given if isinstance(given, str) else inspect.formatannotation(given)
        hint = _resolved(function.__module__, given)
        if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            yield from ((name, one, hint, text) for one in value)
        elif parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            yield from ((key, one, hint, text) for key, one in value.items())
        else:
            yield name, value, hint, text


def _resolved(module: str, text: Any) -> Any:  # noqa: ANN401
    """The type that an annotation names; ``Any`` where that cannot be found out."""
    if not isinstance(text, str):
        return Any if text is inspect.Parameter.empty else text
    try:
        return eval(text, _deferred(module))  # noqa: S307 - our own
    except Exception:  # noqa: BLE001  (not an annotation that says anything here)
        return Any


@functools.cache
def _deferred(name: str) -> dict[str, Any]:
    """The names that a module has for type checkers alone."""
    module = sys.modules[name]
    tree = ast.parse(inspect.getsource(module))
    blocks = [node.body for node in tree.body if isinstance(node, ast.If)
              and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"]  # fmt: skip
    found = dict(vars(module))
    for node in (node for body in blocks for node in body):
        with contextlib.suppress(Exception):  # what needs a library that is not there
            exec(compile(ast.Module([node], []), name, "exec"), found)  # noqa: S102 - our own
    return found


def _fits(value: Any, hint: Any) -> bool:  # noqa: ANN401
    """Whether a value is of an annotation's type; so where that is not known."""
    if hint is None:
        return value is None
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        return any(_fits(value, one) for one in inner)
    if origin is typing.Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    kind: Any = origin or hint
    if kind in _PLAIN:
        return _PLAIN[kind](value)
    if not _is_instance(kind, type):
        return True
    if not _is_instance(value, kind):
        return False
    return _parts_fit(value, kind, inner)


def _parts_fit(value: Any, kind: Any, inner: tuple[Any, ...]) -> bool:  # noqa: ANN401
    """Whether what a collection holds is of the types that its annotation names."""
    if not inner or not issubclass(kind, collections.abc.Iterable):
        return True
    if issubclass(kind, collections.abc.Mapping):
        pairs = [pair for item in value.items() for pair in zip(item, inner, strict=False)]
        return all(_fits(one, part) for one, part in pairs)
    if isinstance(value, str | bytes):
        return False
    if hasattr(value, "__array__"):  # its parameters are a shape and a type
        return True
    if issubclass(kind, tuple) and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(map(_fits, value, inner))
    return all(_fits(one, inner[0]) for one in value)


def _is_instance(value: object, kind: Any) -> bool:  # noqa: ANN401
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol that only type checkers know
        return True


def _has_huge(value: Any, depth: int = 3) -> bool:  # noqa: ANN401
    """Whether a number in it is beyond what C and messages take."""
    if isinstance(value, int):
        return not _is_small(value)
    if depth == 0:
        return False
    parts: list[Any] = []
    if _is_instance(value, slice):
        parts = [getattr(value, end) for end in ("start", "stop", "step")]
    elif isinstance(value, dict):
        parts = [*value, *value.values()]
    elif isinstance(value, list | tuple):
        parts = [*value]
    return any(_has_huge(part, depth - 1) for part in parts)


def _is_small(value: Any) -> bool:  # noqa: ANN401
    """Whether a number is one of C's, and no NaN or infinity."""
    if isinstance(value, Integral):
        return -(2**63) <= int(value) < 2**63
    return math.isfinite(value)
