"""Every loop of a kernel's automatic plan that is marked as a vector loop is one, or is in a list.

The list is for gcc 12 and vectors of 32 bytes. Both a loop that is no longer vectorized and one
that now is make it wrong.
"""

from __future__ import annotations

import platform
from collections import Counter
from dataclasses import replace

import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.runtime.build import build_library
from polyopt.runtime.toolchain import find_toolchain
from polyopt.runtime.vector_loops import facts
from tests.oracle.kernels import KERNELS, grouped, load_kernel

#: one machine for all: what a plan is depends on how many cores there are
IS_X86 = platform.machine() == "x86_64"
TARGET = replace(target("avx2" if IS_X86 else "native"), cores=2)
#: the gcc whose reasons are in the list
LISTED_FOR = 12 if IS_X86 else 0

# What is left of blocks of rows: how many rows there are decides in every iteration, by tests that
# are the same for all. They run for fewer rows than a block has.
_ROWS = "unsupported access type for masked load"
_LAST_ROWS = "no vectype for stmt"
# The border of a pooling window, of which every second element is loaded under a test.
_BORDER = "no vectype for stmt: .MASK_LOAD"
# A row of a table is chosen by data, and gcc finds no gather in a subscript that is not the last.
_ROW_BY_DATA = "not suitable for gather load"
# Two elements at the border of an image, and 64-bit integers as floats, which AVX-512 has.
_TO_FLOAT = "conversion not supported by target: (float)"
# Subscripts that stop at the border.
_CLAMPED = "unsupported vector types for emulated gather"

#: kernel -> {(loop of the plan, reason): loops of the C}
MISSED: dict[str, dict[tuple[str, str], int]] = {}


def missed(name):
    """The loops of a kernel that the compiler made no vectors of, and all facts on it."""
    kernel = load_kernel(name)
    program = po.auto(kernel.scop, target=TARGET, sizes=kernel.sizes["bench"]).emit()
    found = facts(program.vector_loops, build_library(program, TARGET).report)
    return dict(Counter((fact.name, fact.reason) for fact in found.missed)), found


@pytest.mark.parametrize("name", grouped(KERNELS))
def test_marked_loops_are_vectors_or_listed(name):
    compiler = find_toolchain()
    listed, found = missed(name)
    assert not compiler.reports or all(fact.outcome != "unknown" for fact in found)
    assert compiler.gcc_version != LISTED_FOR or listed == MISSED.get(name, {})


def test_the_list_names_kernels():
    assert MISSED.keys() <= set(KERNELS)
