"""Calls of kernels on arrays that are not in C order, or not NumPy's: no copy is made unsaid.

A kernel for arrays that lie so is made of the kernel's own plan: the program with its arrays as
parts of larger ones (``ir/views.py``), and the same moves. It is proven, checked and kept as any
other. Where that is not possible, an array is copied before the call, and back where it is written;
``kernel.remarks`` says which, and why.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.errors import AliasError, ArgumentError, UserError
from polyopt.runtime.arrays import as_result, empty
from polyopt.runtime.checks import check_indices, check_shape, check_type, checked_sizes
from polyopt.runtime.views.layout import as_arrays, layout_of, overlaps_itself
from polyopt.transform.plan import Plan
from polyopt.transform.serialize import replayed
from polyopt.transform.source.views import View, viewable, viewed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.codegen.signature import Argument
    from polyopt.runtime.arrays import NumPyArray
    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.views.layout import Layout
    from polyopt.transform.source.views import ViewSizes

#: what deciding whether two arrays share an element may take, in NumPy's words; beyond, they do
_MOST_WORK = 10_000
#: kernels for other layouts that one kernel keeps
_REMEMBERED = 64


@dataclass(eq=False)
class Views:
    """The kernels that one kernel has for other layouts, and what it says of copies."""

    made: dict[tuple[tuple[str, View], ...], Viewed | str] = field(
        default_factory=dict[tuple[tuple[str, View], ...], "Viewed | str"]
    )
    #: a line for each array that was copied, by its name
    copies: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, eq=False)
class Viewed:
    """A kernel for arrays that are parts of others."""

    kernel: Kernel
    sizes: Mapping[str, ViewSizes]


def are_plain(arrays: Sequence[Any]) -> bool:
    """Whether all are NumPy arrays in C order, which are passed as they are."""
    for array in arrays:
        if array is not None:
            if not isinstance(array, np.ndarray):
                return False
            flags = cast("NumPyArray", array).flags
            if not (flags.c_contiguous and flags.aligned):
                return False
    return True


def run_on_views(
    kernel: Kernel, arrays: Sequence[Any], rest: Mapping[str, Any], threads: int | None
) -> Any:  # noqa: ANN401
    """A call whose arrays lie in any way; what is returned is what was given, or new.

    Raises what a call raises.
    """
    given = [_array(a, value) for a, value in zip(kernel.arrays, arrays, strict=True)]
    sizes = _checked(kernel, given, rest)
    shapes = kernel.shapes(**sizes)
    whole = [
        empty(shapes[a.name], a.type.dtype) if value is None else value
        for a, value in zip(kernel.arrays, given, strict=True)
    ]
    _check_apart(kernel.arrays, whole)
    lies = {a.name: _lies(kernel, a, value) for a, value in zip(kernel.arrays, whole, strict=True)}
    found = _viewed(kernel, {n: one for n, one in lies.items() if isinstance(one, _Part)})
    scalars = {a.name: rest[a.name] for a in kernel.scalars if a.name in rest}
    if isinstance(found, str):
        lies = {n: _Copied(one.array, found) if isinstance(one, _Part) else one
                for n, one in lies.items()}  # fmt: skip
    memory = _memory(kernel, lies)
    if isinstance(found, Viewed):
        _run(found, memory, {**sizes, **_places(found.sizes, lies)}, scalars, threads)
    else:
        kernel.run_named({**memory, **scalars, **sizes}, threads)
    for argument in kernel.arrays:
        if argument.is_live_out and isinstance(one := lies[argument.name], _Copied):
            np.copyto(one.array, memory[argument.name])
    given = (w if array is None else array for w, array in zip(whole, arrays, strict=True))
    pairs = zip(kernel.arrays, given, strict=True)
    return as_result([array for argument, array in pairs if argument.is_live_out])


def _run(
    found: Viewed,
    memory: Mapping[str, NumPyArray],
    sizes: Mapping[str, int],
    scalars: Mapping[str, Any],
    threads: int | None,
) -> None:
    """Run on owners, which may overlap where the arrays do not. Raises ``ArgumentError``."""
    kernel = found.kernel
    missing = next((a.name for a in kernel.scalars if a.name not in scalars), None)
    if missing is not None:
        raise ArgumentError(f"{kernel.name} needs {missing}")
    owners = [memory[a.name] for a in kernel.arrays]
    check_indices(kernel.program, kernel.arrays, owners, [owner.shape for owner in owners])
    addresses = {name: owner.ctypes.data for name, owner in memory.items()}
    kernel.run_at(addresses, sizes, scalars, kernel.thread_count(threads))


@dataclass(frozen=True, eq=False)
class _Part:
    """An array that is passed as it lies."""

    array: NumPyArray
    layout: Layout

    @property
    def view(self) -> View:
        layout = self.layout
        return View(layout.axes, layout.owner.ndim, layout.is_part)


@dataclass(frozen=True, eq=False)
class _Copied:
    """An array that has to be copied, and why."""

    array: NumPyArray
    reason: str


def _array(argument: Argument, value: object) -> NumPyArray | None:
    """What was given as a NumPy array on its memory. Raises ``ArgumentError``."""
    if value is None:
        return None
    array = as_arrays(value)
    if isinstance(value, np.ndarray):
        array = cast("NumPyArray", value)
    elif isinstance(value, np.generic) and not argument.is_live_out:
        array = np.asarray(cast("Any", value))
    check_type(cast("object", value) if array is None else array, argument.type.dtype, argument)
    assert array is not None
    if argument.is_live_out and not array.flags.writeable:
        message = f"{argument.name} is written by the kernel, but the array is read-only"
        raise ArgumentError(message)
    return array


def _checked(
    kernel: Kernel, given: Sequence[NumPyArray | None], rest: Mapping[str, Any]
) -> dict[str, int]:
    """All sizes of the call. Raises ``ArgumentError``."""
    shapes: dict[str, tuple[int, ...]] = {}
    for argument, array in zip(kernel.arrays, given, strict=True):
        if array is not None:
            check_shape(array, argument)
            shapes[argument.name] = array.shape
    params = kernel.program.params
    sizes = checked_sizes({n: v for n, v in rest.items() if n in params}, params)
    return kernel.sizes_of(shapes, **sizes)


def _check_apart(arguments: Sequence[Argument], arrays: Sequence[NumPyArray]) -> None:
    """Refuse elements that a result shares with another array. Raises ``AliasError``."""
    for one, array in zip(arguments, arrays, strict=True):
        if not one.is_live_out:
            continue
        if overlaps_itself(array):
            raise AliasError(
                f"elements of {one.name}, which is written, lie in one place: its strides are"
                f" {array.strides}",
                hint="pass a copy",
            )
        for two, other in zip(arguments, arrays, strict=True):
            if one is not two and _share(array, other):
                raise AliasError(
                    f"{one.name} and {two.name} share memory",
                    notes=[f"{one.name} is written while the other is in use"],
                    hint="pass a copy of one of them",
                )


def _share(one: NumPyArray, other: NumPyArray) -> bool:
    try:
        return np.shares_memory(one, other, max_work=cast("Any", _MOST_WORK))
    except np.exceptions.TooHardError:
        return True


def _lies(kernel: Kernel, argument: Argument, array: NumPyArray) -> _Part | _Copied | NumPyArray:
    """How an array is passed: as it is, as part of another one, or copied."""
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    if not array.flags.aligned:
        return _Copied(array, "it is not aligned to its element type")
    if kernel.plan is None:
        return _Copied(array, f"its strides are {array.strides}, and the kernel has no plan")
    if argument.name not in viewable(kernel.plan.source):
        return _Copied(array, f"its strides are {array.strides}, and data choose elements")
    layout = layout_of(array)
    if layout is None:
        strides = f"its strides, {array.strides}, are not those of a part of an array in C order"
        return _Copied(array, strides)
    return _Part(array, layout)


def _viewed(kernel: Kernel, parts: Mapping[str, _Part]) -> Viewed | str | None:
    """The kernel for arrays that lie so; why there is none; ``None`` where all are in C order."""
    if not parts:
        return None
    key = tuple((name, part.view) for name, part in parts.items())
    known = kernel.views.made
    if key not in known:
        if len(known) >= _REMEMBERED:
            known.clear()
        known[key] = _made(kernel, dict(key))
    return known[key]


def _made(kernel: Kernel, views: Mapping[str, View]) -> Viewed | str:
    """A kernel of the plan's moves on the program with such arrays, or why there is none."""
    plan, built = kernel.plan, kernel.built
    assert plan is not None
    try:
        scop, sizes = viewed(plan.source, views)
        moves = ((m.name, m.args, dict(m.options)) for m in plan.moves)
        again = replayed(Plan(scop), moves)
        again.prove()
    except UserError as error:
        return f"its plan does not hold for arrays that lie so: {error.diagnostic.message}"
    made = again.compile(
        target=cast("Any", built.target),
        cc=shlex.join(built.toolchain.command),
        openmp=built.uses_openmp or None,
        contract=built.contract,
        cache=built.cache.directory,
        check=built.is_checked,
    )
    return Viewed(made, sizes)


def _memory(
    kernel: Kernel, lies: Mapping[str, _Part | _Copied | NumPyArray]
) -> dict[str, NumPyArray]:
    """The arrays that are passed, in C order."""
    memory: dict[str, NumPyArray] = {}
    for name, one in lies.items():
        if isinstance(one, _Part):
            memory[name] = one.layout.owner
        elif isinstance(one, _Copied):
            memory[name] = np.array(one.array, order="C")
            said = f"{name} is copied before a call, and back where it is written: {one.reason}"
            kernel.views.copies[name] = said
        else:
            memory[name] = one
    return memory


def _places(
    sizes: Mapping[str, ViewSizes], lies: Mapping[str, _Part | _Copied | NumPyArray]
) -> dict[str, int]:
    """Where views begin, and how large their owners are, by the names of sizes."""
    found: dict[str, int] = {}
    for name, names in sizes.items():
        part = lies[name]
        assert isinstance(part, _Part)
        found |= dict(zip(names.extents, part.layout.owner.shape, strict=True))
        found |= dict(zip(names.firsts, part.layout.firsts, strict=True))
    return found
