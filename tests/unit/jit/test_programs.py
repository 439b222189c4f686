"""Programs as people write them: compiled, and equal to what NumPy computes."""

import copy

import numpy as np
import pytest

import polyopt as po
from tests.unit.jit.programs import PROGRAMS


def parts(result):
    return result if isinstance(result, tuple) else (result,)


def assert_same(got, want):
    """The same types, shapes and values, floats up to the order of sums and a last place."""
    assert isinstance(got, tuple) == isinstance(want, tuple)
    assert len(parts(got)) == len(parts(want))
    for one, other in zip(parts(got), parts(want), strict=True):
        assert type(one) is type(other)
        if other is None:
            continue
        assert np.asarray(one).dtype == np.asarray(other).dtype
        tolerance = 1e-4 if np.asarray(other).dtype == np.float32 else 1e-11
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_compiled_and_equal(name):
    function, makers = PROGRAMS[name]
    arguments = [make(np.random.default_rng(7)) for make in makers]
    ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    got, want = po.jit(fallback=False)(function)(*ours), function(*theirs)
    assert_same(got, want)
    for mine, other in zip(ours, theirs, strict=True):
        assert_same(mine, other)
