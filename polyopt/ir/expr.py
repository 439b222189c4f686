"""What a statement computes: typed, immutable expression nodes.

Operands of one operation have one type; frontends insert the casts that their language's rules
ask for. Integer operations wrap modulo 2^bits. Build with the functions of ``ir.build``: they
fold constants and bring equal computations into one form.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.ir.types import BOOL, I64, ScalarType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from polyopt.isl import PwAff, PwMultiAff, Set
    from polyopt.source import Span

#: ``div`` and ``mod`` truncate as in C; ``floordiv`` and ``floormod`` round down as in Python.
BINARY_OPS = (
    "add", "sub", "mul", "div", "mod", "floordiv", "floormod", "min", "max",
    "and", "or", "xor", "shl", "shr",
)  # fmt: skip
COMPARE_OPS = ("lt", "le", "eq", "ne")
UNARY_OPS = ("neg", "not")
#: Pure math functions and their number of arguments, named as in C's ``math.h`` for doubles.
FUNCTIONS = {
    "sqrt": 1, "exp": 1, "exp2": 1, "log": 1, "log2": 1, "sin": 1, "cos": 1, "tan": 1, "tanh": 1,
    "erf": 1, "fabs": 1, "floor": 1, "ceil": 1, "trunc": 1, "round": 1, "rint": 1, "pow": 2,
    "fmod": 2, "atan2": 2, "abs": 1,
}  # fmt: skip
#: those that are instructions, of vectors too: the others are code with branches
INSTRUCTIONS = frozenset({"sqrt", "fabs", "abs", "floor", "ceil", "trunc", "rint"})


@dataclass(frozen=True, eq=False)
class Expr:
    """Base of all nodes; ``type`` is the type of the value."""

    type: ScalarType

    @property
    def children(self) -> tuple[Expr, ...]:
        """The operands, in evaluation order."""
        return ()

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        """The same node over other operands."""
        del children
        return self


@dataclass(frozen=True, eq=False)
class Const(Expr):
    """A literal: an ``int`` for integer and bool types, a ``float`` for floating ones."""

    value: int | float


@dataclass(frozen=True, eq=False)
class Affine(Expr):
    """A quasi-affine integer expression of the statement's iterators and the parameters."""

    #: { S[i] -> [value] }
    form: PwAff


@dataclass(frozen=True, eq=False)
class Inside(Expr):
    """Truth of membership: an affine condition on iterators and parameters; of type bool."""

    #: { S[i] : condition }
    where: Set


@dataclass(frozen=True, eq=False)
class Load(Expr):
    """A read ``array[index]``; each index is an ``Affine``, or any integer expression."""

    array: str
    index: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False)

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.index

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, index=children)


@dataclass(frozen=True, eq=False)
class Unary(Expr):
    """``neg`` of a number, ``not`` of a bool (logical) or an integer (bitwise)."""

    op: str
    operand: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, operand=children[0])


@dataclass(frozen=True, eq=False)
class Binary(Expr):
    """One of ``BINARY_OPS`` on two operands of this node's type."""

    op: str
    left: Expr
    right: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.left, self.right)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, left=children[0], right=children[1])


@dataclass(frozen=True, eq=False)
class Compare(Expr):
    """One of ``COMPARE_OPS`` on two operands of one type; of type bool."""

    op: str
    left: Expr
    right: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.left, self.right)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, left=children[0], right=children[1])


@dataclass(frozen=True, eq=False)
class Select(Expr):
    """``cond ? then : other``; only the chosen operand is evaluated (its loads happen)."""

    cond: Expr
    then: Expr
    other: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.cond, self.then, self.other)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, cond=children[0], then=children[1], other=children[2])


@dataclass(frozen=True, eq=False)
class Cast(Expr):
    """Conversion to ``type`` as in C; float to integer truncates, integers wrap."""

    operand: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, operand=children[0])


@dataclass(frozen=True, eq=False)
class Call(Expr):
    """A pure function of ``FUNCTIONS`` at this node's precision."""

    function: str
    args: tuple[Expr, ...]

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, args=children)


@dataclass(frozen=True, eq=False)
class Local(Expr):
    """The value of a local variable of the ``Block`` around."""

    name: str


@dataclass(frozen=True, eq=False)
class RangeHint(Expr):
    """A subscript whose range is known: ``operand`` lies between two bounds."""

    operand: Expr
    #: [N] -> { [bound] }
    low: PwAff
    high: PwAff

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, operand=children[0])


def walk(expr: Expr) -> Iterator[Expr]:
    """All nodes, parents before children, left to right."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def without_subscripts(expr: Expr) -> Iterator[Expr]:
    """A value and its operands, parents before children, without what is in subscripts."""
    yield expr
    if not isinstance(expr, Load):
        for child in expr.children:
            yield from without_subscripts(child)


def loads(expr: Expr) -> list[Load]:
    """The loads in ``walk`` order: position k here is read reference k of the statement."""
    return [node for node in walk(expr) if isinstance(node, Load)]


def rewrite(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """``change`` applied to every node, children first."""
    children = tuple(rewrite(child, change) for child in expr.children)
    if any(new is not old for new, old in zip(children, expr.children, strict=True)):
        expr = expr.with_children(children)
    return change(expr)


def pulled_back(expr: Expr, there: PwMultiAff) -> Expr:
    """An expression of ``{ S[i] }`` as one of ``{ T[j] }``, by ``{ T[j] -> S[i] }``."""

    def moved(node: Expr) -> Expr:
        if isinstance(node, Affine):
            return replace(node, form=node.form.pullback_pw_multi_aff(there))
        if isinstance(node, Inside):
            return replace(node, where=node.where.preimage_pw_multi_aff(there))
        return node

    return rewrite(expr, moved)


def pulled_back_index(index: Iterable[Affine], there: PwMultiAff) -> tuple[Affine, ...]:
    """Subscripts of ``{ S[i] }`` as those of ``{ T[j] }``, by ``{ T[j] -> S[i] }``."""
    return tuple(replace(x, form=x.form.pullback_pw_multi_aff(there)) for x in index)


def same_expr(one: Expr, other: Expr) -> bool:
    """Whether two expressions are the same node by node, affine parts compared by value."""
    if type(one) is not type(other) or one.type != other.type:
        return False
    if isinstance(one, Affine) and isinstance(other, Affine):
        return one.form.is_equal(other.form)
    if isinstance(one, Inside) and isinstance(other, Inside):
        return one.where.is_equal(other.where)
    if payload(one) != payload(other) or len(one.children) != len(other.children):
        return False
    return all(same_expr(a, b) for a, b in zip(one.children, other.children, strict=True))


def payload(expr: Expr) -> object:
    """What tells a node from others of its class over the same operands."""
    match expr:
        case Const():
            return (type(expr.value), repr(expr.value))  # zeros of both signs are two
        case Load():
            return expr.array
        case Unary() | Binary() | Compare():
            return expr.op
        case Call():
            return expr.function
        case Local():
            return expr.name
        case _:
            return None


def index_of(form: PwAff) -> Affine:
    """A subscript: an ``Affine`` of the index type, never folded into a constant."""
    return Affine(I64, form)


def inside(where: Set) -> Inside:
    """The affine condition of being in ``where``."""
    return Inside(BOOL, where)
