"""Expressions as C: names of symbols, literals, and as few parentheses as C and compilers ask for.

Compilers suspect mistakes where operators of some levels meet without parentheses, so these get
more than C needs: operands of shifts, of ``&``, ``^``, ``|``, and of comparisons, and ``&&`` in
``||``.
"""

from __future__ import annotations

import math
from string import Formatter
from typing import TYPE_CHECKING

import numpy as np

from polyopt.codegen.ast.expr import (
    AddressOf,
    Binary,
    Call,
    Cast,
    Const,
    Deref,
    Foreign,
    Index,
    Run,
    Select,
    SizeOf,
    Unary,
    Var,
    VectorAt,
    Zeros,
)
from polyopt.codegen.printers.vocabulary import Vocabulary
from polyopt.errors import InternalError, UnsupportedError
from polyopt.ir.types import F32, I32, I64, U32, U64, ScalarType

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.codegen.ast.expr import Expr, Symbol
    from polyopt.codegen.ast.nodes import Parameter

    #: what a symbol is called
    Names = Callable[[Symbol], str]

#: C's precedence levels, higher binds tighter
PRIMARY, UNARY, MUL, ADD, SHIFT, LESS, EQUAL = 15, 14, 13, 12, 11, 10, 9
AND, XOR, OR, LOGICAL_AND, LOGICAL_OR, TERNARY, ASSIGN = 8, 7, 6, 5, 4, 3, 2

LEVELS = {
    "*": MUL, "/": MUL, "%": MUL, "+": ADD, "-": ADD, "<<": SHIFT, ">>": SHIFT, "<": LESS,
    ">": LESS, "<=": LESS, ">=": LESS, "==": EQUAL, "!=": EQUAL, "&": AND, "^": XOR, "|": OR,
    "&&": LOGICAL_AND, "||": LOGICAL_OR,
}  # fmt: skip


def c_text(expr: Expr, names: Names, words: Vocabulary | None = None) -> str:
    """The expression as C; ``words`` says what is called otherwise, and takes note."""
    return _Printer(names, words or Vocabulary()).text(expr)


def hints(symbol: Symbol) -> str:
    """What a symbol is called for a reader of one expression."""
    return symbol.hint


def declared(parameter: Parameter, names: Names, words: Vocabulary | None = None) -> str:
    """A parameter of a C function: ``const float A[restrict N][N]``."""
    words = words or Vocabulary()
    name = names(parameter.symbol)
    type_ = f"{'const ' * parameter.constant}{words.type(parameter.symbol.type)}"
    if parameter.extents is None:
        return f"{type_} *restrict {name}" if parameter.pointer else f"{type_} {name}"
    first, *rest = (c_text(extent, names, words) for extent in parameter.extents)
    return f"{type_} {name}[restrict {first}]" + "".join(f"[{extent}]" for extent in rest)


