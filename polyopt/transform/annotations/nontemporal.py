"""Non-temporal stores: results that are more than the caches hold go past them, straight to memory.

rewrite: nothing in the order of instances. Vector loops that write such an array do so in strips::

    for (x in strips of 64) { what the next row reads is fetched; for (x < 64) strip[x] = value;
    the strip is stored past the caches }

A store into a cache first loads the line that it changes, and drives out what is read again; past
the caches it does neither. Processors fetch ahead along a row, not to the next: with rows of a few
KB the code says so. Whether there is more than ``past`` bytes is tested when it runs
(``codegen/passes/nontemporal_stores.py``).

*Requires* a result that the program does not read.
*Does not handle* lines that are written in parts: where a row does not start with a line, as the
addresses tell when it runs, stores go through the caches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError, given
from polyopt.transform.schedule.query import check_name
from polyopt.transform.schedule.registry import transformation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyopt.ir.scop import Scop
    from polyopt.transform.schedule.program import ScheduledProgram


@transformation("annotation", keeps=True)
def store_nontemporal(program: ScheduledProgram, *arrays: str, past: int) -> ScheduledProgram:
    """The program with non-temporal stores of results, past caches of ``past`` bytes."""
    for array in arrays:
        check_name("array", array)
    check_nontemporal(program.scop, arrays)
    if not isinstance(past, int) or past < 0:
        raise InvalidOptionError(f"store_nontemporal: past={given(past)} is no number of bytes")
    return replace(program, nontemporal={**program.nontemporal, **dict.fromkeys(arrays, past)})


def check_nontemporal(scop: Scop, arrays: Iterable[str]) -> None:
    """Raise ``InvalidOptionError`` unless arrays are results that the program only writes."""
    can = only_written(scop)
    for array in arrays:
        if array not in can:
            message = f"store_nontemporal: {array!r} is no result that the program only writes"
            hint = f"there are: {', '.join(can)}" if can else "it has none"
            raise InvalidOptionError(message, hint=hint)


def only_written(scop: Scop) -> tuple[str, ...]:
    """The results that a program only writes."""
    read = {access.array for s in scop.statements for access in s.reads}
    return tuple(a.name for a in scop.arrays if a.role == "out" and a.rank and a.name not in read)
