"""Flow through packed buffers: who reads a packed element reads what the pack read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import StorageTooSmallError
from polyopt.isl import union_all

if TYPE_CHECKING:
    from polyopt.isl import UnionMap
    from polyopt.transform.schedule.program import ScheduledProgram


def through_packs(program: ScheduledProgram, raw: UnionMap) -> UnionMap:
    """The flow with packs seen through: who reads a packed element reads what the pack read."""
    fills = {name for name, copy in program.copies.items() if copy.fills}
    if not fills:
        return raw
    reads = [t for t in program.reads if t.host in fills]
    writes = [t for t in program.writes if t.host in fills]
    link = union_all(
        one.at_host.apply_range(other.at_host.reverse())
        for one in reads
        for other in writes
        if one.host == other.host
    )
    read_events = union_all(t.at_host for t in reads).domain()
    write_events = union_all(t.at_host for t in writes).domain()
    out_of = raw.intersect_domain(write_events)
    _check_same_element(program, out_of)
    into = raw.intersect_range(read_events)
    rest = raw.subtract(out_of).subtract(into)
    return rest.union(into.apply_range(link).apply_range(out_of)).coalesce()


def _check_same_element(program: ScheduledProgram, out_of: UnionMap) -> None:
    """A read from a packed buffer finds the very element that it asks for."""
    element = union_all(t.element for t in (*program.writes, *program.reads))
    pairs = out_of.apply_domain(element).apply_range(element)
    if not pairs.is_subset(pairs.domain().identity()):
        message = "a packed buffer holds another element than the one read from it"
        raise StorageTooSmallError(message, hint="leave out folds of a packed array")
