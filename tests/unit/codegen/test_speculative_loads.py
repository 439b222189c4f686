"""What a choice by data loads is loaded before it; what a test keeps inside an array is not."""

from __future__ import annotations

import platform

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.runtime.build import build_library
from polyopt.runtime.reports.vector_loops import facts

SOURCE = """
void f(int n, const int m[n], const int a[n + 1], const int b[n], const int at[n], const int twice[2 * n],
       int out[n])
{{
#pragma polyopt inbounds
    for (int i = 0; i < n; i++)
        out[i] = {value};
}}
"""


def loop_of(value, *, vector=True):
    """The lines in the loop that computes it."""
    plan = po.Plan(po.parse_c(SOURCE.format(value=value)))
    plan = plan.vectorize("out.i") if vector else plan
    text = plan.emit().source
    body = text[text.index("for (int64_t i") :].splitlines()[1:]
    return [line.strip() for line in body[: body.index("    }")]]


def test_both_sides_of_a_choice_by_data_are_loaded_before():
    assert loop_of("m[i] > 0 ? a[i + 1] : b[i]") == [
        "const int32_t v1 = a[i + 1];",
        "const int32_t v2 = b[i];",
        "out[i] = 0 < m[i] ? v1 : v2;",
    ]


def test_choices_in_choices():
    lines = loop_of("m[i] > 0 ? b[i] > 0 ? a[i] : a[i + 1] : 0")
    assert [line for line in lines if line.startswith("const")] == [
        "const int32_t v1 = b[i];",
        "const int32_t v2 = a[i];",
        "const int32_t v3 = a[i + 1];",
    ]


@pytest.mark.parametrize(
    "value",
    [
        "i < n - 1 ? b[i + 1] : 0",  # the test keeps it inside
        "i < n - 1 ? m[i] > 0 ? b[i + 1] : 0 : 0",
        "m[i] > i ? b[i] : 0",  # a test of both is no test of data alone
        "m[i] > 0 ? twice[2 * i] : 0",  # iterations load every second one
        "m[i] > 0 ? b[at[i]] : 0",  # which element it is, data say
        "m[i] > 0 ? m[i] : 0",  # loaded in any case
    ],
)
def test_what_stays_where_it_is(value):
    assert len(loop_of(value)) == 1


def test_loops_that_are_no_vectors_are_left_alone():
    assert len(loop_of("m[i] > 0 ? a[i + 1] : b[i]", vector=False)) == 1


def test_values_are_the_same():
    plan = po.Plan(po.parse_c(SOURCE.format(value="m[i] > 0 ? a[i + 1] : b[i]")))
    m, b, at = np.random.default_rng(3).integers(-9, 9, (3, 100), np.int32)
    a = np.arange(101, dtype=np.int32)
    out = plan.vectorize("out.i").compile()(m, a, b, at, np.append(a, b)[:200])
    assert np.array_equal(out, np.where(m > 0, a[1:], b))


def test_loops_become_vectors_where_the_target_has_no_masked_loads_of_the_type():
    text = SOURCE.format(value="m[i] > 0 ? a[i + 1] : b[i]").replace("const int ", "const short ")
    name = "avx2" if platform.machine() == "x86_64" else "native"
    program = po.Plan(po.parse_c(text)).vectorize("out.i").emit()
    (fact,) = facts(program.vector_loops, build_library(program, target(name)).report)
    assert fact.is_vectorized or fact.outcome == "unknown"
