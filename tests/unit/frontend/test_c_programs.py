"""Whole C programs become the Scops that they are: domains, accesses, order, roles, context."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from polyopt.analysis.interpreter.interpret import interpret
from polyopt.frontend.c import parse_c
from polyopt.ir.scop import Loop, Scop
from polyopt.ir.verify import verify
from polyopt.isl import parse_set, parse_union_map, parse_union_set, same_map, same_set
from polyopt.rewrite import rewrite

if TYPE_CHECKING:
    from pathlib import Path

BLUR = """
#include <stdint.h>
void blur(int H, int W, const uint16_t img[restrict H][W], uint16_t out[restrict H - 2][W - 2])
{
  uint16_t bx[H][W - 2];
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W - 2; x++)
      bx[y][x] = (img[y][x] + img[y][x + 1] + img[y][x + 2]) / 3;
  for (int y = 0; y < H - 2; y++)
    for (int x = 0; x < W - 2; x++)
      out[y][x] = (bx[y][x] + bx[y + 1][x] + bx[y + 2][x]) / 3;
}
"""


def shape(nest: tuple[Loop | str, ...]) -> list[object]:
    """The nest as ``[iterator, step, [body]]`` lists."""
    return [n if isinstance(n, str) else [n.iterator, n.step, shape(n.body)] for n in nest]


def roles(scop: Scop) -> dict[str, str]:
    return {a.name: a.role for a in scop.arrays}


def has_domain(scop: Scop, text: str) -> bool:
    return same_set(scop.domain, parse_union_set(text).intersect_params(scop.context))


def has_reads(scop: Scop, text: str) -> bool:
    plain = scop.reads.domain_factor_domain()
    return same_map(plain, parse_union_map(text).intersect_params(scop.context))


def has_writes(scop: Scop, text: str) -> bool:
    return same_map(scop.writes, parse_union_map(text).intersect_params(scop.context))


def test_blur() -> None:
    scop = parse_c(BLUR)
    verify(scop)
    assert scop.name == "blur"
    assert scop.params == ("H", "W")
    assert scop.signature == ("H", "W", "img", "out")
    assert roles(scop) == {"img": "in", "out": "out", "bx": "temp"}
    assert scop.context.is_equal(parse_set("[H, W] -> { : H >= 3 and W >= 3 }"))
    assert has_domain(
        scop,
        "[H, W] -> { bx[y, x] : 0 <= y < H and 0 <= x < W - 2;"
        " out[y, x] : 0 <= y < H - 2 and 0 <= x < W - 2 }",
    )
    assert has_reads(
        scop,
        "[H, W] -> { bx[y, x] -> img[y, a] : 0 <= y < H and 0 <= x < W - 2 and x <= a <= x + 2;"
        " out[y, x] -> bx[a, x] : 0 <= y < H - 2 and 0 <= x < W - 2 and y <= a <= y + 2 }",
    )
    assert has_writes(
        scop,
        "[H, W] -> { bx[y, x] -> bx[y, x] : 0 <= y < H and 0 <= x < W - 2;"
        " out[y, x] -> out[y, x] : 0 <= y < H - 2 and 0 <= x < W - 2 }",
    )
    assert shape(scop.nest) == [
        ["y", 1, [["x", 1, ["bx"]]]],
        ["y", 1, [["x", 1, ["out"]]]],
    ]


def test_blur_spans_point_at_the_very_text() -> None:
    scop = parse_c(BLUR)
    statement = scop.statement("bx")
    assert statement.span is not None
    line = statement.span.source.line(statement.span.line)
    texts = [
        line[a.span.column - 1 : a.span.column - 1 + a.span.length]
        for a in statement.reads
        if a.span is not None
    ]
    assert texts == ["img[y][x]", "img[y][x + 1]", "img[y][x + 2]"]
    assert line[statement.span.column - 1 :].startswith("bx[y][x] = (img")


def test_gemm_in_a_region_with_scalars_and_a_reduction() -> None:
    scop = parse_c("""
    void gemm(int M, int N, int K, float alpha, float beta,
              float C[M][N], const float A[M][K], const float (*B)[N])
    {
    #pragma scop
      for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
          C[i][j] *= beta;
          for (int k = 0; k < K; ++k)
            C[i][j] += alpha * A[i][k] * B[k][j];
        }
    #pragma endscop
    }
    """)
    verify(scop)
    assert scop.params == ("M", "N", "K")
    assert roles(scop) == {"alpha": "in", "beta": "in", "C": "inout", "A": "in", "B": "in"}
    assert [s.name for s in scop.statements] == ["C_0", "C_1"]
    assert scop.statement("C_1").reduction == "add"
    assert scop.array("alpha").rank == 0
    extent = scop.array("B").extents[0]
    assert extent.is_equal(scop.array("A").extents[1])
    assert shape(scop.nest) == [["i", 1, [["j", 1, ["C_0", ["k", 1, ["C_1"]]]]]]]


def test_conv_with_initialisation_reduction_and_relu() -> None:
    scop = parse_c("""
    #define MAX(a, b) ((a) > (b) ? (a) : (b))
    void conv(int H, int W, int KH, int KW, float A[H][W], const float B[KH][KW],
              float C[H - KH + 1][W - KW + 1])
    {
      for (int h = 0; h < H; h++)
        for (int w = 0; w < W; w++)
          A[h][w] = A[h][w] * 0.5f;
      for (int h = 0; h <= H - KH; h++)
        for (int w = 0; w <= W - KW; w++) {
          C[h][w] = 0;
          for (int kh = 0; kh < KH; kh++)
            for (int kw = 0; kw < KW; kw++)
              C[h][w] += A[h + kh][w + kw] * B[kh][kw];
        }
      for (int h = 0; h <= H - KH; h++)
        for (int w = 0; w <= W - KW; w++)
          C[h][w] = MAX(C[h][w], 0);
    }
    """)
    verify(scop)
    assert roles(scop) == {"A": "inout", "B": "in", "C": "out"}
    assert [s.name for s in scop.statements] == ["A", "C_0", "C_1", "C_2"]
    assert scop.context.is_equal(parse_set("[H, W, KH, KW] -> { : 1 <= KH <= H and 1 <= KW <= W }"))


def test_triangular_solve_going_down() -> None:
    scop = parse_c("""
    void solve(int n, const double L[n][n], double x[n], const double b[n]) {
      int i, j;
      for (i = n - 1; i >= 0; i--) {
        x[i] = b[i];
        for (j = i + 1; j < n; ++j) x[i] -= L[i][j] * x[j];
        x[i] /= L[i][i];
      }
    }
    """)
    verify(scop)
    assert roles(scop) == {"L": "in", "x": "out", "b": "in"}
    (outer,) = scop.nest
    assert isinstance(outer, Loop)
    assert outer.step == -1
    assert has_domain(
        scop,
        "[n] -> { x_0[i] : 0 <= i < n; x_1[i, j] : 0 <= i < j < n; x_2[i] : 0 <= i < n }",
    )
    assert same_map(
        scop.schedule,
        parse_union_map(
            "[n] -> { x_0[i] -> [0, -i, 0, 0, 0] : 0 <= i < n;"
            " x_1[i, j] -> [0, -i, 1, j, 0] : 0 <= i < j < n;"
            " x_2[i] -> [0, -i, 2, 0, 0] : 0 <= i < n }"
        ).intersect_params(scop.context),
    )


def test_jacobi_keeps_its_borders() -> None:
    body = "0.2 * ({0}[i][j] + {0}[i][j - 1] + {0}[i][1 + j] + {0}[1 + i][j] + {0}[i - 1][j])"
    sweep = "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) {1}[i][j] = " + body
    scop = parse_c(
        "void jacobi(int T, int n, double A[n][n], double B[n][n]) {\n"
        f"for (int t = 0; t < T; t++) {{ {sweep.format('A', 'B')}; {sweep.format('B', 'A')}; }} }}"
    )
    verify(scop)
    assert roles(scop) == {"A": "inout", "B": "inout"}
    assert scop.params == ("T", "n")
    assert scop.context.is_equal(parse_set("[T, n] -> { : n >= 1 }"))
    assert len(scop.statement("A").reads) == 5


def test_harris_like_locals_are_private_to_their_iterations() -> None:
    scop = parse_c("""
    void harris(int H, int W, const float g[H][W], float out[H - 4][W - 4]) {
      for (int y = 2; y < H - 2; y++)
        for (int x = 2; x < W - 2; x++) {
          float sxx = 0, syy = 0;
          for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
              float ix = (g[y + dy][x + dx + 1] - g[y + dy][x + dx - 1]) / 12.0f;
              sxx += ix * ix;
              syy = syy + ix;
            }
          const float det = sxx * syy;
          out[y - 2][x - 2] = det - 0.04f * (sxx + syy) * (sxx + syy);
        }
    }
    """)
    verify(scop)
    assert [a.name for a in scop.arrays] == ["g", "out", "sxx", "syy", "ix", "det"]
    ix = scop.array("ix")
    assert (ix.role, ix.private, ix.rank) == ("temp", 4, 4)
    assert ix.elements(scop.params).is_equal(
        parse_set(
            "[H, W] -> { ix[y, x, dy, dx] : 2 <= y < H - 2 and 2 <= x < W - 2"
            " and -1 <= dy <= 1 and -1 <= dx <= 1 }"
        )
    )
    assert scop.statement("sxx_1").reduction == "add"
    domain = "0 <= dy + 1 <= 2 and 0 <= dx + 1 <= 2 and 2 <= y < H - 2 and 2 <= x < W - 2"
    assert same_map(
        scop.statement("sxx_1").write.relation,
        parse_union_map(f"[H, W] -> {{ sxx_1[y, x, dy, dx] -> sxx[y, x] : {domain} }}"),
    )


def test_modulo_guards_and_assumptions() -> None:
    scop = parse_c("""
    void mod(long n, int a[n], const int b[n], int k) {
    #pragma polyopt assume(n % 2 == 0 && n >= 4)
      long h = n / 2;
      for (long i = 0; i < n; i += 2) {
        if (i % 4 == 0 && !(i == 8)) a[i / 2] = b[i] * k;
        else if (i > h || i % 3 == 1) a[i / 2] += b[i > 0 ? i - 1 : 0];
        a[i / 2]++;
      }
    }
    """)
    verify(scop)
    assert scop.params == ("n",)
    assert scop.array("k").rank == 0
    assert scop.context.is_equal(parse_set("[n] -> { : n mod 2 = 0 and n >= 4 }"))
    even = "0 <= i < n and i mod 2 = 0"
    first = "(i mod 4 = 0 and i != 8)"
    assert has_domain(
        scop,
        f"[n] -> {{ a_0[i] : {even} and {first};"
        f" a_1[i] : {even} and (i mod 4 != 0 or i = 8) and (2 i > n or i mod 3 = 1);"
        f" a_2[i] : {even} }}",
    )
    assert has_writes(
        scop,
        f"[n] -> {{ a_0[i] -> a[h] : 2 h = i and {even} and {first};"
        f" a_1[i] -> a[h] : 2h = i and {even} and (i mod 4 != 0 or i = 8)"
        f" and (2 i > n or i mod 3 = 1); a_2[i] -> a[h] : 2 h = i and {even} }}",
    )
    read = scop.statement("a_1").reads[1]
    assert read.exact
    cond = f"{even} and (i mod 4 != 0 or i = 8) and (i > floor(n / 2) or i mod 3 = 1)"
    shifted = f"{cond} and ((i > 0 and j = i - 1) or (i <= 0 and j = 0))"
    expected = parse_union_map(f"[n] -> {{ a_1[i] -> b[j] : {shifted} }}")
    assert same_map(
        read.relation.intersect_params(scop.context), expected.intersect_params(scop.context)
    )


@pytest.mark.parametrize("region", [True, False])
def test_a_region_leaves_the_rest_of_its_function_alone(region: bool) -> None:  # noqa: FBT001
    marks = ("#pragma scop", "#pragma endscop") if region else ("", "")
    scop = parse_c(
        "void f(int n, float a[n]) {\n int i;\n"
        f"{marks[0]}\n for (i = 0; i < n; i++) a[i] = 1;\n{marks[1]}\n"
        f"{'while (n) report(a);' if region else ''}\n}}"
    )
    assert [s.name for s in scop.statements] == ["a"]
    assert roles(scop) == {"a": "out"}


def test_which_function() -> None:
    two = "void f(float a[3]) { a[0] = 1; }\nvoid g(int n, float b[n]) { b[0] = 1; }"
    assert parse_c(two, function="g").name == "g"
    assert parse_c(two, function="f").params == ()


def test_a_helper_of_one_return_is_replaced_by_its_value() -> None:
    scop = parse_c("""
    static inline float square(float v) { return v * v; }
    void f(int n, double a[n]) { for (int i = 0; i < n; i++) a[i] = square(a[i]); }
    """)
    verify(scop)
    assert scop.name == "f"
    assert len(scop.statement("a").reads) == 2


def test_file_and_included_header(tmp_path: Path) -> None:
    (tmp_path / "real.h").write_text("typedef float real;\n#define SCALE 3\n")
    path = tmp_path / "p.c"
    path.write_text(
        '#include "real.h"\n#include <math.h>\n\nvoid f(int n, real a[n]) {\n'
        "  for (int i = 0; i < n; i++)\n    a[i] = SCALE * a[i];\n}\n"
    )
    for scop in (parse_c(path), parse_c(str(path))):
        verify(scop)
        span = scop.statement("a").span
        assert span is not None
        assert (span.line, span.column) == (6, 5)
        assert str(span).startswith(str(path))


def test_defines_and_params() -> None:
    text = "void f(int n, int k, int a[N]) { for (int i = 0; i < N; i++) a[i] = k * n; }"
    scop = parse_c(text, defines={"N": 7})
    assert scop.params == ()
    assert [a.name for a in scop.arrays] == ["n", "k", "a"]
    assert parse_c(text, defines={"N": 7}, params=["k"]).params == ("k",)
    assert same_set(scop.domain, parse_union_set("{ a[i] : 0 <= i < 7 }"))


@pytest.mark.parametrize(
    ("before", "declared", "used"),
    [
        ("", "int M_PI", "M_PI"), ("", "double *restrict DBL_MAX", "DBL_MAX[0]"),
        ("", "unsigned long time_t", "time_t"), ("", "const float FILE", "FILE"),
        ("typedef short uint;", "uint k", "k"), ("", "double delta_t", "delta_t * M_PI"),
        ("", "int k", "(double)k * DBL_MAX + M_E"),
    ],
)  # fmt: skip
def test_names_of_headers_may_be_the_program_s_own(before, declared, used):
    text = f"{before}\nvoid f(int n, {declared}, double a[n]) {{\n"
    scop = parse_c(f"{text}for (int i = 0; i < n; i++) a[i] = {used}; }}")
    assert len(scop.statements) == 1


LOCAL_LIKE_AN_ITERATOR = """
void f(int n, const double a[n], double b[n], double c[n])
{
    for (int q = 0; q < n; q++)
        c[q] = a[q] + q;
    for (int i = 0; i < n; i++) {
        const double q = a[i] * 2;
        double r = q;
        for (int q = 0; q < 3; q++)
            r = r + q;
        b[i] = r - q;
    }
}
"""


def test_a_local_may_be_called_as_the_iterator_of_another_loop():
    given = np.arange(4.0) ** 2
    zero = np.zeros(4)
    found = interpret(parse_c(LOCAL_LIKE_AN_ITERATOR), {"n": 4}, {"a": given, "b": zero, "c": zero})
    assert found["b"].tolist() == [3.0] * 4
    assert found["c"].tolist() == (given + np.arange(4)).tolist()


def test_a_local_like_an_iterator_in_a_region(tmp_path: Path):
    text = LOCAL_LIKE_AN_ITERATOR.replace("{\n    for", "{\n#pragma scop\n    for", 1)
    path = tmp_path / "f.c"
    path.write_text(text.rstrip()[:-1] + "#pragma endscop\n}\n", encoding="utf-8")
    (region,) = rewrite(path).regions
    assert region.error is None
    assert region.plan is not None
    assert region.plan.scop.statements[-1].array == "b"
