"""What polyopt makes of a program: kernels by plans, and its file rewritten."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.codegen.target import TARGETS
from polyopt.errors import NotDecidedError, PolyoptError, TooLargeError
from polyopt.frontend.c import parse_c
from polyopt.rewrite import FUSIONS, Rewriting, rewrite
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.identity import initial_program
from tests.property.batches import TooSlow, limited
from tests.property.compile import c_text, is_allowed
from tests.property.plans import (
    Call,
    Defect,
    Tally,
    calls_of,
    check_refusal,
    random_plans,
    replayed,
)
from tests.unit.codegen.reparse import parsed_again

from .draw import Draw
from .oracle import Unit, is_c, unit_of
from .renames import renamed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.codegen.signature import CProgram
    from polyopt.ir.scop import Scop

    from .generate import Program
    from .inputs import Run

#: processor time that a program may take to be planned, or rewritten
SLOW_S = 60.0
#: how often, of a hundred, a program is treated again under other names
RENAMED = 12
#: how a program is treated: as a kernel by one of these plans, or in its file
PLANS = ("auto", "auto", "auto", "auto", "unfused", "moves", "moves", "auto, moves")
_MARKS = re.compile(r"^#pragma (end)?scop$", re.MULTILINE)


@dataclass(frozen=True)
class Way:
    """How a subject is made of a program, so that it can be made again."""

    #: ``kernel`` or ``file``
    form: str
    calls: tuple[Call, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        """``kernel auto()``."""
        calls = " ".join(map(str, self.calls)) or "unfused" if self.form == "kernel" else ""
        return f"{self.form} {calls or dict(self.options)}".replace(" {}", "")


@dataclass(frozen=True)
class Failure:
    """Something that must not happen: ``kind`` is where, ``text`` what."""

    kind: str
    text: str
    program: Program
    way: Way
    build: str = ""
    run: str = ""

    def __str__(self) -> str:
        """All that is needed to see it again."""
        return (
            f"{self.kind}: {self.text}\n  {self.way} {self.build} {self.run}\n{self.program.text}"
        )


@dataclass(frozen=True, eq=False)
class Subject:
    """A function that has to do what the program does."""

    program: Program
    way: Way
    unit: Unit
    kernel: CProgram | None = None
    scop: Scop | None = None
    plan: Plan | None = None

    def takes(self, run: Run) -> bool:
        """Whether it may be called so."""
        if self.scop is None:
            return True
        given = zip(self.program.parameters, run.arguments, strict=True)
        sizes = {p.name: int(a.values[0]) for p, a in given if p.name in self.scop.params}
        if run.overlaps or any(size >= 1 << 63 for size in sizes.values()):
            return False  # kernels take sizes as signed numbers of 64 bits
        return is_allowed(self.scop, sizes)


@dataclass
class Made:
    """The subjects of a program, and what happened on the way."""

    subjects: list[Subject] = field(default_factory=list[Subject])
    failures: list[Failure] = field(default_factory=list[Failure])
    counts: Counter[str] = field(default_factory=Counter[str])


def subjects_of(program: Program, seed: int) -> Made:
    """A kernel by some plan where the function is taken, and the file rewritten."""
    draw = Draw(f"subjects of {seed}")
    made = Made()
    way = Way("kernel", (Call(draw.choose(PLANS)),), {"proof": draw.chance(20), "seed": seed})
    as_kernel = draw.chance(10 if program.wild else 80)
    if as_kernel:
        guarded(made, program, way, lambda: _kernel(made, program, way, draw))
    if not as_kernel or draw.chance(30):
        options = _options(draw)
        way = Way("file", (), options)
        guarded(made, program, way, lambda: _file(made, program, way))
    if draw.chance(RENAMED) and made.subjects:
        _renamed(made, made.subjects[0], draw)
    return made


def _renamed(made: Made, subject: Subject, draw: Draw) -> None:
    """The same of the program under names out of the C that was made of it."""
    way = subject.way
    kind = way.options.get("plan", "")
    if "moves" in kind:
        return  # moves name loops
    if kind == "auto":
        way = replace(way, calls=(Call("auto", (), way.options["auto"]),))
    text = subject.kernel.source if subject.kernel else subject.unit.text
    program = renamed(subject.program, text, draw)
    if not is_c(unit_of(program)):
        return
    made.counts["renamed"] += 1
    guarded(made, program, way, lambda: again_made(made, program, way))


def guarded(made: Made, program: Program, way: Way, make: Callable[[], None]) -> None:
    """Make a subject; whatever else than a refusal comes of it is a failure."""
    try:
        with limited(SLOW_S):
            make()
    except TooSlow:
        made.failures.append(Failure("slow", f"more than {SLOW_S:g} s", program, way))
    except Defect as defect:
        made.failures.append(
            Failure(defect.kind, defect.text, program, replace(way, calls=defect.moves))
        )
    except Exception as error:  # noqa: BLE001 (whatever it is, it is to be reported)
        made.failures.append(Failure(way.form, f"{type(error).__name__}: {error}", program, way))


# -- kernels --------------------------------------------------------------------------------------


def _read(made: Made, program: Program) -> Scop | None:
    try:
        text = _MARKS.sub("", program.text)  # the whole function, not a part of it
        scop = parse_c(text, function=program.name)
    except PolyoptError as error:
        refused(made, error, "parse_c")
        return None
    made.counts["taken: parse_c"] += 1
    return scop


def refused(made: Made, error: PolyoptError, where: str) -> None:
    """Count a refusal. Raises ``Defect`` where it is none that helps."""
    check_refusal(error, ())
    placed = error.diagnostic.span is not None or isinstance(
        error, (NotDecidedError, TooLargeError)
    )
    if not placed or not error.diagnostic.hint:
        missing = "no hint" if placed else "no place"
        raise Defect("refusal", f"{missing}: {error}") from error
    what = re.sub(r"'[^']*'|\b\d+\b", "...", error.diagnostic.message)
    made.counts[f"refused: {where}: {error.code}: {what}"] += 1


def _kernel(made: Made, program: Program, way: Way, draw: Draw) -> None:
    scop = _read(made, program)
    if scop is None:
        return
    try:
        Plan(scop)
    except PolyoptError as error:
        refused(made, error, "Plan")
        return
    kind = way.calls[0].name
    made.counts[f"plan: {kind}"] += 1
    options = {"target": draw.choose(TARGETS), "tile": draw.chance(80)} if draw.chance(50) else {}
    plan = Plan(scop)
    if kind.startswith("auto"):
        plan = _auto(scop, options)
    if kind.endswith("moves"):
        rng = random.Random(way.options["seed"])  # noqa: S311
        plan = random_plans(plan, rng, Tally(), 2 if kind.startswith("auto") else 5)[-1]
    add_kernel(made, program, scop, plan, {**way.options, "plan": kind, "auto": options})


def _auto(scop: Scop, options: Mapping[str, Any]) -> Plan:
    try:
        return po.auto(scop, **options)
    except PolyoptError as error:
        raise Defect(
            "auto", f"{type(error).__name__}: {error}", [Call("auto", (), dict(options))]
        ) from error


def add_kernel(
    made: Made, program: Program, scop: Scop, plan: Plan, options: Mapping[str, Any]
) -> None:
    """The plan's C, proven as text where that is asked for."""
    calls = calls_of(plan)
    way = Way("kernel", calls, options)
    name = f"k{program.name}"
    try:
        kernel = parsed_again(
            lambda: plan.emit(name=name) if calls else emit(initial_program(scop), name=name)
        )
    except (NotDecidedError, TooLargeError) as error:
        if options.get("plan") == "auto":
            raise
        check_refusal(error, calls)
        made.counts[f"refused: C of moves: {error.code}"] += 1
        return
    except Exception as error:
        raise Defect("emit", f"{type(error).__name__}: {error}", calls) from error
    if options.get("proof"):
        _prove(made, program, plan, way)
    made.subjects.append(Subject(program, way, _kernel_unit(program, kernel), kernel, scop, plan))


