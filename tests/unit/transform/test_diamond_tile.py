"""diamond: tiles that start at once, their faces, and the refusals."""

from __future__ import annotations

import pytest

import polyopt as po
from polyopt.errors import InvalidOptionError, NotPermutableError, UnknownNameError
from polyopt.transform.loops.tile_faces import faces
from polyopt.transform.schedule.query import find_loop
from tests.unit.transform.programs import BLUR, DIAGONAL, JACOBI, lines, plan, right, same_loops

SEIDEL = """
void seidel(int T, int N, float a[N + 2])
{
    for (int t = 0; t < T; t++)
        for (int i = 1; i <= N; i++)
            a[i] = a[i - 1] + a[i + 1];
}
"""
WIDE = """
void wide(int T, int N, float a[N + 6])
{
    float b[N + 6];
    for (int t = 0; t < T; t++) {
        for (int i = 3; i < N + 3; i++)
            b[i] = a[i - 3] + a[i + 1];
        for (int i = 3; i < N + 3; i++)
            a[i] = b[i];
    }
}
"""
PLANES = """
void planes(int P, int T, int N, float a[P][N + 2], float b[P][N + 2])
{
    for (int p = 0; p < P; p++)
        for (int t = 0; t < T; t++) {
            for (int i = 1; i <= N; i++)
                b[p][i] = a[p][i - 1] + a[p][i + 1];
            for (int i = 1; i <= N; i++)
                a[p][i] = b[p][i];
        }
}
"""


def slopes(made, time, space):
    return tuple(
        face.slope for face in faces(made.program, find_loop(made.program, time),
                                     find_loop(made.program, space))
    )  # fmt: skip


def test_tiles_of_a_stencil_in_time():
    made = right(plan(JACOBI).reschedule(fusion="max").diamond("a.t", "a.i", 4))
    assert lines(made)[:4] == [
        "for a.t_tile:",
        "  for a.i_tile:",
        "    for a.t:",
        "      for a.i:",
    ]


def test_tiles_of_a_row_are_independent():
    made = plan(JACOBI).reschedule(fusion="max").diamond("a.t", "a.i", 6)
    assert [o.name for o in made.parallelize("a.i_tile").prove().obligations].count("parallel") == 1
    right(made.parallelize("a.i_tile"))


def test_faces_lean_as_far_as_dependences_go():
    together = plan(JACOBI).fuse_loops("b.i", "a.i", shift=1)
    assert slopes(together, "a.t", "a.i") == (2, 2)  # one to read a neighbour, one to overwrite it
    assert slopes(plan(DIAGONAL), "a.i", "a.j") == (1, 0)


def test_faces_of_isl_s_order_lean_both_ways_in_the_grid():
    made = plan(JACOBI).reschedule(fusion="max")
    forward, backward = slopes(made, "a.t", "a.i")
    assert (forward, backward) == (0, 4)  # the loop over the grid is skewed by two already


def test_faces_of_a_stencil_that_is_wider_on_one_side():
    made = right(plan(WIDE).reschedule(fusion="max").diamond("a.t", "a.i", 5))
    assert right(made.parallelize("a.i_tile")).loops("a")[:2] == ("a.t_tile", "a.i_tile")


def test_the_blocks_are_sums_of_two_floors():
    made = right(plan(DIAGONAL).diamond("a.i", "a.j", 3))
    blocks = "floor((i + j)/3) + floor(-j/3), floor((i + j)/3), i, j"
    text = f"[N] -> {{ a[i, j] -> [{blocks}] : 1 <= i < N and 0 <= j < N - 1 }}"
    assert same_loops(made, "a", text)


def test_loops_around_keep_their_iterations_apart():
    made = plan(PLANES)
    made = made.fuse_loops("b.i", "a.i", shift=1).diamond("a.t", "a.i", 4)
    assert right(made).loops("a") == ("a.p", "a.t_tile", "a.i_tile", "a.t", "a.i")


def test_updates_in_place_have_no_face_that_leans_back():
    with pytest.raises(NotPermutableError, match=r"leans against a\.i") as caught:
        plan(SEIDEL).diamond("a.t", "a.i", 4)
    (witness,) = caught.value.witnesses
    source, sink = witness.source[1], witness.sink[1]
    assert source[0] == sink[0]
    assert source[1] < sink[1]
    assert "wavefront" in str(caught.value)


def test_time_is_outside():
    with pytest.raises(NotPermutableError, match="does not enclose"):
        plan(DIAGONAL).diamond("a.j", "a.i", 4)
    with pytest.raises(NotPermutableError, match="does not enclose"):
        plan(DIAGONAL).diamond("a.i", "a.i", 4)


def test_diamonds_want_one_perfect_nest():
    with pytest.raises(NotPermutableError, match="not perfectly nested"):
        plan(JACOBI).diamond("a.t", "a.i", 4)


def test_diamonds_want_loops_that_are_there():
    with pytest.raises(UnknownNameError, match=r"no loop is called 'a\.z'"):
        plan(DIAGONAL).diamond("a.i", "a.z", 4)


@pytest.mark.parametrize("size", [0, -1, 1.5, "8", True])
def test_a_diamond_has_a_positive_whole_size(size):
    with pytest.raises(InvalidOptionError, match="positive whole number"):
        plan(DIAGONAL).diamond("a.i", "a.j", size)


def test_diamonds_without_dependences_are_blocks():
    made = right(plan(BLUR).diamond("out.y", "out.x", 4))
    assert made.loops("out") == ("out.y_tile", "out.x_tile", "out.y", "out.x")


def test_a_saved_plan_has_the_same_faces(tmp_path):
    made = plan(JACOBI).reschedule(fusion="max").diamond("a.t", "a.i", 4)
    made.save(tmp_path / "plan.json")
    again = po.Plan.load(tmp_path / "plan.json", made.scop)
    assert again.emit().source == made.emit().source
