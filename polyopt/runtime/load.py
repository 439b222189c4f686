"""A function of a shared library, with the types of its C prototype."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from polyopt.codegen.program import CProgram


_CTYPES: dict[str, Any] = {
    "bool": ctypes.c_bool, "f32": ctypes.c_float, "f64": ctypes.c_double,
    "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
}  # fmt: skip


def load_function(library: Path, program: CProgram) -> Callable[..., int]:
    """The C function; a ``CDLL`` releases the GIL while it runs."""
    function = getattr(ctypes.CDLL(str(library)), program.c_name)
    types: list[Any] = []
    for argument in program.arguments:
        if argument.kind == "array":
            types.append(ctypes.c_void_p)
        else:
            types.append(_CTYPES[argument.type.name])
    function.argtypes = [*types, ctypes.c_int]
    function.restype = ctypes.c_int
    return function
