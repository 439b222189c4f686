"""A random program with its plans, all of which have to do what the interpreter does."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.errors import CompilerFailedError, PolyoptError, TooLargeError
from polyopt.frontend.c import parse_c
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.identity import initial_program
from tests.unit.codegen.reparse import parsed_again

from .compile import BUILD, Build, Subject, awkward_sizes, differences, is_allowed, runs_of
from .plans import Call, Defect, calls_of, random_plans, replayed
from .programs import random_program
from .python_form import python_scop
from .stages import stages_scop, stages_sizes, stages_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from polyopt.codegen.signature import CProgram
    from polyopt.ir.scop import Scop

    from .plans import Tally

AUTO = Call("auto")
T = TypeVar("T")


@dataclass(frozen=True)
class Example:
    """A program's text, sizes for it, and the moves of a plan; ``AUTO`` stands for ``po.auto``.

    ``form`` says how the text comes in: as ``c``, as C printed as ``python`` loops, or as
    ``stages``. ``build`` is the compiler with which it was found.
    """

    text: str
    sizes: Mapping[str, int]
    calls: tuple[Call, ...]
    form: str = "c"
    build: str = ""

    def save(self, path: Path, note: str) -> None:
        """Write it as C with a head comment that says sizes and moves."""
        lines = [f"// {line}" for line in note.splitlines()]
        lines.append(f"// sizes: {json.dumps(dict(self.sizes))}")
        lines += [f"// form: {self.form}"] if self.form != "c" else []
        lines += [f"// build: {self.build}"] if self.build else []
        lines += [
            f"// move: {json.dumps([call.name, call.args, call.options])}" for call in self.calls
        ]
        path.write_text("\n".join([*lines, "", self.text.strip(), ""]), encoding="utf-8")

    @property
    def scop(self) -> Scop:
        """The program, read in its form. Raises ``PolyoptError`` where it is refused."""
        read = {"c": parse_c, "python": python_scop, "stages": stages_scop}
        return read[self.form](self.text)

    def subject(self, scop: Scop, functions: Sequence[CProgram], seed: int) -> Subject:
        """The program at awkward sizes, with what it computes by itself: no part of polyopt."""
        if self.form == "stages":
            sizes = [s for s in stages_sizes(self.text) if is_allowed(scop, s)]

            def expected(_: Scop, s: Mapping[str, int], a: Mapping[str, Any]) -> dict[str, Any]:
                return stages_values(self.text, s, a)

            return Subject(scop, runs_of(scop, sizes, seed, expect=expected), functions)
        sizes = awkward_sizes(scop, self.sizes, seed)
        return Subject(scop, runs_of(scop, sizes, seed, expect=None), functions, self.text)

    @classmethod
    def load(cls, path: Path) -> Example:
        """The example of a file that ``save`` wrote."""
        text = path.read_text(encoding="utf-8")
        head = [line[3:] for line in text.splitlines() if line.startswith("// ")]
        sizes = next(line for line in head if line.startswith("sizes: "))
        moves = [json.loads(line[6:]) for line in head if line.startswith("move: [")]
        calls = tuple(Call(name, tuple(args), _keys(options)) for name, args, options in moves)
        named = dict(line.split(": ", 1) for line in head if line.startswith(("form: ", "build: ")))
        if named.get("form", "c") == "stages":  # where // is no comment
            text = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
        return cls(text, json.loads(sizes[7:]), calls, **named)


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
    trial = _started(example, f"p{seed}", seed)
    scop = trial.subject.scop
    rng = random.Random(f"plans of {seed}")  # noqa: S311
    made: dict[tuple[str, ...], tuple[tuple[Call, ...], Plan]] = {}

    def draw(make: Callable[[], Sequence[Plan]]) -> Sequence[Plan]:
        found = _guarded(trial, make, (AUTO,)) or ()
        for plan in found:
            key = tuple(map(str, calls_of(plan)))
            made.setdefault(key, (calls_of(plan), plan))
        return found

    base = _base(scop, draw(lambda: (po.auto(scop),)))
    for _ in range(chains):
        draw(lambda: _ends(random_plans(base, rng, tally)))
    functions = list(trial.subject.functions)
    for number, (calls, plan) in enumerate(made.values()):
        name = f"p{seed}_{number}"
        function = _guarded(
            trial, lambda p=plan, n=name: parsed_again(lambda: p.emit(name=n)), calls
        )
        if function is not None:
            functions.append(function)
            trial.plans[name] = calls
    trial.subject = Subject(scop, trial.subject.runs, functions)
    return trial


def _base(scop: Scop, found: Sequence[Plan]) -> Plan:
    """The plan without moves. The source's flow is that of another plan of it, if there is one."""
    same = [plan.original for plan in found if plan.scop is scop]
    return Plan(scop, original=same[0]) if same else Plan(scop)


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
    trial.failures.append(Failure(kind, text, replace(trial.example, calls=calls)))
    return None


