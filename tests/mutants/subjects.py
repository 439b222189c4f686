"""The right plans that mutants are made of: small tiles, so that small sizes cross borders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polyopt as po
from tests.unit.transform.programs import CHAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BLUR = """
void blur(int H, int W, const float img[H][W], float out[H - 2][W - 2])
{
    float bx[H][W - 2];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W - 2; x++)
            bx[y][x] = img[y][x] + img[y][x + 1] + 2 * img[y][x + 2];
    for (int y = 0; y < H - 2; y++)
        for (int x = 0; x < W - 2; x++)
            out[y][x] = bx[y][x] - bx[y + 1][x] + 3 * bx[y + 2][x];
}
"""
SWEEP = """
void sweep(int N, float a[N][N], float last[N])
{
    for (int i = 1; i < N; i++)
        for (int j = 1; j < N; j++)
            a[i][j] = a[i - 1][j] + 2 * a[i][j - 1];
    for (int k = 0; k < N; k++)
        last[k] = a[N - 1][k] - a[k][N - 1];
}
"""
WAVE = """
void wave(int T, int N, float old[N], float now[N])
{
    float new[N];
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            new[i] = now[i - 1] - old[i] + now[i + 1];
        for (int i = 1; i < N - 1; i++) {
            old[i] = now[i];
            now[i] = new[i];
        }
    }
}
"""
LOOKUPS = """
void lookups(int H, int W, int N, const int row[N], const float a[H][W], float out[N][W])
{
    for (int y = 0; y < N; y++) {
        int r = row[y] < 0 ? 0 : row[y] > H - 1 ? H - 1 : row[y];
        for (int x = 0; x < W; x++)
            out[y][x] = y * (a[r][x] * 2 + x * x);
    }
}
"""
GEMM = """
void gemm(int M, int N, int K, float alpha, const float A[M][K], const float B[K][N],
    float C[M][N])
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            C[i][j] = 2 * C[i][j];
            for (int k = 0; k < K; k++)
                C[i][j] += alpha * A[i][k] * B[k][j];
        }
}
"""
BORDER = """
void sums(int K, const float A[7][K], const float B[K][4], float S[7][4])
{
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 4; j++) {
            S[i][j] = 0;
            for (int k = 0; k < K; k++)
                S[i][j] += A[i][k] * B[k][j];
        }
}
"""
CLAMPED = """
void clamped(int H, int W, const unsigned short img[H][W], unsigned short out[H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int low = x > 0 ? img[y][x - 1] : img[y][0];
            int high = x < W - 1 ? img[y][x + 1] : img[y][W - 1];
            out[y][x] = (low + 2 * img[y][x] + high) / 4;
        }
}
"""
FIRST = """
void first(int M, int N, float t, const float a[M][N], int at[M], float best[M], double above[M])
{
    for (int i = 0; i < M; i++) {
        int k = 0;
        float b = a[i][0];
        double s = 0.0;
        for (int j = 1; j < N; j++)
            if (a[i][j] > b) {
                b = a[i][j];
                k = j;
            }
        for (int j = 0; j < N; j++)
            if (a[i][j] > t)
                s += a[i][j];
        at[i] = k;
        best[i] = b;
        above[i] = s;
    }
}
"""
COLUMNS = """
void columns(int M, int N, const float A[M][N], float s[N])
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            s[j] += 2 * A[i][j];
}
"""
LINES = """
void lines(int M, int N, const float A[M][N], const float x[N], float y[M])
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            y[i] += A[i][j] * x[j];
}
"""
LAG = """
void lag(int N, float a[N])
{
    for (int i = 4; i < N; i++)
        a[i] = a[i - 4] + 2 * a[i];
}
"""
HEAT = """
void heat(int T, int N, float a[T][N])
{
    for (int t = 1; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            a[t][i] = a[t - 1][i - 1] + 2 * a[t - 1][i] - a[t - 1][i + 1];
}
"""
WINDOW = """
void window(int H, int W, const unsigned short img[H][W], unsigned short out[H][W])
{
    for (int y = 1; y < H; y++)
        for (int x = 1; x < W; x++)
            out[y][x] = img[y - 1][x - 1] + 2 * img[y - 1][x] + 3 * img[y][x - 1] + 6 * img[y][x];
}
"""
BOXES = """
void boxes(int H, int W, const unsigned char img[H + 2][W + 2], unsigned char out[H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            out[y][x] = 0;
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 3; i++)
                    out[y][x] = out[y][x] > img[y + j][x + i] ? out[y][x] : img[y + j][x + i];
        }
}
"""
ROWS = """
void rows(int H, int W, const float img[H + 2][W], float out[2][H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            out[0][y][x] = img[y][x] + img[y + 1][x] + img[y + 2][x];
            out[1][y][x] = 3 * img[y + 2][x];
        }
}
"""
NEAR = """
void near(int H, int W, const float a[H][W], float b[H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 1; x < W - 2; x++)
            b[y][x] = a[y][x - 1] + 2 * a[y][x] - 3 * a[y][x + 2];
}
"""
PIXELS = """
void pixels(int H, int W, const unsigned char in[H][W][3], unsigned char out[H][W][3])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int c = 0; c < 3; c++)
                out[y][x][c] = x >= 1 ? in[y][x - 1][c] : 0;
}
"""
TURNED = """
void turned(int H, int W, const float a[H][W], float b[W][H])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            b[x][y] = 2 * a[y][x];
}
"""
TRIPS = """
void trips(int N, const int u[N], const unsigned v[N], long y[N], double z[N])
{
    for (int i = 0; i < N; i++)
        for (long k = 3; k < 4; k++) {
            y[i] = u[i] * k;
            z[i] = (v[i] - k) * 0.5;
        }
}
"""

EDGES = """
void edges(int N, int M, int inside, const float a[N], const float b[N][M], float out[N][M])
{
    for (int yx = 0; yx < N; yx++)
        for (int x = 0; x < M; x++)
            out[yx][x] = (yx >= 3 && yx <= inside ? a[yx] : 1)
                       + 2 * (yx >= 3 && yx + x <= inside ? b[yx][x] : 3 * a[yx]);
}
"""
AHEAD = """
void ahead(int N, const int m[N], const float a[N + 1], const float b[N], float out[N],
    float last[N])
{
    for (int i = 0; i < N; i++)
        out[i] = (m[i] > 0 ? a[i + 1] : b[i]) + (i < N - 1 ? b[i + 1] : 2);
    for (int k = 0; k < N; k++)
        last[k] = m[k] > 3 ? 2 * a[k] : a[k + 1];
}
"""


#: the first fill of ``b`` and the borders that are copied back are dead; the fill of ``c`` is not
COPIES = """void f(int T, int N, double a[N], double c[N])
{
    double b[N];
    for (int i = 0; i < N; i++) c[i] = 1;
    for (int i = 0; i < N - 1; i++) c[i] = a[i];
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < N; i++) b[i] = a[i];
        for (int i = 1; i < N - 1; i++) b[i] = a[i - 1] + a[i + 1];
        for (int i = 0; i < N; i++) a[i] = b[i];
    }
}"""


@dataclass(frozen=True)
class Subject:
    """A program, the moves of a plan, and sizes for running what is accepted."""

    name: str
    text: str
    moves: Callable[[po.Plan], po.Plan]
    sizes: tuple[Mapping[str, int], ...]

    @cached_property
    def plan(self) -> po.Plan:
        """The right plan."""
        return self.moves(po.Plan(po.parse_c(self.text)))


def _tiled(plan: po.Plan) -> po.Plan:
    plan = plan.tile("out", y=4, x=8).fuse("bx", into="out")
    return plan.parallelize("out.y_tile").vectorize("out.x", 4)


def _sliding(plan: po.Plan) -> po.Plan:
    return plan.tile("out", y=6).fuse("bx", into="out", storage="sliding").vectorize("out.x")


def _jammed(plan: po.Plan) -> po.Plan:
    plan = plan.inline("bx").unroll_and_jam("out.y", 2)
    return plan.vectorize("out.x").parallelize("out.y_jam")


def _skewed(plan: po.Plan) -> po.Plan:
    return plan.skew("a.j", by="a.i").tile("a", i=3, j=4)


def _packed(plan: po.Plan) -> po.Plan:
    plan = plan.distribute("C.i", at="C_1").tile("C_1", i=2, k=6, j=4)
    plan = plan.reorder("C.i_tile", "C.k_tile", "C.j_tile", "C.k", "C.i", "C.j")
    plan = plan.pack("A", at="C.k_tile", scaled=True).pack("B", at="C.j_tile")
    plan = plan.unroll("C.i").vectorize("C.j", 4).register_tile("C.k")
    return plan.parallelize("C.i_tile")


def _partial(plan: po.Plan) -> po.Plan:
    plan = plan.distribute("S_0.i", at="S_1").tile("S_1", i=3)
    plan = plan.reorder("S_1.i_tile", "S_1.k", "S_1.i", "S_1.j")
    return plan.unroll("S_1.i").vectorize("S_1.j", 4).register_tile("S_1.k")


def _separate(plan: po.Plan) -> po.Plan:
    plan = plan.tile("out", y=2, x=4).separate_full_tiles("out.x").vectorize("out.x")
    return plan.parallelize("out.y_tile")


def _shared_sums(plan: po.Plan) -> po.Plan:
    return plan.reassociate("s").split("s.i", 4).parallelize("s.i_tile").vectorize("s.j", 4)


def _sums_in_lanes(plan: po.Plan) -> po.Plan:
    return plan.reassociate("y").vectorize("y.j")


def _few_lanes(plan: po.Plan) -> po.Plan:
    return plan.vectorize("a.i", 4)


def _diamonds(plan: po.Plan) -> po.Plan:
    return plan.diamond("a.t", "a.i", 4).parallelize("a.i_tile")


def _separable(plan: po.Plan) -> po.Plan:
    return (
        plan.separate_filter("out").tile("out", y=4).vectorize("out.x", 4).parallelize("out.y_tile")
    )


def _shared_rows(plan: po.Plan) -> po.Plan:
    plan = plan.separate_reduction("out_1").unroll("out.j").unroll("out_part.i")
    return plan.tile("out_1", y=4).parallelize("out.y_tile").vectorize("out.x", 4)


def _eliminated(plan: po.Plan) -> po.Plan:
    return plan.eliminate_dead_stores().vectorize("b.i").vectorize("a.i")


def _taking_turns(plan: po.Plan) -> po.Plan:
    plan = plan.double_buffer("old", "now").reschedule(loop="now.t").tile("new_3", t=2, i=4)
    return plan.vectorize("new_edge.i", 4)


def _looked_up(plan: po.Plan) -> po.Plan:
    plan = plan.tabulate("out", "x", data=True).tabulate("out_table", "x")
    return plan.tile("out", y=4).parallelize("out.y_tile").vectorize("out_table.x", 4)


def _twice(plan: po.Plan) -> po.Plan:
    plan = plan.clone_stage("bx", "out").tile("out", y=4)
    return plan.fuse("bx_again", into="out", storage="sliding").vectorize("out.x", 4)


def _scattered(plan: po.Plan) -> po.Plan:
    return plan.scatter_updates("x_1").vectorize("x.k")


def _transposed(plan: po.Plan) -> po.Plan:
    return plan.parallelize("b.y").vectorize("b.x")


def _streamed(plan: po.Plan) -> po.Plan:
    return (
        plan.vectorize("out_0.x")
        .parallelize("out_0.y", schedule="static")
        .store_nontemporal("out", past=0)
    )


def _whole(plan: po.Plan) -> po.Plan:
    return plan.vectorize("b.x", 4, aligned=True).parallelize("b.y")


def _trips(plan: po.Plan) -> po.Plan:
    return plan.unroll("y.k")


def _single(plan: po.Plan) -> po.Plan:
    return plan.unroll("out.c").vectorize("out.x")


def _hoisted(plan: po.Plan) -> po.Plan:
    return plan.parallelize("out.yx")


def _ahead(plan: po.Plan) -> po.Plan:
    return plan.vectorize("out.i").vectorize("last.k")


def _as_written(plan: po.Plan) -> po.Plan:
    return plan


_IMAGE = ({"H": 3, "W": 3}, {"H": 9, "W": 10}, {"H": 12, "W": 19})
SUBJECTS = (
    Subject("fused tiles", BLUR, _tiled, _IMAGE),
    Subject("sliding window", BLUR, _sliding, _IMAGE),
    Subject("inlined and jammed", BLUR, _jammed, _IMAGE),
    Subject("skewed tiles", SWEEP, _skewed, ({"N": 2}, {"N": 8}, {"N": 11})),
    Subject(
        "packed registers", GEMM, _packed, ({"M": 1, "N": 2, "K": 1}, {"M": 5, "N": 7, "K": 8})
    ),
    Subject("partial tiles", BORDER, _partial, ({"K": 1}, {"K": 9})),
    Subject("shared sums", COLUMNS, _shared_sums, ({"M": 1, "N": 2}, {"M": 9, "N": 7})),
    Subject("sums in lanes", LINES, _sums_in_lanes, ({"M": 1, "N": 2}, {"M": 4, "N": 37})),
    Subject("few lanes", LAG, _few_lanes, ({"N": 5}, {"N": 23})),
    Subject("diamonds", HEAT, _diamonds, ({"T": 2, "N": 3}, {"T": 7, "N": 14})),
    Subject(
        "taking turns",
        WAVE,
        _taking_turns,
        ({"T": 1, "N": 4}, {"T": 4, "N": 9}, {"T": 11, "N": 13}),
    ),
    Subject("two passes", WINDOW, _separable, _IMAGE),
    Subject("shared rows", BOXES, _shared_rows, _IMAGE),
    Subject(
        "looked up",
        LOOKUPS,
        _looked_up,
        ({"H": 1, "W": 1, "N": 1}, {"H": 3, "W": 5, "N": 7}, {"H": 4, "W": 9, "N": 2}),
    ),
    Subject("dead stores", COPIES, _eliminated, ({"T": 1, "N": 3}, {"T": 3, "N": 8})),
    Subject("computed twice", BLUR, _twice, _IMAGE),
    Subject("updates scattered", CHAIN, _scattered, ({"N": 1}, {"N": 6}, {"N": 37})),
    Subject(
        "past the caches",
        ROWS,
        _streamed,
        ({"H": 1, "W": 2}, {"H": 5, "W": 64}, {"H": 9, "W": 131}),
    ),
    Subject(
        "whole vectors", NEAR, _whole, ({"H": 3, "W": 4}, {"H": 4, "W": 37}, {"H": 7, "W": 50})
    ),
    Subject("single lanes", PIXELS, _single, ({"H": 2, "W": 3}, {"H": 3, "W": 90})),
    Subject("single trips", TRIPS, _trips, ({"N": 1}, {"N": 9})),
    Subject("transposed", TURNED, _transposed, ({"H": 1, "W": 2}, {"H": 19, "W": 17})),
    Subject(
        "tests hoisted",
        EDGES,
        _hoisted,
        ({"N": 1, "M": 2, "inside": 0}, {"N": 7, "M": 5, "inside": 6}),
    ),
    Subject("loads before choices", AHEAD, _ahead, ({"N": 1}, {"N": 9}, {"N": 300})),
    Subject(
        "strips tested",
        FIRST,
        _as_written,
        ({"M": 1, "N": 1}, {"M": 2, "N": 66}, {"M": 3, "N": 200}),
    ),
    Subject("borders apart", CLAMPED, _separate, ({"H": 1, "W": 1}, {"H": 5, "W": 11})),
)
