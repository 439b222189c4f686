"""Kernels called one after another by one call of C.

A call from Python takes as long as a small kernel (0.7 microseconds on Zen 3, where one from C
takes 0.05): a network of many such would spend half of its time between them.
"""

from __future__ import annotations

import ctypes
from ctypes import addressof
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from polyopt.codegen.signature import CProgram
from polyopt.codegen.target import target
from polyopt.runtime.bound import check_status
from polyopt.runtime.build import build_library
from polyopt.runtime.load import load_function

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.runtime.bound import BoundKernel

#: addresses and sizes of a kernel that C calls: a case for each number of them
MOST_ARGUMENTS = 64
#: what a word may be: both are passed alike where a pointer has 64 bits
_WORDS = {ctypes.c_void_p, ctypes.c_int64}
_SOURCE = """/* Calls kernels in turn. */
#include <stdint.h>

typedef int64_t I;

/*
 * Kernel k takes counts[k] addresses and sizes, one kernel's after another's in words, and the
 * number of threads. Returns 0, or 256 * k + s where kernel k ended with status s.
 */
int dispatch(I kernels, const I *functions, const I *counts, const I *words, int threads)
{
    for (I k = 0; k < kernels; k++) {
        const I *w = words;
        const uintptr_t f = (uintptr_t)functions[k];
        int status = 1;
        switch (counts[k]) {
%s
        }
        if (status) {
            return (int)(256 * k + status);
        }
        words += counts[k];
    }
    return 0;
}
"""


class KernelSequence:
    """Bound kernels as one call. ``fed`` are the arguments that each call gives anew: by number of
    the kernel and argument, what they are called. ``cc`` and ``cache`` are those of the kernels."""

    def __init__(
        self,
        calls: Sequence[BoundKernel],
        fed: Mapping[tuple[int, str], str],
        *,
        cc: str | None = None,
        cache: str | None = None,
    ) -> None:
        self._dispatch = dispatcher(cc, cache)
        self._calls = tuple(calls)  # their functions and arrays have to stay
        words = [call.words for call in calls]
        starts = list(accumulate(map(len, words), initial=0))
        self._fed = tuple((starts[k] + calls[k].slot(a), name) for (k, a), name in fed.items())
        self._words = _array([word for each in words for word in each])
        self._functions = _array([call.address for call in calls])
        self._counts = _array([len(each) for each in words])
        # ctypes makes pointers of arrays anew in each call; addresses it takes as they are
        self._given = (len(calls), *map(addressof, (self._functions, self._counts, self._words)))

    def __call__(self, addresses: Mapping[str, int], threads: int) -> None:
        """Run, with what is given anew at these addresses. Raises ``MemoryError``, or what else
        a kernel's status tells of."""
        words = self._words
        for place, name in self._fed:
            words[place] = addresses[name]
        found = self._dispatch(*self._given, threads)
        if found:
            kernel, status = divmod(found, 256)
            check_status(self._calls[kernel].name, status)


def may_dispatch(calls: Sequence[BoundKernel]) -> bool:
    """Whether C can call them: all their arguments are addresses and sizes, and not too many."""
    return ctypes.sizeof(ctypes.c_void_p) == ctypes.sizeof(ctypes.c_int64) and all(
        set(call.types) <= _WORDS and len(call.types) <= MOST_ARGUMENTS for call in calls
    )


def _array(values: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * len(values))(*values)


@cache
def dispatcher(cc: str | None, cache: str | None) -> Callable[..., int]:
    """The C function, compiled once for all networks; ``cc`` and ``cache`` as for kernels.

    Raises what the toolchain raises.
    """
    lines: list[str] = []
    for count in range(MOST_ARGUMENTS + 1):
        types = ", ".join([*["I"] * count, "int"])
        given = ", ".join([*(f"w[{n}]" for n in range(count)), "threads"])
        lines.append(f"        case {count}: status = ((int (*)({types}))f)({given}); break;")
    prototype = (
        "int dispatch(I kernels, const I *functions, const I *counts, const I *words, int threads)"
    )
    program = CProgram("dispatch", _SOURCE % "\n".join(lines), prototype, (), ())
    built = build_library(program, target("generic"), cc=cc, cache=cache)
    function: Any = load_function(built.library, program)
    function.argtypes = [ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_int]
    return function
