"""inline: compute a producer where it is read, as an operand; nothing is stored.

relation: each read ``{ C[d] -> P[j] }`` (its source in the flow) becomes an instance of P run
just before C.

rewrite: ``bx[i] = f(a[i]); out[i] = bx[i] + bx[i+1];`` -> ``out[i] = f(a[i]) + f(a[i+1]);``

*Requires* that every read gets its value from one statement. *Fails when* what the producer
reads is overwritten before the consumer runs (the proof), when the array is live-out, or when a
statement would have too many operands (``transform/schedule/limits.py``).
*Does not handle* reductions: their value takes several instances.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import LiveOutError, NotFusableError
from polyopt.ir.block import Block
from polyopt.transform.schedule.limits import check_inlined
from polyopt.transform.schedule.query import copies_of
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.tree import without

if TYPE_CHECKING:
    from polyopt.transform.schedule.program import ScheduledProgram


@transformation("storage")
def inline(program: ScheduledProgram, producer: str) -> ScheduledProgram:
    """The program with array ``producer`` computed at each of its reads."""
    names = copies_of(program, producer)
    statement = program.copies[names[0]].statement
    array = statement.array
    if program.scop.array(array).is_live_out:
        message = f"{array} is live-out: it has to be stored"
        raise LiveOutError(message, span=statement.span, hint="fuse it instead")
    writers = {program.copies[name].statement.name for name in names}
    if len(writers) > 1 or any(a.array == array for a in statement.reads):
        message = f"{array} cannot be inlined: its values take several instances to compute"
        raise NotFusableError(message, span=statement.span, hint="fuse it instead")
    if isinstance(statement.value, Block):
        message = f"{array} cannot be inlined: data decide how often its loops run"
        raise NotFusableError(message, span=statement.span, hint="fuse it instead")
    dropped = set(names)
    result = replace(
        program,
        copies={n: c for n, c in program.copies.items() if n not in dropped},
        tree=without(program.tree, dropped),
        stores=tuple(s for s in program.stores if s.array != array),
        inlined=program.inlined | {array},
    )
    check_inlined(program, result, array)
    _ = result.loads  # every read has one source statement, or this raises
    return result
