"""Strip-mining of vector loops, with buffers of their values between one loop and the next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary, Call, Index, Symbol, Var, minus, number, plus
from polyopt.codegen.ast.nodes import Assign, Block, Buffer, For, Node, Scalar, Simd
from polyopt.codegen.ast.subscripts import with_offset
from polyopt.codegen.helpers.arithmetic import helper_name
from polyopt.ir.types import I64

if TYPE_CHECKING:
    from polyopt.codegen.ast.expr import Expr
    from polyopt.ir.types import ScalarType


@dataclass(frozen=True, eq=False)
class StripMinedLoop:
    """A loop over ``start <= x < end``, for strips of so many iterations of a vector loop."""

    loop: For
    length: int
    start: Symbol
    end: Symbol
    #: the first value of the iterator that is not run
    past: Expr

    def place(self, behind: int = 0) -> Expr:
        """The subscript of an iteration in a buffer of the strip, ``behind`` other elements."""
        return plus(Binary("-", Var(self.loop.iterator), Var(self.start)), behind)

    @property
    def is_first(self) -> Expr:
        """Whether a strip is the first of the loop."""
        return Binary("==", Var(self.start), self.loop.start)

    @property
    def is_last(self) -> Expr:
        """Whether a strip is the last of the loop."""
        return Binary("==", Var(self.end), self.past)

    @property
    def count(self) -> Expr:
        """The iterations of a strip."""
        return minus(Var(self.end), Var(self.start))

    def buffer(self, hint: str, type_: ScalarType, before: int = 0) -> Buffer:
        """One element for each iteration of a strip, and so many ``before``."""
        return Buffer(Symbol(hint, type_), (number(before + self.length),))

    def element(self, buffer: Buffer, behind: int = 0) -> Index:
        """An iteration's element of a buffer."""
        return Index(buffer.symbol, (self.place(behind),))

    def vector(self, *body: Node) -> For:
        """A vector loop over one strip."""
        condition = Binary("<", Var(self.loop.iterator), Var(self.end))
        kind = self.loop.kind
        # strips are too short for loads of whole vectors alone
        kind = replace(kind, lanes=0) if isinstance(kind, Simd) else kind
        start = Var(self.start)
        return replace(self.loop, start=start, condition=condition, body=Block(body), kind=kind)

    def around(self, *body: Node, buffers: tuple[Buffer, ...]) -> For:
        """The loop over strips."""
        next_ = plus(Var(self.start), self.length)
        past = Call(helper_name("min", I64), (next_, self.past), I64)
        end = Assign(Var(self.end), past, declares=True, constant=True)
        whole = Block((end, *body), buffers)
        test = self.loop.test_at(Var(self.start))
        return For(self.start, self.loop.start, test, self.length, whole)


def strips_of(loop: For, length: int) -> StripMinedLoop | None:
    """Strips of a vector loop; ``None`` where it is none, or its iterations depend on others."""
    is_free = isinstance(loop.kind, Simd) and not loop.kind.width
    return _strips(loop, length) if is_free else None


def sequential_strips(loop: For, length: int, least: int) -> StripMinedLoop | None:
    """Strips of a loop whose iterations wait for each other; ``None`` of others, and of those that
    are known to have fewer iterations than the ``least`` that is worth it."""
    span = span_of(loop)
    waits = loop.is_sequential or isinstance(loop.kind, Scalar)
    return _strips(loop, length) if waits and (span is None or span >= least) else None


def _strips(loop: For, length: int) -> StripMinedLoop | None:
    past = past_of(loop)
    if loop.step != 1 or past is None:
        return None
    start, end = (Symbol(f"{loop.iterator.hint}_{name}", I64) for name in ("strip", "end"))
    return StripMinedLoop(loop, length, start, end, past)


def past_of(loop: For) -> Expr | None:
    """The first value that a loop is not run for; ``None`` where its condition does not say."""
    match loop.condition:
        case Binary(sign="<" | "<=" as sign, left=Var(symbol=loop.iterator), right=right):
            return right if sign == "<" else plus(right, 1)
        case _:
            return None


def span_of(loop: For) -> int | None:
    """How far the start of a loop is from its end; ``None`` where no constant tells."""
    past = past_of(loop)
    if past is None:
        return None
    (one, first), (two, end) = with_offset(loop.start), with_offset(past)
    return end - first if one == two else None
