"""Loops split, tiled, exchanged, skewed, reversed, shifted, fused, distributed: effect and refusals."""

from __future__ import annotations

import pytest

import polyopt as po
from polyopt.errors import (
    InvalidOptionError,
    NotFusableError,
    NotPermutableError,
    OrderViolatedError,
    UnknownNameError,
)
from polyopt.isl import parse_map
from tests.unit.transform.programs import (
    BLUR,
    DESCENDING,
    DIAGONAL,
    JACOBI,
    LAG,
    SCAN,
    TRIANGLE,
    fresh,
    lines,
    plan,
    right,
    same_loops,
)

OUT = "[H, W] -> { out[y, x] -> "
HERE = " : 0 <= y < H and 0 <= x < W }"

# -- tile and split -----------------------------------------------------------------------------


def test_tile_puts_blocks_outside_and_points_inside():
    made = right(plan(BLUR).tile("out", y=4, x=8))
    assert lines(made) == [
        "for bx.y:",
        "  for bx.x:",
        "    bx: bx[y, x] = img[y, x] + img[y, x + 1] + img[y, x + 2]",
        "for out.y_tile:",
        "  for out.x_tile:",
        "    for out.y:",
        "      for out.x:",
        "        out: out[y, x] = bx[y, x] + bx[y + 1, x] + bx[y + 2, x]",
    ]
    assert same_loops(made, "out", f"{OUT}[floor(y/4), floor(x/8), y, x]{HERE}")


def test_tile_takes_the_nest_s_order_whatever_the_order_of_the_sizes():
    assert str(plan(BLUR).tile("out", x=8, y=4)) == str(plan(BLUR).tile("out", y=4, x=8))


def test_tile_of_one_loop_leaves_the_others():
    made = right(plan(BLUR).tile("out", x=8))
    assert made.loops("out") == ("out.y", "out.x_tile", "out.x")


def test_tiles_of_tiles_are_numbered():
    made = right(plan(BLUR).tile("out", y=8, x=8).tile("out", y=4, x=2))
    assert made.loops("out") == (
        "out.y_tile", "out.x_tile", "out.y_tile2", "out.x_tile2", "out.y", "out.x",
    )  # fmt: skip
    assert same_loops(
        made, "out", f"{OUT}[floor(y/8), floor(x/8), floor(y/4), floor(x/2), y, x]{HERE}"
    )


def test_tiles_of_a_triangle_hold_what_is_in_it():
    made = right(plan(TRIANGLE).tile("s", i=2, j=3))
    assert made.loops("s") == ("s.i_tile", "s.j_tile", "s.i", "s.j")


def test_tile_against_a_dependence_says_which_skew_helps():
    together = plan(JACOBI).fuse_loops("b.i", "a.i", shift=1)
    with pytest.raises(NotPermutableError) as caught:
        together.tile("a", t=2, i=4)
    assert 'hint: skew("a.i", by="a.t", factor=2) first' in str(caught.value)
    assert caught.value.witnesses
    right(together.skew("a.i", by="a.t", factor=2).tile("a", t=2, i=4))


@pytest.mark.parametrize("size", [0, -1, 1.5, "8", True])
def test_a_tile_has_a_positive_whole_size(size):
    with pytest.raises(InvalidOptionError, match="positive whole number"):
        plan(BLUR).tile("out", y=size)


def test_tile_wants_a_loop():
    with pytest.raises(InvalidOptionError, match="no loop was named"):
        plan(BLUR).tile("out")


def test_tile_of_a_loop_that_is_not_there_lists_those_that_are():
    with pytest.raises(UnknownNameError, match=r"no loop is called 'out\.z'"):
        plan(BLUR).tile("out", z=4)
    with pytest.raises(UnknownNameError, match="there are: bx, out"):
        plan(BLUR).tile("blurred", y=4)


