"""When two results are the same."""

import numpy as np

from polyopt.bench.agreement import outliers, share_of_outliers


def test_integers_have_to_be_equal():
    one = np.array([1, 2, 3], np.uint8)
    assert outliers(one, one.copy()) == 0
    assert outliers(one, np.array([1, 2, 4], np.uint8)) == 1


def test_floats_may_differ_by_rounding_relative_to_the_largest():
    expected = np.array([1000.0, 1e-3], np.float32)
    assert outliers(expected + np.float32(0.05), expected) == 0
    assert outliers(expected + np.float32(0.5), expected) == 2
    assert outliers(expected.astype(np.float64) + 0.05, expected.astype(np.float64)) == 2


def test_nan_and_infinity_are_values_of_their_own():
    expected = np.array([np.nan, np.inf, 1.0], np.float32)
    assert outliers(expected.copy(), expected) == 0
    assert outliers(np.array([0.0, np.inf, 1.0], np.float32), expected) == 1
    assert outliers(np.array([np.nan, -np.inf, np.nan], np.float32), expected) == 2


def test_all_zero_is_only_all_zero():
    zero = np.zeros(3, np.float32)
    assert outliers(zero, zero) == 0
    assert outliers(zero + np.float32(1e-6), zero) == 3


def test_other_shapes_and_missing_results_never_agree():
    assert outliers(np.zeros((2, 3)), np.zeros((3, 2))) == 6
    assert share_of_outliers({}, {"out": np.zeros(3)}) == 1.0
    assert share_of_outliers({"out": np.zeros(3)}, {}) == 1.0


def test_the_worst_array_decides():
    expected = {"a": np.zeros(4), "b": np.zeros(4)}
    assert share_of_outliers({"a": np.zeros(4), "b": np.array([0, 0, 0, 1.0])}, expected) == 0.25
