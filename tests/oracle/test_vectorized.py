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
from polyopt.runtime.reports.vector_loops import facts
from polyopt.runtime.toolchain import find_toolchain
from tests.oracle.kernels import KERNELS, grouped, load_kernel

#: one machine for all: what a plan is depends on how many cores there are
IS_X86 = platform.machine() == "x86_64"
TARGET = replace(target("avx2" if IS_X86 else "native"), cores=2)
#: the gcc whose reasons are in the list
LISTED_FOR = 12 if IS_X86 else 0

# What is left of blocks of rows, and the borders of an image: tests that are the same in all
# iterations say in each of them which rows there are. These loops run seldom.
_ROWS = "unsupported access type for masked load"
_LAST_ROWS = "no vectype for stmt"
# The border of a pooling window, of which every second element is loaded under a test.
_BORDER = "no vectype for stmt: .MASK_LOAD"
# Subscripts that stop at the border of an image.
_CLAMPED = "unsupported vector types for emulated gather"
# Data choose a row, and gcc finds no gather where they choose another subscript than the last.
_ROW_BY_DATA = "not suitable for gather load"
# 64-bit integers as floats, which AVX-512 has: two elements of an image of one column, a table.
_TO_FLOAT = "conversion not supported by target: (float)"
# Calls without a vector form.
_POW = "function is not vectorizable: pow"

#: kernel -> {(loop of the plan, reason): loops of the C}
MISSED: dict[str, dict[tuple[str, str], int]] = {
    "bicg": {
        ("q.j2", _ROWS): 1,
    },
    "bn_relu_maxpool": {
        ("out.x", _BORDER): 3,
    },
    "camera_pipe": {
        ("curve.value", _POW): 1,
    },
    "conv_bn_relu_maxpool": {
        ("out.x", _BORDER): 5,
    },
    "correlation": {
        ("stddev.j3", _LAST_ROWS): 1,
    },
    "depthwise_separable": {
        ("out_1.co", _ROWS): 1,
    },
    "gemver": {
        ("x_1.i2", _ROWS): 1,
    },
    "gramschmidt": {
        ("A.j3", _ROWS): 1,
    },
    "interpolate": {
        ("d1.x", _CLAMPED): 4,
        ("d4.x", _CLAMPED): 2,
    },
    "local_laplacian": {
        ("curve.i", _TO_FLOAT): 1,
        ("outG1.x", _ROW_BY_DATA): 4,
        ("outG2.x", _ROW_BY_DATA): 4,
        ("outG3.x", _ROW_BY_DATA): 4,
        ("outG4.x", _ROW_BY_DATA): 4,
        ("outG5.x", _ROW_BY_DATA): 1,
        ("outG6.x", _ROW_BY_DATA): 1,
        ("outL0.x", _ROW_BY_DATA): 2,
        ("outL7.x", _ROW_BY_DATA): 1,
        ("up_g2.x_tile", _TO_FLOAT): 1,
        ("up_g3.x_tile", _TO_FLOAT): 1,
        ("up_g4.x_tile", _TO_FLOAT): 1,
        ("up_g5.x_tile", _TO_FLOAT): 1,
        ("up_g6.x_tile", _TO_FLOAT): 1,
        ("up_g7.x_tile", _TO_FLOAT): 1,
        ("up_outG2.x_tile", _TO_FLOAT): 1,
        ("up_outG3.x_tile", _TO_FLOAT): 1,
        ("up_outG4.x_tile", _TO_FLOAT): 1,
        ("up_outG5.x_tile", _TO_FLOAT): 1,
        ("up_outG6.x_tile", _TO_FLOAT): 1,
        ("up_outL7.x_tile", _TO_FLOAT): 1,
    },
    "mvt": {
        ("x2.i", _ROWS): 1,
    },
    "pyramid_blend": {
        ("blend1.x_tile", _ROWS): 1,
        ("out.x_tile", _ROWS): 2,
    },
}


def missed(name):
    """The loops of a kernel that the compiler made no vectors of, and all facts on it."""
    kernel = load_kernel(name)
    program = po.auto(kernel.scop, target=TARGET, sizes=kernel.sizes["bench"]).emit()
    found = facts(program.vector_loops, build_library(program, TARGET).report)
    return dict(Counter((fact.name, fact.reason) for fact in found.missed)), found


@pytest.mark.parametrize("name", grouped(KERNELS))
def test_marked_loops_are_vectors_or_listed(name):
    listed, found = missed(name)
    is_known = find_toolchain().gcc_version == LISTED_FOR
    assert not is_known or listed == MISSED.get(name, {})
    assert not is_known or all(fact.outcome != "unknown" for fact in found)


def test_the_list_names_kernels():
    assert MISSED.keys() <= set(KERNELS)
