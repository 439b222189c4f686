"""Options of plans, bills and pictures that make no sense are told, never passed over."""

import json

import numpy as np
import pytest

import polyopt as po
from polyopt.arguments import misfit
from polyopt.errors import InvalidOptionError
from polyopt.explain import draw_tiles

BLUR = """
void blur(int H, int W, const float img[H][W], float out[H - 2][W]) {
  for (int y = 0; y < H - 2; y++)
    for (int x = 0; x < W; x++)
      out[y][x] = img[y][x] + img[y + 1][x] + img[y + 2][x];
}
"""


@pytest.fixture(scope="module")
def plan():
    return po.Plan(po.parse_c(BLUR)).tile("out", y=4)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"Q": 3}, "blur has no size 'Q'\n  hint: there are: H, W"),
        ({"H": 2}, "blur does not allow H = 2\n  hint: it needs H >= 3 and W >= 1"),
        ({"H": "many"}, "H = 'many' is not a size"),
        ({"H": 4.0}, "H = 4.0 is not a size"),
        ({"H": 1 << 70}, "is not a size"),
    ],
)
def test_sizes_that_cannot_be(plan, sizes, message):
    for ask in (
        lambda: po.auto(plan.scop, sizes=sizes),
        lambda: plan.cost(sizes),
        lambda: plan.explain(sizes=sizes),
        lambda: draw_tiles(plan, "out", sizes),
    ):
        with pytest.raises(InvalidOptionError) as caught:
            ask()
        assert message in str(caught.value)


def test_numpy_integers_are_sizes(plan):
    sizes = plan.cost({"H": np.int32(9), "W": 5}).sizes
    assert dict(sizes) == {"H": 9, "W": 5}
    assert {type(value) for value in sizes.values()} == {int}


@pytest.mark.parametrize("operations", [0, -1])
def test_a_budget_of_nothing(plan, operations):
    with pytest.raises(InvalidOptionError, match="has to be 1 or more"):
        plan.prove(operations=operations)


def test_a_plan_that_cannot_be_written_or_read(plan, tmp_path):
    with pytest.raises(InvalidOptionError, match="cannot be written: No such file or directory"):
        plan.save(tmp_path / "nowhere" / "plan.json")
    with pytest.raises(InvalidOptionError, match="cannot be read: No such file or directory"):
        po.Plan.load(tmp_path / "none.json", plan.scop)
    (tmp_path / "bad.json").write_text(json.dumps({"moves": 3}))
    with pytest.raises(InvalidOptionError, match="is not a saved plan"):
        po.Plan.load(tmp_path / "bad.json", plan.scop)


def test_a_picture_that_cannot_be_written(plan, tmp_path):
    picture = draw_tiles(plan, "out")
    with pytest.raises(InvalidOptionError, match="cannot be written"):
        picture.save(tmp_path / "nowhere" / "tiles.svg")
    with pytest.raises(InvalidOptionError, match=r"not as '\.gif'"):
        picture.save(tmp_path / "tiles.gif")


def test_a_picture_ends_below_its_lowest_text(plan):
    picture = draw_tiles(plan, "out", {"H": 20, "W": 400})
    lowest = max(shape.y for shape in picture.shapes if hasattr(shape, "y"))
    assert lowest < picture.height < lowest + 30


def test_what_is_no_program():
    with pytest.raises(InvalidOptionError, match="a plan is made for a Scop, not for a str"):
        po.auto("blur.c")


def test_a_library_kernel_is_not_its_program():
    with pytest.raises(InvalidOptionError) as found:
        po.auto(po.load_kernel("blur"))
    assert found.value.diagnostic.hint == "it has one: its .scop"


def test_a_program_from_c_cannot_be_called():
    with pytest.raises(InvalidOptionError, match="no Python function") as found:
        po.load_kernel("blur").scop()
    assert "compile()" in found.value.diagnostic.hint


def test_every_storage_is_named(plan):
    with pytest.raises(InvalidOptionError) as caught:
        plan.fuse("out", into="out", storage="scrath")
    assert caught.value.diagnostic.hint == "one of scratch, sliding, full, register, inline"


def test_the_ranges_of_a_reduction_are_named():
    with pytest.raises(po.errors.TypeMismatchError) as caught:
        po.stage("peak", ["H"], lambda y: po.max(lambda x: x * y, "W"))
    assert "po.max(lambda x: img[y, x], x=W)" in caught.value.diagnostic.hint


def test_the_range_of_a_sum_is_named_with_the_index_of_its_function():
    with pytest.raises(InvalidOptionError, match=r"a range of po\.sum has no index: 'D'") as caught:
        po.stage("total", ["H"], lambda y: po.sum(lambda d: y * d, "D"))
    assert "po.sum(lambda d: ..., d='D')" in caught.value.diagnostic.hint
    assert caught.value.diagnostic.span is not None


def test_what_is_no_function_is_told_by_the_call_that_the_documentation_shows():
    assert misfit(po.sum, (2.0,), {}).diagnostic.hint.startswith(
        "it is to be a function, as in po.sum(lambda ky, kx: "
    )


@pytest.mark.parametrize("source", ["", 3, None])
def test_what_is_no_c_file(source):
    with pytest.raises(InvalidOptionError, match="a C file or program text is needed, not"):
        po.parse_c(source)
