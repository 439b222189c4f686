"""What Python and NumPy mean: views and copies, names assigned anew, helpers, types of results."""

import functools

import numpy as np
import pytest

import polyopt as po
from tests.unit.jit.test_programs import assert_same

RATE = 0.25


def check(function, *arguments):
    """The function compiled gives what it gives, and leaves its arguments so too."""
    ours = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"):
        want = function(*theirs)
    assert_same(po.jit(fallback=False)(function)(*ours), want)
    for mine, other in zip(ours, theirs, strict=True):
        if isinstance(mine, np.ndarray):
            assert_same(mine, other)


def values(*shape):
    return np.random.default_rng(3).standard_normal(shape)


def test_an_assignment_reads_what_was_there_before():
    def shift(a):
        a[1:] = a[:-1] + 1
        a[:, 1:] += a[:, :-1]
        a[::-1] = a
        return a.sum()

    check(shift, values(6, 5))


def test_a_view_is_a_view_and_a_copy_a_copy():
    def views(a):
        inner = a[1:-1]
        kept = inner.copy()
        turned = a.T
        inner[:, 0] = 7.0
        turned[0, :] += 1.0
        return kept, inner.sum()

    check(views, values(6, 5))


def test_a_name_assigned_anew_leaves_the_argument():
    def anew(a, s):
        b = a
        a = a + 1
        a[0] = 0.0
        s = s * 2
        b[1] = s
        return a

    check(anew, values(6), 1.5)


def test_names_that_loops_go_on_with():
    def powers(a, x, n):
        for _ in range(n):
            a = a @ a / 10.0
            x = x * 0.5
        return a, x

    check(powers, values(5, 5), 3.0, 3)


def test_two_names_of_one_array_are_refused_where_values_would_differ():
    def double(a, n):
        new = np.zeros_like(a)
        u = a.copy()
        for _ in range(n):
            new[1:] = u[:-1] + 1.0
            u = new
        return u

    with pytest.raises(po.errors.UnsupportedError, match="second name") as error:
        po.jit(fallback=False)(double)(values(6), 3)
    assert error.value.diagnostic.span.line > 1


def average(a, weight=0.5):
    """A helper with statements, a default, and a helper of its own."""
    n = a.shape[0]
    total = 0.0
    for i in range(n):
        total += scaled(a[i], weight)
    return total / n


def scaled(x, weight):
    return x * weight if x > 0 else x


def fill_border(a, value):
    a[0] = value
    a[-1, :] = value


def test_helpers_stand_in_place_of_their_calls():
    def whole(a):
        fill_border(a, 2.0)
        first = average(a[0])
        return a * first + average(a[1], weight=RATE)

    check(whole, values(4, 7))


def test_a_helper_may_be_compiled_itself():
    helper = po.jit(average)

    def twice(a):
        return helper(a) * 2

    check(twice, values(9))


def test_types_are_numpys():
    def mixed(small, single, whole, flag):
        return (
            small + 1, small * single, single * 2.5, whole / 2, small + whole, flag + single,
            single**2, np.sqrt(whole), (small > 3).sum(), small.mean(), single.sum(), small.sum(),
            np.float32(1) * whole, small // 2, whole % 3, ~flag,
        )  # fmt: skip

    small = np.arange(6, dtype=np.uint8)
    check(mixed, small, small.astype(np.float32), small.astype(np.int32), small > 2)


def test_what_is_no_number_is_handed_on():
    def extremes(a, b):
        return np.maximum(a, b), np.minimum(a, b), np.max(a), np.fmax(a, b), np.clip(a, -1, 1)

    check(extremes, np.array([1.0, np.nan, -np.inf, 2.0]), np.array([np.nan, 1.0, 3.0, -2.0]))


def test_python_extremes_keep_their_first_argument():
    def extremes(a):
        result = np.empty_like(a)
        for i in range(a.shape[0]):
            result[i] = max(0.0, a[i]) + min(a[i], 1.0)
        return result

    check(extremes, np.array([1.0, np.nan, -np.inf, 2.0]))


