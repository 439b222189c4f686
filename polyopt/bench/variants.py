"""The forms of a kernel that are measured against each other, and what it took to make them."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from polyopt.bench.compiling import proof_seconds
from polyopt.library import recipe, recipe_names
from polyopt.runtime.toolchain import find_toolchain
from polyopt.scheduler import auto
from polyopt.transform.loops.reschedule import FUSIONS
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.ir.scop import Scop
    from polyopt.runtime.kernel import Kernel

OURS, UNFUSED, EXPERT = "polyopt", "polyopt-unfused", "polyopt-expert"
#: the automatic plan where floating sums may be added up in any order
REASSOCIATED = "polyopt-reassociated"
#: of as many bytes as the program reads and writes: what memory gave in the same rounds
COPY = "copy"
#: by heuristic of isl's scheduler, the plan in its order
FUSED = {name: f"{OURS}-{name}" for name in FUSIONS}


@dataclass(frozen=True, eq=False)
class Variant:
    """A compiled form. ``compile_s`` is all of it: choosing the plan, its proof, C, and the C
    compiler; ``proof_s`` is the proof alone, made again.
    """

    name: str
    kernel: Kernel
    plan: Plan
    schedule_s: float
    proof_s: float
    compile_s: float


def variants_of(
    scop: Scop,
    name: str,
    sizes: Mapping[str, int],
    *,
    fusions: bool = False,
    reassociate: bool = False,
) -> list[Variant]:
    """The automatic plan for ``sizes``, the unfused form, and the recipe if any.

    ``fusions`` adds the plans in isl's order, by heuristic; ``reassociate`` that with sums in any
    order, where it is another one.
    """
    makers: dict[str, Callable[[Scop], Plan]] = {
        OURS: lambda s: auto(s, sizes=sizes),
        UNFUSED: unfused,
    }
    if name in recipe_names():
        makers[EXPERT] = recipe(name)
    if reassociate:
        makers[REASSOCIATED] = partial(auto, sizes=sizes, reassociate=True)
    for fusion, variant in FUSED.items() if fusions else ():
        makers[variant] = partial(auto, sizes=sizes, fusion=fusion)
    made = [make_variant(variant, scop, maker) for variant, maker in makers.items()]
    return [v for v in made if v.name != REASSOCIATED or _frees_sums(v.plan)]


def _frees_sums(plan: Plan) -> bool:
    return any(move.name == "reassociate" for move in plan.moves)


def unfused(scop: Scop) -> Plan:
    """The source's own loops as a plan."""
    return Plan(scop)


def make_variant(name: str, scop: Scop, maker: Callable[[Scop], Plan]) -> Variant:
    """Plan and compile, each timed; nothing comes from the kernel cache."""
    find_toolchain()
    start = time.perf_counter()
    plan = maker(scop)
    planned = time.perf_counter()
    kernel = compile_fresh(plan)
    done = time.perf_counter()
    return Variant(name, kernel, plan, planned - start, proof_seconds(plan), done - start)


def compile_fresh(plan: Plan, *, contract: bool | None = None, libm: bool = False) -> Kernel:
    """A kernel compiled anew, in a cache of its own that goes again."""
    with tempfile.TemporaryDirectory(prefix="polyopt-bench-") as folder:
        return plan.compile(contract=contract, libm=libm, cache=folder)
