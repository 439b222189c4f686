"""What the copies of a plan are: instances that the source has, with the values that it gives them.

Dataflow says which instance a value comes from. That the instance exists, and that a copy computes
what its statement does, is shown here.

*Requires* of a copy: its statement is one of the source's, the same object, and every ``C[d]``
stands for an instance in that statement's domain. Of a pack: it copies each element to its own
place in the buffer, after the operations that all its readers would do first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import IllegalScheduleError, Witness
from polyopt.ir.block import Block
from polyopt.ir.expr import Affine, Expr, Load, loads, payload, same_expr
from polyopt.isl import affine_var, dim_type, instance_of, tuple_name
from polyopt.memo import memo

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop, Statement
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import ScheduledStatement


def check_copies(program: ScheduledProgram) -> None:
    """Raise ``IllegalScheduleError`` for a copy that is not what its source has there, and for a
    buffer that is two."""
    packed = {program.copies[name].fills for name in program.places}
    holds: dict[str, str] = {}
    for store in program.stores:
        if store.name in holds:
            message = f"{store.name} holds elements of {holds[store.name]} and of {store.array}"
            raise IllegalScheduleError(message, hint="each buffer has a name of its own")
        holds[store.name] = store.array
        if store.above and store.name not in packed:
            message = f"{store.name} holds results of operations that nothing has done"
            raise IllegalScheduleError(message, hint="pack(..., scaled=True) makes such buffers")
    for name in program.places:
        copy = program.copies[name]
        if copy.fills:
            _check_pack(program, copy)
        _check_instances(copy, program.scop)


@memo
def _check_instances(copy: ScheduledStatement, scop: Scop) -> None:
    statement = copy.statement
    if not copy.fills and not any(statement is known for known in scop.statements):
        message = f"{copy.name} computes something else than the source's {statement.name}"
        raise IllegalScheduleError(message, span=statement.span)
    beyond = copy.instances.intersect_params(scop.context).subtract(statement.domain)
    if beyond.is_empty():
        return
    found = instance_of(beyond)
    witnesses = ()
    if found is not None and not copy.fills:
        here = (tuple_name(beyond), found[1])
        witnesses = (Witness("instance", here, here, found[2]),)
    message = f"{copy.name} runs instances that {statement.name} does not have"
    raise IllegalScheduleError(message, witnesses=witnesses, span=statement.span)


def _check_pack(program: ScheduledProgram, copy: ScheduledStatement) -> None:
    """A pack's buffer holds of each element what its readers would make of it first."""
    statement = copy.statement
    store = next((s for s in program.stores if s.name == copy.fills), None)
    element = [node for node in loads(statement.value) if node.array == statement.array]
    plain = len(element) == 1 and _is_identity(copy, statement.index)
    if store is None or store.array != statement.array or not plain:
        raise _no_pack(copy)
    around = {loop.name for loop in program.places[copy.name].loops}
    if store.at and store.at not in around:  # its readers have a buffer of another loop
        raise _no_pack(copy)
    if not _is_identity(copy, element[0].index):
        raise _no_pack(copy)
    for reader in program.scop.statements:
        for access, load in _reads(reader):
            read = not store.refs or access in store.refs
            if load.array != store.array or not read:
                continue
            made = _same_made(reader, load, copy, store.above)
            if not made and _uses(program, access, store.name):
                raise _no_pack(copy)


def _no_pack(copy: ScheduledStatement) -> IllegalScheduleError:
    message = f"{copy.name} fills its buffer with something else than what is read from it"
    return IllegalScheduleError(message, span=copy.statement.span)


def _is_identity(copy: ScheduledStatement, index: tuple[Expr, ...]) -> bool:
    """Whether subscripts are the statement's own iterators."""
    space = copy.statement.space
    return len(index) == space.dim(dim_type.set) and all(
        isinstance(part, Affine) and part.form.is_equal(affine_var(space, level))
        for level, part in enumerate(index)
    )


def _reads(reader: Statement) -> list[tuple[str, Load]]:
    """Each load of a statement with the name of its reference."""
    refs = [access.ref for access in reader.reads]
    return list(zip(refs, loads(reader.value), strict=True))


def _uses(program: ScheduledProgram, ref: str, buffer: str) -> bool:
    """Whether a reference reads from a buffer anywhere."""
    return any(
        touch.access.ref == ref and touch.scratch is not None and touch.scratch.name == buffer
        for touch in program.reads
    )


def _same_made(reader: Statement, load: Load, copy: ScheduledStatement, above: int) -> bool:
    """Whether a pack's value is what the reader makes of a load in so many operations."""
    path = _path(reader.value, load) if not isinstance(reader.value, Block) else [load]
    if above >= len(path):
        return False
    return _same(path[above], copy.statement.value, load)


def _path(value: Expr, load: Load) -> list[Expr]:
    """The load and what is above it, up to the whole value; nothing where it is not there."""
    if value is load:
        return [value]
    for child in value.children:
        inner = _path(child, load)
        if inner:
            return [*inner, value]
    return []


def _same(one: Expr, other: Expr, load: Load) -> bool:
    """Whether two values are the same over an element, which the one has as ``load``."""
    if one is load:
        return isinstance(other, Load) and other.array == load.array
    if not any(node is load for node in loads(one)):
        return same_expr(one, other)
    alike = type(one) is type(other) and one.type == other.type and payload(one) == payload(other)
    if not alike or len(one.children) != len(other.children):
        return False
    return all(_same(a, b, load) for a, b in zip(one.children, other.children, strict=True))
