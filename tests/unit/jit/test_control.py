"""Counted ``while`` loops and ``continue``: what Python gives, and what is refused by name."""

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import UnsupportedError


def up(a, n):
    i = 0
    total = 0.0
    while i < n:
        total += a[i]
        i += 1
    return total, i


def to_the_end(a):
    i, total = 0, 0.0
    last = a.shape[0] - 1
    k = 1
    while k <= last:
        total += a[k] * k
        k += 3
    return total + i


def down(a):
    result = np.zeros_like(a)
    i = a.shape[0] - 1
    while i >= 0:
        result[i] = a[a.shape[0] - 1 - i]
        i -= 1
    return result


def nested(a):
    result = np.zeros(a.shape)
    i = 0
    while i < a.shape[0]:
        j = i
        while j < a.shape[1]:
            result[i, j] = a[i, j] + i * j
            j += 1
        i += 1
    return result


def passed_over(a):
    total = 0.0
    for i in range(a.shape[0]):
        if a[i] < 0:
            continue
        if i == 2:
            total += 100.0
        else:
            total -= 1.0
            continue
        total += a[i]
    return total


def both_sides(a):
    result = np.zeros_like(a)
    for i in range(a.shape[0]):
        if i % 2 == 0:
            result[i] = 1.0
            continue
        result[i] = a[i]
        result[i] *= 2.0
        continue
    return result


def helped(a):
    return up(a, 3)[0] + passed_over(a)


@pytest.mark.parametrize("size", [5, 6, 11])
@pytest.mark.parametrize("function", [to_the_end, down, passed_over, both_sides, helped])
def test_loops_give_what_python_gives(function, size):
    a = np.random.default_rng(size).standard_normal(size)
    np.testing.assert_allclose(po.jit(fallback=False)(function)(a), function(a), rtol=1e-14)


@pytest.mark.parametrize("n", [-2, 0, 1, 5])
def test_a_counter_has_its_last_value_after_the_loop(n):
    a = np.arange(5.0)
    assert po.jit(fallback=False)(up)(a, n) == up(a, n)


def test_loops_may_be_nested():
    a = np.random.default_rng(0).random((4, 6))
    np.testing.assert_array_equal(po.jit(fallback=False)(nested)(a), nested(a))


def by_data(a):
    i = 0
    while a[i] > 0:
        i += 1
    return i


def end_that_moves(a):
    i, n = 0, 3
    i = 0
    while i < n:
        a[i] = n
        n = n - 1
        i += 1
    return a


def counter_that_moves_twice(a):
    i = 0
    while i < 4:
        i += 1
        a[i] = i
        i += 1
    return a


def passed_before_it_moves(a):
    i = 0
    while i < 4:
        if a[i] > 0:
            continue
        i += 1
    return a


def left_early(a):
    for i in range(a.shape[0]):
        if a[i] < 0:
            break
        a[i] = 0
    return a


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (by_data, "'while' is not taken"),
        (end_that_moves, "'while' is not taken"),
        (counter_that_moves_twice, "'while' is not taken"),
        (passed_before_it_moves, "'while' is not taken"),
        (left_early, "'break' is not taken"),
    ],
)
def test_loops_that_only_data_end_are_refused_by_name_and_place(function, what):
    with pytest.raises(UnsupportedError, match=what) as refused:
        po.jit(fallback=False)(function)(np.ones(7))
    assert "test_control.py:" in str(refused.value)