def test_split_keeps_the_order():
    made = right(plan(DIAGONAL).split("a.j", 4))
    assert made.loops("a") == ("a.i", "a.j_tile", "a.j")
    text = "[N] -> { a[i, j] -> [i, floor(j/4), j] : 1 <= i < N and 0 <= j < N - 1 }"
    assert same_loops(made, "a", text)


def test_split_twice_gives_a_name_of_its_own():
    assert plan(BLUR).split("out.y", 4).split("out.y", 2).loops("out") == (
        "out.y_tile", "out.y_tile2", "out.y", "out.x",
    )  # fmt: skip


@pytest.mark.parametrize("size", [0, -3, 2.0])
def test_split_wants_a_positive_whole_size(size):
    with pytest.raises(InvalidOptionError, match="positive whole number"):
        plan(BLUR).split("out.y", size)


# -- interchange, reorder, skew -----------------------------------------------------------------


def test_interchange():
    made = right(plan(BLUR).interchange("out.y", "out.x"))
    assert made.loops("out") == ("out.x", "out.y")
    assert same_loops(made, "out", f"{OUT}[x, y]{HERE}")


def test_interchange_of_a_triangle():
    made = right(plan(TRIANGLE).interchange("s.i", "s.j"))
    assert same_loops(made, "s", "[N] -> { s[i, j] -> [j, i] : 0 <= j <= i < N }")


def test_interchange_against_a_dependence_says_which_skew_helps():
    with pytest.raises(NotPermutableError) as caught:
        plan(DIAGONAL).interchange("a.i", "a.j")
    assert 'hint: skew("a.j", by="a.i") first' in str(caught.value)
    right(plan(DIAGONAL).skew("a.j", by="a.i").interchange("a.i", "a.j"))


def test_reorder_wants_loops():
    with pytest.raises(InvalidOptionError, match="no loops are named"):
        plan(BLUR).reorder()


def test_interchange_wants_one_perfect_nest():
    with pytest.raises(NotPermutableError, match="not in one loop nest"):
        plan(BLUR).interchange("bx.y", "out.x")
    with pytest.raises(NotPermutableError, match="not perfectly nested") as caught:
        plan(TRIANGLE).interchange("o.i", "o.j")
    assert "distribute its statements first" in str(caught.value)
    right(plan(TRIANGLE).distribute("o.i", at="o_1").interchange("o.i", "o.j"))


def test_reorder_names_loops_from_the_outside_in():
    tiled = plan(BLUR).tile("out", y=4, x=4)
    made = right(tiled.reorder("out.x_tile", "out.y_tile", "out.x", "out.y"))
    assert made.loops("out") == ("out.x_tile", "out.y_tile", "out.x", "out.y")


def test_reorder_leaves_loops_that_are_not_named_in_place():
    tiled = plan(BLUR).tile("out", y=4, x=4)
    made = right(tiled.reorder("out.x", "out.y_tile"))
    assert made.loops("out") == ("out.x", "out.x_tile", "out.y", "out.y_tile")


def test_skew_adds_the_outer_loop():
    made = right(plan(BLUR).skew("out.x", by="out.y", factor=2))
    assert same_loops(made, "out", f"{OUT}[y, x + 2y]{HERE}")


def test_skew_by_a_loop_that_does_not_enclose():
    with pytest.raises(NotPermutableError, match="does not enclose"):
        plan(BLUR).skew("out.y", by="out.x")


def test_skew_by_a_fraction():
    with pytest.raises(InvalidOptionError, match="whole number"):
        plan(BLUR).skew("out.x", by="out.y", factor=0.5)


def test_reverse_runs_the_last_iteration_first():
    made = right(plan(BLUR).reverse("out.x"))
    assert same_loops(made, "out", f"{OUT}[y, -x]{HERE}")
    assert same_loops(right(made.reverse("out.x")), "out", f"{OUT}[y, x]{HERE}")


