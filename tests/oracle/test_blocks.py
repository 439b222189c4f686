"""Code that data control: interpreter, unfused C and planned C agree, and the proof covers it."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.errors import (
    NonAffineError,
    NotFusableError,
    OutOfBoundsError,
    ParallelCarriedError,
    PolyoptError,
)
from polyopt.ir.block import Block
from polyopt.ir.expr import RangeHint, walk
from polyopt.library import kernels_dir

SPMV = """
#pragma polyopt inbounds
void spmv(int n, int nnz, const int ptr[n + 1], const int col[nnz], const double val[nnz],
          const double x[n], double y[n])
{
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int k = ptr[i]; k < ptr[i + 1]; k++)
            sum += val[k] * x[col[k]];
        y[i] = sum;
    }
}
"""
SCATTER = """
#pragma polyopt inbounds
void scatter(int n, const int at[n], const float v[n], float out[n])
{
    for (int i = 0; i < n; i++)
        out[at[i]] += v[i];
    for (int i = 0; i < n; i++)
        out[i] *= 2;
}
"""
COLLATZ = """
#pragma polyopt inbounds
void collatz(int n, int m, const unsigned a[n][m], int steps[n][m], unsigned top[n])
{
    for (int i = 0; i < n; i++) {
        top[i] = 0;
        for (int j = 0; j < m; j++) {
            unsigned v = a[i][j];
            int count = 0;
            do {
                if (v % 2 == 0) {
                    v /= 2;
                } else {
                    v = 3 * v + 1;
                }
                count++;
                if (count == 40) break;
            } while (v > 1);
            steps[i][j] = count;
        }
        for (int j = 0; j < m; j++) {
            if (steps[i][j] > 5) {
                for (int k = 0; a[i][k] % 3 != 0 && k < m - 1; k++)
                    top[i] += a[i][k];
            }
        }
    }
}
"""


def spmv_inputs(n, rng):
    counts = rng.integers(0, 4, n)
    ptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    nnz = max(1, int(ptr[-1]))
    col = rng.integers(0, n, nnz).astype(np.int32)
    return {"n": n, "nnz": nnz}, {
        "ptr": ptr, "col": col, "val": rng.integers(-9, 9, nnz).astype(np.float64),
        "x": rng.integers(-9, 9, n).astype(np.float64),
    }  # fmt: skip


def scatter_inputs(n, rng):
    return {"n": n}, {
        "at": rng.integers(0, n, n).astype(np.int32),
        "v": rng.integers(-9, 9, n).astype(np.float32),
        "out": rng.integers(-9, 9, n).astype(np.float32),
    }  # fmt: skip


def collatz_inputs(n, rng):
    return {"n": n, "m": 5}, {"a": rng.integers(1, 60, (n, 5)).astype(np.uint32)}


PROGRAMS = {
    "spmv": (SPMV, spmv_inputs),
    "scatter": (SCATTER, scatter_inputs),
    "collatz": (COLLATZ, collatz_inputs),
}


def results(kernel, scop, arrays):
    """The outputs by name; those that the caller gives are changed in place."""
    given = {name: value.copy() for name, value in arrays.items()}
    made = kernel(**given)
    made = made if isinstance(made, tuple) else (made,)
    names = [a.name for a in scop.arrays if a.is_live_out]
    return dict(zip(names, made, strict=True))


@pytest.mark.parametrize("n", [1, 2, 7, 33])
@pytest.mark.parametrize("name", PROGRAMS)
def test_interpreter_and_both_forms_of_c_agree(name, n):
    text, inputs = PROGRAMS[name]
    scop = po.parse_c(text)
    sizes, arrays = inputs(n, np.random.default_rng(n))
    expected = interpret(scop, sizes, arrays)
    for plan in (po.Plan(scop), po.auto(scop)):
        plan.prove()
        kernel = plan.compile()
        found = results(kernel, scop, arrays)
        for array, values in expected.items():
            np.testing.assert_array_equal(found[array], values, err_msg=f"{name}: {array}")


@pytest.mark.parametrize("name", ["tiny", "test"])
def test_finite_elements_as_the_reference_has_them(name):
    path = kernels_dir() / "affine" / "smvp"
    scop = po.parse_c(path.with_suffix(".c"))
    described = runpy.run_path(str(path.with_suffix(".py")))
    sizes = described["SIZES"][name]
    arrays = described["inputs"](np.random.default_rng(3), sizes)
    expected = described["reference"](**arrays, **sizes)["w"]
    np.testing.assert_allclose(interpret(scop, sizes, arrays)["w"], expected, rtol=1e-12)
    found = results(po.auto(scop).compile(), scop, arrays)["w"]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rows_of_a_sparse_product_are_shared_by_threads():
    plan = po.auto(po.parse_c(SPMV), sizes={"n": 100_000, "nnz": 1_000_000})
    assert "parallelize" in plan.script
    assert "vectorize" not in plan.script
    assert "for (; k < ptr[i + 1]; k = k + 1) {" in plan.emit().source


def test_writes_to_elements_that_data_choose_stay_in_order():
    scop = po.parse_c(SCATTER)
    statement = next(s for s in scop.statements if isinstance(s.value, Block))
    assert not statement.write.exact
    assert statement.write.relation.is_equal(statement.reads[0].relation)
    loop = f"{po.Plan(scop).program.tree[0].name}"
    with pytest.raises(PolyoptError) as refused:
        po.Plan(scop).parallelize(loop)
    assert isinstance(refused.value, ParallelCarriedError)


def test_a_block_is_not_inlined():
    scop = po.parse_c(SPMV.replace("y[i] = sum", "y[i] = sum + 1"))
    with pytest.raises(NotFusableError):
        po.Plan(scop).fuse("sum", into="y", storage="inline")


def test_without_the_pragma_data_do_not_control_loops():
    with pytest.raises(NonAffineError, match="start of this loop"):
        po.parse_c(SPMV.replace("#pragma polyopt inbounds", ""))


def test_without_the_pragma_gathers_have_to_be_bounded():
    text = "void g(int n, const int at[n], const float x[n], float y[n]) {{ {} for (int i = 0; i < n; i++) y[i] = x[at[i]]; }}"
    with pytest.raises(OutOfBoundsError):
        po.Plan(po.parse_c(text.format("")))
    stated = "\n#pragma polyopt inbounds\n"
    scop = po.parse_c(stated + text.format(""))
    po.Plan(scop).prove()
    assert any(isinstance(node, RangeHint) for node in walk(scop.statements[0].value))


def test_affine_code_is_as_it_was():
    text = "void f(int n, float a[n]) { for (int i = 0; i < n; i++) if (a[i] > 0) a[i] = 1; }"
    assert po.same_scop(po.parse_c(text), po.parse_c("\n#pragma polyopt inbounds\n" + text))
