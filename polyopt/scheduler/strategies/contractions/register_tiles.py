"""Register tiling: sums side by side in vectors, tiles of them in registers, nothing packed.

Convolutions over blocks of channels are such, matrix products in blocks, and depthwise
convolutions. A statement qualifies by its subscripts alone: it updates elements whose last
subscript walks a row of a few whole vectors, every operand is read along that row or not moved
by it at all, and some operand stays the same along another loop, so that what is loaded once
serves several results. Operands have to lie as they are read; nothing is copied.

rewrite: ``for (k) for (y) for (x) for (i) { T = 0; for (sums) T += in * w; } out = f(T);`` ->
``for (k_tile) for (y) for (x_tile) { T = 0; for (sums) [k][x][i] T += in * w; out = f(T); }``

Which loops are tiled, and how far, is weighed: loads against updates of a step of the sum, within
the registers there are, and the bytes that tiles get from beyond the first-level cache against its
bandwidth. Where one other statement reads the sums, each at its own place, the
tile is computed inside that statement's nest, and the array of sums is no more than the tile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from polyopt.analysis.updates import update_of
from polyopt.codegen.expressions.packed_dot import dot_update
from polyopt.codegen.lower.register_tile_rests import makes_blocks
from polyopt.errors import IllegalScheduleError, UserError
from polyopt.ir.expr import loads, same_expr
from polyopt.isl import PwMultiAff, affine_var, constant_value, dim_type
from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.strategies.contractions.nests import block_loop, distributed, point_loop
from polyopt.scheduler.strategies.contractions.tile_sizes import (
    Operand,
    RegisterTile,
    Sum,
    best_tile,
    order_of_tiles,
)
from polyopt.scheduler.subscripts import dimension_of, is_target, step, updates
from polyopt.transform.schedule.query import find_loop, path_to
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import copies_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.target import Target
    from polyopt.ir.expr import Load
    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import Map, PwAff, Set
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram

#: registers that a dot product of packed pairs takes beside its sum: x86 has no sum of one
_OF_DOTS = 2
#: vectors along a row, at most: longer rows are matrices, whose operands have to be packed
MOST_VECTORS = 4


def register_tiles(
    plan: Plan, target: Target, numbers: Mapping[str, int]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with every such sum in tiles of results, for these sizes."""
    remarks: list[Remark] = []
    for name in list(plan.program.places):
        if name not in plan.program.places or not updates(plan.program, name, dots=True):
            continue
        found = _sum_of(plan.program, name, target, numbers)
        tile = best_tile(found, target) if found is not None else None
        if found is None or tile is None:
            continue
        try:
            made, loop = _tiled(plan, found, tile, target.l2_bytes)
            made.prove()
        except UserError as error:
            reason = f"no tile of it in registers: {error.diagnostic.message}"
            witnesses = error.witnesses if isinstance(error, IllegalScheduleError) else ()
            remarks.append(
                Remark(
                    "refused", "register_tile", name, reason, witnesses=witnesses, code=error.code
                )
            )
            continue
        if not makes_blocks(made.program, loop):
            reason = "no tile of it in registers: its operands have no room for whole tiles"
            remarks.append(Remark("refused", "register_tile", name, reason))
            continue
        plan = made
        (copy,) = copies_in(find_loop(plan.program, loop))
        iterators = plan.program.copies[copy].statement.iterators
        said = {iterators[d]: float(size) for d, size in tile.sizes.items()}
        said |= {"vectors": float(found.vectors), "cycles per vector": round(tile.cycles, 3)}
        reason = "a tile of results stays in registers"
        remarks.append(Remark("applied", "register_tile", loop, reason, numbers=said))
    return plan, tuple(remarks)


def tileable(
    program: ScheduledProgram, target: Target, numbers: Mapping[str, int]
) -> frozenset[str]:
    """The statements that would get a tile, as far as their subscripts tell."""
    found = ((name, _sum_of(program, name, target, numbers))
             for name in program.places if updates(program, name, dots=True))  # fmt: skip
    return frozenset(name for name, one in found if one and best_tile(one, target) is not None)


def tile_of(
    program: ScheduledProgram,
    name: str,
    target: Target,
    numbers: Mapping[str, int],
    lengths: Mapping[int, int | None] | None = None,
) -> tuple[Sum, RegisterTile] | None:
    """A statement that would get a tile, and the tile; with other ``lengths`` of some dimensions,
    ``None`` for those that are not to be tiled."""
    found = _sum_of(program, name, target, numbers) if updates(program, name, dots=True) else None
    if found is None:
        return None
    found = replace(found, lengths={**found.lengths, **(lengths or {})})
    tile = best_tile(found, target)
    return None if tile is None else (found, tile)