def _started(example: Example, name: str, seed: int) -> Trial:
    """The program's unfused function and its runs; no plans yet."""
    scop = parse_c(example.text)
    unfused = parsed_again(lambda: emit(initial_program(scop), name=name))
    runs = runs_of(scop, awkward_sizes(scop, example.sizes, seed), seed)
    return Trial(example, Subject(scop, runs, (unfused,)), {name: ()})


def failures_of(
    trials: Iterable[Trial], *, build: Build = BUILD, timeout_s: float | None = None
) -> tuple[Failure, ...]:
    """What fails in these trials, their C included."""
    trials = list(trials)
    known = {name: (t.example, calls) for t in trials for name, calls in t.plans.items()}
    found = [failure for t in trials for failure in t.failures]
    subjects = [t.subject for t in trials if t.subject.functions]
    named = "" if build == BUILD else str(build)
    for kind, function, text in _wrong(subjects, build, timeout_s) if subjects else ():
        example, calls = known[function]
        found.append(Failure(kind, text, replace(example, calls=calls, build=named)))
    return tuple(found)


def _wrong(
    subjects: Sequence[Subject], build: Build, timeout_s: float | None
) -> Iterator[tuple[str, str, str]]:
    """Kind, function and text of what fails; functions that do not compile are found one by one."""
    try:
        for wrong in differences(subjects, build=build, timeout_s=timeout_s):
            yield "program" if wrong.by_program else "wrong", wrong.function, wrong.text
    except CompilerFailedError as error:
        if len(subjects) == len(subjects[0].functions) == 1:
            yield "compiler", subjects[0].functions[0].name, str(error)
            return
        parts = [[s] for s in subjects]
        if len(subjects) == 1:
            one = subjects[0]
            parts = [[replace(one, functions=(f,))] for f in one.functions]
        for part in parts:
            yield from _wrong(part, build, timeout_s)


def check(example: Example, *, seed: int = 0, timeout_s: float | None = None) -> Failure | None:
    """What fails about one example; nothing where its moves are properly refused.

    Raises ``PolyoptError`` where the program itself is refused, be it that it leaves its arrays.
    """
    found = failures_of([tried(example, seed=seed)], build=build_of(example), timeout_s=timeout_s)
    return found[0] if found else None


def build_of(example: Example) -> Build:
    """The compiler with which an example was found, or the one that there is."""
    return Build.of(example.build).here if example.build else BUILD


def tried(example: Example, name: str = "example", *, seed: int = 0) -> Trial:
    """The functions of one example, as ``check`` compares them; their names begin with that one.

    Raises ``PolyoptError`` where the program itself is refused.
    """
    scop = example.scop
    Plan(scop)
    unfused = parsed_again(lambda: emit(initial_program(scop), name=name))
    trial = Trial(example, example.subject(scop, (unfused,), seed), {name: ()})
    plan = _guarded(trial, lambda: _accepted(scop, example.calls), example.calls)
    if plan is not None:
        planned = f"{name}_planned"
        function = _guarded(trial, lambda: _emitted(plan, example.calls, planned), example.calls)
        _add(trial, function, example.calls)
    return trial


def _emitted(plan: Plan, calls: Sequence[Call], name: str) -> CProgram | None:
    """The plan's C, or nothing where it would be too large, and is refused as it should be."""
    from .plans import check_refusal

    try:
        return parsed_again(lambda: plan.emit(name=name))
    except TooLargeError as error:
        check_refusal(error, calls)
        return None


def _add(trial: Trial, function: CProgram | None, calls: tuple[Call, ...]) -> None:
    if function is not None:
        functions = (*trial.subject.functions, function)
        trial.subject = replace(trial.subject, functions=functions)
        trial.plans[function.name] = calls


def _accepted(scop: Scop, calls: Sequence[Call]) -> Plan | None:
    """The plan, or nothing where polyopt refuses it as it should."""
    from .plans import check_refusal

    try:
        return replayed(scop, calls)
    except PolyoptError as error:
        check_refusal(error, calls)
        return None