def test_reverse_of_a_loop_around_others_and_of_tiles():
    tiled = plan(BLUR).reverse("out.y").tile("out", y=4, x=8).fuse("bx", into="out")
    made = right(tiled.reverse("out.x_tile").parallelize("out.y_tile"))
    assert made.loops("out") == ("out.y_tile", "out.x_tile", "out.y", "out.x")
    assert "out[-y][x]" in made.emit().source


def test_a_loop_that_carries_a_dependence_is_not_reversed():
    with pytest.raises(OrderViolatedError) as caught:
        plan(LAG).reverse("a.i")
    (witness,) = caught.value.witnesses
    assert witness.sink[1][0] - witness.source[1][0] == 3
    assert "hint: a loop that carries a dependence runs one way only" in str(caught.value)


def test_a_loop_that_runs_against_another_is_fused_once_it_is_reversed():
    text = """
    void against(int N, const float a[N], float s[N], float o[N])
    {
        for (int i = N - 1; i >= 0; i--)
            s[i] = 2 * a[i];
        for (int i = 0; i < N; i++)
            o[i] = s[i] + 1;
    }
    """
    made = right(plan(text).reverse("s.i").fuse_loops("s.i", "o.i"))
    assert same_loops(made, "s", "[N] -> { s[i] -> [i] : 0 <= i < N }")
    assert same_loops(made, "o", "[N] -> { o[i] -> [i] : 0 <= i < N }")


# -- shift, fuse_loops, distribute -------------------------------------------------------------------


def test_shift_moves_iterations_not_values():
    made = right(plan(BLUR).shift("out", y=2, x=-1))
    assert same_loops(made, "out", f"{OUT}[y + 2, x - 1]{HERE}")


@pytest.mark.parametrize("amount", [0.5, "1"])
def test_shift_by_a_fraction(amount):
    with pytest.raises(InvalidOptionError, match="not a whole number"):
        plan(BLUR).shift("out", y=amount)


def test_shift_wants_a_loop():
    with pytest.raises(InvalidOptionError, match="no loop was named"):
        plan(BLUR).shift("out")


def test_merge_joins_neighbours_one_deep():
    made = right(plan(BLUR).fuse_loops("bx.y", "out.y", shift=2))
    assert lines(made) == [
        "for out.y:",
        "  for bx.x:",
        "    bx: bx[y, x] = img[y, x] + img[y, x + 1] + img[y, x + 2]",
        "  for out.x:",
        "    out: out[y, x] = bx[y, x] + bx[y + 1, x] + bx[y + 2, x]",
    ]
    assert same_loops(made, "out", f"{OUT}[y + 2, x]{HERE}")


def test_merge_joins_neighbours_two_deep():
    made = right(plan(BLUR).fuse_loops("bx.y", "out.y", depth=2, shift=2))
    assert made.loops("out") == made.loops("bx") == ("out.y", "out.x")


@pytest.mark.parametrize(
    ("shift", "hint"), [(0, "shift=2"), (1, "shift=2"), (-9, "no shift helps")]
)
def test_a_merge_that_is_too_early_says_which_shift_helps(shift, hint):
    with pytest.raises(OrderViolatedError) as caught:
        plan(BLUR).fuse_loops("bx.y", "out.y", shift=shift)
    (witness,) = caught.value.witnesses
    assert witness.source[0] == "bx"
    assert witness.sink[0] == "out"
    assert f"hint: {hint}" in str(caught.value)


def test_a_hint_takes_a_tenth_of_a_proof_and_says_so(monkeypatch):
    monkeypatch.setattr("polyopt.transform.hints.BUDGET", 10)
    with pytest.raises(OrderViolatedError, match="whether a shift helps was not decided") as fusing:
        fresh(BLUR).fuse_loops("bx.y", "out.y")
    with pytest.raises(NotPermutableError, match="whether skewing them helps was not") as exchange:
        fresh(DIAGONAL).interchange("a.i", "a.j")
    assert all(len(caught.value.witnesses) == 1 for caught in (fusing, exchange))


