"""What is wrong in a file of programs, each thing with its place: for editors and for scripts."""

from __future__ import annotations

import runpy
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polyopt
from polyopt.arguments import checks_arguments
from polyopt.errors import (
    InvalidOptionError,
    PolyoptError,
    ProgramSyntaxError,
    given,
    unexpected,
)
from polyopt.ir.scop import Scop
from polyopt.library import PIPELINE, Reading, existing_file
from polyopt.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.specialize import JitFunction

#: the name that a Python file has while it is checked: what it guards with ``__main__`` stays
_NAME = "_polyopt_checked"


@dataclass(frozen=True)
class Problem:
    """Something wrong at a place of a file; lines and columns count from 1."""

    file: str
    line: int
    column: int
    #: how many columns it has
    length: int
    #: ``error``, or ``warning`` for what is taken, but slower than it could be
    severity: str
    code: str
    message: str
    hint: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As compilers print it: ``a.c:3:9: error: ... [non-affine]``, and notes below."""
        place = f"{self.file}:{self.line}:{self.column}"
        lines = [f"{place}: {self.severity}: {_line(self.message)} [{self.code}]"]
        lines += [f"{place}: note: {_line(note)}" for note in self.notes]
        lines += [f"{place}: note: hint: {_line(self.hint)}"] * bool(self.hint)
        return "\n".join(lines)


@dataclass(frozen=True)
class Checked:
    """A file, the programs found in it, and what is wrong."""

    file: str
    programs: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep a program from being taken."""
        return tuple(problem for problem in self.problems if problem.severity == "error")


@checks_arguments
def check_file(path: str | Path, reading: Reading | None = None) -> Checked:
    """What is wrong in the programs of a C or Python file, as far as it shows without a call.

    Of a C file: its marked regions, or its functions but for helpers and ``main``; of a Python file
    what ``po.scop`` decorates, programs that it has or builds when it is loaded, and functions
    without arguments that are called ``pipeline`` or say that they return a ``Scop``. Whether
    accesses stay in their arrays and reads find a value is part of it. Of what ``po.jit`` decorates
    it tells what no call could compile: types and shapes are those of a call. Where Python runs
    such a function that is a warning, with ``fallback=False`` an error. ``reading`` has the macros
    and folders of a C file. A Python file is run for it.

    Raises ``UnknownNameError`` where there is no such file.
    """
    if not isinstance(cast("object", path), str | Path):
        raise InvalidOptionError(f"a file is given by its path, not by {given(path)}")
    found = _Findings(str(existing_file(str(path))))
    if found.file.endswith(".py"):
        _check_python(found)
    else:
        _check_c(found, reading or Reading())
    found.problems.sort(key=lambda problem: (problem.line, problem.column))
    return Checked(found.file, tuple(found.programs), tuple(dict.fromkeys(found.problems)))


@dataclass
class _Findings:
    """What has been found so far."""

    file: str
    programs: list[str] = field(default_factory=list[str])
    problems: list[Problem] = field(default_factory=list[Problem])

    def add(self, error: PolyoptError, severity: str = "error") -> None:
        """An error, at its place, or at the file's beginning where it has none there."""
        known = error.diagnostic
        span = known.span or Span(Source(self.file, ""), 1)
        self.problems.append(
            Problem(span.source.name, span.line, span.column, span.length, severity, error.code,
                    known.message, known.hint, known.notes)
        )  # fmt: skip

    def collected(self, make: Callable[[], Any]) -> Any:  # noqa: ANN401
        """What a function gives; where it raises, ``None``, and the error is added."""
        try:
            return make()
        except PolyoptError as error:
            self.add(error)
        except RecursionError:
            self.add(ProgramSyntaxError("the program is nested too deep"))
        return None

    def program(self, scop: Scop) -> None:
        """A program: its accesses and reads are checked."""
        from polyopt.transform.plan import Plan

        self.programs.append(scop.name)
        self.collected(lambda: Plan(scop))

    def function(self, function: JitFunction[..., Any]) -> None:
        """A function that is compiled when it is called: what no call of it could be."""
        from polyopt.specialize.untaken import untaken

        self.programs.append(function.__name__)
        for error in untaken(function.__wrapped__):
            self.add(error, "warning" if function.falls_back else "error")


