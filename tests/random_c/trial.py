"""A batch of random programs: what they compute, and what polyopt makes of them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.property.batches import Outcome

from .generate import random_c
from .inputs import runs_of
from .oracle import SANITIZE, SECONDS, NotCompiledError, answers, difference, is_c, unit_of
from .subjects import Failure, Made, Subject, again, prelude, subjects_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .generate import Program
    from .inputs import Run
    from .oracle import Answer
    from .subjects import Way

#: programs of one compilation
BATCH = 20
#: each batch is compiled with one of these
BUILDS = (
    ("-O2", "-fopenmp"), ("-O1",), ("-O2", "-fopenmp"), ("-O1", "-fopenmp"), ("-O3", "-march=native", "-fopenmp"),
    ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)  # fmt: skip
#: what kernels are compiled with besides: their arithmetic wraps
WRAPS = ("-fwrapv", "-ftrivial-auto-var-init=pattern")


@dataclass(eq=False)
class Known:
    """A program with its calls, and what it computes by them."""

    program: Program
    runs: list[Run]
    expected: list[Answer] = field(default_factory=list)

    @property
    def defined(self) -> list[tuple[Run, Answer]]:
        """The calls that are defined, with their answers."""
        return [(r, a) for r, a in zip(self.runs, self.expected, strict=True) if not a.problem]


def known(programs: Mapping[int, Program], *, seconds: int = SECONDS) -> dict[int, Known]:
    """What the programs compute, by their sources compiled apart and watched. Raises ``NotCompiledError``."""
    found = {seed: Known(p, runs_of(p, seed)) for seed, p in programs.items()}
    order = list(found)
    units = {n: unit_of(found[seed].program) for n, seed in enumerate(order)}
    runs = [(n, run) for n, seed in enumerate(order) for run in found[seed].runs]
    for (n, _), answer in zip(runs, answers(units, runs, SANITIZE, seconds=seconds), strict=True):
        found[order[n]].expected.append(answer)
    return found


def build_of(seed: int) -> tuple[str, ...]:
    """The flags for the batch that a seed is in."""
    return BUILDS[seed // BATCH % len(BUILDS)]


def flags_for(build: Sequence[str], subject: Subject) -> tuple[str, ...]:
    """The flags for a kind of subject: rewritten files need none of a kernel's."""
    if subject.kernel is None:
        return tuple(build)
    return (*(f.replace(",undefined", "") for f in build), *WRAPS)


def compared(
    subjects: Sequence[Subject], facts: Sequence[Known], build: Sequence[str]
) -> Iterator[Failure]:
    """Subjects that do something else than their programs; each with its program's answers."""
    for kernels in (True, False):
        some = [
            (s, k)
            for s, k in zip(subjects, facts, strict=True)
            if (s.kernel is not None) == kernels
        ]
        if some:
            yield from _wrong(some, flags_for(build, some[0][0]))


def _wrong(pairs: Sequence[tuple[Subject, Known]], flags: Sequence[str]) -> Iterator[Failure]:
    calls = [
        (n, run, answer)
        for n, (s, k) in enumerate(pairs)
        for run, answer in k.defined
        if s.takes(run)
    ]
    units = {n: s.unit for n, (s, _) in enumerate(pairs)}
    try:
        found = answers(
            units, [(n, run) for n, run, _ in calls], flags, before=prelude([s for s, _ in pairs])
        )
    except NotCompiledError as error:
        if len(pairs) == 1:
            yield Failure(
                "compiler", str(error), pairs[0][0].program, pairs[0][0].way, " ".join(flags)
            )
            return
        bad = [pair for pair in pairs if not is_c(pair[0].unit, prelude([pair[0]]))]
        half = bad or pairs[: len(pairs) // 2]
        for part in [[pair] for pair in half] if bad else [half]:
            yield from _wrong(part, flags)
        yield from _wrong([pair for pair in pairs if pair not in half], flags)
        return
    told: set[int] = set()
    for (n, run, expected), answer in zip(calls, found, strict=True):
        subject = pairs[n][0]
        text = difference([p.name for p in subject.program.parameters], answer, expected)
        if text and n not in told:
            told.add(n)
            yield Failure(
                "wrong",
                text + _believed(subject),
                subject.program,
                subject.way,
                " ".join(flags),
                str(run),
            )


def _believed(subject: Subject) -> str:
    """Whether the proof of the text accepts it."""
    if subject.plan is None or subject.kernel is None:
        return ""
    try:
        subject.plan.prove(code=True)
    except Exception as error:  # noqa: BLE001 (it is only told)
        return f"; the proof says {type(error).__name__}"
    return "; and the proof accepts it"


def trial(seeds: Iterable[int]) -> Outcome:
    """The programs of these seeds, their subjects, and what fails. Raises ``NotCompiledError`` for no C."""
    seeds = list(seeds)
    programs = {seed: random_c(seed) for seed in seeds}
    facts = known(programs)
    build = build_of(seeds[0])
    outcome = Outcome(len(seeds))
    subjects: list[tuple[int, Subject]] = []
    for seed, program in programs.items():
        if not facts[seed].defined:
            continue
        before = time.process_time()
        made = subjects_of(program, seed)
        outcome.slowest = max(outcome.slowest, (time.process_time() - before, seed))
        outcome.kinds.update(made.counts)
        outcome.failures += [(seed, f) for f in made.failures]
        subjects += [(seed, s) for s in made.subjects]
    outcome.plans = len(subjects)
    outcome.kinds["runs"] = sum(len(facts[seed].defined) for seed, _ in subjects)
    outcome.kinds["undefined"] = sum(len(k.defined) < len(k.runs) for k in facts.values())
    outcome.kinds[f"build: {' '.join(build)}"] += len(seeds)
    outcome.kinds.update("program: wild" if p.wild else "program: plain" for p in programs.values())
    found = compared([s for _, s in subjects], [facts[seed] for seed, _ in subjects], build)
    outcome.failures += [(int(f.program.name[1:]), f) for f in found]
    return outcome


def _reads_garbage(program: Program, fact: Known) -> bool:
    """Whether what locals hold before they are written makes a difference."""
    zeros = tuple(f.replace("=pattern", "=zero") for f in SANITIZE)
    other = answers({0: unit_of(program)}, [(0, run) for run in fact.runs], zeros)
    names = [p.name for p in program.parameters]
    pairs = zip(other, fact.expected, strict=True)
    return any(difference(names, one, two) for one, two in pairs if not two.problem)


def check(
    program: Program,
    way: Way,
    *,
    seed: int = 0,
    build: Sequence[str] = BUILDS[0],
    seconds: int = SECONDS,
) -> Failure | None:
    """What fails about one program treated one way; nothing where it is refused, or right.

    A call of the program may take ``seconds``. Raises ``NotCompiledError`` where it is no C, and ``ValueError`` where what it does is not defined.
    """
    fact = known({seed: program}, seconds=seconds)[seed]
    if not fact.defined or _reads_garbage(program, fact):
        raise ValueError("what the program does is not defined")
    made: Made = again(program, way)
    if made.failures:
        return made.failures[0]
    return next(compared(made.subjects, [fact] * len(made.subjects), build), None)
