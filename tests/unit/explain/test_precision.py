"""Remarks on float arithmetic that a literal turns into arithmetic in double."""

import pytest

import polyopt as po
from polyopt import f32
from polyopt.explain.remarks.precision import promotions

TEXT = "void f(int n, float y[n], const float x[n], const double d[n], double z[n]) {{ for (int i = 0; i < n; i++) {{ {} }} }}"


@pytest.mark.parametrize(
    ("statement", "literals", "hint"),
    [
        ("y[i] = x[i] * 0.5;", "literal 0.5", "0.5f"),
        ("y[i] += x[i] / 3. - 1e-3;", "literals 3, 0.001", "3.0f"),
        ("y[i] = (float)(x[i] * 0.25) + 1.0f;", "literal 0.25", "0.25f"),
        ("if (x[i] > 0.1) y[i] = 0;", "literal 0.1", "0.1f"),
        ("float t = 2.5 * x[i]; y[i] = t * t;", "literal 2.5", "2.5f"),
        ("z[i] = x[i] < 1e-2 ? 1 : 2;", "literal 0.01", "0.01f"),
    ],
)
def test_literals_of_type_double_are_told(statement, literals, hint):
    (remark,) = promotions(po.parse_c(TEXT.format(statement)))
    assert remark.reason == f"floats are computed in double because of the {literals}"
    assert f"write {hint}," in remark.hint
    assert remark.span is not None


@pytest.mark.parametrize(
    "statement",
    [
        "y[i] = x[i] * 0.5f;", "z[i] = x[i] * 0.5;", "y[i] = x[i] * d[i] * 0.5;", "y[i] = x[i] * 2;",
        "if (x[i] > 0.5) y[i] = 0;", "y[i] = (double)x[i] * x[i];", "y[i] = 0.5;",
    ],
)  # fmt: skip
def test_doubles_that_are_meant_are_not(statement):
    assert list(promotions(po.parse_c(TEXT.format(statement)))) == []


def test_numbers_of_python_have_no_type():
    def half(x: f32["n"], y: f32["n"]):  # noqa: F821
        for i in range(len(x)):
            y[i] = x[i] * 0.5

    assert list(promotions(po.scop(half))) == []


def test_explain_shows_it():
    text = str(po.Plan(po.parse_c(TEXT.format("y[i] = x[i] * 0.5;"))).explain())
    assert "applied, promote: floats are computed in double because of the literal 0.5" in text
    assert "hint: write 0.5f" in text
