"""How long it takes to compile: the search for a plan, its proof, the C, its check, the compiler.

For kernels, beside what Zhao and Di report for their whole compile flow (MICRO 2020), and for
chains of more and more stages, whose times should grow no faster than the stages.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.target import core_count, cpu_name, native_target
from polyopt.codegen.validate.on_build import CodeCheck
from polyopt.frontend.loops import f32
from polyopt.frontend.stages import input as image_input
from polyopt.frontend.stages import pipeline, stage
from polyopt.runtime.build import build_library
from polyopt.runtime.toolchain import find_toolchain
from polyopt.scheduler import auto
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from polyopt.frontend.stages import Input, Stage, Term
    from polyopt.ir.scop import Scop

#: seconds that the paper gives for its whole compile flow, by our name of the pipeline; theirs
#: are of other code on another machine (Xeon E5-2683 v4, icc 18)
REPORTED: Mapping[str, float] = {
    "bilateral_grid": 0.86,
    "camera_pipe": 4560.0,
    "harris": 435.0,
    "interpolate": 3.30,
    "local_laplacian": 89.3,
    "unsharp": 0.05,
}
#: stages of the chains that are measured, and the image they are planned for
CHAIN = (2, 4, 8, 16, 32, 64, 128)
CHAIN_SIZES: Mapping[str, int] = {"H": 2160, "W": 3840}

COLUMNS = (
    ("program", "left"), ("stages", "right"), ("plan s", "right"), ("its proof", "right"),
    ("C s", "right"), ("its check", "right"), ("compiler s", "right"), ("all s", "right"),
    ("paper s", "right"),
)  # fmt: skip
CHAIN_COLUMNS = (
    ("stages", "right"), ("plan s", "right"), ("its proof", "right"), ("plan s per stage", "right"),
)  # fmt: skip


@dataclass(frozen=True)
class CompileTime:
    """Seconds that a program took on its way to a library."""

    program: str
    #: arrays that it computes
    stages: int
    #: the search, with the proof of the plan that it ends with
    plan_s: float
    #: the proof of that plan alone, done again with nothing remembered
    proof_s: float
    #: generation of C from the plan; 0 where it was not asked for
    c_s: float = 0.0
    #: validation of that C, which runs while the compiler does; 0 where it was not asked for
    check_s: float = 0.0
    #: the C compiler; 0 where it was not asked for
    compiler_s: float = 0.0
    #: what the paper reports for the pipeline, if it does
    reported_s: float | None = None

    @property
    def all_s(self) -> float:
        """From the program to the library; the longer of check and compiler counts."""
        return self.plan_s + self.c_s + max(self.check_s, self.compiler_s)


def compile_time(name: str, scop: Scop, sizes: Mapping[str, int]) -> CompileTime:
    """The times of one program, planned for ``sizes``. Nothing comes from the kernel cache.

    Raises what planning, proving and compiling raise.
    """
    find_toolchain()  # asked of the compiler once per process
    planned = plan_time(name, scop, sizes)
    start = time.perf_counter()
    program = planned.plan.emit()
    emitted = time.perf_counter()
    CodeCheck(planned.plan.scop, program)()
    checked = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="polyopt-bench-") as folder:
        build_library(program, native_target(), cache=folder)
    done = time.perf_counter()
    return replace(
        planned.times,
        c_s=emitted - start,
        check_s=checked - emitted,
        compiler_s=done - checked,
        reported_s=REPORTED.get(name),
    )


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan and what it took."""

    plan: Plan
    times: CompileTime


def plan_time(name: str, scop: Scop, sizes: Mapping[str, int]) -> Planned:
    """The automatic plan and the times up to it."""
    fresh = replace(scop)  # what is remembered of a program belongs to the object
    start = time.perf_counter()
    plan = auto(fresh, sizes=sizes)
    plan_s = time.perf_counter() - start
    stages = len({s.array for s in scop.statements})
    return Planned(plan, CompileTime(name, stages, plan_s, proof_seconds(plan)))


def proof_seconds(plan: Plan) -> float:
    """What the proof of a plan takes, of the plan made again so that nothing is shown already."""
    again = replace(Plan(replace(plan.source)), checked=False)
    for move in plan.moves:
        again = again.replay(move.name, move.args, dict(move.options))
    start = time.perf_counter()
    again.prove()
    return time.perf_counter() - start


def chain(stages: int) -> Scop:
    """That many 3 x 3 boxes after each other, each smaller than the one before by its border."""
    result = _box("s1" if stages > 1 else "out", image_input("img", f32, ["H", "W"]), 1)
    for number in range(2, stages + 1):
        result = _box("out" if number == stages else f"s{number}", result, number)
    least = 2 * stages + 1
    context = [f"H >= {least}", f"W >= {least}"]
    return pipeline(result, name=f"chain{stages}", context=context)


def _box(name: str, image: Input | Stage, number: int) -> Stage:
    def mean(y: Term, x: Term) -> Term:
        first, *others = (image[y + j, x + i] for j in range(3) for i in range(3))
        return sum(others, start=first) * (1 / 9)

    return stage(name, [f"{size} - {2 * number}" for size in ("H", "W")], mean)


def chain_times(lengths: Iterable[int]) -> Iterator[CompileTime]:
    """The times of chains up to their plans."""
    for stages in lengths:
        yield plan_time(f"chain{stages}", chain(stages), CHAIN_SIZES).times


def table(times: Sequence[CompileTime]) -> Iterator[tuple[str, ...]]:
    """The cells of ``COLUMNS``, a row each."""
    for t in times:
        paper = f"{t.reported_s:g}" if t.reported_s is not None else ""
        parts = (t.plan_s, t.proof_s, t.c_s, t.check_s, t.compiler_s, t.all_s)
        yield t.program, str(t.stages), *(f"{part:.2f}" for part in parts), paper


def chain_table(times: Sequence[CompileTime]) -> Iterator[tuple[str, ...]]:
    """The cells of ``CHAIN_COLUMNS``, a row each."""
    for t in times:
        per_stage = f"{t.plan_s / t.stages:.3f}"
        yield str(t.stages), f"{t.plan_s:.2f}", f"{t.proof_s:.2f}", per_stage


def about() -> str:
    """The machine and the compiler, in a line."""
    return f"{cpu_name()}, {find_toolchain()}"


def machine_facts() -> dict[str, object]:
    """The machine and the compiler, for JSON."""
    return {"cpu": cpu_name(), "cores": core_count(), "compiler": str(find_toolchain())}


def as_json(
    kernels: Sequence[CompileTime],
    chains: Sequence[CompileTime],
    conditions: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Both tables, and under which conditions, as ``bench --compile-time --json`` prints them."""
    listed = [{**asdict(t), "all_s": t.all_s} for t in kernels]
    plans = [{"stages": t.stages, "plan_s": t.plan_s, "proof_s": t.proof_s} for t in chains]
    return {
        **(conditions or {}),
        **machine_facts(),
        "kernels": listed,
        "chain": plans,
    }
