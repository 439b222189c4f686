"""Benchmarks of kernels: variants in turn, against the reference and against the machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from polyopt.bench.agreement import share_of_outliers
from polyopt.bench.exact import compute, is_exact
from polyopt.bench.peers import check_peers, offers
from polyopt.bench.peers.call import Request
from polyopt.bench.variants import COPY, OURS, UNFUSED, compile_fresh, variants_of
from polyopt.bench.work import least_work
from polyopt.runtime.measuring.alternate import Sample, Subject, alternate
from polyopt.runtime.measuring.arguments import CallArguments, inputs_for
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polyopt.bench.machine import Machine
    from polyopt.bench.peers.call import PeerCall
    from polyopt.bench.variants import Variant
    from polyopt.ir.scop import Scop
    from polyopt.library import LibraryKernel
    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.measuring.arguments import Values

#: Share of outliers that fused multiply-adds before a rounding to 16-bit integers may explain.
_FEW = 1e-2


@dataclass(frozen=True)
class Row:
    """One variant on one number of threads. Times are in milliseconds a call, with hot caches.

    ``limit_ms`` is the least time that the machine's measured bandwidth and peak allow,
    ``fraction`` how much of that the median reaches; ``noisy`` says that the spread stayed wide.
    ``agrees`` is up to rounding, ``exact`` bit for bit with the source's C when neither is
    compiled with contraction; ``None`` where that was not asked.
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
    #: which of a peer's schedules; a variant is the fastest, ``variant/schedule`` another
    schedule: str = ""
    exact: bool | None = None
    #: megabytes of tensors that the kernels of a network read and write; ``None`` if not counted
    moved_mb: float | None = None


@dataclass(frozen=True, eq=False)
class Subjects:
    """What one benchmark is about: a program, its library kernel if any, and sizes."""

    name: str
    scop: Scop
    library: LibraryKernel | None
    sizes: Mapping[str, int]
    suite: str = "kernels"
    #: whether isl's orders are measured, too
    fusions: bool = False
    #: whether the plan whose sums are added up in any order is measured, too
    reassociate: bool = False


def nobody(_said: str) -> None:
    """Nobody is told."""


def bench(
    what: Subjects,
    machine: Machine,
    *,
    threads: Sequence[int],
    peers: tuple[str, ...] = (),
    rounds: int | None = None,
    seconds: float = 1.0,
    note: Callable[[str], object] = nobody,
    report: Callable[[str], object] = nobody,
) -> Iterator[Row]:
    """Rows of one kernel, number of threads by number of threads.

    Where memory and not arithmetic sets the limit, the last row is a ``copy`` of as many bytes as
    the program reads and writes: the limit is of the best copy that the machine made beforehand,
    this one's median is of the same rounds as the others'.

    ``note`` is told which forms of peers there are not, and why; ``report`` what comes now. Raises
    what planning, proving and compiling raise, and what ``check_peers`` does.
    """
    check_peers(peers)
    report("plans")
    variants = variants_of(
        what.scop, what.name, what.sizes, fusions=what.fusions, reassociate=what.reassociate
    )
    inputs = inputs_for(variants[0].kernel, what.sizes, library=what.library)
    report("expected results")
    expected = expected_results(what, variants, inputs)
    forms = [_ours(v, what, inputs, expected) for v in variants]
    if peers:
        report(", ".join(peers))
        module = what.library.module if what.library else None
        request = Request(
            what.name, what.sizes, inputs, expected, tuple(threads), what.scop, module
        )
        offer = offers(peers, request)
        for said in offer.notes:
            note(said)
        forms += [_theirs(c, min(threads), expected) for c in offer.calls]
    work = least_work((what.scop, *(v.plan.scop for v in variants)), what.sizes)
    for count in threads:
        limit = machine.limit_ms(work.bytes, work.operations, count)
        asked = [f for f in forms if f.threads is None or count in f.threads]
        if limit == machine.limit_ms(work.bytes, 0, count):
            asked += _copies(machine, work.bytes)
        subjects = {f.name: f.subject(count) for f in asked}
        report(f"{len(subjects)} variants on {count} thread{'s' * (count > 1)}")
        samples = alternate(subjects, seconds=seconds, rounds=rounds)
        yield from _rows(what, asked, count, samples, limit)


