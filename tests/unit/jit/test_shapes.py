"""reshape and ravel: views where NumPy has views, copies where it copies, else refused by name."""

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
    return a.reshape(2, -1) * 2


def all_in_a_row(a):
    return a.reshape(-1) * 2


def all_raveled(a):
    return a.ravel() * 2


def turned(a):
    return a.reshape(a.shape[1], a.shape[0]) * 2


def blocks(a):
    return a.reshape(a.shape[0] // 2, 2, -1, 3).max(axis=(1, 3))


def columns_first(a):
    return a.T.reshape(-1) + 1


def rows_from_the_second(a):
    return a[1:].reshape(-1)[::2] + 1


def again(a):
    return a.ravel().reshape(a.shape[1], -1)[1:, 2] * 1.0


def with_units(a):
    return a[:, None].reshape(1, -1, 1) + 0.5


def summed_in_a_loop(a):
    total = 0.0
    flat = a.ravel()
    for i in range(flat.shape[0]):
        total += flat[i] * i
    return total


def written_through(a):
    flat = a.reshape(-1)
    flat[3:7] = 5
    a[0, 0] = 9
    return flat * 2


def parts_written(a):
    a[1:3].reshape(-1)[2:5] += 1
    pairs = a.reshape(2, -1)
    pairs[1, ::3] = 0


def copies_written(a):
    part = a[:, 1:].reshape(-1)
    part[0] = 3
    rows = a.T.reshape(-1)
    rows[1] = 4
    flat = a.flatten()
    flat[2] = 5
    return part + 0, rows + 0, flat + 0


def squeezed_and_written(a):
    first = np.squeeze(a[:1])
    first[1:] = 7


REGROUPED = [
    halves, all_in_a_row, all_raveled, turned, blocks, columns_first, rows_from_the_second, again,
    with_units, summed_in_a_loop, written_through, parts_written, copies_written,
    squeezed_and_written,
]  # fmt: skip


@pytest.mark.parametrize("function", REGROUPED)
def test_axes_are_merged_and_split(function):
    jitted = po.jit(fallback=False)(function)
    for shape in ((4, 6), (6, 6), (4, 9)):
        ours, theirs = (np.arange(float(np.prod(shape))).reshape(shape) for _ in range(2))
        found, expected = jitted(ours), function(theirs)
        both = zip(found, expected, strict=True) if type(found) is tuple else [(found, expected)]
        for one, other in both:
            assert type(one) is type(other)
            if other is not None:
                np.testing.assert_array_equal(one, other, strict=True)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("order", [np.asfortranarray, lambda a: a[::-1], lambda a: a[:, ::4]])
def test_what_numpy_copies_is_a_copy(order):
    def first(a):
        flat = a.reshape(-1)
        flat[1:] = 0
        return flat + 1

    ours, theirs = (order(np.arange(24.0).reshape(4, 6)) for _ in range(2))
    np.testing.assert_array_equal(po.jit(fallback=False)(first)(ours), first(theirs))
    np.testing.assert_array_equal(ours, theirs)


def test_a_view_of_steps_is_refused_by_name_as_is_one_of_a_part_that_is_merged():
    def first(a):
        flat = a.reshape(-1)
        flat[1:] = 0

    with pytest.raises(UnsupportedError, match="another shape of a part with steps"):
        po.jit(fallback=False)(first)(np.ones((4, 6))[:, ::2])
    with pytest.raises(UnsupportedError, match="another shape of a part of an array"):
        po.jit(fallback=False)(part_of_a_part)(np.ones((4, 6)))


def part_of_a_part(a):
    return a.reshape(-1)[1:21].reshape(2, 10)[:, ::2].reshape(-1) + 0


def test_sizes_decide_what_is_a_copy():
    def first(a):
        flat = a.T.reshape(-1)
        flat[0] = 9
        return a + 0

    jitted = po.jit(first)
    for shape in ((4, 5), (1, 5), (4, 1), (5, 4)):
        ours, theirs = np.zeros(shape), np.zeros(shape)
        np.testing.assert_array_equal(jitted(ours), first(theirs))
        np.testing.assert_array_equal(ours, theirs)


def test_inner_extents_are_known_and_the_first_stays_open():
    jitted = po.jit(fallback=False)(all_in_a_row)
    for shape in ((4, 5), (9, 5), (4, 6)):
        jitted(np.ones(shape))
    assert [str(s) for s in jitted.signatures] == ["a: f64[a_0, 5]", "a: f64[a_0, 6]"]


def another_count(a):
    return a.reshape(3, 3)


def no_such_rest(a):
    return a.reshape(-1, 7)


@pytest.mark.parametrize("function", [another_count, no_such_rest])
def test_another_number_of_elements_is_numpys_to_refuse(function):
    with pytest.raises(UnsupportedError, match="a shape of another number of elements"):
        po.jit(fallback=False)(function)(np.ones((4, 5)))
    with pytest.warns(po.FallbackWarning), pytest.raises(ValueError, match="reshape"):
        po.jit(function)(np.ones((4, 5)))


def test_elements_of_another_shape_that_data_choose_are_refused_by_name():
    @po.jit(fallback=False)
    def choose(a, key):
        return a.reshape(-1)[key]

    with pytest.raises(UnsupportedError, match="another shape") as refused:
        choose(np.ones((4, 5)), np.array([1, 2]))
    assert "copy" in str(refused.value)


def without_units(a):
    return a.squeeze() * 2, a.squeeze(axis=0) + 1


def test_axes_of_one_element_are_dropped_for_the_sizes_of_each_call():
    jitted = po.jit(fallback=False)(without_units)
    for shape in ((1, 3, 1), (1, 5, 1), (1, 2, 3), (1, 1, 4), (1, 3, 2)):
        a = np.arange(float(np.prod(shape))).reshape(shape)
        for one, other in zip(jitted(a), without_units(a), strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


def test_one_extent_is_left_to_the_others():
    def twice(a):
        return a.reshape(-1, -1) + 1

    with pytest.raises(po.errors.UnsupportedError, match="more than one extent"):
        po.jit(fallback=False)(twice)(np.ones((4, 3)))


@pytest.mark.parametrize("kind", [np.int32, np.bool_])
def test_results_are_cast_to_out_as_numpy_does(kind):
    def added(a, out):
        np.add(a, a, out=out)

    def copied(a, out):
        np.copyto(out, a)

    for function in (added, copied):
        with pytest.raises(po.errors.TypeMismatchError, match="updated in place"):
            po.jit(fallback=False)(function)(np.ones(3), np.zeros(3, kind))
        with pytest.raises(TypeError):
            function(np.ones(3), np.zeros(3, kind))


def raveled_with_gaps(a):
    thinned, column, back = a[0, ::2].ravel(), a[:, 1].ravel(), a[0, ::-1].ravel()
    thinned[0] = column[1] = back[2] = 100
    narrow = a[:, :1].ravel()
    narrow[1] = 200


def raveled_in_a_row(a):
    row, rest, one = a[0].ravel(), a[1, 2:].ravel(), a[2:3].ravel()
    row[1] = rest[0] = one[5] = 50


@pytest.mark.parametrize("part", [lambda a: a, lambda a: a.real, lambda a: a.real.copy()])
@pytest.mark.parametrize("function", [raveled_with_gaps, raveled_in_a_row])
def test_ravel_copies_what_has_gaps(function, part):
    ours, theirs = (np.arange(24.0).reshape(4, 6) * (1 - 2j) for _ in range(2))
    one, other = part(ours), part(theirs)
    po.jit(fallback=False)(function)(one)
    function(other)
    np.testing.assert_array_equal(one, other)


def test_a_function_whose_writes_nobody_sees_returns_nothing():
    def unseen(a):
        copied = a.copy()
        copied[0] = 5

    a = np.ones(4)
    assert po.jit(fallback=False)(unseen)(a) is None
    np.testing.assert_array_equal(a, np.ones(4))
