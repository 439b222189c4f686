"""split: one loop becomes two, the outer one over blocks of ``size`` iterations.

relation: ``{ C[d] -> [v] }`` becomes ``{ C[d] -> [floor(v / size), v] }``.

rewrite: ``for (y) S(y);`` -> ``for (yt) for (y = size*yt; y < size*yt + size; y++) S(y);``

*Requires* nothing: the order of instances stays. *Fails when* the size is not positive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError, given
from polyopt.isl import integer_val
from polyopt.transform.schedule.query import find_loop, fresh_loop_name
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.tree import PlanLoop, Tree, replace_loop

if TYPE_CHECKING:
    from polyopt.isl import PwAff
    from polyopt.transform.schedule.program import ScheduledProgram

#: of sizes, factors and amounts: products of a few of them are still C's integers
LARGEST = 2**31 - 1


@transformation("loops")
def split(
    program: ScheduledProgram,
    loop: str,
    size: int,
    *,
    suffix: str = "_tile",
    in_blocks: bool = True,
) -> ScheduledProgram:
    """The program with the loop named ``loop`` split; the new outer loop is ``loop_tile``, one over
    blocks."""
    loop = find_loop(program, loop).name
    check_size(size, loop)
    outer = fresh_loop_name(program.tree, f"{loop}{suffix}")

    def change(node: PlanLoop) -> Tree:
        blocks = {c: block(v, size) for c, v in node.values.items()}
        return (PlanLoop(outer, blocks, (node,), blocks_of=node.origin if in_blocks else None),)

    tree = replace_loop(program.tree, loop, change)
    return replace(program, tree=tree)


def check_size(size: object, what: str) -> None:
    """Raise ``InvalidOptionError`` unless ``size`` is a positive whole number, and no huge one."""
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        message = f"{what}: a size has to be a positive whole number, not {given(size)}"
        raise InvalidOptionError(message)
    check_amount(size, what)


def check_amount(amount: int, what: str) -> None:
    """Raise ``InvalidOptionError`` for numbers with which subscripts would leave 64 bits."""
    if abs(amount) > LARGEST:
        message = f"{what}: {amount} is too large: at most {LARGEST}"
        raise InvalidOptionError(message)


def block(value: PwAff, size: int) -> PwAff:
    """``{ C[d] -> [floor(v / size)] }``."""
    return value.scale_down_val(integer_val(size)).floor()
