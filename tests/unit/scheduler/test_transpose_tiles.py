"""Nests that read along one loop and write along another: in squares where these are whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.codegen.target import target as find_target
from polyopt.isl import constant_value
from polyopt.transform.schedule.tree import loops_of


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


def convolved(size, *, framed=True):
    """A depthwise sum over planes that are brought into blocks of 16 channels."""
    x = po.input("x", po.f32, [2, 16, size, size])
    w = po.input("w", po.f32, [2, 3, 3, 16])
    turned = po.stage(
        "turned", [2, size, size, 16], lambda c, y, v, o: x[c, o, y, v], indices=tuple("cyvo")
    )
    inside, left = (turned, size - 2) if not framed else (po.padded(turned, 0.0), size)
    edge = 1 if framed else 0
    frame = po.stage(
        "frame", [2, left + 2, left + 2, 16],
        lambda c, y, v, o: inside[c, y - edge, v - edge, o], indices=tuple("cyvo"),
    )  # fmt: skip
    sums = po.stage(
        "sums", [2, left, left, 16],
        lambda c, y, v, o: po.sum(
            lambda r, t: frame[c, y + r, v + t, o] * w[c, r, t, o], {"r": 3, "t": 3}
        ),
        indices=tuple("cyvo"),
    )  # fmt: skip
    return po.auto(po.pipeline([sums]), target=replace(find_target("avx512"), cores=2))


def test_what_a_frame_is_made_of_is_put_across_row_by_row():
    plan = convolved(14)
    turned = next(s for s in plan.program.scratches if s.array == "turned")
    frame = next(s for s in plan.program.scratches if s.array == "frame")
    # a row of the frame needs a whole square; each channel's part of the frame is its own
    assert (turned.at, frame.at) == ("frame.y", "sums.c")
    assert [constant_value(e) for e in turned.extents] == [1, 1, 14, 16]
    source = plan.emit().source
    assert "transposed_f32(&x[" in source
    assert "x[c][o]" not in source
    assert "the C read back has the source's values, for all sizes" in str(plan.prove(code=True))


def test_what_nothing_tests_is_put_across_where_it_is_read():
    assert "turned" in convolved(16, framed=False).program.inlined


def test_what_fills_no_squares_is_read_across():
    assert "turned" in convolved(11 + 2 * 3).program.inlined
