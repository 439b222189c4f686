"""A copy's right-hand side over the copy's own dimensions, on the plan's storage.

Inlined operands are put in place of their loads; subscripts of buffers become
``x - offset(t)`` or ``(x - lower) mod fold``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polyopt.ir.block import Block, Put, Repeat, When
from polyopt.ir.build import binary, const
from polyopt.ir.expr import Affine, Expr, Inside, Load, index_of
from polyopt.ir.types import I64
from polyopt.isl import constant_value
from polyopt.transform.storage import quotient
from polyopt.transform.tree import prefix_map

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.ir.block import Action
    from polyopt.ir.scop import Access
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff, PwMultiAff
    from polyopt.transform.program import Program
    from polyopt.transform.storage import Scratch
    from polyopt.transform.tree import Copy


@dataclass(frozen=True, eq=False)
class Hosted:
    """``buffer[index] = value`` with every affine part over the copy: ``{ C[d] -> [e] }``."""

    buffer: str
    index: tuple[Expr, ...]
    value: Expr
    #: parts of the value that took the place of a load, and the array that was loaded from
    inlined: tuple[tuple[Expr, str], ...]

    @property
    def type(self) -> ScalarType:
        """The element type of the buffer."""
        return self.value.type


def hosted(program: Program, name: str) -> Hosted:
    """The assignment that a copy in the tree runs."""
    copy = program.copies[name]
    identity = _identity(copy)
    scratch = program.scratch(name, copy.statement.array, reading=False)
    index = tuple(_pulled(e, identity, copy) for e in copy.statement.index)
    buffer = scratch.name if scratch else copy.statement.array
    parts = _Parts()
    value = _value(program, copy, name, identity, parts)
    place = _stored(program, name, scratch or copy.statement.array, index)
    return Hosted(buffer, place, value, tuple(parts.inlined))


@dataclass(frozen=True, eq=False)
class _Parts:
    """What became of some parts of a value."""

    #: operands put in place of a load, and their arrays
    inlined: list[tuple[Expr, str]] = field(default_factory=list["tuple[Expr, str]"])
    #: by the id of a load: operations above it that its buffer's elements have done
    done: dict[int, int] = field(default_factory=dict[int, int])


def _identity(copy: Copy) -> PwMultiAff:
    return copy.domain.identity().as_pw_multi_aff()


def _value(
    program: Program,
    copy: Copy,
    host: str,
    to_copy: PwMultiAff,
    parts: _Parts,
) -> Expr:
    """The copy's value over its host; ``to_copy`` is ``{ H[d] -> C[d'] }``.

    ``parts`` gets the operands put in place, and their arrays.
    """
    references = iter(copy.statement.reads)
    return _over(program, copy, host, to_copy, copy.statement.value, references, parts)


def _over(
    program: Program,
    copy: Copy,
    host: str,
    to_copy: PwMultiAff,
    expr: Expr,
    references: Iterator[Access],
    parts: _Parts,
) -> Expr:
    def over(part: Expr) -> Expr:
        return _over(program, copy, host, to_copy, part, references, parts)

    if isinstance(expr, (Affine, Inside)):
        return _pulled(expr, to_copy, copy)
    if isinstance(expr, Block):
        placed = expr.with_children(tuple(map(over, expr.children)))
        return _on_storage(program, copy, host, placed)
    if not isinstance(expr, Load):
        children = tuple(map(over, expr.children))
        for child in children:
            if parts.done.get(id(child)):
                parts.done[id(child)] -= 1
                return child  # the buffer holds this operation's result
        return expr.with_children(children) if children else expr
    access = next(references)
    index = tuple(map(over, expr.index))
    operand = program.operand(copy, access)
    if operand is not None:
        onward = _onto_operand(copy, operand)
        value = _value(program, operand, host, onward.pullback_pw_multi_aff(to_copy), parts)
        parts.inlined.append((value, expr.array))
        return value
    scratch = program.scratch(host, expr.array, ref=access.ref)
    where = scratch.name if scratch else expr.array
    found = Load(expr.type, where, _stored(program, host, scratch or expr.array, index), expr.span)
    if scratch is not None and scratch.above:
        parts.done[id(found)] = scratch.above
    return found


def _on_storage(program: Program, copy: Copy, host: str, block: Expr) -> Expr:
    """A block whose writes go to the storage of the array that it writes."""
    assert isinstance(block, Block)
    array = copy.statement.array
    scratch = program.scratch(host, array, reading=False)

    def stored(action: Action) -> Action:
        match action:
            case Put():
                index = _stored(program, host, scratch or array, action.index)
                return Put(index, action.value)
            case When():
                then, other = (tuple(map(stored, part)) for part in (action.then, action.other))
                return When(action.cond, then, other)
            case Repeat():
                body, step = (tuple(map(stored, part)) for part in (action.body, action.step))
                return Repeat(action.cond, body, step, action.first)
            case _:
                return action

    return Block(block.type, tuple(map(stored, block.body)), block.old)


def _pulled(expr: Expr, to_copy: PwMultiAff, copy: Copy) -> Expr:
    """An affine leaf of the statement as one of the host."""
    through = copy.to_instance.pullback_pw_multi_aff(to_copy)
    if isinstance(expr, Affine):
        return Affine(expr.type, expr.form.pullback_pw_multi_aff(through))
    if isinstance(expr, Inside):
        return Inside(expr.type, expr.where.preimage_pw_multi_aff(through))
    return expr


def _onto_operand(copy: Copy, operand: Copy) -> PwMultiAff:
    """``{ C[d] -> O[d, j] }``: the one producer instance that a load of the copy evaluates."""
    return operand.by_reader(copy.domain).as_pw_multi_aff()


def _stored(
    program: Program, host: str, scratch: Scratch | str, index: tuple[Expr, ...]
) -> tuple[Expr, ...]:
    """Subscripts of a buffer, or of an array by its name: C's arrays start at 0, others may not."""
    array = program.scop.array(scratch if isinstance(scratch, str) else scratch.array)
    space = program.copies[host].domain.get_space()
    firsts = [low.insert_domain(space) for low in array.lower]
    from_zero = tuple(map(_minus, index, firsts)) if firsts else index
    if isinstance(scratch, str):
        return from_zero
    prefix = prefix_map(program.copies[host], program.places[host].loops[: scratch.depth])
    to_times = prefix.as_pw_multi_aff()
    result: list[Expr] = []
    for dimension, expr in enumerate(index):
        fold = scratch.fold(dimension)
        if fold:
            result.append(_modulo(from_zero[dimension], fold))
            continue
        offset = scratch.offsets[dimension].pullback_pw_multi_aff(to_times)
        result.append(_minus(expr, offset, scratch.stride(dimension)))
    return scratch.ordered(result)


def _modulo(expr: Expr, fold: int) -> Expr:
    """``x mod fold``. No element is before the first: C's ``%`` never sees a negative number."""
    return binary("mod", expr, const(I64, fold))


def _minus(expr: Expr, offset: PwAff, stride: int = 1) -> Expr:
    if isinstance(expr, Affine):
        return index_of(quotient(expr.form.sub(offset), stride))
    distance = _less(expr, offset)
    return distance if stride == 1 else binary("floordiv", distance, const(I64, stride))


def _less(expr: Expr, offset: PwAff) -> Expr:
    number = constant_value(offset.gist(offset.domain()))
    if number is None:
        return binary("sub", expr, index_of(offset))
    if number == 0:
        return expr
    return binary("sub" if number > 0 else "add", expr, const(I64, abs(number)))
