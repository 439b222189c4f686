"""store: where an array's values live while the loops that use them run.

rewrite: ``bx[y][x]`` -> ``scratch[y - y0][x]``, ``scratch[y % 3][x]`` (fold), or a register
(a buffer of one element).

*Requires* that all values read inside the loop are written inside it. *Fails when* the buffer
overwrites or has no room for a value still needed: the proof names the reader.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError, given
from polyopt.transform.loops.split import check_size
from polyopt.transform.schedule.query import check_name, find_loop, unknown
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.storage import StorageDirective

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import SchedulePosition


@transformation("storage")
def store(
    program: ScheduledProgram,
    array: str,
    *,
    at: str | None = None,
    fold: Mapping[int | str, int] | None = None,
    extents: Mapping[int | str, int] | None = None,
) -> ScheduledProgram:
    """The program with ``array`` kept in a buffer private to each iteration of loop ``at``.

    ``fold`` and ``extents`` give a modulus or a size per dimension, by number or by the name of
    the iterator that writes it. ``at=""`` is the
    whole program, ``at="full"`` stores the array itself.
    """
    check_name("array", array)
    if array not in [a.name for a in program.scop.arrays]:
        raise unknown("array", array, [a.name for a in program.scop.arrays])
    # what pack() made stays: it is filled from the array itself
    packs = {copy.fills for copy in program.copies.values()}
    present = [s for s in program.stores if s.array == array and s.name not in packs]
    if at == "full":
        return replace(program, stores=tuple(s for s in program.stores if s not in present))
    if at is None and not present:
        message = f"store({array!r}): {array} has no buffer yet, so a loop has to be named"
        raise InvalidOptionError(message, hint='write store("bx", at="out.y_tile")')
    loop = present[-1].at if at is None else (find_loop(program, at).name if at else "")
    if loop:
        _check_used(program, array, loop)
    replaced = [s for s in present if _share_nest(program, s.at, loop)]
    old = replaced[-1] if replaced else StorageDirective(f"{array}@{loop}", array, loop)
    new = StorageDirective(
        old.name if old.at == loop else f"{array}@{loop}",
        array,
        loop,
        _per_dimension(program, array, fold, old.folds),
        _per_dimension(program, array, extents, old.extents),
        old.within if at is None else "",
    )
    kept = tuple(s for s in program.stores if s is not old)
    return replace(program, stores=(*kept, new))


def _share_nest(program: ScheduledProgram, one: str, other: str) -> bool:
    """Whether one loop is around the other, or both are one; elsewhere buffers are kept."""
    if not one or not other:
        return True
    return any({one, other} <= {*_names(place)} for place in program.places.values())


def _check_used(program: ScheduledProgram, array: str, loop: str) -> None:
    """Raise ``InvalidOptionError`` where nothing inside the loop touches the array."""
    inside = {name for name, place in program.places.items() if loop in _names(place)}
    touched = any(t.host in inside for t in (*program.writes, *program.reads)
                  if t.access.array == array)  # fmt: skip
    if not touched:
        message = f"store({array!r}): nothing inside {loop} uses {array}"
        raise InvalidOptionError(message, hint="name a loop around its writers and readers")


def _names(place: SchedulePosition) -> list[str]:
    return [loop.name for loop in place.loops]


def _per_dimension(
    program: ScheduledProgram,
    array: str,
    wanted: Mapping[int | str, int] | None,
    old: tuple[int, ...],
) -> tuple[int, ...]:
    if not wanted:
        return old
    if not isinstance(wanted, dict):
        message = f"store({array!r}): sizes come per dimension, as in {{0: 3}}, not {given(wanted)}"
        raise InvalidOptionError(message)
    rank = program.scop.array(array).rank
    result = list(old or (0,) * rank)
    for key, size in wanted.items():
        check_size(size, f"store({array!r})")
        result[_dimension(program, array, key, rank)] = size
    return tuple(result)


def _dimension(program: ScheduledProgram, array: str, key: int | str, rank: int) -> int:
    if isinstance(key, str) and key.isdecimal():
        key = int(key)  # a plan's file has texts for keys
    if isinstance(key, int):
        if not 0 <= key < rank:
            message = f"{array} has {rank} dimensions: there is no dimension {key}"
            raise InvalidOptionError(message)
        return key
    for statement in program.scop.statements:
        if statement.array == array and key in statement.iterators:
            position = statement.iterators.index(key)
            for dimension, index in enumerate(statement.index):
                from polyopt.isl import dim_type

                if index.form.involves_dims(dim_type.in_, position, 1):
                    return dimension
    message = f"no dimension of {array} is written by an iterator called {key!r}"
    raise InvalidOptionError(message, hint="give the dimension's number, 0 for the first")
