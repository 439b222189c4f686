"""What emitted C may not say, because reading it back would not know what it does."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import polyopt as po
from polyopt.codegen.validate.translation import check_code
from polyopt.errors import PolyoptError

SOURCE = """
void f(int N, int M, const float a[N][M + 2], float out[N][M])
{
    float t[N][M + 2];
    for (int y = 0; y < N; y++)
        for (int x = 0; x < M + 2; x++)
            t[y][x] = 2 * a[y][x];
    for (int y = 0; y < N; y++)
        for (int x = 0; x < M; x++)
            out[y][x] = t[y][x] + t[y][x + 2];
}
"""


def refuses(scop, program, before, after):
    """The program is shown to be right; with some text changed it is not."""
    assert before in program.source
    check_code(scop, program)
    changed = replace(program, source=program.source.replace(before, after, 1))
    with pytest.raises(PolyoptError):
        check_code(scop, changed)


@pytest.fixture(scope="module")
def made():
    scop = po.parse_c(SOURCE)
    plan = po.Plan(scop).tile("out", y=4, x=16).fuse("t", into="out")
    return scop, plan.parallelize("out.y_tile").vectorize("out.x", 8).emit()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#pragma omp parallel for", "#pragma omp parallel"),
        ("omp parallel for num_threads(threads)", "omp parallel for collapse(2)"),
        ("num_threads(threads)", "num_threads(4)"),
        ("num_threads(threads) schedule", "num_threads(threads) lastprivate(N) schedule"),
        ("schedule(dynamic,", "schedule(static,"),
        ("#pragma omp simd", "#pragma omp simd linear(x : 2)"),
        ("#pragma omp simd", "#pragma omp simd nontemporal(out)"),
        ("#pragma omp simd safelen(8)", "#pragma omp parallel for"),
        ("#pragma omp simd safelen(8)", "#pragma GCC ivdep"),
        ("#pragma omp simd safelen(8)", "#pragma omp simd simdlen(8) reduction(- : y)"),
        ("_Alignas(64) float t_tile", "static _Alignas(64) float t_tile"),
        ("_Alignas(64) float t_tile", "static float t_tile"),
        ("for (int64_t x = ", "for (int8_t x = "),
        ("for (int64_t y_tile = ", "for (uint32_t y_tile = "),
        ("return 0;", "return 1;"),
        ("return 0;", "out[0][0] = 0;\n    return 0;\n    release(out);"),
        ("    (void)threads;", "    return 0;"),
        ("    (void)threads;", "    if (N > 100) {\n        return 0;\n    }"),
        ("threads = 1;", "threads = 0;"),
        ("a < b ? a : b", "a < b ? b : a"),
    ],
)
def test_what_is_not_emitted_is_refused(made, before, after):
    scop, program = made
    refuses(scop, program, before, after)


SUMS = """
void f(int M, int N, const float A[M][N], const float x[N], float y[M])
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            y[i] += A[i][j] * x[j];
}
"""
LESS = SUMS.replace("+=", "-=")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("reduction(+", "reduction(*"),
        ("reduction(+", "reduction(min"),
        ("y_sum + A[i][j]", "y_sum * A[i][j]"),
        ("y_sum + A[i][j]", "x[j] - y_sum * A[i][j]"),
        ("x[j];", "x[j] + y_sum;"),
    ],
)
def test_lanes_only_add_to_their_sums(before, after):
    scop = po.parse_c(SUMS)
    program = po.Plan(scop).reassociate("y").vectorize("y.j").emit()
    refuses(scop, program, before, after)


def test_lanes_may_take_away_from_their_sums():
    scop = po.parse_c(LESS)
    program = po.Plan(scop).reassociate("y").vectorize("y.j").emit()
    assert "y_sum - A" in program.source
    assert "not shown" not in check_code(scop, program).detail


LARGEST = """
void f(int M, int N, const float A[M][N], float y[M])
{
    for (int i = 0; i < M; i++) {
        y[i] = A[i][0];
        for (int j = 0; j < N; j++)
            y[i] = (A[i][j] < y[i]) | (y[i] != y[i]) ? y[i] : A[i][j];
    }
}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("reduction(max_or_nan", "reduction(min_or_nan"),
        ("reduction(max_or_nan", "reduction(max"),
        ("reduction(max_or_nan", "reduction(+"),
        (" reduction(max_or_nan : y_sum)", ""),
        ("omp_in < omp_out", "omp_in > omp_out"),
        (" | (omp_out != omp_out)", ""),
        ("omp_priv = -", "omp_priv = "),
        ("A[i][j] < y_sum", "A[i][j] > y_sum"),
        ("(y_sum != y_sum)", "(A[i][j] != A[i][j])"),
        (" | (y_sum != y_sum)", ""),
        ("? y_sum : A[i][j]", "? A[i][j] : y_sum"),
        (": A[i][j];", ": A[i][0];"),
    ],
)
def test_lanes_of_extremes_only_keep_the_greater_and_what_is_no_number(before, after):
    scop = po.parse_c(LARGEST)
    program = po.Plan(scop).reassociate("y_1").vectorize("y.j").emit()
    assert before in program.source
    assert "for all sizes" in check_code(scop, program).detail
    changed = replace(program, source=program.source.replace(before, after, 1))
    with pytest.raises(PolyoptError):
        check_code(scop, changed)


