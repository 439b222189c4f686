"""C of a block in registers: accumulators, vectors of operands, and the updates between them."""

from __future__ import annotations

from itertools import count, product
from typing import TYPE_CHECKING

from polyopt.codegen.cexpr import c_expression
from polyopt.codegen.indices import index_number, index_operation
from polyopt.codegen.loops import Assign, Block, Node, Vector
from polyopt.codegen.names import c_name, fresh
from polyopt.codegen.program import c_affine
from polyopt.errors import InternalError
from polyopt.isl import affine_constant

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from polyopt.codegen.ctext import CText
    from polyopt.codegen.registers import Operand, RegisterBlock
    from polyopt.ir.expr import Expr, Load
    from polyopt.ir.types import ScalarType
    from polyopt.isl import AstBuild, AstExpr, PwMultiAff

    #: by load and position in the block, without its lanes
    Subscripts = Mapping[tuple[int, tuple[int, ...]], tuple[AstExpr, ...]]

    #: the first element of a vector, by its row and its number in that
    Place = Callable[[Sequence[int], int], str]

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
    buffer: str,
    rows: Subscripts,
    named: Callable[[str, Sequence[CText]], str],
    names: Mapping[str, CText],
    taken: Collection[str],
) -> Block:
    """One iteration of the loop: vectors that serve several rows, then an update of each
    accumulator, with the vector that it alone needs loaded before it: compilers keep what is
    loaded where it stands, and accumulators have to have the registers.

    Rows that share an element that is no vector follow one another, so that one register holds
    it for all of them and is free after. ``named`` gives the text of an element for a buffer and
    the texts of its subscripts; ``taken`` are names that locals cannot have.
    """
    return _Body(block, buffer, rows, named, names, taken).made()


class _Body:
    """Makes the body, operand by operand."""

    def __init__(
        self,
        block: RegisterBlock,
        buffer: str,
        rows: Subscripts,
        named: Callable[[str, Sequence[CText]], str],
        names: Mapping[str, CText],
        taken: Collection[str],
    ) -> None:
        self.block, self.buffer, self.rows = block, buffer, rows
        self.named, self.names, self.taken = named, names, taken
        #: what is loaded -> the local that has it
        self.loaded: dict[str, str] = {}
        self.vectors: list[Node] = []
        self.updates: list[Node] = []

    def made(self) -> Block:
        """Shared vectors first, then elements and updates in turn."""
        block = self.block
        ways = [o for o in block.operands.values() if o and o.moves and not o.is_vector]
        together = sorted(block.rows, key=lambda row: [_own_row(o, row) for o in ways])
        for row, part in product(together, range(block.vectors)):

            def load(expr: Load, row: Sequence[int] = row, part: int = part) -> str:
                return self._load(expr, row, part)

            value = c_expression(block.assignment.value, load, _unexpected, _unexpected)
            self.updates.append(Assign(_accumulator(self.buffer, row, part), value.text))
        return Block((*self.vectors, *self.updates), scoped=True)

    def _load(self, expr: Load, row: Sequence[int], part: int) -> str:
        operand = self.block.operands[id(expr)]
        if operand is None:
            return _accumulator(self.buffer, row, part)
        lane = part * self.block.lanes if operand.is_vector else 0
        text = self._element(expr, operand, row, lane)
        type_ = self.block.assignment.type
        if operand.is_vector:
            vector = Vector(type_, self.block.lanes)
            where = self.vectors if _serves_rows(self.block, operand) else self.updates
            return self._local(expr, vector.at(text), vector, where)
        if operand.moves and _serves_rows(self.block, operand):
            return self._local(expr, text, type_, self.updates)
        return text

    def _element(self, load: Load, operand: Operand, row: Sequence[int], lane: int) -> str:
        subscripts = self.rows[id(load), _own_row(operand, row)]
        return self.named(operand.buffer, _texts(subscripts, lane, self.names))

    def _local(self, load: Load, value: str, kind: ScalarType | Vector, where: list[Node]) -> str:
        if value not in self.loaded:
            used = {*self.taken, *self.loaded.values()}
            numbered = (f"{c_name(load.array)}_{number}" for number in count())
            self.loaded[value] = next(name for name in numbered if name not in used)
            where.append(Assign(self.loaded[value], value, type=kind, declares=True, constant=True))
        return self.loaded[value]


def _serves_rows(block: RegisterBlock, operand: Operand) -> bool:
    """Whether several rows of the block use one element of an operand."""
    return any(
        extent > 1 and not any(step[p] for step in operand.steps)
        for p, extent in enumerate(block.extents[:-1])
    )


def _unexpected(expr: Expr) -> CText:
    message = f"a {type(expr).__name__} in a block of registers"
    raise InternalError(message)


def _texts(subscripts: Sequence[AstExpr], lane: int, names: Mapping[str, CText]) -> list[CText]:
    """C of an element's subscripts, so many lanes further in its row."""
    texts = [c_affine(e, names) for e in subscripts]
    if lane:
        last = texts[-1]
        texts[-1] = (
            index_number(int(last.text) + lane)
            if last.text.isdigit()
            else index_operation("+", last, index_number(lane))
        )
    return texts


def places(
    block: RegisterBlock,
    rows: Subscripts,
    named: Callable[[str, Sequence[CText]], str],
    names: Mapping[str, CText],
) -> Place:
    """Where the vectors of a target lie that is stored as a whole."""

    def place(row: Sequence[int], part: int) -> str:
        subscripts = rows[TARGET, tuple(row)]
        return named(block.assignment.buffer, _texts(subscripts, part * block.lanes, names))

    return place


def copied(block: RegisterBlock, buffer: str) -> Place:
    """Where they lie in a copy of the block."""

    def place(row: Sequence[int], part: int) -> str:
        return buffer + "".join(f"[{r}]" for r in row) + f"[{part * block.lanes}]"

    return place


def in_registers(block: RegisterBlock, stem: str, loop: Node, stored: str, place: Place) -> Block:
    """The loop between loading the accumulators, which are called after ``stem``, and storing them:
    elements of ``stored`` in the ``place`` of each vector."""
    type_ = Vector(block.assignment.type, block.lanes)
    before: list[Node] = []
    after: list[Node] = []
    for row, part in product(block.rows, range(block.vectors)):
        name, element = _accumulator(stem, row, part), type_.at(place(row, part))
        first = "{0}" if block.from_zero else element
        before.append(Assign(name, first, type=type_, declares=True))
        after.append(Assign(element, name, stored))
    return Block((*before, loop, *after), scoped=True)


def block_name(array: str, taken: Collection[str]) -> str:
    """What the block of an array is called: no name begins like those of its accumulators."""
    starts = {name[:k] for name in taken for k, sign in enumerate(f"{name}_") if sign == "_"}
    return fresh(f"{c_name(array)}_block", starts)


def _accumulator(buffer: str, row: Sequence[int], part: int) -> str:
    return "_".join(map(str, (buffer, *row, part)))
