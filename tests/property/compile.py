"""Many generated functions in one library, called and compared with what their programs say.

What a program computes comes from the interpreter, or from its own C, compiled apart.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.analysis.interpreter.interpret import interpret
from polyopt.analysis.sets.points import parameter_value
from polyopt.codegen.signature import signature_of
from polyopt.errors import CompilerFailedError
from polyopt.isl import fix_param_values
from polyopt.runtime.toolchain import find_toolchain

from .builder import INPUT_RANGES, MOST_TRIPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from polyopt.codegen.signature import CProgram
    from polyopt.ir.scop import Array, Scop

#: what keeps little work on one thread: here it is shared, to see that it may be
_SHARED = re.compile(r"    if \(.* < \d+.*\) \{\n        threads = 1;.*\n    \}\n")
_WORKER = Path(__file__).with_name("worker.py")
#: Locals hold garbage before they are written: gcc 12, clang 8.
_POISON_LOCALS = "-ftrivial-auto-var-init=pattern"
#: what the programs' own C is compiled with: the less the compiler does, the better; and it ends
#: where what it computes is for each compiler to choose
_PLAINLY = (
    "-std=gnu11", "-O0", "-ffp-contract=off", "-fwrapv", "-w",
    "-fsanitize=float-cast-overflow,integer-divide-by-zero", "-fsanitize-undefined-trap-on-error",
)  # fmt: skip
#: what waits and computes nothing is given so many times the limit that computing has
_PATIENCE = 20
#: Fresh heap holds garbage too; two threads on a busy machine sleep instead of spinning.
_ENVIRONMENT = {"MALLOC_PERTURB_": "165", "OMP_WAIT_POLICY": "passive", "OMP_DYNAMIC": "false"}
_CTYPES = {
    "bool": "c_bool", "f32": "c_float", "f64": "c_double",
    "i8": "c_int8", "i16": "c_int16", "i32": "c_int32", "i64": "c_int64",
    "u8": "c_uint8", "u16": "c_uint16", "u32": "c_uint32", "u64": "c_uint64",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Run:
    """A program's arguments at some sizes, and what it leaves in its outputs."""

    sizes: Mapping[str, int]
    #: sizes, scalars and arrays that come with contents, by name
    values: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]
    #: nothing where the program's own C says it
    expected: Mapping[str, np.ndarray] | None


@dataclass(frozen=True, eq=False)
class Subject:
    """A program, how it runs, and functions that should do the same; function names are unique."""

    scop: Scop
    runs: Sequence[Run]
    functions: Sequence[CProgram]
    #: C of one function with the same arguments, which says what the program computes
    source: str = ""


@dataclass(frozen=True)
class Build:
    """A compiler and its flags; an empty name stands for the machine's own compiler."""

    compiler: str = ""
    flags: tuple[str, ...] = ("-O1",)
    openmp: bool = True

    def __str__(self) -> str:
        """``gcc -O2 -fopenmp``."""
        return " ".join((self.compiler or "cc", *self.flags, *["-fopenmp"] * self.openmp))

    @classmethod
    def of(cls, text: str) -> Build:
        """The build that ``str`` tells."""
        compiler, *flags = text.split()
        own = tuple(f for f in flags if f != "-fopenmp")
        return cls("" if compiler == "cc" else compiler, own, "-fopenmp" in flags)

    @property
    def here(self) -> Build:
        """This build, by the machine's own compiler where the named one is not installed."""
        return self if shutil.which(self.compiler or "cc") else replace(self, compiler="")


BUILD = Build()


@dataclass(frozen=True)
class Wrong:
    """A function that does not do what its program does.

    Where ``by_program`` holds, the program itself ended before it could say what that is.
    """

    function: str
    text: str
    by_program: bool = False


def c_text(programs: Iterable[CProgram]) -> str:
    """One translation unit with all functions; what several define for themselves stands once."""
    heads: dict[str, None] = {}
    bodies: list[str] = []
    programs = list(programs)
    for program in programs:
        start = program.source.index(f"{program.prototype}\n{{")
        head = re.sub(r"\A/\*.*?\*/", "", program.source[:start], flags=re.DOTALL)
        heads.update(dict.fromkeys(part.strip() for part in head.split("\n\n")))
        bodies.append(_SHARED.sub("", program.source[start:]))
    # what one of them includes may define what another's argument is called
    names = {a.c_name for p in programs for a in p.arguments} - {"NAN", "INFINITY"}
    hidden = "\n".join(f"#undef {name}" for name in sorted(names))
    return "\n\n".join([*heads, hidden, *bodies])


