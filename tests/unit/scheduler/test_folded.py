"""Sweeps over rings and tori: their halves folded onto each other, and then blocks of steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.transform.loops.reschedule import bands

RING = """
void ring(int T, int N, double a[restrict N], double b[restrict N])
{
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < N; i++)
            b[i] = 0.25 * (a[i == 0 ? N - 1 : i - 1] + 2 * a[i] + a[i == N - 1 ? 0 : i + 1]);
        for (int i = 0; i < N; i++)
            a[i] = 0.5 * (b[i == 0 ? N - 1 : i - 1] + b[i]);
    }
}
"""
TORUS = """
void torus(int T, int N, int M, double a[restrict N][M], double b[restrict N][M])
{
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < M; j++)
                b[i][j] = 0.25 * (a[i == 0 ? N - 1 : i - 1][j] + a[i == N - 1 ? 0 : i + 1][j]
                                  + a[i][j == 0 ? M - 1 : j - 1] + a[i][j == M - 1 ? 0 : j + 1]);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < M; j++)
                a[i][j] = 0.5 * (b[i == 0 ? N - 1 : i - 1][j] + b[i][j == M - 1 ? 0 : j + 1]);
    }
}
"""
MIRROR = """
void mirror(int T, int N, double a[restrict N], double b[restrict N])
{
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < N; i++)
            b[i] = 0.5 * (a[i] + a[N - 1 - i]);
        for (int i = 0; i < N; i++)
            a[i] = 0.5 * (b[i] + (i > 0 ? b[i - 1] : 0.0));
    }
}
"""
#: all of a sweep read one element: no fold brings it near
SHARED = """
void shared(int T, int N, double a[restrict N], double b[restrict N])
{
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < N; i++)
            b[i] = 0.5 * (a[i] + a[0]);
        for (int i = 0; i < N; i++)
            a[i] = 0.5 * b[i];
    }
}
"""


def planned(text: str, **sizes: int) -> po.Plan:
    return po.auto(po.parse_c(text), target=replace(target("avx2"), cores=2), sizes=sizes)


def split_remarks(plan: po.Plan) -> list[str]:
    return [r.subject for r in plan.remarks if r.move == "split_range" and r.kind == "applied"]


def ring(a: np.ndarray, b: np.ndarray) -> None:
    b[...] = 0.25 * (np.roll(a, 1) + 2 * a + np.roll(a, -1))
    a[...] = 0.5 * (np.roll(b, 1) + b)


def torus(a: np.ndarray, b: np.ndarray) -> None:
    rows = np.roll(a, 1, 0) + np.roll(a, -1, 0)
    b[...] = 0.25 * (rows + np.roll(a, 1, 1) + np.roll(a, -1, 1))
    a[...] = 0.5 * (np.roll(b, 1, 0) + np.roll(b, -1, 1))


def mirror(a: np.ndarray, b: np.ndarray) -> None:
    b[...] = 0.5 * (a + a[::-1])
    a[...] = 0.5 * (b + np.concatenate([[0.0], b[:-1]]))


@pytest.mark.parametrize(
    ("text", "step", "sizes", "move", "splits"),
    [
        (RING, ring, {"T": 200, "N": 100_000}, "tile", "b.i, a.i"),
        (TORUS, torus, {"T": 100, "N": 2000, "M": 2000}, "diamond", "b.j, a.j, b.i, a.i"),
        (MIRROR, mirror, {"T": 200, "N": 100_000}, "tile", "b.i, a.i"),
    ],
    ids=["ring", "torus", "mirror"],
)
def test_what_goes_round_the_grid_runs_in_blocks_of_steps(text, step, sizes, move, splits) -> None:
    plan = planned(text, **sizes)
    assert split_remarks(plan) == [splits]
    assert move in {m.name for m in plan.moves}
    assert "# parallel" in str(plan)
    kernel = plan.compile(contract=False)
    rng = np.random.default_rng(0)
    for n, steps in [(1, 3), (2, 5), (3, 40), (17, 9), (70, 40), (71, 33), (5001, 37)]:
        shape = (n,) if "M" not in sizes else (min(n, 90), n % 50 + 2)
        a, b = rng.standard_normal(shape), rng.standard_normal(shape)
        x, y = a.copy(), b.copy()
        for _ in range(steps):
            step(x, y)
        kernel(T=steps, out={"a": a, "b": b}, threads=2)
        assert np.array_equal(a, x), (n, steps)
        assert np.array_equal(b, y), (n, steps)


def test_where_no_fold_helps_loops_stay_whole() -> None:
    plan = planned(SHARED, T=200, N=100_000)
    assert not split_remarks(plan)
    (refused,) = [r for r in plan.remarks if r.move == "split_range" and r.kind == "refused"]
    assert "not all loops would be permutable" in refused.reason
    assert "split_range" not in {m.name for m in plan.moves}


def test_a_cut_unlocks_a_permutable_band() -> None:
    plan = po.Plan(po.parse_c(RING))
    assert not bands(plan.program, "smart").permutable
    for array in "ba":
        plan = plan.split_range(f"{array}.i", at="floor((N)/2)")
    assert bands(plan.program, "smart").permutable == (("a.t", "a.i"),)
    assert plan.reschedule().prove()
