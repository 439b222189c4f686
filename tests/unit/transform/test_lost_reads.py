"""isl's flow may lose reads, and be wrong: the proof neither believes it nor refuses because of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polyopt.errors import IllegalScheduleError
from polyopt.frontend.c import parse_c
from polyopt.isl import (
    defined_last_writes,
    dim_type,
    maps_of,
    quick_last_writes,
    tuple_name,
    union_all,
)
from polyopt.isl import flow as searching
from polyopt.isl.flow import Flow
from polyopt.transform.legality import proof as proving
from polyopt.transform.plan import Plan

#: each ``b[i + 1]`` is the caller's: it is written after it was read; ``d[i]`` is the program's
LEFT = """
void left(int N, const float a[restrict N], float b[restrict N + 1], float c[restrict N],
          float d[restrict N])
{
    for (int i = 0; i < N; i++) {
        d[i] = 2 * a[i];
        c[i] = b[i + 1] + d[i];
    }
    for (int i = 0; i < N; i++)
        b[i + 1] = a[i];
}
"""
CALLERS, OWN = "c:b", "c:d"


def losing(reads):
    """A search like isl's that finds nothing of some reads."""

    def search(sinks, writes, times):
        found = quick_last_writes(sinks, writes, times)
        lost = union_all(m for m in maps_of(sinks) if tuple_name(m, dim_type.in_) == reads)
        assert not lost.is_empty()
        sources = found.sources.subtract_range(lost.wrap())
        return Flow(sources, found.without.subtract(lost), is_whole=False)

    return search


def wrong():
    """The plan that writes all of b first."""
    first = replace(Plan(parse_c(LEFT)), checked=False).fuse_loops("c.i", "b.i")
    return first.shift("b", i=-1)


@pytest.mark.parametrize("reads", [CALLERS, OWN])
def test_a_right_plan_is_proven_though_reads_are_lost(reads, monkeypatch):
    monkeypatch.setattr(proving, "quick_last_writes", losing(reads))
    assert "4 read references" in str(Plan(parse_c(LEFT)).prove())


def test_a_value_of_the_callers_that_is_overwritten_is_seen_though_its_read_is_lost(monkeypatch):
    monkeypatch.setattr(proving, "quick_last_writes", losing(CALLERS))
    with pytest.raises(IllegalScheduleError):
        wrong().prove()


def test_without_a_second_look_it_would_not_be_seen(monkeypatch):
    monkeypatch.setattr(proving, "quick_last_writes", losing(CALLERS))
    monkeypatch.setattr(proving, "_check_known", lambda *_: None)
    wrong().prove()


def test_the_second_look_is_at_the_definition(monkeypatch):
    asked = []

    def defined(*relations):
        asked.append(len(relations))
        return defined_last_writes(*relations)

    monkeypatch.setattr(proving, "defined_last_writes", defined)
    Plan(parse_c(LEFT)).prove()
    assert asked == []
    monkeypatch.setattr(proving, "quick_last_writes", losing(OWN))
    Plan(parse_c(LEFT)).prove()
    assert asked == [3]


#: strides of two and three in nests of four loops; the result's last writers are one of four each
STRIDES = """
void strides(int N, double A[restrict 2 * N + 2][N + 15][2 * N + 16][2 * N + 3])
{
    #pragma polyopt assume(N >= 1)
    for (int i = 0; i < (N + 2) / 3; i++) {
        A[i + 2][i + 3][i / 4][i + 2] = 1.0;
        for (int j = 0; j < N; j += 2)
            for (int k = N - 1; k >= j; k -= 3) {
                for (int l = 0; l < i + 2; l++)
                    A[j + k][j][k + i][j + 3] = 2.0;
                A[i + 1][i + 2][2 * j][k + 3] = 3.0;
            }
    }
    for (int q = 0; q <= 2 * N - 2; q++)
        for (int u = 0; u < 16; u++)
            for (int w = u; w < N; w += 3)
                A[2 * w][w + u][u][q] = 4.0;
}
"""


def test_the_flow_of_strided_nests_is_found_within_the_budget():
    """That isl's flow is whole takes isl more than ten times what all of the plan may."""
    plan = Plan(parse_c(STRIDES))
    assert plan.prove(operations=10_000_000)
    assert len(maps_of(plan.original.raw)) == 4


#: downwards in steps of three: the first of the array is the last that is stored
DOWNWARDS = """
void downwards(int n, const double a[restrict n], double r[restrict 1])
{
    #pragma polyopt assume(n >= 1)
    for (int i = n - 1; i >= 0; i--)
        if (i % 3 == 0)
            r[0] = a[i];
}
"""
#: upwards in steps of three, to be split by as many
UPWARDS = """
void upwards(int n, double r[restrict 1])
{
    double s = 0;
    for (int i = 0; i < n; i += 3)
        s = s * 0.5 + 1;
    r[0] = s;
}
"""


def upside_down():
    """The plan that stores the last of the array last; isl takes the first for the last one."""
    plan = replace(Plan(parse_c(DOWNWARDS)), checked=False)
    (loop,) = plan.program.tree
    back = replace(loop, values={name: value.neg() for name, value in loop.values.items()})
    plan = replace(plan, program=replace(plan.program, tree=(back,)))
    return plan.split("r.i", 3).unroll_and_jam("r.i_tile", 2)


def test_a_wrong_last_writer_of_a_strided_loop_is_seen():
    with pytest.raises(IllegalScheduleError, match="last value of r"):
        upside_down().prove()


def test_without_the_look_at_strides_it_would_not_be_seen(monkeypatch):
    monkeypatch.setattr(searching, "strided", lambda *_: ())
    upside_down().prove()


def test_a_strided_loop_that_is_split_by_its_step_is_proven():
    plan = Plan(parse_c(UPWARDS)).split("s.i", 3).unroll_and_jam("s.i_tile", 2)
    assert "2 read references" in str(plan.prove())


@pytest.mark.parametrize("size", [2, 3])
def test_isl_that_fails_where_a_strided_loop_is_split_is_no_reason_to_refuse(size):
    plan = Plan(parse_c(DOWNWARDS)).split("r.i", size).unroll_and_jam("r.i_tile", 2)
    assert plan.prove()
