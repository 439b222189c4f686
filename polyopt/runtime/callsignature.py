"""The signature of a kernel as ``inspect`` and editors see it: what a call takes, by name."""

from __future__ import annotations

from inspect import Parameter, Signature
from keyword import iskeyword
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyopt.codegen.signature import Argument


def call_signature(arguments: Sequence[Argument], positional: Sequence[str]) -> Signature:
    """Inputs and sizes in their order; by keyword sizes that shapes give, results and the rest."""
    return Signature(list(_parameters({a.name: a for a in arguments}, positional)))


def _parameters(arguments: dict[str, Argument], positional: Sequence[str]) -> Iterator[Parameter]:
    for number, name in enumerate(positional):
        # a name that only C allows is given by position
        shown = f"argument_{number}" if iskeyword(name) or not name.isidentifier() else name
        kind = Parameter.POSITIONAL_OR_KEYWORD
        yield Parameter(shown, kind, annotation=_type(arguments[name]))
    options = {name: _type(a) for name, a in arguments.items() if name.isidentifier()}
    options |= {"out": "array or arrays", "threads": "int"}
    for name, told in options.items():
        if name not in positional and not iskeyword(name):
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=told)


def _type(argument: Argument) -> str:
    """``int`` for a size, ``float32`` for a scalar, ``float32[:, :]`` for an array."""
    if argument.kind == "size":
        return "int"
    sides = ", ".join(":" * argument.rank)
    return f"{argument.type.numpy_name}{f'[{sides}]' if sides else ''}"
