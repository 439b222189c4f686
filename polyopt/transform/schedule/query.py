"""Finding loops, copies and spaces by the names people use."""

from __future__ import annotations

import difflib
from itertools import takewhile
from typing import TYPE_CHECKING

from polyopt.errors import UnknownNameError, given
from polyopt.isl import dim_type
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import ScheduledStatement, Tree


def find_loop(program: ScheduledProgram, name: str) -> PlanLoop:
    """The loop called ``name``: ``out.y`` is loop y around all statements that write ``out``.

    Raises ``UnknownNameError`` with the names there are.
    """
    check_name("loop", name)
    everything = list(loops_of(program.tree))
    exact = [loop for loop in everything if loop.name == name]
    if exact:
        return exact[0]
    owner, _, iterator = name.rpartition(".")
    around = [
        loop for loop in everything if loop.iterator == iterator and _belongs(program, loop, owner)
    ]
    if len(around) == 1:
        return around[0]
    names = [loop.name for loop in (around or everything)]
    if around:
        message = f"{name!r} means several loops"
        raise UnknownNameError(message, hint="say one of " + ", ".join(names))
    raise unknown("loop", name, names)


def check_name(what: str, name: object) -> None:
    """Raise ``UnknownNameError`` for what is no name at all."""
    if not isinstance(name, str):
        article = "an" if what[0] in "aeiou" else "a"
        message = f"{article} {what} is known by its name, not by {given(name)}"
        raise UnknownNameError(message, hint='write names as texts: "out", "out.y"')


def _belongs(program: ScheduledProgram, loop: PlanLoop, owner: str) -> bool:
    return any(
        owner in {copy, program.copies[copy].statement.name, program.copies[copy].statement.array}
        for copy in copies_in(loop)
    )


def copies_of(program: ScheduledProgram, space: str) -> tuple[str, ...]:
    """The copies of a computation space: an array's writers, or one statement or copy.

    Raises ``UnknownNameError`` with the names there are.
    """
    check_name("computation space", space)
    found = tuple(
        name
        for name in program.places
        if space
        in {name, program.copies[name].statement.name, program.copies[name].statement.array}
    )
    if found:
        return found
    known = {program.copies[name].statement.array for name in program.places}
    raise unknown("computation space", space, sorted(known | set(program.places)))


def loops_around(program: ScheduledProgram, space: str) -> tuple[PlanLoop, ...]:
    """The loops that all copies of a space share, from the outside in."""
    paths = [program.places[name].loops for name in copies_of(program, space)]
    shared: list[PlanLoop] = []
    for level in zip(*paths, strict=False):
        if any(loop.name != level[0].name for loop in level):
            break
        shared.append(level[0])
    return tuple(shared)


def loop_of_space(program: ScheduledProgram, space: str, iterator: str) -> PlanLoop:
    """The loop ``iterator`` around all copies of a space, else around any of them."""
    for loop in loops_around(program, space):
        if loop.iterator == iterator:
            return loop
    return find_loop(program, f"{space}.{iterator}")


def fusion_loop(program: ScheduledProgram, into: str, at: str | None, storage: str) -> str:
    """Where to fuse into a space: at the innermost block loop; a sliding window moves along the
    loop after it, and a register lives in the innermost loop."""
    if at is not None:
        return find_loop(program, at).name
    loops = loops_around(program, into)
    if not loops:
        return find_loop(program, into).name
    around = [loop.name for loop in loops]
    blocks = [loop.name for loop in loops if loop.blocks_of]
    if storage == "register":
        return around[-1]
    after = around[around.index(blocks[-1]) + 1 :] if blocks else around
    if storage == "sliding" and after:
        return after[0]
    return blocks[-1] if blocks else around[0]


def path_to(program: ScheduledProgram, loop: str) -> tuple[PlanLoop, ...]:
    """The loops from the root down to a loop, including it."""
    return program.paths.get(loop, ())


def shared_from(path: Sequence[PlanLoop]) -> tuple[PlanLoop, ...]:
    """The loops of a path from the root that threads share: the outermost parallel one, and those
    directly inside of it, one by one, which are parallel too; none inside of a vector loop."""
    before = list(takewhile(lambda loop: loop.mark != "parallel", path))
    if any(loop.mark == "vector" for loop in before):
        return ()
    found = list(path[len(before) : len(before) + 1])
    for loop in path[len(before) + 1 :]:
        if loop.mark != "parallel" or len(found[-1].body) > 1:
            break
        found.append(loop)
    return tuple(found)


def loop_over_blocks(program: ScheduledProgram, loop: str) -> PlanLoop:
    """The innermost loop around a loop that goes over blocks of it, as splitting and tiling make
    one. Raises ``UnknownNameError`` where there is none."""
    node = find_loop(program, loop)
    for outer in reversed(path_to(program, node.name)):
        if outer.blocks_of is node.origin:
            return outer
    message = f"no loop goes over blocks of {loop!r}"
    raise UnknownNameError(message, hint="split or tile it first")


def loop_like(program: ScheduledProgram, copy: str, loop: PlanLoop) -> PlanLoop:
    """The loop around a copy that ``loop`` is, or became where it was distributed or split.

    Raises ``UnknownNameError`` where the copy is not in it.
    """
    for outer in program.places[copy].loops:
        if outer.origin is loop.origin:
            return outer
    message = f"{copy} is not in {loop.name}"
    raise UnknownNameError(message)


def fresh_loop_name(tree: Tree, name: str) -> str:
    """``name``, or ``name2``, ``name3``, ... where it is taken."""
    taken = {loop.name for loop in loops_of(tree)}
    number, result = 1, name
    while result in taken:
        number += 1
        result = f"{name}{number}"
    return result


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """The error for a name that does not exist, with the closest and all that do.

    Raises it for what is no name at all.
    """
    check_name(kind, name)
    names = list(dict.fromkeys(known))
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    listed = ", ".join(names) or "none"
    return UnknownNameError(f"no {kind} is called {name!r}", hint=f"{hint}there are: {listed}")


def iterators_of(copy: ScheduledStatement, loop: PlanLoop) -> list[int]:
    """The iterators of a copy's statement, by position, that a loop moves."""
    value, count = loop.values[copy.name], len(copy.statement.iterators)
    return [d for d in range(count) if value.involves_dims(dim_type.in_, copy.outer + d, 1)]


def moves_target(program: ScheduledProgram, copy: str, loop: PlanLoop) -> bool:
    """Whether the element that a copy writes depends on the loop."""
    scheduled = program.copies[copy]
    used = [
        position
        for position in range(scheduled.domain.dim(dim_type.set))
        if loop.values[copy].involves_dims(dim_type.in_, position, 1)
    ]
    if any(position < scheduled.outer for position in used):
        return True
    return any(
        index.form.involves_dims(dim_type.in_, position - scheduled.outer, 1)
        for index in scheduled.statement.index
        for position in used
    )
