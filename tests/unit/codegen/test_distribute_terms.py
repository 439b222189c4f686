"""Terms of sequential loops: done ahead in strips, as vectors, where nothing else is changed."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.validate.translation import check_code

TOTAL = """
#include <math.h>

void total(int N, int M, const float x[restrict N][M], float shift, float out[restrict N])
{
    for (int i = 0; i < N; i++) {
        float sum = 0;
        for (int j = 0; j < M; j++)
            sum += expf(x[i][j] - shift);
        out[i] = sum;
    }
}
"""
WAITS = """
#include <math.h>

void waits(int N, const float x[restrict N], float out[restrict 1])
{
    float s = 0;
    for (int i = 0; i < N; i++)
        s = expf(s - x[i]);
    out[0] = s;
}
"""
CHOSEN = """
#include <math.h>

void chosen(int N, const float x[restrict N], const float y[restrict N], float out[restrict 1])
{
    float s = 0;
    for (int i = 0; i < N; i++)
        if (x[i] > 0)
            s += logf(x[i]) * y[i];
    out[0] = s;
}
"""


def source_of(text, **options):
    return po.Plan(po.parse_c(text)).emit(**options)


@pytest.mark.parametrize("columns", [1, 7, 63, 64, 65, 200])
def test_sums_have_the_terms_and_the_order_of_their_source(columns):
    plan = po.Plan(po.parse_c(TOTAL))
    program = plan.emit()
    assert "exp_found" in program.source
    x = np.random.default_rng(0).standard_normal((3, columns)).astype(np.float32)
    found = plan.compile()(x=x, shift=np.float32(0.5))
    # the same calls in a vector loop, then summed up one after the other
    each = po.Plan(po.parse_c(TOTAL.replace("sum += expf(x[i][j] - shift);", "sum += x[i][j];")))
    terms = po.stage("t", ("N", "M"), lambda i, j: po.exp(
        po.input("x", po.f32, ("N", "M"))[i, j] - po.f32(0.5)))  # fmt: skip
    values = po.Plan(po.pipeline(terms, name="terms")).compile()(x=x)
    assert np.array_equal(found, each.compile()(x=values, shift=np.float32(0)))


def test_c_in_strips_reads_back_as_its_source():
    plan = po.Plan(po.parse_c(TOTAL))
    shown = check_code(plan.scop, plan.emit())
    assert "source's" in shown.detail


def test_what_waits_for_the_iteration_before_stays():
    source = source_of(WAITS).source
    assert "exp_found" not in source
    assert "exp_f32(" in source


def test_calls_under_a_condition_stay():
    """Elsewhere the loop may not load what the call is given."""
    assert "log_found" not in source_of(CHOSEN).source


def test_the_c_library_is_called_one_by_one():
    assert "exp_found" not in source_of(TOTAL, libm=True).source


ABOVE = """
void above(int N, float t, const float x[restrict N], double out[restrict 1])
{
    double s = 0.0;
    for (int i = 0; i < N; i++)
        if (x[i] > t)
            s += x[i];
    out[0] = s;
}
"""


@pytest.mark.parametrize("size", [1, 64, 65, 300])
def test_choices_by_data_are_made_ahead_of_their_sum(size):
    plan = po.Plan(po.parse_c(ABOVE))
    program = plan.emit()
    ahead = "chosen_found[i - i_strip] = t < x[i] ? x[i] : -0.0;"
    assert f"#pragma omp simd\n        for (int64_t i = i_strip; i < i_end; i++) {{\n            {ahead}" in program.source  # fmt: skip
    assert "source's" in check_code(plan.scop, program).detail
    x = np.random.default_rng(1).standard_normal(size).astype(np.float32)
    total = np.float64(0)
    for value in x:
        if value > np.float32(0.2):
            total += value
    assert plan.compile()(x=x, t=np.float32(0.2))[0] == total


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("s += x[i];", "s += s > 3 ? x[i] : 2 * x[i];", id="waits for the sum"),
        pytest.param("if (x[i] > t)", "if (i % 3 == 1)", id="is by place"),
        pytest.param("double s = 0.0", "int s = 0", id="is of integers"),
    ],
)
def test_choices_that_wait_or_cost_no_jump_stay(old, new):
    text = ABOVE.replace("const float x", "const int x") if "int s" in new else ABOVE
    assert "chosen_found" not in source_of(text.replace(old, new)).source
