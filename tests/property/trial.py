"""A random program with its plans, all of which have to do what the interpreter does."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.errors import CompilerFailedError, PolyoptError
from polyopt.frontend.c import parse_c
from polyopt.transform.initial import initial_program
from polyopt.transform.plan import Plan

from .compile import Subject, awkward_sizes, differences, runs_of
from .plans import Call, Defect, calls_of, random_plans, replayed
from .programs import random_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from polyopt.codegen.program import CProgram
    from polyopt.ir.scop import Scop

    from .plans import Tally

AUTO = Call("auto")
T = TypeVar("T")


@dataclass(frozen=True)
class Example:
    """A program's text, sizes for it, and the moves of a plan; ``AUTO`` stands for ``po.auto``."""

    text: str
    sizes: Mapping[str, int]
    calls: tuple[Call, ...]

    def save(self, path: Path, note: str) -> None:
        """Write it as C with a head comment that says sizes and moves."""
        lines = [f"// {line}" for line in note.splitlines()]
        lines.append(f"// sizes: {json.dumps(dict(self.sizes))}")
        lines += [
            f"// move: {json.dumps([call.name, call.args, call.options])}" for call in self.calls
        ]
        path.write_text("\n".join([*lines, "", self.text.strip(), ""]), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Example:
        """The example of a file that ``save`` wrote."""
        text = path.read_text(encoding="utf-8")
        head = [line[3:] for line in text.splitlines() if line.startswith("// ")]
        sizes = next(line for line in head if line.startswith("sizes: "))
        moves = [json.loads(line[6:]) for line in head if line.startswith("move: ")]
        calls = tuple(Call(name, tuple(args), _keys(options)) for name, args, options in moves)
        return cls(text, json.loads(sizes[7:]), calls)


def _keys(options: dict[str, object]) -> dict[str, object]:
    """JSON has only text as keys: dimensions are numbers again."""
    return {
        name: {int(k) if k.isdigit() else k: v for k, v in value.items()}
        if isinstance(value, dict)
        else value
        for name, value in options.items()
    }


@dataclass(frozen=True)
class Failure:
    """Something that must not happen: ``kind`` is where, ``text`` what."""

    kind: str
    text: str
    example: Example

    def __str__(self) -> str:
        """All that is needed to see it again."""
        moves = "\n".join(f"    .{call}" for call in self.example.calls)
        return f"{self.kind}: {self.text}\n{moves}\n{dict(self.example.sizes)}\n{self.example.text}"


@dataclass(eq=False)
class Trial:
    """A program with the functions that its plans became."""

    example: Example
    subject: Subject
    plans: dict[str, tuple[Call, ...]] = field(default_factory=dict[str, tuple[Call, ...]])
    failures: list[Failure] = field(default_factory=list[Failure])


def make_trial(seed: int, tally: Tally, *, chains: int = 2) -> Trial:
    """The program of a seed, ``po.auto``'s plan of it and two plans of each chain of moves.

    What fails before any C exists is among the trial's failures.
    """
    program = random_program(seed)
    example = Example(program.text, program.sizes, ())
    trial, base = _started(example, f"p{seed}", seed)
    rng = random.Random(f"plans of {seed}")  # noqa: S311
    made: dict[tuple[str, ...], tuple[tuple[Call, ...], Plan]] = {}

    def draw(make: Callable[[], Sequence[Plan]]) -> None:
        found = _guarded(trial, make, (AUTO,)) or ()
        for plan in found:
            key = tuple(map(str, calls_of(plan)))
            made.setdefault(key, (calls_of(plan), plan))

    draw(lambda: (po.auto(trial.subject.scop),))
    for _ in range(chains):
        draw(lambda: _ends(random_plans(base, rng, tally)))
    functions = list(trial.subject.functions)
    for number, (calls, plan) in enumerate(made.values()):
        name = f"p{seed}_{number}"
        function = _guarded(trial, lambda p=plan, n=name: p.emit(name=n), calls)
        if function is not None:
            functions.append(function)
            trial.plans[name] = calls
    trial.subject = Subject(trial.subject.scop, trial.subject.runs, functions)
    return trial


def _ends(plans: Sequence[Plan]) -> tuple[Plan, ...]:
    """The plan half-way, and the last one."""
    return tuple(dict.fromkeys((plans[(len(plans) - 1) // 2], plans[-1])))


def _guarded(trial: Trial, make: Callable[[], T], calls: tuple[Call, ...]) -> T | None:
    """What is made, or nothing and a failure noted."""
    try:
        return make()
    except Defect as defect:
        kind, text, calls = defect.kind, defect.text, defect.moves
    except Exception as error:  # noqa: BLE001 (whatever it is, it is to be reported)
        kind = "auto" if calls == (AUTO,) else "emit"
        text = f"{type(error).__name__}: {error}"
    example = Example(trial.example.text, trial.example.sizes, calls)
    trial.failures.append(Failure(kind, text, example))
    return None


def _started(example: Example, name: str, seed: int) -> tuple[Trial, Plan]:
    """The program's unfused function and its runs; no plans yet."""
    scop = parse_c(example.text)
    unfused = emit(initial_program(scop), name=name)
    runs = runs_of(scop, awkward_sizes(scop, example.sizes, seed), seed)
    return Trial(example, Subject(scop, runs, (unfused,)), {name: ()}), Plan(scop)


def failures_of(trials: Iterable[Trial], *, timeout_s: float | None = None) -> tuple[Failure, ...]:
    """What fails in these trials, their C included."""
    trials = list(trials)
    known = {name: (t.example, calls) for t in trials for name, calls in t.plans.items()}
    found = [failure for t in trials for failure in t.failures]
    for kind, function, text in _wrong([t.subject for t in trials], timeout_s):
        example, calls = known[function]
        found.append(Failure(kind, text, Example(example.text, example.sizes, calls)))
    return tuple(found)


def _wrong(subjects: Sequence[Subject], timeout_s: float | None) -> Iterator[tuple[str, str, str]]:
    """Kind, function and text of what fails; functions that do not compile are found one by one."""
    try:
        for wrong in differences(subjects, timeout_s=timeout_s):
            yield "wrong", wrong.function, wrong.text
    except CompilerFailedError as error:
        if len(subjects) == len(subjects[0].functions) == 1:
            yield "compiler", subjects[0].functions[0].name, str(error)
            return
        parts = [[s] for s in subjects]
        if len(subjects) == 1:
            one = subjects[0]
            parts = [[Subject(one.scop, one.runs, (f,))] for f in one.functions]
        for part in parts:
            yield from _wrong(part, timeout_s)


def check(example: Example, *, seed: int = 0, timeout_s: float | None = None) -> Failure | None:
    """What fails about one example; nothing where its moves are properly refused.

    Raises ``PolyoptError`` where the program itself is refused.
    """
    trial, _ = _started(example, "example", seed)
    plan = _guarded(trial, lambda: _accepted(trial.subject.scop, example.calls), example.calls)
    if plan is not None:
        function = _guarded(trial, lambda: plan.emit(name="planned"), example.calls)
        _add(trial, function, example.calls)
    found = failures_of([trial], timeout_s=timeout_s)
    return found[0] if found else None


def _add(trial: Trial, function: CProgram | None, calls: tuple[Call, ...]) -> None:
    if function is not None:
        functions = (*trial.subject.functions, function)
        trial.subject = Subject(trial.subject.scop, trial.subject.runs, functions)
        trial.plans["planned"] = calls


def _accepted(scop: Scop, calls: Sequence[Call]) -> Plan | None:
    """The plan, or nothing where polyopt refuses it as it should."""
    from .plans import check_refusal

    try:
        return replayed(scop, calls)
    except PolyoptError as error:
        check_refusal(error, calls)
        return None
