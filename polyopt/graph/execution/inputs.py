"""The inputs of a network's call, as kernels take them: of the right type and shape, in order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.errors import ArgumentError
from polyopt.graph.ir.graph import array_dtype
from polyopt.graph.ir.open import Open
from polyopt.runtime.arrays import aligned_copy

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Array, Value


@dataclass(frozen=True, eq=False)
class Input:
    """One input: what arrays for it have to be."""

    value: Value

    @cached_property
    def name(self) -> str:
        """What callers name it by."""
        return self.value.name

    @cached_property
    def _dtypes(self) -> frozenset[np.dtype[Any]]:
        return frozenset((array_dtype(self.value.dtype), self.value.dtype.dtype))

    @cached_property
    def _shape(self) -> tuple[int | Open, ...]:
        return tuple(self.value.shape)

    def checked(self, found: object) -> Array:
        """What is given for it: itself, or a copy where its elements do not follow each other.

        Raises ``ArgumentError``.
        """
        if not isinstance(found, np.ndarray):
            raise ArgumentError(f"{self.name} is a {type(found).__name__}, not a NumPy array")
        array, kind = cast("Array", found), self.value.dtype.numpy_name
        if array.dtype not in self._dtypes:
            raise ArgumentError(
                f"{self.name} has the type {array.dtype}, not {kind}",
                hint=f"{self.name}.astype(np.{kind}) converts it",
            )
        if array.shape != self._shape and not _fits(array.shape, self._shape):
            raise ArgumentError(f"{self.name} has the shape {list(array.shape)}, not {self.value}")
        flags = array.flags
        return array if flags.c_contiguous and flags.aligned else aligned_copy(array)


def _fits(shape: tuple[int, ...], wanted: tuple[int | Open, ...]) -> bool:
    """Whether a shape is the one that is wanted; open sizes are any number from 1 up."""
    return len(shape) == len(wanted) and all(
        have >= 1 if isinstance(size, Open) else have == size
        for have, size in zip(shape, wanted, strict=True)
    )