PARTS = """
void f(int N, const double a[N], double s[1])
{
    s[0] = 0.0;
    for (int i = 0; i < N; i++)
        s[0] += a[i];
}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("N / 4 * 2]", "N / 4]"),
        ("i < N / 4;", "i < N / 4 - 1;"),
        ("i = N / 4 * 4", "i = N / 4 * 3"),
        ("s_sum = s_sum + s_sum3;\n", "\n"),
        ("double s_sum3 = 0.0", "double s_sum3 = 1.0"),
        (" reduction(+ : s_sum4)", ""),
    ],
)
def test_parts_of_a_sum_are_all_of_it(before, after):
    scop = po.parse_c(PARTS)
    program = po.Plan(scop).reassociate("s_1").vectorize("s.i").emit()
    refuses(scop, program, before, after)


@pytest.mark.parametrize("other", ["t", "u[0]"])
def test_lanes_of_a_sum_share_nothing_else(other):
    head, rest = "double t = 0.0;\n double u[1];\n u[0] = 0.0;\n", "reduction(+ : y_sum)"
    scop = po.parse_c(SUMS)
    program = po.Plan(scop).reassociate("y").vectorize("y.j").emit()
    source = program.source.replace("(void)threads;", f"(void)threads;\n{head}")
    more = re.sub(r"(y_sum = y_sum [^\n]*\n)", rf"\1{other} = {other} + 1.0;\n", source, count=1)
    assert more != source
    assert rest in more
    check_code(scop, replace(program, source=source))
    with pytest.raises(PolyoptError):
        check_code(scop, replace(program, source=more))


BUFFERS = """
void f(int N, const float a[N], float out[N])
{
    float t[N];
    float u[N];
    for (int i = 0; i < N; i++)
        t[i] = 2 * a[i];
    for (int i = 0; i < N; i++)
        u[i] = t[N - 1 - i];
    for (int i = 0; i < N; i++)
        out[i] = u[N - 1 - i];
}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if (!t || !u)", "if (!t && !u)"),
        ("if (!t || !u)", "if (!t)"),
        ("release(t); release(u);\n        return 1;", "release(t);\n        return 1;"),
        (
            "release(t); release(u);\n        return 1;",
            "release(t); release(u);\n        return 0;",
        ),
        ("    release(t);\n    release(u);\n    return 0;", "    release(t);\n    return 0;"),
        ("(bytes + 63) / 64 * 64", "bytes / 2"),
        ("    for (int64_t i = 0;", "    release(t);\n    for (int64_t i = 0;"),
    ],
)
def test_memory_comes_and_goes_once(before, after):
    scop = po.parse_c(BUFFERS)
    program = po.Plan(scop).emit()
    refuses(scop, program, before, after)
