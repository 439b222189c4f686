"""What a PROGRAM argument and its plan options stand for."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.cli.waiting import progress
from polyopt.errors import InvalidOptionError, PolyoptError
from polyopt.library import (
    PIPELINE,
    Reading,
    kernel_name,
    kernel_of_file,
    load_kernel,
    load_scop,
    plain_function,
    python_file,
    recipe,
    recipe_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from polyopt.ir.scop import Scop
    from polyopt.library import LibraryKernel
    from polyopt.transform.plan import Plan


@dataclass(frozen=True, eq=False)
class Program:
    """A program as it was named, with its library kernel where it is one."""

    name: str
    scop: Scop
    kernel: LibraryKernel | None = None

    @property
    def has_recipe(self) -> bool:
        """Whether an expert's plan comes with it."""
        return self.kernel is not None and self.kernel.name in recipe_names()


def load_function(name: str) -> Callable[..., Any] | None:
    """The NumPy function that ``file.py:function`` names; ``None`` for other programs.

    Raises what ``library.plain_function`` raises, and ``InvalidOptionError`` for a file that fails
    by itself.
    """
    try:
        return plain_function(name)
    except PolyoptError:
        raise
    except Exception as error:
        raise _failed(name, error) from error


def load_program(name: str, reading: Reading | None = None) -> Program:
    """The program of that description; the file that holds a kernel's program counts as it.

    ``reading`` says how a C file is read.

    Raises what ``library.load_scop`` raises, and ``InvalidOptionError`` for a Python file that
    fails by itself.
    """
    try:
        scop = load_scop(name, reading)
    except PolyoptError:
        raise
    except Exception as error:
        raise _failed(name, error) from error
    known = "" if reading is not None and reading.is_given else _library_name(name)
    kernel = load_kernel(known) if known else None
    return Program(known or name, scop, kernel)


def _failed(name: str, error: Exception) -> Exception:
    """What is said where a user's file raises; the error itself where it comes from elsewhere."""
    place = _line_in(python_file(name)[0], error.__traceback__)
    if not place:
        return error
    msg = f"{place}: {type(error).__name__}: {error}"
    hint = "the file itself fails: it has to load, and its function to return a program"
    return InvalidOptionError(msg, hint=hint)


def _line_in(file: str, trace: TracebackType | None) -> str:
    """``file:line`` where an error was raised by the user's own Python file, else nothing."""
    found = traceback.extract_tb(trace)
    if file and found and Path(found[-1].filename).resolve() == Path(file).resolve():
        return f"{file}:{found[-1].lineno}"
    return ""


def _library_name(name: str) -> str:
    file, function = python_file(name)
    if file and function in {None, PIPELINE}:
        return kernel_of_file(Path(file))
    if name.endswith(".c") and not file:
        return kernel_of_file(Path(name))
    return "" if ":" in name or "/" in name else kernel_name(name)


@dataclass(frozen=True)
class PlanChoice:
    """Which plan a command is about: ``auto``, ``unfused``, ``expert``, or a saved one."""

    unfused: bool = False
    expert: bool = False
    file: str | None = None
    target: str = "native"

    @property
    def name(self) -> str:
        """The variant's name, as ``bench`` spells it."""
        if self.file is not None:
            return self.file
        return "polyopt-unfused" if self.unfused else "polyopt-expert" if self.expert else "polyopt"

    def plan(self, program: Program, sizes: Mapping[str, int] | None = None) -> Plan:
        """The plan itself; an automatic one is made for ``sizes`` (see ``complete_sizes``).

        Raises ``InvalidOptionError`` for two choices at once.
        """
        from polyopt.scheduler import auto
        from polyopt.transform.plan import Plan

        if sum((self.unfused, self.expert, self.file is not None)) > 1:
            msg = "--unfused, --expert and --plan each name a plan"
            raise InvalidOptionError(msg, hint="give one of them, or none for the automatic plan")
        if self.unfused:
            return Plan(program.scop)
        if self.expert:
            return recipe(program.name)(program.scop)
        if self.file is not None:
            return Plan.load(self.file, program.scop)
        known = complete_sizes(dict(sizes or {}), program)
        with progress(f"a plan for {program.name}"):
            return auto(program.scop, target=self.target, sizes=known)


def parse_sizes(texts: Sequence[str], program: Program) -> dict[str, int]:
    """Sizes from ``H=64``, ``H=64,W=48`` or the name of a kernel's size set, such as ``bench``.

    Raises ``InvalidOptionError`` for what is neither, and for names the program does not have.
    """
    sizes: dict[str, int] = {}
    for text in (part for given in texts for part in given.split(",")):
        name, equals, number = text.partition("=")
        if equals:
            sizes[_size_name(name.strip(), program)] = _whole(text, number)
        else:
            sizes |= _size_set(text, program)
    return sizes


def named_numbers(texts: Sequence[str]) -> dict[str, int]:
    """Sizes from ``H=64``, ``H=64,W=48``, of names that only regions know.

    Raises ``InvalidOptionError``.
    """
    sizes: dict[str, int] = {}
    for text in (part for given in texts for part in given.split(",")):
        name, equals, number = text.partition("=")
        if not equals:
            msg = f"--size {text!r} is not NAME=NUMBER"
            raise InvalidOptionError(msg, hint="write n=64")
        sizes[name.strip()] = _whole(text, number)
    return sizes


def _size_name(name: str, program: Program) -> str:
    if name in program.scop.params:
        return name
    msg = f"{program.name} has no size {name!r}"
    listed = ", ".join(program.scop.params)
    raise InvalidOptionError(msg, hint=f"there are: {listed}" if listed else "it has none")


def _whole(text: str, number: str) -> int:
    try:
        value = int(number)
    except ValueError:
        msg = f"--size {text}: {number!r} is not a whole number"
        raise InvalidOptionError(msg) from None
    if value < 1:
        msg = f"--size {text}: sizes are 1 or more"
        raise InvalidOptionError(msg)
    if value >= 1 << 62:
        msg = f"--size {text}: this is too large"
        raise InvalidOptionError(msg)
    return value


def _size_set(text: str, program: Program) -> dict[str, int]:
    known: Mapping[str, Mapping[str, int]] = program.kernel.sizes if program.kernel else {}
    if text in known:
        return dict(known[text])
    msg = f"--size {text!r} is neither NAME=NUMBER nor a set of sizes of {program.name}"
    sets = ", ".join(known)
    raise InvalidOptionError(msg, hint=f"write H=64; sets are: {sets}" if sets else "write H=64")


def complete_sizes(sizes: dict[str, int], program: Program) -> dict[str, int]:
    """All sizes: those given, then the kernel's ``bench`` set, then what the program allows."""
    from polyopt.scheduler.model.parameters import assumed_sizes

    usual = dict(program.kernel.sizes.get("bench", {})) if program.kernel else {}
    return assumed_sizes(program.scop, None, {**usual, **sizes}) | sizes
