"""What is not taken: the reason and the place are said once, and Python runs the function."""

import warnings

import numpy as np
import pytest

import polyopt as po

ARRAY = np.arange(12.0).reshape(3, 4)
TABLE = np.arange(4.0)


def uses_while(a):
    while a[0, 0] < 5:
        a[0, 0] += 1
    return a


def breaks(a):
    for i in range(a.shape[0]):
        if a[i, 0] > 3:
            break
    return a + 0


def chooses_by_mask(a):
    return a[a > 3]


def finds(a):
    return np.where(a > 3)[0]


def sorts(a):
    return np.sort(a, axis=0)


def returns_early(a):
    if a[0, 0] > 1:
        return a + 1
    return a - 1


def reads_a_global_array(a):
    return a + TABLE


def prints(a):
    print(a)  # noqa: T201
    return a + 1


def makes_a_list(a):
    return [x for x in a]  # noqa: C416


def views_an_argument(a):
    return a[1:]


def steps_by_data(a):
    return a[:: int(a[0, 1])] + 0


def reshapes(a):
    total = 0.0
    for i in range(1, 3):
        total += a[:i].reshape(-1).sum()
    return total


def divides_a_mask(a):
    return (a > 1).astype(np.uint8) * np.sqrt(np.uint8(4)) + a


#: function, what the message says, and the line of the function (from its ``def``) and column
REFUSED = [
    (uses_while, "'while' is not taken", 1, 5),
    (breaks, "'break' is not taken", 3, 13),
    (chooses_by_mask, "a size that data decide", 1, 14),
    (finds, "a size that data decide", 1, 12),
    (sorts, "a call of np.sort is not taken", 1, 12),
    (returns_early, "known at run time only", 1, 5),
    (reads_a_global_array, "an array from outside", 1, 16),
    (prints, "a call of print is not taken", 1, 5),
    (makes_a_list, "list comprehensions", 1, 12),
    (views_an_argument, "a view of an argument", 1, 5),
    (steps_by_data, "the step of a slice", 1, 14),
    (reshapes, "extent depends on a loop", 3, 18),
    (divides_a_mask, "half precision", 1, 39),
]


@pytest.mark.parametrize(("function", "said", "line", "column"), REFUSED)
def test_a_refusal_says_what_and_where(function, said, line, column):
    with pytest.raises(po.errors.UserError, match=said) as error:
        po.jit(fallback=False)(function)(ARRAY.copy())
    span = error.value.diagnostic.span
    assert span.source.name == __file__
    assert (span.line - function.__code__.co_firstlineno, span.column) == (line, column)


@pytest.mark.parametrize("function", [row[0] for row in REFUSED if row[0] is not prints])
def test_python_runs_what_is_refused(function):
    ours, theirs = ARRAY.copy(), ARRAY.copy()
    with pytest.warns(po.FallbackWarning, match="Python runs it"):
        got = po.jit(function)(ours)
    np.testing.assert_array_equal(got, function(theirs))
    np.testing.assert_array_equal(ours, theirs)


def test_the_reason_is_said_once():
    jitted = po.jit(sorts)
    with pytest.warns(po.FallbackWarning, match=r"test_refusals\.py:\d+:12: unsupported") as found:
        jitted(ARRAY)
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jitted(ARRAY)
        jitted(ARRAY + 1)


def test_errors_of_the_call_are_python_s():
    @po.jit
    def add(a, b):
        return a + b

    with pytest.raises(TypeError, match="argument"):
        add(ARRAY)
    with (
        pytest.warns(po.FallbackWarning, match="do not fit together"),
        pytest.raises(ValueError, match="broadcast"),
    ):
        add(ARRAY, np.zeros(3))


def test_a_subscript_out_of_bounds_is_python_s_to_refuse():
    @po.jit
    def beyond(a, n):
        total = 0.0
        for i in range(n):
            total += a[i, 0]
        return total

    assert beyond(ARRAY, 3) == 12.0
    with pytest.warns(po.FallbackWarning), pytest.raises(IndexError):
        beyond(ARRAY, 4)


def test_a_key_out_of_bounds_is_python_s_to_refuse():
    @po.jit
    def count(keys):
        counts = np.zeros(4, np.int64)
        for i in range(keys.shape[0]):
            counts[keys[i]] += 1
        return counts

    assert count(np.array([1, 3, 1])).tolist() == [0, 2, 0, 1]
    with pytest.warns(po.FallbackWarning, match="this call"):
        assert count(np.array([1, -1])).tolist() == [0, 1, 0, 1]
    assert count(np.array([0])).tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.zeros((0, 3)), "no elements"),
        (np.zeros(3, np.clongdouble), "an array of complex"),
        (np.zeros(3, ">f8"), "an array of >f8"),
        ([1.0, 2.0], "of type list"),
        ({"a": 1}, "of type dict"),
        (1 << 70, None),
    ],
)
def test_arguments_that_are_not_taken(value, said):
    @po.jit(fallback=False)
    def same(a, b):
        return b * 2

    if said is None:
        assert same(value, ARRAY).tolist() == (ARRAY * 2).tolist()
        return
    with pytest.raises(po.errors.UnsupportedError, match=said):
        same(value, ARRAY)


def test_what_is_no_function_is_refused():
    with pytest.raises(po.errors.InvalidOptionError, match="no function"):
        po.jit(3)


def test_before_the_first_call_there_is_no_plan():
    with pytest.raises(po.errors.InvalidOptionError, match="has not been compiled"):
        po.jit(sorts).plan  # noqa: B018


def test_a_defect_of_ours_is_said_and_python_runs_the_function(monkeypatch):
    def broken(*_, **__):
        message = "no such thing"
        raise KeyError(message)

    monkeypatch.setattr("polyopt.specialize.program.planned", broken)

    def double(a):
        return a * 2

    with pytest.warns(po.FallbackWarning, match="please report"):
        assert po.jit(double)(ARRAY).tolist() == (ARRAY * 2).tolist()
    with pytest.raises(po.errors.InternalError, match="KeyError"):
        po.jit(fallback=False)(double)(ARRAY)
