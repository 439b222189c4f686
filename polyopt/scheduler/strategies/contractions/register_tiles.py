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

from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

from polyopt.analysis.updates import update_of
from polyopt.codegen.lower.register_tile import block_of, nest_of
from polyopt.errors import IllegalScheduleError, UserError
from polyopt.ir.expr import loads
from polyopt.isl import PwMultiAff, affine_var, constant_value, dim_type
from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.model.machine import costs_of
from polyopt.scheduler.subscripts import dimension_of, is_target, step, updates
from polyopt.transform.schedule.query import find_loop, path_to
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import copies_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import Map, PwAff, Set
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: vectors along a row, at most: longer rows are matrices, whose operands have to be packed
MOST_VECTORS = 4
#: updates that run until one is done, and updates and loads of a cycle
LATENCY, PER_CYCLE = 4, 2
#: cycles per vector of a tile for starting and storing it
OVERHEAD = 3.0
#: dimensions of a tile beside its row: channels, rows and columns of a convolution, of which none
#: may have a divisor that fills the registers alone
_MOST_TILED = 3
#: iterations of a loop whose number is not known
_MANY = 1 << 16
#: registers that addresses' parts and elements of operands that are no vectors take
SPARE = 1


@dataclass(frozen=True)
class _Operand:
    """A load beside the target's: the dimensions it moves with, and whether it is a vector."""

    moves: frozenset[int]
    #: per subscript, by how much each dimension that moves it does
    steps: tuple[Mapping[int, int], ...]
    is_vector: bool
    #: of the whole array
    bytes: int


@dataclass(frozen=True)
class _Sum:
    """A statement that qualifies: its dimensions by role."""

    copy: str
    #: that move the target, from the outside in, without the row; and their lengths if constant
    results: tuple[int, ...]
    lengths: Mapping[int, int | None]
    sums: tuple[int, ...]
    steps: int
    columns: int
    #: vectors of a row, and their lanes
    vectors: int
    lanes: int
    element_bytes: int
    operands: tuple[_Operand, ...]


@dataclass(frozen=True)
class _Tile:
    """How far each tiled dimension goes, and what that costs."""

    sizes: Mapping[int, int]
    #: per update of a vector: cycles in which operands come from beyond the first-level cache,
    #: cycles that it takes else, loads, and elements loaded
    transfer: float
    cycles: float
    loads: float
    elements: float


