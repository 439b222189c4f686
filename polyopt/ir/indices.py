"""Index arrays: arguments whose elements choose elements of other arguments.

``count[key[i]]`` has no bound that is known before the kernel is called. Where every element of
``key`` is used in this way whatever the data, a call can check them all first: elements outside of
``count`` are then an error and not a write into foreign memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.ir.block import Block, If, Jump, Let, Store, While, actions_in
from polyopt.ir.expr import Cast, Load, Local, RangeHint, Select, loads, walk
from polyopt.ir.index_bounds import index_bounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import Map


@dataclass(frozen=True)
class IndexArray:
    """Elements of ``array`` are subscripts of ``target`` along ``axis``.

    ``always`` says that all of them are, in every call; ``ordered`` that they are ends of ranges
    of subscripts, as the row pointers of a sparse matrix are.
    """

    array: str
    target: str
    axis: int
    always: bool = False
    ordered: bool = False


def index_arrays(scop: Scop) -> tuple[IndexArray, ...]:
    """The index arrays among a program's arguments, by what they index."""
    written = {statement.array for statement in scop.statements}
    given = {a.name for a in scop.arrays if a.is_live_in and a.rank} - written
    targets = {a.name for a in scop.arrays if a.role != "temp"}
    found: dict[tuple[str, str, int], IndexArray] = {}
    for statement in scop.statements:
        for one in _of_statement(scop, statement):
            key = one.array, one.target, one.axis
            if one.array in given and one.target in targets:
                found[key] = one if one.always else found.get(key, one)
    return tuple(found.values())


def _of_statement(scop: Scop, statement: Statement) -> Iterator[IndexArray]:
    value = statement.value
    accesses = {
        id(load): access for load, access in zip(loads(value), statement.reads, strict=True)
    }
    sure = {id(node) for node in surely_evaluated(value)}
    subscripts = [(load.array, load.index, id(load) in sure) for load in loads(value)]
    if isinstance(value, Block):
        top = {id(action) for action in _surely(value)}
        subscripts += [
            (statement.array, action.index, id(action) in top)
            for action in actions_in(value.body)
            if isinstance(action, Store)
        ]
    for target, index, always in subscripts:
        for axis, part in enumerate(index):
            source = _bare(part)
            if isinstance(source, Local) and isinstance(value, Block):
                yield from (IndexArray(a, target, axis, ordered=True) for a in _sources(value))
            elif isinstance(source, Load) and _is_open(source, statement):
                whole = always and _is_whole(scop, source.array, accesses[id(source)].relation)
                yield IndexArray(source.array, target, axis, whole)


def _is_open(load: Load, statement: Statement) -> bool:
    """Whether a loaded number may be any, as far as its type tells."""
    return any(bound is None for bound in index_bounds(load, statement.space))


def _is_whole(scop: Scop, array: str, relation: Map) -> bool:
    """Whether an access touches every element of an array."""
    touched = relation.intersect_params(scop.context).range()
    return scop.elements[array].intersect_params(scop.context).is_subset(touched)


def _bare(part: Expr) -> Expr:
    while isinstance(part, (RangeHint, Cast)):
        part = part.operand
    return part


def _sources(block: Block) -> set[str]:
    """The integer arrays that a block's locals and loop tests are made of."""
    values = [a.value for a in actions_in(block.body) if isinstance(a, Let)]
    values += [a.cond for a in actions_in(block.body) if isinstance(a, While)]
    return {n.array for v in values for n in walk(v) if isinstance(n, Load) and n.type.is_integer}


def surely_evaluated(value: Expr) -> Iterator[Expr]:
    """The parts of a value that are evaluated whatever the data."""
    if isinstance(value, Block):
        for action in _surely(value):
            yield from (part for given in _given(action) for part in surely_evaluated(given))
        return
    yield value
    for child in value.children[:1] if isinstance(value, Select) else value.children:
        yield from surely_evaluated(child)


def _surely(block: Block) -> Iterator[Let | Store | If | While]:
    """The actions of a block that run whatever the data: those before anything may be left."""
    for action in block.body:
        if isinstance(action, Jump):
            return
        yield action


def _given(action: Let | Store | If | While) -> Iterable[Expr]:
    match action:
        case Let():
            return (action.value,)
        case Store():
            return (*action.index, action.value)
        case _:
            return (action.cond,)
