"""Why a proof fails, in the source's terms: the errors, with two instances that clash."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import (
    CoverageError,
    IllegalScheduleError,
    LiveOutError,
    OrderViolatedError,
    StorageTooSmallError,
    Witness,
)
from polyopt.isl import dim_type, instance_of, tuple_name
from polyopt.transform.schedule.printer import describe

if TYPE_CHECKING:
    from polyopt.isl import Map, Set, UnionMap
    from polyopt.transform.schedule.program import ScheduledAccess, ScheduledProgram
    from polyopt.transform.schedule.storage import Scratch


def extra_value(program: ScheduledProgram, extra: Map) -> OrderViolatedError:
    """A read that sees what a statement wrote, where the source has another value."""
    reader = tuple_name(extra, dim_type.out)
    span = None if reader.startswith("end:") else touch_of(program, reader).access.span
    message = "a read would get a value that the original program writes after it, or elsewhere"
    hint = "keep the writer after the read, or store the array in a buffer of its own"
    witnesses = (witness(program, extra, "flow"),)
    return OrderViolatedError(message, witnesses=witnesses, span=span, hint=hint)


def missing_value(program: ScheduledProgram, raw: UnionMap, missing: Map) -> IllegalScheduleError:
    """Why a read does not get its value: never written, overwritten, or written too late.

    ``raw`` is the plan's flow, ``{ W[d] -> R[d, x] }``.
    """
    clash = witness(program, missing, "flow")
    reader = tuple_name(missing, dim_type.out)
    if reader.startswith("end:"):
        message = f"the last value of {reader[4:]} would not be the original one"
        hint = "the array's last writer has to stay the last, and to write to the array itself"
        return LiveOutError(message, witnesses=(clash,), hint=hint)
    touch = touch_of(program, reader)
    array = touch.access.array
    wrong = raw.intersect_range(missing.range().to_union_set())
    span = touch.access.span
    if touch.scratch is None:
        message = f"a read of {array} would run before the write it needs, or after a later one"
        hint = "shift() the reader, or fuse() the producer: it then computes what is needed again"
        return OrderViolatedError(message, witnesses=(clash,), span=span, hint=hint)
    if not wrong.is_empty():
        return overwritten(touch, touch.scratch, clash)
    message = f"a read of {array} in {touch.scratch.name} has no producer instance before it"
    hint = "fuse the producer at this loop or at an outer one, before its consumer"
    return CoverageError(message, witnesses=(clash,), span=span, hint=hint)


def overwritten(touch: ScheduledAccess, scratch: Scratch, clash: Witness) -> StorageTooSmallError:
    """A value that another one takes the place of while it is still needed."""
    message = f"a value of {touch.access.array} is overwritten in {scratch.name} before it is read"
    hint = "make the fold or the scratch larger, or place the buffer at an inner loop"
    return StorageTooSmallError(message, witnesses=(clash,), span=touch.access.span, hint=hint)


def no_room(
    program: ScheduledProgram, touch: ScheduledAccess, scratch: Scratch, outside: Set
) -> StorageTooSmallError:
    """The refusal of a scratch that accesses ``{ R[d, x] }`` leave."""
    message = f"{scratch.name} is too small for the elements of {scratch.array} that a tile uses"
    witnesses = accesses(touch, outside)
    stores = tuple(replace(s, extents=()) for s in program.stores)
    enough = replace(program, stores=stores).scratches[program.scratches.index(scratch)]
    hint = f"{describe(enough)} is enough: it is what store() takes without extents="
    return StorageTooSmallError(message, witnesses=witnesses, span=touch.access.span, hint=hint)


def accesses(touch: ScheduledAccess, events: Set) -> tuple[Witness, ...]:
    """One of some events ``{ R[d, x] }`` in terms of the source: who accesses which element."""
    pairs = touch.to_source.intersect_domain(events).range().unwrap()  # { S[i] -> ref[x] }
    found = instance_of(pairs.wrap().flatten())
    if found is None:
        return ()
    split = pairs.dim(dim_type.in_)
    here = (tuple_name(pairs, dim_type.in_), found[1][:split])
    cell = (touch.access.array, found[1][split:])
    return (Witness("access", here, here, found[2], cell),)


def touch_of(program: ScheduledProgram, reader: str) -> ScheduledAccess:
    """The access whose read events have this name."""
    return next(t for t in program.reads if tuple_name(t.cells, dim_type.in_) == reader)


def witness(program: ScheduledProgram, pairs: Map, kind: str) -> Witness:
    """One clashing pair of ``{ P[j] -> R[d, x] }`` in terms of the source's instances."""
    reader = tuple_name(pairs, dim_type.out)
    source = pairs.domain()
    if reader.startswith("end:"):
        flat = pairs
        sink_name = reader[4:]
    else:
        to_source = touch_of(program, reader).to_source.range_factor_domain()
        flat = pairs.apply_range(to_source)
        sink_name = tuple_name(flat, dim_type.out)
    split = source.dim(dim_type.set)
    found = instance_of(flat.wrap().flatten())
    if found is None:
        return Witness(kind, (tuple_name(source), ()), (sink_name, ()))
    numbers, params = found[1], found[2]
    return Witness(
        kind, (tuple_name(source), numbers[:split]), (sink_name, numbers[split:]), params
    )
