"""NumPy's functions that are made of others: near zero, far out, and of what is no number."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

#: units in the last place that results may be off by
ULPS = 6
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0)


def operands(dtype) -> np.ndarray:
    rng = np.random.default_rng(0)
    limits = np.finfo(dtype)
    far = 10.0 ** rng.uniform(np.log10(limits.tiny) / 2, np.log10(limits.max) / 2.1, 400)
    near = 10.0 ** rng.uniform(-9, 2.9 if dtype == "f8" else 1.9, 800)
    found = np.concatenate((far, near, [limits.max, limits.max / 2, 709.5, 88.5, 710.2, 89.2]))
    return np.concatenate((found, -found, SPECIAL)).astype(dtype)


def log1p(x):
    return np.log1p(x)


def expm1(x):
    return np.expm1(x)


def sinh(x):
    return np.sinh(x)


def cosh(x):
    return np.cosh(x)


def arctan(x):
    return np.arctan(x)


def arcsin(x):
    return np.arcsin(x)


def arccos(x):
    return np.arccos(x)


def nan_to_num(x):
    return np.nan_to_num(x)


def reciprocal(x):
    return np.reciprocal(x)


def angles(x):
    return np.radians(x) + np.degrees(x)


def hypot(x, y):
    return np.hypot(x, y)


def logaddexp(x, y):
    return np.logaddexp(x, y)


def heaviside(x, y):
    return np.heaviside(x, y)


def check(function, *args, cancels=False):
    """The results are NumPy's, but for some units in the last place: of the largest operand, where
    one part of the sum may take away most of the other."""
    with np.errstate(all="ignore"):
        expected = function(*args)
    found = po.jit(fallback=False)(function)(*args)
    assert found.dtype == expected.dtype
    numbers = np.isfinite(expected)
    np.testing.assert_array_equal(found[~numbers], expected[~numbers])
    off = np.abs(found[numbers] - expected[numbers])
    sizes = [np.abs(a[numbers]) for a in (expected, *args * cancels)]
    unit = np.max([size - np.nextafter(size, size.dtype.type(0)) for size in sizes], axis=0)
    units = off / np.maximum(unit, np.finfo(expected.dtype).tiny)
    assert units.max() <= ULPS, [a[numbers][units.argmax()] for a in args]
    zeros = numbers & (expected == 0)
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "function",
    [log1p, expm1, sinh, cosh, arctan, arcsin, arccos, nan_to_num, reciprocal, angles],
)
def test_functions_of_one_number(function, dtype):
    check(function, operands(dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", [hypot, logaddexp, heaviside])
def test_functions_of_two_numbers(function, dtype):
    x = operands(dtype)
    y = np.random.default_rng(1).permutation(x)
    special = np.array([*np.meshgrid(SPECIAL, SPECIAL)], dtype).reshape(2, -1)
    args = np.concatenate((x, x, special[0])), np.concatenate((y, x, special[1]))
    check(function, *args, cancels=function is logaddexp)


def test_the_sine_over_its_angle():
    @po.jit(fallback=False)
    def sinc(x):
        return np.sinc(x)

    x = np.concatenate((np.linspace(-4, 4, 81), [0.0, 1e-30]))
    np.testing.assert_allclose(sinc(x), np.sinc(x), rtol=1e-14, atol=1e-16)


def test_functions_of_integers_are_of_floats():
    @po.jit(fallback=False)
    def several(x):
        return np.log1p(x), np.hypot(x, 3), np.arctan(x), np.nan_to_num(x)

    x = np.arange(12, dtype=np.int32)
    expected = np.log1p(x), np.hypot(x, 3), np.arctan(x), np.nan_to_num(x)
    for found, one in zip(several(x), expected, strict=True):
        assert found.dtype == one.dtype
        np.testing.assert_allclose(found, one, rtol=1e-14)


def test_running_products_and_ranges_of_values():
    @po.jit(fallback=False)
    def several(x):
        return np.cumprod(x), x.cumprod(), np.ptp(x), np.average(x)

    x = np.linspace(0.5, 1.5, 30)
    expected = np.cumprod(x), x.cumprod(), np.ptp(x), np.average(x)
    for found, one in zip(several(x), expected, strict=True):
        np.testing.assert_allclose(found, one, rtol=1e-14)


def test_reciprocals_of_integers_are_not_taken():
    @po.jit
    def inverse(x):
        return np.reciprocal(x)

    with pytest.warns(po.FallbackWarning, match="divides them as integers"):
        inverse(np.arange(1, 4))


@pytest.mark.parametrize("dtype", ["i2", "u2", "i4", "i8"])
def test_integers_are_taken_as_the_floats_that_numpy_takes_them_as(dtype):
    @po.jit(fallback=False)
    def function(x):
        return np.log1p(x), np.sinh(x), np.arctan(x), np.hypot(x, x), np.hypot(x, 2)

    x = np.arange(1, 7).astype(dtype)
    for got, want in zip(function(x), function.__wrapped__(x), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_functions_of_bytes_are_refused_with_the_cast_to_write():
    @po.jit(fallback=False)
    def function(x):
        return np.log1p(x)

    with pytest.raises(po.errors.TypeMismatchError) as refused:
        function(np.arange(1, 7, dtype=np.int8))
    assert "test_composed.py" in str(refused.value)
    assert "cast the argument to f32 first" in str(refused.value)


def test_a_python_number_beside_singles_makes_no_doubles():
    @po.jit(fallback=False)
    def function(x):
        return np.hypot(x, 0.5), np.hypot(2, x)

    x = np.linspace(0.5, 2, 9, dtype=np.float32)
    for got, want in zip(function(x), function.__wrapped__(x), strict=True):
        assert got.dtype == want.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=1e-6)
