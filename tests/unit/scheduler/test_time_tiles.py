"""Stencils in time: diamonds where faces lean both ways, parallelograms elsewhere, and their sizes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.isl import constant_value
from polyopt.scheduler.search import automatic
from polyopt.transform.schedule.tree import loops_of

HEAT = """
void heat(int T, int N, int M, double a[N][M], double b[N][M])
{
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < M - 1; j++)
                b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < M - 1; j++)
                a[i][j] = 0.5 * (b[i - 1][j] + b[i][j + 1]);
    }
}
"""
IN_PLACE = """
void relax(int T, int N, double a[N][N])
{
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                a[i][j] = 0.5 * (a[i - 1][j] + a[i][j + 1]);
}
"""
LARGE = {"T": 100, "N": 2000, "M": 2000}


def planned(text: str, sizes: dict[str, int], **machine: int) -> po.Plan:
    return po.auto(po.parse_c(text), target=replace(target("avx2"), **machine), sizes=sizes)


def applied(plan: po.Plan, move: str) -> dict[str, float]:
    (remark,) = [r for r in plan.remarks if r.move == move and r.kind == "applied"]
    return dict(remark.numbers)


def test_faces_both_ways_give_diamonds_that_threads_share() -> None:
    plan = planned(HEAT, LARGE, cores=2)
    assert str(plan).splitlines()[:5] == [
        "for a.t_tile:",
        "  for a.i_tile:  # parallel",
        "    for a.t:",
        "      for a.j_tile:",
        "        for a.i:",
    ]
    assert str(plan).count("# vector") == 2


@pytest.mark.parametrize("n", [2, 3, 17, 70])
@pytest.mark.parametrize("steps", [1, 9, 40])
def test_diamonds_compute_what_the_sweeps_do(n: int, steps: int) -> None:
    rng = np.random.default_rng(n)
    m = n + 3
    a, b = rng.standard_normal((n, m)), rng.standard_normal((n, m))
    x, y = a.copy(), b.copy()
    for _ in range(steps):
        y[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
        x[1:-1, 1:-1] = 0.5 * (y[:-2, 1:-1] + y[1:-1, 2:])
    kernel = planned(HEAT, LARGE, cores=2).compile(contract=False)
    kernel(T=steps, out={"a": a, "b": b}, threads=2)
    assert np.array_equal(a, x)
    assert np.array_equal(b, y)


def test_rows_of_a_diamond_fill_the_cache_and_no_more() -> None:
    for l2 in (512 * 1024, 1024 * 1024, 2048 * 1024):
        numbers = applied(planned(HEAT, LARGE, cores=2, l2_bytes=l2), "diamond")
        assert l2 / 2 < numbers["bytes of a block"] <= l2


def pieces(plan: po.Plan) -> list[float]:
    return [r.numbers["columns"] for r in plan.remarks if (r.move, r.subject) == ("tile", "a.j")]


def test_pieces_of_rows_fill_half_of_the_first_cache_and_no_more() -> None:
    for l1 in (32 * 1024, 48 * 1024, 64 * 1024):
        (columns,) = pieces(planned(HEAT, LARGE, cores=2, l1_bytes=l1))
        rows = 3 + 2  # those of a that b needs, and of b: the one that it is, and the one before
        assert l1 / 4 < columns * rows * 8 <= l1 / 2


def test_rows_that_the_first_cache_holds_stay_whole() -> None:
    assert not pieces(planned(HEAT, LARGE, cores=2, l1_bytes=256 * 1024))
    assert not pieces(planned(HEAT, LARGE, cores=2, l1_bytes=8 * 1024))  # pieces would be too short
    assert not pieces(planned(HEAT, {"T": 100, "N": 2000, "M": 300}, cores=2))


@pytest.mark.parametrize("columns", [255, 256, 257, 600])
def test_pieces_of_rows_compute_what_the_sweeps_do(columns: int) -> None:
    plan = planned(HEAT, LARGE, cores=2, l1_bytes=24 * 1024)
    assert pieces(plan) == [256]
    rng = np.random.default_rng(columns)
    a, b = (rng.standard_normal((67, columns)) for _ in range(2))
    x, y = a.copy(), b.copy()
    plan.compile(contract=False)(T=35, out={"a": a, "b": b}, threads=2)
    po.Plan(plan.scop).compile(contract=False)(T=35, out={"a": x, "b": y})
    assert np.array_equal(a, x)
    assert np.array_equal(b, y)


def test_more_threads_get_narrower_diamonds() -> None:
    few = applied(planned(HEAT, LARGE, cores=2, l2_bytes=4 << 20), "diamond")
    many = applied(planned(HEAT, LARGE, cores=30, l2_bytes=4 << 20), "diamond")
    assert few["i"] > many["i"]
    assert LARGE["N"] / many["i"] >= 60


def test_rows_that_fill_the_cache_are_cut() -> None:
    plan = planned(HEAT, {"T": 100, "N": 2000, "M": 200_000}, cores=2)
    assert applied(plan, "diamond")["j"] > 0
    assert "for a.j_tile:" in str(plan)


def test_rows_that_are_not_cut_start_where_the_grid_does() -> None:
    source = planned(HEAT, LARGE, cores=2).emit().source
    assert "[j2 + 1]" in source
    assert "j2 - 2 * t" not in source


def test_updates_in_place_say_why_there_are_no_diamonds() -> None:
    plan = planned(IN_PLACE, {"T": 100, "N": 2000}, cores=2)
    (refused,) = [r for r in plan.remarks if r.move == "diamond"]
    assert refused.kind == "refused"
    assert refused.witnesses
    assert applied(plan, "tile")["t"] > 1


def test_too_few_steps_leave_the_source_s_order() -> None:
    plan = planned(HEAT, {"T": 1, "N": 2000, "M": 2000}, cores=2)
    assert "_tile" not in plan.loops("a")[0]
    assert {r.kind for r in plan.remarks if r.move in {"diamond", "tile"}} == {"refused"}


COPIED = """
void heat(int T, int N, int M, double from[N][M], double a[N][M], double last[N][M])
{
    double b[N][M];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            a[i][j] = 2 * from[i][j];
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < M - 1; j++) {
                double around = a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1];
                b[i][j] = a[i][j] + 0.1 * (around - 4 * a[i][j]);
            }
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < M - 1; j++)
                a[i][j] = b[i][j];
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            last[i][j] = a[i][j] - from[i][j];
}
"""


def test_steps_that_copy_back_take_turns_in_diamonds_among_other_nests() -> None:
    plan = planned(COPIED, LARGE, cores=2)
    moves = {m.name: m for m in plan.moves}
    assert moves["double_buffer"].args == ("a",)
    assert dict(moves["reschedule"].options)["loop"] == "a.t"
    assert "diamond" in moves
    shared = [loop.name for loop in loops_of(plan.program.tree) if loop.mark == "parallel"]
    assert any(name.endswith("_tile") for name in shared)
    assert {"a.i", "last.i"} <= set(shared)
    rng = np.random.default_rng(0)
    for steps, n, m in ((1, 9, 9), (6, 40, 33), (13, 70, 35)):
        given = {name: rng.random((n, m)) for name in ("from", "a", "last")}
        expected = given["from"] * 2
        for _ in range(steps):
            here = expected[1:-1, 1:-1]
            around = expected[:-2, 1:-1] + expected[2:, 1:-1]
            around = around + expected[1:-1, :-2] + expected[1:-1, 2:]
            expected[1:-1, 1:-1] = here + 0.1 * (around - 4 * here)
        plan.compile()(**given, T=steps)
        np.testing.assert_allclose(given["a"], expected)
        np.testing.assert_allclose(given["last"], expected - given["from"])


def test_locals_stay_with_their_iteration_in_time_tiles() -> None:
    plan = planned(COPIED, LARGE, cores=2)
    kept = {s.array: s.at for s in plan.program.stores if s.array.startswith("around")}
    assert len(kept) == 3
    sizes = [[constant_value(e) for e in s.extents] for s in plan.program.scratches]
    assert sizes == [[1, 1, 1]] * 3


def test_steps_in_diamonds_that_take_turns_are_not_weighed_against_copies(monkeypatch) -> None:
    def searched(*_args: object, **_options: object) -> po.Plan:
        raise AssertionError("the program was searched for once more")

    monkeypatch.setattr(automatic, "_searched", searched)
    plan = planned(COPIED, LARGE, cores=2)
    assert {"double_buffer", "diamond"} <= {m.name for m in plan.moves}
