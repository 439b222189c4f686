"""Pipelines that Halide compiled ahead of time, called through their C interface."""

from __future__ import annotations

import ctypes
import shutil
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

#: the name of the function in every library
ENTRY = "polyopt_peer"
#: ``halide_type_code_t``
_CODES = {"i": 0, "u": 1, "f": 2}


_HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class HalideError(Exception):
    """What a pipeline's own checks found wrong with its arguments."""


class _Dimension(ctypes.Structure):
    """``halide_dimension_t`` of ``HalideRuntime.h``."""

    _fields_: ClassVar = [
        ("min", ctypes.c_int32),
        ("extent", ctypes.c_int32),
        ("stride", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
    ]


class _Buffer(ctypes.Structure):
    """``halide_buffer_t`` of ``HalideRuntime.h``."""

    _fields_: ClassVar = [
        ("device", ctypes.c_uint64),
        ("device_interface", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("dimensions", ctypes.c_int32),
        ("dim", ctypes.POINTER(_Dimension)),
        ("padding", ctypes.c_void_p),
    ]


class HalideLibrary:
    """A pipeline, loaded once for each number of threads.

    A thread pool of Halide's never shrinks, so every number has a copy with a pool of its own.
    """

    def __init__(self, path: Path, counts: Sequence[int]) -> None:
        self._said: list[str] = []
        # the libraries keep a bare pointer to it
        self._handler = _HANDLER(self._note)
        self._entries: dict[int, Any] = {}
        for count in counts:
            copied = path.with_name(f"{path.stem}-{count}{path.suffix}")
            shutil.copyfile(path, copied)
            library = ctypes.CDLL(str(copied))
            library.halide_set_error_handler(self._handler)
            library.halide_set_num_threads(ctypes.c_int(count))
            self._entries[count] = library[ENTRY]
        self._entry = self._entries[counts[0]]

    def _note(self, _context: int | None, message: bytes) -> None:
        self._said.append(message.decode(errors="replace").strip())

    def set_threads(self, threads: int) -> None:
        """Which of the numbers of threads the calls that follow take."""
        self._entry = self._entries[threads]

    def bind(self, arguments: Sequence[Any]) -> Callable[[], object]:
        """A call with these arrays and scalars; the arrays have to stay where they are.

        It raises ``HalideError``.
        """
        held = [_described(a) if np.ndim(a) else _scalar(a) for a in arguments]
        passed = [ctypes.byref(a) if isinstance(a, _Buffer) else a for a in held]

        def call(_kept: object = (held, arguments)) -> None:
            if self._entry(*passed):
                raise HalideError("; ".join(self._said) or "the call failed")

        return call


def _described(array: np.ndarray[Any, Any]) -> _Buffer:
    """The array's memory as Halide sees it: its innermost dimension comes first."""
    rank, size = array.ndim, array.itemsize
    dims = (_Dimension * rank)(
        *(
            _Dimension(0, extent, stride // size, 0)
            for extent, stride in zip(array.shape[::-1], array.strides[::-1], strict=True)
        )
    )
    host, code = array.ctypes.data, _CODES[array.dtype.kind]
    return _Buffer(0, None, host, 0, code, size * 8, 1, rank, dims, None)


def _scalar(value: Any) -> Any:  # noqa: ANN401 - ctypes has a class for each type
    return np.ctypeslib.as_ctypes_type(np.asarray(value).dtype)(value.item())