def test_subscripts_from_the_end():
    def wrapped(a):
        result = np.empty_like(a)
        for i in range(a.shape[0]):
            result[i] = a[i - 1] + a[-1] + a[-i]
        return result

    check(wrapped, values(9))


def test_slices_are_cut_off_at_the_ends():
    def cut(a):
        return a[1:100].sum(), a[-100:].sum(), a[::-2] + 0, a[7:2:-1] + 0, a[:-20:-1] + 0

    check(cut, values(12))


def test_branches_on_data():
    def steps(a):
        result = np.zeros_like(a)
        best = a[0]
        for i in range(a.shape[0]):
            x = a[i]
            if x > best:
                best = x
                result[i] = 1.0
            elif x < -1.0:
                x = -1.0
                result[i] = x
            else:
                result[:i] += 0.5
        return result, best

    check(steps, values(14))


def test_a_condition_on_two_names_that_are_assigned_together():
    def fibonacci(a):
        x, y = 1.0, 1.0
        for i in range(a.shape[0]):
            if x < a[i]:
                x, y = y, x + y
                a[i] = x
        return x

    check(fibonacci, np.abs(values(10)) * 9)


def test_results_of_every_kind():
    def several(a, n, x):
        return a, n, 2, x, a[0], a.shape[0], None, a.sum() > 0, n + a.shape[0]

    check(several, values(5), 4, 2.5)


def test_the_argument_itself_is_returned():
    array = values(4)

    @po.jit(fallback=False)
    def add(a):
        a += 1
        return a

    assert add(array) is array


def test_values_chosen_by_what_is_known():
    def chosen(a, mode, scale=None):
        if mode == "double":
            a = a * 2
        if scale is not None:
            return a * scale
        return a - 1

    check(chosen, values(4), "double")
    check(chosen, values(4), "half", 3.0)


def test_globals_are_looked_at_anew(monkeypatch):
    @po.jit(fallback=False)
    def scale(a):
        return a * RATE

    array = values(4)
    assert_same(scale(array), array * 0.25)
    monkeypatch.setitem(globals(), "RATE", 3.0)
    assert_same(scale(array), array * 3.0)


def test_integers_that_are_no_sizes_are_constants():
    @po.jit(fallback=False)
    def sampled(a, step):
        return a[::step] * step

    array = values(12)
    for step in (1, 3, 4):
        assert_same(sampled(array, step), array[::step] * step)
    assert len(sampled.signatures) == 3


def test_integers_divided_by_zero_and_shifted_out():
    def edges(a, b):
        return a // b, a % b, a << np.abs(b), a >> np.abs(b), a // 3, a % -1

    for kind in (np.int32, np.int64, np.uint8):
        low = np.iinfo(kind).min
        a = np.array([low, 5, 7, low, 9, 100], kind)
        b = np.array([0, 0, 2, 1, 40, 70], kind)
        check(lambda_free_edges if kind is np.uint8 else edges, a, b)
    least = np.iinfo(np.int64).min
    check(edges, np.array([least, least, 5]), np.array([-1, -3, -1]))


def lambda_free_edges(a, b):
    return a // b, a % b, a << b, a >> b


def test_sums_of_single_precision_stay_exact_over_many():
    ones = np.full(1 << 25, 0.1, np.float32)

    @po.jit(fallback=False)
    def sums(a):
        return a.sum(), a.mean()

    total, mean = sums(ones)
    assert total.dtype == mean.dtype == np.float32
    np.testing.assert_allclose([total, mean], [0.1 * (1 << 25), 0.1], rtol=1e-6)