@dataclass(frozen=True, eq=False)
class _Form:
    """Anything that is timed: a variant of ours or of a peer's, ready to be called."""

    variant: str
    schedule: str
    #: threads -> a call on arguments that were checked before: what is timed is the code
    bind: Callable[[int], Callable[[], object]]
    restore: Callable[[], object] | None
    agrees: bool
    #: seconds: all of it, choosing the plan, proving it
    taken: tuple[float, float, float]
    set_threads: Callable[[int], object] | None = None
    #: the numbers of threads that it is for, if not all
    threads: tuple[int, ...] | None = None
    exact: bool | None = None

    @property
    def name(self) -> str:
        return f"{self.variant}/{self.schedule}" if self.schedule else self.variant

    def subject(self, threads: int) -> Subject:
        if self.set_threads is not None:
            self.set_threads(threads)
        return Subject(self.bind(threads), self.restore)


def _ours(variant: Variant, what: Subjects, inputs: Values, expected: Values) -> _Form:
    agree = agrees(variant.plan, variant.kernel, inputs, what.sizes, expected)
    arguments = CallArguments.make(variant.kernel, inputs, what.sizes)
    restore = arguments.restore if arguments.changes_inputs else None
    bind = partial(arguments.bind, variant.kernel)
    taken = (variant.compile_s, variant.schedule_s, variant.proof_s)
    exact = None
    if variant.name == OURS:
        exact = is_exact(what.scop, variant.plan, inputs, what.sizes, expected)
    return _Form(variant.name, "", bind, restore, agree, taken, exact=exact)


def _copies(machine: Machine, live_bytes: int) -> list[_Form]:
    """A copy of as many bytes, where the machine has one and there are any."""
    if machine.copying is None or not live_bytes:
        return []
    bind = partial(machine.copying, live_bytes)
    return [_Form(COPY, "", bind, None, agrees=True, taken=(0.0, 0.0, 0.0))]


def _theirs(peer: PeerCall, threads: int, expected: Values) -> _Form:
    peer.set_threads(threads)
    if peer.restore is not None:
        peer.restore()
    peer.run()
    share = share_of_outliers(peer.outputs, expected)
    if 0 < share < _FEW and peer.exact is not None:
        exact = peer.exact()
        exact.run()
        # exponentials and the like differ in their last bit from NumPy's: by one where floats
        # become integers
        share = share_of_outliers(exact.outputs, expected, step=1)

    def bind(_threads: int) -> Callable[[], object]:
        return peer.run

    taken = (peer.compile_s, 0.0, 0.0)
    return _Form(
        peer.variant, peer.schedule, bind, peer.restore, share == 0, taken, peer.set_threads,
        peer.threads,
    )  # fmt: skip


def _rows(
    what: Subjects,
    forms: Sequence[_Form],
    threads: int,
    samples: Mapping[str, Sample],
    limit: float,
) -> Iterator[Row]:
    """A row a form; of a variant's several schedules the fastest has the variant's name."""
    fastest: dict[str, str] = {}
    for form in sorted(forms, key=lambda f: (not f.agrees, samples[f.name].median_ms)):
        fastest.setdefault(form.variant, form.name)
    for form in forms:
        sample = samples[form.name]
        name = form.variant if fastest[form.variant] == form.name else form.name
        yield Row(
            what.suite, what.name, dict(what.sizes), name, threads,
            sample.median_ms, sample.min_ms, sample.iqr_ms, sample.runs,
            limit, limit / sample.median_ms, form.agrees, *form.taken, sample.noisy,
            form.schedule, form.exact,
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
        expected = compute(Plan(plan.source).compile(), inputs, sizes)
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
