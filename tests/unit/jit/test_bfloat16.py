"""bfloat16 of ``ml_dtypes``: storage, computed with in single precision; NumPy's types of results."""

import numpy as np
import pytest

import polyopt as po
from tests.unit.jit.test_halves import FUNCTIONS, parts

ml_dtypes = pytest.importorskip("ml_dtypes")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
RNG = np.random.default_rng(11)
A, B = (RNG.standard_normal((19, 23)).astype(BFLOAT16) for _ in range(2))


def pythons_floats(a, b):
    return a * 0.5, 0.25 - b, a**0.5, np.maximum(a, 0.1), np.arctan2(a, 0.5), np.hypot(a, 0.5)


def pythons_integers(a, b):
    return a * 2, 1 - b, a**2, np.minimum(a, 1), a / 3, np.hypot(a, 2)


def not_as_other_types(a, b):
    return np.clip(a, 0, 1), a @ b.T, np.dot(a, b.T), np.linalg.norm(a), np.where(a > 0, a, 0.5)


def composed(a, b):
    size = abs(a)
    return np.log1p(size), np.arctan(a), np.reciprocal(b), np.nan_to_num(a), np.sinc(a), np.cosh(b)


def converts(a, b):
    wide = a.astype(np.float32) + b
    return wide.astype(ml_dtypes.bfloat16), np.zeros(4, ml_dtypes.bfloat16), np.ones(3, a.dtype)


def numbers(a, b):
    largest = a[0, 0]
    for j in range(1, a.shape[1]):
        largest = max(largest, a[0, j] * b[0, j])
    return largest, a[0, 0] + b[0, 0], a * ml_dtypes.bfloat16(2.5)


def with_other_arrays(a, b):
    columns = a.shape[1]
    small, wide = np.arange(columns, dtype=np.int16), np.arange(columns, dtype=np.int32)
    return a + small, a + wide, a * b.astype(np.float16), a * b.astype(np.float64), a * (b > 0)


def sums(a, b):
    return np.sum(a, axis=0), np.mean(b), np.cumsum(a, axis=0), a.max(), np.sum(a, dtype=np.float32)


OWN = [
    pythons_floats, pythons_integers, not_as_other_types, composed, converts, numbers,
    with_other_arrays, sums,
]  # fmt: skip


@pytest.mark.parametrize("function", [*FUNCTIONS, *OWN])
def test_results_have_numpys_types_and_are_within_a_few_roundings(function):
    ours, theirs = (A.copy(), B.copy()), (A.copy(), B.copy())
    with np.errstate(all="ignore"):
        got, want = po.jit(fallback=False)(function)(*ours), function(*theirs)
    for one, other in zip((*parts(got), *ours), (*parts(want), *theirs), strict=True):
        assert type(one) is type(other)
        if other is not None:
            assert np.asarray(one).dtype == np.asarray(other).dtype
            doubles = (np.asarray(x).astype(np.float64) for x in (one, other))
            np.testing.assert_allclose(*doubles, rtol=4e-2, atol=6e-2)


def test_an_expression_is_rounded_once_where_it_is_stored():
    @po.jit(fallback=False)
    def rounds_once(a, b):
        return a * b + a

    single = A.astype(np.float32) * B.astype(np.float32) + A.astype(np.float32)
    np.testing.assert_array_equal(rounds_once(A, B), single.astype(BFLOAT16))
    assert (rounds_once(A, B) != rounds_once.__wrapped__(A, B)).any()


@pytest.mark.parametrize("view", [lambda a: a[::2, ::-1], lambda a: a.T, np.asfortranarray])
def test_views_are_taken_as_they_lie(view):
    @po.jit(fallback=False)
    def doubled(a, b):
        a[1:-1] = 2 * b[2:]

    ours, theirs = A.copy(), A.copy()
    doubled(view(ours), view(B))
    doubled.__wrapped__(view(theirs), view(B))
    np.testing.assert_array_equal(ours, theirs)
    assert doubled.signatures[-1].remarks == ()
    assert "bf16" in str(doubled.signatures[-1])


def test_bits_are_integers_and_another_program():
    @po.jit(fallback=False)
    def doubled(a):
        return a + a

    bits = A.view(np.uint16)
    np.testing.assert_array_equal(doubled(A), A + A)
    np.testing.assert_array_equal(doubled(bits), bits + bits)
    np.testing.assert_array_equal(doubled(A), A + A)
    assert doubled(A).dtype == BFLOAT16
    assert len(doubled.signatures) == 2


def test_other_types_of_8_bits_are_refused():
    @po.jit(fallback=False)
    def doubled(a):
        return a + a

    with pytest.raises(po.errors.UnsupportedError) as refused:
        doubled(A.astype(ml_dtypes.float8_e5m2))
    assert "a is an array of float8_e5m2" in str(refused.value)
    assert "bfloat16 of ml_dtypes" in str(refused.value)