def register_tiles(
    plan: Plan, target: Target, numbers: Mapping[str, int]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with every such sum in tiles of results, for these sizes."""
    remarks: list[Remark] = []
    for name in list(plan.program.places):
        if name not in plan.program.places or not updates(plan.program, name):
            continue
        found = _sum_of(plan.program, name, target, numbers)
        tile = _best_tile(found, target) if found is not None else None
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
        nest = nest_of(made.program, find_loop(made.program, loop))
        if nest is None or block_of(made.program, nest) is None:
            reason = "no tile of it in registers: its operands have no room for whole tiles"
            remarks.append(Remark("refused", "register_tile", name, reason))
            continue
        plan = made
        iterators = plan.program.copies[nest.copy.name].statement.iterators
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
             for name in program.places if updates(program, name))  # fmt: skip
    return frozenset(name for name, one in found if one and _best_tile(one, target) is not None)


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
) -> _Sum | None:
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
    return _Sum(
        name, tuple(d for d in order if d in results and d != columns), lengths, sums,
        prod(steps), columns, width // lanes, lanes, statement.value.type.bytes, operands,
    )  # fmt: skip


def _operands(
    program: ScheduledProgram, name: str, columns: int, sizes: Mapping[str, int]
) -> tuple[_Operand, ...] | None:
    """The loads but the target's; ``None`` where one is read otherwise than along the row."""
    statement = program.copies[name].statement
    found: list[_Operand] = []
    for access, load in zip(statement.reads, loads(statement.value), strict=True):
        if is_target(statement, load):
            continue
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
        found.append(_Operand(moves, steps, bool(along and along[-1]), size))
    return tuple(found) if any(operand.is_vector for operand in found) else None


def _length(domain: Set, dim: int) -> int | None:
    """The number of values of a dimension, if it is the same everywhere."""
    first, last = domain.dim_min(dim), domain.dim_max(dim)
    size = constant_value(last.sub(first).gist_params(domain.params()).coalesce())
    return size + 1 if size is not None else None


# -- how large ----------------------------------------------------------------------------------


def _best_tile(found: _Sum, target: Target) -> _Tile | None:
    """The cheapest tile of a few dimensions that the registers hold, of several the longest
    along inner ones; ``None`` where no tile lets a load serve several results."""
    tiles = [t for sizes in _sizes(found, target) if (t := _weighed(found, sizes, target))]

    def rank(tile: _Tile) -> tuple[float, ...]:
        inner = (-tile.sizes.get(d, 1) for d in reversed(found.results))
        longest = round(max(tile.cycles, tile.transfer), 2)
        return longest, round(tile.cycles, 2), tile.elements, *inner

    best = min(tiles, key=rank, default=None)
    plain = _weighed(found, {}, target)
    if best is None or (plain is not None and best.loads >= plain.loads):
        return None
    return best


def _sizes(found: _Sum, target: Target) -> Iterator[dict[int, int]]:
    """Tiles that leave no rest: divisors of the lengths, of one to three dimensions."""
    lengths = {d: found.lengths[d] for d in reversed(found.results)}
    ways = {
        d: [s for s in range(2, target.registers) if length % s == 0]
        for d, length in lengths.items()
        if length is not None
    }
    for count in range(1, _MOST_TILED + 1):
        for dims in combinations(ways, count):
            for sizes in product(*(ways[d] for d in dims)):
                if prod(sizes) < target.registers:
                    yield dict(zip(dims, sizes, strict=True))


def _weighed(found: _Sum, sizes: Mapping[int, int], target: Target) -> _Tile | None:
    """What a tile costs; ``None`` where it needs more registers than there are."""
    vectors = prod(sizes.values()) * found.vectors
    loaded, kept, elements = 0, 0, 0
    for operand in found.operands:
        count = prod(s for d, s in sizes.items() if d in operand.moves)
        count *= found.vectors if operand.is_vector else 1
        loaded += count
        elements += count * (found.lanes if operand.is_vector else 1)
        # a vector that one update needs is an operand in memory
        kept += count if operand.is_vector and not operand.moves >= sizes.keys() else 0
    if vectors + kept + SPARE > target.registers:
        return None
    cycles = max(vectors / PER_CYCLE, loaded / PER_CYCLE, LATENCY)
    each = (cycles + OVERHEAD * vectors / found.steps) / vectors
    transfer = _transfer(found, sizes, target) / (vectors * found.steps)
    return _Tile(dict(sizes), transfer, each, loaded / vectors, elements / vectors)


def _transfer(found: _Sum, sizes: Mapping[int, int], target: Target) -> float:
    """Cycles in which a tile's operands come from beyond the first-level cache.

    What an operand had in the tile before is there again where the loop between does not move it:
    from the cache that holds all that the iterations inside of that loop touch. What no loop comes
    back to is where the whole array fits.
    """
    lengths = {d: found.lengths[d] or _MANY for d in found.results}
    trips = {d: -(-length // sizes.get(d, 1)) for d, length in lengths.items()}
    inward = [d for d in reversed(_order_of_tiles(found, target.l2_bytes)) if trips[d] > 1]
    costs = costs_of(target)
    caches = (target.l1_bytes, target.l2_bytes, target.last_bytes)
    #: cycles per byte from the first cache, the second, the last, and memory
    each = (0.0, *(1 / rate for rate in costs.bandwidth))

    def touched(operand: _Operand, loops: Sequence[int]) -> float:
        whole = {d: lengths[d] for d in loops}
        return min(operand.bytes, _box_bytes(found, operand, {**sizes, **whole}))

    def from_cache(size: float) -> float:
        return each[next((k for k, room in enumerate(caches) if size <= room), len(caches))]

    total = 0.0
    for operand in found.operands:
        share, per_byte = 1.0, 0.0
        for k, d in enumerate(inward):
            if d not in operand.moves:
                inside = sum(touched(other, inward[:k]) for other in found.operands)
                per_byte += share * (1 - 1 / trips[d]) * from_cache(inside)
                share /= trips[d]
        per_byte += share * from_cache(max(operand.bytes, target.l1_bytes + 1))
        total += per_byte * touched(operand, ())
    return total


def _box_bytes(found: _Sum, operand: _Operand, sizes: Mapping[int, int]) -> int:
    """Bytes of an operand that a tile reads in its whole sums: the box around its elements."""
    counts = {**{d: found.lengths[d] or 1 for d in found.sums}, **sizes,
              found.columns: found.vectors * found.lanes}  # fmt: skip
    extents = (1 + sum(abs(s) * (counts.get(d, 1) - 1) for d, s in each.items())
               for each in operand.steps)  # fmt: skip
    return prod(extents) * found.element_bytes


# -- the plan -----------------------------------------------------------------------------------


def _order_of_tiles(found: _Sum, cache: int) -> tuple[int, ...]:
    """The dimensions of the results from the outside in, so that no operand comes from memory
    more often than need be.

    What moves with inner loops alone is read again in each iteration of outer ones. In the order
    of the results that is the operand of rows and columns; where it is too large for the
    second-level cache, and all others fit, its own loops go outside, but the last of several, in
    whose iterations a part of the others is used again.
    """
    large = [o for o in found.operands if o.bytes > cache]
    if len(large) != 1 or sum(o.bytes for o in found.operands if o not in large) > cache:
        return found.results
    own = [d for d in found.results if d in large[0].moves]
    others = [d for d in found.results if d not in large[0].moves]
    return (*own[:-1], *others, *own[-1:]) if len(own) > 1 else (*own, *others)


def _tiled(plan: Plan, found: _Sum, tile: _Tile, cache: int) -> tuple[Plan, str]:
    """The plan with the tile, and the name of the loop that is marked."""
    statement = plan.program.copies[found.copy].statement
    host = _host(plan.program, found)
    around = {d: _loop(plan.program, *at).name for d, at in _homes(found, host).items()}
    space = host.copy if host is not None else found.copy
    names = {d: find_loop(plan.program, loop).iterator for d, loop in around.items()}
    sizes = {names[d]: size for d, size in tile.sizes.items()}
    plan = plan.tile(space, **sizes)
    tiles = {d: path_to(plan.program, around[d])[-1] for d in tile.sizes}
    outside = [_tile_loop(plan.program, space, around[d]) if d in tiles else around[d]
               for d in _order_of_tiles(found, cache)]  # fmt: skip
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
    loops = {d: _loop(plan.program, copy, d) for d in range(len(statement.iterators))}
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


def _homes(found: _Sum, host: Host | None) -> dict[int, tuple[str, int]]:
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


def _host(program: ScheduledProgram, found: _Sum) -> Host | None:
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


def _loop(program: ScheduledProgram, copy: str, dim: int) -> PlanLoop:
    """The loop whose value is a dimension of a copy's statement."""
    wanted = program.copies[copy].outer + dim
    path = program.places[copy].loops
    return next(loop for loop in path if dimension_of(program, copy, loop) == wanted)


def _tile_loop(program: ScheduledProgram, copy: str, point: str) -> str:
    """The innermost loop over blocks of a point loop's dimension."""
    path = program.places[copy].loops
    dim = dimension_of(program, copy, find_loop(program, point))
    assert dim is not None
    return [
        loop.name
        for loop in path
        if loop.values[copy].involves_dims(dim_type.in_, dim, 1)
        and dimension_of(program, copy, loop) is None
    ][-1]


def _apart(plan: Plan, copy: str, at: str) -> Plan:
    """The update in a nest of its own inside the tile's loop."""
    while True:
        path = plan.program.places[copy].loops
        level = next(k for k, loop in enumerate(path) if loop.name == at)
        shared = [loop for loop in path[level + 1 :] if len(copies_in(loop)) > 1]
        if not shared:
            return plan
        inside = copies_in(shared[0])
        position = inside.index(copy)
        plan = plan.distribute(
            shared[0].name, at=inside[position] if position else inside[position + 1]
        )