@cache
def _flags(build: Build) -> tuple[str, ...]:
    toolchain = find_toolchain(build.compiler or None)
    flags = ["-std=gnu11", "-ffp-contract=off", "-fwrapv", "-w", *build.flags]
    if build.openmp and toolchain.has_openmp:
        flags.append("-fopenmp")
    with TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("int probe(void) { return 0; }\n")
        with suppress(CompilerFailedError):
            toolchain.compile_library(source, Path(folder, "probe.so"), [_POISON_LOCALS])
            flags.append(_POISON_LOCALS)
    return tuple(flags)


def _poison() -> tuple[str, ...]:
    return tuple(flag for flag in _flags(BUILD) if flag == _POISON_LOCALS)


def _sources(subjects: Sequence[Subject]) -> str:
    """The programs' own C, each function under a name that only it has."""
    texts = [
        re.sub(r"\bvoid \w+\(", f"void {_source_name(s)}(", s.source, count=1)
        for s in subjects
        if s.source
    ]
    return "\n".join(["#include <math.h>", "#include <stdint.h>", *texts])


def _source_name(subject: Subject) -> str:
    return f"source_of_{subject.functions[0].c_name}"


def differences(
    subjects: Sequence[Subject], *, build: Build = BUILD, timeout_s: float | None = None
) -> tuple[Wrong, ...]:
    """Compile everything, call everything, and tell what is not as the programs have it.

    ``timeout_s`` is processor time: a busy machine is no failure. Raises ``CompilerFailedError``.
    """
    with TemporaryDirectory(prefix="polyopt-property-") as folder:
        source, library = Path(folder, "batch.c"), Path(folder, "batch.so")
        source.write_text(c_text(f for s in subjects for f in s.functions))
        find_toolchain(build.compiler or None).compile_library(source, library, _flags(build))
        sources = Path(folder, "sources.so")
        if any(s.source for s in subjects):
            text = Path(folder, "sources.c")
            text.write_text(_sources(subjects))
            find_toolchain().compile_library(text, sources, (*_PLAINLY, *_poison()))
        job = Path(folder, "job.pickle")
        calls, work = _job(subjects, build)
        job.write_bytes(pickle.dumps({**work, "library": str(library), "sources": str(sources)}))
        found: dict[str, Wrong] = {}
        for number, (text, by_program) in _results(job, len(calls), timeout_s).items():
            if text:
                name, with_ = calls[number]
                found.setdefault(name, Wrong(name, f"{text}, for {with_}", by_program))
        return tuple(found.values())


def _job(subjects: Sequence[Subject], build: Build) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    described: list[tuple[str, str]] = []
    calls: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    for subject in subjects:
        arguments = [_argument(a.kind, a.name, a.type) for a in signature_of(subject.scop)]
        for run in subject.runs:
            for function in subject.functions:
                for threads in (1, 2) if function.uses_openmp and build.openmp else (1,):
                    calls.append(
                        {"function": function.c_name, "threads": threads, "run": len(runs)}
                    )
                    described.append((function.c_name, f"{dict(run.sizes)} on {threads} thread(s)"))
            runs.append(
                {
                    "arguments": arguments,
                    "values": run.values,
                    "shapes": run.shapes,
                    "expected": run.expected,
                    "source": _source_name(subject) if subject.source else "",
                }
            )
    return described, {"calls": calls, "runs": runs}


def _argument(kind: str, name: str, type_: Any) -> tuple[str, str, str]:
    return kind, name, type_.numpy_name if kind == "array" else _CTYPES[type_.name]


