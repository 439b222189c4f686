"""The C compiler: found, asked what it can do, and run with a time limit."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.codegen.emit import KEEP_ACCUMULATORS, KEEP_ROUNDINGS, SPARE_STACK
from polyopt.codegen.target import cpu_id
from polyopt.errors import (
    CompilerFailedError,
    CompilerMissingError,
    InvalidOptionError,
)
from polyopt.runtime.cache import KernelCache, content_key
from polyopt.runtime.processes import run_group
from polyopt.runtime.reports.clang import FLAGS, read_clang
from polyopt.runtime.reports.gcc import FLAG, OLDEST, read_gcc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.runtime.reports.notes import CompilerReport

_CANDIDATES = ("cc", "gcc", "clang")
#: Neither changes a value: ``errno`` and floating-point exception flags are all that is lost,
#: and square roots and conditions on floats become vector code. Vector loops are marked by pragmas
#: of OpenMP, which count also where there are no threads.
_BASE = ("-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd")
#: Compilers would keep what one iteration loads for the next before they look for vectors, and then
#: find none: the more arrays are known to be apart, the more often. By its value ranges gcc (12.2)
#: takes zero for what a vector loop loads where a condition that the loop does not change is false.
#: It takes triangles apart, a first row without elements by itself, and finds no vectors for sums
#: along the others. Where several choices of an iteration hang on one condition, it threads jumps
#: through them, and what keeps its value is then stored under masks: no loads are forwarded from
#: those. What it takes beyond linear time for functions of many loops, and their code
#: is no slower without (gcc 12.2, 18 programs: 0.97 to 1.06, compiled in 0.3 to 1 of the time): the
#: elimination of common subexpressions among registers, with sets of blocks times registers (kB),
#: and registers allocated loop by loop.
GCC_FLAGS = (
    "-fno-tree-pre", "-fno-tree-vrp", "-fno-split-loops",
    "-fno-thread-jumps", "--param=max-gcse-memory=2048", "-fira-region=one",
)  # fmt: skip
#: For x86, gcc fills and copies what is as small as a tile's accumulators by ``rep stos`` and ``rep
#: movs``, which take some 30 cycles to begin ("-mmemset-strategy" in its manual; Intel 64
#: Optimization Reference Manual, 3.7.5): vectors up to this many bytes, the library's function for
#: all else. A moving average of nine numbers takes 0.35 of the time so, on an AMD EPYC of 2024.
_SMALL = "vector_loop:1024:noalign,libcall:-1:noalign"
SMALL_FILLS = (f"-mmemset-strategy={_SMALL}", f"-mmemcpy-strategy={_SMALL}")
CLANG_FLAGS = ("-mllvm", "-enable-load-pre=false")
#: the flag of targets whose vectors have 512 bits
_WIDE = "-mprefer-vector-width=512"
#: processors for which gcc takes a load for as cheap as a register's value: vectors that several
#: multiply-adds share are loaded for each (gcc 12.2: 65 and 99 GFLOP/s for a convolution's 2 x 4
#: vectors). It takes those with vectors of 512 bits for them where it does not know better.
_CHEAP_LOADS = ("znver2", "znver3")
#: what gcc, clang and the linkers go by beside their flags, from their manuals: where headers,
#: libraries and programs of theirs are, and flags by the back door
_VARIABLES = (
    "CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "LD_RUN_PATH",
    "CCC_OVERRIDE_OPTIONS", "SDKROOT", "MACOSX_DEPLOYMENT_TARGET",
)  # fmt: skip
_EXCERPT_LINES = 20
_PROBE = "int probe;\n"
_OPENMP_PROBE = """\
#include <omp.h>
int probe(int n) {
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < n; i++) {
        sum += omp_get_thread_num() >= 0;
    }
    return sum;
}
"""


@dataclass(frozen=True)
class Toolchain:
    """A C compiler: the command that runs it, and the first line of its ``--version``."""

    command: tuple[str, ...]
    version: str
    #: differs where the same command may do something else: another file behind it, or a variable
    identity: str = ""

    @property
    def is_clang(self) -> bool:
        """Whether it is clang, under whatever name."""
        return "clang" in self.version.lower()

    @property
    def has_openmp(self) -> bool:
        """Whether it compiles and links OpenMP code; found out once."""
        return _compiles(self, _OPENMP_PROBE, ("-fopenmp",))

    def __str__(self) -> str:
        """The version line."""
        return self.version

    def flags(
        self, extra: Sequence[str] = (), *, openmp: bool = False, contract: bool = True
    ) -> tuple[str, ...]:
        """All flags for a kernel; ``contract`` lets ``a * b + c`` round once (FMA)."""
        contraction = f"-ffp-contract={'fast' if contract else 'off'}"
        threads = ("-fopenmp",) if openmp else ()
        left_out = {
            *(KEEP_ACCUMULATORS if self.is_clang else ()),
            *(KEEP_ROUNDINGS if self.is_clang or contract else ()),
            *SPARE_STACK,
        }
        left_out |= set(SMALL_FILLS)
        asked = [flag for flag in dict.fromkeys(extra) if flag not in left_out]
        small = SMALL_FILLS if self._fills_by_strings else ()
        spared = SPARE_STACK if self._spares_stack(extra) else ()
        return (*_BASE, *_own_flags(self), contraction, *threads, *asked, *spared, *small)

    @property
    def _fills_by_strings(self) -> bool:
        """Whether it is gcc for x86, as which its options tell it."""
        return not self.is_clang and _compiles(self, _PROBE, SMALL_FILLS)

    def _spares_stack(self, extra: Sequence[str]) -> bool:
        """Whether ``SPARE_STACK`` is meant for this compiler and processor: with vectors of 512
        bits where it is asked for, with others always."""
        if self.is_clang or (_WIDE in extra and not set(SPARE_STACK) <= set(extra)):
            return False
        machine = tuple(flag for flag in extra if flag.startswith("-march="))
        return (
            bool(machine)
            and _tuned_for(self, machine) in _CHEAP_LOADS
            and _compiles(self, _PROBE, SPARE_STACK)
        )

    @property
    def reports(self) -> bool:
        """Whether it says which loops it vectorised, in words that we know."""
        return self.is_clang or (self.gcc_version or 0) >= OLDEST

    @property
    def gcc_version(self) -> int | None:
        """12 of gcc 12.2.0; ``None`` of what does not say so."""
        found = re.search(r"\) (\d+)\.\d", self.version)
        return int(found[1]) if found and not self.is_clang else None

    def compile_library(
        self, source: Path, library: Path, flags: Sequence[str], *, timeout_s: float | None = None
    ) -> str:
        """Make a shared library of one C file; what the compiler printed.

        Raises ``CompilerFailedError`` with the start of the compiler's message, or when it runs
        longer than ``timeout_s`` ($POLYOPT_CC_TIMEOUT, 300 s).
        """
        asked = [*flags, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
        return self._run(asked, timeout_s)

    def compile_object(self, source: Path, made: Path, flags: Sequence[str]) -> None:
        """Make an object file, for a shared library, of one C file.

        Raises ``CompilerFailedError``.
        """
        self._run([*flags, "-fPIC", "-c", str(source), "-o", str(made)], None)

    def link_library(self, objects: Sequence[Path], library: Path, flags: Sequence[str]) -> None:
        """Make a shared library of object files. Raises ``CompilerFailedError``."""
        asked = [*flags, "-shared", *map(str, objects), "-o", str(library), "-lm"]
        self._run(asked, None)

    def compile_reported(
        self, source: Path, library: Path, flags: Sequence[str]
    ) -> CompilerReport | None:
        """Make a shared library, and say what became of its loops; ``None`` where the compiler
        does not tell. The library is the same. Raises what ``compile_library`` raises.
        """
        if not self.reports:
            self.compile_library(source, library, flags)
            return None
        if self.is_clang:
            return read_clang(self.compile_library(source, library, [*flags, *FLAGS]), self.version)
        with tempfile.TemporaryDirectory(prefix="polyopt-") as directory:
            told = Path(directory, "report.txt")
            self.compile_library(source, library, [*flags, f"{FLAG}{told}"])
            text = told.read_text(encoding="utf-8", errors="replace") if told.exists() else ""
        return read_gcc(text, self.version)

    def compile_program(self, source: Path, program: Path, flags: Sequence[str]) -> None:
        """Make an executable of one C file. Raises ``CompilerFailedError``."""
        self._run([*flags, str(source), "-o", str(program), "-lm"], None)

    def _run(self, arguments: list[str], timeout_s: float | None) -> str:
        limit = _timeout() if timeout_s is None else timeout_s
        shown = shlex.join([*self.command, *arguments])
        # Messages in English and ASCII quotes, whatever the user's locale.
        environment = {**os.environ, "LC_ALL": "C"}
        try:
            done = run_group([*self.command, *arguments], limit, environment)
        except subprocess.TimeoutExpired:
            msg = f"the C compiler did not finish within {limit:g} s"
            raise CompilerFailedError(
                msg,
                notes=[f"command: {shown}"],
                hint="raise POLYOPT_CC_TIMEOUT, or use less unrolling",
            ) from None
        except OSError as error:
            msg = f"the C compiler could not be run: {error.strerror}"
            raise CompilerFailedError(msg, notes=[f"command: {shown}"]) from None
        if done.returncode != 0:
            lines = done.stdout.strip().splitlines() or [
                f"exit status {done.returncode}, no message"
            ]
            more = [f"({len(lines) - _EXCERPT_LINES} more lines)"] * (len(lines) > _EXCERPT_LINES)
            raise CompilerFailedError(
                "the C compiler failed",
                notes=[*lines[:_EXCERPT_LINES], *more, f"command: {shown}"],
                hint="see `polyopt doctor`; another compiler is chosen with POLYOPT_CC",
            )
        return done.stdout


def _timeout() -> float:
    text = os.environ.get("POLYOPT_CC_TIMEOUT", "300")
    try:
        return float(text)
    except ValueError:
        msg = f"POLYOPT_CC_TIMEOUT is {text!r}, which is not a number of seconds"
        raise InvalidOptionError(msg) from None


def find_toolchain(cc: str | None = None) -> Toolchain:
    """The compiler ``cc``, else $POLYOPT_CC, else the first of cc, gcc, clang.

    Raises ``CompilerMissingError``; a compiler asked for by name is never replaced by another.
    """
    asked = cc or os.environ.get("POLYOPT_CC")
    if asked:
        command = tuple(shlex.split(asked))
        if not command or shutil.which(command[0]) is None:
            origin = "cc=" if cc else "POLYOPT_CC"
            msg = f"the C compiler {asked!r} was not found"
            raise CompilerMissingError(msg, notes=[f"asked for by {origin}"], hint="check its path")
        return _described(command, _identity(command))
    for candidate in _CANDIDATES:
        path = shutil.which(candidate)
        if path is not None:
            return _described((path,), _identity((path,)))
    msg = "no C compiler was found"
    raise CompilerMissingError(
        msg,
        notes=["looked for " + ", ".join(_CANDIDATES) + " in PATH"],
        hint="install gcc or clang (Debian: apt install gcc; macOS: xcode-select --install), "
        "or set POLYOPT_CC",
    )


def _identity(command: tuple[str, ...]) -> str:
    """What decides what a command does, as a digest: the files that it names, as they are now, and
    the variables that compilers go by.

    Wrappers are scripts of some lines, and say the version of what they wrap whatever they add.
    """
    found = (shutil.which(word) or (word if Path(word).is_file() else None) for word in command)
    files = [_digest_of(Path(path).resolve()) for path in found if path is not None]
    variables = [f"{name}={os.environ[name]}" for name in _VARIABLES if name in os.environ]
    return hashlib.sha256("\0".join([*files, *variables]).encode()).hexdigest()


def _digest_of(path: Path) -> str:
    """Path and content of a file."""
    try:
        found = path.stat()
        return f"{path}:{_digest(path, found.st_ino, found.st_size, found.st_mtime_ns)}"
    except OSError:  # it may be run all the same
        return str(path)


@cache
def _digest(path: Path, *_state: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _described(command: tuple[str, ...], identity: str) -> Toolchain:
    try:
        done = run_group([*command, "--version"], 30, dict(os.environ))
    except (OSError, subprocess.SubprocessError) as error:
        msg = f"the C compiler {command[0]!r} could not be run: {error}"
        raise CompilerFailedError(msg, hint="choose another with POLYOPT_CC") from None
    first = (done.stdout.strip() or "unknown").splitlines()[0]
    return Toolchain(command, first, identity)


def _own_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """What only this compiler is told; clang's are options of its inside, which may go one day."""
    if not toolchain.is_clang:
        return GCC_FLAGS
    return CLANG_FLAGS if _compiles(toolchain, _PROBE, CLANG_FLAGS) else ()


