"""Memory pool: buffers of kernels are kept from call to call, for all kernels of a process.

Large buffers are allocated in each call. The C library may give them back to the system in between,
as it does where other allocations come and go, and each page then costs a fault again: calls with
10 MB of buffers took four times as long. The pool is a library of its own, compiled once; kernels
have pointers to its functions, and where there is no pool use the C library.
"""

from __future__ import annotations

import ctypes
import logging
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from polyopt.errors import PolyoptError
from polyopt.runtime.cache import LIBRARY, SOURCE, KernelCache, content_key
from polyopt.runtime.toolchain import find_toolchain

_SOURCE = Path(__file__).parents[1] / "templates" / "pool.c"
#: pointers of a kernel's library, by the function of the pool that they are set to
_POINTERS = {"pool_allocate": "polyopt_allocate", "pool_release": "polyopt_release"}
_log = logging.getLogger("polyopt")


@dataclass(frozen=True)
class Usage:
    """Bytes of the pool: in use by calls that run, kept, and the most in use at once."""

    in_use: int
    kept: int
    peak: int


def lend(library: ctypes.CDLL) -> bool:
    """Let a kernel's library have its buffers from the pool; whether it does."""
    try:
        ctypes.c_void_p.in_dll(library, _POINTERS["pool_release"])
    except ValueError:  # it has no buffers
        return False
    pool = _pool()
    if pool is None:
        return False
    for function, pointer in _POINTERS.items():
        address = ctypes.cast(pool[function], ctypes.c_void_p).value
        ctypes.c_void_p.in_dll(library, pointer).value = address
    return True


def trim() -> None:
    """Give what is kept back to the C library."""
    pool = _pool()
    if pool is not None:
        pool.pool_trim()


def usage() -> Usage:
    """How much memory the pool has; nothing before a kernel with buffers is loaded."""
    pool = _pool() if _pool.cache_info().currsize else None
    found = (ctypes.c_size_t * 3)()
    if pool is not None:
        pool.pool_usage(found)
    return Usage(*found)


def get_ready() -> None:
    """Build the pool's library where it is not in the cache yet. Raises what building does."""
    _built()


@cache
def _pool() -> ctypes.CDLL | None:
    """The pool's library, which is never closed; ``None`` where it cannot be made."""
    with suppress(OSError):
        try:
            return ctypes.CDLL(str(_built()))
        except PolyoptError as error:
            _log.info("buffers come from the C library: %s", error.diagnostic.message)
    return None


def _built() -> Path:
    text, toolchain = _SOURCE.read_text(encoding="utf-8"), find_toolchain(None)
    flags = ("-std=gnu11", "-O2", "-pthread")

    def build(folder: Path) -> None:
        (folder / SOURCE).write_text(text, encoding="utf-8")
        toolchain.compile_library(folder / SOURCE, folder / LIBRARY, flags)

    key = content_key(
        "pool", text, *flags, *toolchain.command, toolchain.version, toolchain.identity
    )
    return KernelCache().library(key, "polyopt_pool", build)