def may_be_tiled(scop: Scop) -> bool:
    """Whether some sum of a program may get a tile, here or in a product of matrices: its results
    have two dimensions, or one of a length that is known."""
    return any(update_of(s) is not None and _has_room(s) for s in scop.statements)


def _has_room(total: Statement) -> bool:
    dims = range(len(total.iterators))
    results = [d for d in dims if any(step(x, d) != 0 for x in total.index)]
    if len(results) == len(dims):  # each element gets one value
        return False
    return len(results) > 1 or any(_length(total.domain, d) is not None for d in results)


# -- what qualifies -----------------------------------------------------------------------------


def _sum_of(
    program: ScheduledProgram, name: str, target: Target, sizes: Mapping[str, int]
) -> Sum | None:
    """The roles of a statement's dimensions; ``None`` where it does not qualify."""
    path, copy = program.places[name].loops, program.copies[name]
    statement = copy.statement
    dims = [dimension_of(program, name, loop) for loop in path]
    if not path or not statement.index or len(copies_in(path[-1])) != 1:
        return None
    if None in dims or len(set(dims)) != len(statement.iterators):
        return None
    order = [d for d in dims if d is not None]
    results: list[int] = []
    for index in statement.index:
        moving = [d for d in order if step(index, d) != 0]
        if len(moving) > 1 or any(step(index, d) != 1 for d in moving):
            return None
        results += moving
    columns = next((d for d in order if step(statement.index[-1], d) == 1), None)
    sums = tuple(d for d in order if d not in results)
    if columns is None or not sums or len(set(results)) != len(results):
        return None
    lengths = {d: _length(copy.domain, d) for d in order}
    lanes = target.lanes(statement.value.type.bytes)
    width = lengths[columns]
    if width is None or width % lanes or width // lanes > MOST_VECTORS:
        return None
    operands = _operands(program, name, columns, sizes)
    steps = [lengths[d] or 0 for d in sums]
    if operands is None or not prod(steps):
        return None
    return Sum(
        name, tuple(d for d in order if d in results and d != columns), lengths, sums,
        prod(steps), columns, width // lanes, lanes, statement.value.type.bytes, operands,
        _OF_DOTS if dot_update(statement.value) is not None else 0,
    )  # fmt: skip


def _operands(
    program: ScheduledProgram, name: str, columns: int, sizes: Mapping[str, int]
) -> tuple[Operand, ...] | None:
    """The loads but the target's, each element once; ``None`` where one is read otherwise than
    along the row."""
    statement = program.copies[name].statement
    found: list[Operand] = []
    seen: list[Load] = []
    for access, load in zip(statement.reads, loads(statement.value), strict=True):
        if is_target(statement, load) or any(same_expr(load, other) for other in seen):
            continue
        seen.append(load)
        if not access.exact or access.array in program.inlined:
            return None
        along = [step(x, columns) for x in load.index]
        if any(along[:-1]) or (along and along[-1] not in {0, 1}):
            return None
        dims = range(len(statement.iterators))
        # a step that is no number counts as one
        steps = tuple({d: 1 if s is None else s for d in dims if (s := step(x, d)) != 0}
                      for x in load.index)  # fmt: skip
        moves = frozenset(d for each in steps for d in each)
        size = array_bytes(program.scop.array(access.array), sizes)
        found.append(Operand(moves, steps, bool(along and along[-1]), size))
    return tuple(found) if any(operand.is_vector for operand in found) else None


def _length(domain: Set, dim: int) -> int | None:
    """The number of values of a dimension, if it is the same everywhere."""
    first, last = domain.dim_min(dim), domain.dim_max(dim)
    size = constant_value(last.sub(first).gist_params(domain.params()).coalesce())
    return size + 1 if size is not None else None


# -- the plan -----------------------------------------------------------------------------------


