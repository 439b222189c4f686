"""Loops are unrolled completely where their length is known, and small."""

from __future__ import annotations

import pytest

from polyopt.errors import NotPermutableError
from polyopt.frontend.c import parse_c
from polyopt.transform.legality.unroll import MOST_COPIES
from polyopt.transform.plan import Plan

SUM = """
void sum(int N, const float a[N + 4], float b[N], float c[70][70])
{
    for (int i = 0; i < N; i++)
        for (int k = i; k < i + 5; k++)
            b[i] += a[k];
    for (int i = 0; i < 70; i++)
        for (int j = 0; j < 70; j++)
            c[i][j] = 1;
}
"""


@pytest.fixture
def plan():
    return Plan(parse_c(SUM))


def test_a_loop_of_constant_length_is_unrolled_wherever_it_starts(plan):
    assert plan.unroll("b.k").emit().source.count("b[i] =") <= 5
    assert "for (int64_t k" not in plan.unroll("b.k").emit().source


def test_a_loop_as_long_as_the_sizes_say_is_not(plan):
    with pytest.raises(NotPermutableError, match=r"b\.i runs a number of times that depends"):
        plan.unroll("b.i")
    assert plan.unroll("b.i", 4).emit().source


def test_a_factor_holds_only_while_the_blocks_are_outside(plan):
    unrolled = plan.unroll("c.i", 4)
    assert unrolled.emit().source
    parametric = plan.unroll("b.i", 4)
    with pytest.raises(NotPermutableError, match=r"b\.i runs a number of times that depends"):
        parametric.interchange("b.i_unrolled", "b.i")


def test_unrolled_loops_inside_each_other_multiply(plan):
    rows = plan.unroll("c.j")
    assert rows.emit().source.count("c[i]") == 70
    with pytest.raises(NotPermutableError, match=f"make {70 * 70} copies of c") as error:
        rows.unroll("c.i")
    assert str(MOST_COPIES) in str(error.value)
