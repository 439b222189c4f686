"""Expressions of the C tree: the type of each follows by C's own conversions.

A node is equal to another one of the same form; a symbol only to itself. What symbols are called,
and where parentheses stand, is the printer's business (``printers/c_expr.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polyopt.ir.types import I32, I64, U64, ScalarType, promote_c


@dataclass(frozen=True)
class Vector:
    """The C type of so many lanes of a scalar type (``printers/headers.py`` declares it)."""

    element: ScalarType
    lanes: int

    @property
    def c_name(self) -> str:
        """``f32x16``."""
        return f"{self.element.name}x{self.lanes}"


CType = ScalarType | Vector


@dataclass(frozen=True, eq=False)
class Symbol:
    """A variable, an array, a buffer or an iterator of C, by identity.

    ``hint`` is what it is called where nothing else is; a local without one is numbered. ``type``
    is that of its elements.
    """

    hint: str
    type: CType
    #: what of the program it stands for: a loop, an array, a size
    origin: str = ""


class Expr:
    """Base of all expressions. Nodes are compared by form; their hashes are kept."""

    @cached_property
    def type(self) -> CType:
        """The type that C gives the value."""
        raise NotImplementedError

    @property
    def children(self) -> tuple[Expr, ...]:
        """The operands, in the order in which they are written."""
        return ()

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        """The same node over other operands."""
        del children
        return self

    @property
    def own_symbols(self) -> tuple[Symbol, ...]:
        """The symbols that the node itself names."""
        return ()

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """Every symbol in the expression."""
        return frozenset(self.own_symbols).union(*(child.symbols for child in self.children))

    @cached_property
    def _key(self) -> tuple[object, ...]:
        fields: tuple[str, ...] = getattr(self, "__match_args__", ())
        return (type(self), *(getattr(self, name) for name in fields))

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        """Whether both are of one form, over the same symbols."""
        if self is other:
            return True
        if not isinstance(other, Expr) or self._hash != other._hash:
            return False
        return self._key == other._key

    def __hash__(self) -> int:
        """A hash of the form."""
        return self._hash


@dataclass(frozen=True, eq=False)
class Const(Expr):
    """A literal, of the type that C gives it: ``int`` where that holds it."""

    value: int | float
    kind: ScalarType

    @cached_property
    def type(self) -> CType:
        """The literal's own."""
        return self.kind

    @cached_property
    def _key(self) -> tuple[object, ...]:
        return (Const, repr(self.value), self.kind)  # -0.0 is not 0.0, and nan is nan


@dataclass(frozen=True, eq=False)
class Var(Expr):
    """A variable; an array or a buffer as a whole, as an argument."""

    symbol: Symbol

    @cached_property
    def type(self) -> CType:
        """The variable's, or of what the array holds."""
        return self.symbol.type

    @property
    def own_symbols(self) -> tuple[Symbol, ...]:
        return (self.symbol,)


@dataclass(frozen=True, eq=False)
class Index(Expr):
    """``array[i][j]``: an element, or with fewer subscripts than extents a row."""

    array: Symbol
    subscripts: tuple[Expr, ...]

    @cached_property
    def type(self) -> CType:
        """The element's."""
        return self.array.type

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.subscripts

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Index(self.array, children)

    @property
    def own_symbols(self) -> tuple[Symbol, ...]:
        return (self.array,)


@dataclass(frozen=True, eq=False)
class Deref(Expr):
    """``*pointer``: the one element of an argument without dimensions."""

    pointer: Symbol

    @cached_property
    def type(self) -> CType:
        """The element's."""
        return self.pointer.type

    @property
    def own_symbols(self) -> tuple[Symbol, ...]:
        return (self.pointer,)


@dataclass(frozen=True, eq=False)
class Foreign(Expr):
    """A piece of the user's own C: ``p->data[{0}]``, with ``{0}`` for the text of an operand.

    ``{(0)}`` is the operand next to an operator. ``level`` is the precedence of the whole.
    """

    text: str
    kind: ScalarType
    level: int
    operands: tuple[Expr, ...] = ()
    #: the array that it is an element of
    array: Symbol | None = None

    @cached_property
    def type(self) -> CType:
        """What the surroundings declare."""
        return self.kind

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.operands

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Foreign(self.text, self.kind, self.level, children, self.array)

    @property
    def own_symbols(self) -> tuple[Symbol, ...]:
        return (self.array,) if self.array is not None else ()


@dataclass(frozen=True, eq=False)
class Unary(Expr):
    """``-x``, ``~x`` or ``!x``."""

    sign: str
    operand: Expr

    @cached_property
    def type(self) -> CType:
        """The promoted operand's; ``int`` of ``!``."""
        return I32 if self.sign == "!" else conversion(self.operand.type, self.operand.type)

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Unary(self.sign, *children)


#: operators whose result is 0 or 1
TRUTHS = frozenset({"<", "<=", ">", ">=", "==", "!=", "&&", "||"})
SHIFTS = frozenset({"<<", ">>"})


@dataclass(frozen=True, eq=False)
class Binary(Expr):
    """``left sign right`` for C's operators of two operands."""

    sign: str
    left: Expr
    right: Expr

    @cached_property
    def type(self) -> CType:
        """By the usual arithmetic conversions (C17, 6.3.1.8); ``int`` of comparisons."""
        if self.sign in TRUTHS:
            return I32
        other = self.left if self.sign in SHIFTS else self.right
        return conversion(self.left.type, other.type)

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.left, self.right)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Binary(self.sign, *children)


