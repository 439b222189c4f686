"""The iterations of unrolled loops, written out one by one, are all of the loop, in order."""

from __future__ import annotations

import pytest

from polyopt.codegen.schedule.tree import materialize
from polyopt.codegen.schedule.unroll import from_zero, iterations
from polyopt.frontend.c import parse_c
from polyopt.isl import empty_set
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.tree import copies_in, loops_of

PROGRAM = """
void program(int N, const double a[N + 8][12], double b[N + 8][12])
{
    for (int i = N + 6; i >= 0; i -= 2)
        for (int j = 0; j < 9; j++)
            b[i][j] = a[i][j];
}
"""
PLANS = {
    "complete": lambda plan: plan.unroll("b.j"),
    "blocks": lambda plan: plan.unroll_and_jam("b.i", 4),
    "skewed": lambda plan: plan.skew("b.j", by="b.i").unroll("b.j"),
    "twice": lambda plan: plan.unroll("b.i", 2).unroll("b.i_unrolled", 3),
    "both": lambda plan: plan.unroll("b.i", 3).unroll("b.j", 2),
}


@pytest.mark.parametrize("name", PLANS)
def test_iterations_are_all_of_a_loop_and_no_two_share_an_instance(name):
    program = from_zero(PLANS[name](Plan(parse_c(PROGRAM))).program)
    for loop in [node for node in loops_of(program.tree) if node.mark == "unroll"]:
        parts = iterations(program, loop)
        assert len(parts) <= 9
        whole = empty_set()
        for part in (each.to_union_set() for one in parts for each in one.values()):
            assert whole.intersect(part).is_empty()
            whole = whole.union(part)
        assert whole.is_equal(program.copies[copies_in(loop)[0]].domain.to_union_set())


@pytest.mark.parametrize("name", PLANS)
def test_written_out_or_not_the_instances_run_in_one_order(name):
    program = PLANS[name](Plan(parse_c(PROGRAM))).program
    both = [materialize(program, spelled=spelled).get_map() for spelled in (False, True)]
    before = [times.lex_lt_union_map(times) for times in both]
    assert before[0].is_equal(before[1])
