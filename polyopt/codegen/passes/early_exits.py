"""Branches on superword conditions before early exits: a search goes on by whole vectors.

rewrite: ``int j = 0; for (; j < m; j++) if (t < a[i][j]) { first[i] = j; break; }`` ->

    int j = 0;
    for (; j < m && m - j >= 64; j += 64) {
        int32_t found = 0;
        simd for (int64_t k = j; k < j + 64; k++) found = found | t < a[i][k];
        if (found != 0) break;
    }
    for (; j < m; j++) if (t < a[i][j]) { first[i] = j; break; }

A compiler has to read one element after the other: it does not know that those behind the one that
is found may be read. We do: an array has elements up to its extent, and the loop ends there.

*Requires* a loop up to the extent of each dimension that its counter is a subscript of, and a body
that does nothing but test, and leave.

*Does not handle* tests that may fail for elements behind the one that is found: integer arithmetic,
and calls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import (
    TRUTHS,
    Binary,
    Cast,
    Const,
    Index,
    Symbol,
    Var,
    number,
    scalar,
)
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    For,
    Function,
    If,
    Jump,
    Node,
    Opaque,
    Simd,
    While,
    as_block,
    rebuilt,
)
from polyopt.codegen.ast.visit import elements_in, substitute
from polyopt.codegen.passes.superword_branches import STRIP
from polyopt.ir.types import I32, I64

if TYPE_CHECKING:
    from polyopt.codegen.ast.expr import Expr


def early_exits(function: Function) -> Function:
    """The function with early exits that are looked for by whole vectors."""
    parameters = [*function.arguments, *(p for task in function.tasks for p in task.parameters)]
    lengths = {p.symbol: p.extents for p in parameters if p.extents}
    search = _Searches(lengths)
    return function.with_bodies(lambda body: as_block(search.node(body)))


@dataclass(frozen=True)
class _Searches:
    #: the extents of arguments
    lengths: dict[Symbol, tuple[Expr, ...]]

    def node(self, node: Node) -> Node:
        """A node with vectors before its early exits."""
        match node:
            case Opaque(body=body):
                return Opaque(as_block(self.node(body)))
            case Block(body=parts):
                made: list[Node] = []
                for before, part in zip((None, *parts), parts, strict=False):
                    ahead = self._ahead(before, part) if isinstance(part, While) else None
                    made += [self.node(part)] if ahead is None else [ahead, part]
                return replace(node, body=tuple(made))
            case While(body=body):
                return replace(node, body=as_block(self.node(body)))
            case _:
                return rebuilt(node, self.node)

    def _ahead(self, before: Node | None, loop: While) -> While | None:
        """What skips strips in which nothing is found; ``None`` before other loops."""
        match before, loop.condition:
            case (
                Assign(target=Var(symbol=counter), value=Const(value=int() as first)),
                Binary(sign="<", left=Var(symbol=compared), right=end),
            ) if counter is compared and first >= 0 and not loop.last:
                pass
            case _:
                return None
        step = Assign(Var(counter), Binary("+", Var(counter), number(1)))
        test = _test(loop.body)
        if loop.step != (step,) or test is None or counter in end.symbols:
            return None
        if not _cannot_fail(test) or not self._are_there(test, counter, end):
            return None
        # where the loop does not start, what is left of it may be less than any number
        left = Binary(">=", Binary("-", end, Var(counter)), number(STRIP))
        return _strips(counter, Binary("&&", loop.condition, left), test)

    def _are_there(self, test: Expr, counter: Symbol, end: Expr) -> bool:
        """Whether each element that the test loads is there up to the loop's end; one at least
        moves with the counter."""
        while isinstance(end, Cast) and not end.kind.is_float:
            end = end.operand  # never more than what is cast: sizes are not negative
        moves = False
        for element in elements_in(test):
            if counter not in element.symbols:
                continue
            if not isinstance(element, Index) or element.array not in self.lengths:
                return False
            extents = self.lengths[element.array]
            for subscript, extent in zip(element.subscripts, extents, strict=True):
                if counter in subscript.symbols and (subscript != Var(counter) or extent != end):
                    return False
            moves = True
        return moves


def _test(body: Block) -> Expr | None:
    """The condition of a body that does nothing but leave where it holds."""
    match body.body:
        case (If(condition=condition, then=Block(body=(*_, Jump(word="break"))), other=None),):
            return None if body.buffers else condition
        case _:
            return None


def _cannot_fail(test: Expr) -> bool:
    """Whether a comparison is defined for all values of its elements."""
    if not isinstance(test, Binary) or test.sign not in TRUTHS - {"&&", "||"}:
        return False
    waiting = [test.left, test.right]
    while waiting:
        match waiting.pop():
            case Index() | Var() | Const():
                pass
            case Cast(kind=kind, operand=operand) if kind.is_float:
                waiting.append(operand)
            case Binary(sign="+" | "-" | "*", left=left, right=right) as sum_ if scalar(
                sum_.type
            ).is_float:
                waiting += [left, right]
            case _:
                return False
    return True


def _strips(counter: Symbol, is_whole: Expr, test: Expr) -> While:
    """Strips from the counter on, up to the first in which the test holds, or that is not whole."""
    lane, found = Symbol(f"{counter.hint}_ahead", I64), Symbol("found", I32)
    past = Binary("+", Var(counter), number(STRIP))
    either = Binary("|", Var(found), substitute(test, {Var(counter): Var(lane)}))
    tested = For(
        lane,
        Var(counter),
        Binary("<", Var(lane), past),
        1,
        Block((Assign(Var(found), either),)),
        Simd(sums=(("|", found),)),
    )
    leave = If(Binary("!=", Var(found), number(0)), Block((Jump("break"),)))
    body = Block((Assign(Var(found), number(0), declares=True), tested, leave), scoped=True)
    return While(is_whole, body, (Assign(Var(counter), past),))
