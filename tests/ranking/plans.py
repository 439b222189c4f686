"""Plans of one program that differ in what makes time: order, tiles, storage, lanes, threads."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.bench.tuning.retile import retiled
from polyopt.bench.tuning.sweep import grid, resized, tilings
from polyopt.codegen.target import native_target
from polyopt.errors import UserError
from polyopt.scheduler import auto
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from polyopt.ir.scop import Scop

#: programs whose tile sizes are swept
SWEPT = (
    "harris",
    "unsharp",
    "bilateral_grid",
    "conv2d",
    "depthwise_separable",
    "conv_bn_relu_maxpool",
)
_RETILED, _PLACES = 4, 4


def plans_of(scop: Scop, sizes: Mapping[str, int], *, swept: bool) -> Iterator[tuple[str, Plan]]:
    """Plans with what they are; no two are the same."""
    seen: set[str] = set()
    for name, make in _makers(scop, sizes, swept=swept):
        try:
            plan = make()
        except UserError:
            continue
        if plan is not None and plan.script not in seen:
            seen.add(plan.script)
            yield name, plan


def _makers(
    scop: Scop, sizes: Mapping[str, int], *, swept: bool
) -> Iterator[tuple[str, Callable[[], Plan | None]]]:
    machine = native_target()
    own = auto(scop, sizes=sizes)
    yield "source", lambda: Plan(scop)
    yield "auto", lambda: own
    yield "no tiles", lambda: auto(scop, sizes=sizes, tile=False)
    for factor in (0.25, 4):
        target = replace(machine, l2_bytes=round(machine.l2_bytes * factor))
        yield f"L2 times {factor}", lambda target=target: auto(scop, target=target, sizes=sizes)
    yield "avx2", lambda: auto(scop, target="avx2", sizes=sizes)
    for fusion in ("min", "smart", "max"):
        yield fusion, lambda fusion=fusion: auto(scop, sizes=sizes, fusion=fusion)
    if swept:
        for rows, columns, is_own in grid(own, sizes):
            if not is_own:
                name = f"sweep {rows} x {columns}"
                yield name, lambda r=rows, c=columns: resized(own, r, c, sizes)
        return
    draw = random.Random(scop.name)  # noqa: S311 (which plans are measured is no secret)
    tiles = [
        (k, {**dict(move.options), loop: size})
        for k, move in enumerate(own.moves)
        if move.name == "tile"
        for loop, now in move.options
        for size in (now // 4, now // 2, now * 2, now * 4)
        if size > 0
    ]
    for k, change in draw.sample(tiles, min(_RETILED, len(tiles))):
        yield f"tile {k}: {change}", lambda k=k, change=change: retiled(own, {k: change})
    stored = [a.name for a in scop.arrays if a.role == "temp"]
    for array in draw.sample(stored, min(_PLACES, len(stored))):
        yield from _elsewhere(own, array, sizes)


def _elsewhere(
    own: Plan, array: str, sizes: Mapping[str, int]
) -> Iterator[tuple[str, Callable[[], Plan | None]]]:
    try:
        found = own.alternatives(array, sizes=sizes)
    except UserError:
        return
    for one in found.rows:
        yield f"{array} {one.place}", lambda plan=one.plan: plan


def is_swept(name: str, plan: Plan) -> bool:
    """Whether a program's tile sizes are swept; it has tiles."""
    try:
        return name in SWEPT and bool(tilings(plan))
    except UserError:
        return False
