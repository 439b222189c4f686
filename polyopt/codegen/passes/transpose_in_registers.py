"""Transposition in registers: elements read across their rows change places in vector registers.

rewrite: ``for (y < 16) for (x < 16) out[y][x] = f(in[x][y]);`` ->

    for (x < 16) for (y < 16) square[x][y] = f(in[x][y]);
    transposed_f32(&square[0][0], 16, &out[0][0], sizeof(out[0]) / sizeof(float), 16, 16);

Compilers gather such elements one by one. Where they are only copied, they are put in their place
at once; where something is read along the other rows as well, it is computed behind the call.

*Requires* two loops of constant length up to a square's side, the inner one in vectors, around one
assignment that does not write what it reads; loads whose last subscript walks the outer loop, and
one other the inner.

*Does not handle* elements of other types than ``float``, and subscripts that data decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import (
    AddressOf,
    Binary,
    Call,
    Expr,
    Index,
    SizeOf,
    Symbol,
    Var,
    minus,
    number,
    number_of,
)
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    Buffer,
    Do,
    For,
    Node,
    Sequential,
    Simd,
    only,
    plain,
    with_loops,
)
from polyopt.codegen.ast.subscripts import coefficient, moves_by
from polyopt.codegen.ast.visit import base_of, subscripts_of, substitute
from polyopt.codegen.helpers.arithmetic import helper_name
from polyopt.codegen.helpers.transpose import SIDE
from polyopt.codegen.passes.strip_mine import span_of
from polyopt.ir.types import F32, I64

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class _Across:
    """Elements by where the square that they are in starts, and its step."""

    first: Expr
    step: Expr


def transpose_in_registers(block: Block) -> Block:
    """The block with such elements transposed in registers."""
    return with_loops(block, _square)


def _square(outer: For) -> Block | None:
    """Two loops with their elements transposed; ``None`` where there are none."""
    inner = only(outer.body)
    if not isinstance(inner, For) or not isinstance(outer.kind, Sequential):
        return None
    if not isinstance(inner.kind, Simd) or inner.kind.width:
        return None
    columns, rows = _length(outer), _length(inner)
    assigns = plain(inner.body)
    if assigns is None or len(assigns) != 1 or not 1 < min(rows, columns) <= SIDE:
        return None
    (assign,) = assigns
    if max(rows, columns) > SIDE or outer.iterator in (
        inner.start.symbols | inner.condition.symbols
    ):
        return None
    found: dict[Expr, _Across] = {}
    for element in assign.loads:
        across = _across(element, outer, inner)
        if across is not None and element.type == F32 and base_of(element) != assign.buffer:
            found[element] = across
    if not found or assign.type != F32:
        return None
    return (
        _copied(outer, inner, assign, found)
        or _before(outer, inner, assign, found)
        or _after(outer, inner, assign, found)
    )


def _copied(outer: For, inner: For, assign: Assign, found: Mapping[Expr, _Across]) -> Block | None:
    """A square that is only copied, put where it belongs."""
    source = found.get(assign.value)
    # the target seen from the other side: its rows are what the inner loop walks
    target = _across(assign.target, inner, outer)
    if source is None or target is None:
        return None
    return Block((_call(source, target, outer, inner),))


def _before(outer: For, inner: For, assign: Assign, found: Mapping[Expr, _Across]) -> Block | None:
    """A square that is computed in the order of what it reads, and then put where it belongs."""
    target = _across(assign.target, inner, outer)
    others = [element for element in assign.loads if element not in found]
    if target is None or not all(_walks(element, outer.iterator) for element in others):
        return None
    square = _buffer(next(iter(found)), "square", inner)
    made = replace(assign, target=Index(square.symbol, _places(inner, outer)))
    column = replace(outer, kind=inner.kind, body=Block((made,)))
    rows = replace(inner, kind=Sequential(), body=Block((column,)))
    call = _call(_start(square), target, outer, inner)
    return Block((rows, call), (square,), scoped=True)


def _buffer(element: Expr, what: str, rows: For) -> Buffer:
    """A square's buffer, called after an array."""
    array = base_of(element)
    assert array is not None
    extents = (number(_length(rows)), number(SIDE))
    return Buffer(Symbol(f"{array.hint}_{what}", F32), extents)


