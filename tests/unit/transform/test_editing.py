"""Scheduling by hand: undo, history, code after every move, patterns, schedule functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from polyopt.errors import (
    IllegalScheduleError,
    InvalidOptionError,
    ParallelCarriedError,
    UnknownNameError,
    VectorCarriedError,
)
from tests.unit.transform.programs import BLUR, CHAIN, DIAMOND, JACOBI, WINDOW, plan, right
from tests.unit.transform.test_plan import EACH, expert

if TYPE_CHECKING:
    import polyopt as po

#: a nest that has a vector loop, and two that have none
SCANS = """
void scans(int N, float a[N][N], float b[N][N], const float c[N][N], float d[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 1; j < N; j++)
            a[i][j] += a[i][j - 1];
    for (int i = 0; i < N; i++)
        for (int j = 1; j < N; j++)
            b[i][j] *= b[i][j - 1];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            d[i][j] = 2 * c[i][j];
}
"""


# -- undo and history ---------------------------------------------------------------------------


@pytest.mark.parametrize("move", sorted(EACH))
def test_undo_gives_the_plan_before_the_move(move):
    text, make = EACH[move]
    start = plan(text)
    back = make(start).undo()
    assert (str(back), back.moves, back.scop) == (str(start), (), start.scop)
    assert back.checked


def test_undo_takes_back_as_many_moves_as_asked():
    made = expert(plan(BLUR))
    assert made.undo(0) is made
    assert made.undo(2).script == made.script.replace(
        "    .parallelize('out.y_tile')\n    .vectorize('out.x', 8)\n", ""
    )
    assert str(made.undo(4)) == str(plan(BLUR))


@pytest.mark.parametrize("count", [-1, 5, 1 << 40])
def test_undo_of_moves_that_were_not_made_is_refused(count):
    with pytest.raises(InvalidOptionError, match="there are 4 moves") as found:
        expert(plan(BLUR)).undo(count)
    assert found.value.diagnostic.hint == "0 to 4"


def test_a_plan_that_was_taken_back_goes_on_like_any_other():
    made = expert(plan(BLUR)).undo(2).vectorize("out.x", 4)
    assert [str(step) for step in made.history][-1] == ".vectorize('out.x', 4)"
    right(made)


def test_history_has_each_move_with_the_plan_after_it():
    made = expert(plan(BLUR))
    history = made.history
    assert str(history).splitlines()[1] == "  2 .fuse('bx', into='out', storage='sliding')"
    assert [step.number for step in history] == [1, 2, 3, 4]
    assert [len(step.plan.moves) for step in history] == [1, 2, 3, 4]
    assert str(history[-1].plan) == str(made)
    assert "parallel" not in str(history[1].plan)
    assert "parallel" in str(history[2].plan)
    assert [step.move for step in history[1:3]] == list(made.moves[1:3])
    assert str(plan(BLUR).history) == "no moves"


def test_moves_of_a_history_are_calls_that_can_be_made_again():
    made = expert(plan(BLUR))
    again = plan(BLUR)
    for step in made.history:
        again = eval(f"again{step}", {"again": again})  # noqa: S307
    assert again.moves == made.moves


def test_history_goes_through_moves_that_change_the_program():
    made = plan(WINDOW).separate_filter("o").vectorize("o.j")
    first, second = made.history
    assert first.plan.scop is not made.source
    assert len(first.plan.scop.statements) == len(second.plan.scop.statements) == 2
    assert made.undo(2).scop is made.source


# -- code and differences -----------------------------------------------------------------------


def test_code_is_what_would_be_compiled():
    made = plan(BLUR).vectorize("out.x")
    assert made.code() == made.emit().source
    assert "#pragma omp simd" in made.code()


def test_differences_of_nests_and_of_code_are_unified():
    before = plan(BLUR).tile("out", y=4)
    after = before.parallelize("out.y_tile")
    difference = before.diff(after)
    changed = [n for n in difference.nest().splitlines() if n[0] in "+-" and n[:3] not in "+++---"]
    assert changed == ["-for out.y_tile:", "+for out.y_tile:  # parallel"]
    added = [line for line in difference.code().splitlines() if line[0] == "+"]
    assert any("#pragma omp parallel" in line for line in added)
    assert (before.diff(before).nest(), before.diff(before).code()) == ("", "")


# -- patterns -----------------------------------------------------------------------------------


def test_a_move_on_each_loop_that_matches():
    made = plan(BLUR).each("*.x").vectorize(8)
    assert [str(m) for m in made.moves] == [
        ".vectorize('bx.x', 8)", ".vectorize('out.x', 8)",
    ]  # fmt: skip
    right(made)


def test_patterns_are_of_names_and_exclude_leaves_out():
    start = plan(BLUR)
    assert start.each("*").names == ("bx", "out")
    assert start.each("*.[xy]", exclude=["bx.*"]).names == ("out.y", "out.x")
    assert start.each("bx.?", "out.y").names == ("bx.y", "bx.x", "out.y")
    assert list(start.each("b*")) == ["bx"]
    assert len(start.each("*.*")) == 4
    assert repr(start.each("*.y")) == "<Each of blur: loops bx.y, out.y>"


def test_loops_match_by_every_name_that_a_plan_takes():
    joined = plan(BLUR).fuse_loops("bx.y", "out.y", shift=2)
    assert joined.each("out.y").names == joined.each("bx.y").names
    assert joined.each("*.y").names == joined.each("bx.y").names


def test_stages_are_fused_from_the_last_to_the_first():
    made = plan(DIAMOND).split("o.i", 4).each("*", exclude=["o"]).fuse("o")
    assert [move.args[0] for move in made.moves[1:]] == ["y", "x", "g"]
    right(made)


def test_moves_of_spaces_and_of_loops_are_told_apart():
    with pytest.raises(InvalidOptionError, match="vectorize is a move of loops") as found:
        plan(BLUR).each("*").vectorize()
    assert '"*.x"' in found.value.diagnostic.hint
    with pytest.raises(InvalidOptionError, match="mixed"):
        plan(BLUR).each("*", "*.x")


def test_patterns_that_match_nothing_are_refused_with_what_there_is():
    with pytest.raises(UnknownNameError, match="no loop is called") as found:
        plan(BLUR).each("*.z")
    assert "bx.y, bx.x, out.y, out.x" in found.value.diagnostic.hint
    with pytest.raises(InvalidOptionError, match="nothing is left"):
        plan(BLUR).each("*", exclude="*")
    with pytest.raises(InvalidOptionError, match="at least one"):
        plan(BLUR).each()


def test_all_moves_are_made_or_none_and_the_refusal_names_each_place():
    start = plan(SCANS)
    with pytest.raises(VectorCarriedError, match=r"refused for 2 of 3 loops: a\.j, b\.j") as found:
        start.each("*.j").vectorize(4)
    notes = found.value.diagnostic.notes
    places = [note for note in notes if note.startswith(("a.j: ", "b.j: "))]
    assert len(places) == len(found.value.witnesses) == 2
    assert ":6:" in places[0]
    assert ":9:" in places[1]
    left = start.each("*.j", exclude=["a.j", "b.j"]).vectorize(4)
    assert [str(m) for m in left.moves] == [".vectorize('d.j', 4)"]
    assert "exclude=['a.j', 'b.j'] leaves these out" in found.value.diagnostic.hint


def test_refusals_of_several_kinds_are_one_illegal_schedule():
    with pytest.raises(IllegalScheduleError, match="2 of 2 spaces") as found:
        plan(JACOBI).each("*").tile(t=4, i=4)
    assert type(found.value) is not ParallelCarriedError
    assert "exclude" not in found.value.diagnostic.hint


def test_a_wrong_argument_is_refused_for_each():
    with pytest.raises(InvalidOptionError, match="refused for 2 of 2 loops"):
        plan(BLUR).each("*.x").split(0)


# -- schedule functions -------------------------------------------------------------------------


def strips(start: po.Plan, rows: int, *, width: int = 8) -> po.Plan:
    """A schedule function."""
    return start.split("out.y", rows).vectorize("out.x", width).parallelize("out.y_tile")


def test_a_schedule_function_is_a_part_of_a_script():
    made = plan(BLUR).apply(strips, 4, width=2).fuse("bx", into="out")
    assert (
        made.script
        == plan(BLUR)
        .split("out.y", 4)
        .vectorize("out.x", 2)
        .parallelize("out.y_tile")
        .fuse("bx", into="out")
        .script
    )
    right(made)


def test_a_function_is_applied_to_each_name():
    def half(start: po.Plan, loop: str) -> po.Plan:
        return start.split(loop, 2).unroll(loop)

    made = plan(BLUR).each("*.x").apply(half)
    assert [move.name for move in made.moves] == ["split", "unroll"] * 2


def test_what_a_schedule_function_must_give():
    with pytest.raises(InvalidOptionError, match="gave nothing in place of a plan"):
        plan(BLUR).apply(lambda _start: None)
    with pytest.raises(InvalidOptionError, match="gave a plan of another program, chain"):
        plan(BLUR).apply(lambda _start: plan(CHAIN))


def test_arguments_that_a_schedule_function_does_not_take_are_named():
    def half(start: po.Plan, rows: int) -> po.Plan:
        return start.split("out.y", rows // 2)

    with pytest.raises(InvalidOptionError, match="half: rows is 'many'") as found:
        plan(BLUR).apply(half, "many")
    assert found.value.diagnostic.hint == "it is to be: int"