def test_a_decorated_helper_is_not_the_function_under_it():
    def doubling(function):
        @functools.wraps(function)
        def wrapper(a):
            return 2 * function(a)

        return wrapper

    @doubling
    def helper(a):
        return a + 1

    def calls(a):
        return helper(a)

    for function in (calls, helper):
        with pytest.warns(po.FallbackWarning, match="what a decorator made"):
            assert po.jit(function)(1.5 * np.ones(3)).tolist() == [5.0, 5.0, 5.0]


def test_calls_again_and_again():
    @po.jit(fallback=False)
    def scaled(a, x, n, b):
        b[:] = a * x + n
        return b

    for shape in (4, 4, 9, 4):
        for number in (1, 2):
            a, b = values(shape), np.zeros(shape)
            assert scaled(a, 0.5 * number, number, b) is b
            assert_same(b, a * (0.5 * number) + number)
    shared = values(4)
    expected = shared * 2.0 + 1
    assert_same(scaled(shared, 2.0, 1, shared), expected)
    assert len(scaled.signatures) == 2


def test_loops_over_arrays():
    def loops(a, b):
        total = 0.0
        for row in a:
            for x in row[1:]:
                total += x
        result = np.zeros(b.shape[0])
        for i, y in enumerate(b):
            result[i] = y * i
        for x, row in zip(b, a):  # noqa: B905
            result[0] += x * row[0]
        for shift in (-1, 0, 1):
            result[1:-1] += shift * b[1 + shift : b.shape[0] - 1 + shift]
        return total, result

    check(loops, values(6, 5), values(6))


def test_loops_over_arrays_of_other_lengths_are_refused():
    def dot(a, b):
        total = 0.0
        for x, y in zip(a, b):  # noqa: B905
            total += x * y
        return total

    with pytest.warns(po.FallbackWarning, match="different lengths"):
        po.jit(dot)(values(4), values(5))


def test_arguments_may_be_called_as_ours_are():
    def named(out, threads, a, a_0, a_from_0, dirty):
        a[1:] += out[:-1] * threads + a_0
        dirty[:] = a_from_0
        out_2 = a.sum() + a_0
        return out + a, out_2

    array = values(9)
    check(named, values(9), 2, array, 4, 1.5, values(3))
    ours, theirs = values(12), values(12)
    got = po.jit(fallback=False)(named)(values(9)[:5], 2.0, ours[1:-1:2], 4, 1.5, values(6)[::2])
    want = named(values(9)[:5], 2.0, theirs[1:-1:2], 4, 1.5, values(6)[::2])
    assert_same(got, want)
    assert_same(ours, theirs)


def stale(a):
    total = np.zeros(a.shape[1])
    row = a[0]
    for i in range(a.shape[0]):
        if i % 2 == 0:
            row = a[i]
        total += row
    return total


def unbound(a):
    total = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        if i % 2 == 0:
            part = a[i]
        total += part
    return total


@pytest.mark.parametrize("function", [stale, unbound])
def test_views_named_in_one_branch_are_not_known_after_it(function):
    with pytest.warns(po.FallbackWarning):
        assert_same(po.jit(function)(values(5, 3)), function(values(5, 3)))


def test_arrays_made_in_both_branches():
    def chosen(a):
        result = np.zeros_like(a)
        for i in range(a.shape[0]):
            if i > 2:  # noqa: SIM108
                part = a[i] + 1.0
            else:
                part = a[i] * 2.0
            result[i] = part
        return result

    check(chosen, values(5, 3))


def shift_up(a, x):
    a += 1.0
    return x * 2.0


def test_what_a_helper_changes_is_seen_in_order():
    def by_names(a):
        first = a[0]
        second = shift_up(a, a[1])
        third = shift_up(a, a + 1.0)
        return first, second, third

    check(by_names, values(5))


def test_a_helper_that_changes_arrays_inside_of_an_expression():
    def inside(a):
        return a[0] + shift_up(a, a[1])

    with pytest.warns(po.FallbackWarning, match="shift_up changes arrays"):
        assert_same(po.jit(inside)(values(5)), inside(values(5)))
