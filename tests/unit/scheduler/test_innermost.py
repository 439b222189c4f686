"""Which loop comes innermost: the one that walks along rows, of what is read as well."""

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret

ROW_SUMS = """
void sums(int H, int W, const float a[H][W], float out[H]) {
  for (int y = 0; y < H; y++) {
    out[y] = 0;
    for (int x = 0; x < W; x++)
      out[y] += a[y][x];
  }
}
"""

COLUMN_SUMS = ROW_SUMS.replace("a[y][x]", "a[x][y]").replace("a[H][W]", "a[W][H]")


def test_sums_of_rows_run_side_by_side_and_are_shared_between_threads() -> None:
    plan = po.auto(po.parse_c(ROW_SUMS), target="avx2")
    assert str(plan).splitlines() == [
        "for out.y2:  # parallel",
        "  out_0: out[y] = 0.0",
        "for out.y_jam:  # parallel",
        "  for out.x:",
        "    for out.y:  # unroll",
        "      out_1: out[y] = out[y] + a[y, x]",
    ]


def test_sums_of_columns_are_vectors_along_a_row() -> None:
    plan = po.auto(po.parse_c(COLUMN_SUMS), target="avx2")
    marks = {line.split(":")[0].strip(): line for line in str(plan).splitlines()}
    assert "# vector" in marks["for out.y"]


def test_the_inner_loop_of_a_product_walks_along_two_of_its_matrices() -> None:
    plan = po.auto(po.load_kernel("gemm").scop, target="avx2")
    assert any("# vector" in line and ".j" in line for line in str(plan).splitlines())


@pytest.mark.parametrize("kind", ["int", "float"])
def test_updates_that_need_each_other_are_rows_one_by_one(kind, tmp_path):
    """Eight columns in one pass would be no vector loop: the second needs what the first gives."""
    text = f"""void f(int N, {kind} c[N][N], {kind} x[N]) {{
        for (int j = 0; j < N; j++) {{
            x[j] = x[j] + c[j][j];
            for (int k = 0; k < j; k++)
                x[j] = x[j] + x[k] * c[k][j];
        }}
    }}"""
    scop = po.parse_c(text)
    plan = po.auto(scop, target="avx512", sizes={"N": 2000})
    path = plan.program.places["x_1"].loops
    assert [loop.mark for loop in path] == ["", "vector"]
    assert path[-1].name == "x.j"
    kernel = plan.compile(cache=tmp_path, contract=False)
    rng = np.random.default_rng(0)
    for size in (1, 2, 50):
        given = {name: rng.integers(-9, 9, (size,) * rank).astype(scop.array("x").type.numpy_name)
                 for name, rank in (("c", 2), ("x", 1))}  # fmt: skip
        expected = interpret(scop, {"N": size}, given)["x"]
        kernel(**given)
        np.testing.assert_array_equal(given["x"], expected)


def test_loops_side_by_side_are_written_out_by_the_sum_of_their_iterations(tmp_path) -> None:
    """Five elements are copied, then sorted by ten comparisons: no more than fifteen iterations."""
    scop = po.load_kernel("median_sorted").scop
    plan = po.auto(scop, target="avx2", sizes={"n": 1_000_000})
    marks = {loop.name: loop.mark for loop in plan.program.places["v_1"].loops}
    assert marks["out.i"] == "vector"
    assert marks["v.p"] == marks["v.q"] == "unroll"
    x = np.random.default_rng(1).random(104, dtype=np.float32)
    views = np.lib.stride_tricks.sliding_window_view(x, 5)
    np.testing.assert_array_equal(plan.compile(cache=tmp_path)(x=x), np.median(views, axis=1))


CHANNELS = """
void channels(int N, int C, int H, int W, const float x[N][C][H][W], float sum[C])
{
    for (int c = 0; c < C; c++) {
        sum[c] = 0;
        for (int n = 0; n < N; n++)
            for (int y = 0; y < H; y++)
                for (int i = 0; i < W; i++)
                    sum[c] += x[n][c][y][i];
    }
}
"""


def test_sums_over_several_loops_run_side_by_side_as_well() -> None:
    plan = po.auto(po.parse_c(CHANNELS), target="avx2", sizes=dict.fromkeys("NCHW", 64))
    assert str(plan).splitlines()[2:] == [
        "for sum.c_jam:  # parallel",
        "  for sum.n:",
        "    for sum.y:",
        "      for sum.i:",
        "        for sum.c:  # unroll",
        "          sum_1: sum[c] = sum[c] + x[n, c, y, i]",
    ]
    x = np.random.default_rng(0).random((2, 19, 3, 5), dtype=np.float32)
    np.testing.assert_allclose(plan.compile()(x), x.sum((0, 2, 3)), rtol=1e-5)


MOMENTS = """
void moments(int H, int W, const float a[H][W], float mean[H - 6][W - 6], float square[H - 6][W - 6])
{
    for (int y = 0; y < H - 6; y++)
        for (int x = 0; x < W - 6; x++) {
            float s = 0, q = 0;
            for (int i = 0; i < 7; i++)
                for (int j = 0; j < 7; j++) {
                    float v = a[y + i][x + j];
                    s += v;
                    q += v * v;
                }
            mean[y][x] = s;
            square[y][x] = q;
        }
}
"""


def test_locals_of_loops_that_change_places_stay_in_registers() -> None:
    plan = po.auto(po.parse_c(MOMENTS), target="avx2", sizes={"H": 400, "W": 600})
    kept = {store.array: store.at for store in plan.program.stores}
    assert kept["v"] == plan.program.places["v"].loops[-1].name
    a = np.random.default_rng(0).random((11, 40), dtype=np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(a, (7, 7))
    mean, square = plan.compile()(a)
    np.testing.assert_allclose(mean, windows.sum((2, 3)), rtol=1e-5)
    np.testing.assert_allclose(square, (windows**2).sum((2, 3)), rtol=1e-5)
