"""A compiled kernel: called with NumPy arrays, checked before every call."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.arguments import checks_methods
from polyopt.codegen.target import Target, target
from polyopt.errors import ArgumentError, CompilerFailedError, shown
from polyopt.runtime.arrays import address_of, aligned_copy, as_result, empty_at
from polyopt.runtime.bound import BoundKernel, check_status
from polyopt.runtime.build import build_library, build_like
from polyopt.runtime.callsignature import call_signature
from polyopt.runtime.checks import (
    check_indices,
    check_memory,
    check_overlap,
    check_shape,
    check_type,
    checked_scalar,
    checked_sizes,
)
from polyopt.runtime.exports import KernelExports
from polyopt.runtime.load import load_function
from polyopt.runtime.questions import KernelQuestions
from polyopt.runtime.sizes import SizeSolver
from polyopt.runtime.views.calls import Views, are_plain, run_on_views

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from polyopt.codegen.signature import Argument, CProgram
    from polyopt.codegen.validate.on_build import CodeCheck
    from polyopt.isl import Set
    from polyopt.runtime.build import Built
    from polyopt.runtime.measuring.repeat import Timing
    from polyopt.runtime.sizes import Equation
    from polyopt.scale.update import Update
    from polyopt.transform.plan import Plan

_REMEMBERED = 64
#: processes that ran kernels on several threads: this one, and those that it was forked from
_TEAMS: set[int] = set()

#: threads beyond this many would only exhaust memory
MOST_THREADS = 4096


@dataclass(frozen=True)
class _Layout:
    """What follows from the shapes of one call: sizes, and every array's shape and bytes."""

    sizes: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    bytes: tuple[int, ...]


