"""C of a block in registers: accumulators, vectors of operands, and the updates between them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import (
    Binary,
    Call,
    Index,
    Symbol,
    Var,
    Vector,
    VectorAt,
    Zeros,
    number,
)
from polyopt.codegen.ast.names import c_name
from polyopt.codegen.ast.nodes import Assign, Block, Node
from polyopt.codegen.expressions.affine import c_affine
from polyopt.codegen.expressions.indices import index_number, index_operation
from polyopt.codegen.expressions.ir import lowered
from polyopt.codegen.expressions.packed_dot import dot_update
from polyopt.codegen.helpers.packed_dot import dot_name
from polyopt.errors import InternalError
from polyopt.isl import affine_constant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.codegen.ast import expr as c
    from polyopt.codegen.expressions.lowered import Lowered
    from polyopt.codegen.lower.register_tile import Operand, RegisterBlock
    from polyopt.ir.expr import Expr, Load
    from polyopt.ir.types import ScalarType
    from polyopt.isl import AstBuild, AstExpr, PwMultiAff

    #: by load and position in the block, without its lanes
    Subscripts = Mapping[tuple[int, tuple[int, ...]], tuple[AstExpr, ...]]

    #: the first element of a vector, by its row and its number in that
    Place = Callable[[Sequence[int], int], c.Expr]
    Named = Callable[[str, Sequence[Lowered]], c.Expr]
    #: the accumulator of each vector of a block
    Registers = Mapping[tuple[tuple[int, ...], int], Symbol]

#: in place of a load's id: the target of a block that is stored as a whole
TARGET = 0


def row_subscripts(block: RegisterBlock, build: AstBuild, to_core: PwMultiAff) -> Subscripts:
    """Subscripts of each operand at the start of each row of the block; ``to_core`` is
    ``{ [c] -> core[t, k] }``."""
    result: dict[tuple[int, tuple[int, ...]], tuple[AstExpr, ...]] = {}
    for key, operand in (*block.operands.items(), (TARGET, block.whole)):
        if operand is None:
            continue
        for row in block.rows:
            if row == _own_row(operand, row):
                result[key, row] = tuple(
                    build.expr_from_pw_aff(
                        form.add(
                            affine_constant(
                                form.get_space().domain(),
                                sum(s * r for s, r in zip(steps, row, strict=False)),
                            )
                        ).pullback_pw_multi_aff(to_core)
                    )
                    for form, steps in zip(operand.index, operand.steps, strict=True)
                )
    return result


def _own_row(operand: Operand, row: Sequence[int]) -> tuple[int, ...]:
    """The row without what the operand does not move with."""
    moving = [any(step[p] for step in operand.steps) for p in range(len(row))]
    return tuple(r if moves else 0 for r, moves in zip(row, moving, strict=True))


def block_body(
    block: RegisterBlock,
    registers: Registers,
    rows: Subscripts,
    named: Named,
    names: Mapping[str, Lowered],
) -> Block:
    """One iteration of the loop: vectors that serve several rows, then an update of each
    accumulator, with the vector that it alone needs loaded before it: compilers keep what is
    loaded where it stands, and accumulators have to have the registers.

    Rows that share an element that is no vector follow one another, so that one register holds
    it for all of them and is free after. ``named`` gives an element of a buffer by its subscripts.
    """
    return _Body(block, registers, rows, named, names).made()


class _Body:
    """Makes the body, operand by operand."""

    def __init__(
        self,
        block: RegisterBlock,
        registers: Registers,
        rows: Subscripts,
        named: Named,
        names: Mapping[str, Lowered],
    ) -> None:
        self.block, self.registers, self.rows = block, registers, rows
        self.named, self.names = named, names
        #: what is loaded -> the local that has it
        self.loaded: dict[c.Expr, Symbol] = {}
        self.vectors: list[Node] = []
        self.updates: list[Node] = []

    def made(self) -> Block:
        """Shared vectors first, then elements and updates in turn."""
        block = self.block
        ways = [o for o in block.operands.values() if o and o.moves and not o.is_vector]
        together = sorted(block.rows, key=lambda row: [_own_row(o, row) for o in ways])
        for row, part in product(together, range(block.vectors)):

            def load(expr: Load, row: Sequence[int] = row, part: int = part) -> c.Expr:
                return self._load(expr, row, part)

            target = Var(self.registers[row, part])
            self.updates.append(Assign(target, self._updated(load)))
        return Block((*self.vectors, *self.updates), scoped=True)

    def _updated(self, load: Callable[[Load], c.Expr]) -> c.Expr:
        """What an accumulator becomes; ``load`` gives vectors, and elements of what is none."""
        value = self.block.assignment.value
        update = dot_update(value)
        if update is None:
            return lowered(value, load, _unexpected, _unexpected).node
        words = sorted(map(load, update.dot), key=lambda word: isinstance(word.type, Vector))
        vector = Vector(value.type, self.block.lanes)
        dot = Call(dot_name(self.block.lanes), tuple(words), vector)
        return Binary("+", load(update.target), dot)

    def _load(self, expr: Load, row: Sequence[int], part: int) -> c.Expr:
        operand = self.block.operands[id(expr)]
        if operand is None:
            return Var(self.registers[tuple(row), part])
        lane = part * self.block.lanes if operand.is_vector else 0
        element = self._element(expr, operand, row, lane)
        type_ = self.block.assignment.type
        if operand.is_vector:
            vector = Vector(type_, self.block.lanes)
            where = self.vectors if _serves_rows(self.block, operand) else self.updates
            return self._local(expr, VectorAt(vector, element), vector, where)
        if operand.moves and _serves_rows(self.block, operand):
            return self._local(expr, element, type_, self.updates)
        return element

    def _element(self, load: Load, operand: Operand, row: Sequence[int], lane: int) -> c.Expr:
        subscripts = self.rows[id(load), _own_row(operand, row)]
        return self.named(operand.buffer, _subscripts(subscripts, lane, self.names))

    def _local(
        self, load: Load, value: c.Expr, kind: ScalarType | Vector, where: list[Node]
    ) -> Var:
        if value not in self.loaded:
            others = sum(symbol.origin == load.array for symbol in self.loaded.values())
            made = Symbol(f"{c_name(load.array)}_{others}", kind, load.array)
            self.loaded[value] = made
            where.append(Assign(Var(made), value, declares=True, constant=True))
        return Var(self.loaded[value])


def _serves_rows(block: RegisterBlock, operand: Operand) -> bool:
    """Whether several rows of the block use one element of an operand."""
    return any(
        extent > 1 and not any(step[p] for step in operand.steps)
        for p, extent in enumerate(block.extents[:-1])
    )


def _unexpected(expr: Expr) -> Lowered:
    message = f"a {type(expr).__name__} in a block of registers"
    raise InternalError(message)


def _subscripts(
    subscripts: Sequence[AstExpr], lane: int, names: Mapping[str, Lowered]
) -> list[Lowered]:
    """An element's subscripts, so many lanes further in its row."""
    found = [c_affine(e, names) for e in subscripts]
    if lane:
        last = found[-1]
        low, high = last.bounds
        found[-1] = (
            index_number(low + lane)
            if low == high
            else index_operation("+", last, index_number(lane))
        )
    return found


