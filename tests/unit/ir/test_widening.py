"""Minima, maxima and comparisons of widened integers are those of the narrow ones."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import polyopt as po
from polyopt.ir import build
from polyopt.ir.expr import Affine, Binary, Cast, Compare, Expr, Load
from polyopt.ir.types import BOOL, F32, I8, I16, I32, I64, U8, U16, ScalarType


def element(type_: ScalarType, name: str = "a") -> Load:
    return build.load(type_, name, ())


def widened(narrow: ScalarType, wide: ScalarType, name: str = "a") -> Expr:
    return build.cast(wide, element(narrow, name))


@pytest.mark.parametrize(("narrow", "wide"), [(U8, I32), (I8, I16), (U16, I64)])
@pytest.mark.parametrize("op", ["min", "max"])
def test_the_choice_is_made_before_widening(op, narrow, wide):
    found = build.binary(op, widened(narrow, wide), widened(narrow, wide, "b"))
    assert isinstance(found, Cast)
    assert isinstance(found.operand, Binary)
    assert (found.type, found.operand.op, found.operand.type) == (wide, op, narrow)


def test_a_constant_of_the_narrow_type_is_one():
    small = build.compare("lt", widened(U8, I32), build.const(I32, 200))
    assert isinstance(small, Compare)
    assert small.left.type == small.right.type == U8


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (widened(U8, I32), build.const(I32, 256)),  # no number of 8 bits
        (widened(U8, I32), build.const(I32, -1)),
        (widened(U8, I32), widened(I8, I32, "b")),  # as bits they would compare otherwise
        (widened(U8, I32), element(I32, "b")),
        (build.cast(I8, element(I32)), build.cast(I8, element(I32, "b"))),  # narrowed
        (widened(BOOL, I32), widened(BOOL, I32, "b")),
    ],
)
def test_what_is_not_of_one_narrow_type_stays(left, right):
    for found in (build.binary("max", left, right), build.compare("lt", left, right)):
        assert [child.type for child in found.children] == [left.type, right.type]


def test_floats_stay():
    one, other = (build.cast(F32, element(I16, name)) for name in "ab")
    assert build.binary("max", one, other).type == F32
    assert not isinstance(build.binary("max", one, other), Cast)


CHOICES = """void f(int N, const {a} a[N], const {b} b[N], int out[5][N]) {{
    for (int i = 0; i < N; i++) {{
        out[0][i] = a[i] > b[i] ? a[i] : b[i];
        out[1][i] = a[i] < b[i] ? a[i] : b[i];
        out[2][i] = a[i] <= 100 ? a[i] : 100;
        out[3][i] = a[i] == b[i];
        out[4][i] = a[i] < -3 ? b[i] : a[i];
    }}
}}"""


@pytest.mark.parametrize(("a", "b"), list(product(["uint8_t", "int8_t", "uint16_t"], repeat=2)))
def test_all_pairs_are_chosen_as_c_does(a, b, tmp_path):
    kernel = po.Plan(po.parse_c(CHOICES.format(a=a, b=b))).compile(cache=tmp_path)
    edges = {t: np.array([np.iinfo(t).min, np.iinfo(t).max, 0, 1, 99, 100, 101, 127], t)
             for t in (a.removesuffix("_t"), b.removesuffix("_t"))}  # fmt: skip
    one, other = np.meshgrid(edges[a.removesuffix("_t")], edges[b.removesuffix("_t")])
    one, other = one.ravel(), other.ravel()
    x, y = one.astype(int), other.astype(int)
    expected = [np.maximum(x, y), np.minimum(x, y), np.minimum(x, 100), x == y,
                np.where(x < -3, y, x)]  # fmt: skip
    found = kernel(a=np.ascontiguousarray(one), b=np.ascontiguousarray(other))
    np.testing.assert_array_equal(found, np.array(expected))


def test_a_maximum_in_c_is_one_of_bytes():
    scop = po.parse_c(CHOICES.format(a="uint8_t", b="uint8_t"))
    value = scop.statements[0].value
    assert isinstance(value, Cast)
    assert (value.operand.type, getattr(value.operand, "op", "")) == (U8, "max")
    assert not any(isinstance(node, Affine) for node in value.children)
