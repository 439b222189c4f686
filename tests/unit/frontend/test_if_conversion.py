"""Conditional sums choose what is added: the same bits, and no condition on the sum."""

# ruff: noqa: F821, UP037  (extents are texts in subscripts of annotations)

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.expr import Binary, Select

TEXT = """void f(int N, const {kind} a[N], {kind} s[1], int count[1]) {{
    {kind} sum = {start};
    int n = 0;
    for (int i = 0; i < N; i++)
        if (a[i] {test}) {{
            {update};
            n++;
        }}
    s[0] = sum;
    count[0] = n;
}}"""


def program(kind, update, test="> 0", start="0"):
    return po.parse_c(TEXT.format(kind=kind, update=update, test=test, start=start))


def sums(scop):
    return [s for s in scop.statements if s.array in {"sum", "n"} and s.reads]


@pytest.mark.parametrize("kind", ["float", "double", "int32_t"])
@pytest.mark.parametrize(
    "update",
    ["sum += a[i]", "sum = a[i] + sum", "sum -= a[i] * a[i]", "sum *= a[i]", "sum = sum - 1"],
)
def test_a_conditional_sum_is_a_sum_of_choices(kind, update, tmp_path):
    scop = program(kind, update)
    assert all(isinstance(s.value, Binary) for s in sums(scop))
    assert all(any(isinstance(e, Select) for e in s.value.children) for s in sums(scop))
    kernel = po.Plan(scop).compile(cache=tmp_path, contract=False)
    kinds = {"float": np.float32, "double": np.float64, "int32_t": np.int32}
    values = np.array([3, -1, 0, 2, 7, -9, 1]).astype(kinds[kind])
    total, count = kernel(a=values)
    above = values[values > 0]
    expected = {
        "sum += a[i]": above.sum(),
        "sum = a[i] + sum": above.sum(),
        "sum -= a[i] * a[i]": -(above * above).sum(),
        "sum *= a[i]": 0,
        "sum = sum - 1": -len(above),
    }
    assert (total[0], count[0]) == (expected[update], len(above))


@pytest.mark.parametrize("update", ["sum += a[i]", "sum -= a[i]", "sum *= a[i]"])
@pytest.mark.parametrize("start", ["-0.0", "0.0", "1.0 / 0.0", "-1e-320"])
def test_what_is_not_added_leaves_every_bit(update, start, tmp_path):
    kernel = po.Plan(program("double", update, "> 5", start)).compile(cache=tmp_path)
    found, _ = kernel(a=np.array([1.0, -2.0, np.nan]))
    expected = {"-0.0": -0.0, "0.0": 0.0, "1.0 / 0.0": np.inf, "-1e-320": -1e-320}[start]
    assert found.tobytes() == np.array([expected]).tobytes()


def test_elements_along_the_loop_are_stored_where_the_condition_holds():
    text = """void f(int N, const float a[N], float b[N]) {
        for (int i = 0; i < N; i++)
            if (a[i] > 0) b[i] += a[i];
    }"""
    (statement,) = po.parse_c(text).statements
    assert isinstance(statement.value, Select)


def test_other_updates_keep_their_condition():
    text = """void f(int N, const float a[N], float s[1]) {
        for (int i = 0; i < N; i++)
            if (a[i] > s[0]) s[0] = a[i] / s[0];
    }"""
    (statement,) = po.parse_c(text).statements
    assert isinstance(statement.value, Select)


def test_python_loops_and_stages_are_converted_as_well():
    @po.scop
    def positive(a: po.f32["N"], s: po.f32[1]):
        for i in range(a.shape[0]):
            if a[i] > 0:
                s[0] += a[i]

    (statement,) = positive.statements
    assert isinstance(statement.value, Binary)
