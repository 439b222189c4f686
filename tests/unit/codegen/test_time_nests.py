"""A clock between the nests of a call: one lap for each nest of the plan, and the same results."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.runtime.kernel import compile_kernel
from polyopt.runtime.measuring.alternate import Subject
from polyopt.runtime.measuring.arguments import CallArguments, inputs_for
from polyopt.runtime.measuring.nests import CALLS, nest_times

TWO = """
void two(int n, int m, const double time[n][m], double struct_[n], double lap[n][m])
{
    #pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            lap[i][j] = 2.0 * time[i][j];
    for (int k = 0; k < n; k++) {
        struct_[k] = 0.0;
        for (int j = 0; j < m; j++)
            struct_[k] += lap[k][j] * lap[k][j];
    }
    #pragma endscop
}
"""
SIZES = {"n": 90, "m": 700}


@pytest.fixture(scope="module")
def timed():
    """The program in tiles, whose last ones are partial, with laps."""
    plan = po.Plan(po.parse_c(TWO))
    plan = plan.tile("lap", i=8, j=32).separate_full_tiles("lap.i_tile")
    program = emit(plan.program, timed=True)
    return plan, program, compile_kernel(program, plan.scop.context)


def test_laps_are_numbered_by_the_nests_of_the_plan(timed):
    plan, program, _ = timed
    assert program.nests == tuple(node.name for node in plan.program.tree)
    assert "polyopt_lap" not in emit(plan.program).source
    assert emit(plan.program).nests == ()


def test_a_timed_kernel_computes_the_same(timed, tmp_path):
    plan, _, kernel = timed
    image = np.random.default_rng(0).random((90, 700))
    for one, two in zip(kernel(time=image), plan.compile(cache=tmp_path)(time=image), strict=True):
        np.testing.assert_array_equal(one, two)


def test_each_nest_has_the_time_of_its_lap_in_one_call(timed):
    _, _, kernel = timed
    call = CallArguments.make(kernel, inputs_for(kernel, SIZES), SIZES)
    bound, calls = call.bind(kernel), []
    subject = Subject(lambda: calls.append(bound()), lambda: calls.append("restored"))
    times = nest_times(kernel, subject)
    assert list(times) == list(kernel.program.nests)
    assert all(ms > 0 for ms in times.values())
    assert calls == ["restored", None] * CALLS
    calls.clear()
    bound()  # nobody listens any more: nothing is written to memory that is gone
    assert nest_times(kernel, subject).keys() == times.keys()
