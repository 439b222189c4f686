"""Batches of C functions called with many arguments: what a program computes, and what others make of it.

A batch is a translation unit (or two: programs without headers use names that headers take) with a
table of its functions; ``driver.c`` calls them, each call in a process of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING

import numpy as np

from polyopt.runtime.toolchain import find_toolchain

from .ctypes import TYPES

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from .generate import Program
    from .inputs import Run

SANITIZE = (
    "-O0", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all", "-ftrivial-auto-var-init=pattern",
)  # fmt: skip
#: for one call
SECONDS = 10
_COMMON = ("-std=gnu11", "-ffp-contract=off", "-w")
_HEADERS = "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdbool.h>"
_DRIVER = Path(__file__).with_name("driver.c")
_ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0", "OMP_WAIT_POLICY": "passive", "OMP_DYNAMIC": "false",
    "MALLOC_PERTURB_": "165", "OMP_NUM_THREADS": "2",
}  # fmt: skip
_SANITIZERS = {
    -6: "aborted",
    1: "a sanitizer stopped it",
    99: "wrote outside of an array",
    24: "did not end",
}


#: words of pragmas, in which macros are expanded
_OPENMP = frozenset(
    ["omp", "parallel", "for", "simd", "schedule", "num_threads", "ordered", "reduction", "safelen"]
)


class NotCompiledError(Exception):
    """A compiler did not take a batch."""


@dataclass(frozen=True)
class Unit:
    """A function for a batch: C text, the expression that calls it, and what its name is there.

    ``call`` has ``{0}``, ``{1}``, ... for the arguments.
    """

    text: str
    call: str
    headers: bool
    keys: tuple[tuple[str, str], ...]
    file_names: tuple[str, ...] = ()
    tag: str = ""


def unit_of(program: Program, text: str | None = None) -> Unit:
    """A program, or another text of its function."""
    holes = ", ".join(f"{{{i}}}" for i in range(len(program.parameters)))
    keys = tuple((p.kind, p.key) for p in program.parameters)
    return Unit(
        text or program.text,
        f"{program.name}({holes})",
        program.headers,
        keys,
        program.file_names,
        program.name,
    )


# -- text -----------------------------------------------------------------------------------------


def _stub(unit: Unit, number: int) -> str:
    given = [
        f"p[{i}]" if kind == "array" else f"*({TYPES[key].spellings[0]} *)p[{i}]"
        for i, (kind, key) in enumerate(unit.keys)
    ]
    return f"void stub_{number}(void **p) {{ {unit.call.format(*given)}; }}"


def _texts(units: Mapping[int, Unit], before: str) -> list[str]:
    """The translation units: without headers, with them, and each that has a clause's name."""
    made: dict[tuple[bool, int], list[str]] = {}
    for number, unit in units.items():
        own = number if _OPENMP.intersection(unit.file_names) else -1
        # kernels bring along what they need, and are not to need more
        head = [before or _HEADERS] * unit.headers
        made.setdefault((unit.headers, own), head).extend([_alone(unit), _stub(unit, number)])
    texts = ["\n".join(parts) + "\n" for parts in made.values()]
    stubs = "".join(f"extern void stub_{n}(void **);\n" for n in units)
    most = max(units) + 1
    table = ", ".join(f"stub_{n}" if n in units else "0" for n in range(most))
    return [*texts, f"{stubs}void (*const batch[])(void **) = {{{table}}};\n"]


def _alone(unit: Unit) -> str:
    """A program's text whose other names are its own in a batch."""
    macros = [
        line.split()[1].partition("(")[0]
        for line in unit.text.splitlines()
        if line.startswith("#define ")
    ]
    others = [n for n in unit.file_names if n not in macros and n not in _OPENMP]
    lines = [f"#define {n} {n}_{unit.tag}" for n in others]
    return "\n".join([*lines, unit.text, *(f"#undef {n}" for n in (*macros, *others))])


# -- compiling and calling ------------------------------------------------------------------------


@cache
def _driver(flags: tuple[str, ...]) -> Path:
    folder = Path(mkdtemp(prefix="polyopt-random-"))
    import atexit

    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = folder / "driver.o"
    _compiled(
        [
            "-std=gnu11",
            "-O1",
            *(["-DWATCHED"] if flags else []),
            *flags,
            "-c",
            str(_DRIVER),
            "-o",
            str(made),
        ],
        folder,
    )
    return made


