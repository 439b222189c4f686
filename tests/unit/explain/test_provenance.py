"""Where an element comes from: exactly what changes it, and where the plan computes it."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import InvalidOptionError, UnknownNameError
from polyopt.library import load_kernel, load_scop
from polyopt.scheduler import auto
from polyopt.transform.plan import Plan

SIZES = {"H": 12, "W": 13}


def test_the_inputs_are_those_that_change_the_element() -> None:
    kernel = load_kernel("harris")
    run = Plan(kernel.scop).compile()
    image = np.random.default_rng(0).random((3, 12, 13), np.float32)
    first = run(image)[4, 5]
    found = Plan(kernel.scop).why("out[4, 5]", sizes=SIZES)
    (part,) = found.inputs
    assert part.count == 3 * 5 * 5
    changes = np.zeros(image.shape, bool)
    for index in np.ndindex(image.shape):
        other = image.copy()
        other[index] += 1
        changes[index] = run(other)[4, 5] != first
    box = tuple(slice(low, high + 1) for low, high in part.box)
    outside = changes.copy()
    outside[box] = False
    assert not outside.any()
    assert changes[box].sum() >= 3 * (25 - 1)  # the middle of a gradient cancels


def test_instances_say_where_they_run_and_how_often() -> None:
    plan = Plan(load_scop("blur")).tile("out", y=4, x=4).fuse("bx", into="out")
    found = plan.why("out[3, 5]", sizes=SIZES)
    assert found.writer == "out[3, 5]"
    assert dict(found.at) == {"out.y_tile": 0, "out.x_tile": 1, "out.y": 3, "out.x": 5}
    out, bx = found.instances
    assert (out.span, out.runs) == ("out[3, 5]", 1)
    assert (bx.span, bx.count) == ("bx[3..5, 5]", 3)
    assert bx.runs == 5  # rows 4 and 5 also run in the tiles below
    assert "scratch bx[6][4]" in bx.kept
    (img,) = found.inputs
    assert img.span == "img[3..5, 5..7]"
    assert max(map(len, str(found).splitlines())) <= 80


def test_what_is_inlined_runs_where_it_is_read() -> None:
    found = Plan(load_scop("blur")).inline("bx").why("out[0, 0]", sizes=SIZES)
    bx = found.instances[1]
    assert (bx.kept, bx.count) == ("inlined", 3)
    assert bx.runs == 1 + 2 + 3  # rows 1 and 2 are read again further down


def test_a_reduction_has_all_its_steps() -> None:
    found = auto(load_scop("gemm")).why("C[2, 3]", sizes={"M": 4, "N": 5, "K": 6})
    assert found.writer == "C_1[2, 5, 3]"
    assert {p.name: p.count for p in found.instances} == {"C_1": 6, "C_0": 1}
    inputs = {p.name: p.count for p in found.inputs}
    assert inputs == {"A": 6, "B": 6, "C": 1, "alpha": 1, "beta": 1}


def test_an_indexed_stage_is_an_element() -> None:
    img = po.input("img", po.u8, ["N"])
    out = po.stage("out", ["N - 1"], lambda x: img[x] + img[x + 1])
    found = Plan(po.pipeline(out)).why(out[3], sizes={"N": 9})
    assert found.inputs[0].span == "img[3..4]"
    assert found.as_dict()["element"] == "out[3]"


@pytest.mark.parametrize(
    ("element", "error", "said"),
    [
        ("img[0, 0]", InvalidOptionError, "is not computed"),
        ("out[99, 0]", InvalidOptionError, "is no element of out for H = 12, W = 13"),
        ("out[0]", InvalidOptionError, "has 2 dimensions, not 1"),
        ("aux[0, 0]", UnknownNameError, "no array is called 'aux'"),
        ("out[y, x]", InvalidOptionError, "names no element"),
        ("out[1-, 2]", InvalidOptionError, "names no element"),
        (7, InvalidOptionError, "a int names no element"),
    ],
)
def test_what_is_no_element_is_refused(element: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Plan(load_scop("blur")).why(element, sizes=SIZES)
