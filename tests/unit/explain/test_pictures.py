"""Pictures: their shapes are the sets they show; SVG is well formed, small and needs nothing."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from polyopt.errors import InvalidOptionError, UnknownNameError
from polyopt.explain import (
    Picture,
    Roof,
    Spot,
    animate,
    draw_dependences,
    draw_domain,
    draw_graph,
    draw_roofline,
    draw_tiles,
    draw_tree,
    draw_windows,
)
from polyopt.explain.pictures.picture import PALETTE, Dot, Line, Rect, Text
from polyopt.explain.pictures.tiles import stages_of
from polyopt.explain.pictures.windows import windows_of
from polyopt.frontend.c import parse_c
from polyopt.library import load_kernel, load_scop
from polyopt.scheduler import auto
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def fused() -> Plan:
    plan = Plan(load_scop("blur")).tile("out", y=8, x=16).fuse("bx", into="out")
    return plan.parallelize("out.y_tile").vectorize("out.x", 8)


def dots(picture: Picture) -> list[Dot]:
    return [s for s in picture.shapes if isinstance(s, Dot)]


def well_formed(picture: Picture) -> ET.Element:
    root = ET.fromstring(picture.svg)  # noqa: S314 (our own text)
    assert root.tag == f"{SVG}svg"
    assert len(picture.svg) < 100_000
    assert not re.search(r"(href|src|url)\s*=|<script|@import", picture.svg)
    for shape in picture.shapes:
        if isinstance(shape, (Rect, Text)):
            assert -1 <= shape.x <= picture.width + 1
            assert -1 <= shape.y <= picture.height + 1
    return root


def test_a_domain_has_a_point_per_instance() -> None:
    picture = draw_domain(load_scop("blur"), "out", {"H": 7, "W": 9})
    root = well_formed(picture)
    assert len(dots(picture)) == len(root.findall(f".//{SVG}circle")) == 5 * 7
    assert {d.title for d in dots(picture)} >= {"out[0, 0]", "out[4, 6]"}
    assert picture.label == "35 instances of out for H = 7, W = 9"


def test_tiles_have_colours_that_differ_between_neighbours() -> None:
    plan = Plan(load_scop("blur")).tile("out", y=3, x=4)
    picture = draw_domain(plan, "out", {"H": 11, "W": 14})
    colour = {d.title: d.fill for d in dots(picture)}
    assert len(set(colour.values())) > 1
    for y, x in [(0, 0), (2, 3), (5, 7)]:
        block = {colour[f"out[{y // 3 * 3 + a}, {x // 4 * 4 + b}]"] for a in (0, 2) for b in (0, 3)}
        assert len(block) == 1
    assert colour["out[2, 0]"] != colour["out[3, 0]"]
    assert colour["out[0, 3]"] != colour["out[0, 4]"]


def test_flow_between_instances_is_drawn_as_arrows() -> None:
    scop = load_scop("gemm")
    with_arrows = draw_domain(scop, "C_1", {"M": 2, "N": 3, "K": 4})
    arrows = [s for s in with_arrows.shapes if isinstance(s, Line) and s.arrow]
    assert len(arrows) == 3 * (4 - 1)  # along k, for each of three columns
    without = draw_domain(scop, "C_1", {"M": 2, "N": 3, "K": 4}, arrows=False)
    assert not [s for s in without.shapes if isinstance(s, Line)]
    well_formed(with_arrows)


def test_too_many_points_are_refused() -> None:
    with pytest.raises(InvalidOptionError, match="instances to draw"):
        draw_domain(load_scop("blur"), "out", {"H": 500, "W": 500})
    with pytest.raises(UnknownNameError, match="'oops'"):
        draw_domain(load_scop("blur"), "oops")


def test_producer_tiles_overlap_by_their_halo(fused: Plan) -> None:
    out, bx = stages_of(fused, "out", {"H": 26, "W": 34})
    assert (out.name, bx.name) == ("out", "bx")
    assert out.overlaps == ()
    assert out.tiles[0] == (0, 16, 0, 8)
    assert bx.tiles[0] == (0, 16, 0, 10)
    assert bx.overlaps[0] == (0, 16, 8, 10)
    assert bx.bounds == (0, 32, 0, 26)
    assert bx.note == f"computed {30 / 26:.3g} times"
    assert bx.shape == "(y, x): 10 x 16 per tile"


def test_the_picture_of_tiles_hatches_what_is_computed_twice(fused: Plan) -> None:
    picture = draw_tiles(fused, "out", {"H": 26, "W": 34})
    hatched = [s for s in picture.shapes if isinstance(s, Rect) and s.hatch]
    assert len(hatched) == 2 * 2
    well_formed(picture)


def test_narrow_overlaps_are_drawn_wide_enough_to_be_seen_and_said_to_be_so() -> None:
    plan = Plan(load_scop("blur")).tile("out", y=64, x=512).fuse("bx", into="out")
    picture = draw_tiles(plan, "out")
    hatched = [s for s in picture.shapes if isinstance(s, Rect) and s.hatch]
    assert len(hatched) == 3 * 3  # between four rows of three tiles
    assert all(min(s.width, s.height) >= 7 for s in hatched)
    assert "computed 1.02 times; overlap drawn wider" in picture.svg


def test_an_untiled_space_has_no_tiles_to_draw() -> None:
    with pytest.raises(InvalidOptionError, match="not tiled"):
        draw_tiles(Plan(load_scop("blur")), "out")


def test_tiles_of_four_dimensional_spaces_are_drawn_in_two() -> None:
    plan = Plan(load_scop("bn_relu_maxpool"))
    names = plan.loops("out")
    plan = plan.tile("out", y=8, x=8)
    out, *_ = stages_of(plan, "out")
    assert len(names) == 4
    assert (out.vertical, out.horizontal) == ("y", "x")
    assert out.tiles[0] == (0, 8, 0, 8)


def test_a_tree_names_loops_marks_and_buffers(fused: Plan) -> None:
    picture = draw_tree(fused)
    texts = [s.text for s in picture.shapes if isinstance(s, Text)]
    assert texts[0] == "for out.y_tile  (parallel)"
    assert "scratch bx[10][16]" in texts
    assert "for out.x  (vector 8)" in texts
    well_formed(picture)


def test_pictures_are_written_as_svg_and_png(fused: Plan, tmp_path: Path) -> None:
    picture = draw_tiles(fused, "out")
    assert picture.save(tmp_path / "tiles.svg").read_text(encoding="utf-8") == picture.svg
    assert picture.save(tmp_path / "tiles.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidOptionError, match="bmp"):
        picture.save(tmp_path / "tiles.bmp")


def test_every_kind_of_shape_is_drawn_by_matplotlib() -> None:
    shapes = (
        Rect(0, 0, 20, 10, PALETTE[0], hatch=True), Dot(5, 5, 2, PALETTE[1]),
        Line(0, 0, 20, 10, arrow=True, dashed=True), Text(1, 9, "a $b", 9, "middle"),
    )  # fmt: skip
    (axes,) = Picture(30, 20, shapes, "all").figure().axes
    assert len(axes.patches) == 3
    assert "a $b" in [t.get_text() for t in axes.texts]


def test_text_is_escaped() -> None:
    picture = Picture(10, 10, (Text(0, 5, "a < b & c"),), 'the "<label>"')
    root = ET.fromstring(picture.svg)  # noqa: S314 (our own text)
    assert root.findtext(f"{SVG}text") == "a < b & c"
    assert root.findtext(f"{SVG}title") == 'the "<label>"'


def test_windows_are_drawn_where_a_plan_slides() -> None:
    kernel = load_kernel("harris")
    sizes = kernel.sizes["bench"]
    plan = auto(kernel.scop, target="avx2", sizes=sizes)
    (nest,) = windows_of(plan, sizes)
    found = {window.name: window for window in nest.windows}
    assert list(found)[-1] == "out"
    assert not found["out"].kept
    for name, window in found.items():
        rows, columns = window.whole
        assert rows[0] <= window.tile[0][0] <= window.tile[0][1] <= rows[1]
        if window.kept:
            assert f"{window.kept[0][1] - window.kept[0][0] + 1} rolling" in window.notes[0], name
            assert window.kept[1] == columns
    svg = draw_windows(plan, sizes).svg
    assert svg.count("<title>kept</title>") == len(found) - 1
    assert re.search(r"inlined, never stored: [\w, ]*Sxx", svg)


@pytest.mark.parametrize("name", ["blur", "camera_pipe", "conv_bn_relu_maxpool", "jacobi_2d"])
def test_every_plan_has_a_picture_of_what_it_keeps(name: str) -> None:
    kernel = load_kernel(name)
    sizes = kernel.sizes["test"]
    for plan in (Plan(kernel.scop), auto(kernel.scop, target="avx2", sizes=sizes)):
        arrays = {s.array for s in plan.scop.statements} - plan.program.inlined
        shown = {w.name for nest in windows_of(plan, sizes) for w in nest.windows}
        assert shown == arrays
        assert draw_windows(plan, sizes).svg.startswith("<svg")


def test_what_runs_along_fewer_iterators_than_its_array_has_is_drawn_as_well() -> None:
    scop = parse_c(
        "void f(int n, double A[restrict n][n], double b[restrict n]) {\n#pragma scop\n"
        "  for (int i = 0; i < n; i++) A[i][i] = b[i];\n"
        "  for (int i = 1; i < n; i++) A[0][i] = b[i];\n"
        "  b[0] = A[0][0];\n#pragma endscop\n}\n",
    )
    diagonal, row, one = windows_of(Plan(scop), {"n": 8})
    assert diagonal.windows[0].whole == ((0, 7),)
    assert row.windows[0].whole == ((1, 7),)
    assert one.windows[0].whole == ()
    # nothing runs of the second nest where there is one column
    assert [nest.windows[0].name for nest in windows_of(Plan(scop), {"n": 1})] == ["A", "b"]
    assert draw_windows(Plan(scop), {"n": 1}).svg.startswith("<svg")


def arrows(picture: Picture) -> list[Line]:
    return [s for s in picture.shapes if isinstance(s, Line) and s.arrow]


def texts(picture: Picture) -> str:
    return "\n".join(s.text for s in picture.shapes if isinstance(s, Text))


def test_arrows_lead_from_writers_to_a_reader() -> None:
    picture = draw_dependences(load_scop("blur"), "bx", "out", {"H": 10, "W": 12})
    well_formed(picture)
    assert len(arrows(picture)) == 3
    assert "distance (-2..0, 0)" in texts(picture)
    chosen = draw_dependences(load_scop("blur"), "bx", "out", {"H": 10, "W": 12}, at=(0, 0))
    coloured = {d.title for d in dots(chosen) if d.fill in {PALETTE[4], PALETTE[5]}}
    assert coloured == {"bx[0, 0]", "bx[1, 0]", "bx[2, 0]", "out[0, 0]"}


def test_a_statement_that_reads_its_own_values_has_one_panel() -> None:
    picture = draw_dependences(load_scop("gemm"), "C_1", None, {"M": 2, "N": 4, "K": 6})
    assert len(arrows(picture)) == 2 * 4 * 5
    assert "distance (0, 1, 0)" in texts(picture)
    assert texts(picture).split("\n").count("C_1") == 1
    colours = {d.title: d.fill for d in dots(picture)}
    assert len(colours) == len(dots(picture))
    assert (colours["C_1[0, 0, 0]"], colours["C_1[0, 5, 0]"]) == (PALETTE[4], PALETTE[5])
    with pytest.raises(InvalidOptionError, match="no value flows from out to bx"):
        draw_dependences(load_scop("blur"), "out", "bx")


def test_the_graph_has_a_frame_per_nest_and_says_what_is_kept() -> None:
    plan = Plan(load_scop("blur")).fuse("bx", into="out", storage="sliding")
    picture = draw_graph(plan, {"H": 102, "W": 102})
    well_formed(picture)
    assert "600 B of 20.4 KB" in texts(picture)
    assert len(arrows(picture)) == 2
    frames = [s for s in picture.shapes if isinstance(s, Rect) and s.fill == "#F4F4F1"
              and s.stroke != "none"]  # fmt: skip
    assert len(frames) == len(plan.program.tree) == 1
    unfused = draw_graph(Plan(load_scop("blur")), {"H": 102, "W": 102})
    assert "20.4 KB in full" in texts(unfused)
    drawn = [*unfused.shapes]
    title = next(k for k, s in enumerate(drawn) if isinstance(s, Text) and s.text == "out.y")
    assert drawn[title].halo, "arrows may run through it"
    assert title > max(k for k, s in enumerate(drawn) if isinstance(s, Line))
    inlined = draw_graph(Plan(load_scop("blur")).inline("bx"))
    assert "inlined" in texts(inlined)


def test_a_register_is_no_array() -> None:
    plan = Plan(load_scop("harris")).fuse("det", into="out", at="out.x", storage="register")
    assert "in a register" in texts(draw_graph(plan, {"H": 66, "W": 66}))
    (nest,) = (n for n in windows_of(plan, {"H": 66, "W": 66}) if n.title == "out.y")
    (det,) = (w for w in nest.windows if w.name == "det")
    assert det.notes[0] == "one element, in a register"
    assert det.kept == ((29, 29), (29, 29))
    assert "register det" in str(plan).replace(" " * 4, "").splitlines()


def test_a_large_graph_stays_small() -> None:
    well_formed(draw_graph(Plan(load_scop("local_laplacian"))))


@pytest.mark.parametrize("name", ["harris", "pyramid_blend", "local_laplacian"])
def test_all_edges_are_drawn_and_pass_no_stage(name: str) -> None:
    scop = load_scop(name)
    picture = draw_graph(Plan(scop))
    boxes = [s for s in picture.shapes if isinstance(s, Rect) and s.width == 104 and s.opacity < 1]
    drawn = [s for s in picture.shapes if isinstance(s, Line)]
    for line in drawn:
        assert max(line.x1, line.x2) <= picture.width
        for share in (k / 20 for k in range(1, 20)):
            x = line.x1 + share * (line.x2 - line.x1)
            y = line.y1 + share * (line.y2 - line.y1)
            inside = [b for b in boxes
                      if b.x < x < b.x + b.width and b.y < y < b.y + b.height]  # fmt: skip
            assert not inside
    edges = {(read.array, statement.array) for statement in scop.statements
             for read in statement.reads if scop.array(read.array).rank}  # fmt: skip
    assert len(arrows(picture)) == len([1 for one, other in edges if one != other])
    # those that go round say from where to where; each lane is one source's at each height
    told = {s.title for s in drawn if s.title}
    assert bool(told) == (name != "harris")
    assert told <= {f"{one} to {other}" for one, other in edges}
    lanes = [s for s in drawn if s.x1 == s.x2 and not s.arrow and abs(s.y2 - s.y1) > 10]
    for one, other in itertools.combinations(lanes, 2):
        apart = one.y2 < other.y1 or other.y2 < one.y1
        assert one.x1 != other.x1 or apart


def test_the_window_slides_and_keeps_what_is_read_again() -> None:
    plan = Plan(load_scop("blur")).fuse("bx", into="out", storage="sliding")
    moving = animate(plan, "bx", {"H": 10, "W": 14})
    assert len(moving.frames) == 10
    assert len(moving.svg) < 100_000
    root = ET.fromstring(moving.svg)  # noqa: S314 (our own text)
    assert len(root.findall(f".//{SVG}animate")) == 10
    well_formed(moving.sheet())
    middle = moving.frames[5]
    new = [s for s in middle.shapes if isinstance(s, Rect) and s.fill == PALETTE[0]]
    kept = [s for s in middle.shapes if isinstance(s, Rect) and s.fill == PALETTE[1]]
    assert (len(new), len(kept)) == (1, 2)
    assert new[0].width == kept[0].width == 12 * 15
    assert "3 x 12 elements; computes 12, reads 36" in texts(middle)


def test_buffers_per_tile_follow_tile_after_tile(fused: Plan) -> None:
    moving = animate(fused, "bx", {"H": 18, "W": 34})
    assert len(moving.frames) == 4
    again = [s for s in moving.frames[2].shapes if isinstance(s, Rect) and s.hatch]
    assert again  # two rows of the tile above
    with pytest.raises(UnknownNameError, match="no producer with a buffer is called 'out'"):
        animate(fused, "out")


def test_pictures_and_animations_are_saved(tmp_path: Path) -> None:
    plan = Plan(load_scop("blur")).fuse("bx", into="out", storage="sliding")
    moving = animate(plan, "bx", {"H": 6, "W": 8})
    for name in ("a.svg", "a.png"):
        assert moving.save(tmp_path / name).stat().st_size > 500
    with pytest.raises(InvalidOptionError, match="cannot be written"):
        moving.save(tmp_path / "no" / "a.svg")


def test_a_kernel_lies_below_its_roof() -> None:
    picture = draw_roofline([Roof("1 thread", 10, 80)], [Spot("polyopt", 2, 16)])
    well_formed(picture)
    (spot,) = dots(picture)
    flat = max(s.y1 for s in picture.shapes if isinstance(s, Line) and s.width == 1.6)
    assert spot.y > min(s.y2 for s in picture.shapes if isinstance(s, Line) and s.width == 1.6)
    assert flat > spot.y


def test_the_trade_off_is_drawn_with_all_its_points() -> None:
    found = Plan(load_scop("blur")).tradeoff(sizes={"H": 258, "W": 258})
    picture = found.picture()
    well_formed(picture)
    told = {d.title.split(":")[0] for d in dots(picture) if d.title}
    assert {p.name for p in found if not p.chosen} <= told
    assert "\n1\n" in texts(picture)
    assert "beaten plans" in texts(picture)


def test_tiles_of_blocks_of_rows_are_those_of_the_strip() -> None:
    """Blocks for registers inside a strip are no tiles, and what slides down it is drawn too."""
    plan = Plan(load_scop("blur")).tile("out", y=32).unroll_and_jam("out.y", 4)
    plan = plan.fuse("bx", into="out", at="out.y_jam", storage="sliding")
    out, bx = stages_of(plan, "out")
    assert (out.name, out.shape) == ("out", "(y, x): 32 x 78 per tile")
    assert bx.shape == "(y, x): 34 x 78 per tile"
    assert bx.overlaps


def test_tiles_of_a_sum_are_those_of_its_result() -> None:
    plan = auto(load_scop("gemm"), target="avx2", sizes={"M": 1024, "N": 1024, "K": 1024})
    (tiles, *_) = stages_of(plan, "C")
    assert (tiles.vertical, tiles.horizontal) == ("i", "j")


def test_an_array_that_two_nests_compute_stands_in_one() -> None:
    """2mm starts its sums in nests of their own, and packs its operands."""
    sizes = {"M": 512, "N": 512, "K": 512, "L": 512}
    picture = draw_graph(auto(load_scop("2mm"), target="avx2", sizes=sizes), sizes)
    assert picture.label == "stages of mm2 in 2 nests"
    texts = [s.text for s in picture.shapes if isinstance(s, Text)]
    assert [texts.count(name) for name in ("A", "B", "C", "tmp", "D")] == [1, 1, 1, 1, 1]


def test_a_roof_says_which_operations_it_counts():
    spots = [Spot("blur", 0.5, 3.0)]
    floats = draw_roofline([Roof("1 thread", 10.0, 50.0)], spots).svg
    bytes_ = draw_roofline([Roof("1 thread", 10.0, 50.0, "u8 additions")], spots).svg
    assert "Gop/s of f32 multiply-adds" in floats
    assert "Gop/s of u8 additions" in bytes_
    assert "multiply-adds" not in bytes_
