"""C of a block in registers: accumulators, vectors of operands, and the updates between them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from polyopt.codegen.cexpr import c_expression
from polyopt.codegen.loops import Assign, Block, Node, Vector
from polyopt.codegen.names import c_name
from polyopt.codegen.program import c_affine
from polyopt.errors import InternalError
from polyopt.isl import affine_constant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.codegen.registers import Operand, RegisterBlock
    from polyopt.ir.expr import Expr, Load
    from polyopt.ir.types import ScalarType
    from polyopt.isl import AstBuild, AstExpr, PwMultiAff

    #: by load and position in the block, without its lanes
    Subscripts = Mapping[tuple[int, tuple[int, ...]], tuple[AstExpr, ...]]


def row_subscripts(block: RegisterBlock, build: AstBuild, to_core: PwMultiAff) -> Subscripts:
    """Subscripts of each operand at the start of each row of the block; ``to_core`` is
    ``{ [c] -> core[t, k] }``."""
    result: dict[tuple[int, tuple[int, ...]], tuple[AstExpr, ...]] = {}
    for key, operand in block.operands.items():
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
    named: Callable[[str, Sequence[str]], str],
    names: Mapping[str, str],
) -> Block:
    """One iteration of the loop: vectors loaded once, then an update of each accumulator.

    Rows that share an element that is no vector follow one another, so that one register holds
    it for all of them and is free after. ``named`` gives the text of an element for a buffer and
    the texts of its subscripts.
    """
    type_ = Vector(block.assignment.type, block.lanes)
    loaded: dict[str, str] = {}
    body: list[Node] = []
    updates: list[Node] = []
    ways = [o for o in block.operands.values() if o is not None and o.moves and not o.is_vector]

    def element(load: Load, row: Sequence[int], lane: int) -> str:
        operand = block.operands[id(load)]
        assert operand is not None
        texts = [c_affine(e, names)[0] for e in rows[id(load), _own_row(operand, row)]]
        if lane:
            texts[-1] = (
                str(int(texts[-1]) + lane) if texts[-1].isdigit() else (f"{texts[-1]} + {lane}")
            )
        return named(operand.buffer, texts)

    def local(load: Load, value: str, kind: ScalarType | Vector, where: list[Node]) -> str:
        if value not in loaded:
            stem = c_name(load.array)
            loaded[value] = f"{stem}_{len([n for n in loaded.values() if n.startswith(stem)])}"
            where.append(Assign(loaded[value], value, type=kind, declares=True, constant=True))
        return loaded[value]

    def vector(load: Load, row: Sequence[int], lane: int) -> str:
        text = element(load, row, lane)
        return local(load, type_.at(text), type_, body)

    def scalar(load: Load, operand: Operand, row: Sequence[int]) -> str:
        text = element(load, row, 0)
        if not operand.moves or not _serves_rows(block, operand):
            return text
        return local(load, text, block.assignment.type, updates)

    rows_together = sorted(block.rows, key=lambda row: [_own_row(o, row) for o in ways])
    for row, part in product(rows_together, range(block.vectors)):
        accumulator = _accumulator(buffer, row, part)

        def load(expr: Load, row: Sequence[int] = row, part: int = part) -> str:
            operand = block.operands[id(expr)]
            if operand is None:
                return _accumulator(buffer, row, part)
            if operand.is_vector:
                return vector(expr, row, part * block.lanes)
            return scalar(expr, operand, row)

        value = c_expression(block.assignment.value, load, _unexpected, _unexpected)
        updates.append(Assign(accumulator, value.text))
    return Block((*body, *updates), scoped=True)


def _serves_rows(block: RegisterBlock, operand: Operand) -> bool:
    """Whether several rows of the block use one element of an operand."""
    return any(
        extent > 1 and not any(step[p] for step in operand.steps)
        for p, extent in enumerate(block.extents[:-1])
    )


def _unexpected(expr: Expr) -> str:
    message = f"a {type(expr).__name__} in a block of registers"
    raise InternalError(message)


def in_registers(block: RegisterBlock, buffer: str, loop: Node) -> Block:
    """The loop between loading the accumulators from the block's buffer and storing them."""
    type_ = Vector(block.assignment.type, block.lanes)
    before: list[Node] = []
    after: list[Node] = []
    for row, part in product(block.rows, range(block.vectors)):
        place = buffer + "".join(f"[{r}]" for r in row) + f"[{part * block.lanes}]"
        name = _accumulator(buffer, row, part)
        before.append(Assign(name, type_.at(place), type=type_, declares=True))
        after.append(Assign(type_.at(place), name, buffer))
    return Block((*before, loop, *after), scoped=True)


def _accumulator(buffer: str, row: Sequence[int], part: int) -> str:
    return "_".join(map(str, (buffer, *row, part)))
