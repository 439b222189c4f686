"""Every kernel, run by the interpreter, computes what its NumPy reference computes."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.bounds import check_bounds, check_initialized
from polyopt.analysis.dependences import dependences
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.analysis.sets.points import points
from polyopt.ir.verify import verify
from polyopt.library import load_scop
from tests.oracle.kernel_sizes import DEEP, MOST_INTERPRETED, elements, interpreted
from tests.oracle.kernels import KERNELS, grouped, load_kernel

INTERPRETED = interpreted()

#: relative to the greatest magnitude of an output: sums may be in another order
TOLERANCE = 1e-5


def assert_agree(expected, actual):
    assert sorted(expected) == sorted(actual)
    for name, values in expected.items():
        assert values.dtype == actual[name].dtype
        assert values.shape == actual[name].shape
        if values.dtype.kind == "f":
            scale = TOLERANCE * float(np.abs(values).max(initial=0))
            np.testing.assert_allclose(actual[name], values, rtol=TOLERANCE, atol=scale)
        else:
            np.testing.assert_array_equal(actual[name], values)


@pytest.mark.parametrize("sizes", ["test", "tiny"])
@pytest.mark.parametrize("name", grouped(INTERPRETED))
def test_the_c_computes_what_the_reference_does(name, sizes):
    kernel = load_kernel(name)
    shape = kernel.sizes[sizes]
    arrays = kernel.inputs(shape, np.random.default_rng(7))
    before = {array: np.copy(values) for array, values in arrays.items()}
    expected = kernel.reference(**arrays, **shape)
    for array, values in arrays.items():
        np.testing.assert_array_equal(values, before[array])
    assert_agree(expected, interpret(kernel.scop, shape, arrays))


@pytest.mark.parametrize("name", grouped(INTERPRETED))
def test_the_comparison_would_notice_another_input(name):
    kernel = load_kernel(name)
    shape = kernel.sizes["test"]
    # of both the reference, which the interpreter agrees with and takes a hundred times as long as
    one, other = (
        kernel.reference(**kernel.inputs(shape, np.random.default_rng(seed)), **shape)
        for seed in (1, 2)
    )
    with pytest.raises(AssertionError):
        assert_agree(one, other)


@pytest.mark.parametrize("name", grouped(KERNELS))
def test_every_kernel_is_sound(name):
    scop = load_kernel(name).scop
    # no function's name begins with a digit: that of 2mm is mm2
    assert scop.name == (name if name.isidentifier() else name[1:] + name[0])
    verify(scop)
    check_bounds(scop)
    check_initialized(scop, dependences(scop))


@pytest.mark.parametrize("name", grouped(KERNELS))
def test_every_kernel_has_the_sizes_that_are_asked_for(name):
    kernel = load_kernel(name)
    assert set(kernel.sizes) == {"bench", "demo", "test", "tiny"}
    for sizes in kernel.sizes.values():
        assert tuple(sizes) == kernel.scop.params


@pytest.mark.parametrize("name", grouped(KERNELS))
def test_the_interpreter_runs_all_kernels_but_the_deep_ones(name):
    kernel = load_kernel(name)
    assert (elements(kernel, kernel.sizes["test"]) > MOST_INTERPRETED) == (name in DEEP)


@pytest.mark.parametrize("form", ["loops", "stages"])
@pytest.mark.parametrize("name", ["blur", "blur_f32"])
def test_all_forms_of_blur_are_the_same_program(name, form):
    module = load_kernel(name).module
    assert po.same_scop(load_scop(name), getattr(module, form)())
    assert po.same_scop(load_scop(name), load_scop(f"{module.__file__}:{form}"))


@pytest.mark.parametrize("name", ["blur", "blur_f32"])
def test_the_loop_function_runs_as_plain_python(name):
    kernel = load_kernel(name)
    arrays = kernel.inputs(kernel.sizes["test"], np.random.default_rng(3))
    expected = kernel.reference(**arrays)
    actual = {"out": np.zeros_like(expected["out"])}
    getattr(kernel.module, name)(arrays["img"], actual["out"])
    np.testing.assert_array_equal(actual["out"], expected["out"])


def test_the_pooling_makes_four_times_fewer_than_it_reads():
    kernel = load_kernel("bn_relu_maxpool")
    sizes = kernel.sizes["bench"]
    counts = {
        name: len(points(kernel.scop.statement(name).domain, sizes)) for name in ("act", "out_0")
    }
    assert counts == {"act": 1_605_632, "out_0": 401_408}
