"""Candidates: the plans that a search made, with the time that the model predicts of each.

The first is the model's choice; the others are what the search left, in the order of their
predictions, and the source's own order is always among them. They can be raced: each is called in
turn with the others, on inputs made for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.codegen.emit import emit
from polyopt.errors import InvalidOptionError, UserError
from polyopt.oneline import at_sizes, one_line, some
from polyopt.runtime.kernel import compile_kernel
from polyopt.runtime.measuring.alternate import Subject, alternate
from polyopt.runtime.measuring.arguments import CallArguments, inputs_for
from polyopt.runtime.measuring.nests import nest_times
from polyopt.scheduler.model.objective import NOISE
from polyopt.scheduler.model.table import human_time
from polyopt.scheduler.model.time import predict
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop, loops_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.codegen.target import Target
    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.measuring.alternate import Sample
    from polyopt.scheduler.model.time import Prediction
    from polyopt.transform.plan import Plan

#: seconds that a race takes besides compiling
SECONDS = 1.0
#: plans that race: the model's best few, and the source's order
MOST = 5
CHOSEN, SOURCE = "the model's choice", "the source's order"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A plan, what it is, its predicted time, and its measured one where it raced."""

    name: str
    plan: Plan
    prediction: Prediction
    measured: Sample | None = None
    #: milliseconds of its nests in one call, where these were measured
    nest_ms: Mapping[str, float] = field(default_factory=dict[str, float])

    def __repr__(self) -> str:
        """Its name and its times."""
        return one_line(self, self.name, f"predicted {human_time(self.prediction.ns)}",
                        f"took {human_time(self.measured.min_ms * 1e6)}" if self.measured
                        else "")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Candidates:
    """What a search chose from. ``str`` is a table: predicted and measured times, nest by nest."""

    program: str
    sizes: Mapping[str, int]
    threads: int
    rows: tuple[Candidate, ...]

    def __iter__(self) -> Iterator[Candidate]:
        """The candidates: the model's choice, then the others by predicted time."""
        return iter(self.rows)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.rows)

    def __repr__(self) -> str:
        """The program, and how many there are."""
        return one_line(self, at_sizes(self.program, self.sizes), some(len(self), "candidate"))

    @property
    def fastest(self) -> Candidate:
        """The one that took least, or the model's choice where none is clearly faster than it or
        none raced. The least time of each counts: others on the machine only make it longer."""
        chosen = self.rows[0]
        if chosen.measured is None:
            return chosen
        raced = {c: c.measured.min_ms for c in self.rows if c.measured is not None}
        best = min(raced, key=lambda c: raced[c])
        return best if raced[best] < (1 - NOISE) * raced[chosen] else chosen

    def __str__(self) -> str:
        """A table of at most 80 columns: each plan, and below it the nests that take longest."""
        lines = [f"{self.program}, {some(self.threads, 'thread')}"]
        lines += [f"{'':<46}{'predicted':>11}{'measured':>11}"]
        for row in self.rows:
            took = human_time(row.measured.min_ms * 1e6) if row.measured else ""
            mark = " *" if row is self.fastest else ""
            taken = human_time(row.prediction.ns)
            lines.append(f"{row.name[:44] + mark:<46}{taken:>11}{took:>11}".rstrip())
            nests = sorted(row.prediction.nests, key=lambda nest: -nest.ns)
            lines += [
                f"  {nest.name[:22]:<24}{nest.bound[:19]:<20}{human_time(nest.ns):>11}"
                f"{_taken(row, nest.name):>11}".rstrip()
                for nest in nests[:3]
            ]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, object]:
        """For JSON; times in milliseconds."""
        return {
            "program": self.program, "sizes": dict(self.sizes), "threads": self.threads,
            "candidates": [
                {
                    "name": row.name, "predicted_ms": row.prediction.ns / 1e6,
                    "measured_ms": row.measured.min_ms if row.measured else None,
                    "fastest": row is self.fastest, "moves": row.plan.script,
                    "nests": [
                        {"nest": n.name, "ms": n.ns / 1e6, "bound": n.bound,
                         "measured_ms": row.nest_ms.get(n.name)}
                        for n in row.prediction.nests
                    ],
                }
                for row in self.rows
            ],
        }  # fmt: skip


