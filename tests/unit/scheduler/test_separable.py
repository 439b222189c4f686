"""Separable windows in two passes, by the model: where they pay, and what is said."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.scheduler.search import automatic, beam
from polyopt.scheduler.strategies.separable import SLOWER

SIZES = {"H": 1000, "W": 1500}


def chain(stages: int, reach: int) -> po.Scop:
    """Windows of weights ``(1 + |i|)(1 + |j|)`` after each other, on u16."""
    img = po.input("img", po.u16, ["H", "W"])
    edge = po.clamped(img)
    margin = reach * stages
    extents = [(f"-{margin}", f"{size} + {margin}") for size in ("H", "W")]
    last = po.stage("f0", extents, lambda y, x: edge[y, x])
    for number in range(1, stages + 1):
        margin = reach * (stages - number)
        extents = [(f"-{margin}", f"{size} + {margin}") for size in ("H", "W")]

        def window(y, x, last=last):
            first, *others = (
                (1 + abs(j)) * (1 + abs(i)) * last[y + j, x + i]
                for j in range(-reach, reach + 1)
                for i in range(-reach, reach + 1)
            )
            return sum(others, start=first)

        last = po.stage(f"f{number}" if number < stages else "out", extents, window)
    return po.pipeline(last, name="chain", context=["H >= 1", "W >= 1"])


def reference(image: np.ndarray, stages: int, reach: int) -> np.ndarray:
    result = np.pad(image, stages * reach, mode="edge")
    for _ in range(stages):
        for _ in range(2):
            rows = len(result) - 2 * reach
            parts = [
                np.uint16(1 + abs(j)) * result[reach + j :][:rows] for j in range(-reach, reach + 1)
            ]
            result = np.sum(parts, axis=0, dtype=np.uint16).T
    return result


@pytest.mark.parametrize("reach", [2, 3])
def test_large_windows_are_added_up_in_two_passes(reach, tmp_path):
    plan = po.auto(chain(2, reach), sizes=SIZES)
    assert plan.moves[0].name == "separate_filter"
    assert plan.moves[0].args == ("f1", "out")
    passes = {s.array: s for s in plan.program.scratches}
    assert {"f1_pass", "out_pass"} <= passes.keys()
    said = [r for r in plan.remarks if r.move == "separate_filter"]
    assert [r.kind for r in said] == ["applied", "applied"]
    assert all(r.numbers["in two passes"] < 0.75 * r.numbers["operations"] for r in said)
    assert "for all sizes" in str(plan.prove(code=True))
    kernel = plan.compile(cache=tmp_path)
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (2, 9), (140, 67)):
        image = rng.integers(0, 1 << 16, shape, dtype=np.uint16)
        np.testing.assert_array_equal(kernel(img=image), reference(image, 2, reach))


def test_small_windows_stay_as_they_are_with_the_numbers():
    plan = po.auto(chain(1, 1), sizes=SIZES)
    assert plan.scop is plan.source
    (said,) = (r for r in plan.remarks if r.move == "separate_filter")
    assert said.kind == "refused"
    assert said.numbers["in two passes"] >= 0.75 * said.numbers["operations"]


def test_a_first_pass_that_would_be_stored_whole_is_not_taken(monkeypatch):
    for step in ("pipelines", "group"):
        monkeypatch.setattr(beam, step, lambda plan, _model: (plan, ()))
    plan = po.auto(chain(1, 2), sizes=SIZES)
    assert plan.scop is plan.source
    (said,) = (r for r in plan.remarks if r.move == "separate_filter")
    assert (said.kind, said.reason) == ("refused", "the first pass would be stored as a whole")


def test_without_tiles_there_are_no_passes():
    assert po.auto(chain(1, 2), sizes=SIZES, tile=False).moves[0].name != "separate_filter"


def largest(radius, kind=po.u8):
    img = po.padded(po.input("img", kind, [po.size("H"), po.size("W")]), 0)
    reach = (-radius, radius + 1)
    out = po.stage(
        "out", [po.size("H"), po.size("W")],
        lambda y, x: po.max(lambda p, q: img[y + p, x + q], p=reach, q=reach),
    )  # fmt: skip
    return po.pipeline(out, name="largest")


def test_maxima_of_windows_share_rows_where_these_are_fewer_updates():
    plan = po.auto(largest(3), sizes=SIZES)
    assert plan.moves[0].name == "separate_reduction"
    assert {s.array for s in plan.program.scratches} == {"out_part"}
    (said,) = (r for r in plan.remarks if r.move == "separate_reduction")
    assert said.kind == "applied"
    assert said.numbers["with shared rows"] < 0.8 * said.numbers["operations"]


def test_rows_of_three_are_not_worth_an_array():
    plan = po.auto(largest(0), sizes=SIZES)
    assert plan.scop is plan.source


def test_rows_are_not_shared_where_a_call_is_predicted_to_take_as_long(monkeypatch):
    monkeypatch.setattr(automatic, "predicted_call", lambda _plan, _model: 1.0)
    plan = po.auto(largest(3), sizes=SIZES)
    assert plan.scop is plan.source
    (said,) = (r for r in plan.remarks if r.move == "separate_reduction")
    assert (said.kind, said.reason) == ("refused", SLOWER)
