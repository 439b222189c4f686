"""Whole programs: blocks for products, steps in blocks for stencils, isl's order where it pays."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from math import prod

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.sets.points import parameter_value
from polyopt.codegen.target import target
from polyopt.transform.loops.reschedule import FUSIONS

TWO_PRODUCTS = """
void two(int N, const double A[N][N], const double B[N][N], double E[N][N], double F[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            E[i][j] = 0;
            for (int k = 0; k < N; k++)
                E[i][j] += A[i][k] * B[k][j];
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            F[i][j] = 0;
            for (int k = 0; k < N; k++)
                F[i][j] += E[i][k] * A[k][j];
        }
}
"""
SWEEPS = """
void sweeps(int T, int N, double a[N], double b[N])
{
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            b[i] = 0.25 * (a[i - 1] + a[i] + a[i + 1]);
        for (int i = 1; i < N - 1; i++)
            a[i] = 0.5 * (b[i - 1] + b[i + 1]);
    }
}
"""
ELIMINATION = """
void elimination(int N, double A[N][N])
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[k][j];
            A[i][j] /= A[j][j];
        }
        for (int j = i; j < N; j++)
            for (int k = 0; k < i; k++)
                A[i][j] -= A[i][k] * A[k][j];
    }
}
"""
ROW_SUMS = """
void sums(int N, int M, const double A[N][M], double B[N][M])
{
    for (int i = 0; i < N; i++) {
        double row[M];
        for (int j = 0; j < M; j++)
            row[j] = A[i][j] * 2;
        for (int j = 1; j < M; j++)
            row[j] += row[j - 1] * 0.5;
        for (int j = 0; j < M; j++)
            B[i][j] = row[j] + row[M - 1 - j];
    }
}
"""


@cache
def eliminating() -> po.Plan:
    return po.auto(po.parse_c(ELIMINATION), target="avx2")


def test_products_are_found_by_their_subscripts() -> None:
    plan = po.auto(po.parse_c(TWO_PRODUCTS), target="avx2")
    assert str(plan).count("# register_tile") == 2
    made = [r for r in plan.remarks if r.move == "register_tile" and r.kind == "applied"]
    assert [r.subject for r in made] == ["E.k", "F.k"]
    assert made[0].numbers["columns"] == 8


def test_short_sums_are_no_products() -> None:
    scop = po.parse_c(TWO_PRODUCTS)
    assert "# register_tile" not in str(po.auto(scop, target="avx2", sizes={"N": 20}))


@pytest.mark.parametrize("n", [2, 3, 33, 100])
@pytest.mark.parametrize("steps", [1, 31, 70])
def test_steps_in_blocks_compute_what_the_sweeps_do(n: int, steps: int) -> None:
    plan = po.auto(po.parse_c(SWEEPS), target="avx2", sizes={"T": 500, "N": 10000})
    assert [r.kind for r in plan.remarks if r.move == "tile"] == ["applied"]
    assert "a.t_tile:  # parallel" in str(plan)
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal(n), rng.standard_normal(n)
    x, y = a.copy(), b.copy()
    for _ in range(steps):
        y[1:-1] = 0.25 * (x[:-2] + x[1:-1] + x[2:])
        x[1:-1] = 0.5 * (y[:-2] + y[2:])
    kernel = plan.compile(contract=False)
    kernel(T=steps, out={"a": a, "b": b}, threads=2)
    assert np.array_equal(a, x)
    assert np.array_equal(b, y)


def test_empty_fronts_get_no_negative_share_of_iterations() -> None:
    plan = po.auto(po.parse_c(SWEEPS), target="avx2", sizes={"T": 500, "N": 10000})
    share = r"schedule\(dynamic, 1 \+ \(\((.+) > 0 \? \1 : 0\) - 1\) / \(8 \* threads\)\)"
    assert re.search(share, plan.emit().source)


def test_the_order_that_leaves_less_to_do_one_by_one_is_taken() -> None:
    plan = eliminating()
    said = {r.subject: r for r in plan.remarks if r.move == "reschedule"}
    assert said["smart"].kind == "applied"
    assert said["min"].kind == "refused"
    better = said["smart"].numbers
    assert better["predicted ns"] < better["in the source's order"]
    assert str(plan).splitlines()[0] == "for A.k_tile:"


def test_factorisations_leave_products_to_the_end_of_a_block() -> None:
    plan = eliminating()
    assert [r.subject for r in plan.remarks if r.move == "delay_updates"] == ["A_0", "A_2"]
    assert str(plan).count("# register_tile") == 2
    kernel = plan.compile(contract=False)
    source = po.Plan(po.parse_c(ELIMINATION)).compile(contract=False)
    for n in (1, 63, 70, 131):
        given = np.random.default_rng(n).random((n, n)) + np.eye(n) * n
        assert np.array_equal(kernel(given.copy(), threads=2), source(given.copy()))


def test_a_product_with_the_sum_between_rows_and_columns_is_one() -> None:
    plan = po.auto(po.load_kernel("symm").scop, target="avx2")
    assert [r.move for r in plan.remarks if r.kind == "applied"].count("register_tile") == 2


def test_rows_that_wait_for_their_elements_run_side_by_side() -> None:
    plan = po.auto(po.load_kernel("seidel_2d").scop, target="avx2")
    (jam,) = (r for r in plan.remarks if r.move == "unroll")
    assert jam.numbers == {"rows": 8.0, "columns behind the row before": 1.0}
    kernel = plan.compile(contract=False)
    source = po.Plan(plan.scop).compile(contract=False)
    for n in (3, 10, 37):
        given = np.random.default_rng(n).random((n, n))
        assert np.array_equal(kernel(A=given.copy(), T=19, threads=2), source(A=given.copy(), T=19))


def test_one_iteration_in_the_way_is_cut_out() -> None:
    plan = po.auto(po.load_kernel("floyd_warshall").scop, target=replace(target("avx2"), cores=2))
    assert [r.subject for r in plan.remarks if r.move == "split_range"] == ["path.j", "path.i"]
    assert "for path.i_before:  # parallel" in str(plan)


def test_columns_are_not_walked_where_rows_can_be() -> None:
    plan = po.auto(po.load_kernel("trisolv").scop, target="avx2", sizes={"N": 12000})
    assert {r.kind for r in plan.remarks if r.move == "reschedule"} == {"refused"}


def test_sums_side_by_side_are_worth_more_than_vectors_down_columns() -> None:
    """isl's order would add up rows in vectors whose loads lie a row apart."""
    plan = po.auto(po.load_kernel("gemver").scop, target="avx2", sizes={"N": 8000})
    assert {r.kind for r in plan.remarks if r.move == "reschedule"} == {"refused"}
    assert "for w.i_jam:" in str(plan)


