"""Kinds of numbers in the Python frontends, and Python's operators on those that are affine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.errors import UnsupportedError
from polyopt.isl import affine_constant, constant_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.ir.expr import Expr
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff, Set


@dataclass(frozen=True, eq=False)
class Number:
    """A Python number that is known: a literal, or a constant of the surrounding program."""

    value: int | float


@dataclass(frozen=True, eq=False)
class Form:
    """A weak integer, affine in iterators and sizes."""

    #: { [i] -> [value] }
    form: PwAff


@dataclass(frozen=True, eq=False)
class Where:
    """A weak truth value: an affine condition on iterators and sizes."""

    #: { [i] : condition }
    where: Set


@dataclass(frozen=True, eq=False)
class Weak:
    """A Python number computed at run time, of type ``i64``, ``f64`` or ``bool``."""

    expr: Expr


@dataclass(frozen=True, eq=False)
class Strong:
    """A NumPy scalar of a machine type."""

    expr: Expr
    #: of a half that was computed, the f32 that it is rounded from: what computes on takes this,
    #: so that halves are rounded where they are stored
    unrounded: Expr | None = None


class Compound(ABC):
    """A NumPy number of several parts, with operations of its own.

    What takes it for a single expression raises ``UnsupportedError``.
    """

    @property
    @abstractmethod
    def kind(self) -> ScalarType:
        """The type of such numbers."""

    @property
    def expr(self) -> Expr:
        """None: raises ``UnsupportedError``."""
        raise UnsupportedError(f"a number of type {self.kind.numpy_name} is not taken here")

    @abstractmethod
    def binary(self, op: str, one: Value, other: Value) -> Value:
        """``values.binary`` where this is one of the operands."""

    @abstractmethod
    def compare(self, op: str, one: Value, other: Value) -> Value:
        """``values.compare`` where this is one of the operands."""

    @abstractmethod
    def select(self, cond: Value, then: Value, other: Value) -> Value:
        """``values.select`` where this is one of the choices."""

    @abstractmethod
    def mapped(self, change: Callable[[Value], Value]) -> Compound:
        """The number with its parts changed."""


Value = Number | Form | Where | Weak | Strong | Compound


def affine_binary(op: str, one: PwAff, other: PwAff) -> PwAff | None:
    """``{ [i] -> [one op other] }``; nothing where it is not affine."""
    match op:
        case "add":
            return one.add(other)
        case "sub":
            return one.sub(other)
        case "min":
            return one.min(other)
        case "max":
            return one.max(other)
        case "mul":
            known = constant_value(one) is not None or constant_value(other) is not None
            return one.mul(other) if known else None
        case "floordiv" | "mod":
            return _affine_division(op, one, other)
        case "shl" | "shr":
            return _affine_shift(op, one, other)
        case _:
            return None


def _affine_division(op: str, one: PwAff, other: PwAff) -> PwAff | None:
    divisor = constant_value(other)
    if not divisor:
        return None
    quotient = one.div(other).floor()
    return quotient if op == "floordiv" else one.sub(quotient.mul(other))


def _affine_shift(op: str, one: PwAff, other: PwAff) -> PwAff | None:
    bits = constant_value(other)
    if bits is None or not 0 <= bits < 63:
        return None
    factor = affine_constant(other.get_domain_space(), 1 << bits)
    return one.mul(factor) if op == "shl" else one.div(factor).floor()
