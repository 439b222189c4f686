"""Wrong code of compilers that we have met, and keep away from."""

from __future__ import annotations

import ctypes
import platform
import re

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.emit import KEEP_ACCUMULATORS, KEEP_ROUNDINGS
from polyopt.runtime.export import compiler_settings
from polyopt.runtime.toolchain import CLANG_FLAGS, GCC_FLAGS, Toolchain, find_toolchain

JOINED = """
void joined(float x[4][3][{n}], float y[8][3][{n}], float out[12][3][{n}]) {{
    for (int c = 0; c < 12; c++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < {n}; j++)
                out[c][i][j] = c <= 3 ? x[c][i][j] : y[c - 4][i][j];
}}
"""


@pytest.mark.parametrize("n", [4, 5])
def test_a_choice_that_a_short_loop_does_not_make(n):
    # gcc 12, with value ranges: zeros where the second operand is chosen
    scop = po.parse_c(JOINED.format(n=n))
    rng = np.random.default_rng(8)
    x, y = (rng.random((count, 3, n), np.float32) + 1 for count in (4, 8))
    assert np.array_equal(po.Plan(scop).compile()(x, y), np.concatenate([x, y]))


def test_an_inner_option_that_a_compiler_lost_is_left_out(tmp_path):
    fake = tmp_path / "cc"
    fake.write_text('#!/bin/sh\ncase "$*" in *-mllvm*) exit 1 ;; esac\nexec cc "$@"\n')
    fake.chmod(0o755)
    lost, kept = (
        Toolchain((str(fake),), "clang of tomorrow"),
        Toolchain(("true",), "clang of today"),
    )
    assert set(CLANG_FLAGS).isdisjoint(lost.flags())
    assert set(CLANG_FLAGS) <= set(kept.flags())
    assert set(GCC_FLAGS).isdisjoint(kept.flags())


def test_what_keeps_accumulators_in_registers_is_asked_of_gcc_alone():
    # gcc 12 kept loads of one step for the next, and spilled accumulators for them
    rows = 64
    x, w = po.input("x", po.f32, [rows + 2, 16]), po.input("w", po.f32, [3, 16])
    out = po.stage(
        "out", [rows, 16], lambda y, c: po.sum(lambda k: x[y + k, c] * w[k, c], over={"k": 3})
    )
    target = "avx512"
    plan = po.auto(po.pipeline(out), target=target)
    (flag,) = KEEP_ACCUMULATORS
    assert plan.emit().flags == (flag,)
    gcc, clang = Toolchain(("true",), "cc (GCC) 12"), Toolchain(("true",), "clang 14")
    assert flag in gcc.flags(plan.emit().flags)
    assert flag not in clang.flags(plan.emit().flags)
    settings = compiler_settings([gcc.flags(plan.emit().flags)])
    (line,) = [line for line in settings.splitlines() if flag in line]
    assert set(GCC_FLAGS) <= set(line.split())
    assert flag not in po.Plan(plan.scop).emit().flags


ROUNDED = """
void rounded(int N, const float c[N][2], float a[N][2], float b[N][2])
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 2; k++) {
            a[i][k] = c[i][k] * (0.5 + c[i][k]);
            b[i][k] = 0.9 * (a[i][k] - 0.1);
        }
}
"""


def rounded():
    """Numbers, and what the program makes of them."""
    c = np.random.default_rng(0).random((3000, 2), np.float32)
    wide = c.astype(np.float64)
    a = (wide * (0.5 + wide)).astype(np.float32)
    return c, a, (0.9 * (a.astype(np.float64) - 0.1)).astype(np.float32)


def test_roundings_between_doubles_are_kept_without_contraction():
    plan = po.Plan(po.parse_c(ROUNDED)).unroll("a.k")
    c, *expected = rounded()
    for found, wanted in zip(plan.compile(contract=False)(c), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    (flag,) = KEEP_ROUNDINGS
    asked = plan.emit().flags
    gcc, clang = Toolchain(("true",), "cc (GCC) 12"), Toolchain(("true",), "clang 14")
    assert flag in gcc.flags(asked, contract=False)
    assert flag not in gcc.flags(asked)  # whose bits nobody promises
    assert flag not in clang.flags(asked, contract=False)
    assert flag in compiler_settings([gcc.flags(asked, contract=False)])
    assert flag not in po.Plan(po.parse_c(JOINED.format(n=4))).emit().flags


LOST = """
void lost(long n, float *restrict a, float *restrict b, const float *restrict c)
{
    for (long j = 0; j < n; j++) {
        a[j] = c[j + 1] * (0.5 + c[j]);
        b[j] = 0.9 * (a[j] - 0.1);
    }
}
"""


def test_gcc_12_loses_them_by_itself(tmp_path):
    """Where this fails with the oldest gcc that is in use, KEEP_ROUNDINGS can go."""
    compiler, machine = find_toolchain(), platform.machine()
    number = re.search(r"\) (\d+)\.", compiler.version)
    is_known = not compiler.is_clang and machine == "x86_64" and number is not None
    source, library = tmp_path / "l.c", tmp_path / "l.so"
    source.write_text(LOST)
    compiler.compile_library(source, library, ["-O3", "-ffp-contract=off"])
    function = ctypes.CDLL(str(library)).lost
    lost = 0
    for c in np.random.default_rng(0).random((300, 8), np.float32):
        wide = c.astype(np.float64)
        a = (wide[1:] * (0.5 + wide[:-1])).astype(np.float32)
        found = np.empty_like(a), np.empty_like(a)
        function(ctypes.c_long(7), *(ctypes.c_void_p(x.ctypes.data) for x in (*found, c)))
        np.testing.assert_array_equal(found[0], a)
        lost += np.count_nonzero(
            found[1] != (0.9 * (a.astype(np.float64) - 0.1)).astype(np.float32)
        )
    assert lost or not (is_known and number and int(number[1]) <= 12)
