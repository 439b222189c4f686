"""Blocks in registers: the same sums in the same order, at any size, or plain loops."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret

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
    return plan.unroll("C.i").vectorize("C.j", 4).register_tile("C.k")


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
    source = blocked(PRODUCT, scaled=True).emit().source.partition("*/")[2]  # without the plan
    assert source.count("alpha *") == 1
    assert "= alpha * A[" in source


def test_an_operand_without_a_buffer_leaves_the_loops_as_they_are() -> None:
    plan = po.Plan(po.parse_c(PRODUCT)).tile("C", i=4, j=8)
    plan = plan.reorder("C.i_tile", "C.j_tile", "C.k", "C.i", "C.j").unroll("C.i")
    plan = plan.vectorize("C.j", 4).register_tile("C.k")
    assert "f32x4" not in plan.emit().source


def test_a_loop_without_a_nest_has_no_block() -> None:
    plan = po.Plan(po.parse_c(PRODUCT))
    with pytest.raises(po.errors.NotPermutableError, match="no block to keep in registers"):
        plan.register_tile("C.k")


def test_packs_say_what_they_cannot_do() -> None:
    plan = po.Plan(po.parse_c(TRIANGLE))
    with pytest.raises(po.errors.InvalidOptionError, match="no order of its dimensions"):
        plan.pack("A", at="C.i", order=(0, 0))
    with pytest.raises(po.errors.InvalidOptionError, match="is read at 2 places"):
        plan.pack("A", at="C.i", scaled=True)


STARTED = """
void sums(int N, int K, const float A[N][8][K], const float B[N][K][16], float C[N][8][16])
{
    for (int n = 0; n < N; n++) {
        for (int i = 0; i < 8; i++)
            for (int j = FROM; j < 16; j++)
                C[n][i][j] = START;
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 16; j++)
                for (int k = 0; k < K; k++)
                    C[n][i][j] += A[n][i][k] * B[n][k][j];
    }
}
"""


def started(start: str, first: int = 0) -> po.Plan:
    text = STARTED.replace("START", start).replace("FROM", str(first))
    plan = po.Plan(po.parse_c(text)).reorder("C_1.k", "C_1.i", "C_1.j")
    return plan.unroll("C_1.i").vectorize("C_1.j", 8).register_tile("C_1.k")


def test_whole_blocks_are_loaded_and_stored_where_they_are() -> None:
    source = started("1.5f").emit().source
    assert "f32x8 C_block_0_0 = *(f32x8_at *)&C[n][0][0];" in source
    assert "*(f32x8_at *)&C[n][7][8] = C_block_7_1;" in source
    assert "C_block[" not in source
    edges = blocked(PRODUCT).emit().source  # blocks may end beyond the array
    assert "C_block[" in edges


@pytest.mark.parametrize(
    ("start", "first", "dropped"),
    [("0", 0, True), ("0.0f", 0, True), ("-0.0f", 0, False), ("2.0f", 0, False), ("0", 1, False)],
)
def test_sums_start_from_the_zeros_that_all_of_them_get(
    start: str, first: int, *, dropped: bool
) -> None:
    plan = started(start, first)
    source = plan.emit().source
    assert ("= {0};" in source) is dropped
    assert ("for (int64_t i" in source) is not dropped
    rng = np.random.default_rng(3)
    shapes = (2, 8, 5), (2, 5, 16), (2, 8, 16)
    a, b, c = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    wanted = c.copy()
    wanted[:, :, first:] = float(start.strip("f"))
    for k in range(5):
        wanted += a[:, :, k, None] * b[:, k, None, :]
    plan.compile(contract=False)(A=a, B=b, out=c)
    assert np.array_equal(c, wanted)
    assert "for all sizes" in str(plan.prove(code=True))


def test_what_stands_between_zeros_and_sums_keeps_both_in_memory() -> None:
    between = STARTED.replace("START", "0").replace("FROM", "0").replace(
        "        for (int i = 0; i < 8; i++)\n            for (int j = 0; j < 16; j++)\n"
        "                for (int k",
        "        D[n] = C[n][0][0];\n"
        "        for (int i = 0; i < 8; i++)\n            for (int j = 0; j < 16; j++)\n"
        "                for (int k",
    ).replace("float C[N][8][16])", "float C[N][8][16], float D[N])")  # fmt: skip
    plan = po.Plan(po.parse_c(between)).reorder("C_1.k", "C_1.i", "C_1.j")
    source = plan.unroll("C_1.i").vectorize("C_1.j", 8).register_tile("C_1.k").emit().source
    assert "= *(f32x8_at *)&C[n][0][0];" in source
    assert "= {0}" not in source


def test_sums_that_several_blocks_add_to_start_from_zero_once() -> None:
    text = """
    void sums(int N, int K, int S, const float A[N][S][8][K], const float B[N][S][K][16],
              float C[N][8][16])
    {
        for (int n = 0; n < N; n++) {
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 16; j++)
                    C[n][i][j] = 0;
            for (int s = 0; s < S; s++)
                for (int i = 0; i < 8; i++)
                    for (int j = 0; j < 16; j++)
                        for (int k = 0; k < K; k++)
                            C[n][i][j] += A[n][s][i][k] * B[n][s][k][j];
        }
    }
    """
    plan = po.Plan(po.parse_c(text)).reorder("C.k", "C_1.i", "C_1.j")
    plan = plan.unroll("C_1.i").vectorize("C_1.j", 8).register_tile("C.k")
    source = plan.emit().source
    assert "C_block_0_0 = *(f32x8_at *)&C[n][0][0];" in source
    assert "= {0}" not in source
    rng = np.random.default_rng(4)
    shapes = (2, 3, 8, 5), (2, 3, 5, 16), (2, 8, 16)
    a, b, c = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    wanted = np.zeros_like(c)
    for s in range(3):
        for k in range(5):
            wanted += a[:, s, :, k, None] * b[:, s, k, None, :]
    plan.compile(contract=False)(A=a, B=b, out=c)
    assert np.array_equal(c, wanted)


def nest(target: str, k: str = "k = 0; k < K", guard: str = "", around: str = "%s") -> str:
    """Sums of ``a[n][k][i] * b[n][k][j]`` over 16 columns, in elements that ``target`` names."""
    sums = f"for (int {k}; k++) for (int i = 0; i < 8; i++) for (int j = 0; j < 16; j++) {guard}"
    sums += f"{target} += a[n][k][i] * b[n][k][j];"
    return (
        "void sums(int N, int K, const float a[N][K][8], const float b[N][K][16], float C[N][9][24],"
        f" float D[N][8][16]) {{ for (int n = 0; n < N; n++) {{ {around % sums} }} }}"
    )


def planned(text: str) -> po.Plan:
    """The one sum in ``text``, in a block of rows and columns."""
    plan = po.Plan(po.parse_c(text))
    (name,) = [s.name for s in plan.scop.statements if s.reads]
    loops = {loop.iterator: loop.name for loop in plan.program.places[name].loops}
    return plan.unroll(loops["i"]).vectorize(loops["j"], 8).register_tile(loops["k"])


def results(plan: po.Plan, terms: int = 13) -> list[np.ndarray]:
    """What the interpreter makes of the source, and the plan's C."""
    rng = np.random.default_rng(5)
    given = {
        array.name: rng.integers(-4, 5, shape).astype(np.float32)
        for array, shape in zip(
            plan.scop.arrays, ((2, terms, 8), (2, terms, 16), (2, 9, 24), (2, 8, 16)), strict=True
        )
    }
    sizes = {name: n for name, n in (("N", 2), ("K", terms)) if name in plan.scop.params}
    wanted = interpret(plan.scop, sizes, given)
    made = plan.compile(contract=False)(**{k: v.copy() for k, v in given.items()})
    made = made if isinstance(made, tuple) else (made,)
    return [*(wanted[name] for name in wanted), *made]


