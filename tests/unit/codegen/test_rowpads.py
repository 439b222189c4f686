"""Rows of buffers: on cache lines, an odd number of lines apart, never shorter than they were."""

import pytest

import polyopt as po
from polyopt.analysis.sets.points import parameter_value
from polyopt.codegen.lower.padding import LEAST_LINES, LINE, with_padded_rows
from polyopt.frontend.loops import f32
from polyopt.frontend.stages import input as image_input
from polyopt.frontend.stages import pipeline, stage
from polyopt.isl import affine_constant


def sums():
    img = image_input("img", f32, ["H", "W"])
    two = stage("two", ["H", "W - 3"], lambda y, x: img[y, x] + img[y, x + 3])
    out = stage("out", ["H - 2", "W - 3"], lambda y, x: two[y, x] * two[y + 2, x])
    return pipeline(out, name="sums", context=["H >= 3", "W >= 4"])


@pytest.mark.parametrize("element", [1, 2, 4, 8])
@pytest.mark.parametrize("width", [4, 5, 19, 20, 35, 51, 1027, 2051])
def test_a_row_has_an_odd_number_of_whole_lines(element, width):
    extents = sums().array("two").extents
    *outer, row = with_padded_rows(extents, element)
    assert [parameter_value(e, {"H": 9, "W": width}) for e in outer] == [9]
    length = parameter_value(row, {"H": 9, "W": width}) * element
    assert length % (2 * LINE) == LINE
    assert 0 <= length - (width - 3) * element < 2 * LINE


def numbers(*values):
    space = sums().array("two").extents[0].get_domain_space()
    return tuple(affine_constant(space, value) for value in values)


@pytest.mark.parametrize(
    ("extents", "element"),
    [((1, 1000), 4), ((6, LEAST_LINES * LINE // 4 - 1), 4), ((6, 1000), 3), ((1000,), 4)],
)
def test_single_and_short_rows_stay(extents, element):
    given = numbers(*extents)
    assert with_padded_rows(given, element) is given


def test_long_rows_of_a_known_length_are_padded():
    _, row = with_padded_rows(numbers(6, 256), 4)
    assert parameter_value(row, {}) == 272


def test_buffers_in_the_c_have_such_rows_and_the_callers_arrays_do_not():
    plan = po.Plan(sums()).tile("out", y=8)
    plan = plan.fuse("two", into="out", at="out.y", storage="sliding")
    source = plan.emit().source
    assert "two_tile)[W - (W + 12) % 32 + 28]" in source
    assert "const float img[restrict H][W]" in source
    assert plan.compile().verify(H=40, W=77) == 0.0
