"""Statements in parts: index-set splitting at an iteration, updates that wait for the end of one."""

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import IllegalScheduleError, NotFusableError, NotPermutableError
from polyopt.isl import Set
from polyopt.transform.loops import delay_updates as delay_module
from tests.unit.transform.programs import FACTORS

PATHS = """
void paths(int N, int d[N][N])
{
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                d[i][j] = d[i][j] < d[i][k] + d[k][j] ? d[i][j] : d[i][k] + d[k][j];
}
"""


def factored(a):
    a = a.copy()
    for k in range(len(a)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def test_updates_that_the_block_does_not_need_wait_for_its_end():
    plan = po.Plan(po.parse_c(FACTORS)).split("A.k", 4).delay_updates("A_1", at="A.k_tile")
    assert str(plan).count("A_1: ") == 2
    now, later = (plan.program.copies[name].domain for name in ("A_1", "A_1@A.k_tile"))
    assert now.intersect(later.set_tuple_name("A_1")).is_empty()
    whole = now.union(later.set_tuple_name("A_1"))
    assert whole.is_equal(po.parse_c(FACTORS).statement("A_1").domain)
    # what waits lies right of and below the block: its own rows and columns do not
    assert later.is_subset(Set("[N] -> { [k, i, j] : 4*floor(k/4) + 4 <= i and 4*floor(k/4) + 4 <= j }")
                           .set_tuple_name("A_1@A.k_tile"))  # fmt: skip
    kernel = plan.compile()
    for size in (1, 3, 4, 9):
        given = np.random.default_rng(size).random((size, size)) + np.eye(size) * size
        np.testing.assert_allclose(kernel(given.copy()), factored(given), rtol=1e-12)


def test_delaying_more_than_may_wait_is_refused_by_the_proof(monkeypatch):
    # an analysis that overlooks what the block itself reads
    monkeypatch.setattr(
        delay_module, "_others", lambda program, copy, loop: program.write_events[:1]
    )
    start = po.Plan(po.parse_c(FACTORS)).split("A.k", 4)
    with pytest.raises(IllegalScheduleError):
        start.delay_updates("A_1", at="A.k_tile")


def test_what_cannot_wait_is_said():
    plan = po.Plan(po.parse_c(FACTORS))
    with pytest.raises(NotFusableError, match="none of the updates of A_0 can wait"):
        plan.delay_updates("A_0", at="A.k")
    with pytest.raises(NotFusableError, match="holds 2 statements of A"):
        plan.delay_updates("A", at="A.k")


def test_both_sides_of_an_iteration_are_vectors_and_shared():
    plan = po.Plan(po.parse_c(PATHS)).split_range("d.j", at="d.k").split_range("d.i", at="d.k")
    loops = {loop for copy in plan.program.places.values() for loop in (n.name for n in copy.loops)}
    assert {"d.i_before", "d.i_at", "d.i"} <= loops
    plan = plan.vectorize("d.j").parallelize("d.i").parallelize("d.i_before")
    kernel = plan.compile()
    for size in (1, 2, 7):
        given = np.random.default_rng(size).integers(1, 99, (size, size), dtype=np.int32)
        expected = given.copy()
        for k in range(size):
            expected = np.minimum(expected, expected[:, k : k + 1] + expected[k : k + 1])
        np.testing.assert_array_equal(kernel(given.copy()), expected)
    with pytest.raises(NotPermutableError, match=r"d\.j does not enclose d\.k"):
        plan.split_range("d.k", at="d.j")


def test_a_loop_without_the_iteration_is_not_split():
    with pytest.raises(NotFusableError, match="no iterations on both sides"):
        po.Plan(po.parse_c(FACTORS)).split_range("A_1.j", at="A.k")


def test_the_parts_of_a_range_are_all_of_it():
    plan = po.Plan(po.parse_c(PATHS)).split_range("d.j", at="d.k")
    parts = [copy.domain.set_tuple_name("d") for copy in plan.program.copies.values()]
    whole = parts[0].union(parts[1]).union(parts[2])
    assert whole.is_equal(po.parse_c(PATHS).statement("d").domain)


PIVOT = """
void pivot(int N, int p, double a[restrict N])
{
#pragma polyopt assume(p >= 2 && p < N - 2)
    for (int i = 0; i < N; i++)
        a[i] = a[i] + 2 * a[p];
}
"""


def test_a_range_is_split_at_values_of_the_sizes_as_often_as_asked():
    plan = po.Plan(po.parse_c(PIVOT)).split_range("a.i", at="p").split_range("a.i", at="1 + p")
    assert [loop.name for loop in plan.program.tree] == ["a.i_before", "a.i_before2", "a.i"]
    domains = [c.domain.set_tuple_name("a") for c in plan.program.copies.values()]
    whole = domains[0].union(domains[1]).union(domains[2])
    assert len(domains) == 3
    expected = plan.scop.statement("a").domain.intersect_params(plan.scop.context)
    assert whole.is_equal(expected)
    plan = plan.parallelize("a.i_before").vectorize("a.i")
    assert po.Plan(plan.scop).split_range("a.i", at="p").moves == plan.moves[:1]
    a = np.arange(20.0)
    expected = a + 2 * a[5]
    expected[6:] += 4 * a[5]  # what the pivot has become
    np.testing.assert_array_equal(plan.compile()(a=a.copy(), p=5), expected)


@pytest.mark.parametrize("at", ["i", "N * p", "N; M", "", "floor(N/2", "N)]; [(N"])
def test_what_sizes_do_not_give_is_no_place_for_a_split(at):
    with pytest.raises(NotPermutableError, match="is no value that sizes give"):
        po.Plan(po.parse_c(PIVOT)).split_range("a.i", at=at)


@pytest.mark.parametrize("at", ["0", "N", "N + 5", "0 - 1"])
def test_a_split_leaves_iterations_on_both_sides(at):
    with pytest.raises(NotFusableError, match="no iterations on both sides"):
        po.Plan(po.parse_c(PIVOT)).split_range("a.i", at=at)


APART = """
void apart(int n, const float x[n + 2][n], float out[n][n])
{
    float t[n + 2][n];
    for (int i = 0; i < n + 2; i++)
        for (int j = 0; j < n; j++)
            t[i][j] = x[i][j] * 2.0f;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            out[i][j] = t[i][j] + t[i + 2][j];
}
"""


@pytest.mark.parametrize("storage", ["scratch", "sliding", "full"])
def test_the_parts_of_a_producer_are_fused_together(storage, tmp_path):
    halves = po.Plan(po.parse_c(APART)).split_range("t.i", at="floor((n)/2)").tile("out", i=4)
    plan = halves.fuse("t", into="out", at="out.i_tile", storage=storage)
    assert sum("t: t[i, j] = " in line for line in str(plan).splitlines()) == 2
    kernel = plan.compile(cache=tmp_path)
    for n in (1, 7, 13):
        x = np.random.default_rng(n).random((n + 2, n)).astype(np.float32)
        np.testing.assert_array_equal(kernel(x=x), 2 * x[:-2] + 2 * x[2:])
