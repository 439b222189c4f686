"""Tuning a schedule function over a space: refusals are left out, the first stays unless beaten."""

from __future__ import annotations

import itertools

import pytest

import polyopt as po
from polyopt.bench.tuning import space as tuning
from polyopt.errors import InvalidOptionError
from polyopt.runtime.measuring.alternate import Sample

SIZES = {"H": 40, "W": 48}


@pytest.fixture(scope="module")
def scop():
    return po.load_kernel("blur").scop


@pytest.fixture
def times(monkeypatch):
    """Runs nothing: the first point takes 10 ms, the others what a test says, in turn."""
    given = itertools.chain()
    found = []

    def at_once(subjects, *, seconds):
        assert seconds > 0
        assert list(subjects) == ["first", "other"]
        found.append(next(taken))
        return {"first": Sample(10.0, 10.0, 0.0, 7), "other": Sample(found[-1], 8.0, 0.1, 7)}

    taken = given

    def says(*milliseconds):
        nonlocal taken
        taken = itertools.chain(milliseconds)
        return found

    monkeypatch.setattr(tuning, "alternate", at_once)
    return says


def strips(plan: po.Plan, rows: int, *, width: int = 8, storage: str = "sliding") -> po.Plan:
    return (
        plan.split("out.y", rows)
        .fuse("bx", into="out", storage=storage)
        .vectorize("out.x", width)
    )  # fmt: skip


def test_the_fastest_point_is_the_first_and_refusals_are_counted(scop, times):
    times(10.0, 5.0, 7.0, 9.0, 5.5)
    found = po.tune(scop, strips, {"rows": [0, 8, 16], "width": [4, 8]}, sizes=SIZES)
    assert found.parameters == {"rows": 8, "width": 8}
    assert found.plan.script == po.Plan(scop).apply(strips, 8, width=8).script
    assert [str(p) for p in found.points][-1] == "rows=8, width=4"
    assert [dict(r.parameters)["rows"] for r in found.refused] == [0, 0]
    assert "2 refused: invalid-option" in str(found)
    # the least of many times is measured again, and the worse of both counts
    assert found.best.times.median_ms == 5.5


def test_the_first_point_stays_unless_another_is_clearly_faster(scop, times):
    times(10.0, 9.95, 9.9)
    found = po.tune(scop, strips, {"rows": [8, 16, 32]}, sizes=SIZES)
    assert found.parameters == {"rows": 8}


def test_one_that_was_fast_by_chance_loses(scop, times):
    times(10.0, 2.0, 6.0, 11.0, 6.0)
    found = po.tune(scop, strips, {"rows": [8, 16, 32]}, sizes=SIZES)
    assert found.parameters == {"rows": 32}
    assert [p.times.median_ms for p in found.points] == [6.0, 10.0, 11.0]


def test_what_gives_the_same_plan_is_measured_once(scop, times):
    measured = times(10.0, 10.0, 10.0)
    found = po.tune(scop, lambda plan, a, b: plan.split("out.y", a * b), {"a": [2, 4], "b": [4, 2]},
                    sizes=SIZES)  # fmt: skip
    assert (len(measured), len(found.points), found.repeated) == (3, 3, 1)


def test_points_are_drawn_where_there_are_more_than_asked_for(scop, times):
    times(*[10.0] * 5)
    huge = {"rows": range(1, 10_000), "width": range(1, 10_000), "storage": ["sliding", "scratch"]}
    found = po.tune(scop, strips, huge, sizes=SIZES, most=5, seed=3)
    chosen = [dict(p.parameters) for p in found.points]
    assert len(chosen) == 5
    assert {"rows": 1, "width": 1, "storage": "sliding"} in chosen
    times(*[10.0] * 5)
    again = po.tune(scop, strips, huge, sizes=SIZES, most=5, seed=3)
    assert [dict(p.parameters) for p in again.points] == chosen


def test_after_the_budget_nothing_is_measured(scop, times):
    times(10.0)
    found = po.tune(scop, strips, {"rows": [8, 16]}, sizes=SIZES, budget=0.0)
    assert (len(found.points), found.unmeasured) == (1, 1)
    assert "1 not measured in time" in str(found)


@pytest.mark.parametrize(("space", "said"), [
    ({}, "no parameters"),
    ({"rows": []}, "no list of values"),
    ({"rows": "8"}, "no list of values"),
    ({"rows": [8], "lines": [1]}, "takes no parameter 'lines'"),
    ({"width": [8]}, "needs a value for 'rows'"),
    ({"rows": [0, -1]}, "all 2 points of the space are refused"),
    (None, "space is nothing"),
    (3, "space is 3"),
])  # fmt: skip
def test_spaces_that_are_none_are_refused_in_plain_words(scop, space, said):
    with pytest.raises(InvalidOptionError, match=said):
        po.tune(scop, strips, space, sizes=SIZES)


def test_a_schedule_function_comes_from_a_recipe_or_a_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "def schedule(plan):\n    return plan\n\ndef other(plan):\n    return plan\n\nK = 3\n"
    )
    assert po.load_schedule("harris").__name__ == "schedule"
    assert po.load_schedule(str(file)).__name__ == "schedule"
    assert po.load_schedule(f"{file}:other").__name__ == "other"
    with pytest.raises(InvalidOptionError, match="is no function"):
        po.load_schedule(f"{file}:K")


def test_a_space_is_measured(scop):
    found = po.tune(scop, po.load_schedule("blur"), {"rows": [8, 16]}, sizes=SIZES, seconds=0.01)
    assert {p.parameters["rows"] for p in found.points} == {8, 16}
    assert all(p.times.runs >= 7 for p in found.points)