class _Printer:
    """Prints expressions over symbols of these names."""

    def __init__(self, names: Names, words: Vocabulary) -> None:
        self.names, self.words = names, words

    def text(self, expr: Expr) -> str:
        """The whole, where any expression may stand."""
        return self._print(expr)[0]

    def at(self, expr: Expr, level: int) -> str:
        """An operand: in parentheses where it binds less tightly than asked."""
        text, own = self._print(expr)
        return text if own >= level else f"({text})"

    def _print(self, expr: Expr) -> tuple[str, int]:
        """The text, and the precedence of its outermost operator."""
        match expr:
            case Const():
                return literal(expr, self.words)
            case Var():
                return self.names(expr.symbol), PRIMARY
            case Index():
                return self._indexed(self.names(expr.array), expr.subscripts), PRIMARY
            case Deref():
                return f"*{self.names(expr.pointer)}", UNARY
            case Foreign():
                return self._foreign(expr), expr.level
            case Unary():
                text = self.at(expr.operand, UNARY)
                # ``--x`` would be another operator
                return expr.sign + (f"({text})" if text.startswith(expr.sign) else text), UNARY
            case Binary():
                return self._binary(expr), LEVELS[expr.sign]
            case Select():
                return self._select(expr), TERNARY
            case Cast():
                return f"({self.words.type(expr.kind)}){self.at(expr.operand, UNARY)}", UNARY
            case _:
                return self._memory(expr)

    def _memory(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Call():
                given = ", ".join(map(self.text, expr.arguments))
                return f"{self.words.function(expr.function)}({given})", PRIMARY
            case Run():
                given = ", ".join(map(self.text, expr.arguments))
                return f"{self.names(expr.task)}({given})", PRIMARY
            case VectorAt():
                return (
                    f"*({self.words.type(expr.vector)}_at *)&{self.at(expr.element, UNARY)}",
                    UNARY,
                )
            case Zeros():
                return "{0}", PRIMARY
            case AddressOf():
                return f"&{self.at(expr.element, UNARY)}", UNARY
            case SizeOf(operand=None, of=ScalarType() as of):
                return f"sizeof({self.words.type(of)})", PRIMARY
            case SizeOf(operand=operand) if operand is not None:
                return f"sizeof({self.text(operand)})", PRIMARY
            case _:
                message = f"no C for {type(expr).__name__}"
                raise InternalError(message)

    def _indexed(self, base: str, subscripts: tuple[Expr, ...]) -> str:
        return base + "".join(f"[{self.text(s)}]" for s in subscripts)

    def _foreign(self, expr: Foreign) -> str:
        text = ""
        for own, slot, _, _ in Formatter().parse(expr.text):
            text += own
            if slot is not None:
                operand = expr.operands[int(slot.strip("()"))]
                text += self.text(operand) if slot.isdecimal() else self.at(operand, UNARY)
        return text

    def _binary(self, expr: Binary) -> str:
        level = LEVELS[expr.sign]
        if level >= ADD:
            left, right = self.at(expr.left, level), self.at(expr.right, level + 1)
        elif level in {LESS, EQUAL}:
            left, right = (self._apart(v, ADD) for v in (expr.left, expr.right))
        elif level in {LOGICAL_AND, LOGICAL_OR}:
            left = self._chained(expr.left, level, EQUAL)
            right = self.at(expr.right, EQUAL)
        else:
            chained = level in {AND, XOR, OR} and _level(expr.left) == level
            left = self.text(expr.left) if chained else self._apart(expr.left, UNARY)
            right = self._apart(expr.right, UNARY)
        return f"{left} {expr.sign} {right}"

    def _chained(self, expr: Expr, level: int, least: int) -> str:
        return self.text(expr) if _level(expr) == level else self.at(expr, least)

    def _apart(self, expr: Expr, level: int) -> str:
        """Compilers suspect that ``!a == b`` was meant for ``!(a == b)``."""
        text = self.at(expr, level)
        return f"({text})" if text.startswith("!") else text

    def _select(self, expr: Select) -> str:
        test = self.at(expr.test, LOGICAL_OR)
        if _level(expr.test) in {AND, XOR, OR}:
            test = f"({test})"
        return f"{test} ? {self.at(expr.yes, LOGICAL_OR)} : {self.at(expr.no, TERNARY)}"


def _level(expr: Expr) -> int:
    match expr:
        case Binary():
            return LEVELS[expr.sign]
        case Foreign():
            return expr.level
        case _:
            return PRIMARY


# -- literals -------------------------------------------------------------------------------------


def literal(const: Const, words: Vocabulary) -> tuple[str, int]:
    """The text that C reads back as exactly this value, of this type; and its precedence.

    Raises ``UnsupportedError`` for a number that its type does not hold.
    """
    if const.kind.is_float:
        return _float(const, words)
    value = int(const.value)
    if const.kind.is_integer and not const.kind.range[0] <= value <= const.kind.range[1]:
        message = f"the code has the number {value}, which {const.kind.bits} bits do not hold"
        raise UnsupportedError(message, hint="compare and count with smaller numbers")
    if (value, const.kind) in _LEAST:
        return words.word(_LEAST[value, const.kind]), PRIMARY
    suffix = "u" if const.kind in {U32, U64} else ""
    return f"{value}{suffix}", UNARY if value < 0 else PRIMARY


#: numbers whose absolute value their type does not hold
_LEAST = {(I32.range[0], I32): "INT32_MIN", (I64.range[0], I64): "INT64_MIN"}


def _float(const: Const, words: Vocabulary) -> tuple[str, int]:
    value = float(const.value)
    sign = "-" if math.copysign(1.0, value) < 0 and not math.isnan(value) else ""
    level = UNARY if sign else PRIMARY
    if not math.isfinite(value):
        return sign + words.word("NAN" if math.isnan(value) else "INFINITY"), level
    text = str(np.float32(abs(value))) if const.kind == F32 else repr(abs(value))
    if not set(text) & set(".e"):
        text += ".0"
    return sign + text + ("f" if const.kind == F32 else ""), level
