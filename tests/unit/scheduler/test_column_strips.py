"""Recurrences along rows: strips of their columns are what threads share."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.transform.schedule.tree import loops_of

#: each row is of the one before it
DOWN = """
void f(int N, int M, const float a[N][M], float x[N][M])
{
    for (int i = 1; i < N; i++)
        for (int j = 0; j < M; j++)
            x[i][j] = 0.5f * x[i - 1][j] + a[i][j];
}
"""
#: four lanes of floats
GENERIC = target("generic")


def loops(text, columns, cores):
    plan = po.auto(
        po.parse_c(text), sizes={"N": 2000, "M": columns}, target=replace(GENERIC, cores=cores)
    )
    plan.prove()
    return [(loop.name, loop.mark) for loop in loops_of(plan.program.tree)], plan.moves


@pytest.mark.parametrize(("columns", "width"), [(16, 4), (20, 8), (4000, 1000)])
def test_there_are_two_strips_of_whole_vectors_for_each_core(columns, width):
    found, moves = loops(DOWN, columns, 2)
    assert found == [("x.j_tile", "parallel"), ("x.i", ""), ("x.j", "vector")]
    assert [move.args[1] for move in moves if move.name == "split"] == [width]


@pytest.mark.parametrize(("columns", "cores"), [(15, 2), (4000, 1)])
def test_one_core_and_few_columns_have_none(columns, cores):
    found, _ = loops(DOWN, columns, cores)
    assert found == [("x.i", ""), ("x.j", "vector")]


def test_rows_that_are_independent_are_shared_themselves():
    found, _ = loops(DOWN.replace("x[i - 1][j]", "a[i - 1][j]"), 4000, 2)
    assert found == [("x.i", "parallel"), ("x.j", "vector")]
