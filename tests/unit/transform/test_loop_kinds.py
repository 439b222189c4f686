"""parallelize, vectorize, unroll, unroll_and_jam, separate: what they owe and how they read."""

from __future__ import annotations

import re

import pytest

from polyopt.errors import (
    InvalidOptionError,
    NotPermutableError,
    ParallelCarriedError,
    UnknownNameError,
    VectorCarriedError,
)
from tests.unit.transform.programs import (
    BLUR,
    DIAGONAL,
    JACOBI,
    LAG,
    SCAN,
    TRIANGLE,
    lines,
    plan,
    right,
)


def tiled():
    return plan(BLUR).tile("out", y=4, x=4).fuse("bx", into="out")


@pytest.mark.parametrize("loop", ["out.y_tile", "out.x_tile", "bx.y", "bx.x", "out.y", "out.x"])
def test_loops_that_carry_nothing_run_in_parallel(loop):
    made = right(tiled().parallelize(loop))
    assert any(line.strip() == f"for {loop}:  # parallel" for line in lines(made))
    assert ("parallel", f"{loop} carries no dependence") in [
        (o.name, o.detail) for o in made.prove().obligations
    ]


@pytest.mark.parametrize(
    ("text", "loop", "array"),
    [(DIAGONAL, "a.i", "a"), (SCAN, "c.i", "c"), (JACOBI, "a.t", "b"), (TRIANGLE, "o.j", "o")],
)
def test_loops_that_carry_a_dependence_do_not(text, loop, array):
    with pytest.raises(ParallelCarriedError) as caught:
        plan(text).parallelize(loop)
    assert f"its iterations share elements of {array}" in str(caught.value)
    (witness,) = caught.value.witnesses
    assert witness.source != witness.sink


SEIDEL = """
void seidel(int N, int T, double A[N][N])
{
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                A[i][j] = (A[i - 1][j] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j]) * 0.2;
}
"""
CORNER = """
void corner(int N, double A[N][N])
{
    for (int i = 1; i < N; i++)
        for (int j = 1; j < N; j++)
            A[i][j] += 0.5 * A[i - 1][j] + A[i][j - 1];
}
"""


@pytest.mark.parametrize(
    ("text", "loop"), [(SEIDEL, "A.t"), (SEIDEL, "A.i"), (SEIDEL, "A.j"), (CORNER, "A.i"),
                       (CORNER, "A.j")]
)  # fmt: skip
def test_the_hint_of_a_refused_parallel_loop_makes_a_wavefront(text, loop):
    """What the hint says is done, word for word."""
    made = plan(text)
    with pytest.raises(ParallelCarriedError) as caught:
        made.parallelize(loop)
    hint = re.fullmatch(
        r'skew\("(\S+)", by="(\S+)"(?:, factor=(\d))?\) and interchange\("(\S+)", "(\S+)"\) first: '
        r"then (\S+) can run in parallel",
        caught.value.diagnostic.hint,
    )
    inner, outer, factor, one, other, free = hint.groups()
    assert loop in {inner, outer}
    made = made.skew(inner, by=outer, factor=int(factor or 1)).interchange(one, other)
    assert made.parallelize(free).prove()


@pytest.mark.parametrize(("text", "loop"), [(DIAGONAL, "a.i"), (SCAN, "c.i")])
def test_where_skewing_does_not_help_no_hint_says_so(text, loop):
    with pytest.raises(ParallelCarriedError) as caught:
        plan(text).parallelize(loop)
    assert "skew" not in caught.value.diagnostic.hint


def test_a_buffer_inside_the_loop_is_private_and_one_outside_is_shared():
    right(plan(JACOBI).store("b", at="a.t"))
    inside = plan(BLUR).tile("out", y=4).fuse("bx", into="out")
    right(inside.parallelize("out.y_tile"))
    with pytest.raises(ParallelCarriedError, match="share elements of bx"):
        inside.store("bx", at="").parallelize("out.y_tile")


def test_a_window_carries_its_loop_and_no_outer_one():
    slid = plan(BLUR).tile("out", y=4).fuse("bx", into="out", storage="sliding")
    right(slid.parallelize("out.y_tile"))
    with pytest.raises(ParallelCarriedError):
        slid.parallelize("out.y")


def test_directly_nested_parallel_loops_are_one_level():
    right(plan(BLUR).parallelize("out.y").parallelize("out.x"))
    tiled_ = plan(BLUR).tile("out", y=4, x=4).parallelize("out.y_tile")
    with pytest.raises(InvalidOptionError, match="inside a parallel loop already"):
        tiled_.parallelize("out.y")  # out.x_tile is between
    with pytest.raises(InvalidOptionError, match="has no schedule of its own"):
        tiled_.parallelize("out.x_tile", schedule="static")


