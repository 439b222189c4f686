"""Where producers may be computed, and the plan that a choice for each of them makes.

From the outputs backwards: a producer joins the nest of what reads it at the loop that its place
names, or at a loop further out where what reads it stands there; else it is a root. Loops are then
arranged for vectors and threads as in an automatic plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.errors import NotFusableError, PolyoptError, UserError
from polyopt.isl import dim_type
from polyopt.scheduler.context import SearchContext
from polyopt.scheduler.finishing.innermost import arrange
from polyopt.scheduler.model.instances import rolled
from polyopt.scheduler.model.symbolic import block_size
from polyopt.scheduler.queries import is_ready, next_root, producers_of
from polyopt.scheduler.strategies.loop_fusion import join_spaces
from polyopt.scheduler.strategies.sliding_window import moves_with
from polyopt.scheduler.threads.parallelize import parallelize_outer
from polyopt.transform.loops.interchange import perfect_chain
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.query import find_loop, loops_around
from polyopt.transform.schedule.tree import copies_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Scop
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: place -> what it means, from the least memory to the most
PLACES = {
    "inline": "computed at each read, never stored",
    "element": "in the innermost loop, what one iteration reads",
    "sliding": "row by row, in a window of rows",
    "scratch": "tile by tile, in a buffer of the tile's footprint",
    "root": "in a nest of its own, its array stored in full",
}
#: rows and columns of a tile where neither plan nor caller names any
USUAL_TILE = (32, 512)
#: rows of a strip down which windows slide
USUAL_STRIP = 128


@dataclass(frozen=True)
class Layout:
    """A place for each producer, and the sizes of the blocks that places stand in."""

    places: Mapping[str, str]
    #: rows and columns of tiles, for ``scratch``; 0 leaves rows whole
    tile: tuple[int, int] = USUAL_TILE
    #: rows of the strips that windows slide down; 0 for none: one long strip, no threads
    strip: int = USUAL_STRIP

    def with_place(self, producer: str, place: str) -> Layout:
        """The layout with one producer elsewhere."""
        return replace(self, places={**self.places, producer: place})


def producers(scop: Scop) -> tuple[str, ...]:
    """The temporary arrays that some other array is computed from, in textual order."""
    read = {
        access.array
        for statement in scop.statements
        for access in statement.reads
        if access.array != statement.array
    }
    written = dict.fromkeys(s.array for s in scop.statements)
    return tuple(
        name
        for name in written
        if name in read and scop.array(name).role == "temp" and not scop.array(name).private
    )


def place_of(program: ScheduledProgram, producer: str) -> str:
    """The place that a program has a producer in."""
    if producer in program.inlined:
        return "inline"
    copies = program.makers(producer)
    if not any(program.copies[name].outer for name in copies):
        return "root"
    found = program.buffers(producer)
    if not found:
        return "root"
    if found[-1].is_folded:
        return "sliding"
    loops = next(p.loops for n, p in program.places.items() if n in copies)
    at = next((loop for loop in loops if loop.name == found[-1].at), None)
    is_block = at is not None and any(block_size(value) for value in at.values.values())
    return "scratch" if is_block or at is None else "element"


def blocks_of(program: ScheduledProgram) -> tuple[int, ...]:
    """Sizes of the tiles of the last result that has some, rows first; two at most."""
    for name in reversed(list(program.places)):
        # blocks inside those of the same iterator are for registers
        sizes: dict[int, int] = {}
        for along, size in _blocks_at(program, name)[0]:
            sizes.setdefault(along, size)
        if sizes:
            return tuple(sizes.values())[:2]
    return ()


def rows_together(program: ScheduledProgram) -> int:
    """Rows of the blocks that run at once, written out in one loop body; 1 without any."""
    found = [size for name in program.places for _, size in _blocks_at(program, name)[1]]
    return max(found, default=1)


def _blocks_at(
    program: ScheduledProgram, name: str
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Around a result's copy: dimension and size of each block loop, and apart from them those of
    blocks of rows, whose iterations are written out."""
    place, copy = program.places[name], program.copies[name]
    written_out = {_along(loop, name) for loop in place.loops[len(rolled(place)) :]}
    found = [(_along(loop, name), block_size(loop.values[name])) for loop in place.loops]
    blocks = [(along, size) for along, size in found if size and not copy.outer]
    rows = [next((b for b in reversed(blocks) if b[0] == along), None) for along in written_out]
    at_once = [block for block in rows if block is not None]
    return [block for block in blocks if block not in at_once], at_once


def _along(loop: PlanLoop, name: str) -> int:
    """The dimension of a copy that a loop runs along."""
    value = loop.values[name]
    dims = range(value.dim(dim_type.in_))
    return next((d for d in dims if value.involves_dims(dim_type.in_, d, 1)), 0)


def layout_of(plan: Plan) -> Layout:
    """The layout that comes nearest to a plan: its places, and the blocks of its last result."""
    program = plan.program
    places = {name: place_of(program, name) for name in producers(plan.scop)}
    sizes = blocks_of(program)
    strip = sizes[0] if len(sizes) == 1 else USUAL_STRIP
    # strips are no tiles: a buffer of so many whole rows would leave the cache
    tile = USUAL_TILE
    if len(sizes) > 1:
        tile = sizes[0], sizes[1]
    elif len(sizes) == 1 and "scratch" in places.values():
        tile = sizes[0], 0
    return Layout(places, tile, strip)


