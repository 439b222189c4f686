"""Loops that gcc must not make vectors of."""

from itertools import pairwise

import pytest

import polyopt as po
from polyopt.transform.schedule.tree import loops_of

SINGLE = "#pragma omp simd safelen(1) simdlen(1)"
NEST = """
void f(int n, float x[n][{k}], float w[n], float out[n][{k}]) {{
    for (int y = 0; y < n; y++)
        for (int k = 0; k < {k}; k++)
            {body}
}}
"""
PADDED = "out[y][k] = y >= 1 ? x[y - 1][k] : 0;"


def single(text, plan=lambda plan: plan):
    """The loops that are kept from vectors: the lines after their pragmas."""
    lines = [x.strip() for x in plan(po.Plan(po.parse_c(text))).emit().source.splitlines()]
    return [after.split(" = ")[0] for line, after in pairwise(lines) if line == SINGLE]


@pytest.mark.parametrize(
    "body",
    [
        PADDED,
        "out[y][k] = w[y] > 0 ? x[y][k] : 0;",
        "{ out[y][k] = 0; if (y >= 1) out[y][k] = x[y - 1][k]; }",
        "{ if (y % 3 == 1) out[y][k] = x[y][k]; else out[y][k] = 0; }",
        "{ if (y % 3 == 1) out[y][k] = x[y][k]; if (y % 3 != 1) out[y][k] = 0; }",
        "out[0][k] += y >= 1 ? x[y - 1][k] : 0;",
        "out[y][k] = y >= 1 ? x[y - 1][{k} - 1 - k] : x[y][k];",
    ],
)
def test_loads_under_a_test_that_a_short_loop_stores_side_by_side(body):
    text = NEST.format(k=3, body=body.replace("{k}", "3"))
    assert single(text) == ["for (int64_t y"]


@pytest.mark.parametrize(
    ("k", "body"),
    [
        (40, PADDED),  # too long to be written out
        (3, "out[y][k] = x[y][k] > 0 ? x[y][k] : 0;"),  # loaded anyway
        (3, "out[y][k] = y >= 1 ? w[y - 1] : 0;"),  # one after the other
        (3, "out[y][k] = y >= 1 ? w[0] : 0;"),
        (3, "{ if (y >= 1) out[y][k] = x[y - 1][k]; }"),  # stores under tests are no group
        (3, "out[y][k] = x[y][k];"),
    ],
)
def test_other_loops_are_left_to_the_compiler(k, body):
    assert single(NEST.format(k=k, body=body)) == []


def test_one_store_for_each_iteration_is_no_group():
    text = """
void f(int n, float x[2 * n], float out[n]) {
    for (int y = 0; y < n; y++)
        out[y] = y >= 1 ? x[2 * y] + x[2 * y + 1] : 0;
}
"""
    assert single(text) == []


def test_lanes_would_be_wrong_as_well():
    text = NEST.format(k=3, body=PADDED)
    names = [loop.name for loop in loops_of(po.Plan(po.parse_c(text)).program.tree)]
    y, k = (next(n for n in names if n.endswith(end)) for end in (".y", ".k"))
    assert single(text, lambda plan: plan.unroll(k).vectorize(y)) == ["for (int64_t y"]


def test_the_loop_around_a_written_out_one_is_kept_as_well():
    text = """
void f(float x[5][5][3], float out[5][5][3]) {
    for (int z = 0; z < 5; z++)
        for (int y = 0; y < 5; y++)
            for (int k = 0; k < 3; k++)
                out[z][y][k] = z >= 1 && y >= 1 ? x[z - 1][y - 1][k] : 0;
}
"""
    assert single(text) == ["for (int64_t z", "for (int64_t y"]
