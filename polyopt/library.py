"""Programs and recipes by name: those in ``kernels/`` and ``schedules/``, and files of the user.

Both folders are looked for inside the package, where a wheel carries them, and beside it, where
a checkout has them. A kernel is ``NAME.c``, its program, beside ``NAME.py``, its reference; or
``NAME.py`` alone, whose function ``pipeline`` builds the program. Files whose names start with
an underscore are shared by kernels, and none themselves. Folders inside ``kernels/`` keep what
belongs together; no name occurs twice.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from polyopt.arguments import checks_arguments
from polyopt.errors import InvalidOptionError, ProgramSyntaxError, UnknownNameError
from polyopt.ir.scop import Scop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    import numpy as np

    from polyopt.transform.plan import Plan


@dataclass(frozen=True, eq=False)
class LibraryKernel:
    """A kernel that comes with polyopt: its program, its reference and inputs for it."""

    name: str
    module: ModuleType

    @cached_property
    def scop(self) -> Scop:
        """The program, from its C file or its function ``pipeline``."""
        return load_scop(self.name)

    @property
    def sizes(self) -> Mapping[str, Mapping[str, int]]:
        """Sizes by purpose: ``bench``, ``demo``, ``test``, ``tiny``."""
        return self.module.SIZES

    def inputs(
        self, sizes: Mapping[str, int], rng: np.random.Generator
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Random contents for every array and scalar that the kernel reads."""
        return self.module.inputs(rng, dict(sizes))

    def reference(self, **arguments: object) -> dict[str, np.ndarray[Any, Any]]:
        """What the kernel computes, in NumPy: outputs by name, from arrays and sizes by name."""
        return self.module.reference(**arguments)


@dataclass(frozen=True)
class Reading:
    """How a C file is read: what the compiler gets, and which part of it is the program.

    ``function`` is the function's name; ``region`` the line of the pragma, where it marks several.
    """

    defines: Mapping[str, str | int] = field(default_factory=dict[str, "str | int"])
    includes: tuple[str, ...] = ()
    function: str | None = None
    region: int | None = None

    @property
    def is_given(self) -> bool:
        """Whether it says anything."""
        return self != Reading()


#: The function that builds the program of a kernel without a C file.
PIPELINE = "pipeline"
#: The function of a recipe.
_SCHEDULE = "schedule"

_PACKAGE = Path(__file__).resolve().parent


def kernels_dir() -> Path:
    """The folder of the kernels. Raises ``UnknownNameError`` where there is none."""
    return _folder("kernels")


def schedules_dir() -> Path:
    """The folder of the recipes. Raises ``UnknownNameError`` where there is none."""
    return _folder("schedules")


def _folder(name: str) -> Path:
    for place in (_PACKAGE / name, _PACKAGE.parent / name):
        if place.is_dir():
            return place
    msg = f"this installation has no folder {name}/"
    raise UnknownNameError(msg, hint="install the wheel again, or give paths of files")


def kernel_names(folder: str | None = None) -> tuple[str, ...]:
    """Names of the kernels that come with polyopt, sorted: all, or those of a folder in
    ``kernels/``."""
    known = _places()
    return tuple(
        sorted(name for name in known if folder is None or known[name].parent.name == folder)
    )


def _places() -> dict[str, Path]:
    """Where a kernel's files are, by its name: their path without a suffix."""
    top = kernels_dir()
    below = (path for path in top.iterdir() if path.is_dir() and path.name[0] not in "_.")
    return {
        path.stem: path.with_suffix("")
        for folder in (top, *below)
        for path in folder.iterdir()
        if path.suffix in {".c", ".py"} and not path.name.startswith("_")
    }


def kernel_of_file(path: Path) -> str:
    """The name of the kernel whose file that is; nothing for any other file."""
    place = path.resolve().with_suffix("")
    return next((name for name, known in _places().items() if known.resolve() == place), "")


def recipe_names() -> tuple[str, ...]:
    """Names of the kernels that have a recipe in ``schedules/``, sorted."""
    try:
        folder = schedules_dir()
    except UnknownNameError:
        return ()
    names = (path.stem for path in folder.glob("*.py"))
    return tuple(sorted(name for name in names if not name.startswith("_")))