@checks_methods
class Kernel(KernelQuestions, KernelExports):
    """A C program as a Python function on NumPy arrays.

    Positional arguments are the arrays and scalars that it reads, and sizes that do not follow
    from shapes, in the order of the program's signature; every argument can be a keyword.
    Outputs are allocated unless given by keyword or ``out=``. Arrays that are read and written
    are changed in place, and returned as well. The GIL is released while the kernel runs.
    """

    def __init__(self, program: CProgram, context: Set, built: Built) -> None:
        self.program = program
        self.name = program.name
        self.context = context
        self.built = built
        self.arguments = program.arguments
        self.arrays = tuple(a for a in self.arguments if a.kind == "array")
        self.scalars = tuple(a for a in self.arguments if a.kind == "scalar")
        self._outputs = tuple(i for i, a in enumerate(self.arrays) if a.is_live_out)
        self._free = tuple(i for i, a in enumerate(self.arrays) if a.role == "out")
        self._solver = SizeSolver(program.params, self.arguments, context)
        live_in = {a.name for a in self.arrays if a.is_live_in}
        derivable = self._solver.derivable(live_in)
        self.positional = tuple(
            a.name
            for a in self.arguments
            if (a.kind != "size" and a.is_live_in) or (a.kind == "size" and a.name not in derivable)
        )
        self.__signature__ = call_signature(self.arguments, self.positional)
        self._dtypes = tuple(a.type.dtype for a in self.arrays)
        #: kernels for arrays that are not in C order
        self.views = Views()
        self._layouts: dict[object, _Layout] = {}
        self._slots = _slots(self.arguments)
        self._names = frozenset(a.name for a in self.arguments)
        try:
            self._function = load_function(built.library, program)
        except CompilerFailedError:
            built.cache.drop(built.library)  # another compiler, or another day, may do better
            raise
        self._pending = built.pending
        #: the plan that this was compiled from, where there is one
        self.plan: Plan | None = None

    @property
    def source(self) -> str:
        """The C text."""
        return self.program.source

    @cached_property
    def reference(self) -> Kernel | None:
        """The reference program as a kernel, compiled alike; ``None`` where there is none."""
        program = self.built.reference
        if program is None:
            return None
        return Kernel(program, self.context, build_like(self.built, program))

    @property
    def equations(self) -> tuple[Equation, ...]:
        """How extents of arrays follow from sizes, where they are linear in them."""
        return self._solver.equations

    def __call__(
        self,
        *args: object,
        out: object = None,
        threads: int | None = None,
        **named: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Run on arrays; one array back, or a tuple in the signature's order.

        Raises ``ArgumentError`` for what does not fit, ``AliasError`` for memory shared with an
        output, ``MemoryError`` when the kernel could not allocate its buffers; ``WrongCodeError``
        where a check of the C that went on meanwhile has refused it (``check="later"``).
        """
        return self._run(*self._bind(args, out, named), threads)

    def run_named(self, named: Mapping[str, Any], threads: int | None = None) -> Any:  # noqa: ANN401
        """A call with all arguments by name, also those that are called ``out`` or ``threads``."""
        return self._run(*self._bind((), None, dict(named)), threads)

    def _run(self, arrays: list[Any], rest: dict[str, Any], threads: int | None) -> Any:  # noqa: ANN401
        if self._pending is not None and self._pending.settle():
            self._pending = None
        if not are_plain(arrays):
            return run_on_views(self, arrays, rest, threads)
        layout = self._layout(arrays, rest)
        starts = self._complete(arrays, layout, runs=True)
        prepared = self._prepared(starts, layout, rest, self.thread_count(threads))
        if status := self._function(*prepared):
            check_indices(self.program, self.arrays, arrays, layout.shapes)  # which element it was
            check_status(self.name, status)
        return as_result([arrays[i] for i in self._outputs])

    def benchmark(
        self, *args: object, threads: int | None = None, seconds: float = 0.5, **named: object
    ) -> Timing:
        """Time repeated calls on these arguments; outputs are allocated once.

        Arrays that are read and written are copied first: the caller's stay as they are.
        """
        from polyopt.runtime.measuring.repeat import measure

        _ = self.checked
        arrays, rest = self._bind(args, named.pop("out", None), named)
        layout = self._layout(arrays, rest)
        starts = self._complete(arrays, layout)
        for index in self._outputs:
            if self.arrays[index].role == "inout":
                arrays[index] = aligned_copy(arrays[index])
                starts[index] = address_of(arrays[index])
        count = self.thread_count(threads)
        prepared = self._prepared(starts, layout, rest, count)
        return measure(
            lambda: check_status(self.name, self._function(*prepared)), count, seconds=seconds
        )

    def bind(self, *args: object, threads: int | None = None, **named: object) -> BoundKernel:
        """A call on these arrays, checked now and run as often as wanted.

        Outputs that are not given are allocated once. A check of the C that goes on is waited for.
        Raises what a call raises.
        """
        _ = self.checked
        arrays, rest = self._bind(args, named.pop("out", None), named)
        layout = self._layout(arrays, rest)
        starts = self._complete(arrays, layout)
        prepared = self._prepared(starts, layout, rest, self.thread_count(threads))
        slots = {a.name: k for k, a in enumerate(self.arguments) if a.kind == "array"}
        return BoundKernel(self.name, self._function, prepared, slots, arrays)

    def run_at(
        self,
        addresses: Mapping[str, int],
        sizes: Mapping[str, int],
        scalars: Mapping[str, Any],
        threads: int = 1,
    ) -> None:
        """Run on memory: the addresses of all arrays, all sizes, all scalars.

        The caller vouches that what the program touches is there and fits together. Raises
        ``MemoryError`` when the kernel could not allocate its buffers.
        """
        _ = self.checked
        prepared: list[Any] = []
        for kind, _, argument in self._slots:
            if kind == "array":
                prepared.append(addresses[argument.name])
            elif kind == "size":
                prepared.append(sizes[argument.name])
            else:
                prepared.append(checked_scalar(argument, scalars[argument.name]))
        check_status(self.name, self._function(*prepared, threads))

    def update(
        self,
        dirty: Mapping[str, Any],
        *args: object,
        out: object,
        threads: int | None = None,
        **named: Any,  # noqa: ANN401
    ) -> Update:
        """Bring results up to date after inputs changed, computing only what depends on it.

        ``dirty`` says what changed, such as ``{"img": np.s_[:, 100:120, 40:60]}``; ``out`` are
        the results of an earlier call, changed in place; all else is as in a call. The result
        says which boxes were computed again, and ``print`` how many elements::

            kernel.update({"img": np.s_[100:120, 40:60]}, img, out=out)

        Raises ``NotCutError`` for a kernel that changes its inputs, and what a call raises.
        """
        from polyopt.scale.update import update

        return update(self, dirty, *args, out=out, threads=threads, **named)

    def checked_arguments(
        self, args: Sequence[Any], out: object, named: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
        """Arrays, scalars and sizes by name, checked as a call does; every output is given."""
        arrays, rest = self._bind(args, out, dict(named))
        missing = next((self.arrays[i].name for i in self._outputs if arrays[i] is None), None)
        if missing is not None:
            raise self._missing(missing)
        layout = self._layout(arrays, rest)
        self._complete(arrays, layout)
        names = [a.name for a in self.arguments if a.kind == "size"]
        given = {a.name: array for a, array in zip(self.arrays, arrays, strict=True)}
        scalars = {a.name: rest[a.name] for a in self.scalars}
        return given, scalars, dict(zip(names, layout.sizes, strict=True))

    def sizes_of(self, shapes: Mapping[str, tuple[int, ...]], **given: int) -> dict[str, int]:
        """All sizes, from shapes of arrays and sizes given. Raises ``ArgumentError``."""
        return self._solver.solve(checked_sizes(given, self.program.params), shapes)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """A kernel travels as its C, and is compiled, or found in the cache, where it arrives."""
        built = self.built
        options = {
            "target_name": built.target,
            "cc": shlex.join(built.toolchain.command),
            "openmp": built.uses_openmp or None,
            "contract": built.contract,
        }
        return _arrived, (self.program, self.context, options)

    def verify(self, seed: int = 0, **sizes: int) -> float:
        """Compare with the reference C on random arrays; the largest relative difference.

        Raises ``InvalidOptionError`` where the kernel was compiled without a reference.
        """
        from polyopt.runtime.samples import verify

        return verify(self, seed, sizes)

    def shapes(self, **sizes: int) -> dict[str, tuple[int, ...]]:
        """The shape of every array under given sizes. Raises ``ArgumentError``."""
        solved = self._solver.solve(checked_sizes(sizes, self.program.params), {})
        return {a.name: self._solver.shape(a, solved) for a in self.arrays}

    def _bind(
        self, args: Sequence[Any], out: object, named: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arrays in signature order (``None``: to allocate), and scalars and sizes by name."""
        if len(args) > len(self.positional):
            raise ArgumentError(
                f"{self.name} takes {_by_position(len(self.positional))}, not {len(args)}",
                notes=[f"they are: {', '.join(self.positional) or 'none'}"],
                hint="give outputs by keyword or out=",
            )
        rest = named
        for name, value in zip(self.positional, args, strict=False):
            if name in rest:
                raise ArgumentError(f"{name} is given twice: by position and by keyword")
            rest[name] = value
        if out is not None:
            self._bind_out(out, rest)
        arrays = [rest.pop(a.name, None) for a in self.arrays]
        if rest and not rest.keys() <= self._names:
            unknown = next(name for name in rest if name not in self._names)
            listed = ", ".join(a.name for a in self.arguments)
            raise ArgumentError(
                f"{self.name} has no argument {unknown!r}", hint=f"it has: {listed}"
            )
        for argument, array in zip(self.arrays, arrays, strict=True):
            if array is None and argument.is_live_in:
                raise self._missing(argument.name)
        return arrays, rest

    def _bind_out(self, out: object, rest: dict[str, Any]) -> None:
        for name, array in self._named_outputs(out).items():
            if array is None:
                continue
            if rest.get(name, array) is not array:
                raise ArgumentError(f"{name} is given twice: by out= and as an argument")
            rest[name] = array

    def _named_outputs(self, out: object) -> dict[str, object]:
        """``out=`` as arrays by name."""
        outputs = [self.arrays[i].name for i in self._outputs]
        if isinstance(out, dict):
            named = cast("dict[str, object]", out)
            unknown = next((name for name in named if name not in outputs), None)
            if unknown is not None:
                raise ArgumentError(
                    f"out= names {unknown!r}, which is not an output",
                    hint=f"outputs are: {', '.join(outputs)}",
                )
            return named
        values = cast("tuple[object, ...]", out) if isinstance(out, (tuple, list)) else (out,)
        free = [self.arrays[i].name for i in self._free]
        targets = free if len(values) == len(free) else outputs
        if len(values) != len(targets):
            raise ArgumentError(
                f"out= has {len(values)} arrays, but {self.name} has {len(targets)} outputs",
                notes=[f"they are: {', '.join(targets)}"],
            )
        return dict(zip(targets, values, strict=True))

    def _missing(self, name: str) -> ArgumentError:
        notes = [f"call it with ({', '.join(self.positional)})"]
        return ArgumentError(f"{self.name} needs {name}", notes=notes)

    def _layout(self, arrays: list[Any], rest: Mapping[str, Any]) -> _Layout:
        """Check every array given, and look up or derive what its shapes imply."""
        shapes: list[object] = []
        for array, dtype, argument in zip(arrays, self._dtypes, self.arrays, strict=True):
            if array is None:
                shapes.append(None)
                continue
            if type(array) is not np.ndarray or array.dtype is not dtype:
                check_type(array, dtype, argument)
            flags = array.flags
            if not (
                flags.carray if argument.role != "in" else flags.c_contiguous and flags.aligned
            ):
                check_memory(array, argument)
            shapes.append(array.shape)
        given = {n: v for n, v in rest.items() if n in self.program.params} if rest else rest
        key = (*shapes, *given.items()) if given else tuple(shapes)
        try:
            layout = self._layouts.get(key)
        except TypeError:  # a size that is not even hashable
            layout = None
        return layout if layout is not None else self._derive(key, arrays, given)

    def _derive(self, key: object, arrays: list[Any], given: Mapping[str, Any]) -> _Layout:
        sizes = checked_sizes(given, self.program.params)
        found: dict[str, tuple[int, ...]] = {}
        for array, argument in zip(arrays, self.arrays, strict=True):
            if array is not None:
                check_shape(array, argument)
                found[argument.name] = array.shape
        solved = self._solver.solve(sizes, found)
        shapes = tuple(self._solver.shape(a, solved) for a in self.arrays)
        counts = [int(np.prod(shape, dtype=object)) for shape in shapes]
        layout = _Layout(
            tuple(solved[a.name] for a in self.arguments if a.kind == "size"),
            shapes,
            tuple(n * d.itemsize for n, d in zip(counts, self._dtypes, strict=True)),
        )
        if len(self._layouts) >= _REMEMBERED:
            self._layouts.clear()
        self._layouts[key] = layout
        return layout

    def _complete(self, arrays: list[Any], layout: _Layout, *, runs: bool = False) -> list[int]:
        """The addresses of all arrays: outputs not given are allocated, shared memory refused."""
        check_indices(self.program, self.arrays, arrays, layout.shapes, runs=runs)
        starts = [0 if array is None else address_of(array) for array in arrays]
        for index in self._outputs:
            if arrays[index] is not None:
                check_overlap(self.arrays, index, starts, layout.bytes)
        for index in self._free:
            if arrays[index] is None:
                shape, dtype, size = layout.shapes[index], self._dtypes[index], layout.bytes[index]
                arrays[index], starts[index] = empty_at(shape, dtype, size)
        return starts

    def _prepared(
        self, starts: list[int], layout: _Layout, rest: Mapping[str, Any], threads: int
    ) -> list[Any]:
        """The C arguments in ABI order."""
        result: list[Any] = []
        for kind, index, argument in self._slots:
            if kind == "array":
                result.append(starts[index])
            elif kind == "size":
                result.append(layout.sizes[index])
            elif argument.name in rest:
                result.append(checked_scalar(argument, rest[argument.name]))
            else:
                raise self._missing(argument.name)
        result.append(threads)
        return result

    def thread_count(self, threads: int | None = None) -> int:
        """The threads a call may use: those asked for, ``POLYOPT_THREADS``, or all cores.

        Raises ``ArgumentError`` for what is no number of threads.
        """
        if type(threads) is int and threads == 1:  # the checks below take a microsecond
            return 1
        if threads is None:
            text = os.environ.get("POLYOPT_THREADS")
            if not text:
                return self._team(self.built.default_threads)
            threads = int(text) if text.isdigit() else 0
            origin = f"POLYOPT_THREADS={text!r}"
        else:
            origin = f"threads={shown(threads)}"
        if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
            raise ArgumentError(f"{origin} is not a number of threads", hint="it is 1 or more")
        return self._team(min(int(threads), MOST_THREADS))

    def _team(self, threads: int) -> int:
        """The threads that may run: one in a process forked from one that had a team.

        OpenMP's threads do not come along in a fork, and their runtime would wait for them.
        """
        if threads == 1 or not self.built.uses_openmp:
            return threads
        here = os.getpid()
        if _TEAMS and here not in _TEAMS:
            return 1
        _TEAMS.add(here)
        return threads


def _arrived(program: CProgram, context: Set, options: dict[str, Any]) -> Kernel:
    return compile_kernel(program, context, **options)


def _slots(arguments: Sequence[Argument]) -> tuple[tuple[str, int, Argument], ...]:
    """Each argument's kind with its index among those of its kind."""
    counts: dict[str, int] = {}
    slots: list[tuple[str, int, Argument]] = []
    for argument in arguments:
        slots.append((argument.kind, counts.get(argument.kind, 0), argument))
        counts[argument.kind] = counts.get(argument.kind, 0) + 1
    return tuple(slots)


def compile_kernel(  # noqa: PLR0913 (options of a build, by name)
    program: CProgram,
    context: Set,
    *,
    reference: CProgram | Callable[[], CProgram] | None = None,
    target_name: str | Target = "native",
    cc: str | None = None,
    openmp: bool | None = None,
    contract: bool | None = None,
    cache: Path | str | None = None,
    check: CodeCheck | None = None,
    aside: bool = False,
) -> Kernel:
    """Compile a C program, or take it from the cache, and make it callable.

    ``context`` is what its sizes have to satisfy; ``reference`` is the program that ``verify``
    and ``export`` compare with, or what makes it; ``contract`` lets ``a * b + c`` round once
    (``None``: where only floats come out); ``openmp=None`` uses it where the compiler has it.
    With ``check`` the C text is validated while the compiler runs, or ``aside``, in another process
    that nothing waits for.
    Raises ``CompilerMissingError``, ``CompilerFailedError``, ``CacheError`` or
    ``InvalidOptionError``.
    """
    chosen = target(target_name)
    built = build_library(
        program, chosen, reference=reference, cc=cc, openmp=openmp, contract=contract, cache=cache,
        check=check, aside=aside,
    )  # fmt: skip
    return Kernel(program, context, built)


def _by_position(count: int) -> str:
    return "1 positional argument" if count == 1 else f"{count} positional arguments"