def _prove(made: Made, program: Program, plan: Plan, way: Way) -> None:
    try:
        plan.prove(code=True)
        made.counts["proof: shown"] += 1
    except (NotDecidedError, TooLargeError):
        made.counts["proof: not decided"] += 1
    except Exception as error:  # noqa: BLE001 (a refutation is as wrong as anything else)
        made.failures.append(Failure("proof", f"{type(error).__name__}: {error}", program, way))


def _kernel_unit(program: Program, kernel: CProgram) -> Unit:
    at = {p.name: i for i, p in enumerate(program.parameters)}
    given = [f"{{{at[a.name]}}}" for a in kernel.arguments]
    call = f"if ({kernel.c_name}({', '.join([*given, '2'])})) _exit(98)"
    keys = tuple((p.kind, p.key) for p in program.parameters)
    return Unit("extern void _exit(int);", call, True, keys)


def prelude(subjects: list[Subject]) -> str:
    """The kernels' own text, for one translation unit."""
    return c_text(s.kernel for s in subjects if s.kernel)


# -- files ----------------------------------------------------------------------------------------


def _options(draw: Draw) -> dict[str, Any]:
    if draw.chance(50):
        return {"threads": draw.choose((None, 2))}
    return {
        "target": draw.choose(TARGETS), "tile": draw.chance(80), "parallel": draw.chance(70),
        "fuse": draw.choose(FUSIONS), "threads": draw.choose((None, 2)),
    }  # fmt: skip


def _file(made: Made, program: Program, way: Way) -> None:
    try:
        done = rewrite(program.text, Rewriting(**way.options))
    except PolyoptError as error:
        refused(made, error, "emit")
        return
    for region in done.regions:
        if region.error is not None:
            refused(made, region.error, "emit")
            return
    made.counts["taken: emit"] += 1
    unit = unit_of(program, done.text)
    made.subjects.append(Subject(program, way, unit, plan=done.regions[0].plan))


# -- again ----------------------------------------------------------------------------------------


def again(program: Program, way: Way) -> Made:
    """The subject that was made that way; with what fails on the way."""
    made = Made()
    guarded(made, program, way, lambda: again_made(made, program, way))
    return made


def again_made(made: Made, program: Program, way: Way) -> None:
    """Make the subject of that way among others."""
    if way.form == "file":
        _file(made, program, way)
        return
    if any(c.name in PLANS and c.name != "auto" for c in way.calls):
        _kernel(made, program, way, Draw(f"subjects of {way.options['seed']}"))
        return
    scop = _read(made, program)
    if scop is not None:
        first = way.calls[:1]
        plan = (
            _auto(scop, first[0].options)
            if first and first[0].name == "auto"
            else replayed(scop, way.calls)
        )
        add_kernel(made, program, scop, plan, way.options)
