"""A function of a shared library, with the types of its C prototype."""

from __future__ import annotations

import _ctypes
import ctypes
import struct
import weakref
from typing import TYPE_CHECKING, Any

from polyopt.errors import CompilerFailedError
from polyopt.runtime.memory.pool import lend, trim

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from polyopt.codegen.signature import CProgram


_CTYPES: dict[str, Any] = {
    "bool": ctypes.c_bool, "f32": ctypes.c_float, "f64": ctypes.c_double,
    "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
}  # fmt: skip


#: how libraries of macOS begin, in either order of bytes
_MACH = frozenset(
    bytes.fromhex(n) for n in ["feedface", "feedfacf", "cafebabe", "cefaedfe", "cffaedfe"]
)
#: the first library with threads: what it needs for them has to stay while they wait
_KEPT: list[ctypes.CDLL] = []


def load_function(library: Path, program: CProgram) -> Callable[..., int]:
    """The C function; a ``CDLL`` releases the GIL while it runs.

    The library is closed with the function. Raises ``CompilerFailedError`` where the file is no
    library, or has no such function.
    """
    try:
        loaded = ctypes.CDLL(str(library))
    except OSError as error:
        msg = "what the C compiler made cannot be loaded"
        raise CompilerFailedError(
            msg, notes=[str(error)], hint="see `polyopt doctor`; POLYOPT_CC chooses another"
        ) from None
    is_lent = lend(loaded)
    if program.uses_openmp and not _KEPT:
        _KEPT.append(loaded)
    else:
        gone = weakref.finalize(loaded, _close, loaded._handle, is_lent)  # noqa: SLF001 (all there is)
        gone.atexit = False
    try:
        function = loaded[program.c_name]  # as an attribute, __f__ would be Python's
    except AttributeError:
        msg = f"what the C compiler made has no function {program.c_name}"
        raise CompilerFailedError(msg, hint="see `polyopt doctor`") from None
    types: list[Any] = []
    for argument in program.arguments:
        if argument.kind == "array":
            types.append(ctypes.c_void_p)
        else:
            types.append(_CTYPES[argument.type.name])
    function.argtypes = [*types, ctypes.c_int]
    function.restype = ctypes.c_int
    return function


def is_library(path: Path) -> bool:
    """Whether a file is a whole library: the system's loader crashes on one that is cut off."""
    data = path.read_bytes()
    if data[:4] != b"\x7fELF":
        return data[:4] in _MACH
    wide, order = data[4:5] == b"\x02", "<" if data[5:6] == b"\x01" else ">"
    layout = f"{order}16sHHIQQQIHHHHHH" if wide else f"{order}16sHHIIIIIHHHHHH"
    if len(data) < struct.calcsize(layout):
        return False
    *_, start, _, _, _, _, size, count, _ = struct.unpack_from(layout, data)
    return 0 < start + size * count <= len(data)  # what its table of sections needs comes last


def _close(handle: int, is_lent: bool) -> None:  # noqa: FBT001 (a callback)
    _ctypes.dlclose(handle)
    if is_lent:
        trim()