ZEROS = "for (int i = 0; i < {0}; i++) for (int j = 0; j < {1}; j++) C[n][i][j] = 0;"
BOTH = "for (int i = 0; i < 8; i++) for (int j = 0; j < 16; j++) {{ C[n][i][j] = 0; {0} }}"


@pytest.mark.parametrize(
    ("text", "in_vectors", "from_zero"),
    [
        # one element for several places of a block: only the last of them would be stored
        (nest("C[n][0][j]"), False, False),
        (nest("C[n][0][i + j]"), False, False),
        (nest("C[n][0][7 - i + j]"), False, False),
        (nest("C[n][0][i + j]", around=ZEROS.format(1, 24) + " %s"), False, False),
        (nest("C[n][i][j + i]"), True, False),
        # sums that not all rows have the same terms of
        (nest("C[n][i][j]", "k = 0; k < 13", "if (k >= i) ").replace("int K, ", "").replace("[K]", "[13]"), True, False),
        (nest("C[n][i][j]", guard="if (k != 3) "), True, False),
        (nest("C[n][i][j]", guard="if (k != n) "), True, False),
        # zeros of other elements too, after the sums, or of two arrays in one loop
        (nest("C[n][i][j]", around=ZEROS.format(8, 16) + " %s"), True, True),
        (nest("C[n][i][j]", around=ZEROS.format(9, 17) + " %s"), True, False),
        (nest("C[n][i][j]", around=ZEROS.format(7, 16) + " %s"), True, False),
        (nest("C[n][i][j]", around="%s " + ZEROS.format(8, 16)), True, False),
        (nest("C[n][i][j]", around=BOTH.format("D[n][i][j] = 0;") + " %s"), True, False),
    ],
)  # fmt: skip
def test_blocks_hold_what_their_elements_get(
    text: str, *, in_vectors: bool, from_zero: bool
) -> None:
    plan = planned(text)
    source = plan.emit().source
    assert ("f32x8 C_block" in source) is in_vectors
    assert ("= {0};" in source) is from_zero
    wanted, *_ = found = results(plan)
    half = len(found) // 2
    for one, other in zip(found[:half], found[half:], strict=True):
        assert np.array_equal(one, other)
    assert wanted.any()


