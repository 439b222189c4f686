"""Writes to elements that data choose, in Python loops, and what a call checks of index arrays."""

import numpy as np
import pytest

import polyopt as po
from polyopt import f32, i32, u8
from polyopt.analysis.bounds import check_bounds
from polyopt.errors import ArgumentError, OutOfBoundsError
from polyopt.ir.indices import IndexArray, index_arrays


def histogram(key: i32["n"], count: i32["m"]):  # noqa: F821
    for i in range(len(key)):
        count[key[i]] += 1


def levels(key: u8["n"], mask: i32["n"]):  # noqa: F821
    count = np.zeros(256, np.int32)
    for i in range(len(key)):
        if mask[i] > 0:
            count[key[i]] += 1
    return count


def too_few(key: u8["n"], count: i32[255]):  # noqa: F821
    for i in range(len(key)):
        count[key[i]] += 1


def clamped(key: i32["n"], a: f32["h", "m"]):  # noqa: F821
    for i in range(len(key)):
        a[0, min(max(key[i], 0), a.shape[1] - 1)] = i


def gather(at: i32["n"], x: f32["m"], y: f32["n"]):  # noqa: F821
    for i in range(len(at)):
        y[i] = x[at[i]]


def test_a_histogram_counts_as_python_does():
    scop = po.scop(histogram)
    (statement,) = scop.statements
    assert not statement.write.exact
    touched = statement.write.relation.intersect_params(scop.context).range()
    assert touched.is_equal(scop.elements["count"].intersect_params(scop.context))
    kernel = po.auto(scop).compile()
    key = np.array([3, 0, 3, 6, 3], np.int32)
    expected = np.zeros(7, np.int32)
    histogram(key, expected)
    assert kernel(key, np.zeros(7, np.int32)).tolist() == expected.tolist()
    for wrong in (7, -1):
        key[2] = wrong
        with pytest.raises(ArgumentError, match=rf"key\[2\] is {wrong}, .* axis 0 has 7"):
            kernel(key, np.zeros(7, np.int32))


def test_subscripts_bounded_by_their_type_need_no_check():
    scop = po.scop(levels)
    assert index_arrays(scop) == ()
    check_bounds(scop)
    plan = po.auto(scop)
    plan.prove()
    random = np.random.default_rng(1)
    key = random.integers(0, 256, 999).astype(np.uint8)
    mask = random.integers(0, 2, 999).astype(np.int32)
    assert plan.compile()(key, mask).tolist() == levels(key, mask).tolist()
    with pytest.raises(OutOfBoundsError, match=r"element count\[255\]"):
        check_bounds(po.scop(too_few))


def test_clamped_subscripts_write_within_their_bounds():
    scop = po.scop(clamped)
    check_bounds(scop)
    a = np.zeros((2, 3), np.float32)
    assert po.Plan(scop).compile()(np.array([9, 1, -9], np.int32), a)[0].tolist() == [2, 1, 0]


def test_gathers_are_checked_at_the_call():
    scop = po.scop(gather)
    check_bounds(scop)
    assert index_arrays(scop) == (IndexArray("at", "x", 0, always=True),)


def test_only_what_every_call_reads_is_checked_in_c():
    text = "\n#pragma polyopt inbounds\nvoid f(int n, int m, const int k[n], int c[m]) {{ {} }}"
    always = [
        index_arrays(po.parse_c(text.format(body)))[0].always
        for body in (
            "for (int i = 0; i < n; i++) c[k[i]] = i;",
            "for (int i = 1; i < n; i++) c[k[i]] = i;",
            "for (int i = 0; i < n; i++) if (k[i] >= 0) c[k[i]] = i;",
            "for (int i = 0; i < n; i++) { int j = 0; while (j < 3) { c[k[i]] = i; j++; } }",
        )
    ]
    assert always == [True, False, False, False]
