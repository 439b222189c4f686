"""Constants are what C's conversions make of them."""

# ruff: noqa: F821, UP037  (extents are texts in subscripts of annotations)

from __future__ import annotations

import math

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.ir import build
from polyopt.ir.expr import Const, Expr
from polyopt.ir.types import BOOL, F32, F64, I64
from polyopt.rewrite import rewrite

TRUTHS = [(0.5, 1), (-1e-320, 1), (math.nan, 1), (-math.inf, 1), (256.0, 1), (0.0, 0), (-0.0, 0)]


def value_of(expr: Expr) -> float:
    assert isinstance(expr, Const)
    return expr.value


@pytest.mark.parametrize(("value", "truth"), TRUTHS)
def test_truth_is_that_of_the_number_and_not_of_its_whole_part(value, truth):
    assert value_of(build.const(BOOL, value)) == truth
    assert value_of(build.cast(BOOL, build.const(F64, value))) == truth
    # rounded to a float first, a small double is zero
    small = build.cast(BOOL, build.cast(F32, build.const(F64, value)))
    assert value_of(small) == int(np.float32(value) != 0)


@pytest.mark.parametrize("value", [2**24 + 1, 9007199791611905, 2**63 + 2**39 + 1, -(2**63) + 1])
def test_integers_are_rounded_to_floats_once(value):
    wide = np.uint64(value) if value > I64.range[1] else np.int64(value)
    assert value_of(build.const(F32, value)) == float(wide.astype(np.float32))
    assert value_of(build.const(F64, value)) == float(value)


def test_truth_of_constants_in_stages_and_loops():
    u = po.input("u", po.f64, ("N",))
    truths = po.stage(
        "t",
        ("N",),
        lambda i: (
            po.cast(po.i32, po.cast(po.boolean, 0.5))
            + 2 * po.cast(po.i32, po.cast(po.boolean, math.nan))
            + 4 * po.cast(po.i32, po.cast(po.boolean, u[i]))
        ),
    )

    @po.scop
    def loops(u: po.f64["N"], t: po.i32["N"], z: po.boolean["N"]):
        for i in range(u.shape[0]):
            b = po.boolean(0.5)
            t[i] = b
            z[i] = 0.25
            if u[i] > 0:
                z[i] = po.boolean(-0.0)

    given = {"u": np.array([0.5, -0.0, 0.0, math.nan])}
    staged = interpret(po.pipeline(truths, name="truths", context="N >= 1"), {"N": 4}, given)
    assert staged["t"].tolist() == [7, 3, 3, 7]
    found = interpret(loops, {"N": 4}, given)
    assert found["t"].tolist() == [1, 1, 1, 1]
    assert found["z"].tolist() == [False, True, True, True]


def test_truth_of_constants_in_files(tmp_path):
    path = tmp_path / "truth.c"
    path.write_text(
        "void f(int n, _Bool z[n], int y[n]) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) { _Bool b = 0.5; z[i] = 0.25; y[i] = b; }\n"
        "#pragma endscop\n}\n"
    )
    text = rewrite(path).text.partition("} else {")[0]
    assert "z[i] = 1;" in text
    assert "y[i] = 1;" in text
