"""tile: blocks of several loops, block loops outside, point loops inside.

relation: ``{ C[d] -> [v1, v2] }`` becomes ``{ C[d] -> [v1/t1, v2/t2, v1, v2] }``.

rewrite: ``for (y) for (x) S;`` -> ``for (yt) for (xt) for (y in tile) for (x in tile) S;``

*Requires* a perfect nest over the tiled loops. *Fails when* a dependence would be reversed
(the loops are not permutable); skewing may help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError
from polyopt.transform.loops.interchange import perfect_chain, rebuild
from polyopt.transform.loops.split import block, check_size
from polyopt.transform.schedule.query import check_name, fresh_loop_name, loop_of_space
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.tree import PlanLoop

if TYPE_CHECKING:
    from polyopt.transform.schedule.program import ScheduledProgram


@transformation("permutation")
def tile(program: ScheduledProgram, space: str, /, **sizes: int) -> ScheduledProgram:
    """The program with loops of a space tiled: ``y=64, x=512`` by iterator name.

    The block loops are called ``<loop>_tile`` and stand, in the nest's order, where the
    outermost of the tiled loops stood.
    """
    check_name("computation space", space)
    if not sizes:
        message = f"tile({space!r}): no loop was named"
        raise InvalidOptionError(message, hint='write tile("out", y=64, x=512)')
    for iterator, size in sizes.items():
        check_size(size, f"tile({space!r}, {iterator}=...)")
    wanted = {loop_of_space(program, space, it).name: size for it, size in sizes.items()}
    chain = perfect_chain(program, list(wanted))
    blocks = [
        _block_loop(program, loop, wanted[loop.name]) for loop in chain if loop.name in wanted
    ]
    return rebuild(program, chain, [*blocks, *chain])


def _block_loop(program: ScheduledProgram, loop: PlanLoop, size: int) -> PlanLoop:
    name = fresh_loop_name(program.tree, f"{loop.name}_tile")
    blocks = {c: block(v, size) for c, v in loop.values.items()}
    return PlanLoop(name, blocks, (), blocks_of=loop.origin)
