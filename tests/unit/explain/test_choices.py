"""What else could be done: alternatives, what-if, the trade-off, differences, formulas."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module

import pytest

from polyopt.codegen.target import target
from polyopt.errors import InvalidOptionError, UnknownNameError
from polyopt.explain.choices.alternatives import memory_bytes
from polyopt.explain.choices.placements import (
    PLACES,
    Layout,
    blocks_of,
    lay_out,
    layout_of,
    place_of,
    producers,
)
from polyopt.explain.pictures.tiles import stages_of
from polyopt.frontend.c import parse_c
from polyopt.library import load_scop
from polyopt.scheduler.model.cost import cost
from polyopt.transform.plan import Plan

SIZES = {"H": 1026, "W": 1026}
MACHINE = replace(target("avx2"), cores=2)


@pytest.fixture(scope="module")
def chosen() -> Plan:
    return lay_out(load_scop("blur"), Layout({"bx": "sliding"}), SIZES, MACHINE).plan


@pytest.fixture(scope="module")
def harris() -> Plan:
    scop = load_scop("harris")
    inlined = dict.fromkeys(("Sxx", "Syy", "Sxy", "det", "trace"), "inline")
    places = {**dict.fromkeys(producers(scop), "sliding"), **inlined}
    return lay_out(scop, Layout(places), {"H": 514, "W": 514}, MACHINE).plan


@pytest.mark.parametrize("place", PLACES)
def test_a_layout_makes_a_legal_plan_that_has_it(place: str) -> None:
    scop = load_scop("blur")
    laid = lay_out(scop, Layout({"bx": place}), SIZES, MACHINE)
    laid.plan.prove()
    assert laid.elsewhere == {}
    assert place_of(laid.plan.program, "bx") == place
    assert layout_of(laid.plan).places == {"bx": place}


def test_what_a_producer_reads_moves_out_with_it(harris: Plan) -> None:
    layout = layout_of(harris)
    laid = lay_out(harris.scop, layout.with_place("Ixx", "scratch"), SIZES, MACHINE)
    laid.plan.prove()
    assert place_of(laid.plan.program, "Ixx") == "scratch"
    assert place_of(laid.plan.program, "gray") != "sliding"


def test_producers_are_the_arrays_between_stages() -> None:
    assert producers(load_scop("blur")) == ("bx",)
    assert producers(load_scop("gemm")) == ()


def test_alternatives_show_what_each_place_costs(chosen: Plan) -> None:
    table = chosen.alternatives("bx", sizes=SIZES, target=MACHINE)
    assert [row.place for row in table] == ["inline", "sliding", "scratch", "root"]
    assert [row.place for row in table if row.chosen] == ["sliding"]
    numbers = {row.place: row.numbers for row in table}
    once = 1026 * 1024
    assert numbers["inline"]["computed"] == pytest.approx(3 * 1024 * 1024 / once)
    assert numbers["root"]["computed"] == 1
    assert numbers["root"]["memory bytes"] == once * 2
    assert numbers["root"]["bytes moved"] > numbers["scratch"]["bytes moved"]
    assert numbers["sliding"]["scratch bytes"] == 3 * 1024 * 2
    assert numbers["scratch"]["scratch bytes"] == (32 + 2) * 512 * 2
    assert numbers["root"]["parallel tiles"] == 1024
    for row in table:
        assert row.plan is not None
        row.plan.prove()
    assert max(map(len, str(table).splitlines())) <= 80
    assert json.loads(json.dumps(table.as_dict()))["producer"] == "bx"


def test_a_place_that_is_refused_says_why() -> None:
    plan = Plan(load_scop("conv_bn_relu_maxpool"))
    table = plan.alternatives("conv", sizes={"N": 1, "CO": 4, "CI": 3, "H": 12, "W": 12})
    assert table["inline"].plan is None
    assert table["inline"].refusal is not None
    assert table["inline"].refusal.code == "not-fusable"
    assert "several instances" in str(table)
    assert table["root"].chosen


def test_who_asks_for_nothing_hears_what_there_is(chosen: Plan) -> None:
    with pytest.raises(UnknownNameError, match="no producer is called 'bz'"):
        chosen.alternatives("bz")
    with pytest.raises(UnknownNameError, match="no place is called 'cellar'"):
        chosen.alternatives("bx")["cellar"]
    with pytest.raises(InvalidOptionError, match="cannot be put 'cellar'"):
        chosen.explain("bx", if_="cellar")
    with pytest.raises(InvalidOptionError, match="says where, not what"):
        chosen.explain(if_="root")


def test_what_if_stands_beside_what_is(chosen: Plan) -> None:
    (row,) = chosen.explain("bx", if_="root", sizes=SIZES)
    assert (row.kind, row.move, row.consumer) == ("not considered", "root", "out")
    assert row.numbers["memory bytes"] == 1026 * 1024 * 2
    assert row.numbers["memory bytes now"] == 3 * 1024 * 2
    text = str(chosen.explain("bx", if_="root", sizes=SIZES))
    assert "memory 2.1 MB (now 6.14 KB)" in " ".join(text.split())
    (same,) = chosen.explain("bx", if_="sliding", sizes=SIZES)
    assert same.kind == "applied"
    conv = Plan(load_scop("conv_bn_relu_maxpool"))
    (refused,) = conv.explain("conv", if_="inline")
    assert (refused.kind, refused.code) == ("refused", "not-fusable")


def test_the_front_of_the_blur_has_both_classic_ends(chosen: Plan) -> None:
    found = chosen.tradeoff(sizes=SIZES, target=MACHINE)
    full = [p for p in found if p.layout.places == {"bx": "root"}]
    assert [(p.memory, p.work) for p in full] == [(1026 * 1024 * 2, 1.0)]
    least = found.front[0]
    assert least.memory == 3 * 2
    assert least.bill.repeated["bx"] == pytest.approx(3, rel=0.01)
    assert found.chosen in found.front
    assert found.chosen.chosen
    assert found.chosen.plan is chosen


def test_no_point_of_the_front_beats_another(harris: Plan) -> None:
    found = harris.tradeoff(sizes={"H": 514, "W": 514}, target=MACHINE)
    enough = 4 * MACHINE.cores
    keys = [(p.memory, p.work, -min(p.threads, enough)) for p in found]
    for a in keys:
        assert not [b for b in keys if b != a and all(x <= y for x, y in zip(b, a, strict=True))]
    for other in found.points:
        own = other.memory, other.work, -min(other.threads, enough)
        assert any(all(x <= y for x, y in zip(key, own, strict=True)) for key in keys)
    for point in found:
        point.plan.prove()
        bill = cost(point.plan.program, {"H": 514, "W": 514}, MACHINE)
        assert memory_bytes(point.plan, bill) == point.memory


def test_a_point_is_chosen_by_number_or_by_memory(chosen: Plan) -> None:
    found = chosen.tradeoff(sizes=SIZES, target=MACHINE)
    assert found[1] is found.front[0]
    assert found.within(1000).memory <= 1000
    assert found.within(1e9).work == 1.0
    with pytest.raises(InvalidOptionError, match="there is no point 99"):
        found[99]
    with pytest.raises(InvalidOptionError, match="in 5 B"):
        found.within(5)
    assert max(map(len, str(found).splitlines())) <= 80
    assert json.loads(json.dumps(found.as_dict()))["chosen"]["chosen"] is True


def test_two_plans_differ_in_moves_places_and_bill(chosen: Plan) -> None:
    other = chosen.alternatives("bx", sizes=SIZES, target=MACHINE)["root"].plan
    assert other is not None
    found = chosen.diff(other, sizes=SIZES)
    assert any(".fuse('bx'" in move for move in found.removed)
    assert found.places["bx"][1] == "root"
    assert found.bill["bytes moved"][0] < found.bill["bytes moved"][1]
    assert max(map(len, str(found).splitlines())) <= 80
    assert not chosen.diff(chosen)
    with pytest.raises(InvalidOptionError, match="one plan is for blur, the other for gemm"):
        chosen.diff(Plan(load_scop("gemm")))


def test_the_formulas_are_expressions_and_latex() -> None:
    plan = Plan(load_scop("blur")).tile("out", y=64, x=512).fuse("bx", into="out")
    found = plan.formula()
    scratch = found["scratch bytes"]
    assert scratch.subs({"T_x": 512, "T_y": 64}) is not None
    values = {s: {"T_x": 512, "T_y": 64}[s.name] for s in scratch.free_symbols}
    assert scratch.subs(values) == 66 * 512 * 2
    assert "scratch bytes of bx" in list(found)
    assert found._repr_latex_().startswith("$$\n\\begin{aligned}")
    with pytest.raises(UnknownNameError, match="no quantity is called 'joy'"):
        found["joy"]


def test_one_dimension_has_tiles_of_one_size() -> None:
    text = """void smooth(int n, const float a[n], float out[n - 4]) {
        float b[n - 2];
        for (int i = 0; i < n - 2; i++) b[i] = a[i] + a[i + 1] + a[i + 2];
        for (int i = 0; i < n - 4; i++) out[i] = b[i] + b[i + 1] + b[i + 2]; }"""
    plan = Plan(parse_c(text)).tile("out", i=128).fuse("b", into="out")
    assert layout_of(plan).tile == (128, 0)
    assert blocks_of(plan.program) == (128,)
    found = plan.tradeoff(sizes={"n": 4000}, target=MACHINE)
    assert found.chosen.name == "b scratch 128"
    assert stages_of(plan, "out")[1].shape == "(i): 130 per tile"


def test_a_search_that_is_cut_says_so_and_still_has_both_ends(monkeypatch) -> None:
    """A deep pipeline: uniform layouts with the smallest and the largest blocks come first."""
    search = import_module("polyopt.explain.choices.tradeoff")
    monkeypatch.setattr(search, "MOST", 0)
    monkeypatch.setattr(search, "LEAST", 5)
    sizes = {"H": 514, "W": 514}
    plan = Plan(load_scop("unsharp"))
    found = plan.tradeoff(sizes=sizes, target=MACHINE)
    assert len(found.points) == 1 + search.LEAST
    assert found.left_out > len(found.points)
    assert f"{len(found.points)} of " in str(found).splitlines()[-2]
    assert max(map(len, str(found).splitlines())) <= 80
    assert found.within(1e9).work == 1.0
    assert found.front[0].memory < plan.cost(sizes).intermediate_bytes / 100
    assert found.as_dict()["left_out"] == found.left_out
    monkeypatch.setattr(search, "MOST", 10**6)
    assert Plan(load_scop("blur")).tradeoff(sizes=SIZES, target=MACHINE).left_out == 0


def test_rows_of_a_block_hold_what_they_share() -> None:
    """Eight rows at once need ten values of bx, where one row needs three."""
    plan = Plan(load_scop("blur")).inline("bx").unroll_and_jam("out.y", 8)
    sizes = {"H": 66, "W": 50}  # 64 rows: whole blocks
    assert memory_bytes(plan, plan.cost(sizes)) == 10 * 2
    single = Plan(plan.scop).inline("bx")
    assert memory_bytes(single, single.cost(sizes)) == 3 * 2
    assert plan.tradeoff(sizes=sizes, target=MACHINE).chosen.name == "bx inline, 8 rows at once"
