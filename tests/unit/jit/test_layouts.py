"""Arrays as people have them: any order, stride and direction, without copies where it can be."""

import numpy as np
import pytest

import polyopt as po
from polyopt.specialize.arguments import described
from tests.offers import Exported, Offered
from tests.unit.jit.test_programs import assert_same


def smooth(a, out):
    """Writes all but the border of ``out``."""
    out[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) / 4


BASE = np.random.default_rng(5).standard_normal((14, 11, 6))
#: views of one array, each of two dimensions
VIEWS = {
    "whole": lambda base: base[:, :, 0].copy(),
    "fortran": lambda base: np.asfortranarray(base[:, :, 0]),
    "transposed": lambda base: base[:, :, 0].copy().T,
    "plane": lambda base: base[:, :, 2],
    "plane of columns": lambda base: base[3],
    "steps": lambda base: base[::3, 1::2, 4],
    "backwards": lambda base: base[::-1, ::-2, 1],
    "turned and backwards": lambda base: base[4, ::-1].T,
    "axes exchanged": lambda base: base[:, 5, ::-1].T,
    "fortran part": lambda base: np.asfortranarray(base)[2:9, 3:, 1],
}


@pytest.mark.parametrize("layout", VIEWS)
def test_a_view_is_taken_as_it_lies(layout):
    ours, theirs = BASE.copy(), BASE.copy()
    a, b = VIEWS[layout](ours), VIEWS[layout](theirs)
    out, expected = np.zeros((*a.shape, 2))[:, :, 1], np.zeros(a.shape)
    jitted = po.jit(fallback=False)(smooth)
    assert jitted(a, out) is None
    smooth(b, expected)
    assert_same(out, expected)
    assert_same(ours, theirs)
    assert jitted.signatures[0].remarks == ()


@pytest.mark.parametrize("layout", VIEWS)
def test_memory_is_passed_and_not_copied(layout):
    array = VIEWS[layout](BASE)
    call = described({"a": array})
    (memory,) = call.arrays.values()
    assert np.shares_memory(memory, array)
    assert not call.copied


def test_two_parts_of_one_array_are_seen_as_such():
    def add(a, b):
        a += b

    ours, theirs = BASE.copy(), BASE.copy()
    po.jit(fallback=False)(add)(ours[1:, :, 0], ours[:-1, :, 0])
    add(theirs[1:, :, 0], theirs[:-1, :, 0])
    assert_same(ours, theirs)


def test_one_array_given_twice():
    def product(a, b):
        b[...] = a @ b

    ours, theirs = (BASE[:6, :6, 0].copy() for _ in range(2))
    po.jit(fallback=False)(product)(ours, ours)
    product(theirs, theirs)
    assert_same(ours, theirs)


def test_windows_that_overlap_are_copied_and_a_remark_says_so():
    @po.jit(fallback=False)
    def means(windows):
        return windows.mean(axis=1)

    signal = BASE[:, 0, 0].copy()
    windows = np.lib.stride_tricks.sliding_window_view(signal, 3)
    assert_same(means(windows), windows.mean(axis=1))
    (remark,) = means.signatures[0].remarks
    assert remark.startswith("windows is copied")


def test_a_field_of_records_is_copied_and_written_back():
    records = np.zeros(9, [("x", np.float64), ("n", np.int16)])
    records["x"] = np.arange(9)

    @po.jit(fallback=False)
    def double(x):
        x *= 2

    double(records["x"])
    assert_same(records["x"].copy(), np.arange(9) * 2.0)


def test_memory_that_overlaps_and_would_be_written_is_left_to_numpy():
    signal = np.arange(8.0)
    windows = np.lib.stride_tricks.as_strided(signal, (6, 3), (8, 8))

    @po.jit
    def clear(a):
        a[:, 0] = 0.0

    with pytest.warns(po.FallbackWarning, match="shares memory in a way that no copy keeps"):
        clear(windows)
    assert signal.tolist() == [0.0] * 6 + [6.0, 7.0]


@pytest.mark.parametrize("kind", [Offered, Exported])
def test_memory_of_others_is_changed_in_place(kind):
    array = BASE[:, :, 0].copy()
    expected = array * 3

    @po.jit(fallback=False)
    def triple(a):
        a *= 3
        return a

    given = kind(array)
    assert triple(given) is given
    assert_same(array, expected)


def test_results_are_given_on_by_dlpack():
    result = po.jit(fallback=False)(lambda_free_double)(BASE)
    assert np.shares_memory(np.from_dlpack(result), result)


def lambda_free_double(a):
    return a * 2


def test_arrays_without_dimensions_are_numbers():
    def scale(a, s):
        return a * s

    array, factor = BASE[0], np.array(2.0, np.float32)
    assert_same(po.jit(fallback=False)(scale)(array, factor), scale(array, factor))


def test_repeated_elements_are_read_where_they_are():
    def add(a, b):
        return a + b

    row = np.broadcast_to(BASE[0, 0], (11, 6))
    jitted = po.jit(fallback=False)(add)
    assert_same(jitted(BASE[0], row), BASE[0] + row)
    assert jitted.signatures[0].remarks == ()


@pytest.mark.parametrize("view", [lambda a: np.broadcast_to(a, (3, 4)), lambda a: a[::-1]])
def test_a_view_that_may_not_be_written_is_left_to_numpy(view):
    array = np.arange(4.0)
    fixed = view(array)
    fixed.flags.writeable = False

    @po.jit
    def clear(a):
        a[...] = 0

    with pytest.warns(po.FallbackWarning, match="read-only"), pytest.raises(ValueError):  # noqa: PT011
        clear(fixed)
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_an_array_that_may_not_be_written_is_left_to_numpy():
    array = np.arange(4.0)
    array.flags.writeable = False

    @po.jit
    def clear(a):
        a[:] = 0

    with (
        pytest.warns(po.FallbackWarning, match="read-only"),
        pytest.raises(ValueError, match="read-only"),
    ):
        clear(array)


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
@pytest.mark.parametrize("part", ["real", "imag"])
def test_a_part_of_complex_numbers_is_written_where_it_lies(kind, part):
    numbers = (BASE[:, :, 0] + 1j * BASE[:, :, 1]).astype(kind)
    expected, a = numbers.copy(), BASE[:, :, 2].astype(numbers.real.dtype)
    out = getattr(numbers, part)
    call = described({"a": a, "out": out})
    assert not call.copied
    assert any(np.shares_memory(memory, numbers) for memory in call.arrays.values())
    function = po.jit(fallback=False)(smooth)
    assert function(a, out) is None
    smooth(a, getattr(expected, part))
    np.testing.assert_allclose(numbers, expected, rtol=1e-5)
    assert function.signatures[0].remarks == ()


def test_other_types_are_refused_by_name_with_what_is_taken():
    wide = np.ones((4, 4), np.clongdouble)
    with pytest.raises(po.errors.UnsupportedError, match="a is an array of complex") as refused:
        po.jit(fallback=False)(smooth)(wide, np.ones((4, 4)))
    assert "float16, float32, float64, complex64, complex128" in str(refused.value)
