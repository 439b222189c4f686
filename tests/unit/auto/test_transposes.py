"""Nests that read along one loop and write along another: in squares where these are whole."""

from __future__ import annotations

import pytest

import polyopt as po
from polyopt.transform.tree import loops_of


def crossing(rows, columns, *, type_=po.f32):
    x = po.input("x", type_, [columns, rows])
    return po.pipeline([po.stage("out", [rows, columns], lambda i, j: x[j, i])])


def loops(plan):
    return [loop.name for loop in loops_of(plan.program.tree)]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((64, 56), ["out.i_tile", "out.j_tile", "out.i", "out.j"]),  # squares of 16 x 14
        ((16, 56), ["out.j_tile", "out.i", "out.j"]),  # one square wide
        ((16, 7), ["out.i", "out.j"]),  # one square
        ((61, 56), ["out.i", "out.j"]),  # 61 is a prime: no whole squares
        ((64, 3), ["out.i", "out.j"]),  # most of a square would be empty
    ],
)
def test_lengths_decide_on_squares(shape, expected):
    assert loops(po.auto(crossing(*shape), target="avx512")) == expected


def test_other_vectors_and_types_stay():
    plain = ["out.i", "out.j"]
    assert loops(po.auto(crossing(64, 56), target="avx2")) == plain
    assert loops(po.auto(crossing(64, 56, type_=po.f64), target="avx512")) == plain


def test_what_reads_along_rows_stays():
    x = po.input("x", po.f32, [64, 64])
    out = po.stage("out", [64, 64], lambda i, j: x[i, j] + x[i, 0])
    assert loops(po.auto(po.pipeline([out]), target="avx512")) == ["out.i", "out.j"]
    # diagonals are no columns
    out = po.stage("out", [32, 32], lambda i, j: x[i + j, i])
    assert "out.i_tile" not in loops(po.auto(po.pipeline([out]), target="avx512"))


def test_a_remark_tells_the_squares():
    plan = po.auto(crossing(64, 56), target="avx512")
    assert "squares of both" in str(plan.explain())
