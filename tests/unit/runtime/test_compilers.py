"""Wrong code of compilers that we have met, and keep away from."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.emit import KEEP_ACCUMULATORS
from polyopt.runtime.export import compiler_settings
from polyopt.runtime.toolchain import CLANG_FLAGS, GCC_FLAGS, Toolchain

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
