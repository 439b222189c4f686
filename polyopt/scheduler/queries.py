"""What the steps of the search ask of a plan: its groups, its loops, and whether it is legal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.ir.block import Block
from polyopt.isl import dim_type
from polyopt.transform.annotations.reassociate import accumulation, is_rounded
from polyopt.transform.legality.parallel import check_loop
from polyopt.transform.legality.proof import accepts
from polyopt.transform.schedule.query import find_loop, path_to
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from polyopt.ir.scop import Statement
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram


def in_groups(program: ScheduledProgram) -> set[str]:
    """The spaces that have producers in their loops already."""
    return {
        program.copies[name].statement.array
        for name, place in program.places.items()
        if not program.copies[name].outer
        and any(program.copies[c].outer for n in place.loops[:1] for c in copies_in(n))
    }


def next_root(program: ScheduledProgram, done: set[str]) -> str | None:
    """The last space in textual order that is a root still: not fused into another."""
    done = done | in_blocks(program)
    spaces = [program.copies[name].statement.array for name in program.places
              if not program.copies[name].outer]  # fmt: skip
    open_ = [space for space in dict.fromkeys(reversed(spaces)) if space not in done]
    return open_[0] if open_ else None


def in_blocks(program: ScheduledProgram) -> set[str]:
    """The arrays that a nest computes in register blocks, or in squares: it stays as it is."""
    return {
        program.copies[name].statement.array
        for name, place in program.places.items()
        if any(loop.mark in {"register_tile", "vector"} for loop in place.loops)
    }


def producers_of(program: ScheduledProgram, spaces: set[str]) -> list[str]:
    """Temporary arrays that the spaces read and that nests of their own write, latest first."""
    read = {
        array
        for host in program.places
        if program.copies[host].statement.array in spaces
        for array in program.arrays_read(host)
    }
    order = [
        program.copies[name].statement.array
        for name in program.places
        if not program.copies[name].outer
    ]
    wanted = [a for a in dict.fromkeys(reversed(order)) if a in read and a not in spaces]
    blocks = in_blocks(program)
    return [a for a in wanted if program.scop.array(a).role == "temp" and a not in blocks]


def is_ready(program: ScheduledProgram, producer: str, inside: set[str]) -> bool:
    """Whether every reader of the producer is in the group already."""
    readers = {program.copies[host].statement.array for host in program.readers(producer)}
    return readers - {producer} <= inside


def has_register_tiles(plan: Plan) -> bool:
    """Whether some sums of a plan are kept in registers, a block at a time."""
    return any(loop.mark == "register_tile" for loop in loops_of(plan.program.tree))


def is_proven(plan: Plan) -> bool:
    """Whether the proof accepts a plan."""
    try:
        plan.prove()
    except UserError:
        return False
    return True


def is_legal(plan: Plan) -> bool:
    """Whether the proof would accept a plan, which may be one of many: sooner known."""
    return accepts(plan.program, plan.original)


def is_free(plan: Plan, loop: str) -> bool:
    """Whether the iterations of a loop are independent."""
    try:
        checked(plan.parallelize(loop), loop)
    except UserError:
        return False
    return True


def checked(plan: Plan, loop: str) -> Plan:
    """A plan in which a loop got a mark. Raises ``PolyoptError`` where a dependence forbids it."""
    check_loop(plan.program, find_loop(plan.program, loop))
    return plan


def free_reductions(statements: Iterable[Statement], model: SearchContext) -> list[str]:
    """Names of the statements that are reductions whose order is free: those of integers are the
    same in any order."""
    return sorted(
        {
            s.name
            for s in statements
            if accumulation(s) is not None and (model.reassociate or not is_rounded(s))
        }
    )


def contiguous_loop(program: ScheduledProgram, copy: str) -> PlanLoop | None:
    """The innermost loop around a copy that walks the last dimension of what it writes."""
    statement = program.copies[copy].statement
    iterator = last_iterator(statement)
    if iterator is None:
        return None
    wanted = program.copies[copy].outer + iterator
    found = [
        loop
        for loop in program.places[copy].loops
        if loop.values[copy].involves_dims(dim_type.in_, wanted, 1) and not _is_block(loop, copy)
    ]
    if found and not any(
        isinstance(program.copies[c].statement.value, Block) for c in found[-1].copies
    ):
        return found[-1]
    return None


def _is_block(loop: PlanLoop, copy: str) -> bool:
    """Whether the loop's value is a quotient."""
    return any(aff.dim(dim_type.div) > 0 for _, aff in loop.values[copy].get_pieces())


def last_iterator(statement: Statement) -> int | None:
    """The innermost iterator that the last subscript of the write moves with."""
    if not statement.index:
        return None
    form = statement.index[-1].form
    count = len(statement.iterators)
    moves = [i for i in range(count) if form.involves_dims(dim_type.in_, i, 1)]
    return moves[-1] if moves else None


def widen_locals(plan: Plan, loop: PlanLoop) -> Plan:
    """Buffers private to an iteration of the loop become private to the loop around it."""
    path = path_to(plan.program, loop.name)
    outer = path[-2].name if len(path) > 1 else ""
    for store in plan.program.stores:
        if store.at == loop.name:
            plan = plan.store(store.array, at=outer)
    return plan


def narrow_locals(plan: Plan, legal: Callable[[Plan], bool]) -> Plan:
    """Locals private to an iteration of the innermost loop around all that uses them: where loops
    have changed places they may have been widened, and lie in memory for nothing."""
    for store in plan.program.stores:
        if not plan.scop.array(store.array).private:
            continue
        around = loops_around_uses(plan.program, store.array)
        if around and around[-1].name != store.at:
            try:
                changed = plan.store(store.array, at=around[-1].name)
            except UserError:
                continue
            plan = changed if legal(changed) else plan
    return plan


def loops_around_uses(program: ScheduledProgram, array: str) -> list[PlanLoop]:
    """The loops around all copies that use an array, from the outside in."""
    users = [
        place.loops
        for name, place in program.places.items()
        if array == program.copies[name].statement.array or array in program.arrays_read(name)
    ]
    shared: list[PlanLoop] = []
    for level in zip(*users, strict=False) if users else ():
        if any(loop.name != level[0].name for loop in level):
            break
        shared.append(level[0])
    return shared
