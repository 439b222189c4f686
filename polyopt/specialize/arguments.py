"""The arguments of a call: what a program depends on, and what it is called with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.errors import UnsupportedError, shown
from polyopt.frontend.arrays import Arguments, ArrayArgument, Owner
from polyopt.frontend.arrays.arguments import ARRAY_TYPES, TAKEN_TYPES, part_names
from polyopt.frontend.complex_values import complex_type
from polyopt.frontend.functions import named_type
from polyopt.ir.types import C128, F64, ScalarType
from polyopt.runtime.views.layout import Layout, as_arrays, layout_of, overlaps_itself, root_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.runtime.arrays import NumPyArray

#: integers beyond this are no sizes
_LARGEST = 2**62
#: what constants may be, besides functions and types
_PLAIN = (bool, str, type(None))


@dataclass(frozen=True, eq=False)
class Call:
    """The arguments of one call."""

    #: what programs are specialised for: equal for calls that one program may serve
    given: Arguments
    #: sizes of the program by name
    sizes: Mapping[str, int]
    #: arrays in C order by name
    arrays: Mapping[str, NumPyArray]
    scalars: Mapping[str, Any]
    #: the caller's objects by the function's names
    objects: Mapping[str, object]
    #: arrays that had to be copied, by the owner's name: the caller's, which changes go back to
    copied: Mapping[str, NumPyArray] = field(default_factory=dict[str, "NumPyArray"])
    #: owners of arrays that may not be written, with the arguments' names
    fixed: Mapping[str, str] = field(default_factory=dict[str, str])


def described(objects: Mapping[str, object], *, constant_sizes: bool = False) -> Call:
    """A call's arguments, by name. With ``constant_sizes`` integers are known beforehand.

    Raises ``UnsupportedError`` for an object that is neither array nor number nor constant.
    """
    arrays: dict[str, NumPyArray] = {}
    rest: dict[str, object] = {}
    for name, value in objects.items():
        array = as_arrays(value)
        if array is not None and array.ndim:
            arrays[name] = array
        else:
            rest[name] = value if array is None else array[()]
    found = _Described(objects, arrays)
    shared = _sharing(arrays)
    for name, array in arrays.items():
        found.add_array(name, array, shared=name in shared)
    for name, value in rest.items():
        found.add_number(name, value, constant=constant_sizes)
    return found.call()


def _sharing(arrays: Mapping[str, NumPyArray]) -> set[str]:
    """Names of the arrays that lie in the same memory as another one."""
    found: set[str] = set()
    for one, other in combinations(arrays, 2):
        if root_of(arrays[one]) is root_of(arrays[other]):
            found |= {one, other}
    return found


class _Described:
    """What is found out of a call's arguments, one by one."""

    def __init__(self, objects: Mapping[str, object], arrays: Mapping[str, NumPyArray]) -> None:
        self._objects = objects
        self._given = arrays
        self._owners: dict[str, Owner] = {}
        self._arrays: list[ArrayArgument] = []
        self._memory: dict[str, NumPyArray] = {}
        self._scalars: list[tuple[str, ScalarType, bool]] = []
        self._sizes: list[str] = []
        self._constants: list[tuple[str, Any]] = []
        self._values: dict[str, int] = {}
        self._numbers: dict[str, Any] = {}
        self._copied: dict[str, NumPyArray] = {}
        self._fixed: dict[str, str] = {}

    def call(self) -> Call:
        """All of it."""
        given = Arguments(
            tuple(self._objects), tuple(self._owners.values()), tuple(self._arrays),
            tuple(self._scalars), tuple(self._sizes), tuple(self._constants),
            tuple(self._copied),
        )  # fmt: skip
        return Call(
            given,
            self._values,
            self._memory,
            self._numbers,
            self._objects,
            self._copied,
            self._fixed,
        )

    def add_array(self, name: str, array: NumPyArray, *, shared: bool) -> None:
        is_complex = array.dtype.isnative and complex_type(array.dtype) is not None
        if is_complex:
            array = _as_pairs(array)
        kind = named_type(array.dtype.name) if array.dtype.isnative else None
        if kind is None or kind not in ARRAY_TYPES:
            taken = f"taken are {TAKEN_TYPES}, in native byte order"
            raise UnsupportedError(f"{name} is an array of {array.dtype}", hint=taken)
        if 0 in array.shape:
            raise UnsupportedError(f"{name} has no elements: its shape is {array.shape}")
        layout = layout_of(array, shared=shared) if array.flags.aligned else None
        if layout is None:
            layout = self._copy(name, array)
        owner = self._owner(self._unused(name) if layout.is_part else name, layout.owner, kind)
        stem = self._stem(name, max(array.ndim, owner.rank)) if layout.is_part else name
        self._arrays.append(
            ArrayArgument(name, owner.name, layout.axes, stem, layout.is_part, is_complex)
        )
        if not array.flags.writeable or any(not step for _, step in layout.axes):
            self._fixed[owner.name] = name
        if layout.is_part:
            self._add_part(self._arrays[-1], layout, array)

    def _copy(self, name: str, array: NumPyArray) -> Layout:
        """A copy in C order of what no array in C order has as a part."""
        others = (other for key, other in self._given.items() if key != name)
        if any(np.may_share_memory(array, other) for other in others) or (
            array.flags.writeable and overlaps_itself(array)
        ):
            raise UnsupportedError(
                f"{name} shares memory in a way that no copy keeps: its strides are"
                f" {array.strides}",
                hint=f"pass a copy of {name}",
            )
        found = layout_of(np.ascontiguousarray(array))
        assert found is not None
        self._copied[name] = array
        return found

    def _owner(self, name: str, memory: NumPyArray, kind: ScalarType) -> Owner:
        for known, other in self._memory.items():
            if _is_same(other, memory):
                return self._owners[known]
        owner = Owner(name, kind, memory.ndim, self._stem(name, memory.ndim))
        self._owners[name], self._memory[name] = owner, memory
        self._values |= {owner.size(k): extent for k, extent in enumerate(memory.shape)}
        return owner

    def _add_part(self, argument: ArrayArgument, layout: Layout, array: NumPyArray) -> None:
        for axis, first in enumerate(layout.firsts):
            self._values[argument.first(axis)] = first
        for axis, extent in enumerate(array.shape):
            self._values[argument.size(axis)] = extent

    def _stem(self, stem: str, rank: int) -> str:
        """What names of sizes begin with, such that they are no other names."""
        taken = {*self._objects, *self._values}
        while any({f"{stem}_{k}", f"{stem}_from_{k}"} & taken for k in range(rank)):
            stem += "_"
        return stem

    def _unused(self, name: str) -> str:
        """A name for the memory that an argument is a view of."""
        found = f"{name}_all"
        while found in self._objects or found in self._owners:
            found += "_"
        return found

    def _add_complex(self, name: str, kind: ScalarType, value: complex, *, weak: bool) -> None:
        self._scalars.append((name, kind, weak))
        make = kind.part.dtype.type
        for part, number in zip(
            part_names(name, tuple(self._objects)), (value.real, value.imag), strict=True
        ):
            self._numbers[part] = make(number)

    def add_number(self, name: str, value: object, *, constant: bool) -> None:
        """A number, or what is known beforehand."""
        if isinstance(value, np.generic):
            dtype = np.asarray(cast("Any", value)).dtype
            pairs = complex_type(dtype)
            if pairs is not None:
                self._add_complex(name, pairs, complex(cast("Any", value)), weak=False)
                return
            kind = named_type(dtype.name)
            if kind is None or kind not in ARRAY_TYPES:
                raise UnsupportedError(f"{name} is a NumPy scalar of type {dtype}")
            self._scalars.append((name, kind, False))
            self._numbers[name] = kind.computed.dtype.type(value) if kind.is_half else value
        elif type(value) is complex:
            self._add_complex(name, C128, value, weak=True)
        elif type(value) is int and not constant and abs(value) < _LARGEST:
            self._sizes.append(name)
            self._values[name] = value
        elif type(value) is float:
            self._scalars.append((name, F64, True))
            self._numbers[name] = value
        else:
            self._constants.append((name, _constant(name, value)))