def test_fused_intermediates_count_against_an_order_that_stores_them() -> None:
    plan = po.auto(po.parse_c(ROW_SUMS), target="avx2", sizes={"N": 2000, "M": 2000})
    assert "scratch row[8][M]" in str(plan)
    orders = [r for r in plan.remarks if r.move == "reschedule"]
    assert {said.kind for said in orders} == {"refused"}
    for said in orders:
        assert said.numbers["predicted ns"] >= said.numbers["in the source's order"]


def test_an_order_that_is_asked_for_is_taken_and_said() -> None:
    plan = po.auto(po.parse_c(TWO_PRODUCTS), target="avx2", fusion="max")
    assert plan.moves[0].name == "reschedule"
    said = str(plan.explain())
    assert "isl's order, as it was asked for" in said
    assert "blocks in registers" in said
    with pytest.raises(po.errors.InvalidOptionError, match="no heuristic is called 'most'"):
        po.auto(po.parse_c(SWEEPS), fusion="most")


def test_packed_copies_are_no_instances_of_the_source() -> None:
    plan = po.auto(po.parse_c(TWO_PRODUCTS), target="avx2")
    cost = plan.cost({"N": 100})
    assert any("#pack" in name for name in cost.copy_instances)
    assert sum(cost.instances.values()) == 2 * (100**2 + 100**3)


@pytest.mark.parametrize("fusion", FUSIONS)
def test_each_heuristic_gives_a_legal_plan(fusion: str) -> None:
    plan = po.affine(po.parse_c(TWO_PRODUCTS), fusion=fusion)
    nests = sum(not line.startswith(" ") for line in str(plan).splitlines())
    assert nests == (4 if fusion == "min" else 1)
    assert "the plan's dataflow is the source's" in str(plan.prove())


def test_an_unknown_heuristic_is_named() -> None:
    with pytest.raises(po.errors.InvalidOptionError, match="no heuristic is called 'most'"):
        po.affine(po.parse_c(SWEEPS), fusion="most")


def test_isl_orders_before_all_other_moves() -> None:
    plan = po.Plan(po.load_kernel("blur").scop).inline("bx")
    with pytest.raises(po.errors.NotPermutableError, match="would undo"):
        plan.reschedule()


HEAT = """
void heat(int T, {sizes} double a[restrict {n}][{n}][{n}], double b[restrict {n}][{n}][{n}]) {{
  for (int t = 0; t < T; t++) {{
    for (int i = 1; i < {n} - 1; i++)
      for (int j = 1; j < {n} - 1; j++)
        for (int k = 1; k < {n} - 1; k++)
          b[i][j][k] = a[i][j][k] + 0.1 * (a[i-1][j][k] + a[i+1][j][k] + a[i][j-1][k]
                       + a[i][j+1][k] + a[i][j][k-1] + a[i][j][k+1] - 6 * a[i][j][k]);
    for (int i = 1; i < {n} - 1; i++)
      for (int j = 1; j < {n} - 1; j++)
        for (int k = 1; k < {n} - 1; k++)
          a[i][j][k] = b[i][j][k];
  }}
}}
"""


def test_sizes_that_are_constants_give_the_same_order() -> None:
    # with the constants in its constraints isl's scheduler finds no end
    known = po.Plan(po.parse_c(HEAT.format(sizes="", n=100))).reschedule()
    open_ = po.Plan(po.parse_c(HEAT.format(sizes="int N,", n="N"))).reschedule()
    assert str(known) == str(open_)
    assert known.prove()


#: paths of a Monte-Carlo simulation: the next state needs the last one, another path none
PATHS = """
void paths(int P, int T, double v, const double z[restrict P][T], double out[restrict P])
{
    for (int p = 0; p < P; p++) {
        double s = 100.0;
        for (int t = 0; t < T; t++) {
            double growth = 1.0 + v * z[p][t];
            s = s * growth;
        }
        out[p] = s > 100.0 ? s - 100.0 : 0.0;
    }
}
"""


def test_locals_of_an_iteration_do_not_fill_memory() -> None:
    """One value at a time in the source's order: 131 MB in isl's, as an array."""
    sizes = {"P": 65536, "T": 250}
    plan = po.auto(po.parse_c(PATHS), target=replace(target("avx2"), cores=4), sizes=sizes)
    plan.prove()
    for scratch in plan.program.scratches:
        elements = prod(parameter_value(extent, sizes) for extent in scratch.extents)
        assert elements <= sizes["P"], scratch.name
    marks = {n: {loop.mark for loop in p.loops} for n, p in plan.program.places.items()}
    assert all("vector" in marks[name] for name in marks)
    assert "parallel" in marks[next(n for n in marks if n.startswith("growth"))]