def test_a_merge_of_descending_loops_needs_no_shift():
    right(plan(DESCENDING).fuse_loops("s.i", "o.i"))


def test_a_merge_where_iterations_feed_the_next_step_of_time():
    with pytest.raises(OrderViolatedError, match=r"flow a\[0, 1\] -> b\[1, 2\]"):
        plan(JACOBI).fuse_loops("b.i", "a.i")
    right(plan(JACOBI).fuse_loops("b.i", "a.i", shift=1))


def test_only_neighbours_merge():
    with pytest.raises(NotFusableError, match="are not neighbours"):
        plan(BLUR).fuse_loops("out.y", "bx.y")
    with pytest.raises(NotFusableError, match="are not neighbours"):
        plan(BLUR).fuse_loops("bx.y", "out.x")


def test_distribute_undoes_merge():
    together = plan(BLUR).fuse_loops("bx.y", "out.y", shift=2)
    made = right(together.distribute("out.y", at="out"))
    assert made.loops("out") == ("out.y", "out.x")
    assert made.loops("bx") == ("out.y2", "bx.x")


def test_distribute_against_a_dependence():
    text = """
    void back(int N, float a[N + 1], float b[N + 1])
    {
        for (int i = 0; i < N; i++) {
            a[i] = b[i];
            b[i + 1] = a[i];
        }
    }
    """
    with pytest.raises(OrderViolatedError) as caught:
        plan(text).distribute("b.i", at="b")
    assert caught.value.witnesses
    assert "hint: statements stay in one loop where each needs" in str(caught.value)


def test_distribute_where_nothing_stands_before():
    with pytest.raises(NotFusableError, match="nothing to distribute"):
        plan(BLUR).distribute("out.y", at="out")


# -- loops of the source ------------------------------------------------------------------------


def test_the_plan_that_changes_nothing_prints_the_source_s_loops():
    assert lines(right(plan(SCAN))) == [
        "c_0: c[0] = a[0]",
        "for c.i:",
        "  c_1: c[i] = c[i - 1] + a[i]",
        "for o.i:",
        "  o: o[i] = 2.0 * c[i]",
    ]


def test_a_descending_loop_s_values_fall():
    made = right(plan(DESCENDING))
    assert same_loops(made, "o", "[N] -> { o[i] -> [-i] : 0 <= i < N }")


def test_loops_have_names_of_their_own_when_arrays_repeat():
    text = """
    void twice(int N, float a[N])
    {
        for (int i = 0; i < N; i++)
            a[i] = a[i] + 1;
        for (int i = 0; i < N; i++)
            a[i] = 2 * a[i];
        for (int i = 0; i < N; i++)
            a[i] = a[i] + 3;
    }
    """
    made = right(plan(text))
    assert [loop.name for loop in made.program.tree] == ["a.i", "a_1.i", "a_2.i"]
    right(made.fuse_loops("a.i", "a_1.i").fuse_loops("a_1.i", "a_2.i"))
    with pytest.raises(UnknownNameError, match=r"no loop is called 'a_9\.i'"):
        made.split("a_9.i", 2)


def test_a_name_that_means_several_loops_lists_them():
    tiled = plan(TRIANGLE).distribute("o.i", at="o_1")
    assert tiled.loops("o_0") == ("o.i2",)
    assert tiled.loops("o_1") == ("o.i", "o.j")


def test_moves_are_found_by_statement_as_well():
    assert plan(SCAN).split("c_1.i", 4).loops("c_1") == ("c.i_tile", "c.i")


def test_an_order_that_no_dependence_forbids_is_free():
    made = right(plan(LAG).split("a.i", 3))
    relation = made.program.prefixes["a"]
    assert relation.is_equal(parse_map("[N] -> { a[i] -> [floor(i/3), i] : 3 <= i < N }"))
    assert po.Plan(made.scop).loops("a") == ("a.i",)