def _tiled(plan: Plan, found: Sum, tile: RegisterTile, cache: int) -> tuple[Plan, str]:
    """The plan with the tile, and the name of the loop that is marked."""
    statement = plan.program.copies[found.copy].statement
    host = _host(plan.program, found)
    homes = _homes(found, host)
    around = {d: point_loop(plan.program, *at).name for d, at in homes.items()}
    space = host.copy if host is not None else found.copy
    names = {d: find_loop(plan.program, loop).iterator for d, loop in around.items()}
    sizes = {names[d]: size for d, size in tile.sizes.items()}
    plan = plan.tile(space, **sizes)
    tiles = {d: path_to(plan.program, around[d])[-1] for d in tile.sizes}
    outside = [block_loop(plan.program, *homes[d]) if d in tiles else around[d]
               for d in order_of_tiles(found, cache)]  # fmt: skip
    inside = [around[d] for d in found.results if d in tiles]
    plan = plan.reorder(*outside, *inside, around[found.columns])
    copy = found.copy
    if host is not None:
        plan = plan.fuse(statement.array, into=space, at=outside[-1])
        copy = next(
            name for name, c in plan.program.copies.items()
            if c.statement is statement and c.outer
        )  # fmt: skip
    plan = _apart(plan, copy, outside[-1])
    loops = {d: point_loop(plan.program, copy, d) for d in range(len(statement.iterators))}
    inner = [loops[d] for d in (*found.sums, *(d for d in found.results if d in tile.sizes))]
    first = path_to(plan.program, outside[-1])
    path = plan.program.places[copy].loops[len(first) :]
    single = [loop for loop in path if loop not in inner and loop != loops[found.columns]]
    order = [loop.name for loop in (*single, *inner, loops[found.columns])]
    plan = plan.reorder(*order)
    for d in tile.sizes:
        plan = plan.unroll(loops[d].name)
    plan = plan.vectorize(loops[found.columns].name, found.lanes)
    marked = loops[found.sums[0]].name
    return plan.register_tile(marked), marked


def _homes(found: Sum, host: Host | None) -> dict[int, tuple[str, int]]:
    """Per dimension of the results, the statement around which it is tiled, and its dimension
    there."""
    dims = sorted((*found.results, found.columns))
    if host is None:
        return {d: (found.copy, d) for d in dims}
    return {d: (host.copy, host.dims[k]) for k, d in enumerate(dims)}


@dataclass(frozen=True)
class Host:
    """The statement that reads the sums, and its dimension for each subscript of theirs."""

    copy: str
    dims: tuple[int, ...]


def _host(program: ScheduledProgram, found: Sum) -> Host | None:
    """The one statement that reads the sums, each once, in any order of dimensions, and in a nest
    of its own."""
    array = program.copies[found.copy].statement.array
    if program.scop.array(array).role != "temp":
        return None
    readers = [n for n in program.readers(array) if program.copies[n].statement.array != array]
    if len(readers) != 1 or program.copies[readers[0]].outer or program.copies[readers[0]].fills:
        return None
    name = readers[0]
    path = program.places[name].loops
    if not path or copies_in(path[0]) != (name,):
        return None
    dims = [dimension_of(program, name, loop) for loop in path]
    if sorted(d for d in dims if d is not None) != list(range(len(found.results) + 1)):
        return None
    orders: set[tuple[int, ...] | None] = set()
    for touch in program.reads_of(array, [name]):
        #: { O[i] -> T[x] }
        orders.add(_order(touch.accessed))
    order = orders.pop() if len(orders) == 1 else None
    return Host(name, order) if order is not None else None


def _order(element: Map) -> tuple[int, ...] | None:
    """Which dimension each subscript is, where each is another one: ``{ O[i] -> T[x] }``."""
    if not element.is_single_valued():
        return None
    form = PwMultiAff.from_map(element)
    space = element.get_space().domain()
    same = [affine_var(space, d) for d in range(space.dim(dim_type.set))]
    zeros = [v.sub(v).as_map().range() for v in same]
    order = tuple(
        next((d for d, v in enumerate(same) if _is_zero(part.sub(v), zeros[d])), -1)
        for part in map(form.get_at, range(form.dim(dim_type.out)))
    )
    return order if sorted(order) == list(range(len(same))) else None


def _is_zero(form: PwAff, zero: Set) -> bool:
    """Whether an expression is zero wherever it is defined, for whatever sizes that is."""
    return form.as_map().range().is_subset(zero)


def _apart(plan: Plan, copy: str, at: str) -> Plan:
    """The update in a nest of its own inside the tile's loop."""
    while True:
        path = plan.program.places[copy].loops
        level = next(k for k, loop in enumerate(path) if loop.name == at)
        shared = [loop for loop in path[level + 1 :] if len(copies_in(loop)) > 1]
        if not shared:
            return plan
        plan = distributed(plan, copy, shared[0])
