"""Elements that are read across the rows in which they lie change places in vector registers.

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

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.chelpers import helper_name
from polyopt.codegen.ctext import ADD, precedence_of, with_name
from polyopt.codegen.loops import (
    Assign,
    Block,
    Buffer,
    Call,
    For,
    Node,
    loops_in,
    types_in,
    with_loops,
)
from polyopt.codegen.names import names_in, renamed
from polyopt.codegen.squares import SIDE
from polyopt.codegen.strips import named, plain
from polyopt.codegen.subscripts import moving, parts
from polyopt.ir.types import F32

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.types import ScalarType


@dataclass(frozen=True)
class _Across:
    """An element by its name's text: where the square that it is in starts, and its step."""

    first: str
    step: str


def transpose(block: Block, types: Mapping[str, ScalarType], taken: set[str]) -> Block:
    """The block with such elements transposed in registers.

    ``types`` are those of arrays and buffers; ``taken`` are names that mean something else, and
    those of the new variables are added.
    """
    taken |= {loop.iterator for loop in loops_in(block)}
    known = types_in(block, types)
    return with_loops(block, lambda loop: _square(loop, known, taken))


def _square(outer: For, types: Mapping[str, ScalarType], taken: set[str]) -> Block | None:
    """Two loops with their elements transposed; ``None`` where there are none."""
    inner = _only(outer.body)
    if not isinstance(inner, For) or inner.mark != "vector" or inner.width or outer.mark:
        return None
    columns, rows = _length(outer), _length(inner)
    assigns = plain(inner.body)
    if assigns is None or len(assigns) != 1 or not 1 < min(rows, columns) <= SIDE:
        return None
    (assign,) = assigns
    if max(rows, columns) > SIDE or outer.iterator in names_in(f"{inner.start} {inner.condition}"):
        return None
    found: dict[str, _Across] = {}
    for buffer, text in assign.loads:
        across = _across(text, outer, inner)
        if across is not None and types.get(buffer) == F32 and buffer != assign.buffer:
            found[text] = across
    if not found or types.get(assign.buffer) != F32:
        return None
    return (
        _copied(outer, inner, assign, found)
        or _before(outer, inner, assign, found, taken)
        or _after(outer, inner, assign, found, taken)
    )


def _copied(outer: For, inner: For, assign: Assign, found: Mapping[str, _Across]) -> Block | None:
    """A square that is only copied, put where it belongs."""
    source = found.get(assign.value)
    # the target seen from the other side: its rows are what the inner loop walks
    target = _across(assign.target, inner, outer)
    if source is None or target is None:
        return None
    return Block((_call(source, target, outer, inner),))


def _before(
    outer: For, inner: For, assign: Assign, found: Mapping[str, _Across], taken: set[str]
) -> Block | None:
    """A square that is computed in the order of what it reads, and then put where it belongs."""
    target = _across(assign.target, inner, outer)
    others = [text for _, text in assign.loads if text not in found]
    if target is None or not all(_walks(text, outer.iterator) for text in others):
        return None
    name = named(f"{names_in(next(iter(found)))[0]}_square", taken)
    square = Buffer(name, F32, (str(_length(inner)), str(SIDE)), heap=False)
    element = name + _places(inner, outer)
    made = replace(assign, target=element, buffer=name)
    rows = replace(
        inner, mark="", body=Block((replace(outer, mark="vector", body=Block((made,))),))
    )
    call = _call(_Across(f"{name}[0][0]", str(SIDE)), target, outer, inner)
    return Block((rows, call), (square,), scoped=True)


def _walks(text: str, iterator: str) -> bool:
    """Whether an element stays the same as a loop goes on, or is the next of its row."""
    *rows, last = parts(text)[1] or [text]
    still = all(iterator not in names_in(s) for s in rows)
    return still and (iterator not in names_in(last) or moving(last, iterator) == 1)


def _after(
    outer: For, inner: For, assign: Assign, found: Mapping[str, _Across], taken: set[str]
) -> Block:
    """A square that something is computed from once its elements have changed places."""
    calls: list[Node] = []
    buffers: list[Buffer] = []
    places = _places(outer, inner)
    for text, source in found.items():
        name = named(f"{names_in(text)[0]}_across", taken)
        buffers.append(Buffer(name, F32, (str(_length(outer)), str(SIDE)), heap=False))
        calls.append(_call(source, _Across(f"{name}[0][0]", str(SIDE)), outer, inner))
        assign = replace(
            assign,
            value=with_name(assign.value, text, name + places),
            locals=tuple(
                replace(one, value=with_name(one.value, text, name + places))
                for one in assign.locals
            ),
            loads=tuple((name, name + places) if t == text else (b, t) for b, t in assign.loads),
        )
    inner = replace(inner, body=replace(inner.body, body=(assign,)))
    whole = replace(outer, body=replace(outer.body, body=(inner,)))
    return Block((*calls, whole), tuple(buffers), scoped=True)


def _places(*loops: For) -> str:
    """The subscripts of an iteration in a square's buffer."""
    return "".join(
        f"[{loop.iterator if loop.start == '0' else f'{loop.iterator} - {_operand(loop.start)}'}]"
        for loop in loops
    )


def _call(source: _Across, target: _Across, outer: For, inner: For) -> Call:
    sizes = str(_length(inner)), str(_length(outer))
    name = helper_name("transposed", F32)
    return Call(name, (f"&{source.first}", source.step, f"&{target.first}", target.step, *sizes))


def _across(text: str, along: For, over: For) -> _Across | None:
    """The element that a text names, if its row is walked along one loop and left by another."""
    name, subscripts = parts(text)
    if len(subscripts) < 2:
        return None
    last = moving(subscripts[-1], along.iterator)
    moved = [k for k, s in enumerate(subscripts[:-1]) if over.iterator in names_in(s)]
    if last != 1 or len(moved) != 1 or over.iterator in names_in(subscripts[-1]):
        return None
    if any(along.iterator in names_in(s) for s in subscripts[:-1]):
        return None
    factor = moving(subscripts[moved[0]], over.iterator)
    if factor is None:
        return None
    at = {loop.iterator: _operand(loop.start) for loop in (along, over)}
    first = name + "".join(f"[{_simple(renamed(s, at))}]" for s in subscripts)
    row = f"sizeof({name}{'[0]' * (moved[0] + 1)}) / sizeof(float)"
    return _Across(first, row if factor == 1 else f"{factor} * {row}")


def _simple(text: str) -> str:
    """A subscript without parentheses around the whole of it, and without what is zero."""
    whole = re.fullmatch(r"\(([^()]*)\)(?: - (.*))?", text)
    if whole is not None and whole[1] == whole[2] and precedence_of(whole[1]) > ADD:
        return "0"
    text = whole[1] if whole and whole[2] is None else text
    return re.sub(r"^0 \+ ", "", text)


def _operand(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"


def _only(block: Block) -> Node | None:
    """The one node in a block that declares nothing."""
    if block.buffers or len(block.body) != 1:
        return None
    (node,) = block.body
    return _only(node) if isinstance(node, Block) else node


def _length(loop: For) -> int:
    """The iterations of a loop where its text tells them; else 0."""
    bound = re.fullmatch(rf"{loop.iterator} <= (.*)", loop.condition)
    if bound is None or loop.step != 1:
        return 0
    if re.fullmatch(r"-?\d+", bound[1]) and re.fullmatch(r"-?\d+", loop.start):
        return int(bound[1]) - int(loop.start) + 1
    rest = bound[1].removeprefix(f"{loop.start} + ")
    return int(rest) + 1 if rest != bound[1] and rest.isdigit() else 0
