"""Which loop comes innermost: the one that walks along rows, of what is read as well."""

import polyopt as po

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
        "  out_0: out[...] = ...",
        "for out.y_jam:  # parallel",
        "  for out.x:",
        "    for out.y:  # unroll",
        "      out_1: out[...] = ...",
    ]


def test_sums_of_columns_are_vectors_along_a_row() -> None:
    plan = po.auto(po.parse_c(COLUMN_SUMS), target="avx2")
    marks = {line.split(":")[0].strip(): line for line in str(plan).splitlines()}
    assert "# vector" in marks["for out.y"]


def test_the_inner_loop_of_a_product_walks_along_two_of_its_matrices() -> None:
    plan = po.auto(po.load_kernel("gemm").scop, target="avx2")
    assert any("# vector" in line and ".j" in line for line in str(plan).splitlines())
