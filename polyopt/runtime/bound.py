"""A kernel with its arguments: what is called again and again on the same arrays."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from polyopt.codegen.ast.nodes import BAD_INDEX
from polyopt.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class BoundKernel:
    """A call whose arguments were checked. It holds the arrays, and works on their memory.

    ``replace`` puts another array in the place of one; the caller vouches that it has the same
    shape and type, is contiguous, and shares memory with no other.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., int],
        prepared: list[Any],
        slots: Mapping[str, int],
        arrays: Sequence[object],
    ) -> None:
        self.name = name
        self._function = function
        self._prepared = prepared
        self._slots = slots
        self._arrays = tuple(arrays)  # their memory has to stay

    def __call__(self) -> None:
        """Run. Raises ``MemoryError`` when the kernel could not allocate its buffers."""
        check_status(self.name, self._function(*self._prepared))

    def replace(self, argument: str, address: int) -> None:
        """Let an array argument be the memory at an address from now on."""
        self._prepared[self._slots[argument]] = address

    @property
    def words(self) -> tuple[Any, ...]:
        """What its C function gets before the number of threads: addresses, sizes and scalars."""
        return tuple(self._prepared[:-1])

    @property
    def types(self) -> tuple[Any, ...]:
        """The types of these for ``ctypes``."""
        function: Any = self._function
        return tuple(function.argtypes[:-1])

    @property
    def address(self) -> int:
        """Where its C function is."""
        function: Any = self._function
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    def slot(self, argument: str) -> int:
        """The position of an array argument among the words."""
        return self._slots[argument]

    def set_threads(self, threads: int) -> None:
        """How many threads the calls from now on may use."""
        self._prepared[-1] = threads


def check_status(name: str, status: int) -> None:
    """Raises ``MemoryError`` for the status with which kernels report a failed allocation, and
    ``ArgumentError`` for that of a subscript from data that is outside of its array."""
    if status == BAD_INDEX:
        message = f"{name} found an element that chooses one outside of another array"
        raise ArgumentError(message, hint="its index arrays are not those that were checked")
    if status:
        msg = f"{name} could not allocate its buffers"
        raise MemoryError(msg)
