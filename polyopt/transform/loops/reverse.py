"""Loop reversal: the iterations of a loop from the last to the first.

relation: ``v`` becomes ``-v``.

rewrite: ``for (i = 0; i < n; i++) S(i);`` -> ``for (i = 1 - n; i <= 0; i++) S(-i);``

A loop that runs against another one can be fused with it once it is reversed. *Fails when* the loop
carries a dependence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.transform.schedule.query import find_loop
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.tree import with_loop

if TYPE_CHECKING:
    from polyopt.transform.schedule.program import ScheduledProgram

HINT = "a loop that carries a dependence runs one way only: reverse another"


@transformation("loops", hint=HINT)
def reverse(program: ScheduledProgram, loop: str) -> ScheduledProgram:
    """The program with a loop's iterations from the last to the first."""
    node = find_loop(program, loop)
    values = {copy: value.neg() for copy, value in node.values.items()}
    return replace(program, tree=with_loop(program.tree, node.name, values=values))
