"""skew and shift: change when iterations run, not what they are.

relation: skew makes ``v`` into ``v + factor * w``; shift makes it ``v + amount``.

rewrite: ``for (t) for (i) A[i] = ...;`` -> ``for (t) for (p = t+1; ...) A[p - t] = ...;``

*Requires* for skew that ``by`` encloses the loop. *Fails when* a dependence would be reversed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError, NotPermutableError, given
from polyopt.isl import affine_constant, integer_val
from polyopt.transform.loops.split import check_amount
from polyopt.transform.schedule.query import (
    check_name,
    copies_of,
    find_loop,
    loop_of_space,
    path_to,
)
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.tree import PlanLoop, copies_in, replace_loop, with_loop

if TYPE_CHECKING:
    from polyopt.transform.schedule.program import ScheduledProgram


@transformation("permutation")
def skew(program: ScheduledProgram, loop: str, by: str, factor: int) -> ScheduledProgram:
    """The program with ``factor`` times loop ``by`` added to the loop's value."""
    inner, outer = find_loop(program, loop), find_loop(program, by)
    if outer.name not in [node.name for node in path_to(program, inner.name)[:-1]]:
        message = f"{by} does not enclose {loop}: a loop is skewed by one around it"
        raise NotPermutableError(message)
    if not isinstance(factor, int):
        message = f"skew: the factor has to be a whole number, not {given(factor)}"
        raise InvalidOptionError(message)
    check_amount(factor, "skew")
    scale = integer_val(factor)
    values = {c: v.add(outer.values[c].scale_val(scale)) for c, v in inner.values.items()}
    return replace(program, tree=with_loop(program.tree, inner.name, values=values))


@transformation("loops")
def shift(program: ScheduledProgram, space: str, /, **amounts: int) -> ScheduledProgram:
    """The program with all iterations of a space later by ``amounts``, by iterator name."""
    check_name("computation space", space)
    if not amounts:
        message = f"shift({space!r}): no loop was named"
        raise InvalidOptionError(message, hint='write shift("out", y=2)')
    tree = program.tree
    moved = set(copies_of(program, space))
    for iterator, amount in amounts.items():
        check_shift(amount, f"shift({space!r}, {iterator}=...)")
        name = loop_of_space(program, space, iterator).name
        tree = replace_loop(tree, name, lambda node, by=amount: (_later(node, moved, by),))
    return replace(program, tree=tree)


def shift_loop(program: ScheduledProgram, loop: str, amount: int) -> ScheduledProgram:
    """The program with all that a loop holds later by ``amount`` of its iterations."""
    node = find_loop(program, loop)
    check_shift(amount, f"shift of {loop}")
    later = _later(node, set(copies_in(node)), amount)
    return replace(program, tree=replace_loop(program.tree, node.name, lambda _: (later,)))


def check_shift(amount: object, what: str) -> None:
    """Raise ``InvalidOptionError`` unless ``amount`` is a whole number, and no huge one."""
    if not isinstance(amount, int):
        message = f"{what}: not a whole number: {given(amount)}"
        raise InvalidOptionError(message)
    check_amount(amount, what)


def _later(node: PlanLoop, moved: set[str], amount: int) -> PlanLoop:
    values = {
        c: v.add(affine_constant(v.get_space().domain(), amount)) if c in moved else v
        for c, v in node.values.items()
    }
    return replace(node, values=values)