@dataclass(frozen=True, eq=False)
class Select(Expr):
    """``test ? yes : no``."""

    test: Expr
    yes: Expr
    no: Expr

    @cached_property
    def type(self) -> CType:
        """The common type of both results, whichever is taken."""
        return conversion(self.yes.type, self.no.type)

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.test, self.yes, self.no)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Select(*children)


@dataclass(frozen=True, eq=False)
class Cast(Expr):
    """``(kind)operand``."""

    kind: ScalarType
    operand: Expr

    @cached_property
    def type(self) -> CType:
        """The type that is written."""
        return self.kind

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Cast(self.kind, *children)


@dataclass(frozen=True, eq=False)
class Call(Expr):
    """``function(arguments)``: of the C library or a helper, whose result is of type ``kind``."""

    function: str
    arguments: tuple[Expr, ...]
    kind: CType

    @cached_property
    def type(self) -> CType:
        """The function's result."""
        return self.kind

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.arguments

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Call(self.function, children, self.kind)


@dataclass(frozen=True, eq=False)
class Run(Expr):
    """``task(arguments)``: a call of a function of the same file, which has no result."""

    task: Symbol
    arguments: tuple[Expr, ...]

    @cached_property
    def type(self) -> CType:
        """As an integer would be: it has no value."""
        return I64

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.arguments

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Run(self.task, children)

    @property
    def own_symbols(self) -> tuple[Symbol, ...]:
        return (self.task,)


@dataclass(frozen=True, eq=False)
class VectorAt(Expr):
    """``*(f32x16_at *)&element``: the vector that starts there, wherever in memory that is."""

    vector: Vector
    element: Expr

    @cached_property
    def type(self) -> CType:
        """The vector's."""
        return self.vector

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.element,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return VectorAt(self.vector, *children)


@dataclass(frozen=True, eq=False)
class Zeros(Expr):
    """``{0}``: a vector of zeros, where one is declared."""

    vector: Vector

    @cached_property
    def type(self) -> CType:
        """The vector's."""
        return self.vector


@dataclass(frozen=True, eq=False)
class AddressOf(Expr):
    """``&element``."""

    element: Expr

    @cached_property
    def type(self) -> CType:
        """As an integer would be: no arithmetic is done on it."""
        return I64

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.element,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return AddressOf(*children)


@dataclass(frozen=True, eq=False)
class SizeOf(Expr):
    """``sizeof(operand)``, or of a type."""

    operand: Expr | None
    of: ScalarType | None = None

    @cached_property
    def type(self) -> CType:
        """``size_t``."""
        return U64

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.operand,) if self.operand is not None else ()

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return SizeOf(children[0], self.of) if children else self


def conversion(one: CType, other: CType) -> CType:
    """C's usual arithmetic conversions; what is done to a vector is done to each lane of it."""
    if isinstance(one, Vector):
        return one
    return other if isinstance(other, Vector) else promote_c(one, other)


def scalar(type_: CType) -> ScalarType:
    """A type, or that of each lane of a vector."""
    return type_.element if isinstance(type_, Vector) else type_


# -- small expressions ----------------------------------------------------------------------------


def number(value: int) -> Const:
    """An integer literal, of the type that C gives it: ``int`` where that holds it.

    C has no negative literals: the operand of the sign has to fit.
    """
    return Const(value, I32 if abs(value) <= I32.range[1] else I64)


def is_number(expr: Expr) -> bool:
    """Whether it is an integer literal."""
    return isinstance(expr, Const) and not expr.kind.is_float


def number_of(expr: Expr) -> int | None:
    """The value of an integer literal."""
    return int(expr.value) if isinstance(expr, Const) and not expr.kind.is_float else None


def is_negative(expr: Expr) -> bool:
    """Whether its text begins with a minus sign."""
    match expr:
        case Const(value=value, kind=kind):
            return str(value).startswith("-") or (kind.is_float and repr(value).startswith("-"))
        case Unary(sign=sign):
            return sign == "-"
        case Binary(left=left):
            return is_negative(left)
        case Select(test=test):
            return is_negative(test)
        case _:
            return False


def plus(left: Expr, by: int) -> Expr:
    """``left + by``, with the sign that ``by`` has and no sum of two literals."""
    known = number_of(left)
    if known is not None:
        return number(known + by)
    if isinstance(left, Binary) and left.sign in {"+", "-"} and is_number(left.right):
        value = number_of(left.right) or 0
        by += value if left.sign == "+" else -value
        left = left.left
    return Binary("+" if by > 0 else "-", left, number(abs(by))) if by else left


def minus(left: Expr, right: Expr) -> Expr:
    """``left - right``, without what is zero."""
    if number_of(right) == 0:
        return left
    one, two = number_of(left), number_of(right)
    return number(one - two) if one is not None and two is not None else Binary("-", left, right)


def product(factors: tuple[Expr, ...]) -> Expr:
    """A product of at least one factor, from the left."""
    result, *rest = factors
    for factor in rest:
        result = Binary("*", result, factor)
    return result


def total(terms: tuple[Expr, ...]) -> Expr:
    """A sum of at least one term, from the left."""
    result, *rest = terms
    for term in rest:
        result = Binary("+", result, term)
    return result


def joined(sign: str, left: Expr, right: Expr) -> Expr:
    """``left sign right`` of an operator that is associative, from the left: no parentheses."""
    if isinstance(right, Binary) and right.sign == sign:
        return Binary(sign, joined(sign, left, right.left), right.right)
    return Binary(sign, left, right)
