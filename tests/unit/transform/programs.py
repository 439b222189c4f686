"""Programs that the moves are tried on, small enough to be run one instance at a time."""

from __future__ import annotations

from functools import cache

import polyopt as po
from polyopt.isl import Map, fix_param_values, parse_map
from tests.oracle.transformed import assert_right

BLUR = """
void blur(int H, int W, const float img[H + 2][W + 2], float out[H][W])
{
    float bx[H + 2][W];
    for (int y = 0; y < H + 2; y++)
        for (int x = 0; x < W; x++)
            bx[y][x] = img[y][x] + img[y][x + 1] + img[y][x + 2];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            out[y][x] = bx[y][x] + bx[y + 1][x] + bx[y + 2][x];
}
"""
DIAGONAL = """
void diagonal(int N, float a[N][N])
{
    for (int i = 1; i < N; i++)
        for (int j = 0; j < N - 1; j++)
            a[i][j] = a[i - 1][j + 1] + 1;
}
"""
CHAIN = """
void chain(int N, const int c[N][N], int x[N])
{
    for (int j = 0; j < N; j++) {
        x[j] += c[j][j];
        for (int k = 0; k < j; k++)
            x[j] -= x[k] * c[k][j];
    }
}
"""
SCAN = """
void scan(int N, const float a[N], float o[N])
{
    float c[N];
    c[0] = a[0];
    for (int i = 1; i < N; i++)
        c[i] = c[i - 1] + a[i];
    for (int i = 0; i < N; i++)
        o[i] = 2 * c[i];
}
"""
TRIANGLE = """
void triangle(int N, const float a[N][N], float o[N])
{
    float s[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            s[i][j] = a[j][i];
    for (int i = 0; i < N; i++) {
        o[i] = 0;
        for (int j = 0; j <= i; j++)
            o[i] += s[i][j];
    }
}
"""
JACOBI = """
void jacobi(int T, int N, float a[N + 2])
{
    float b[N + 2];
    for (int t = 0; t < T; t++) {
        for (int i = 1; i <= N; i++)
            b[i] = a[i - 1] + a[i + 1];
        for (int i = 1; i <= N; i++)
            a[i] = b[i];
    }
}
"""
FACTORS = """
void factors(int N, double A[N][N])
{
    for (int k = 0; k < N; k++) {
        for (int i = k + 1; i < N; i++)
            A[i][k] /= A[k][k];
        for (int i = k + 1; i < N; i++)
            for (int j = k + 1; j < N; j++)
                A[i][j] -= A[i][k] * A[k][j];
    }
}
"""
WEIGHTED = """
void weighted(int H, int W, const float a[H][W], const float c[W], float o[H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            o[y][x] = a[y][x] * (c[x] * c[x] + x);
}
"""
WINDOW = """
void window(int N, const unsigned short a[N][N], unsigned short o[N][N])
{
    for (int i = 1; i < N; i++)
        for (int j = 1; j < N; j++)
            o[i][j] = a[i - 1][j - 1] + 2 * a[i - 1][j] + 3 * a[i][j - 1] + 6 * a[i][j];
}
"""
BOXES = """
void boxes(int N, const unsigned short a[N + 2][N + 2], unsigned short o[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            o[i][j] = 0;
            for (int p = 0; p < 3; p++)
                for (int q = 0; q < 3; q++)
                    o[i][j] += a[i + p][j + q];
        }
}
"""
BLOCKS = """
void blocks(int N, double A[4 * N][4 * N])
{
    for (int t = 0; t < N; t++)
        for (int k = 4 * t; k < 4 * t + 4; k++) {
            for (int i = k + 1; i < 4 * N; i++)
                A[i][k] /= A[k][k];
            for (int i = k + 1; i < 4 * N; i++)
                for (int j = k + 1; j < 4 * N; j++)
                    A[i][j] -= A[i][k] * A[k][j];
        }
}
"""
DESCENDING = """
void descending(int N, const float a[N + 2], float o[N])
{
    float s[N + 2];
    for (int i = N + 1; i >= 0; i--)
        s[i] = 2 * a[i];
    for (int i = N - 1; i >= 0; i--)
        o[i] = s[i] + s[i + 2];
}
"""
LAG = """
void lag(int N, float a[N])
{
    for (int i = 3; i < N; i++)
        a[i] = 2 * a[i - 3];
}
"""
TWO_OUTPUTS = """
void two(int H, int W, const float a[H + 2][W + 2], float u[H][W], float v[H][W])
{
    float s[H + 2][W + 2];
    for (int y = 0; y < H + 2; y++)
        for (int x = 0; x < W + 2; x++)
            s[y][x] = 2 * a[y][x];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            u[y][x] = s[y][x] + s[y + 1][x + 1];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            v[y][x] = s[y + 2][x] - s[y][x + 2];
}
"""
DIAMOND = """
void diamond(int N, const float a[N + 4], float o[N])
{
    float g[N + 4], x[N + 2], y[N + 2];
    for (int i = 0; i < N + 4; i++)
        g[i] = 3 * a[i];
    for (int i = 0; i < N + 2; i++)
        x[i] = g[i] + g[i + 2];
    for (int i = 0; i < N + 2; i++)
        y[i] = g[i + 1] - g[i + 2];
    for (int i = 0; i < N; i++)
        o[i] = x[i] * y[i + 2] + x[i + 1];
}
"""

#: a matrix written by columns, and again in part by rows: its flow has many pieces
PIECES = """
void pieces(int N, const float x[2 * N + 2][N + 1], const float y[N + 1], float a0[N + 1][N + 1],
            float a1[N + 1][N + 1])
{
    for (int j = 0; j < N + 1; j++)
        for (int i = N; i >= 0; i--)
            a0[i][j] = x[2 * i + 1][j];
    for (int i = 0; i < N + 1; i++)
        for (int j = 0; j < N + 1; j++)
            if (j % 3 != 1)
                a0[i][j] = j >= 1 ? y[j - 1] : 0.0f;
    for (int i = 0; i < N + 1; i++)
        for (int j = 0; j < N + 1; j++)
            a1[i][j] = a0[i][j] * a0[N - i][N] + a0[i][j < 1 ? 0 : j - 1];
}
"""

#: one, two, a prime, a tile and its neighbours
VALUES = (1, 2, 3, 4, 5, 8, 11)


def fresh(text: str) -> po.Plan:
    """The plan that changes nothing, of a program that no other test has."""
    return po.Plan(po.parse_c(text))


#: the same for all tests: what is found out about a program is kept with it, so those that break
#: something take a fresh one
plan = cache(fresh)


def small_sizes(scop, values=VALUES) -> list[dict[str, int]]:
    """Sizes that the program takes, each parameter another than its neighbour."""
    found = [{n: v + k for k, n in enumerate(scop.params)} for v in values]
    return [params for params in found if not fix_param_values(scop.context, params).is_empty()]


def right(made: po.Plan) -> po.Plan:
    """A plan that was run at all small sizes and computes what its source does."""
    made.prove()
    sizes = small_sizes(made.scop)
    assert sizes
    assert_right(made, *sizes)
    return made


def loops_of(made: po.Plan, copy: str) -> Map:
    """``{ C[d] -> [values of the loops around it] }``."""
    return made.program.prefixes[copy]


def same_loops(made: po.Plan, copy: str, text: str) -> bool:
    """Whether a copy's loops have the values that a text of isl says."""
    found = loops_of(made, copy)
    context = made.scop.context
    return found.intersect_params(context).is_equal(parse_map(text).intersect_params(context))


def lines(made: po.Plan) -> list[str]:
    """The printed nest."""
    return str(made).splitlines()
