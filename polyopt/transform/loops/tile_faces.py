"""Tile hyperplanes in time and space: lines that every dependence crosses one way.

relation: ``{ C[d] -> [slope * time + side * space + shift] }``, one shift per statement; along it
no dependence between iterations of the same outer loops goes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.errors import NotPermutableError, Witness
from polyopt.isl import (
    Map,
    PwAff,
    Set,
    affine_constant,
    affine_var,
    dim_type,
    instance_of,
    integer_val,
    tuple_name,
)
from polyopt.transform.schedule.query import path_to
from polyopt.transform.schedule.tree import PlanLoop, prefix_map

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.transform.schedule.program import ScheduledProgram

#: iterations of the space loop per iteration of time that a face may lean, at most
STEEPEST = 16


@dataclass(frozen=True, eq=False)
class Face:
    """One face: how many iterations of space a tile's side moves in one of time."""

    slope: int
    #: per copy
    shifts: Mapping[str, int]
    #: { C[d] -> [v] }
    values: Mapping[str, PwAff]


@dataclass(frozen=True, eq=False)
class _Edge:
    """A dependence between two copies, as far as it goes in time and space."""

    source: str
    sink: str
    #: { S[i] -> T[j] }
    pairs: Map
    #: { S[i] -> [outer, time, space] } and { T[j] -> [outer, time, space] }
    times: tuple[Map, Map]

    @cached_property
    def distance(self) -> Set:
        """``{ [time, space] }``: how far it goes within one iteration of the loops around."""
        before, after = self.times
        distance = self.pairs.apply_domain(before).apply_range(after).deltas()
        outer, zero = distance.dim(dim_type.set) - 2, integer_val(0)
        for level in range(outer):
            distance = distance.fix_val(dim_type.set, level, zero)
        distance = distance.project_out(dim_type.set, 0, outer)
        return distance.project_out(dim_type.param, 0, distance.dim(dim_type.param)).coalesce()

    def back(self, side: int) -> Map:
        """``{ S[i] -> T[j] }`` that go along the space loop within one iteration of time."""
        before, after = self.times
        together = Map.universe(before.range().get_space().map_from_set())
        last = together.dim(dim_type.in_) - 1
        for level in range(last):
            together = together.equate(dim_type.in_, level, dim_type.out, level)
        one, other = (dim_type.in_, dim_type.out) if side < 0 else (dim_type.out, dim_type.in_)
        together = together.order_lt(one, last, other, last)
        pairs = before.apply_range(together).apply_range(after.reverse())
        found = self.pairs.intersect(pairs)
        return self.pairs if found.is_empty() else found

    def least(self, slope: int, side: int) -> int | None:
        """The least progress along a face; ``None`` where there is none."""
        space = self.distance.get_space()
        progress = _line(affine_var(space, 0), affine_var(space, 1), slope, side, 0)
        found = self.distance.min_val(progress.as_aff())
        return found.to_python() if found.is_int() else None


def faces(program: ScheduledProgram, time: PlanLoop, space: PlanLoop) -> tuple[Face, Face]:
    """The flattest faces leaning with and against the space loop.

    Raises ``NotPermutableError`` where no face leans so that all dependences cross it one way.
    """
    edges = _edges(program, time, space)
    return _face(program, edges, time, space, 1), _face(program, edges, time, space, -1)


def _face(
    program: ScheduledProgram, edges: Sequence[_Edge], time: PlanLoop, space: PlanLoop, side: int
) -> Face:
    blocking: _Edge | None = None
    for slope in range(STEEPEST + 1):
        shifts, blocking = _shifts(space.copies, edges, slope, side)
        if blocking is None:
            values = {
                c: _line(time.values[c], space.values[c], slope, side, shifts[c])
                for c in space.copies
            }
            return Face(slope, shifts, values)
    assert blocking is not None
    raise _refusal(program, blocking, time, space, side)


def _line(time: PwAff, space: PwAff, slope: int, side: int, shift: int) -> PwAff:
    """``slope * time + side * space + shift``."""
    leaning = time.scale_val(integer_val(slope))
    across = space if side > 0 else space.neg()
    return leaning.add(across).add(affine_constant(time.get_domain_space(), shift))


def _shifts(
    copies: Sequence[str], edges: Sequence[_Edge], slope: int, side: int
) -> tuple[dict[str, int], _Edge | None]:
    """The least shifts with which no dependence goes back along a face, or one that does.

    These are longest paths (R. Bellman, "On a routing problem", 1958): a cycle that goes back has
    none.
    """
    shifts = dict.fromkeys(copies, 0)
    progress = [(edge, edge.least(slope, side)) for edge in edges]
    late: _Edge | None = None
    for _ in range(len(copies) + 1):
        late = None
        for edge, least in progress:
            if least is None:
                return shifts, edge
            if shifts[edge.sink] + least < shifts[edge.source]:
                shifts[edge.sink] = shifts[edge.source] - least
                late = edge
        if late is None:
            return shifts, None
    return shifts, late


def _edges(program: ScheduledProgram, time: PlanLoop, space: PlanLoop) -> list[_Edge]:
    """The dependences within one iteration of the loops around both."""
    deps = program.dependences
    order = deps.flow.union(deps.value_anti).union(deps.value_output).coalesce()
    outer = path_to(program, time.name)[:-1]
    #: { S[i] -> [outer, time, space] }
    times = {
        name: program.copies[name].to_instance.as_map().reverse()
        .apply_range(prefix_map(program.copies[name], (*outer, time, space)))
        for name in space.copies
    }  # fmt: skip
    result: list[_Edge] = []
    for source, before in times.items():
        for sink, after in times.items():
            ends = [before.domain().get_space(), after.domain().get_space()]
            pairs = order.extract_map(ends[0].map_from_domain_and_range(ends[1]))
            edge = _Edge(source, sink, pairs, (before, after))
            if not edge.distance.is_empty():
                result.append(edge)
    return result


def _refusal(
    program: ScheduledProgram, edge: _Edge, time: PlanLoop, space: PlanLoop, side: int
) -> NotPermutableError:
    way = "with" if side > 0 else "against"
    message = (
        f"no face of a tile leans {way} {space.name} so that all dependences cross it one way, "
        f"not even at {STEEPEST} iterations for each of {time.name}"
    )
    names = tuple_name(edge.pairs, dim_type.in_), tuple_name(edge.pairs, dim_type.out)
    split = edge.pairs.dim(dim_type.in_)
    found = instance_of(edge.back(side).intersect_params(program.scop.context).wrap().flatten())
    witnesses: tuple[Witness, ...] = ()
    if found is not None:
        _, numbers, sizes = found
        ends = (names[0], numbers[:split]), (names[1], numbers[split:])
        witnesses = (Witness("dependence", *ends, sizes),)
    hint = "tile() and skew() give blocks on a wavefront"
    return NotPermutableError(message, witnesses=witnesses, hint=hint)
