"""interchange and reorder: loops of a perfect nest in another order.

relation: time ``[.., v1, v2, ..]`` becomes ``[.., v2, v1, ..]``.

rewrite: ``for (i) for (j) S(i, j);`` -> ``for (j) for (i) S(i, j);``

*Requires* a perfect nest: each loop but the last holds just the next. *Fails when* a dependence
would be reversed: the proof names the two instances.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError, NotPermutableError
from polyopt.transform.schedule.query import find_loop, path_to
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.tree import PlanLoop, Tree, replace_loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.transform.schedule.program import ScheduledProgram


@transformation("permutation")
def interchange(program: ScheduledProgram, one: str, other: str) -> ScheduledProgram:
    """The program with two loops of one nest exchanged."""
    first, second = find_loop(program, one), find_loop(program, other)
    chain = perfect_chain(program, (first.name, second.name))
    order = list(chain)
    order[0], order[-1] = order[-1], order[0]
    return rebuild(program, chain, order)


@transformation("permutation")
def reorder(program: ScheduledProgram, *names: str) -> ScheduledProgram:
    """The program with the named loops of one nest in the order given; others keep theirs."""
    if not names:
        message = "no loops are named to be put in order"
        raise InvalidOptionError(message, hint='name them from the outermost on: "out.x", "out.y"')
    loops = [find_loop(program, name) for name in names]
    chain = perfect_chain(program, [loop.name for loop in loops])
    wanted = iter(loops)
    chosen = {loop.name for loop in loops}
    order = [next(wanted) if loop.name in chosen else loop for loop in chain]
    return rebuild(program, chain, order)


def perfect_chain(program: ScheduledProgram, names: Sequence[str]) -> tuple[PlanLoop, ...]:
    """The loops from the outermost to the innermost of the named ones.

    Raises ``NotPermutableError`` unless they form one perfect nest.
    """
    longest = max((path_to(program, name) for name in names), key=len)
    inside = [loop.name for loop in longest]
    missing = [name for name in names if name not in inside]
    if missing:
        message = f"{missing[0]} and {longest[-1].name} are not in one loop nest"
        raise NotPermutableError(message, hint="only loops around the same statements can move")
    chain = longest[min(inside.index(name) for name in names) :]
    for loop in chain[:-1]:
        if len(loop.body) != 1:
            message = f"{loop.name} is not perfectly nested: it holds more than one loop"
            hint = "distribute its statements first, or name only the loops inside it"
            raise NotPermutableError(message, hint=hint)
    return chain


def rebuild(
    program: ScheduledProgram, chain: Sequence[PlanLoop], order: Sequence[PlanLoop]
) -> ScheduledProgram:
    """The program with the perfect nest ``chain`` replaced by the loops of ``order``."""
    body = chain[-1].body
    for loop in reversed(order):
        body = (replace(loop, body=body),)

    def change(node: PlanLoop) -> Tree:
        del node
        return body

    tree = replace_loop(program.tree, chain[0].name, change)
    return replace(program, tree=tree)
