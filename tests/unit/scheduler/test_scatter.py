"""Chains of updates in automatic plans: scattered along rows where nothing else makes them vectors."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.library import load_kernel
from polyopt.scheduler.search.isl_schedule import affine
from polyopt.transform.schedule.tree import loops_of

CHAIN = """void f(int N, {type} c[N][N], {type} x[N]) {{
    for (int j = 1; j < N; j++) {{
        x[j] = x[j] + x[j - 1];
        for (int k = 0; k < j; k++)
            x[j] = x[j] + x[k] * {read};
    }}
}}"""


def chosen(kind="int", read="c[k][j]", size=2000):
    scop = po.parse_c(CHAIN.format(type=kind, read=read))
    return po.auto(scop, target="avx512", sizes={"N": size})


def said(plan):
    return [(r.kind, r.subject) for r in plan.remarks if r.move == "scatter_updates"]


def test_a_chain_over_rows_is_pushed_and_gets_lanes(tmp_path):
    plan = chosen()
    assert said(plan) == [("applied", "x_1")]
    assert plan.moves[0].name == "scatter_updates"
    (row,) = [loop for loop in loops_of(plan.program.tree) if "x_1" in loop.copies][-1:]
    assert row.mark == "vector"
    kernel = plan.compile(cache=tmp_path)
    for size in (1, 3, 70):
        rng = np.random.default_rng(size)
        given = {"c": rng.integers(-9, 9, (size, size), np.int32),
                 "x": rng.integers(-9, 9, size, np.int32)}  # fmt: skip
        expected = interpret(plan.source, {"N": size}, given)["x"]
        kernel(**given)
        np.testing.assert_array_equal(given["x"], expected)


@pytest.mark.parametrize(
    ("kind", "read", "why"),
    [
        ("int", "c[j][k]", "scattered, it would go down a column"),
        ("float", "c[k][j]", "sums round"),
    ],
)
def test_what_is_better_left_stays(kind, read, why):
    plan = chosen(kind, read)
    assert all(kind != "applied" for kind, _ in said(plan)), why
    assert all(move.name != "scatter_updates" for move in plan.moves)


def test_the_refusal_of_a_float_chain_says_which_instances_clash():
    (remark,) = [r for r in chosen("float").remarks if r.move == "scatter_updates"]
    assert remark.witnesses
    assert "shares elements" in remark.reason


def test_nussinov_updates_rows():
    kernel = load_kernel("nussinov")
    plan = po.auto(kernel.scop, target="avx512", sizes=kernel.sizes["bench"])
    assert said(plan) == [("applied", "table_3")]
    (remark,) = [r for r in plan.remarks if r.move == "scatter_updates"]
    assert remark.numbers["predicted ns"] < remark.numbers["in the source's order"] / 10


@pytest.mark.parametrize("operations", [1, 1000, 100_000])
def test_a_search_that_is_spent_pushes_nothing(operations):
    scop = po.parse_c(CHAIN.format(type="int", read="c[k][j]"))
    plan = po.auto(scop, target="avx512", sizes={"N": 2000}, operations=operations)
    assert all(move.name != "scatter_updates" for move in plan.moves)
    assert all(kind != "applied" for kind, _ in said(plan))


def test_chains_that_may_not_be_pushed_together_are_pushed_one_by_one():
    text = """void f(int N, int c[N][N], float d[N], int x[N], float y[N]) {
        for (int j = 1; j < N; j++) {
            x[j] = x[j] + x[j - 1];
            y[j] = y[j] + y[j - 1];
            for (int k = 0; k < j; k++)
                x[j] = x[j] + x[k] * c[k][j];
            for (int k = 0; k < j; k++)
                y[j] = y[j] + y[k] * d[k];
        }
    }"""
    plan = po.auto(po.parse_c(text), target="avx512", sizes={"N": 2000})
    assert sorted(said(plan)) == [("applied", "x_1"), ("refused", "y_1")]
    assert [move.args for move in plan.moves if move.name == "scatter_updates"] == [("x_1",)]


def test_isls_schedule_of_a_pushed_program_is_proven():
    plan = po.Plan(po.parse_c(CHAIN.format(type="int", read="c[k][j]"))).scatter_updates("x_1")
    assert plan.reschedule().prove()
    assert affine(plan.scop).prove()
