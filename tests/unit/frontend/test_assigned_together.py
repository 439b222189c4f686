"""A test that reads what ``a, b = ...`` assigns under it is the test from before."""

# ruff: noqa: F821  (extents are texts in subscripts of annotations)

import numpy as np
import pytest

from polyopt.errors import TypeMismatchError
from polyopt.frontend.loops import boolean, f64, scop
from tests.unit.frontend.test_loops_meaning import check


def test_names_assigned_together_under_a_test_that_reads_them():
    def climb(a: f64["n"], out: f64["n"]):
        n = a.shape[0]
        x, y = 1.0, 1.0
        for i in range(n):
            if x < a[i]:
                x, y = x + 1.5, y + a[i]
                out[i] = x
            else:
                out[i] = y

    check(climb, {"n": 8}, a=np.arange(8.0) * 3, out=np.zeros(8))


def test_powers_of_truth_values_are_refused():
    def squared(a: boolean["n"], out: f64["n"]):
        for i in range(a.shape[0]):
            out[i] = a[i] ** 2

    with pytest.raises(TypeMismatchError, match="truth values"):
        scop(squared)
