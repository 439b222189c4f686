"""Wavefronts of blocks: their loops run over a simple set around the blocks that there are.

The blocks that a skewed program has are the integer shadow of its instances. isl finds that
exactly, at a cost that grows with the sizes of blocks beyond all bounds. A convex set around it
does as well: loops inside a block that is not there do not run.

relation: ``blocks = { W[w, t, ...] }`` and ``inside = { [w, t, ...] -> C[d] }``
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.ir.type_bounds import without_type_bounds
from polyopt.isl import Set, dim_type
from polyopt.transform.schedule.tree import PlanLoop, copies_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.isl import Map
    from polyopt.transform.schedule.program import ScheduledProgram

#: pieces of a wavefront of which bounds are looked for one by one
_FEW_PARTS = 8


@dataclass(frozen=True, eq=False)
class Wavefront:
    """The block loops of a wavefront, a set around their values, and what a block runs."""

    loops: tuple[PlanLoop, ...]
    #: { W[t] }
    blocks: Set
    #: { [t] -> C[d] } by copy
    inside: Mapping[str, Map]


def is_front(node: PlanLoop) -> bool:
    """Whether a loop goes over sums of blocks of different loops."""
    return any(
        len(pieces := value.get_pieces()) == 1 and pieces[0][1].dim(dim_type.div) > 1
        for value in node.values.values()
    )


def fronts_of(program: ScheduledProgram, root: PlanLoop, name: str) -> Wavefront:
    """The wavefront that starts with a loop, its blocks under a name."""
    loops = [root]
    pieces = (piece for value in root.values.values() for piece in value.get_pieces())
    summed = max((aff.dim(dim_type.div) for _, aff in pieces), default=0)
    while len(loops[-1].body) == 1:
        (child,) = loops[-1].body
        if isinstance(child, str) or not _is_block(child):
            break
        # blocks inside those of the wavefront are separated as isl does it
        if child.separate and len(loops) >= summed:
            break
        loops.append(child)
    prefixes = {name: _prefix(program, name, len(loops)) for name in copies_in(root)}
    around: Set | None = None
    for prefix in prefixes.values():
        part = prefix.range().remove_divs()
        around = part if around is None else around.union(part)
    assert around is not None
    hull = Set.from_basic_set(around.simple_hull())
    # bounds that no two parts share are lost in it, if need be all; to look for others takes long
    # where there are many parts
    if not hull.is_bounded() and around.n_basic_set() <= _FEW_PARTS:
        hull = Set.from_basic_set(around.bounded_simple_hull().remove_divs())
    around = hull if hull.is_bounded() else around
    inside = {name: prefix.reverse() for name, prefix in prefixes.items()}
    return Wavefront(tuple(loops), around.set_tuple_name(name), inside)


def _is_block(loop: PlanLoop) -> bool:
    return any(aff.dim(dim_type.div) > 0 for v in loop.values.values() for _, aff in v.get_pieces())


def _prefix(program: ScheduledProgram, name: str, depth: int) -> Map:
    prefix = without_type_bounds(program.prefixes[name], program.scop.context)
    return prefix.project_out(dim_type.out, depth, prefix.dim(dim_type.out) - depth)
