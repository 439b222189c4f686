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


SUMS = """
void sums(int H, int W, int R, const float img[restrict H][W + 2 * R], float out[restrict H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            out[y][x] = 0;
            for (int k = 0; k <= 2 * R; k++)
                out[y][x] += img[y][x + k];
        }
}
"""
COLUMNS = """
void columns(int N, const double a[restrict N][N], const double b[restrict N], double x[restrict N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            x[i] += a[j][i] * b[j];
}
"""


def test_sums_of_a_length_that_a_size_says_stay_in_registers():
    plan = planned(SUMS, H=900, W=900, R=7)
    (width,) = widths(plan)
    assert width in {16, 32}  # two vectors, or four: a sum waits for each addition
    source = plan.emit().source
    assert "for (int64_t k = 0; k <= 2 * R; k++)" in source
    rng = np.random.default_rng(5)
    for width, reach in ((1, 0), (40, 3), (33, 16)):
        image = rng.random((2, width + 2 * reach), dtype=np.float32)
        expected = np.zeros((2, width), np.float32)
        for k in range(2 * reach + 1):
            expected += image[:, k : k + width]
        np.testing.assert_array_equal(plan.compile(contract=False)(img=image, R=reach), expected)


def test_strips_do_not_jump_from_row_to_row_of_a_large_matrix():
    """A strip of columns is too short for lines to be fetched ahead: rows are passed whole."""
    assert not widths(planned(COLUMNS, N=8000))


NEAREST = """
void nearest(int N, int D, int K, const float a[restrict N][D], const float b[restrict K][D],
             int where[restrict N])
{{
    for (int i = 0; i < N; i++) {{
        float best = 1e30f;
        int found = 0;
        for (int k = {first}; k < K; k++) {{
            float apart = 0;
            for (int d = 0; d < D; d++)
                apart += (a[i][d] - b[k][d]) * (a[i][d] - b[k][d]);
            if (apart < best) {{
                best = apart;
                found = k;
            }}
        }}
        where[i] = found;
    }}
}}
"""


def test_lanes_go_around_nests_and_their_rows_are_packed():
    plan = planned(NEAREST.format(first="0"), N=100000, D=6, K=20)
    (packed,) = [m for m in plan.moves if m.name == "pack"]
    assert packed.args == ("a",)
    assert dict(packed.options) == {"at": "where.i_tile", "order": (1, 0)}
    assert widths(plan) == {32}  # four vectors side by side
    assert "where.i_tile:  # parallel" in str(plan)
    rng = np.random.default_rng(0)
    kernel = plan.compile()
    for n, d, k in ((1, 1, 1), (7, 3, 5), (16, 6, 20), (43, 2, 9)):
        a, b = rng.random((n, d), dtype=np.float32), rng.random((k, d), dtype=np.float32)
        where = kernel(a, b)
        expected = ((a[:, None] - b) ** 2).sum(-1).argmin(1)
        np.testing.assert_array_equal(where, expected)


def test_loops_that_end_apart_in_each_lane_stay_as_they_are():
    for first, k in (("i % 2", 20), ("i", 200000)):
        plan = planned(NEAREST.format(first=first), N=100000, D=6, K=k)
        assert not [m for m in plan.moves if m.name == "pack" and m.args == ("a",)]


PAIRS = """
void pairs(int N, int D, const float a[restrict N][D], float apart[restrict N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int d = 0; d < D; d++) {
                float t = a[i][d] - a[j][d];
                s += t * t;
            }
            apart[i][j] = s;
        }
}
"""


def test_rows_that_are_read_once_more_for_all_others_are_packed_once():
    plan = planned(PAIRS, N=2000, D=12)
    (packed,) = [m for m in plan.moves if m.name == "pack"]
    assert packed.args == ("a",)
    options = dict(packed.options)
    assert options["read"] == "t_r1"
    assert plan.loops("apart")[:2] == ("apart.j_tile", "apart.i")
    assert {s.array: s.at for s in plan.program.stores}["s"] == "apart.i"
    rng = np.random.default_rng(0)
    kernel = plan.compile()
    for n, d in ((1, 1), (9, 3), (40, 12)):
        a = rng.random((n, d), dtype=np.float32)
        expected = ((a[:, None] - a) ** 2).sum(-1)
        np.testing.assert_allclose(kernel(a), expected, rtol=1e-5)


def test_what_would_be_written_in_rows_far_apart_has_no_lanes():
    text = NEAREST.format(first="0").replace("int where[restrict N]", "int where[restrict N][D]")
    plan = planned(text.replace("where[i] =", "where[i][0] ="), N=100000, D=6, K=20)
    assert not widths(plan)
