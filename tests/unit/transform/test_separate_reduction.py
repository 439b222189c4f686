"""Partial reductions that results share: which are, what comes of them, what the proof refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import IllegalScheduleError, InvalidOptionError
from polyopt.ir.build import const
from polyopt.ir.expr import Affine, Const, rewrite
from polyopt.ir.scop import Loop
from polyopt.ir.verify import verify
from polyopt.isl import affine_constant
from polyopt.transform.source.proof import check_source
from polyopt.transform.source.separate_reduction import separate_reduction

WINDOW = """void f(int H, int W, int R, const {kind} a[H][W], {kind} out[H][W]) {{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {{
            {kind} s = {start};
            for (int p = {low}; p <= {high}; p++)
                for (int q = -2; q <= 2; q++)
                    s = {update};
            out[y][x] = s;
        }}
}}"""
CONSTANT = {"low": "-1", "high": "1"}
CLIPPED = {"low": "(y < R ? 0 - y : -R)", "high": "(y + R < H ? R : H - 1 - y)"}
TERM = (
    "a[y + p < 0 ? 0 : (y + p >= H ? H - 1 : y + p)][x + q < 0 ? 0 : (x + q >= W ? W - 1 : x + q)]"
)
ADD = {"start": "0", "update": f"s + {TERM}"}
MOST = {"start": "0", "update": f"s > {TERM} ? s : {TERM}"}


def program(kind="uint16_t", *, bounds=CONSTANT, operation=ADD):
    return po.parse_c(WINDOW.format(kind=kind, **bounds, **operation))


def window_3d():
    img = po.input("img", po.i32, [po.size(n) for n in "DHW"])
    extent = [po.size(n) - 2 for n in "DHW"]

    def least(z, y, x):
        return po.min(lambda k, j, i: img[z + k, y + j, x + i], k=3, j=3, i=3)

    return po.pipeline(po.stage("out", extent, least), name="least")


def dilated(radius=2):
    img = po.padded(po.input("img", po.u8, [po.size("H"), po.size("W")]), 0)
    reach = (-radius, radius + 1)
    out = po.stage(
        "out", [po.size("H"), po.size("W")],
        lambda y, x: po.max(lambda p, q: img[y + p, x + q], p=reach, q=reach),
    )  # fmt: skip
    return po.pipeline(out, name="dilated")


def slid(image, rows, columns, over):
    """A reduction over windows of a NumPy image without its border."""
    views = np.lib.stride_tricks.sliding_window_view(image, (rows, columns))
    return over(views, axis=(-2, -1)).astype(image.dtype)


# -- what is made -----------------------------------------------------------------------------


def test_a_row_of_the_window_is_reduced_once_for_all_results():
    scop = program()
    made = separate_reduction(scop, "s_1")
    verify(made)
    assert [s.name for s in made.statements] == ["s_0", "s_part_start", "s_part", "s_1", "out"]
    assert made.statement("s_part").iterators == ("y", "x", "q")
    assert made.statement("s_1").iterators == ("y", "x", "p")
    domain = made.statement("s_part").domain
    assert "-1 <= y <= H" in str(domain.intersect_params(scop.context).coalesce())


@pytest.mark.parametrize("kind", ["uint8_t", "int16_t", "int64_t"])
@pytest.mark.parametrize("bounds", [CONSTANT, CLIPPED])
@pytest.mark.parametrize("operation", [ADD, MOST])
def test_results_are_the_same_bits(kind, bounds, operation, tmp_path):
    scop = program(kind, bounds=bounds, operation=operation)
    plan = po.Plan(scop).separate_reduction("s_1")
    proof = str(plan.prove(code=True))
    assert "reductions   reduced over rows that hold what the source reads: s_1" in proof
    one, other = (p.compile(cache=tmp_path) for p in (plan, po.Plan(scop)))
    rng = np.random.default_rng(3)
    for shape in ((1, 1), (5, 3), (17, 40)):
        image = rng.integers(0, 200, shape).astype(kind.removesuffix("_t"))
        np.testing.assert_array_equal(one(a=image, R=2), other(a=image, R=2))


def test_windows_of_three_dimensions_are_separated_one_after_the_other(tmp_path):
    plan = po.Plan(window_3d()).separate_reduction("out_1").separate_reduction("out_part")
    assert [s.name for s in plan.scop.statements if s.reduction] == [
        "out_part_part", "out_part", "out_1",
    ]  # fmt: skip
    assert all(len(s.iterators) == 4 for s in plan.scop.statements if s.reduction)
    image = np.random.default_rng(4).integers(-99, 99, (6, 7, 9)).astype(np.int32)
    views = np.lib.stride_tricks.sliding_window_view(image, (3, 3, 3))
    found = plan.compile(cache=tmp_path)(img=image)
    np.testing.assert_array_equal(found, views.min(axis=(-3, -2, -1)))


@pytest.mark.parametrize("op", [po.sum, po.max])
def test_floats_are_separated_with_leave_alone(op, tmp_path):
    img = po.input("img", po.f32, [po.size("H"), po.size("W")])
    extent = [po.size("H") - 4, po.size("W") - 4]
    out = po.stage("out", extent, lambda y, x: op(lambda p, q: img[y + p, x + q], p=5, q=5))
    scop = po.pipeline(out, name="window")
    with pytest.raises(InvalidOptionError, match="reassociate=True lets them round otherwise"):
        po.Plan(scop).separate_reduction("out_1")
    plan = po.Plan(scop).separate_reduction("out_1", reassociate=True)
    assert "floats in another order, which round otherwise: out_1" in str(plan.prove())
    image = np.random.default_rng(6).random((12, 50), dtype=np.float32)
    found = plan.compile(cache=tmp_path)(img=image)
    over = np.sum if op is po.sum else np.max
    np.testing.assert_allclose(found, slid(image, 5, 5, over), rtol=1e-6)
    freed, kept = (po.auto(scop, sizes={"H": 900, "W": 900}, reassociate=r) for r in (True, False))
    assert freed.moves[0].name == "separate_reduction"
    assert all(move.name != "separate_reduction" for move in kept.moves)


def test_a_difference_of_two_loops_is_shared_as_well(tmp_path):
    text = """void f(int H, int W, const int32_t a[H + 2][W + 2], int32_t out[H][W]) {
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                out[y][x] = 0;
                for (int p = 0; p < 3; p++)
                    for (int q = 0; q < 3; q++)
                        out[y][x] += a[y - p + 2][x - q + 2];
            }
    }"""
    plan = po.Plan(po.parse_c(text)).separate_reduction("out_1")
    image = np.random.default_rng(5).integers(-99, 99, (9, 11)).astype(np.int32)
    np.testing.assert_array_equal(plan.compile(cache=tmp_path)(a=image), slid(image, 3, 3, np.sum))


PLACES = """void s(int s_1, int s_part, const unsigned char p[restrict s_1][s_part],
                       unsigned char s_2[restrict s_1][s_part], int sum[restrict s_1][s_part]) {
    for (long y = 0; y < s_1; y++)
        for (long x = 0; x < s_part; x++) {
            unsigned char most = 0;
            int all = 0;
            for (long v = y < 2 ? 0 : y - 2; v <= (y + 2 < s_1 ? y + 2 : s_1 - 1); v++)
                for (long u = x < 2 ? 0 : x - 2; u <= (x + 2 < s_part ? x + 2 : s_part - 1); u++)
                    most = most > p[v][u] ? most : p[v][u];
            for (long v = y < 2 ? 0 : y - 2; v <= (y + 2 < s_1 ? y + 2 : s_1 - 1); v++)
                for (long u = x < 2 ? 0 : x - 2; u <= (x + 2 < s_part ? x + 2 : s_part - 1); u++)
                    all += p[v][u];
            s_2[y][x] = most;
            sum[y][x] = all;
        }
}"""


def test_iterators_may_be_places_of_a_clipped_window(tmp_path):
    """Two results, 64-bit iterators, and names that are in each other."""
    scop = po.parse_c(PLACES)
    plan = po.Plan(scop).separate_reduction("most_1", "all_1")
    assert plan.prove(code=True)
    one, other = (p.compile(cache=tmp_path) for p in (plan, po.Plan(scop)))
    for shape in ((1, 1), (2, 9), (13, 40)):
        image = np.random.default_rng(7).integers(0, 256, shape, dtype=np.uint8)
        for found, expected in zip(one(p=image), other(p=image), strict=True):
            np.testing.assert_array_equal(found, expected)
    chosen = po.auto(scop, sizes={"s_1": 600, "s_part": 700}, target="avx2")
    assert [move.name for move in chosen.moves[:2]] == ["separate_reduction"] * 2


def test_a_plan_with_rows_is_saved_and_made_again(tmp_path):
    scop = dilated()
    plan = po.Plan(scop).separate_reduction("out_1").fuse("out_part", into="out_1", at="out.y")
    plan.save(tmp_path / "plan.json")
    again = po.Plan.load(tmp_path / "plan.json", scop)
    assert again.emit().source == plan.emit().source


# -- what is not ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scop", "name", "why"),
    [
        (program("float"), "s_1", "floats round"),
        (program(), "s_0", "updates no element"),
        (
            program("int64_t", operation={"start": "0", "update": "s + a[y][x] * p * q"}),
            "s_1",
            "sum alone",
        ),
        (
            program("int64_t", operation={"start": "0", "update": f"s + {TERM} * y * q"}),
            "s_1",
            "sum alone",
        ),
        (program(bounds={"low": "0", "high": "0"}), "out", "updates no element"),
    ],
)
def test_what_shares_no_rows_is_refused(scop, name, why):
    with pytest.raises(InvalidOptionError) as found:
        po.Plan(scop).separate_reduction(name)
    assert why in str(found.value)


def test_a_window_whose_rows_have_other_lengths_shares_none():
    text = """void f(int H, int W, const int32_t a[H + 8][W + 8], int32_t out[H][W]) {
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                out[y][x] = 0;
                for (int p = 0; p < 4; p++)
                    for (int q = 0; q <= p; q++)
                        out[y][x] += a[y + p][x + q];
            }
    }"""
    with pytest.raises(InvalidOptionError, match="no partial reductions that are shared"):
        po.Plan(po.parse_c(text)).separate_reduction("out_1")


def test_what_is_written_in_the_same_loops_cannot_be_read_before():
    text = """void f(int H, int W, int32_t a[H + 2][W + 2], int32_t out[H][W]) {
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                out[y][x] = 0;
                for (int p = 0; p < 3; p++)
                    for (int q = 0; q < 3; q++)
                        out[y][x] += a[y + p][x + q];
                a[y + 1][x + 1] = out[y][x];
            }
    }"""
    with pytest.raises(InvalidOptionError, match="written in its own loops"):
        po.Plan(po.parse_c(text)).separate_reduction("out_1")


# -- what the proof refuses -------------------------------------------------------------------


def made():
    scop = dilated()
    return scop, separate_reduction(scop, "out_1")


def test_the_proof_says_what_was_shown():
    scop, other = made()
    (shown,) = check_source(scop, other)
    assert (shown.name, shown.detail[-5:]) == ("reductions", "out_1")


def changed(scop, name, **fields):
    return scop.with_statements(replace(scop.statement(name), **fields))


def rows_less(scop, name):
    domain = scop.statement(name).domain
    return changed(scop, name, domain=domain.subtract(domain.lexmin()))


def starting_from_one(scop, name):
    value = rewrite(
        scop.statement(name).value, lambda e: const(e.type, 1) if isinstance(e, Const) else e
    )
    return changed(scop, name, value=value)


def reading_the_next(scop, name):
    """Each affine subscript but those of the statement's own element reads one further."""
    statement = scop.statement(name)

    def moved(node):
        if not isinstance(node, Affine) or any(node.form.is_equal(i.form) for i in statement.index):
            return node
        one = affine_constant(node.form.get_domain_space(), 1)
        return replace(node, form=node.form.add(one))

    return changed(scop, name, value=rewrite(statement.value, moved))


