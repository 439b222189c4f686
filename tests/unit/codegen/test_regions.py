"""Vector loops without tests inside: away from borders, by remainders, by case, subscripts before."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.schedule.boundaries import interior
from polyopt.codegen.schedule.modulo import period
from polyopt.codegen.schedule.unswitch import cases
from polyopt.isl import parse_set
from polyopt.transform.schedule.query import find_loop

SIZES = ((3, 3), (4, 5), (5, 8), (11, 17))
BOUNDARIES = {
    "clamp": po.clamped,
    "mirror": po.mirrored,
    "wrap": po.wrapped,
    "constant": lambda image: po.padded(image, 7),
}


def program(kind, value, name="img"):
    """``out[y][x]`` of an image of 3 x 3 or more whose outside is what ``kind`` says."""
    image = po.input(name, po.f32, ("H", "W"))
    bounded = BOUNDARIES[kind](image) if kind else image
    out = po.stage("out", ("H", "W"), lambda y, x: value(bounded, y, x))
    return po.pipeline(out, name="program", context=["H >= 3", "W >= 3"])


def vectors(scop, *moves):
    made = po.Plan(scop)
    for name, *args in moves:
        made = getattr(made, name)(*args)
    return made


def check(made, name="img"):
    """Compiled, a plan gives what its program's own loops give."""
    kernel, plain = made.compile(), po.Plan(made.scop).compile()
    for shape in SIZES:
        image = np.random.default_rng(0).random(shape, np.float32)
        found, wanted = (k(**{name: image}) for k in (kernel, plain))
        np.testing.assert_array_equal(found, wanted)


def bodies(made):
    """The loops along x of a plan's C, each as its head and its first statement."""
    text = made.emit().source
    return re.findall(r"(for \(int64_t x\w* = [^{]*\{)\n\s*([^\n]*)", text)


@pytest.mark.parametrize("kind", ["clamp", "mirror", "wrap", "constant"])
def test_most_columns_run_without_a_test(kind):
    made = vectors(
        program(kind, lambda i, y, x: i[y, x - 2] + i[y, x + 1]),
        ("vectorize", "out.x"),
        ("separate_full_tiles", "out.x"),
    )
    inner = [body for head, body in bodies(made) if "x = 2" in head]
    assert inner
    assert all("img[y][x - 2] + img[y][x + 1]" in body for body in inner)
    check(made)


def test_a_border_is_where_a_subscript_has_another_form():
    scop = program("clamp", lambda i, y, x: i[y + 1, x - 2] + i[y, x])
    made = po.Plan(scop)
    found = interior(made.program, find_loop(made.program, "out.x"))
    known = "H >= 3 and W >= 3"
    assert found.is_equal(
        parse_set(f"[H, W] -> {{ [y, x] : 0 <= y < H and 2 <= x < W and {known} }}")
    )
    rows = interior(made.program, find_loop(made.program, "out.y"))
    assert rows.is_equal(parse_set(f"[H, W] -> {{ [y] : 0 <= y < H - 1 and {known} }}"))


def test_there_is_no_border_without_a_boundary():
    scop = program("", lambda i, y, x: i[y, x])
    made = po.Plan(scop)
    assert interior(made.program, find_loop(made.program, "out.x")) is None


@pytest.mark.parametrize(
    ("value", "times"),
    [
        (lambda i, y, x: i[y, x], 1),
        (lambda i, y, x: i[y // 2, x], 1),
        (lambda i, y, x: i[y, x // 2] + i[y, x // 3], 6),
        (lambda i, y, x: po.select(x % 2 == 0, i[y, x], 1), 2),
        (lambda i, y, x: i[y, x] * po.cast("f32", x % 4), 4),
    ],
)
def test_remainders_and_quotients_repeat(value, times):
    made = po.Plan(program("", value))
    assert period(made.program, find_loop(made.program, "out.x")) == times


def test_remainders_get_statements_of_their_own():
    scop = program("", lambda i, y, x: po.select(x % 2 == 0, i[y, x // 2], 3 * i[y, x]))
    made = vectors(
        scop,
        ("split", "out.x", 2),
        ("unroll", "out.x"),
        ("vectorize", "out.x_tile"),
        ("separate_full_tiles", "out.x_tile"),
    )
    assert not any("?" in body or "%" in body for _, body in bodies(made))
    check(made)


def test_a_row_is_one_case_of_a_test_on_rows():
    scop = program("", lambda i, y, x: po.select(y % 2 == 0, i[y, x], 3 * i[y, x]))
    made = vectors(scop, ("vectorize", "out.x"))
    parts = [part["out"] for part in cases(made.program, find_loop(made.program, "out.x"))]
    assert len(parts) == 2
    assert parts[0].intersect(parts[1]).is_empty()
    whole = made.program.copies["out"].domain
    assert parts[0].union(parts[1]).is_equal(whole.intersect_params(scop.context))
    assert len(bodies(made)) == 2
    assert not any("?" in body for _, body in bodies(made))
    check(made)


def test_a_test_on_columns_is_no_case_of_a_row():
    scop = program("", lambda i, y, x: po.select(x % 2 == 0, i[y, x], 3 * i[y, x]))
    made = vectors(scop, ("vectorize", "out.x"))
    assert cases(made.program, find_loop(made.program, "out.x")) == ()


def test_subscripts_with_branches_stand_before_the_loop():
    scop = program("clamp", lambda i, y, x: i[y - 3, x] + i[y + 3, x])
    made = vectors(scop, ("vectorize", "out.x"))
    text = made.emit().source
    assert re.search(r"const int64_t row = max_i64\(0, y - 3\);", text)
    assert re.search(r"const int64_t row2 = min_i64\(H - 1, y \+ 3\);", text)
    assert all("img[row][x] + img[row2][x]" in body for _, body in bodies(made))
    check(made)


def test_rows_away_from_borders_have_no_test():
    scop = program("constant", lambda i, y, x: i[y - 3, x] + i[y + 3, x] + i[y - 1, x])
    made = vectors(scop, ("vectorize", "out.x"))
    assert len(cases(made.program, find_loop(made.program, "out.x"))) == 2
    assert "img[y - 3][x] + img[y + 3][x] + img[y - 1][x];" in "".join(b for _, b in bodies(made))
    check(made)


def test_remainders_of_rows_are_cases_away_from_borders():
    scop = program("constant", lambda i, y, x: po.select(y % 2 == 0, i[y - 1, x], i[y + 1, x]))
    made = vectors(scop, ("vectorize", "out.x"))
    assert len(cases(made.program, find_loop(made.program, "out.x"))) == 3
    check(made)


def test_what_a_loop_changes_stays_inside():
    scop = program("clamp", lambda i, y, x: i[y, x - 3])
    made = vectors(scop, ("vectorize", "out.x"))
    assert "const int64_t" not in made.emit().source
    check(made)


def test_names_before_loops_clash_with_nothing():
    scop = program("clamp", lambda i, y, x: i[y - 1, x], name="row")
    made = vectors(scop, ("vectorize", "out.x"))
    assert re.search(r"const int64_t row2 = ", made.emit().source)
    check(made, "row")