def _compiled(words: Sequence[str], folder: Path, seconds: int = 600) -> None:
    """Run the compiler in a folder: what it says names files as they are called there."""
    try:
        done = subprocess.run(
            [*find_toolchain().command, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
            cwd=folder,
        )
    except subprocess.TimeoutExpired:
        raise NotCompiledError("the compiler did not end") from None
    if done.returncode:
        raise NotCompiledError(done.stderr[:3000])


@contextmanager
def compiled(units: Mapping[int, Unit], flags: Sequence[str], before: str = "") -> Generator[Path]:
    """An executable that calls these functions; ``before`` is text before them. Raises ``NotCompiledError``."""
    with TemporaryDirectory(prefix="polyopt-random-") as name:
        folder = Path(name)
        files: list[str] = []
        for number, text in enumerate(_texts(units, before)):
            path = folder / f"part{number}.c"
            path.write_text(text)
            files.append(path.name)
        asan = tuple(f for f in flags if f.startswith("-fsanitize"))
        made = folder / "batch"
        _compiled([*_COMMON, *flags, *files, str(_driver(asan)), "-o", str(made), "-lm"], folder)
        yield made


def is_c(unit: Unit, before: str = "") -> bool:
    """Whether a compiler that only reads takes it."""
    try:
        with compiled({0: unit}, ("-fsyntax-only",), before):
            return True
    except NotCompiledError:
        return False


@dataclass(frozen=True, eq=False)
class Answer:
    """What a call left in its arguments, or how it ended."""

    status: int
    values: tuple[np.ndarray, ...]

    @property
    def problem(self) -> str:
        """How it ended, where that is not as it should."""
        return (
            ""
            if self.status == 0
            else _SANITIZERS.get(self.status, f"ended with status {self.status}")
        )


def answers(
    units: Mapping[int, Unit],
    runs: Sequence[tuple[int, Run]],
    flags: Sequence[str],
    *,
    before: str = "",
    seconds: int = SECONDS,
) -> list[Answer]:
    """What each run of a unit (by its number) leaves. Raises ``NotCompiledError``."""
    with compiled(units, flags, before) as made:
        layout, blob, places = _laid_out(runs)
        folder = made.parent
        (folder / "layout").write_bytes(np.array(layout, np.int64).tobytes())
        (folder / "inputs").write_bytes(blob)
        words = [
            str(made),
            *(str(folder / n) for n in ("layout", "inputs", "outputs", "status")),
            str(seconds),
        ]
        subprocess.run(
            words, env={**os.environ, **_ENVIRONMENT}, stderr=subprocess.DEVNULL, check=False
        )
        status = (folder / "status").read_bytes()
        left = (folder / "outputs").read_bytes()
    found: list[Answer] = []
    for number, (_, run) in enumerate(runs):
        values = tuple(
            np.frombuffer(left, g.values.dtype, len(g.values), at)
            for g, at in zip(run.arguments, places[number], strict=True)
        )
        found.append(Answer(status[number], values))
    return found


def _laid_out(runs: Sequence[tuple[int, Run]]) -> tuple[list[int], bytes, list[list[int]]]:
    layout, parts, places, at = [len(runs)], list[bytes](), list[list[int]](), 0
    for function, run in runs:
        layout += [function, len(run.arguments)]
        here: list[int] = []
        for given in run.arguments:
            data = given.values.tobytes()
            layout += [at, len(data), len(data), given.base, given.shift, given.skew]
            here.append(at)
            data += b"\0" * (-len(data) % 64)
            parts.append(data)
            at += len(data)
        places.append(here)
    return layout, b"".join(parts), places


def same(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Element by element: the same bits, or both no number."""
    if one.dtype.kind == "f":
        bits = f"u{one.itemsize}"
        return (one.view(bits) == other.view(bits)) | (np.isnan(one) & np.isnan(other))
    if one.dtype.kind == "b":
        return one.view("u1") == other.view("u1")
    return one == other


def difference(names: Iterable[str], found: Answer, expected: Answer) -> str:
    """The first difference between two answers; nothing where there is none."""
    if found.problem:
        return found.problem
    for name, one, other in zip(names, found.values, expected.values, strict=True):
        wrong = np.flatnonzero(~same(one, other))
        if len(wrong):
            at = int(wrong[0])
            return f"{name}[{at}] is {one[at]}, not {other[at]} ({len(wrong)} of {len(one)} differ)"
    return ""