def _compiled_when_called(values: Mapping[str, Any]) -> list[JitFunction[..., Any]]:
    """The functions of a file that ``po.jit`` decorates, each once."""
    from polyopt.specialize import JitFunction

    found: dict[int, JitFunction[..., Any]] = {}
    for value in values.values():
        function = cast("JitFunction[..., Any]", value)
        if isinstance(value, JitFunction) and function.__module__ == _NAME:
            found[id(function)] = function
    return list(found.values())


def _check_c(found: _Findings, reading: Reading) -> None:
    from polyopt.frontend.c import parse_c, programs_in, read_source
    from polyopt.frontend.c.regions.files import Declined, lower_regions

    names = found.collected(lambda: programs_in(found.file, reading.defines, reading.includes))
    for name in names or ():
        scop = found.collected(
            lambda name=name: parse_c(
                found.file, function=name, defines=reading.defines, includes=reading.includes
            )
        )
        if scop is not None:
            found.program(scop)
    if names != ():
        return
    source = read_source(found.file)
    regions = found.collected(lambda: lower_regions(source, reading.defines, reading.includes))
    for region in regions or ():
        if isinstance(region, Declined):
            found.add(region.error)
            continue
        found.programs.append(f"lines {region.first} to {region.last}")
        for reason in region.reasons:
            found.add(reason, "warning")


def _check_python(found: _Findings) -> None:
    original = polyopt.scop
    made: dict[int, Scop] = {}

    def collecting(function: Callable[..., object]) -> object:
        scop = found.collected(lambda: original(function))
        if scop is None:
            return function
        made[id(scop)] = scop
        return scop

    polyopt.scop = collecting  # type: ignore[assignment]
    try:
        values = _run(found)
        made |= {id(scop): scop for scop in _programs(values, found)}
        for function in _compiled_when_called(values):
            found.function(function)
    finally:
        polyopt.scop = original
    for scop in made.values():
        found.program(scop)


def _run(found: _Findings) -> Mapping[str, Any]:
    """The names of a Python file after it ran; none where it failed, which is added."""
    try:
        return runpy.run_path(found.file, run_name=_NAME)
    except PolyoptError as error:
        found.add(error)
    except SyntaxError as error:
        span = Span(Source(found.file, ""), error.lineno or 1, error.offset or 1)
        found.add(ProgramSyntaxError(error.msg, span=span))
    except Exception as error:  # noqa: BLE001  (whatever the file does)
        found.add(_failed(found.file, error))
    return {}


def _failed(file: str, error: Exception) -> InvalidOptionError:
    """A Python file that fails by itself, at the last of its own lines on the way."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    line, column = (frames[-1].lineno, frames[-1].colno) if frames else (1, 0)
    span = Span(Source(file, ""), line or 1, (column or 0) + 1)
    return InvalidOptionError(unexpected(error).diagnostic.message, span=span)


def _programs(values: Mapping[str, Any], found: _Findings) -> list[Scop]:
    """The programs that a file has, each once, and those that its functions build."""
    made: dict[int, Scop] = {}
    for name, value in values.items():
        scop = value
        if getattr(value, "__module__", "") == _NAME and _builds(name, value):
            scop = found.collected(value)
        if isinstance(scop, Scop):
            made[id(scop)] = scop
    return list(made.values())


def _builds(name: str, value: object) -> bool:
    """Whether it is a function without arguments that gives a program."""
    code = getattr(value, "__code__", None)
    if code is None or code.co_argcount or code.co_kwonlyargcount:
        return False
    returned = getattr(value, "__annotations__", {}).get("return", "")
    return name == PIPELINE or returned is Scop or str(returned).rpartition(".")[2] == "Scop"


def _line(text: str) -> str:
    return " ".join(text.split())
