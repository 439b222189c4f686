"""What ``make soak`` tries: one program in some form, one plan of it, one compiler.

Everything follows from the seed. The program's own C, or its stages on whole NumPy arrays, say
what it computes.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.codegen.target import TARGETS
from polyopt.errors import NotDecidedError, PolyoptError, TooLargeError
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.identity import initial_program

from .compile import Build, Subject
from .plans import Call, Defect, Tally, calls_of, check_refusal, random_plans, tried
from .programs import random_program
from .stages import stages_text
from .trial import AUTO, Example, Failure, Trial
from .variants import variant

if TYPE_CHECKING:
    from polyopt.codegen.signature import CProgram
    from polyopt.ir.scop import Statement

#: programs of one compilation
BATCH = 40
#: each batch is compiled with one of these: mostly what is quick. With -O3, as kernels are: where
#: floats may trap, gcc 12.2 vectorises a sum under a condition wrongly (seed 74550)
BUILDS = (
    Build(), Build(), Build("gcc"), Build("clang"), Build("gcc", ("-O0",), openmp=False),
    Build("gcc", ("-O2", "-march=native")), Build("clang", ("-O2", "-march=native")),
    Build("gcc", ("-O3", "-march=native", "-fno-trapping-math")),
)  # fmt: skip
_FORMS = ("c", "c", "c", "variant", "variant", "python", "python", "stages", "stages", "stages")
_PLANS = {
    "unfused": 1, "auto": 6, "affine": 2, "auto, moves": 3, "moves": 8, "scatter, moves": 1,
    "rows, moves": 1, "tables, moves": 2,
}  # fmt: skip
#: what changes a program, by the kind of plan that tries it on all statements: programs that it is
#: for are rare
_REWRITES = {
    "scatter": "scatter_updates", "rows": "separate_reduction", "tables": "tabulate",
}  # fmt: skip
_FUSIONS = ("min", "smart", "hybrid", "max")


@dataclass(frozen=True, eq=False)
class Case:
    """A trial of one plan, and what kind of trial it is."""

    trial: Trial
    kinds: Counter[str]


def build_of(seed: int) -> Build:
    """The compiler for the batch that a seed is in, or the one that there is."""
    return BUILDS[seed // BATCH % len(BUILDS)].here


def make_case(seed: int, tally: Tally) -> Case:
    """The program, plan and functions of a seed; what fails on the way is in the trial."""
    rng = random.Random(f"case {seed}")  # noqa: S311
    form = rng.choice(_FORMS)
    example, changed = _example(form, seed)
    kind = rng.choices(list(_PLANS), list(_PLANS.values()))[0]
    kinds = Counter([f"form: {form}", f"plan: {kind}"])
    kinds.update(f"changed: {c}" for c in changed.split("+") if c)
    source = random_program(seed).text if form == "variant" else example.text
    try:
        scop = example.scop
    except Exception as error:  # noqa: BLE001 (whatever it is, it is to be reported)
        text = f"{type(error).__name__}: {error}"
        return Case(_failed(example, "frontend", text), kinds)
    name = f"p{seed}"
    trial = Trial(example, Subject(scop, (), ()))
    function = _planned(trial, kind, rng, tally, name)
    if function is not None:
        subject = example.subject(scop, (function,), seed)
        if subject.source:  # of a changed program: what it was before
            subject = Subject(subject.scop, subject.runs, subject.functions, source)
        trial.subject = subject
    return Case(trial, kinds)


def _example(form: str, seed: int) -> tuple[Example, str]:
    if form == "stages":
        return Example(stages_text(seed), {}, (), form), ""
    program = random_program(seed)
    if form == "variant":
        text, sizes, changed = variant(program.text, program.sizes, seed)
        return Example(text, sizes, ()), changed
    return Example(program.text, program.sizes, (), form), ""


def _failed(example: Example, kind: str, text: str, calls: tuple[Call, ...] = ()) -> Trial:
    failure = Failure(kind, text, Example(example.text, example.sizes, calls, example.form))
    return Trial(example, Subject(None, (), ()), {}, [failure])  # type: ignore[arg-type]


def _planned(
    trial: Trial, kind: str, rng: random.Random, tally: Tally, name: str
) -> CProgram | None:
    """The C of one plan of that kind, or nothing and the failure noted."""
    scop, example = trial.subject.scop, trial.example
    calls: tuple[Call, ...] = ()
    where = "plan"
    try:
        if kind == "unfused":
            trial.plans[name] = ()
            return emit(initial_program(scop), name=name)
        start = Plan(scop)
        if kind.startswith("auto"):
            where, calls = "auto", (_auto(rng),)
            start = po.auto(scop, **calls[0].options)
            check_proof(start)
            calls = calls_of(start)
        elif kind == "affine":
            start = tried(start, Call("reschedule", (), {"fusion": rng.choice(_FUSIONS)}), tally)
            calls = calls_of(start)
        elif rewriting := _REWRITES.get(kind.partition(",")[0]):
            for statement in scop.statements:
                start = tried(start, _rewrite(rng, rewriting, statement), tally)
            calls = calls_of(start)
        plan = start
        if "moves" in kind:
            where = "move"
            most = 3 if kind.startswith("auto") else 6
            plan = random_plans(start, rng, tally, most)[-1]
            calls = calls_of(plan)
        where = "emit"
        trial.plans[name] = calls
        return plan.emit(name=name)
    except Defect as defect:
        found = _failed(example, defect.kind, defect.text, defect.moves)
    except Exception as error:  # noqa: BLE001 (whatever it is, it is to be reported)
        budgets = (NotDecidedError, TooLargeError)
        if where == "emit" and "moves" in kind and isinstance(error, budgets):
            tally.refused[f"emit {type(error).__name__}"] += 1
            return None
        found = _failed(example, where, f"{type(error).__name__}: {error}", calls)
    trial.failures += found.failures
    return None


def _rewrite(rng: random.Random, move: str, statement: Statement) -> Call:
    """A move that changes the program, of one statement; of its values some go into tables."""
    if move != "tabulate":
        return Call(move, (statement.name,))
    loops = rng.sample(statement.iterators, rng.randint(0, len(statement.iterators)))
    return Call(move, (statement.name, *loops), rng.choice([{}, {}, {"data": True}]))


def _auto(rng: random.Random) -> Call:
    """``po.auto`` for some target, with tiles mostly."""
    if rng.random() < 0.4:
        return AUTO
    options = {"target": rng.choice(TARGETS), "tile": rng.random() < 0.8}
    return Call("auto", (), options)


def check_proof(plan: Plan) -> None:
    """An automatic plan is proven, or what is wrong with it is told in the user's words."""
    try:
        plan.prove()
    except PolyoptError as error:
        check_refusal(error, calls_of(plan))
        raise
