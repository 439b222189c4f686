"""What a kernel's arguments have to be, with a message for each way in which they are not."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.errors import AliasError, ArgumentError, shown
from polyopt.ir.types import BF16

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.codegen.signature import Argument, CProgram
    from polyopt.runtime.arrays import NumPyArray


def check_type(array: object, dtype: np.dtype[Any], argument: Argument) -> None:
    """Refuse what is not an array, or of another type. Raises ``ArgumentError``."""
    if not isinstance(array, np.ndarray):
        shown = type(array).__name__
        raise ArgumentError(
            f"{argument.name} is a {shown}, not a NumPy array", hint="see numpy.asarray"
        )
    found = cast("NumPyArray", array).dtype
    if argument.type == BF16:
        _check_bfloat16(found, argument)
    elif found != dtype:
        swapped = found.newbyteorder() == dtype
        reason = " in the other byte order" if swapped else f" of {found}"
        raise ArgumentError(
            f"{argument.name} is an array{reason}, but {dtype} is needed",
            hint=f"{argument.name}.astype(numpy.{dtype})",
        )


def _check_bfloat16(found: np.dtype[Any], argument: Argument) -> None:
    """NumPy has no such type: others bring one, and else its bits are taken."""
    if found != np.uint16 and found.name != BF16.numpy_name:
        raise ArgumentError(
            f"{argument.name} is an array of {found}, but bfloat16 is needed",
            hint=f"{argument.name}.astype(ml_dtypes.bfloat16), or its bits as uint16",
        )


def check_memory(array: NumPyArray, argument: Argument) -> None:
    """Refuse strides, misalignment and read-only outputs. Raises ``ArgumentError``."""
    name = argument.name
    if not array.flags.c_contiguous:
        raise ArgumentError(
            f"{name} is not contiguous: its strides are {array.strides}",
            notes=[f"its shape is {array.shape}, of {array.dtype}"],
            hint=f"numpy.ascontiguousarray({name})" if argument.role == "in" else "pass a copy",
        )
    if not array.flags.aligned:
        raise ArgumentError(
            f"{name} is not aligned to its element type", hint=f"pass {name}.copy()"
        )
    raise ArgumentError(f"{name} is written by the kernel, but the array is read-only")


def check_overlap(
    arguments: Sequence[Argument], one: int, starts: Sequence[int], sizes: Sequence[int]
) -> None:
    """Refuse memory that a result shares with another array. Raises ``AliasError``."""
    # all are contiguous, so their address ranges say exactly what they share
    low = starts[one]
    high = low + sizes[one]
    for two, start in enumerate(starts):
        if start < high and start and low < start + sizes[two] and two != one:
            names = f"{arguments[one].name} and {arguments[two].name}"
            raise AliasError(
                f"{names} share memory",
                notes=[f"{arguments[one].name} is written while the other is in use"],
                hint="pass a copy of one of them",
            )


def check_indices(
    program: CProgram,
    arguments: Sequence[Argument],
    arrays: Sequence[NumPyArray | None],
    shapes: Sequence[Sequence[int]],
    *,
    runs: bool = False,
) -> None:
    """Refuse subscripts in index arrays that leave what they index; where a call ``runs``, but for
    those that its C compares itself. Raises ``ArgumentError``."""
    if not program.indices:
        return
    done = program.checked_indices if runs else ()
    position = {argument.name: k for k, argument in enumerate(arguments)}
    for found in program.indices:
        array = arrays[position[found.array]]
        if not found.always or array is None or found in done:
            continue
        extent = shapes[position[found.target]][found.axis]
        if _largest(array) < extent:
            continue
        place = np.unravel_index(int(np.argmax((array < 0) | (array >= extent))), array.shape)
        shown = ", ".join(str(int(x)) for x in place)
        raise ArgumentError(
            f"{found.array}[{shown}] is {array[place]}, but the elements of {found.array} choose"
            f" elements of {found.target}, whose axis {found.axis} has {extent}",
            hint=f"every element has to be from 0 to {extent - 1}",
        )


def _largest(array: NumPyArray) -> int:
    """The largest element, where those below zero count as larger than all others: one look."""
    kind = array.dtype
    unsigned = array.view(f"u{kind.itemsize}") if kind.kind == "i" else array
    return int(unsigned.max())


def check_shape(array: NumPyArray, argument: Argument) -> None:
    """Refuse another rank and empty dimensions. Raises ``ArgumentError``."""
    if array.ndim != argument.rank:
        wanted = ", ".join(argument.c_extents)
        raise ArgumentError(
            f"{argument.name} has {_dimensions(array.ndim)}, but {argument.rank} "
            f"{'is' if argument.rank == 1 else 'are'} needed",
            notes=[f"its shape is {array.shape}; it is declared as ({wanted})"],
        )
    for axis, extent in enumerate(array.shape):
        if extent < 1:
            raise ArgumentError(f"{argument.name}.shape[{axis}] is 0: sizes have to be positive")


def _dimensions(count: int) -> str:
    return "1 dimension" if count == 1 else f"{count} dimensions"


def checked_sizes(given: Mapping[str, Any], params: Sequence[str]) -> dict[str, int]:
    """Sizes given by keyword or position, as Python integers. Raises ``ArgumentError``."""
    sizes: dict[str, int] = {}
    for name, value in given.items():
        if name not in params:
            raise ArgumentError(
                f"there is no size {name!r}", hint="there are: " + ", ".join(params)
            )
        try:
            sizes[name] = operator.index(value)
        except TypeError:
            raise ArgumentError(f"{name} is {shown(value)}, not a whole number") from None
        if not -(2**62) < sizes[name] < 2**62:
            raise ArgumentError(f"the size {name} = {shown(sizes[name])} is too large")
    return sizes


def checked_scalar(argument: Argument, value: object) -> int | float:
    """A Python number for a scalar argument; refuses what would lose its value.

    Raises ``ArgumentError``.
    """
    number: Any = value
    if isinstance(value, np.ndarray):
        array = cast("NumPyArray", value)
        number = array[()] if array.ndim == 0 else array
    if argument.type.is_float:
        if isinstance(number, (int, float, np.floating, np.integer)):
            return _as_float(argument, cast("float", number))
    elif isinstance(number, (int, np.integer, np.bool_)):
        low, high = argument.type.range
        whole = int(cast("int", number))
        if low <= whole <= high:
            return whole
        raise ArgumentError(
            f"{argument.name} = {shown(whole)} does not fit {argument.type.numpy_name}"
        )
    kind = type(cast("object", number)).__name__
    raise ArgumentError(f"{argument.name} is a {kind}, but {argument.type.numpy_name} is needed")


def _as_float(argument: Argument, number: float) -> float:
    """Raises ``ArgumentError`` for an integer beyond all floats."""
    try:
        return float(number)
    except OverflowError:
        raise ArgumentError(
            f"{argument.name} = {shown(number)} does not fit {argument.type.numpy_name}"
        ) from None