def _as_pairs(array: NumPyArray) -> NumPyArray:
    """Complex numbers as an array with real and imaginary part as its last axis, without a copy."""
    return array[..., np.newaxis].view(f"f{array.itemsize // 2}")


def _constant(name: str, value: object) -> Any:  # noqa: ANN401
    """A value that programs are made for. Raises ``UnsupportedError`` for one that may change."""
    if isinstance(value, _PLAIN) or type(value) is int or callable(value):
        return Known(value)
    if isinstance(value, np.dtype):
        return Known(value)
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return Known(tuple(_constant(name, item).value for item in items))
    raise UnsupportedError(
        f"{name} is {shown(value)}, of type {type(value).__name__}",
        hint="taken are arrays, numbers, texts, functions, None, and tuples of them",
    )


@dataclass(frozen=True)
class Known:
    """A constant, equal to others of its type and value: ``1`` and ``True`` are two."""

    value: Any
    kind: str = ""

    def __post_init__(self) -> None:
        """Note the types, also of a tuple's items."""
        object.__setattr__(self, "kind", _kinds(self.value))


def _kinds(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(_kinds(item) for item in cast('tuple[object, ...]', value))})"
    return type(value).__name__


def _is_same(one: NumPyArray, other: NumPyArray) -> bool:
    return (
        one.ctypes.data == other.ctypes.data
        and one.shape == other.shape
        and one.dtype == other.dtype
    )


def plain(given: Arguments) -> Arguments:
    """The arguments with constants as they are, for the reader of the function."""
    return replace(given, constants=tuple((name, known.value) for name, known in given.constants))
