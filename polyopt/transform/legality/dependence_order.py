"""Whether a program keeps its source's dependences in order, which is sooner known than dataflow.

Where each instance of the source runs once, on the source's own arrays, dataflow is the source's if
every write stays before the reads of its value (flow) and before the next write of its element
(output), and every read before the next write of what it read (anti): then the writes of an element
follow each other as they did, and a read lies between the same two of them. Where a flow is turned
around, dataflow is another, whatever the storage.

Kennedy and Allen, "Optimizing Compilers for Modern Architectures", 2002, theorem 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.isl import Map, dim_type, maps_of, tuple_name
from polyopt.transform.schedule.tree import copies_at

if TYPE_CHECKING:
    from polyopt.isl import PwAff, UnionMap
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import SchedulePosition

    #: a place's positions in its bodies, and the values of its loops
    Time = tuple[tuple[int, ...], tuple[PwAff, ...]]


class _Dependences:
    """``{ C[d] -> C'[d'] }``: the dependences of a source between the copies of its statements."""

    def __init__(self, program: ScheduledProgram, parts: UnionMap) -> None:
        deps = program.dependences
        flow, anti, output = (
            maps_of(pairs.apply_domain(parts).apply_range(parts).coalesce())
            for pairs in (deps.flow, deps.value_anti, deps.value_output)
        )
        self.flow, self.others = flow, [*anti, *output]
        #: by the identity of what they are made of, which is kept: the pairs, the two times
        self.shown: dict[tuple[object, ...], tuple[tuple[object, ...], bool]] = {}


def keeps_order(program: ScheduledProgram) -> bool | None:
    """Whether dataflow stays what it was; ``None`` where the order alone does not tell."""
    deps = _dependences(program)
    if deps is None:
        return None
    if not all(_is_kept(program, deps, pairs) for pairs in deps.flow):
        return False
    if program.stores:
        return None
    return all(_is_kept(program, deps, pairs) for pairs in deps.others) or None


def _dependences(program: ScheduledProgram) -> _Dependences | None:
    """``None`` where some instance of the source runs twice, or never."""
    copies = [program.copies[name] for name in program.places]
    known = program.dependences.found
    key = ("order", *map(id, copies))
    if key not in known:
        context = program.scop.context
        parts = copies_at(copies).intersect_params(context)
        runs = program.scop.domain.intersect_params(context)
        once = parts.is_bijective() and runs.is_subset(parts.domain())
        known[key] = copies, _Dependences(program, parts) if once else None
    return known[key][1]


def _is_kept(program: ScheduledProgram, deps: _Dependences, pairs: Map) -> bool:
    """Whether the first of each pair comes before the second."""
    names = tuple_name(pairs, dim_type.in_), tuple_name(pairs, dim_type.out)
    one, other = (_time(program.places[name]) for name in names)
    key = (id(pairs), one[0], other[0], *map(id, one[1]), *map(id, other[1]))
    if key not in deps.shown:
        deps.shown[key] = (one, other), _is_before(pairs, one, other)
    return deps.shown[key][1]


def _time(place: SchedulePosition) -> Time:
    return place.positions, tuple(loop.values[place.copy] for loop in place.loops)


def _is_before(pairs: Map, one: Time, other: Time) -> bool:
    """Level by level: no pair is turned around there, and in the end none is at one time."""
    left, wrapped = pairs.wrap(), Map.universe(pairs.get_space())
    ends = [side.as_pw_multi_aff() for side in (wrapped.domain_map(), wrapped.range_map())]
    for level, (mine, its) in enumerate(zip(one[0], other[0], strict=False)):
        if mine != its:
            return mine < its
        if level == len(one[1]):
            break
        both = zip((one[1][level], other[1][level]), ends, strict=True)
        first, second = (value.pullback_pw_multi_aff(end) for value, end in both)
        if not left.intersect(second.lt_set(first)).is_empty():
            return False
        left = left.intersect(first.eq_set(second))
        if left.is_empty():
            return True
    return False
