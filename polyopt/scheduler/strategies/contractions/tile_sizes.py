"""Sizes of register tiles: loads weighed against updates, and bytes against bandwidth.

A tile of results costs, per update of a vector, the cycles of its multiply-adds or of its loads,
whichever are more, what starting and storing it takes, and the bytes that it gets from beyond the
first-level cache. Tiles that leave partial ones cost the mean of both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

from polyopt.scheduler.model.machine import costs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.codegen.target import Target

#: updates that run until one is done, and updates and loads of a cycle
LATENCY, PER_CYCLE = 4, 2
#: cycles per vector of a tile for starting and storing it
OVERHEAD = 3.0
#: dimensions of a tile beside its row: channels, rows and columns of a convolution, of which none
#: may have a divisor that fills the registers alone
_MOST_TILED = 3
#: whole tiles, partial ones along two dimensions, and along both: each is code of its own
_MOST_PARTS = 4
#: iterations of a loop whose number is not known
_MANY = 1 << 16
#: registers that addresses' parts and elements of operands that are no vectors take
SPARE = 1


@dataclass(frozen=True)
class Operand:
    """A load beside the target's: the dimensions it moves with, and whether it is a vector."""

    moves: frozenset[int]
    #: per subscript, by how much each dimension that moves it does
    steps: tuple[Mapping[int, int], ...]
    is_vector: bool
    #: of the whole array
    bytes: int


@dataclass(frozen=True)
class Sum:
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
    operands: tuple[Operand, ...]
    #: registers of an update besides its accumulator and the operands that stay: a product that is
    #: no part of a multiply-add, and a word in all lanes
    temporaries: int = 0


@dataclass(frozen=True)
class RegisterTile:
    """How far each tiled dimension goes, and what that costs."""

    sizes: Mapping[int, int]
    #: per update of a vector: cycles in which operands come from beyond the first-level cache,
    #: cycles that it takes else, loads, and elements loaded
    transfer: float
    cycles: float
    loads: float
    elements: float


def best_tile(found: Sum, target: Target) -> RegisterTile | None:
    """The cheapest tile of a few dimensions that the registers hold, of several the longest
    along inner ones; ``None`` where no tile lets a load serve several results."""
    tiles = [t for sizes in _sizes(found, target) if (t := _weighed(found, sizes, target))]
    plain = _weighed(found, {}, target)
    best: RegisterTile | None = None
    # bytes take time to count: no longer than another may still be better
    for tile in sorted(tiles, key=lambda tile: tile.cycles):
        if best is not None and _cost(tile) > _cost(best):
            break
        counted = replace(tile, transfer=_transfer_of(found, tile.sizes, target))
        if best is None or _rank(found, counted) < _rank(found, best):
            best = counted
    if best is None or (plain is not None and best.loads >= plain.loads):
        return None
    return best


def _cost(tile: RegisterTile) -> float:
    return round(max(tile.cycles, tile.transfer), 2)


def _rank(found: Sum, tile: RegisterTile) -> tuple[float, ...]:
    inner = (-tile.sizes.get(d, 1) for d in reversed(found.results))
    return _cost(tile), round(tile.cycles, 2), len(_parts(found, tile.sizes)), tile.elements, *inner


def _sizes(found: Sum, target: Target) -> Iterator[dict[int, int]]:
    """Tiles of one to three dimensions, with at most two that leave partial ones."""
    lengths = {d: found.lengths[d] for d in reversed(found.results)}
    ways = {
        d: range(2, min(length + 1, target.registers))
        for d, length in lengths.items()
        if length is not None
    }
    for count in range(1, _MOST_TILED + 1):
        for dims in combinations(ways, count):
            for sizes in _products([ways[d] for d in dims], target.registers - 1):
                tile = dict(zip(dims, sizes, strict=True))
                if len(_parts(found, tile)) <= _MOST_PARTS:
                    yield tile