def _taken(row: Candidate, nest: str) -> str:
    return human_time(row.nest_ms[nest] * 1e6) if nest in row.nest_ms else ""


def listed(
    chosen: Plan,
    tried: Mapping[str, Plan],
    source: Plan,
    sizes: Mapping[str, int],
    machine: Target,
) -> Candidates:
    """The candidates of a search: its choice, what else it made, and the source's order."""

    def candidate(name: str, plan: Plan) -> Candidate:
        return Candidate(name, plan, predict(plan.program, sizes, machine, machine.cores))

    known = {chosen.script, source.script}
    others: list[Candidate] = []
    for name, plan in tried.items():
        if plan.script not in known:
            known.add(plan.script)
            others.append(candidate(name, plan))
    others.sort(key=lambda c: c.prediction.ns)
    last = [candidate(SOURCE, source)] if chosen.script != source.script else []
    rows = (candidate(CHOSEN, chosen), *others[: MOST - 2], *last)
    return Candidates(chosen.scop.name, dict(sizes), machine.cores, rows)


def race(
    found: Candidates,
    *,
    seconds: float = SECONDS,
    threads: int | None = None,
    nests: bool = False,
) -> Candidates:
    """The candidates with what a call of each took, in turn, on this machine; with ``nests``, what
    each nest of them took too.

    Those that the proof or the compiler refuses do not race. Raises what compiling the model's
    choice raises, and ``InvalidOptionError`` for ``seconds`` that are none.
    """
    if not seconds > 0:
        raise InvalidOptionError(f"seconds={seconds} is no time", hint="more than 0")
    kernels = _kernels(found, timed=nests)
    inputs = inputs_for(kernels[CHOSEN], found.sizes)
    subjects: dict[str, Subject] = {}
    for name, kernel in kernels.items():
        call = CallArguments.make(kernel, dict(inputs), found.sizes)
        bound = call.bind(kernel, threads)
        subjects[name] = Subject(bound, call.restore if call.changes_inputs else None)
    samples = alternate(subjects, seconds=seconds / len(subjects))
    rows = [replace(row, measured=samples.get(row.name)) for row in found]
    if nests:
        rows = [
            replace(row, nest_ms=_by_nest(row.plan, nest_times(kernels[row.name], subject)))
            if (subject := subjects.get(row.name))
            else row
            for row in rows
        ]
    return replace(found, rows=tuple(rows), threads=threads or found.threads)


def _kernels(found: Candidates, *, timed: bool) -> dict[str, Kernel]:
    """Those of the candidates that the proof and the compiler take, by their names."""
    kernels: dict[str, Kernel] = {}
    for row in found:
        plan = row.plan
        try:
            plan.prove()
            kernels[row.name] = (
                compile_kernel(emit(plan.program, timed=True), plan.scop.context)
                if timed
                else plan.compile(check=False)
            )
        except UserError:
            if row.name == CHOSEN:
                raise
    return kernels


def _by_nest(plan: Plan, taken: Mapping[str, float]) -> dict[str, float]:
    """Times of outermost loops of the C by nests of the plan: where a tile is all of a nest, the C
    has no loop over tiles."""
    found: dict[str, float] = {}
    for node in plan.program.tree:
        if isinstance(node, PlanLoop):
            inside = [taken[loop.name] for loop in loops_of((node,)) if loop.name in taken]
            found |= {node.name: sum(inside)} if inside else {}
    return found


def winner(found: Candidates) -> Plan:
    """The plan that took least, with a remark that says so."""
    best, chosen = found.fastest, found.rows[0]
    numbers = {f"{row.name}, ms": row.measured.min_ms for row in found if row.measured is not None}
    reason = "the model's choice took least, or no other took clearly less"
    if best is not chosen:
        reason = f"{best.name} took least of {some(len(numbers), 'plan')} that were measured"
    said = Remark("applied", "measure", "all", reason, numbers=numbers)
    return replace(best.plan, checked=True, remarks=(said, *best.plan.remarks))
