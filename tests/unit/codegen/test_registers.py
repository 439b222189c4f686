"""Blocks in registers: the same sums in the same order, at any size, or plain loops."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

PRODUCT = """
void product(int M, int N, int K, float alpha, const float A[M][K], const float B[K][N],
             float C[M][N])
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < K; k++)
                C[i][j] += alpha * A[i][k] * B[k][j];
}
"""
TRIANGLE = """
void triangle(int N, int K, const double A[N][K], double C[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            for (int k = i; k < K; k++)
                C[i][j] += A[i][k] * A[j][k];
}
"""


def blocked(text: str, *, scaled: bool = False) -> po.Plan:
    plan = (
        po.Plan(po.parse_c(text))
        .tile("C", i=8, k=6)
        .tile("C", i=4, j=8)
        .reorder("C.i_tile", "C.k_tile", "C.j_tile", "C.i_tile2", "C.k", "C.i", "C.j")
    )
    if "alpha" in text:
        plan = plan.pack("A", at="C.k_tile", scaled=scaled).pack("B", at="C.j_tile")
    else:
        plan = plan.pack("A", at="C.k_tile", read="C_r1")
        plan = plan.pack("A", at="C.j_tile", read="C_r2", order=(1, 0))
    return plan.unroll("C.i").vectorize("C.j", 4).registers("C.k")


@pytest.mark.parametrize("packing", ["plain", "scaled"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (4, 8, 6), (8, 16, 12), (7, 13, 5), (19, 23, 17)])
def test_products_are_equal_bit_for_bit(sizes: tuple[int, int, int], packing: str) -> None:
    m, n, k = sizes
    rng = np.random.default_rng(m)
    a, b, c = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n)))
    plan = blocked(PRODUCT, scaled=packing == "scaled")
    assert "f32x4" in plan.emit().source
    kernel = plan.compile(contract=False)
    wanted = c.copy()
    for p in range(k):
        wanted += (np.float32(1.5) * a[:, p])[:, None] * b[p]
    kernel(alpha=1.5, A=a, B=b, out=c)
    assert np.array_equal(c, wanted)


@pytest.mark.parametrize("n", [1, 4, 8, 9, 21])
def test_edges_of_a_triangle_are_loops_of_their_own(n: int) -> None:
    rng = np.random.default_rng(n)
    a, c = rng.standard_normal((n, n + 3)), rng.standard_normal((n, n))
    plan = blocked(TRIANGLE)
    source = plan.emit().source
    assert "f64x4" in source
    assert "before" in source
    wanted = c.copy()
    for i in range(n):
        for p in range(i, n + 3):
            wanted[i, : i + 1] += a[i, p] * a[: i + 1, p]
    plan.compile(contract=False)(A=a, out=c)
    assert np.array_equal(c, wanted)


def test_the_buffer_holds_what_scalars_make_of_an_element() -> None:
    source = blocked(PRODUCT, scaled=True).emit().source
    assert source.count("alpha *") == 1
    assert "= alpha * A[" in source


def test_an_operand_without_a_buffer_leaves_the_loops_as_they_are() -> None:
    plan = po.Plan(po.parse_c(PRODUCT)).tile("C", i=4, j=8)
    plan = plan.reorder("C.i_tile", "C.j_tile", "C.k", "C.i", "C.j").unroll("C.i")
    plan = plan.vectorize("C.j", 4).registers("C.k")
    assert "f32x4" not in plan.emit().source


def test_a_loop_without_a_nest_has_no_block() -> None:
    plan = po.Plan(po.parse_c(PRODUCT))
    with pytest.raises(po.errors.NotPermutableError, match="no block to keep in registers"):
        plan.registers("C.k")


def test_packs_say_what_they_cannot_do() -> None:
    plan = po.Plan(po.parse_c(TRIANGLE))
    with pytest.raises(po.errors.InvalidOptionError, match="no order of its dimensions"):
        plan.pack("A", at="C.i", order=(0, 0))
    with pytest.raises(po.errors.InvalidOptionError, match="is read at 2 places"):
        plan.pack("A", at="C.i", scaled=True)