def test_loops_are_collapsed_where_their_bounds_do_not_change():
    half = plan(TRIANGLE)
    outer, inner = [loop.name for loop in half.program.tree[0].loops][:2]
    with pytest.raises(InvalidOptionError, match="on which its bounds depend"):
        half.parallelize(outer).parallelize(inner)


def test_loops_after_each_other_can_all_be_parallel():
    right(plan(BLUR).parallelize("bx.y").parallelize("out.y"))


@pytest.mark.parametrize("width", [0, 1, 2, 8])
def test_vector_loops_print_their_width(width):
    made = right(plan(BLUR).vectorize("out.x", width))
    shown = f" {width}" if width else ""
    assert f"  for out.x:  # vector{shown}" in lines(made)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_lanes_up_to_the_distance(width):
    right(plan(LAG).vectorize("a.i", width))


@pytest.mark.parametrize("width", [0, 4, 8])
def test_no_more_lanes_than_the_distance(width):
    with pytest.raises(VectorCarriedError) as caught:
        plan(LAG).vectorize("a.i", width)
    (witness,) = caught.value.witnesses
    gap = witness.sink[1][0] - witness.source[1][0]
    assert abs(gap) == 3


def test_reductions_are_not_reassociated():
    with pytest.raises(VectorCarriedError, match="share o"):
        plan(TRIANGLE).vectorize("o.j", 4)


def test_only_innermost_loops_are_vectors():
    with pytest.raises(NotPermutableError, match=r"out\.y is not an innermost loop"):
        plan(BLUR).vectorize("out.y", 4)
    right(plan(BLUR).interchange("out.y", "out.x").vectorize("out.y", 4))


def test_a_vector_loop_around_unrolled_ones():
    right(plan(TRIANGLE).distribute("o.i", at="o_1").interchange("o.i", "o.j").vectorize("o.i", 4))


@pytest.mark.parametrize("size", [-1, 2.5, None, False, "", 0.0])
def test_marks_take_whole_numbers(size):
    for move in ("vectorize", "unroll", "unroll_and_jam"):
        with pytest.raises(InvalidOptionError, match="positive whole number"):
            getattr(plan(BLUR), move)("out.x" if move != "unroll_and_jam" else "out.y", size)


def test_unroll_by_a_factor_splits():
    made = right(plan(BLUR).unroll("out.x", 3))
    assert lines(made)[-3:] == [
        "  for out.x_unrolled:",
        "    for out.x:  # unroll",
        "      out: out[y, x] = bx[y, x] + bx[y + 1, x] + bx[y + 2, x]",
    ]


def test_unroll_completely():
    text = """
    void weights(int N, const float a[N + 2], float o[N])
    {
        for (int i = 0; i < N; i++) {
            o[i] = 0;
            for (int k = 0; k < 3; k++)
                o[i] += a[i + k];
        }
    }
    """
    assert "  for o.k:  # unroll" in lines(right(plan(text).unroll("o.k")))


def test_unroll_and_jam_puts_iterations_inside():
    made = right(plan(BLUR).unroll_and_jam("out.y", 2))
    assert lines(made)[-4:] == [
        "for out.y_jam:",
        "  for out.x:",
        "    for out.y:  # unroll",
        "      out: out[y, x] = bx[y, x] + bx[y + 1, x] + bx[y + 2, x]",
    ]


def test_unroll_and_jam_against_a_dependence():
    with pytest.raises(NotPermutableError) as caught:
        plan(DIAGONAL).unroll_and_jam("a.i", 2)
    assert "hint: skew" in str(caught.value)
    with pytest.raises(NotPermutableError, match="holds no loop to jam into"):
        plan(LAG).unroll_and_jam("a.i", 2)


def test_separate_changes_no_order():
    made = right(tiled().separate_full_tiles("out.y_tile").separate_full_tiles("out.x"))
    assert str(made) == str(tiled())
    with pytest.raises(InvalidOptionError, match="is unrolled"):
        plan(BLUR).unroll("out.x", 2).separate_full_tiles("out.x")


@pytest.mark.parametrize("move", ["parallelize", "vectorize", "unroll", "separate_full_tiles"])
def test_marks_of_loops_that_are_not_there(move):
    with pytest.raises(UnknownNameError, match=r"did you mean 'out\.y'"):
        getattr(plan(BLUR), move)("out.yy")