def test_a_sum_whose_inner_loop_is_unrolled_keeps_its_block() -> None:
    text = """
    void sums(int N, int K, const float a[N][2][3][K][8], const float b[N][2][3][K][16],
              float C[N][8][16])
    {
        for (int n = 0; n < N; n++)
            for (int q = 0; q < 2; q++)
                for (int r = 0; r < 3; r++)
                    for (int k = 0; k < K; k++)
                        for (int i = 0; i < 8; i++)
                            for (int j = 0; j < 16; j++)
                                C[n][i][j] += a[n][q][r][k][i] * b[n][q][r][k][j];
    }
    """
    plan = po.Plan(po.parse_c(text)).unroll("C.r").unroll("C.i").vectorize("C.j", 8)
    plan = plan.register_tile("C.q")
    assert "f32x8 C_block" in plan.emit().source
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-4, 5, (2, 2, 3, 4, n)).astype(np.float32) for n in (8, 16))
    made = plan.compile(contract=False)(a=a, b=b, C=np.zeros((2, 8, 16), np.float32))
    assert np.array_equal(made, np.einsum("nqrki,nqrkj->nij", a, b))


@pytest.mark.parametrize("sizes", [(5, 9, 4), (4, 8, 3), (11, 17, 5)])
def test_blocks_beyond_the_end_of_an_array_are_copied(sizes: tuple[int, int, int]) -> None:
    plan = po.Plan(po.parse_c(PRODUCT)).tile("C", i=4, j=8)
    plan = plan.reorder("C.i_tile", "C.j_tile", "C.k", "C.i", "C.j")
    plan = plan.pack("A", at="C.i_tile").pack("B", at="C.j_tile")
    plan = plan.unroll("C.i").vectorize("C.j", 4).register_tile("C.k")
    assert "C_block[" in plan.emit().source
    m, n, k = sizes
    rng = np.random.default_rng(m)
    a, b, c = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n)))
    wanted = c + 2 * (a @ b)
    plan.compile(contract=False)(alpha=2.0, A=a, B=b, out=c)
    assert np.array_equal(c, wanted)
