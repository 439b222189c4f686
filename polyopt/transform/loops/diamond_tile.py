"""diamond: tiles of time and one loop of space that all start at once.

relation: ``{ C[d] -> [t, x] }`` becomes ``{ C[d] -> [f + b, f, t, x] }`` with the blocks
``f = floor(forward / size)`` and ``b = floor(backward / size)`` of the two faces that lean with
and against the space loop.

rewrite: ``for (t) for (x) S;`` ->
``for (tt) for (xt) /* independent */ for (t) for (x in tile) S;``

Along a face no dependence goes back, so of two tiles of one ``f + b`` neither waits for the other:
threads start on as many tiles as there are along the space, from the first step to the last.

(V. Bandishti, I. Pananilath and U. Bondhugula, "Tiling stencil computations to maximize
parallelism", SC 2012.)

*Requires* a perfect nest from the time loop to the space loop. *Fails when* dependences go along
the space loop within one step of time, as they do where elements are updated in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import NotPermutableError
from polyopt.transform.loops.interchange import perfect_chain, rebuild
from polyopt.transform.loops.split import block, check_size
from polyopt.transform.loops.tile_faces import faces
from polyopt.transform.schedule.query import find_loop, fresh_loop_name
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.tree import PlanLoop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.isl import PwAff
    from polyopt.transform.schedule.program import ScheduledProgram


@transformation("permutation")
def diamond(program: ScheduledProgram, time: str, space: str, size: int) -> ScheduledProgram:
    """The program in diamonds of ``size`` iterations of ``space`` at their widest.

    The loops over them are called ``<time>_tile``, one after another, and ``<space>_tile``,
    independent of each other. Raises ``NotPermutableError`` where there are no such faces.
    """
    outer, inner = find_loop(program, time), find_loop(program, space)
    check_size(size, f"diamond({time!r}, {space!r})")
    chain = perfect_chain(program, (outer.name, inner.name))
    if outer is inner or chain[0] is not outer:
        message = f"{time} does not enclose {space}: diamonds have time outside"
        raise NotPermutableError(message)
    forward, backward = faces(program, outer, inner)
    ahead = {c: block(v, size) for c, v in forward.values.items()}
    waves = {c: v.add(block(backward.values[c], size)) for c, v in ahead.items()}
    wave = _over_blocks(program, outer, waves)
    side = _over_blocks(program, inner, ahead)
    return rebuild(program, chain, [wave, side, *chain])


def _over_blocks(
    program: ScheduledProgram, loop: PlanLoop, values: Mapping[str, PwAff]
) -> PlanLoop:
    name = fresh_loop_name(program.tree, f"{loop.name}_tile")
    return PlanLoop(name, values, (), blocks_of=loop.origin)
