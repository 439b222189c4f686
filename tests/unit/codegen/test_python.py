"""Programs as Python functions: what they compute, how they read, what they cannot say."""

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.bench.peers.numba import loops_text
from polyopt.bench.suites import members
from polyopt.codegen.python.program import python_text
from polyopt.errors import UnsupportedError

TRIANGLE = """
void f(int N, double s, const double b[restrict N], double A[restrict N][N], double x[restrict N])
{
#pragma scop
    for (int i = N - 1; i >= 0; i--) {
        double w = b[i];
        for (int j = i + 1; j < N; j++)
            w -= A[i][j] * x[j];
        x[i] = s * w;
    }
    for (int i = 0; i < N; i++)
        for (int j = 1; j < N; j += 2)
            A[i][j] = A[i][j - 1] + 0.1f;
#pragma endscop
}
"""
NARROW = """
#include <stdint.h>
void f(int N, const uint8_t a[restrict N], const int b[restrict N], uint8_t c[restrict N],
       int d[restrict N])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        c[i] = a[i] * a[i] + (a[i] - b[i] < 0 ? 1 : 2);
        d[i] = (b[i] - 7) / 3 + (b[i] - 7) % 4;
    }
#pragma endscop
}
"""


def run(text, given):
    names = {"np": np, "prange": range}
    exec(text, names)  # noqa: S102 (written by polyopt)
    with np.errstate(all="ignore"):
        names["loops"](*given)


def text_of(source, *, parallel=False):
    return loops_text(po.parse_c(source), parallel=parallel)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("name", members("affine"))
def test_loops_in_python_compute_what_the_reference_does(name, parallel):
    kernel = po.load_kernel(name)
    scop, sizes = kernel.scop, kernel.sizes["test"]
    inputs = kernel.inputs(sizes, np.random.default_rng(1))
    expected = kernel.reference(**inputs, **sizes)
    results = {n: np.array(inputs.get(n, np.zeros_like(a))) for n, a in expected.items()}
    values = {**sizes, **inputs, **results}
    run(loops_text(scop, parallel=parallel), [values[n] for n in scop.signature])
    for array, values in expected.items():
        np.testing.assert_allclose(results[array], values, rtol=1e-4, atol=1e-5)


def test_small_numbers_wrap_as_in_c():
    scop = po.parse_c(NARROW)
    a, b = np.array([0, 15, 16, 255], np.uint8), np.array([1, 5, 30, -40], np.int32)
    c, d = np.zeros(4, np.uint8), np.zeros(4, np.int32)
    run(loops_text(scop, parallel=False), [4, a, b, c, d])
    expected = interpret(scop, {"N": 4}, {"a": a, "b": b})
    np.testing.assert_array_equal(c, expected["c"])
    np.testing.assert_array_equal(d, expected["d"])


BY_HAND = """\
def loops(N, s, b, A, x):
    for i in range(N - 1, -1, -1):
        w_tile = b[i]
        for j in range(i + 1, N):
            w_tile = w_tile - A[i, j] * x[j]
        x[i] = s * w_tile
    for i in prange(N):
        for j in range(1, N, 2):
            A[i, j] = A[i, j - 1] + 0.10000000149011612"""


def test_the_text_reads_as_written_by_hand():
    assert text_of(TRIANGLE, parallel=True) == BY_HAND


def test_names_of_python_are_not_taken():
    text = text_of("void f(int range, double np[range]) {\n#pragma scop\n"
                   "for (int min = 0; min < range; min++) np[min] = 0;\n#pragma endscop\n}")  # fmt: skip
    assert text.splitlines()[0] == "def loops(range2, np2):"
    assert text.splitlines()[1] == "    for min2 in range(range2):"


def test_buffers_of_tiles_are_made_in_them():
    kernel = po.load_kernel("blur")
    plan = po.Plan(kernel.scop).tile("out", y=4, x=8).fuse("bx", into="out")
    text = python_text(plan.program, "loops")
    assert "            bx_tile = np.empty((6, 8), np.uint16)" in text.splitlines()
    img = np.random.default_rng(0).integers(0, 256, (13, 19)).astype(np.uint16)
    out = np.zeros((11, 17), np.uint16)
    values = {"img": img, "out": out, "H": 13, "W": 19}
    run(text, [values[n] for n in kernel.scop.signature])
    np.testing.assert_array_equal(out, kernel.reference(img=img, H=13, W=19)["out"])


def test_what_python_cannot_say_is_refused():
    with pytest.raises(UnsupportedError, match="control that depends on data"):
        loops_text(po.load_kernel("smvp").scop, parallel=False)


def test_numbers_are_of_64_bits_where_the_source_is():
    source = """
void f(int N, const int u[N], const short s[N], long y[N])
{
    for (int i = 0; i < N; i++)
        for (long k = 3; k < 4; k++)
            y[i] = u[i] * k + s[i] * 100000;
}
"""
    plan = po.Plan(po.parse_c(source)).unroll("y.k")
    u = np.array([2**31 - 1, -(2**31), -1, 0], np.int32)
    s, y = np.array([20000, -20000, 1, 0], np.int16), np.zeros(4, np.int64)
    run(python_text(plan.program, "loops"), [4, u, s, y])
    np.testing.assert_array_equal(y, u.astype(np.int64) * 3 + s.astype(np.int64) * 100000)
