"""What the time model knows of math functions: vectors of ours, calls of the C library's."""

import pytest

import polyopt as po
from polyopt.codegen.helpers.math.functions import NAMES
from polyopt.codegen.target import target
from polyopt.ir.types import F32, F64
from polyopt.scheduler.model.instructions import FUSED_CALLS, OWN_CALLS, has_vectors, operations
from polyopt.scheduler.model.time import predict

AVX2 = target("avx2")


def value_of(function, type_=po.f32):
    x = po.input("x", type_, ["N"])
    stage = po.stage("out", "N", lambda i: function(x[i]))
    return po.pipeline(stage).statements[0].value


def test_there_is_a_cost_for_each_function_of_ours():
    assert {f"{function}_{type_.name}" for function, type_ in OWN_CALLS} == set(NAMES)


@pytest.mark.parametrize(("function", "type_", "machine", "expected"), [
    (po.exp, po.f32, "avx2", FUSED_CALLS["exp", F32][0]), (po.erf, po.f32, "avx512", FUSED_CALLS["erf", F32][0]),
    (po.exp, po.f32, "generic", 4 * OWN_CALLS["exp", F32][0]), (po.log, po.f32, "avx2", 2 * OWN_CALLS["log", F32][0]),
    (po.tanh, po.f32, "avx2", FUSED_CALLS["tanh", F32][0]),
    (po.exp, po.f64, "avx2", 2 * OWN_CALLS["exp", F64][0]),
])  # fmt: skip
def test_functions_are_vectors_of_what_they_compute_in(function, type_, machine, expected):
    """Of eight numbers; some functions of floats compute in doubles, others where nothing is fused."""
    found = operations(value_of(function, type_), target(machine), 8, own_math=True)
    assert found.simple == expected
    assert found.calls == 0


def test_divisions_are_of_what_they_compute_in():
    assert operations(value_of(po.log), AVX2, 8, own_math=True).divided == 8 * 8
    assert operations(value_of(po.tanh), AVX2, 8, own_math=True).divided == 8 * 4
    assert operations(value_of(po.tanh), target("generic"), 8, own_math=True).divided == 8 * 8
    assert operations(value_of(po.exp), AVX2, 8, own_math=True).divided == 0


def test_the_c_librarys_are_calls():
    found = operations(value_of(po.exp), AVX2, 8, own_math=False)
    assert (found.calls, found.simple) == (8, 0)


@pytest.mark.parametrize(("function", "own", "vectors"), [
    (po.exp, True, True), (po.exp, False, False), (lambda v: po.fmod(v, 2.0), True, False), (po.sqrt, False, True),
])  # fmt: skip
def test_who_has_vectors(function, own, vectors):
    assert has_vectors(value_of(function), own) == vectors


def test_loops_are_quicker_where_they_are_vectors():
    """The same program, once with an integer result beside."""

    def ns(last):
        x = po.input("x", po.f32, ["N"])
        out = po.stage("out", "N", lambda i: po.tanh(x[i]))
        other = po.stage("other", "N", lambda i: po.cast(last, x[i]))
        plan = po.Plan(po.pipeline(out, other))
        return predict(plan.program, {"N": 1000}, AVX2).ns

    assert ns(po.f32) < 0.7 * ns(po.i32)
