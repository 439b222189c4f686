"""Separable filters in two passes: which are, what comes of them, and what the proof refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import IllegalScheduleError, InvalidOptionError
from polyopt.ir.build import binary, const
from polyopt.ir.expr import Const, rewrite
from polyopt.ir.verify import verify
from polyopt.transform.source.proof import check_source
from polyopt.transform.source.separate_filter import separate_filter, window_of

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop

WINDOW = """void f(int H, int W, const {type} a[H][W], {out} out[H - 2][W - 4]) {{
    for (int y = 0; y < H - 2; y++)
        for (int x = 0; x < W - 4; x++)
            out[y][x] = {value};
}}"""
SIZES = ((3, 5), (4, 7), (17, 131))


def program(rows: list[int], columns: list[int], kind: str = "uint16_t", more: str = "") -> Scop:
    """``out`` as the window whose weights are the products of those of rows and columns."""
    terms = [f"{p * q} * a[y + {j}][x + {i}]" for j, p in enumerate(rows)
             for i, q in enumerate(columns) if p * q]  # fmt: skip
    text = WINDOW.format(type=kind, out=kind, value=" + ".join(terms) + more)
    return po.parse_c(text.replace("+ -", "- "))


def expected(rows: list[int], columns: list[int], image: np.ndarray, more: int = 0) -> np.ndarray:
    height, width = image.shape[0] - 2, image.shape[1] - 4
    result = np.full((height, width), more, image.dtype)
    for j, p in enumerate(rows):
        for i, q in enumerate(columns):
            weight = np.array(p * q).astype(image.dtype)
            result += weight * image[j : j + height, i : i + width]
    return result


@pytest.mark.parametrize("kind", ["uint8_t", "uint16_t", "uint32_t", "int32_t", "int64_t"])
@pytest.mark.parametrize(
    ("rows", "columns"), [([1, 2, 1], [1, 4, 6, 4, 1]), ([1, 0, -1], [2, 0, 3, 0, 5])]
)
def test_a_separable_window_takes_a_term_per_row_and_one_per_column(kind, rows, columns, tmp_path):
    scop = program(rows, columns, kind)
    made = separate_filter(scop, "out")
    verify(made)
    first, second = made.statements
    assert len(first.reads) == sum(map(bool, rows))
    assert len(second.reads) == sum(map(bool, columns))
    plan = po.Plan(scop).separate_filter("out")
    assert "sums         added up in passes with the source's weights: out" in str(plan.prove())
    kernel = plan.compile(cache=tmp_path)
    rng = np.random.default_rng(0)
    for shape in SIZES:
        image = rng.integers(0, 100, shape).astype(kind.removesuffix("_t"))
        np.testing.assert_array_equal(kernel(a=image), expected(rows, columns, image))


def test_weights_that_wrap_and_a_constant_stay(tmp_path):
    rows, columns = [3, -1, 2], [1, 10000, 5, 7, -1]
    plan = po.Plan(program(rows, columns, "uint16_t", " + 7")).separate_filter("out")
    image = np.random.default_rng(1).integers(0, 1 << 16, (9, 40)).astype(np.uint16)
    found = plan.compile(cache=tmp_path)(a=image)
    np.testing.assert_array_equal(found, expected(rows, columns, image, 7))


def test_what_is_made_of_the_sum_and_narrow_elements_stay(tmp_path):
    value = ("(a[y][x] + 2 * a[y][x + 1] + a[y][x + 2] + 3 * (a[y + 1][x] + 2 * a[y + 1][x + 1]"
             " + a[y + 1][x + 2]) + 8) / 16")  # fmt: skip
    scop = po.parse_c(WINDOW.format(type="uint8_t", out="uint8_t", value=value))
    plan = po.Plan(scop).separate_filter("out")
    assert str(plan.scop.array("out_pass").type) == "i32"
    image = np.random.default_rng(2).integers(0, 256, (6, 33)).astype(np.uint8)
    wide = image.astype(np.int32)
    row = wide[:, :-4] + 2 * wide[:, 1:-3] + wide[:, 2:-2]
    result = ((row[:-2] + 3 * row[1:-1] + 8) // 16).astype(np.uint8)
    np.testing.assert_array_equal(plan.compile(cache=tmp_path)(a=image), result)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("float", "a[y][x] + 2 * a[y][x+1] + 2 * a[y+1][x] + 4 * a[y+1][x+1]"),
        ("uint16_t", "a[y][x] + 2 * a[y][x+1] + 2 * a[y+1][x] + 5 * a[y+1][x+1]"),
        ("uint16_t", "a[y][x] + a[y][x+1] + a[y][x+2] + a[y][x+3]"),
        ("uint16_t", "a[y][x] + a[y][x+1] + a[y+1][x]"),
        ("uint16_t", "a[y][x] * a[y][x+1] + a[y+1][x] * a[y+1][x+1]"),
    ],
)
def test_what_is_no_separable_window_is_refused(kind, value):
    scop = po.parse_c(WINDOW.format(type=kind, out=kind, value=value))
    assert window_of(scop, scop.statement("out")) is None
    with pytest.raises(InvalidOptionError, match="no separable window"):
        po.Plan(scop).separate_filter("out")


def test_a_statement_that_shares_its_loops_is_left_alone():
    text = """void f(int H, int W, const uint16_t a[H][W], uint16_t b[H][W], uint16_t out[H][W]) {
        for (int y = 1; y < H; y++)
            for (int x = 1; x < W; x++) {
                b[y][x] = a[y][x];
                out[y][x] = a[y][x] + 2*a[y][x-1] + 2*a[y-1][x] + 4*a[y-1][x-1];
            }
    }"""
    scop = po.parse_c(text)
    assert window_of(scop, scop.statement("out")) is None


def test_passes_come_before_all_other_moves():
    plan = po.Plan(program([1, 2, 1], [1, 1, 1, 1, 1]))
    with pytest.raises(InvalidOptionError, match="has to come before other moves"):
        plan.tile("out", y=4).separate_filter("out")
    with pytest.raises(po.errors.UnknownNameError, match="no statement is called 'nothing'"):
        plan.separate_filter("nothing")


def test_a_plan_with_passes_is_saved_and_made_again(tmp_path):
    scop = program([1, 2, 1], [1, 4, 6, 4, 1])
    plan = po.Plan(scop).separate_filter("out").fuse("out_pass", into="out", at="out.y")
    plan.save(tmp_path / "plan.json")
    again = po.Plan.load(tmp_path / "plan.json", scop)
    assert again.source is scop
    assert again.emit().source == plan.emit().source
    assert "for all sizes" in str(again.prove(code=True))


def _changed(scop: Scop, name: str, change) -> Scop:
    statement = scop.statement(name)
    return scop.with_statements(replace(statement, value=rewrite(statement.value, change)))


def test_other_weights_are_other_sums():
    scop = program([1, 2, 1], [1, 4, 6, 4, 1])
    made = separate_filter(scop, "out")
    (shown,) = check_source(scop, made)
    assert (shown.name, shown.detail[-3:]) == ("sums", "out")
    for name in ("out_pass", "out"):
        wrong = _changed(
            made,
            name,
            lambda e: const(e.type, int(e.value) + 1) if isinstance(e, Const) else e,
        )
        with pytest.raises(IllegalScheduleError, match="something else"):
            check_source(scop, wrong)
    second = made.statement("out")
    value = binary("add", second.value, const(second.value.type, 1))
    more = made.with_statements(replace(second, value=value))
    with pytest.raises(IllegalScheduleError, match="something else"):
        check_source(scop, more)


def test_a_pass_in_another_place_or_too_short_is_refused():
    scop = program([1, 2, 1], [1, 4, 6, 4, 1])
    made = separate_filter(scop, "out")
    late = replace(made, nest=made.nest[::-1])
    with pytest.raises(IllegalScheduleError, match="right before it is read"):
        check_source(scop, late)
    first = made.statement("out_pass")
    columns = first.domain.lexmin().union(first.domain.lexmax())
    short = made.with_statements(replace(first, domain=first.domain.subtract(columns)))
    with pytest.raises(IllegalScheduleError, match="something else"):
        check_source(scop, short)
    with pytest.raises(IllegalScheduleError, match="arrays are not the source's"):
        check_source(scop, replace(made, arrays=made.arrays[:-1]))
    with pytest.raises(IllegalScheduleError, match="loops are not the source's"):
        check_source(scop, replace(made, nest=made.nest[:-1]))