def other_operation(scop, name):
    value = replace(scop.statement(name).value, op="add")
    return changed(scop, name, value=value)


def without_start(scop, _name):
    """The rows' loops around the update alone."""
    nest = tuple(
        node
        if k
        else Loop("y", (Loop("x", (node.body[0].body[1],)), Loop("x", ("out_part_start",))))
        for k, node in enumerate(scop.nest)
    )
    return replace(scop, nest=nest)


def smaller(scop, name):
    """The array of the rows has one column less."""
    array = scop.array(name)
    one = affine_constant(array.extents[1].get_domain_space(), 1)
    less = replace(array, extents=(array.extents[0], array.extents[1].sub(one)))
    return replace(scop, arrays=tuple(less if a is array else a for a in scop.arrays))


def late(scop, _name):
    return replace(scop, nest=scop.nest[::-1])


@pytest.mark.parametrize(
    ("change", "name", "why"),
    [
        (rows_less, "out_part", "more or less to add up"),
        (rows_less, "out_1", "more or less|other elements|not one to one"),
        (rows_less, "out_part_start", "nothing sets"),
        (starting_from_one, "out_part_start", "starts from another value"),
        (reading_the_next, "out_part", "other values"),
        (reading_the_next, "out_1", "nothing sets|more or less"),
        (other_operation, "out_part", "another operation"),
        (other_operation, "out_1", "another operation"),
        (without_start, "", "no nest of its own"),
        (late, "", "before they are complete"),
        (smaller, "out_part", "no room for its rows"),
    ],
)
def test_another_program_is_refused(change, name, why):
    scop, other = made()
    with pytest.raises(IllegalScheduleError, match=why):
        check_source(scop, change(other, name))