def places(
    block: RegisterBlock, rows: Subscripts, named: Named, names: Mapping[str, Lowered]
) -> Place:
    """Where the vectors of a target lie that is stored as a whole."""

    def place(row: Sequence[int], part: int) -> c.Expr:
        subscripts = rows[TARGET, tuple(row)]
        return named(block.assignment.buffer, _subscripts(subscripts, part * block.lanes, names))

    return place


def copied(block: RegisterBlock, symbol: Symbol) -> Place:
    """Where they lie in a copy of the block."""

    def place(row: Sequence[int], part: int) -> c.Expr:
        return Index(symbol, tuple(map(number, (*row, part * block.lanes))))

    return place


def accumulators(block: RegisterBlock, stem: str) -> Registers:
    """A variable for each vector of a block, called after ``stem``."""
    type_ = Vector(block.assignment.type, block.lanes)
    return {
        (row, part): Symbol("_".join(map(str, (stem, *row, part))), type_, block.buffer)
        for row, part in product(block.rows, range(block.vectors))
    }


def in_registers(block: RegisterBlock, registers: Registers, loop: Node, place: Place) -> Block:
    """The loop between loading the accumulators and storing them in the ``place`` of each."""
    type_ = Vector(block.assignment.type, block.lanes)
    before: list[Node] = []
    after: list[Node] = []
    for row, part in product(block.rows, range(block.vectors)):
        register = Var(registers[row, part])
        element = VectorAt(type_, place(row, part))
        first = Zeros(type_) if block.from_zero else element
        before.append(Assign(register, first, declares=True))
        after.append(Assign(element, register))
    return Block((*before, loop, *after), scoped=True)
