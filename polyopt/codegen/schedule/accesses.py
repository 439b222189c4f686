"""A copy's right-hand side over the copy's own dimensions, on the plan's storage.

Inlined operands are put in place of their loads; subscripts of buffers become
``x - offset(t)`` or ``(x - lower) mod fold``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.ir.block import Block, If, Store, While
from polyopt.ir.build import binary, const
from polyopt.ir.expr import Affine, Expr, Inside, Load, index_of
from polyopt.ir.types import I64
from polyopt.isl import constant_value
from polyopt.memo import memo
from polyopt.transform.schedule.access import known_prefix
from polyopt.transform.schedule.storage import quotient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polyopt.ir.block import Action
    from polyopt.ir.scop import Access
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff, PwMultiAff
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.storage import Scratch
    from polyopt.transform.schedule.tree import ScheduledStatement


@dataclass(frozen=True, eq=False)
class LoweredStatement:
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


@memo
def lowered_statement(program: ScheduledProgram, name: str) -> LoweredStatement:
    """The assignment that a copy in the tree runs: all steps of code generation ask."""
    copy, host = program.copies[name], _Host(program, name)
    scratch = program.scratch(name, copy.statement.array, reading=False)
    buffer = scratch.name if scratch else copy.statement.array
    identity = copy.domain.identity().as_pw_multi_aff()
    value = _value(host, copy, identity)
    through = copy.to_instance.pullback_pw_multi_aff(identity)
    index = tuple(_pulled(e, through) for e in copy.statement.index)
    place = host.stored(scratch or copy.statement.array, index)
    return LoweredStatement(buffer, place, value, tuple(host.inlined))


@dataclass(frozen=True, eq=False)
class _Host:
    """A copy in the tree, and what became of some parts of its value."""

    program: ScheduledProgram
    name: str
    #: operands put in place of a load, and their arrays
    inlined: list[tuple[Expr, str]] = field(default_factory=list["tuple[Expr, str]"])
    #: by the id of a load: operations above it that its buffer's elements have done
    done: dict[int, int] = field(default_factory=dict[int, int])
    #: { H[d] -> [o] } : where a buffer starts, per dimension that is not folded
    offsets: dict[Scratch, tuple[PwAff | None, ...]] = field(
        default_factory=dict["Scratch", "tuple[PwAff | None, ...]"]
    )

    def stored(self, scratch: Scratch | str, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Subscripts of a buffer, or of an array by its name: C's arrays start at 0, others may
        not."""
        program = self.program
        array = program.scop.array(scratch if isinstance(scratch, str) else scratch.array)
        space = program.copies[self.name].domain.get_space()
        firsts = [low.insert_domain(space) for low in array.lower]
        from_zero = tuple(map(_minus, index, firsts)) if firsts else index
        if isinstance(scratch, str):
            return from_zero
        if scratch not in self.offsets:
            self.offsets[scratch] = tuple(self._offsets(scratch, len(index)))
        result: list[Expr] = []
        for dimension, offset in enumerate(self.offsets[scratch]):
            if offset is None:
                result.append(_modulo(from_zero[dimension], scratch.fold(dimension)))
            else:
                result.append(_minus(index[dimension], offset, scratch.stride(dimension)))
        return scratch.ordered(result)

    def _offsets(self, scratch: Scratch, rank: int) -> Iterator[PwAff | None]:
        place = self.program.places[self.name]
        around = replace(place, loops=place.loops[: scratch.depth])
        prefix = known_prefix(self.program.copies[self.name], around)
        to_times = prefix.as_pw_multi_aff()
        for dimension in range(rank):
            folded = scratch.fold(dimension) > 0
            offset = scratch.offsets[dimension]
            yield None if folded else offset.pullback_pw_multi_aff(to_times)


def _value(host: _Host, copy: ScheduledStatement, to_copy: PwMultiAff) -> Expr:
    """The copy's value over its host; ``to_copy`` is ``{ H[d] -> C[d'] }``."""
    through = copy.to_instance.pullback_pw_multi_aff(to_copy)
    references = iter(copy.statement.reads)

    def over(expr: Expr) -> Expr:
        if isinstance(expr, (Affine, Inside)):
            return _pulled(expr, through)
        if isinstance(expr, Block):
            return _on_storage(host, copy, expr.with_children(tuple(map(over, expr.children))))
        if not isinstance(expr, Load):
            children = tuple(map(over, expr.children))
            for child in children:
                if host.done.get(id(child)):
                    host.done[id(child)] -= 1
                    return child  # the buffer holds this operation's result
            return expr.with_children(children) if children else expr
        return _loaded(host, copy, to_copy, expr, next(references), over)

    return over(copy.statement.value)


def _loaded(
    host: _Host,
    copy: ScheduledStatement,
    to_copy: PwMultiAff,
    load: Load,
    access: Access,
    over: Callable[[Expr], Expr],
) -> Expr:
    """What a copy loads, from the plan's storage, or the operand in its place."""
    index = tuple(map(over, load.index))
    operand = host.program.operand(copy, access)
    if operand is not None:
        onward = _onto_operand(copy, operand)
        value = _value(host, operand, onward.pullback_pw_multi_aff(to_copy))
        host.inlined.append((value, load.array))
        return value
    scratch = host.program.scratch(host.name, load.array, ref=access.ref)
    where = scratch.name if scratch else load.array
    found = Load(load.type, where, host.stored(scratch or load.array, index), load.span)
    if scratch is not None and scratch.above:
        host.done[id(found)] = scratch.above
    return found


def _on_storage(host: _Host, copy: ScheduledStatement, block: Expr) -> Expr:
    """A block whose writes go to the storage of the array that it writes."""
    assert isinstance(block, Block)
    array = copy.statement.array
    scratch = host.program.scratch(host.name, array, reading=False)

    def stored(action: Action) -> Action:
        match action:
            case Store():
                index = host.stored(scratch or array, action.index)
                return Store(index, action.value)
            case If():
                then, other = (tuple(map(stored, part)) for part in (action.then, action.other))
                return If(action.cond, then, other)
            case While():
                body, step = (tuple(map(stored, part)) for part in (action.body, action.step))
                return While(action.cond, body, step, action.first)
            case _:
                return action

    return Block(block.type, tuple(map(stored, block.body)), block.old)


def _pulled(expr: Expr, through: PwMultiAff) -> Expr:
    """An affine leaf of a statement as one of the host; ``through`` is ``{ H[d] -> S[i] }``."""
    if isinstance(expr, Affine):
        return Affine(expr.type, expr.form.pullback_pw_multi_aff(through))
    if isinstance(expr, Inside):
        return Inside(expr.type, expr.where.preimage_pw_multi_aff(through))
    return expr


def _onto_operand(copy: ScheduledStatement, operand: ScheduledStatement) -> PwMultiAff:
    """``{ C[d] -> O[d, j] }``: the one producer instance that a load of the copy evaluates."""
    return operand.by_reader(copy.domain).as_pw_multi_aff()


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
