"""float16: NumPy's types; computed in single precision, and rounded where a number is stored."""

import numpy as np
import pytest

import polyopt as po

RNG = np.random.default_rng(11)
A, B = (RNG.standard_normal((19, 23)).astype(np.float16) for _ in range(2))


def rounds_once(a, b):
    return a * b + a


def with_numbers(a, b):
    return a * 3 + 0.1 - b / 7


def named(a, b):
    product = a * b
    return product + a


def reduces(a, b):
    return np.sum(a * b), np.mean(a, axis=0), a.max(), a.min(axis=1), np.std(b), np.argmax(a)


def softmax(a, b):
    e = np.exp(a - b)
    return e / np.sum(e, axis=1, keepdims=True)


def multiplies(a, b):
    return a @ b.T, np.dot(a[0], b[0])


def in_loops(a, b):
    total = 0.0
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            x = a[i, j]
            if x > 0:
                x = x * b[i, j]
            out[i, j] = x
        total += a[i, 0] * b[i, 1]
    return out, total


def in_place(a, b):
    a[1:-1] += b[2:]
    a *= 2


def chooses(a, b):
    return np.where(a > b, a, b), np.maximum(a, b), np.sign(a), -a, abs(b), a >= b


def rounds(a, b):
    return np.floor(a), np.sqrt(abs(a)), a**2, a // 1, a % b


def other_types(a, b):
    whole = np.arange(a.shape[1], dtype=np.int8)
    return a + whole, a + np.arange(a.shape[1]), a.astype(np.float32) + b, (a * b).astype(np.int32)


def made(a, b):
    return np.zeros_like(a), np.ones(5, np.float16), np.cumsum(a, axis=0), np.linalg.norm(b)


def argmaxes(a, b):
    return np.argmax(a, axis=1), np.argmin(b, axis=0)


FUNCTIONS = [
    rounds_once, with_numbers, named, softmax, multiplies, in_loops, in_place, chooses, rounds,
    other_types, made, argmaxes,
]  # fmt: skip


def parts(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_have_numpys_types_and_are_within_a_few_roundings(function):
    ours, theirs = (A.copy(), B.copy()), (A.copy(), B.copy())
    got, want = po.jit(fallback=False)(function)(*ours), function(*theirs)
    for one, other in zip((*parts(got), *ours), (*parts(want), *theirs), strict=True):
        assert type(one) is type(other)
        if other is not None:
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=4e-3, atol=8e-3)


def test_an_expression_is_rounded_once_where_it_is_stored():
    got = po.jit(fallback=False)(rounds_once)(A, B)
    single = A.astype(np.float32) * B.astype(np.float32) + A.astype(np.float32)
    np.testing.assert_array_equal(got, single.astype(np.float16))
    assert (got != rounds_once(A, B)).any()


def test_what_has_a_name_or_is_compared_is_a_half():
    np.testing.assert_array_equal(po.jit(fallback=False)(named)(A, B), named(A, B))

    @po.jit(fallback=False)
    def same(a, b, c):
        return a + b == c, (a + b).astype(np.float32), np.floor(a * b)

    total = A + B
    compared, wide, whole = same(A, B, total)
    assert compared.all()
    np.testing.assert_array_equal(wide, total.astype(np.float32))
    np.testing.assert_array_equal(whole, np.floor(A * B))


def test_large_sums_are_those_of_singles():
    large = np.full(3000, 100, np.float16)

    @po.jit(fallback=False)
    def mean(a):
        return np.mean(a), np.var(a), np.sum(a)

    average, spread, total = mean(large)
    assert (average, spread, total) == (100, 0, np.inf)
    assert total.dtype == average.dtype == np.float16


def test_specials_are_handed_on():
    special = np.array([np.inf, -np.inf, np.nan, 6e-8, 65504, -0.0], np.float16)

    @po.jit(fallback=False)
    def through(a):
        return a + a, a * 0.5, np.isnan(a), np.isinf(a)

    with np.errstate(all="ignore"):
        for one, other in zip(through(special), through.__wrapped__(special), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("view", [lambda a: a[::2, ::-1], lambda a: a.T, np.asfortranarray])
def test_views_are_taken_as_they_lie(view):
    ours, theirs = A.copy(), A.copy()
    function = po.jit(fallback=False)(in_place)
    function(view(ours), view(B))
    in_place(view(theirs), view(B))
    np.testing.assert_array_equal(ours, theirs)
    assert function.signatures[-1].remarks == ()


def test_numbers_of_16_bits_are_arguments_and_constants():
    constant = np.float16(0.1)

    @po.jit(fallback=False)
    def scaled(a, s):
        return a * s, a * constant, s * s

    for one, other in zip(
        scaled(A, np.float16(2.5)), scaled.__wrapped__(A, np.float16(2.5)), strict=True
    ):
        assert one.dtype == other.dtype == np.float16
        np.testing.assert_array_equal(one, other)


def test_c_whose_sums_of_halves_are_reordered_is_checked():
    """The check runs what it cannot compare as expressions; it knew no tolerance of halves."""

    @po.jit(fallback=False)
    def function(a, b, c, row):
        b[1:-1, 2:] = np.where(c[2:, :-2] < b[:-2, :-2], c[2:, :-2], b[:-2, :-2] + c[1:-1, :-2])
        means = np.mean(a * 0 + np.minimum(2 / b[:, -1:], np.roll(c, 1, axis=0)), 0)
        total = a * 0 + np.sum(means)
        chosen = np.where(np.float64(row + row) < np.roll(a, 1, axis=0), a, b[:, -1:])
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = a[i - 1, j]
        return total, chosen

    a, c = (RNG.standard_normal((6, 7)).astype(np.float16) for _ in range(2))
    b, row = RNG.integers(1, 9, (6, 7)), RNG.integers(0, 9, 7)
    ours, theirs = ([x.copy() for x in (a, b, c, row)] for _ in range(2))
    with np.errstate(all="ignore"):
        want = function.__wrapped__(*theirs)
    for one, other in zip(function(*ours), want, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-2)
    proof = function.plan.compile(check=True).proof
    assert any(o.name == "code" and "the C" in o.detail for o in proof.obligations)
    assert "not checked" not in str(proof)
