"""A program as the C that other compilers are given: its own text, or its unfused form's."""

from __future__ import annotations

import ctypes
import re
import tempfile
import time
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.analysis.sets.points import parameter_value
from polyopt.runtime.arrays import aligned_copy
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.codegen.signature import Argument
    from polyopt.ir.scop import Scop
    from polyopt.runtime.toolchain import Toolchain

_ENTRY = "polyopt_peer"
#: of the 8 MiB that a thread usually has
_STACK_BYTES = 1 << 20
#: Sizes and pointers; ``flatten`` inlines the function, so that it sees constant sizes.
_SHIM = """
#include <stdint.h>
{attribute}void {entry}(const int64_t *sizes, void *const *given)
{{
    {call};
}}
"""


@dataclass(frozen=True)
class SourceText:
    """C text with one function, and how to call it."""

    text: str
    #: where the files are that it includes
    folder: str
    function: str
    sizes: tuple[str, ...]
    #: scalars and arrays
    values: tuple[Argument, ...]
    #: names of sizes and values as the function takes them
    order: tuple[str, ...]
    #: what it takes after them, such as a number of threads
    more: tuple[str, ...] = ()

    def unit(self, known: Mapping[str, int] | None = None) -> str:
        """The text and an entry of a known type; sizes are constants where they are known."""
        passed = {
            name: str(known[name]) if known is not None else f"sizes[{k}]"
            for k, name in enumerate(self.sizes)
        }
        passed |= {
            a.name: f"given[{k}]" if a.kind == "array" else f"*(const {a.type.c_name} *)given[{k}]"
            for k, a in enumerate(self.values)
        }
        call = f"{self.function}({', '.join([*(passed[n] for n in self.order), *self.more])})"
        attribute = "__attribute__((flatten)) " if known is not None else ""
        return self.text + _SHIM.format(attribute=attribute, entry=_ENTRY, call=call)


def source_text(scop: Scop, sizes: Mapping[str, int]) -> SourceText:
    """The C that the program was read from, else that of its unfused form, which calls libm.

    The latter also where the source keeps more in local arrays than fits on a stack.
    """
    unfused = Plan(scop).emit(libm=True)
    values = tuple(a for a in unfused.arguments if a.kind != "size")
    text = scop.source.text if scop.source is not None else ""
    if _defines(text, scop) and _local_bytes(text, scop, sizes) <= _STACK_BYTES:
        assert scop.source is not None
        folder = str(Path(scop.source.name).resolve().parent)
        return SourceText(text, folder, scop.name, scop.params, values, scop.signature)
    order = tuple(a.name for a in unfused.arguments)
    return SourceText(unfused.source, "", unfused.c_name, scop.params, values, order, ("1",))


def _defines(text: str, scop: Scop) -> bool:
    """Whether it is C that defines the scop's function, with these arguments."""
    found = re.search(rf"\b{re.escape(scop.name)}\s*\(([^)]*)\)\s*\{{", text)
    return found is not None and found[1].count(",") + 1 == len(scop.signature)


def _local_bytes(text: str, scop: Scop, sizes: Mapping[str, int]) -> int:
    """What the text declares as arrays of its own; a scalar of each iteration is none."""
    return sum(
        a.type.bytes * prod(parameter_value(extent, sizes) for extent in a.extents)
        for a in scop.arrays
        if a.role == "temp" and re.search(rf"\w\s+{re.escape(a.name)}\s*\[", text)
    )


@dataclass(frozen=True, eq=False)
class Built:
    """A compiled text and the seconds that it took."""

    entry: Callable[..., object]
    compile_s: float


def build(
    text: SourceText,
    toolchain: Toolchain,
    flags: Sequence[str],
    *,
    known: Mapping[str, int] | None = None,
    timeout_s: float | None = None,
) -> Built:
    """The function as a compiler makes it. Raises ``CompilerFailedError``."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="polyopt-bench-") as made:
        source, library = Path(made, "source.c"), Path(made, "source.so")
        source.write_text(text.unit(known), encoding="utf-8")
        include = ("-I", text.folder) if text.folder else ()
        toolchain.compile_library(source, library, (*flags, *include), timeout_s=timeout_s)
        entry = getattr(ctypes.CDLL(str(library)), _ENTRY)
    entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    entry.restype = None
    return Built(entry, time.perf_counter() - start)


class Memory:
    """Arrays that calls of a text work on: shared by all forms that it is compiled to.

    ``restore`` puts back what a call changed in place. What is only read stays the caller's.
    """

    def __init__(
        self,
        text: SourceText,
        sizes: Mapping[str, int],
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any],
    ) -> None:
        self.results = {n: aligned_copy(np.asarray(inputs.get(n, a))) for n, a in outputs.items()}
        self._first = {n: inputs[n] for n in self.results if n in inputs}
        given = [self.results.get(a.name, inputs.get(a.name)) for a in text.values]
        types = [a.type.numpy_name for a in text.values]
        self._given = [np.asarray(v, t) for v, t in zip(given, types, strict=True)]
        self._pointers = (ctypes.c_void_p * len(types))(*(a.ctypes.data for a in self._given))
        self._sizes = (ctypes.c_int64 * len(text.sizes))(*(sizes[n] for n in text.sizes))

    @property
    def changes_inputs(self) -> bool:
        """Whether a call overwrites what it reads."""
        return bool(self._first)

    def call(self, built: Built) -> None:
        """Run a compiled form once."""
        built.entry(self._sizes, self._pointers)

    def restore(self) -> None:
        """Arrays that are read and written, as they were before the first call."""
        for name, values in self._first.items():
            np.copyto(self.results[name], values)