def load_scop(program: str, reading: Reading | None = None) -> Scop:
    """The program of that description.

    ``program`` is the name of a kernel (``blur``), a path of a C file (``dir/blur.c``), or
    ``file.py:function``, where the function is a program or, without arguments, returns one;
    ``file.py`` alone, where it has one program; ``file.c:function`` is one of a C file's.
    ``reading`` says how a C file is read.

    Raises ``UnknownNameError`` where there is no such kernel, file or function,
    ``InvalidOptionError`` for a reading of what is no C file and for a file of several programs,
    and whatever the frontend finds wrong.
    """
    reading = reading or Reading()
    program, reading = c_function(program, reading)
    file, function = python_file(program)
    is_c_file = program.endswith(".c") or ("/" in program and ".py" not in program)
    if reading.is_given and not is_c_file:
        msg = f"{program} is no C file"
        raise InvalidOptionError(msg, hint="-D, -I, --function and --region are for C files")
    if file:
        path = existing_file(file)
        return _only_scop(path) if function is None else _python_scop(path, function)
    from polyopt.frontend.c import parse_c

    if program.endswith(".c") or "/" in program:
        return parse_c(
            existing_file(program), function=reading.function, region=reading.region,
            defines=reading.defines, includes=reading.includes,
        )  # fmt: skip
    place = _places()[kernel_name(program)]
    file = place.with_suffix(".c")
    return parse_c(file) if file.is_file() else _python_scop(place.with_suffix(".py"), PIPELINE)


def plain_function(program: str) -> Callable[..., Any] | None:
    """The function of ``file.py:function`` that is a function of arguments, as NumPy users write
    them; ``None`` for all other programs.

    Raises ``UnknownNameError`` where there is no such file or function.
    """
    file, name = python_file(program)
    if not file or name is None:
        return None
    path = existing_file(file)
    found = _attribute(_load_file(path), path, name)
    found = getattr(found, "__wrapped__", found)  # it may be decorated with @po.jit
    is_plain = inspect.isfunction(found) and bool(inspect.signature(found).parameters)
    return cast("Callable[..., Any]", found) if is_plain else None


def c_function(program: str, reading: Reading) -> tuple[str, Reading]:
    """``file.c:function`` as the file, and a reading of that function."""
    file, _, function = program.rpartition(":")
    if not file.endswith(".c") or not function or reading.function or Path(program).exists():
        return program, reading
    return file, replace(reading, function=function)


def python_file(program: str) -> tuple[str, str | None]:
    """The Python file of a description and the function in it, if it names one: ``file.py`` and
    ``f`` of ``file.py:f``. Of other programs the file is ``""``."""
    if program.endswith(".py"):
        return program, None
    file, _, function = program.rpartition(":")
    return (file, function) if file.endswith(".py") else ("", None)


def kernel_name(name: str) -> str:
    """``name`` as its files spell it (``jacobi-2d`` is ``jacobi_2d``).

    Raises ``UnknownNameError`` with the names that come close.
    """
    known = kernel_names()
    spelled = name.replace("-", "_")
    if spelled in known:
        return spelled
    msg = f"no kernel is called {name!r}"
    raise UnknownNameError(msg, hint=_suggest(spelled, known))


def kernel_module(name: str) -> ModuleType:
    """The Python file of a kernel: ``reference``, ``SIZES``, ``inputs``, and maybe ``pipeline``.

    Raises ``UnknownNameError`` where there is no such kernel.
    """
    return _load_file(_places()[kernel_name(name)].with_suffix(".py"))


@checks_arguments
def load_kernel(name: str) -> LibraryKernel:
    """A kernel of ``kernels/`` with its reference. Raises ``UnknownNameError``."""
    return LibraryKernel(kernel_name(name), kernel_module(name))


def recipe(name: str) -> Callable[[Scop], Plan]:
    """The expert's plan of a kernel, by its schedule function's own parameters.

    Raises ``UnknownNameError`` where ``schedules/`` has none of that name.
    """
    path = _recipe_file(name)
    function = cast("Callable[..., Plan]", _attribute(_load_file(path), path, _SCHEDULE))

    def made(scop: Scop) -> Plan:
        from polyopt.transform.plan import Plan

        return Plan(scop).apply(function)

    return made