def _results(job: Path, count: int, timeout_s: float | None) -> dict[int, tuple[str, bool]]:
    """The problem of each call, and whether the program's own C is to blame.

    After a crash the rest runs in a new process.
    """
    results: dict[int, tuple[str, bool]] = {}
    start = 0
    limit = str(math.ceil(timeout_s or 0))
    while start < count:
        try:
            done = subprocess.run(
                [sys.executable, str(_WORKER), str(job), str(start), limit],
                stdout=subprocess.PIPE,
                timeout=timeout_s and timeout_s * _PATIENCE,
                check=False,
                text=True,
                env={**os.environ, **_ENVIRONMENT},
            )
            late = done.returncode == -signal.SIGXCPU
            lines = done.stdout.splitlines()
            ended = "did not end" if late else f"ended with status {done.returncode}"
        except subprocess.TimeoutExpired as error:
            lines, ended = (error.stdout or b"").decode().splitlines(), "did not end"
        announced, by_program = start - 1, False
        for line in map(json.loads, lines):
            by_program = line == "source"
            if isinstance(line, list):
                results[line[0]] = line[1], False
            elif not by_program:
                announced = line
        if announced < start:
            msg = f"the worker {ended} before its first call"
            raise RuntimeError(msg)
        results.setdefault(announced, (ended, by_program))
        start = announced + 1
    return results


# -- arguments ----------------------------------------------------------------------------------


def runs_of(
    scop: Scop,
    all_sizes: Iterable[Mapping[str, int]],
    seed: int,
    *,
    expect: Callable[..., Mapping[str, np.ndarray]] | None = interpret,
) -> list[Run]:
    """The program's runs at these sizes on whole small numbers, with what ``expect`` makes of them.

    ``expect(scop, sizes, arrays)`` gives the outputs; without it the program's own C will.
    """
    rng = np.random.default_rng(seed)
    return [_run(scop, dict(sizes), rng, expect) for sizes in all_sizes]


def _run(
    scop: Scop,
    sizes: dict[str, int],
    rng: np.random.Generator,
    expect: Callable[..., Mapping[str, np.ndarray]] | None,
) -> Run:
    arguments = [a for a in scop.arrays if a.role != "temp"]
    shapes = {a.name: shape_of(a, sizes) for a in arguments}
    given = {a.name: _contents(a, shapes[a.name], rng) for a in arguments if a.is_live_in}
    expected = None if expect is None else expect(scop, sizes, given)
    scalars = {name: v.item() for name, v in given.items() if v.ndim == 0}
    writable = {a.name for a in arguments if a.is_live_out}
    values = {n: v for n, v in given.items() if n not in scalars or n in writable}
    values |= {n: v for n, v in scalars.items() if n not in writable}
    return Run(sizes, {**sizes, **values}, shapes, expected)


def shape_of(array: Array, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """An array's shape at these sizes."""
    return tuple(parameter_value(extent, sizes) for extent in array.extents)


def _contents(array: Array, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    low, high = INPUT_RANGES[array.type.name]
    drawn = rng.integers(low, high, shape, endpoint=True)
    return np.asarray(drawn).astype(array.type.numpy_name)


def awkward_sizes(
    scop: Scop, sizes: Mapping[str, int], seed: int, most: int = 3
) -> list[dict[str, int]]:
    """The sizes given, the least ones that the program takes, and others that stay exact."""
    found = [dict(sizes)]
    if sizes:
        least = next(all_ for n in range(1, MOST_TRIPS) if (all_ := dict.fromkeys(sizes, n))
                     and is_allowed(scop, all_))  # fmt: skip
        found.append(least)
        rng = np.random.default_rng(seed)
        for _ in range(8):
            drawn = {name: int(low + rng.integers(0, 8)) for name, low in least.items()}
            found.append(drawn)
    kept: list[dict[str, int]] = []
    for one in found:
        if one not in kept and is_allowed(scop, one) and is_exact(scop, one):
            kept.append(one)
    return kept[:most]


def is_allowed(scop: Scop, sizes: Mapping[str, int]) -> bool:
    """Whether the program may be called with these sizes."""
    return not fix_param_values(scop.context, sizes).is_empty()


def is_exact(scop: Scop, sizes: Mapping[str, int]) -> bool:
    """Whether no loop runs so often that values would round."""
    return all(n <= MOST_TRIPS for a in scop.arrays for n in shape_of(a, sizes))
