"""Names of complex numbers: a number is two scalars, an array one of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.operands import ComplexVariable
from polyopt.frontend.complex_values import Complex, as_complex
from polyopt.frontend.loops.scope import Alias, Variable
from polyopt.frontend.values import as_expr
from polyopt.ir.expr import loads

if TYPE_CHECKING:
    import ast

    from polyopt.frontend.arrays.statements import ArrayStatements
    from polyopt.frontend.values import Value


@dataclass(frozen=True, eq=False)
class Stored(Alias):
    """A name of an array of complex numbers that has storage of its own."""


def is_complex_name(found: Alias | Variable | None) -> bool:
    """Whether a name has two scalars, for the parts of a complex number."""
    return isinstance(found, Alias) and isinstance(found.operand, ComplexVariable)


def assign_complex(found: ArrayStatements, target: ast.Name, value: Value, node: ast.AST) -> None:
    """``z = ...`` of a complex number: of two scalars, which Python has no names for.

    Raises ``UnsupportedError`` for a name that was real before, in a loop or under a condition.
    """
    number, scope = as_complex(value), found.scope
    names, before = scope.frames[-1].names, scope.binding(target.id)
    known = is_complex_name(before)
    if before is not None and not known:
        if target.id not in names or not found.is_certain:
            raise UnsupportedError(
                f"{target.id!r} becomes a complex number in a loop or under a condition",
                span=found.read.span(target),
                hint="start it as one, such as 0j",
            )
        del names[target.id]
    parts = (f"{target.id}.re", f"{target.id}.im")
    storage = [scope.binding(part) for part in parts] if known else []
    arrays = {b.array.name for b in storage if isinstance(b, Variable)}
    if any(load.array in arrays for load in loads(as_expr(number.im))):
        number = Complex(number.re, found.stored(number.im, node))
    for part, real in zip(parts, (number.re, number.im), strict=True):
        found.assign_real(found.helpers.target(part, target), real, node)
    if not known:
        names[target.id] = Alias(ComplexVariable(*parts))
