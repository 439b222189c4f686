"""reshape and ravel as views with axes of extent 1 more or less; all else is refused by name."""

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import UnsupportedError


def column(a):
    return a.reshape(-1, 1) + a


def row(a):
    return np.reshape(a, (1, a.shape[0])) * 2


def row_by_rest(a):
    return a.reshape((1, -1)) * 2


def axis_between(a):
    return a.reshape(a.shape[0], 1, a.shape[1]) + 1


def axis_less(a):
    return a[:, :1].reshape(-1) + 1


def own_shape(a):
    return a.reshape(a.shape) + 1


def own_extents(a):
    return a.reshape(a.shape[0], -1) + 1


def raveled(a):
    return a[2:3].ravel() + 1


def flattened(a):
    return a[:, 1:2].flatten() + 1


SAME = [
    (column, (4,)),
    (row, (4,)),
    (row_by_rest, (4,)),
    (axis_between, (4, 5)),
    (axis_less, (4, 5)),
    (own_shape, (4, 5)),
    (own_extents, (4, 5)),
    (raveled, (4, 5)),
    (flattened, (4, 5)),
]


@pytest.mark.parametrize(("function", "shape"), SAME)
def test_axes_of_one_come_and_go(function, shape):
    a = np.arange(float(np.prod(shape))).reshape(shape)
    found = po.jit(fallback=False)(function)(a)
    np.testing.assert_array_equal(found, function(a), strict=True)


def test_what_is_written_to_a_reshaped_view_is_in_the_array():
    @po.jit(fallback=False)
    def fill(a):
        row = a.reshape(1, -1)
        row[0, 1:] = 7.0

    a = np.zeros(5)
    fill(a)
    assert a.tolist() == [0, 7, 7, 7, 7]


def halves(a):
    return a.reshape(2, 10) * 2


def all_in_a_row(a):
    return a.reshape(-1) * 2


def all_raveled(a):
    return a.ravel() * 2


def turned(a):
    return a.reshape(a.shape[1], a.shape[0]) * 2


@pytest.mark.parametrize("function", [halves, all_in_a_row, all_raveled, turned])
def test_orders_that_open_sizes_decide_are_refused(function):
    with pytest.raises(UnsupportedError, match="another shape of the same elements"):
        po.jit(fallback=False)(function)(np.ones((4, 5)))
