"""Whether a plan's results are the source's bit for bit, when neither contracts multiply-adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyopt.bench.peers.source import Memory, build, source_text
from polyopt.bench.variants import compile_fresh
from polyopt.codegen.target import native_target
from polyopt.runtime.measuring.arguments import CallArguments
from polyopt.runtime.toolchain import find_toolchain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Scop
    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.measuring.arguments import Values
    from polyopt.transform.plan import Plan


def is_exact(
    scop: Scop, plan: Plan, inputs: Values, sizes: Mapping[str, int], expected: Values
) -> bool:
    """Whether plan and source compute the same bits, with the math functions that the source has.

    ``expected`` gives the outputs' names, shapes and types. Raises what compiling raises.
    """
    toolchain = find_toolchain()
    text = source_text(scop, sizes)
    memory = Memory(text, sizes, inputs, expected)
    flags = toolchain.flags(native_target().flags, contract=False)
    memory.call(build(text, toolchain, flags))
    found = compute(compile_fresh(plan, contract=False, libm=True), inputs, sizes)
    return all(_same_bits(found[name], values) for name, values in memory.results.items())


def _same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    same_kind = (one.dtype, one.shape) == (other.dtype, other.shape)
    return same_kind and np.array_equal(one.view(np.uint8), other.view(np.uint8))


def compute(kernel: Kernel, inputs: Values, sizes: Mapping[str, int]) -> Values:
    """The results of one call; the inputs stay as they are."""
    arguments = CallArguments.make(kernel, inputs, sizes)
    arguments.call(kernel)
    return arguments.results
