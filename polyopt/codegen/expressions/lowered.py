"""A lowered expression: its C, the IR type it stands for, and bounds of its value.

Every integer is *congruent* to its IR value modulo 2^bits of its IR type; ``bounds`` say what C
computes. The type in C is not said here: it follows from the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import (
    Call,
    Cast,
    Const,
    Foreign,
    Unary,
    Var,
    is_number,
    number_of,
    scalar,
)
from polyopt.codegen.helpers.math.halves import conversion
from polyopt.ir.intervals import is_inside, whole
from polyopt.ir.types import F32, I32, I64, U32, U64, ScalarType, promote_c

if TYPE_CHECKING:
    from polyopt.codegen.ast.expr import Expr


@dataclass(frozen=True)
class Lowered:
    """A lowered expression.

    ``type`` is the IR type it stands for, ``bounds`` what an integer's C value can be. ``wraps``
    says that it relies on wrapping signed overflow.
    """

    node: Expr
    type: ScalarType
    bounds: tuple[int, int] = (0, 0)
    wraps: bool = False

    @property
    def ctype(self) -> ScalarType:
        """The type that C gives it."""
        return scalar(self.node.type)

    @property
    def is_exact(self) -> bool:
        """Whether C's value is the IR's value, and not only congruent to it."""
        return self.type.is_float or is_inside(self.bounds, self.type)


def constant(type_: ScalarType, value: float) -> Lowered:
    """A literal that C reads back as exactly this value."""
    if type_.is_half:
        number = constant(F32, value).node
        return Lowered(Call(conversion(type_, F32), (number,), type_), type_)
    if type_.is_float:
        finite = value - value == 0
        return Lowered(Const(float(value), type_ if finite else F32), type_)
    number = int(value)
    bounds = (number, number)
    if number == I64.range[0]:
        return Lowered(Const(number, I64), type_, bounds)
    if is_inside(bounds, I32):
        return Lowered(Const(number, I32), type_, bounds)
    if type_.kind == "uint":
        return Lowered(Const(number, U32 if is_inside(bounds, U32) else U64), type_, bounds)
    return Lowered(Const(number, I64), type_, bounds)


def loaded(type_: ScalarType, node: Expr) -> Lowered:
    """An element or a variable: any value of its type."""
    return Lowered(node, type_, whole(type_))


def explicit(value: Lowered, type_: ScalarType) -> Lowered:
    """``(type)value``; a literal gets a suffix where that does it."""
    if value.ctype == type_:
        return value
    kept = not value.ctype.is_float and is_inside(value.bounds, type_)
    bounds = value.bounds if kept else whole(type_)
    number = number_of(value.node)
    if type_ == U32 and kept and number is not None and value.ctype in {I32, I64}:
        return replace(value, node=Const(number, U32), bounds=bounds)
    return replace(value, node=Cast(type_, value.node), bounds=bounds)


def in_unsigned(value: Lowered) -> Lowered:
    """The value as an unsigned number of its width, or of ``int``'s: these wrap in C."""
    return explicit(value, U32 if value.type.bits <= U32.bits else U64)


def exact(value: Lowered) -> Lowered:
    """The value itself, not only one congruent to it: cast back where they may differ."""
    return value if value.is_exact else explicit(value, value.type)


def convert(value: Lowered) -> Lowered:
    """A float whose conversion C has not made yet, converted now; integers as they are."""
    return explicit(value, value.type) if value.type.is_float else value


def common_type(*values: Lowered) -> ScalarType:
    """C's usual arithmetic conversions."""
    result = promote_c(values[0].ctype, values[0].ctype)
    for value in values[1:]:
        result = promote_c(result, value.ctype)
    return result


def is_simple(node: Expr) -> bool:
    """Whether repeating it costs a reader nothing: a name or a literal."""
    match node:
        case Var() | Const():
            return True
        case Unary(sign="-", operand=operand):
            return isinstance(operand, Var)
        case Foreign(text=text):
            return text.isidentifier()
        case _:
            return False


def is_plain_number(node: Expr) -> bool:
    """Whether it is a literal that has no sign and no suffix."""
    return is_number(node) and (number_of(node) or 0) >= 0 and node.type in {I32, I64}