def _start(square: Buffer) -> _Across:
    return _Across(Index(square.symbol, (number(0), number(0))), number(SIDE))


def _walks(element: Expr, iterator: Symbol) -> bool:
    """Whether an element stays the same as a loop goes on, or is the next of its row."""
    subscripts = subscripts_of(element)
    if not subscripts:
        return iterator not in element.symbols
    *rows, last = subscripts
    still = all(iterator not in s.symbols for s in rows)
    return still and coefficient(last, iterator) in {0, 1}


def _after(outer: For, inner: For, assign: Assign, found: Mapping[Expr, _Across]) -> Block:
    """A square that something is computed from once its elements have changed places."""
    calls: list[Node] = []
    buffers: list[Buffer] = []
    places = _places(outer, inner)
    known: dict[Expr, Expr] = {}
    for element, source in found.items():
        square = _buffer(element, "across", outer)
        buffers.append(square)
        calls.append(_call(source, _start(square), outer, inner))
        known[element] = Index(square.symbol, places)
    made = replace(
        assign,
        value=substitute(assign.value, known),
        locals=tuple(replace(one, value=substitute(one.value, known)) for one in assign.locals),
    )
    inner = replace(inner, body=replace(inner.body, body=(made,)))
    whole = replace(outer, body=replace(outer.body, body=(inner,)))
    return Block((*calls, whole), tuple(buffers), scoped=True)


def _places(*loops: For) -> tuple[Expr, ...]:
    """The subscripts of an iteration in a square's buffer."""
    return tuple(minus(Var(loop.iterator), loop.start) for loop in loops)


def _call(source: _Across, target: _Across, outer: For, inner: For) -> Do:
    sizes = number(_length(inner)), number(_length(outer))
    given = (AddressOf(source.first), source.step, AddressOf(target.first), target.step, *sizes)
    return Do(Call(helper_name("transposed", F32), given, I64))


def _across(element: Expr, along: For, over: For) -> _Across | None:
    """Where an element's square is, if its row is walked along one loop and left by another."""
    subscripts = subscripts_of(element)
    if not isinstance(element, Index) or len(subscripts) < 2:
        return None
    *rows, last = subscripts
    moved = [k for k, s in enumerate(rows) if over.iterator in s.symbols]
    if moves_by(last, along.iterator) != 1 or len(moved) != 1 or over.iterator in last.symbols:
        return None
    if any(along.iterator in s.symbols for s in rows):
        return None
    factor = moves_by(rows[moved[0]], over.iterator)
    if factor is None:
        return None
    at: dict[Expr, Expr] = {Var(loop.iterator): loop.start for loop in (along, over)}
    first = Index(element.array, tuple(_simple(s, at) for s in subscripts))
    row = SizeOf(Index(element.array, (number(0),) * (moved[0] + 1)))
    step = Binary("/", row, SizeOf(None, F32))
    return _Across(first, step if factor == 1 else Binary("*", number(factor), step))


def _simple(subscript: Expr, at: dict[Expr, Expr]) -> Expr:
    """A subscript where two loops start, without what is zero."""
    made = substitute(subscript, at)
    match made:
        case Binary(sign="-", left=left, right=right) if left == right:
            return number(0)
        case Binary(sign="+", left=left, right=right) if number_of(left) == 0:
            return right
        case _:
            return made


def _length(loop: For) -> int:
    """The iterations of a loop where its bounds tell them; else 0."""
    return max(0, span_of(loop) or 0) if loop.step == 1 else 0
