"""Benchmarks of kernels: variants in turn, against the reference and against the machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from polyopt.bench.agreement import share_of_outliers
from polyopt.bench.arguments import CallArguments, inputs_for
from polyopt.bench.measure import Sample, Subject, alternate
from polyopt.bench.variants import UNFUSED, compile_fresh, variants_of
from polyopt.bench.work import work_of
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.bench.arguments import Values
    from polyopt.bench.machine import Machine
    from polyopt.bench.variants import Variant
    from polyopt.ir.scop import Scop
    from polyopt.library import LibraryKernel
    from polyopt.runtime.kernel import Kernel

#: Outliers that a fused multiply-add before a rounding to integers may explain.
_FEW = 1e-3


@dataclass(frozen=True)
class Row:
    """One variant on one number of threads. Times are in milliseconds a call.

    ``limit_ms`` is the least time that the machine's measured bandwidth and peak allow,
    ``fraction`` how much of that the median reaches; ``noisy`` says that the spread stayed wide.
    """

    suite: str
    kernel: str
    size: Mapping[str, int]
    variant: str
    threads: int
    median_ms: float
    min_ms: float
    iqr_ms: float
    runs: int
    limit_ms: float
    fraction: float
    agrees: bool
    compile_s: float
    schedule_s: float
    proof_s: float
    noisy: bool


@dataclass(frozen=True, eq=False)
class Subjects:
    """What one benchmark is about: a program, its library kernel if any, and sizes."""

    name: str
    scop: Scop
    library: LibraryKernel | None
    sizes: Mapping[str, int]
    suite: str = "kernels"


def bench(
    what: Subjects,
    machine: Machine,
    *,
    threads: Sequence[int],
    peers: tuple[str, ...] = (),
    rounds: int | None = None,
    seconds: float = 1.0,
) -> Iterator[Row]:
    """Rows of one kernel, number of threads by number of threads.

    Raises what planning, proving and compiling raise.
    """
    variants = variants_of(what.scop, what.name, what.sizes, peers)
    inputs = inputs_for(variants[0].kernel, what.sizes, library=what.library)
    expected = expected_results(what, variants, inputs)
    agreed = {v.name: agrees(v.plan, v.kernel, inputs, what.sizes, expected) for v in variants}
    arguments = {v.name: CallArguments.make(v.kernel, inputs, what.sizes) for v in variants}
    work = work_of(what.scop, what.sizes)
    for count in threads:
        subjects = {v.name: _subject(v, arguments[v.name], count) for v in variants}
        samples = alternate(subjects, seconds=seconds, rounds=rounds)
        limit = machine.limit_ms(work.bytes, work.operations, count)
        for variant in variants:
            sample = samples[variant.name]
            yield _row(what, variant, count, sample, limit, agree=agreed[variant.name])


def _subject(variant: Variant, arguments: CallArguments, threads: int) -> Subject:
    restore = arguments.restore if arguments.changes_inputs else None
    return Subject(partial(arguments.call, variant.kernel, threads), restore)


def _row(
    what: Subjects, variant: Variant, threads: int, sample: Sample, limit: float, *, agree: bool
) -> Row:
    return Row(
        what.suite, what.name, dict(what.sizes), variant.name, threads,
        sample.median_ms, sample.min_ms, sample.iqr_ms, sample.runs,
        limit, limit / sample.median_ms, agree,
        variant.compile_s, variant.schedule_s, variant.proof_s, sample.noisy,
    )  # fmt: skip


def expected_results(what: Subjects, variants: Sequence[Variant], inputs: Values) -> Values:
    """What every variant should compute: the reference's results, else the unfused form's."""
    if what.library is not None:
        return what.library.reference(**{**inputs, **what.sizes})
    unfused = next(v for v in variants if v.name == UNFUSED)
    return compute(unfused.kernel, inputs, what.sizes)


def agreement(
    plan: Plan,
    kernel: Kernel,
    inputs: Values,
    sizes: Mapping[str, int],
    library: LibraryKernel | None,
) -> tuple[str, bool]:
    """What a kernel's outputs were compared with, and whether they agree.

    Compared with the NumPy reference of a library kernel, else with the unfused form.
    """
    if library is None:
        expected = compute(Plan(plan.scop).compile(), inputs, sizes)
        return "the unfused form", agrees(plan, kernel, inputs, sizes, expected)
    expected = library.reference(**{**inputs, **sizes})
    return "the NumPy reference", agrees(plan, kernel, inputs, sizes, expected)


def agrees(
    plan: Plan, kernel: Kernel, inputs: Values, sizes: Mapping[str, int], expected: Values
) -> bool:
    """Whether a kernel's outputs are the expected ones, up to rounding.

    A multiply-add that rounds once may move a value across a step, as in ``floor(a * b + c)``:
    where a few elements differ, the same plan without such contraction has to agree everywhere.
    """
    share = share_of_outliers(compute(kernel, inputs, sizes), expected)
    if 0 < share < _FEW:
        exact = compile_fresh(plan, contract=False)
        share = share_of_outliers(compute(exact, inputs, sizes), expected)
    return share == 0


def compute(kernel: Kernel, inputs: Values, sizes: Mapping[str, int]) -> Values:
    """The results of one call; the inputs stay as they are."""
    arguments = CallArguments.make(kernel, inputs, sizes)
    arguments.call(kernel)
    return arguments.results