@cache
def _tuned_for(toolchain: Toolchain, flags: tuple[str, ...]) -> str:
    """The processor whose costs gcc goes by under these flags; "" where it does not say."""
    return _kept(toolchain, ("tuned", *flags), lambda: _asked_tuning(toolchain, flags))


def _asked_tuning(toolchain: Toolchain, flags: tuple[str, ...]) -> str:
    command = [*toolchain.command, *flags, "-Q", "--help=target"]
    try:
        done = run_group(command, 30, {**os.environ, "LC_ALL": "C"})
    except (OSError, subprocess.SubprocessError):
        return ""
    found = re.search(r"^\s*-mtune=\s+(\S+)", done.stdout, re.MULTILINE)
    return found[1] if found else ""


@cache
def _compiles(toolchain: Toolchain, text: str, flags: tuple[str, ...]) -> bool:
    """Whether a compiler makes a library of some C with these flags."""
    question = ("compiles", text, *flags)
    return bool(_kept(toolchain, question, lambda: _tried(toolchain, text, flags)))


def _tried(toolchain: Toolchain, text: str, flags: tuple[str, ...]) -> str:
    """What is kept of one that does; else nothing."""
    try:
        with tempfile.TemporaryDirectory(prefix="polyopt-") as directory:
            source = Path(directory, "probe.c")
            source.write_text(text, encoding="ascii")
            library = Path(directory, "probe.so")
            toolchain.compile_library(source, library, flags, timeout_s=min(60, _timeout()))
    except CompilerFailedError:
        return ""
    except OSError as error:
        msg = f"the C compiler could not be tried: {error.strerror}"
        raise CompilerFailedError(msg, hint="make room, or set TMPDIR") from None
    return "yes"


def _kept(toolchain: Toolchain, question: tuple[str, ...], ask: Callable[[], str]) -> str:
    """A compiler's answer, from the kernel cache where some process has asked before.

    An empty one is asked for anew in each: what a compiler lacks may be installed later. Answers
    under ``-march=native`` are those of one processor.
    """
    if not toolchain.identity:  # nothing says whether it is the one that was asked
        return ask()
    machine = cpu_id() if "-march=native" in question else ""
    key = content_key(*toolchain.command, toolchain.version, toolchain.identity, machine, *question)
    kernels = KernelCache()
    known = kernels.probe(key)
    if known:
        return known
    answer = ask()
    if answer:
        kernels.keep_probe(key, answer)
    return answer
