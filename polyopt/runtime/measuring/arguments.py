"""Arguments for timed calls: contents of the right shapes, outputs allocated beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.runtime.arrays import aligned_copy, empty
from polyopt.runtime.samples import random_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.library import LibraryKernel
    from polyopt.runtime.bound import BoundKernel
    from polyopt.runtime.kernel import Kernel

#: NumPy arrays and scalars by the names of a kernel's arguments.
Values = dict[str, Any]


def inputs_for(
    kernel: Kernel, sizes: Mapping[str, int], seed: int = 0, library: LibraryKernel | None = None
) -> Values:
    """Contents for every array and scalar that a kernel reads, arrays on cache line boundaries.

    Those of the kernel's own file where it is one from the library; else random ones.
    """
    if library is None:
        return dict(random_inputs(kernel, sizes, seed))
    values = library.inputs(sizes, np.random.default_rng(seed))
    return {n: aligned_copy(v) if np.ndim(v) else v for n, v in values.items()}


@dataclass(frozen=True, eq=False)
class CallArguments:
    """The arguments of repeated calls: ``restore`` puts back what a call changed in place."""

    #: everything that the caller gives, sizes included
    given: Values
    outputs: Values
    #: the first contents of arrays that are read and written
    first: Values

    @classmethod
    def make(cls, kernel: Kernel, inputs: Values, sizes: Mapping[str, int]) -> CallArguments:
        """Arguments of one variant's own; arrays that are only read are shared with others."""
        shapes = kernel.shapes(**sizes)
        first = {a.name: inputs[a.name] for a in kernel.arrays if a.role == "inout"}
        given: Values = {n: aligned_copy(v) if n in first else v for n, v in inputs.items()}
        given |= {name: sizes[name] for name in kernel.positional if name in sizes}
        outputs = {
            a.name: empty(shapes[a.name], a.type.dtype) for a in kernel.arrays if a.role == "out"
        }
        for array in outputs.values():
            array.fill(0)  # its pages exist before anything is timed
        return cls(given, outputs, first)

    @property
    def changes_inputs(self) -> bool:
        """Whether a call overwrites what it reads."""
        return bool(self.first)

    def restore(self) -> None:
        """Arrays that are read and written, as they were before the first call."""
        for name, values in self.first.items():
            np.copyto(self.given[name], values)

    def call(self, kernel: Kernel, threads: int | None = None) -> None:
        """Run once, into the arrays allocated here."""
        self.bind(kernel, threads)()

    def bind(self, kernel: Kernel, threads: int | None = None) -> BoundKernel:
        """What runs once, into the arrays allocated here: checked now, as calls of peers are."""
        named = {**self.given, **self.outputs}
        # an array that is called like the option goes by its name in it
        out = {"out": named.pop("out")} if "out" in named else None
        return kernel.bind(threads=threads, out=out, **named)

    @property
    def results(self) -> Values:
        """What the last call left in the arrays that it writes."""
        return {**self.outputs, **{name: self.given[name] for name in self.first}}
