"""What a kernel's call gave, and whether it is what the reference gives."""

from __future__ import annotations

import numpy as np

#: relative to the greatest magnitude of an output: sums may be in another order
TOLERANCE = 1e-4


def assert_agree(expected, actual, context):
    for name, values in expected.items():
        found = np.asarray(actual[name])
        assert (found.dtype, found.shape) == (values.dtype, values.shape), (name, context)
        if values.dtype.kind == "f":
            scale = TOLERANCE * float(np.abs(values).max(initial=0))
            np.testing.assert_allclose(found, values, rtol=0, atol=scale, err_msg=f"{context}")
        else:
            np.testing.assert_array_equal(found, values, err_msg=f"{context}")


def outputs_of(function, result):
    names = [a.name for a in function.arrays if a.is_live_out]
    return dict(zip(names, result if isinstance(result, tuple) else (result,), strict=True))