def _products(ways: Sequence[Sequence[int]], most: int) -> Iterator[tuple[int, ...]]:
    """A number of each, of which the product is at most ``most``."""
    if not ways:
        yield ()
        return
    for first in ways[0]:
        if first > most:
            return
        yield from ((first, *others) for others in _products(ways[1:], most // first))


def _parts(found: Sum, sizes: Mapping[int, int]) -> list[tuple[float, dict[int, int]]]:
    """Whole tiles and partial ones: how many there are of each extents."""
    parts: list[tuple[float, dict[int, int]]] = [(1.0, {})]
    for d, size in sizes.items():
        whole, rest = divmod(found.lengths[d] or size, size)
        ways = [(whole, size), *([(1, rest)] if rest else [])]
        parts = [(n * count, {**part, d: each}) for n, part in parts for count, each in ways]
    return parts


def _weighed(found: Sum, sizes: Mapping[int, int], target: Target) -> RegisterTile | None:
    """What a tile costs, the mean over whole and partial ones, but for the bytes that it moves;
    ``None`` where it needs more registers than there are."""
    parts = _parts(found, sizes)
    total = sum(count * prod(part.values()) for count, part in parts)
    cycles = loads = elements = 0.0
    for count, part in parts:
        one = _weighed_part(found, part, target)
        if one is None:
            return None
        share = count * prod(part.values()) / total
        cycles, loads, elements = (
            mean + share * own for mean, own in zip((cycles, loads, elements), one, strict=True)
        )
    return RegisterTile(dict(sizes), 0.0, cycles, loads, elements)


def _weighed_part(
    found: Sum, sizes: Mapping[int, int], target: Target
) -> tuple[float, float, float] | None:
    """Per update of a vector of one tile: cycles, loads and elements loaded."""
    vectors = prod(sizes.values()) * found.vectors
    loaded, kept, elements = 0, 0, 0
    for operand in found.operands:
        count = prod(s for d, s in sizes.items() if d in operand.moves)
        count *= found.vectors if operand.is_vector else 1
        loaded += count
        elements += count * (found.lanes if operand.is_vector else 1)
        # a vector that one update needs is an operand in memory
        kept += count if operand.is_vector and not operand.moves >= sizes.keys() else 0
    if vectors + kept + SPARE + found.temporaries > target.registers:
        return None
    cycles = max(vectors / PER_CYCLE, loaded / PER_CYCLE, LATENCY)
    each = (cycles + OVERHEAD * vectors / found.steps) / vectors
    return each, loaded / vectors, elements / vectors


def _transfer_of(found: Sum, sizes: Mapping[int, int], target: Target) -> float:
    """Cycles per update of a vector in which operands come from beyond the first-level cache: the
    mean over whole tiles and partial ones."""
    parts = _parts(found, sizes)
    cycles = sum(count * _transfer(found, part, target) for count, part in parts)
    updates = sum(count * prod(part.values()) for count, part in parts)
    return cycles / (updates * found.vectors * found.steps)


def _transfer(found: Sum, sizes: Mapping[int, int], target: Target) -> float:
    """Cycles in which a tile's operands come from beyond the first-level cache.

    What an operand had in the tile before is there again where the loop between does not move it:
    from the cache that holds all that the iterations inside of that loop touch. What no loop comes
    back to is where the whole array fits.
    """
    lengths = {d: found.lengths[d] or _MANY for d in found.results}
    trips = {d: -(-length // sizes.get(d, 1)) for d, length in lengths.items()}
    inward = [d for d in reversed(order_of_tiles(found, target.l2_bytes)) if trips[d] > 1]
    costs = costs_of(target)
    caches = (target.l1_bytes, target.l2_bytes, target.last_bytes)
    #: cycles per byte from the first cache, the second, the last, and memory
    each = (0.0, *(1 / rate for rate in costs.bandwidth))

    def touched(operand: Operand, loops: Sequence[int]) -> float:
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


def _box_bytes(found: Sum, operand: Operand, sizes: Mapping[int, int]) -> int:
    """Bytes of an operand that a tile reads in its whole sums: the box around its elements."""
    counts = {**{d: found.lengths[d] or 1 for d in found.sums}, **sizes,
              found.columns: found.vectors * found.lanes}  # fmt: skip
    extents = (1 + sum(abs(s) * (counts.get(d, 1) - 1) for d, s in each.items())
               for each in operand.steps)  # fmt: skip
    return prod(extents) * found.element_bytes


def order_of_tiles(found: Sum, cache: int) -> tuple[int, ...]:
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
