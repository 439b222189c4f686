"""Random functions of arrays of random types and layouts are what NumPy makes of them."""

import copy
import importlib.util

import numpy as np
import pytest

import polyopt as po
from tests.unit.jit.random_functions import Writer


def duplicate(value):
    """A copy that lies in memory as the original does."""
    if not isinstance(value, np.ndarray):
        return value
    if value.base is not None and value.base.size > value.size:
        return value.base.copy()[1:-1, ::2]
    if value.flags.c_contiguous or value.flags.f_contiguous:
        return copy.deepcopy(value)
    return value[::-1].copy()[::-1]


def load(path):
    found = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module.function


@pytest.mark.parametrize("seed", range(40))
def test_a_random_function_is_what_numpy_makes_of_it(seed, tmp_path):
    writer = Writer(seed)
    file = tmp_path / f"random_{seed}.py"
    file.write_text(writer.source())
    function, arguments = load(file), writer.arguments()
    ours, theirs = ([duplicate(a) for a in arguments] for _ in range(2))
    single = any(getattr(a, "dtype", None) == np.float32 for a in arguments)
    with np.errstate(all="ignore"):
        try:
            want = function(*theirs)
        except (TypeError, OverflowError) as error:  # NumPy refuses: so does a call
            with pytest.warns(po.FallbackWarning), pytest.raises(type(error)):
                po.jit(function)(*ours)
            return
    got = po.jit(fallback=False)(function)(*ours)
    got, want = (r if isinstance(r, tuple) else (r,) for r in (got, want))
    for one, other in zip((*got, *ours), (*want, *theirs), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        tolerance = 2e-4 if single or "float32" in file.read_text() else 1e-9
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
