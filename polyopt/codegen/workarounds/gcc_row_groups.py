"""Whether gcc would load whole rows for a few elements of each.

Where lanes walk down a column, and several neighbours of each row are loaded, gcc (12.2, and
others of its time) takes a row's length for a group if that is a power of two: it loads all that
lies between the lanes' elements, and picks these out. Of 8 neighbours in rows of 512 that takes 29
times as long as loading the elements one by one. Of loops that OpenMP marks gcc compares no costs,
unless it is asked to.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import number_of
from polyopt.codegen.ast.nodes import Block, For, Function, Simd, assigns_in, walk
from polyopt.codegen.ast.visit import base_of, elements_in, subscripts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.ast.expr import Expr, Symbol

#: a row this many times as long as what is loaded of it is better not loaded: measured, 8 of 64
#: take twice as long as one by one, 8 of 32 as long
FARTHEST = 4


def loads_whole_rows(function: Function) -> bool:
    """Whether a vector loop loads few elements of rows as long as a power of two."""
    bodies = (function.body, *(task.body for task in function.tasks))
    nodes = [node for body in bodies for node in walk(body)]
    blocks = [node for node in nodes if isinstance(node, Block)]
    buffers = [
        *function.buffers,
        *function.private,
        *(b for block in blocks for b in block.buffers),
    ]
    parameters = [*function.arguments, *(p for task in function.tasks for p in task.parameters)]
    extents = {buffer.symbol: buffer.extents for buffer in buffers}
    extents |= {p.symbol: p.extents for p in parameters if p.extents}
    loops = (node for node in nodes if isinstance(node, For) and isinstance(node.kind, Simd))
    return any(_loads_whole_rows(loop, extents) for loop in loops)


def _loads_whole_rows(loop: For, extents: Mapping[Symbol, tuple[Expr, ...]]) -> bool:
    rows: defaultdict[tuple[Symbol | None, tuple[Expr, ...], int], set[Expr]] = defaultdict(set)
    values = (value for assign in assigns_in(loop.body) for value in assign.values)
    for element in (e for value in values for e in elements_in(value)):
        index = subscripts_of(element)
        outer, last = index[:-1], index[-1:]
        moves = [k for k, part in enumerate(outer) if loop.iterator in part.symbols]
        if not moves or loop.iterator in last[0].symbols:
            continue
        rows[base_of(element), outer, moves[-1]].add(last[0])
    return any(
        len(lasts) > 1 and _is_long(extents.get(base, ())[moving + 1 :], len(lasts))
        for (base, _, moving), lasts in rows.items()
        if base is not None
    )


def _is_long(row: tuple[Expr, ...], loaded: int) -> bool:
    """Whether rows of such extents are a power of two long, and much longer than is loaded."""
    size = 1
    for extent in row:
        number = number_of(extent)
        if number is None:
            return False
        size *= number
    return size >= FARTHEST * loaded and not size & (size - 1)
