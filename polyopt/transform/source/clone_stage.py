"""Clone a producer stage for some of its consumers (recompute): its array is computed once more, in
an array of its own that these read.

rewrite: ``b[i] = f(a[i]); c[i] = g(b[i], b[i+1]); d[i] = h(b[i]);`` ->
``b[i] = f(a[i]); b_again[i] = f(a[i]); c[i] = g(b[i], b[i+1]); d[i] = h(b_again[i]);``

Then each is placed for its own readers: ``b_again`` may be inlined, and ``b`` stored. Comes
before all other moves: the program gets one more array.

*Requires* an array that one statement writes, alone in its nest, and not from its own elements.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError
from polyopt.ir.block import Block
from polyopt.ir.expr import Affine, Expr, Inside, Load, rewrite
from polyopt.isl import dim_type
from polyopt.transform.schedule.nest import is_alone, renamed
from polyopt.transform.schedule.query import unknown
from polyopt.transform.schedule.registry import transformation

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import Space


@transformation("source")
def clone_stage(scop: Scop, array: str, *readers: str) -> Scop:
    """The program with ``array`` computed once more, for the statements ``readers``."""
    if array not in [a.name for a in scop.arrays]:
        raise unknown("array", array, [a.name for a in scop.arrays])
    maker = maker_of(scop, array)
    if maker is None:
        message = f"{array} cannot be computed once more: it takes one statement alone in its nest"
        raise InvalidOptionError(message, span=scop.array(array).span)
    reading = [s.name for s in scop.statements if any(a.array == array for a in s.reads)]
    for reader in readers:
        if reader not in reading:
            raise unknown(f"reader of {array}", reader, reading)
    if not readers:
        raise InvalidOptionError(f"clone_stage({array!r}) needs a statement that reads it")
    name = scop.unused_name(f"{array}_again")
    again = _again(maker, name)
    statements: list[Statement] = []
    for statement in scop.statements:
        changed = _reading(statement, array, name) if statement.name in readers else statement
        statements += [changed, again] if statement is maker else [changed]
    nest = tuple(
        new
        for node in scop.nest
        for new in ((node, renamed(node, name)) if is_alone(node, maker.name) else (node,))
    )
    arrays = (*scop.arrays, replace(scop.array(array), name=name))
    return replace(scop, arrays=arrays, statements=tuple(statements), nest=nest)


def maker_of(scop: Scop, array: str) -> Statement | None:
    """The one statement that computes a temporary array, alone in its nest."""
    writers = [s for s in scop.statements if s.array == array]
    if scop.array(array).role != "temp" or scop.array(array).private or len(writers) != 1:
        return None
    (maker,) = writers
    reads_itself = any(a.array == array for a in maker.reads)
    if reads_itself or maker.spread or isinstance(maker.value, Block):
        return None
    return maker if any(is_alone(node, maker.name) for node in scop.nest) else None


def over(expr: Expr, space: Space) -> Expr:
    """An expression of one statement as one of another, whose iterators are the same."""
    ident = space.get_tuple_id(dim_type.set)

    def moved(node: Expr) -> Expr:
        if isinstance(node, Affine):
            return replace(node, form=node.form.set_tuple_id(dim_type.in_, ident))
        if isinstance(node, Inside):
            return replace(node, where=node.where.set_tuple_id(ident))
        return node

    return rewrite(expr, moved)


def _again(maker: Statement, name: str) -> Statement:
    domain = maker.domain.set_tuple_name(name)
    space = domain.get_space()
    index: list[Affine] = []
    for part in maker.index:
        moved = over(part, space)
        assert isinstance(moved, Affine)
        index.append(moved)
    value = over(maker.value, space)
    return replace(maker, name=name, domain=domain, array=name, index=tuple(index), value=value)


def _reading(statement: Statement, array: str, name: str) -> Statement:
    def other(node: Expr) -> Expr:
        is_it = isinstance(node, Load) and node.array == array
        return replace(node, array=name) if is_it else node

    return replace(statement, value=rewrite(statement.value, other))