@checks_arguments
def load_schedule(name: str) -> Callable[..., Plan]:
    """A schedule function, ``schedule(plan, *, rows=32) -> Plan``: that of a kernel's recipe in
    ``schedules/``, or ``schedule`` of ``file.py``, or another function of it: ``file.py:function``.

    Raises ``UnknownNameError`` where there is no such recipe, file or function,
    ``InvalidOptionError`` for what is no function.
    """
    file, function = python_file(name)
    path = existing_file(file) if file else _recipe_file(name)
    wanted = function or _SCHEDULE
    found = _attribute(_load_file(path), path, wanted)
    if not callable(found):
        msg = f"{wanted} of {path} is no function"
        raise InvalidOptionError(msg, hint="a schedule function takes a plan and returns one")
    return cast("Callable[..., Plan]", found)


def _recipe_file(name: str) -> Path:
    spelled = name.replace("-", "_")
    known = recipe_names()
    if spelled not in known:
        msg = f"there is no recipe for {name!r}"
        raise UnknownNameError(msg, hint=_suggest(spelled, known))
    return schedules_dir() / f"{spelled}.py"


def _suggest(name: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(name, known, n=3, cutoff=0.6)
    if near:
        return "did you mean " + " or ".join(near) + "?"
    return "there are: " + ", ".join(known) if known else ""


def existing_file(file: str) -> Path:
    """The path of a file that is there. Raises ``UnknownNameError`` with names that come close."""
    path = Path(file)
    if path.is_file():
        return path
    folder = path.parent if path.parent.is_dir() else Path()
    siblings = tuple(sorted(p.name for p in folder.glob(f"*{path.suffix}")))
    near = get_close_matches(path.name, siblings, n=3, cutoff=0.6)
    hint = "did you mean " + " or ".join(str(folder / n) for n in near) + "?" if near else ""
    msg = f"there is no file {file}"
    raise UnknownNameError(msg, hint=hint)


def _python_scop(path: Path, function: str) -> Scop:
    found = _attribute(_load_file(path), path, function)
    if isinstance(found, Scop):
        return found
    if callable(found) and not inspect.signature(found).parameters:
        found = found()
    if isinstance(found, Scop):
        return found
    if callable(found) and not isinstance(found, type):
        msg = f"{path}:{function} is not a program: it is a function of arrays, which a call gives"
        hint = f"polyopt run {path}:{function} -i NAME=FILE.npy prints plan, reasons and proof"
        raise InvalidOptionError(msg, hint=f"{hint}; in Python, po.jit has plan, source, explain()")
    msg = f"{path}:{function} is not a program"
    raise InvalidOptionError(
        msg, hint="decorate it with @po.scop, or let it take no arguments and return a Scop"
    )


def _only_scop(path: Path) -> Scop:
    """The program of a Python file that has one."""
    module = _load_file(path)
    found = [name for name, value in vars(module).items() if _is_program(value, module)]
    if len(found) == 1:
        return _python_scop(path, found[0])
    msg = f"{path}: which of its functions?"
    those = f", one of: {', '.join(sorted(found))}" if found else ""
    raise InvalidOptionError(msg, hint=f"write {path}:function{those}")


def _is_program(value: object, module: ModuleType) -> bool:
    """Whether it is one, or a function of this file that says that it returns one."""
    if isinstance(value, Scop):
        return True
    if not inspect.isfunction(value) or value.__module__ != module.__name__:
        return False
    head = inspect.signature(value)
    returned = head.return_annotation
    is_scop = returned is Scop or str(returned).rpartition(".")[2] == Scop.__name__
    return is_scop and not head.parameters


def _attribute(module: ModuleType, path: Path, name: str) -> object:
    found = getattr(module, name, None)
    if found is not None:
        return found
    known = tuple(sorted(n for n in vars(module) if not n.startswith("_")))
    msg = f"{path} has no {name!r}"
    raise UnknownNameError(msg, hint=_suggest(name, known))


def _load_file(path: Path) -> ModuleType:
    """The module of a file, outside the package system; loaded once per path."""
    return _load(path.resolve())


@cache
def _load(path: Path) -> ModuleType:
    name = f"_polyopt_file_{crc32(str(path).encode()):08x}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        msg = f"there is no file {path}"
        raise UnknownNameError(msg)
    module = importlib.util.module_from_spec(spec)
    # dataclasses and pickling look a class's module up by name while the file runs
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except FileNotFoundError as error:
        del sys.modules[name]
        msg = f"there is no file {path}"
        raise UnknownNameError(msg) from error
    except SyntaxError as error:
        del sys.modules[name]
        msg = f"{path}, line {error.lineno}: {error.msg}"
        raise ProgramSyntaxError(msg) from error
    except BaseException:
        del sys.modules[name]
        raise
    return module
