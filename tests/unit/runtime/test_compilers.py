"""Wrong code of compilers that we have met, and keep away from."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
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


INSIDE = "z >= 1 && z <= 3 && y >= 1 && y <= 3"
PADDED = """
void padded({t} x[3][3][{n}], {t} out[5][5][{n}]) {{
    for (int z = 0; z < 5; z++)
        for (int y = 0; y < 5; y++)
            for (int k = 0; k < {n}; k++) {{
                {body}
            }}
}}
"""
CHOICES = {
    "chosen": f"out[z][y][k] = {INSIDE} ? x[z - 1][y - 1][k] : 0;",
    "added": f"out[z][y][k] = 1 + ({INSIDE} ? x[z - 1][y - 1][k] : 0) - 1;",
    "guarded": f"out[z][y][k] = 0; if ({INSIDE}) out[z][y][k] = x[z - 1][y - 1][k];",
}


@pytest.mark.parametrize("body", CHOICES)
@pytest.mark.parametrize(("t", "n"), [("float", 6), ("double", 7), ("double", 9), ("int", 9)])
def test_a_choice_that_a_short_loop_keeps(t, n, body):
    # gcc 12 again, by vectors that it makes of short loops itself: zeros, or what is not there
    scop = po.parse_c(PADDED.format(t=t, n=n, body=CHOICES[body]))
    dtype = {"float": np.float32, "double": np.float64, "int": np.int32}[t]
    x = np.arange(1, 9 * n + 1, dtype=dtype).reshape(3, 3, n)
    expected = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    assert np.array_equal(po.Plan(scop).compile()(x), expected)


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
