"""What becomes of a mutant: refused, disproved, equivalent, or (never) taken though it is wrong.

Plans and their storage are judged by the proof, trees and code by reading the C back. What they
accept is judged once more by what shares nothing with them: plans by the executor of
tests/oracle/transformed.py, C by a compiler and by running it, both against the interpreter and
at sizes that cross the borders of tiles.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.analysis.interpreter.interpret import interpret
from polyopt.codegen.emit import emit
from polyopt.codegen.lower import lowering as generating
from polyopt.codegen.lower.lowering import lower
from polyopt.codegen.pipeline import generate
from polyopt.codegen.printers.c import print_c
from polyopt.codegen.validate.translation import check_code
from polyopt.errors import ArgumentError, CompilerFailedError, PolyoptError
from polyopt.runtime.kernel import compile_kernel
from polyopt.transform.legality.proof import prove
from polyopt.transform.schedule.tree import loops_of
from polyopt.transform.source.proof import check_source
from tests.oracle.transformed import random_arrays, run_plan

from .kinds import spread
from .trees import readable, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from polyopt.codegen.signature import CProgram
    from polyopt.runtime.kernel import Kernel

    from .kinds import Kind
    from .subjects import Subject

#: isl operations for one proof: mutants that take more are refused as not decided
OPERATIONS = 4_000_000


@dataclass(frozen=True)
class Verdict:
    """``refused`` by what makes things of it, ``disproved``, ``equivalent`` or ``survived``."""

    kind: Kind
    subject: str
    outcome: str
    detail: str = ""


def judged(
    kind: Kind, subjects: Sequence[Subject], folder: Path, most: int, jobs: int = 1
) -> Iterator[Verdict]:
    """The verdicts on at most so many mutants of a kind in each plan, ``jobs`` at once."""
    running: deque[tuple[Subject, _Child]] = deque()
    for subject in subjects:
        for mutant in spread(list(_mutants(kind, subject)), most, f"{kind.name} {subject.name}"):
            if len(running) == jobs:
                yield _verdict(kind, *running.popleft())
            judge = partial(_JUDGES[kind.layer], subject, mutant, folder)
            running.append((subject, _Child.of(judge)))
    while running:
        yield _verdict(kind, *running.popleft())


def _verdict(kind: Kind, subject: Subject, child: _Child) -> Verdict:
    return Verdict(kind, subject.name, *child.told())


@dataclass(frozen=True)
class _Child:
    """A verdict from a process of its own: isl does not survive all that it is given here."""

    pid: int
    pipe: int

    @classmethod
    def of(cls, judge: Callable[[], tuple[str, str]]) -> _Child:
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(reading)
            try:
                told = "\n".join(judge())
            except BaseException as error:  # noqa: BLE001 (the parent's code is not to go on here)
                told = f"survived\n{type(error).__name__}: {error}"
            os.write(writing, told[:4000].encode())
            os._exit(0)
        os.close(writing)
        return cls(pid, reading)

    def told(self) -> tuple[str, str]:
        """Outcome and detail."""
        with os.fdopen(self.pipe) as pipe:
            outcome, _, detail = pipe.read().partition("\n")
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return (outcome, detail) if outcome else ("refused", f"exit status {status}")


def _mutants(kind: Kind, subject: Subject) -> Iterator[Any]:
    program = subject.plan.program
    if kind.layer == "source":
        yield from kind.make(subject.plan.source)
    elif kind.layer in {"plan", "storage"}:
        yield from kind.make(program)
    elif kind.layer == "tree":
        if any(loop.mark == "register_tile" for loop in loops_of(program.tree)):
            return  # these trees are made of more than the plan's copies, with names isl cannot read
        yield from kind.make(generating.materialize(readable(program)))
    elif kind.layer == "text":
        yield from kind.make(emit(program).source)
    else:
        yield from kind.make(generate(lower(program), program, program.scop.name))


def _source(subject: Subject, mutant: Any, _folder: Path) -> tuple[str, str]:
    source = subject.plan.source
    try:
        check_source(source, mutant)
    except PolyoptError as error:
        return "disproved", error.code
    for sizes in subject.sizes:
        arrays = random_arrays(source, sizes)
        expected, actual = (interpret(scop, sizes, arrays) for scop in (source, mutant))
        for name, values in expected.items():
            if not np.array_equal(values, actual[name]):
                return "survived", f"another {name} at {sizes}"
    return "equivalent", ""


def _plan(subject: Subject, mutant: Any, folder: Path) -> tuple[str, str]:
    # without what the proof remembers of right plans: a wrong buffer is none that moves can ask for
    original = replace(subject.plan.original)
    try:
        prove(mutant, original, operations=OPERATIONS)
    except PolyoptError as error:
        return "disproved", error.code
    except (LookupError, StopIteration, TypeError, ValueError) as error:
        return "refused", type(error).__name__  # a value that no move makes
    plan = replace(subject.plan, program=mutant, moves=())
    # the executor has no operations in buffers: the compiled kernel says of those
    for sizes in () if any(s.above for s in mutant.stores) else subject.sizes:
        arrays = random_arrays(plan.scop, sizes)
        expected = interpret(plan.scop, sizes, arrays)
        try:
            actual = run_plan(mutant, sizes, arrays)
        except ArgumentError as error:
            return "survived", str(error)
        for name, values in expected.items():
            if not np.array_equal(values, actual[name]):
                return "survived", f"the executor finds another {name} at {sizes}"
    try:
        program = emit(mutant)
    except PolyoptError as error:
        return "refused", error.code
    try:
        check_code(plan.scop, program, operations=OPERATIONS)
    except PolyoptError as error:
        return "survived", f"its C is not the source's: {error}"
    return _compiled(subject, program, folder)


def _tree(subject: Subject, mutant: Any, folder: Path) -> tuple[str, str]:
    try:
        schedule = written(mutant)
        with _patched(generating, "materialize", lambda _program, **_options: schedule):
            program = emit(readable(subject.plan.program))
    except Exception as error:  # noqa: BLE001  (any end but C is a refusal)
        return "refused", type(error).__name__
    return _read_back(subject, program, folder)


def _code(subject: Subject, mutant: Any, folder: Path) -> tuple[str, str]:
    program = emit(subject.plan.program)
    try:
        source = print_c(mutant).text
    except PolyoptError as error:
        return "refused", error.code  # what is not declared where it is used is not printed
    return _read_back(subject, replace(program, source=source), folder)


def _text(subject: Subject, mutant: Any, folder: Path) -> tuple[str, str]:
    return _read_back(subject, replace(emit(subject.plan.program), source=mutant), folder)


def _read_back(subject: Subject, program: CProgram, folder: Path) -> tuple[str, str]:
    try:
        check_code(subject.plan.scop, program, operations=OPERATIONS)
    except PolyoptError as error:
        return "disproved", error.code
    return _compiled(subject, program, folder)


def _compiled(subject: Subject, program: CProgram, folder: Path) -> tuple[str, str]:
    scop = subject.plan.scop
    try:
        kernel = compile_kernel(program, scop.context, cache=folder)
    except CompilerFailedError as error:
        return "refused", error.code
    # in a process of its own: what is wrong may leave its arrays
    child = os.fork()
    if not child:
        os._exit(_differs(subject, kernel))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        return "survived", f"the compiled kernel differs (exit status {status})"
    return "equivalent", ""


def _differs(subject: Subject, kernel: Kernel) -> int:
    scop = subject.plan.scop
    for sizes in subject.sizes:
        arrays = random_arrays(scop, sizes)
        expected = interpret(scop, sizes, arrays)
        for threads in (1, 3):
            given = {name: values.copy() for name, values in arrays.items()}
            out = {name: given[name] for name in expected}
            rest = {name: values for name, values in given.items() if name not in out}
            kernel(**rest, **sizes, out=out, threads=threads)
            if any(not np.array_equal(values, given[n]) for n, values in expected.items()):
                return 1
    return 0


@contextmanager
def _patched(where: Any, name: str, value: Any):
    before = getattr(where, name)
    setattr(where, name, value)
    try:
        yield
    finally:
        setattr(where, name, before)


_JUDGES = {
    "source": _source, "plan": _plan, "storage": _plan, "tree": _tree, "code": _code, "text": _text,
}  # fmt: skip