@dataclass(frozen=True, eq=False)
class Laid:
    """A plan made after a layout, not proven yet."""

    plan: Plan
    #: producer -> why it is not where the layout has it
    elsewhere: Mapping[str, PolyoptError] = field(default_factory=dict[str, PolyoptError])


def lay_out(scop: Scop, layout: Layout, sizes: Mapping[str, int], machine: Target) -> Laid:
    """The plan of a layout, for parameter values ``sizes`` on a machine; it has to be proven.

    Raises ``OutOfBoundsError`` or ``UninitializedError`` for a program that is not sound.
    """
    plan = replace(Plan(scop), checked=False)
    elsewhere: dict[str, PolyoptError] = {}
    for name in reversed(producers(scop)):
        if layout.places.get(name) == "inline":
            try:
                plan = plan.inline(name)
            except UserError as error:
                elsewhere[name] = error
    plan, _ = join_spaces(plan, _accept)
    done: set[str] = set()
    while (root := next_root(plan.program, done)) is not None:
        done.add(root)
        plan = _Group(root, layout, elsewhere).grown(plan)
    model = SearchContext(replace(machine, cores=max(2, machine.cores)), sizes)
    plan, _ = arrange(plan, model, _accept)
    plan, _ = parallelize_outer(plan, model)
    return Laid(replace(plan, checked=True), elsewhere)


def _accept(_: Plan) -> bool:
    """The proof of the whole plan has the last word."""
    return True


@dataclass(frozen=True, eq=False)
class _Group:
    """A root in its blocks, and the producers that join it."""

    root: str
    layout: Layout
    elsewhere: dict[str, PolyoptError]

    def grown(self, plan: Plan) -> Plan:
        """The plan with all that the layout has inside the root's loops."""
        members = self._members(plan.program)
        around = loops_around(plan.program, self.root)
        if not members or not around:
            return plan
        moving = moves_with(plan.program, self.root, around)
        followed = frozenset[str]().union(*(moving.get(m, frozenset()) for m in members))
        lines = [loop for loop in around if loop.name in followed] or list(around)
        try:
            cut = _cut(plan, self.root, [n.name for n in around], [n.name for n in lines],
                       self._blocks(members))  # fmt: skip
        except UserError as error:
            self.elsewhere.update(dict.fromkeys(members, error))
            return plan
        rows = lines[-2] if len(lines) > 1 else lines[-1]
        return self._fused(cut, members, rows.name)

    def _members(self, program: ScheduledProgram) -> list[str]:
        """The producers that may join: every reader is the root or joins too."""
        found: list[str] = []
        while True:
            inside = {self.root, *found}
            ready = [
                p for p in producers_of(program, inside)
                if self.layout.places.get(p, "root") not in {"root", "inline"}
                and is_ready(program, p, inside)
            ]  # fmt: skip
            if not ready:
                return found
            found.append(ready[0])

    def _blocks(self, members: list[str]) -> tuple[int, ...]:
        """Sizes of the blocks from the inside out: columns, rows."""
        wanted = {self.layout.places[m] for m in members}
        if "scratch" in wanted:
            return tuple(reversed(self.layout.tile))
        strip = self.layout.strip if "sliding" in wanted else 0
        return (0, strip) if strip else ()

    def _fused(self, plan: Plan, members: list[str], rows: str) -> Plan:
        loops = loops_around(plan.program, self.root)
        around = [loop.name for loop in loops]
        tiles = [loop.name for loop in loops if loop.blocks_of]
        levels = {
            "element": [(around[-1], "scratch")], "sliding": [(rows, "sliding")],
            "scratch": [(tiles[-1], "scratch")] if tiles else [],
        }  # fmt: skip
        outwards = ["element", "sliding", "scratch"]
        for name in members:
            place = self.layout.places[name]
            tried = [x for p in outwards[outwards.index(place) :] for x in levels[p]]
            for number, (loop, storage) in enumerate(tried):
                try:
                    _check_readers(plan.program, name, loop)
                    plan = plan.fuse(name, into=self.root, at=loop, storage=storage)
                    break
                except UserError as error:
                    if not number:
                        self.elsewhere[name] = error
        return plan


def _check_readers(program: ScheduledProgram, producer: str, loop: str) -> None:
    """Raise ``NotFusableError`` where some reader runs outside the loop and needs the array."""
    inside = copies_in(find_loop(program, loop))
    outside = sorted({program.copies[n].statement.array for n in program.readers(producer)
                      if n not in inside} - {producer})  # fmt: skip
    if outside:
        message = f"{', '.join(outside)} reads {producer} outside of {loop}"
        raise NotFusableError(message, hint="put what reads it further in, or it further out")


def _cut(
    plan: Plan, root: str, around: list[str], lines: list[str], blocks: tuple[int, ...]
) -> Plan:
    """The root's loops with those that producers move with outside, the last two in blocks."""
    order = [*lines, *(name for name in around if name not in lines)]
    if len(order) > 1 and [n.name for n in perfect_chain(plan.program, order)] != order:
        plan = plan.reorder(*order)
    pairs = zip(reversed(lines), blocks, strict=False)
    sizes = {name.rpartition(".")[2]: size for name, size in pairs if size}
    if len(lines) == 1 and blocks and not sizes:
        sizes = {lines[0].rpartition(".")[2]: max(blocks)}
    return plan.tile(root, **dict(reversed(sizes.items()))) if sizes else plan
