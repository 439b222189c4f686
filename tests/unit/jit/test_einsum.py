"""Einstein summation, traces and tensor products: any subscripts, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import UnsupportedError

RNG = np.random.default_rng(0)
A, B, C = RNG.random((5, 6)), RNG.random((6, 7)), RNG.random((5, 5))
T, V = RNG.random((3, 5, 6)), RNG.random(6)


def matrices(a, b, c, t):
    return (
        np.einsum("ij,jk->ik", a, b),
        np.einsum("ij,jk", a, b),
        np.einsum("ij , kj -> ki", a, t[0]),
        np.einsum("bij,jk->bik", t, b),
        np.einsum("bij,bij->b", t, t),
        np.einsum("ij,ij->ij", a, t[1]),
        np.einsum("ij->j", a),
        np.einsum("ii->", c),
        np.einsum("ij,ii->j", a, c),
    )


def several(a, t, v):
    return (
        np.einsum("i,j->ij", v, v),
        np.einsum("ij,j,i->", a, v, a[:, 0]),
        np.einsum("aij,bij,j->ab", t, t, v),
        np.trace(a[:, :5]),
        np.tensordot(a, v, 1),
        np.tensordot(t, a),
        np.tensordot(v, v, axes=0),
    )


def check(function, *args, tolerance=1e-12):
    expected = function(*args)
    for found, one in zip(po.jit(fallback=False)(function)(*args), expected, strict=True):
        assert np.shape(found) == np.shape(one)
        assert np.asarray(found).dtype == np.asarray(one).dtype
        np.testing.assert_allclose(found, one, rtol=tolerance)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "c16"])
def test_products_are_added_up_over_the_letters_that_results_have_not(dtype):
    args = [(9 * x).astype(dtype) for x in (A, B, C, T)]
    check(matrices, *args, tolerance=1e-5 if dtype == "f4" else 1e-12)


def test_vectors_several_operands_traces_and_tensor_products():
    check(several, A, T, V)


def test_types_of_operands_meet():
    def mixed(a, b):
        return np.einsum("ij,jk->ik", a, b), np.einsum("ij,jk->ki", b, a)

    check(mixed, C.astype("f4"), (9 * C).astype("i2"), tolerance=1e-5)


def test_a_product_of_matrices_has_register_tiles():
    @po.jit(fallback=False)
    def product(a, b):
        return np.einsum("ij,jk->ik", a, b)

    a = RNG.random((90, 90))
    np.testing.assert_allclose(product(a, a), a @ a, rtol=1e-12)
    assert "register_tile" in str(product.plan)


def ellipsis(a, b):
    return np.einsum("...j,jk->...k", a, b)


def lengths(a, b):
    return np.einsum("ij,ij->i", a, b)


def dimensions(a, b):
    return np.einsum("ijk,jk->i", a, b)


def twice(a, b):
    return np.einsum("ij,jk->ii", a, b)


def missing(a, b):
    return np.einsum("ij,jk,kl->il", a, b)


def view(a, b):
    return np.einsum("ij->ji", a) + np.einsum("ij->ij", b).sum()


def chosen(a, b):
    return np.einsum("ij,jk->ik" if a.shape[0] > 2 else "ij,jk->ki", a, b)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (ellipsis, "an ellipsis"),
        (lengths, "'i' and differ in length"),
        (dimensions, "an array of 3 dimension"),
        (twice, "are no subscripts of np.einsum"),
        (missing, "subscripts of 3 operand"),
        (view, "a view by np.einsum"),
        (chosen, "a string that is written there"),
    ],
)
def test_what_is_no_sum_of_products_says_so(function, message):
    with pytest.raises(UnsupportedError, match=message):
        po.jit(fallback=False)(function)(A, B)


def test_sums_of_truth_values_are_refused():
    with pytest.raises(UnsupportedError, match="truth values"):
        po.jit(fallback=False)(lengths)(A > 0.5, A > 0.1)


def test_tensor_products_over_more_axes_than_there_are():
    def far(a, b):
        return np.tensordot(a, b, 3)

    with pytest.raises(UnsupportedError, match="over 3 axes of arrays that have fewer"):
        po.jit(fallback=False)(far)(A, B)
