"""Lanes along a loop around a sequential one: when, what is kept apart, and the same results."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po

ESCAPE = """
void escape(int H, int W, float left, float step, int count[restrict H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float c = left + step * (x + y), z = 0;
            int n = 0;
            for (int k = 0; k < 50; k++)
                if (z * z <= 4.0f) {
                    z = z * z + c;
                    n++;
                }
            count[y][x] = n;
        }
}
"""
FARTHEST = """
void farthest(int N, int K, const float a[restrict N], const float b[restrict K],
              int where[restrict N])
{
    for (int i = 0; i < N; i++) {
        float best = -1.0f;
        int found = 0;
        for (int k = 0; k < K; k++) {
            float apart = (a[i] - b[k]) * (a[i] - b[k]);
            if (apart > best) {
                best = apart;
                found = k;
            }
        }
        where[i] = found;
    }
}
"""
ROWS = """
void last_below(int N, int M, const float a[restrict N][M], float limit, int where[restrict N])
{
    for (int i = 0; i < N; i++) {
        int found = -1;
        for (int j = 0; j < M; j++)
            if (a[i][j] * a[i][j] < limit)
                found = j;
        where[i] = found;
    }
}
"""


def planned(text, target="avx2", **sizes):
    return po.auto(po.parse_c(text), sizes=sizes, target=target)


def widths(plan):
    return {m.args[1] for m in plan.moves if m.name == "vectorize" and m.args[1]}


@pytest.mark.parametrize(("target", "lanes"), [("avx2", 8), ("avx512", 16), ("neon", 4)])
def test_strips_are_two_vectors_of_the_target(target, lanes):
    plan = planned(ESCAPE, target, H=512, W=768)
    assert widths(plan) == {2 * lanes}
    (said,) = [r for r in plan.remarks if r.move == "vectorize" and "sequential" in r.reason]
    assert said.numbers["predicted ns"] < said.numbers["otherwise"]


@pytest.mark.parametrize("width", [1, 15, 16, 17, 100])
def test_the_state_of_each_lane_is_its_own(width):
    kernel = planned(ESCAPE, H=512, W=768).compile()
    z = np.zeros(width, np.float32)
    count = np.zeros(width, np.int32)
    c = np.float32(-2) + np.float32(0.04) * np.arange(width, dtype=np.float32)
    for _ in range(50):
        near = z * z <= 4
        z = np.where(near, z * z + c, z)
        count += near
    assert np.array_equal(kernel(H=1, W=width, left=np.float32(-2), step=np.float32(0.04)), [count])


def test_a_value_that_is_kept_is_not_stored_under_a_mask():
    """Whatever an iteration's scalars decide, elements are loaded before the choice."""
    source = planned(ESCAPE, H=512, W=768).emit().source
    (line,) = {
        s.strip()
        for s in source.splitlines()
        if re.match(r"z_tile\S*\[x3 - 16 \* x_tile\] = .*\?", s.strip())
    }
    assert "? v" in line or ": v" in line, line


def test_an_argmax_per_lane():
    plan = planned(FARTHEST, N=100_000, K=200)
    assert widths(plan) == {16}
    rng = np.random.default_rng(4)
    a, b = rng.random(37, np.float32), rng.random(11, np.float32)
    apart = (a[:, None] - b[None, :]) ** 2
    assert np.array_equal(plan.compile()(a=a, b=b), apart.argmax(axis=1))


def test_lanes_are_no_rows_of_their_own():
    """Neighbouring lanes would load from lines far apart."""
    assert not widths(planned(ROWS, N=2000, M=2000))
