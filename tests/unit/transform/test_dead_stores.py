"""Writes that nothing sees, and copies back of what is there: gone, with equal results."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.isl import fix_param_values
from polyopt.transform.source.dead_stores import without_dead_stores


def program(body, arguments="int N, const double a[N], double b[N]", params="const double c[N]"):
    return po.parse_c(f"void f({arguments}, {params}) {{\n{body}\n}}")


def names(scop):
    return [s.name for s in scop.statements]


ALL = "for (int i = 0; i < N; i++)"


def test_a_fill_that_is_overwritten_goes():
    scop = program(f"{ALL} b[i] = 0; {ALL} b[i] = a[i];")
    assert names(scop) == ["b_0", "b_1"]
    assert names(without_dead_stores(scop)) == ["b_1"]


def test_a_temporary_that_nothing_reads_goes_with_what_it_reads():
    scop = program(f"double t[N], u[N]; {ALL} t[i] = a[i]; {ALL} u[i] = t[i]; {ALL} b[i] = c[i];")
    assert names(without_dead_stores(scop)) == ["b"]


@pytest.mark.parametrize(
    "body",
    [
        f"{ALL} b[i] = 0; {ALL} b[i] += a[i];",
        f"{ALL} b[i] = 0; {ALL} if (a[i] > 0) b[i] = 1;",
        f"{ALL} b[i] = a[i]; for (int i = 1; i < N; i++) b[i] += b[0];",
        f"{ALL} b[i] = a[i]; for (int i = 2; i < N - 1; i++) b[i] = c[i];",
    ],
)
def test_what_is_seen_stays(body):
    scop = program(body)
    found = without_dead_stores(scop)
    assert names(found) == names(scop)
    assert found.domain.is_equal(scop.domain)


def test_of_a_fill_the_part_stays_that_nothing_overwrites():
    scop = program(f"{ALL} b[i] = a[i]; for (int i = 0; i < N / 2; i++) b[i] = c[i];")
    found = without_dead_stores(scop).statement("b_0").domain
    assert fix_param_values(found, {"N": 9}).count_val().to_python() == 5  # 4 .. 8


BACK = """
for (int t = 0; t < T; t++) {
    for (int i = 0; i < N; i++) n[i] = u[i];
    for (int i = 1; i < N - 1; i++) n[i] = u[i - 1] + u[i + 1];
    %s
    for (int i = 0; i < N; i++) u[i] = n[i];
}"""


def stencil(between):
    return program(f"double n[N];\n{BACK % between}", "int T, int N, double u[N]")


def test_a_copy_back_of_what_is_there_is_left_out():
    found = without_dead_stores(stencil(""))
    assert names(found) == ["n_1", "u"]
    (back,) = (s for s in found.statements if s.name == "u")
    box = fix_param_values(back.domain, {"N": 7, "T": 1})
    assert box.count_val().to_python() == 5


@pytest.mark.parametrize("between", ["u[0] = 7;", "n[0] = c[0];", "n[N - 1] = n[0];"])
def test_a_copy_back_of_something_else_stays(between):
    found = without_dead_stores(stencil(between))
    (*_, back) = found.statements
    box = fix_param_values(back.domain, {"N": 7, "T": 1})
    assert box.count_val().to_python() >= 6


@pytest.mark.parametrize("between", ["", "u[0] = 7;", "n[0] = c[0];", "n[N - 1] = n[0];"])
@pytest.mark.parametrize("size", [3, 4, 9])
def test_results_are_those_of_the_whole_program(between, size):
    scop = stencil(between)
    rng = np.random.default_rng(size)
    given = {"u": rng.random(size), "c": rng.random(size)}
    sizes = {"N": size, "T": 3}
    expected = interpret(scop, sizes, given)["u"]
    assert np.array_equal(interpret(without_dead_stores(scop), sizes, given)["u"], expected)


def zeros_first(a):
    result = np.zeros(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            result[i, j] = a[i, j] * 2
    return result


def border_of_zeros(a):
    result = np.zeros(a.shape)
    result[1:-1, 1:-1] = a[:-2, 1:-1] + a[2:, 1:-1]
    return result


def smoothed(a, steps):
    a = a.copy()
    for _ in range(steps):
        new = a.copy()
        new[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a = new
    return a


def swapped(a, steps):
    b = a * 2
    for _ in range(steps):
        kept = b.copy()
        b[0] = kept[1]
        b[1:] = kept[:-1]
    return b


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(zeros_first, ()), (border_of_zeros, ()), (smoothed, (3,)), (smoothed, (0,)), (swapped, (2,))],
)
@pytest.mark.parametrize("shape", [(3, 3), (5, 8)])
def test_functions_give_what_numpy_gives(function, arguments, shape):
    a = np.random.default_rng(0).random(shape)
    found = po.jit(fallback=False)(function)(a, *arguments)
    np.testing.assert_allclose(found, function(a, *arguments), rtol=1e-14)


def test_a_function_s_zeros_are_not_written_where_all_is_overwritten():
    function = po.jit(fallback=False)(zeros_first)
    function(np.ones((4, 5)))
    assert names(function.plan.scop) == ["result_1"]
