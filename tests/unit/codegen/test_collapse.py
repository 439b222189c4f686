"""Directly nested parallel loops are shared by threads as one."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.ast.nodes import Parallel, loops_in
from polyopt.codegen.lower.lowering import lower
from polyopt.codegen.pipeline import function_of, generate
from polyopt.codegen.validate.translation import ReadBack, check_code
from polyopt.errors import PolyoptError

PLANES = """
void f(int C, int H, int W, float x[C][H][W], float y[C][H][W]) {
    for (int c = 0; c < C; c++)
        for (int i = 0; i < H; i++)
            for (int j = 0; j < W; j++)
                y[c][i][j] = x[c][i][j] * 2.0f + c;
}
"""
#: rows of a plane follow each other, planes do not
ROWS = """
void f(int C, int H, float x[C][H], float y[C][H]) {
    for (int c = 0; c < C; c++)
        for (int i = 1; i < H; i++)
            y[c][i] = y[c][i - 1] + x[c][i];
}
"""
#: both loops are free, and the inner one's bounds depend on the outer one
HALF = """
void f(int n, float x[n][n], float y[n][n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            y[i][j] = x[i][j];
}
"""
COLLAPSED = "#pragma omp parallel for collapse({}) num_threads(threads) schedule(dynamic, 1 + 7 / (8 * threads))"


def shared(text, *loops):
    plan = po.Plan(po.parse_c(text))
    for loop in loops:
        plan = plan.parallelize(loop)
    return plan


def levels(source):
    """How many loops each pragma is of."""
    found = re.findall(r"#pragma omp parallel for(?: collapse\((\d)\))?", source)
    return [int(one or 1) for one in found]


def result(plan, threads):
    x = np.arange(3 * 5 * 7, dtype=np.float32).reshape(3, 5, 7)
    y = np.zeros_like(x)
    plan.compile()(x=x, y=y, C=3, H=5, W=7, threads=threads)
    return x, y


@pytest.mark.parametrize("loops", [("y.c", "y.i"), ("y.c", "y.i", "y.j"), ("y.i", "y.c")])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_share_all_pairs(loops, threads):
    plan = shared(PLANES, *loops)
    plan.prove(code=True)
    assert levels(plan.emit().source) == [len(loops)]
    x, y = result(plan, threads)
    np.testing.assert_array_equal(y, x * 2 + np.arange(3, dtype=np.float32)[:, None, None])


def test_each_thread_has_a_buffer_of_its_own_below():
    """Of the heap: what it is called stands inside of the innermost of the loops."""
    image = po.input("img", po.f32, ("C", "H + 2", "W"))
    sums = po.stage("sums", ("C", "H + 2", "W"), lambda c, y, x: image[c, y, x] * 2)
    out = po.stage("out", ("C", "H", "W"), lambda c, y, x: sums[c, y, x] + sums[c, y + 2, x])
    scop = po.pipeline(out, name="planes", context=["C >= 1", "H >= 1", "W >= 1"])
    plan = po.Plan(scop).tile("out", y=4).fuse("sums", into="out").parallelize("out.c")
    plan = plan.parallelize("out.y_tile").vectorize("out.x")
    kernel = plan.compile()
    assert levels(kernel.source) == [2]
    assert "omp_get_thread_num" in kernel.source
    given = np.random.default_rng(0).random((3, 23, 40), dtype=np.float32)
    for threads in (1, 2, 4):
        got = kernel(given, threads=threads)
        np.testing.assert_array_equal(got, given[:, :-2] * 2 + given[:, 2:] * 2)


def test_bounds_that_depend_on_the_outer_loop_are_left_to_it():
    plan = shared(HALF, "y.j", "y.i")  # the outer mark comes last, where it is not asked
    assert levels(plan.emit().source) == [1]
    x, y = np.ones((9, 9), np.float32), np.zeros((9, 9), np.float32)
    plan.compile()(x=x, y=y, n=9, threads=3)
    np.testing.assert_array_equal(y, np.tril(x))


def test_bounds_that_depend_on_the_outermost_of_three_loops_are_left_to_it():
    text = PLANES.replace("int j = 0; j < W", "int j = 0; j < W - c")
    plan = shared(text, "y.j", "y.i", "y.c")
    plan.prove(code=True)
    assert levels(plan.emit().source) == [2]


def test_a_target_with_kernels_of_its_own_sees_both_loops():
    program = shared(PLANES, "y.c", "y.i").program
    inside = function_of(lower(program), program, "f")
    assert [isinstance(loop.kind, Parallel) for loop in loops_in(inside.body)] == [
        True,
        True,
        False,
    ]
    made = generate(lower(program), program, "f")
    assert [isinstance(loop.kind, Parallel) for loop in loops_in(made.body)] == [True, False]
    assert len(made.tasks) == 1


def collapsed(text, count):
    scop = po.parse_c(text)
    made = po.Plan(scop).emit()
    first = made.source.index("for (int64_t")
    source = f"{made.source[:first]}{COLLAPSED.format(count)}\n{made.source[first:]}"
    return scop, replace(made, source=source)


def test_the_code_is_checked_at_every_level():
    scop, program = collapsed(PLANES, 2)
    assert ReadBack(scop, program).loops_apart() == 2
    assert "for all sizes" in check_code(scop, program).detail
    with pytest.raises(PolyoptError, match="iterations of i that clash in y"):
        check_code(*collapsed(ROWS, 2))


def test_code_whose_inner_bounds_change_is_not_read():
    with pytest.raises(PolyoptError, match="collapsed loop whose bounds change"):
        check_code(*collapsed(HALF, 2))


def test_code_with_something_between_is_not_read():
    with pytest.raises(PolyoptError, match="statement between loops that are collapsed"):
        check_code(*collapsed(PLANES, 4))
