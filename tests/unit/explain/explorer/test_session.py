"""The explorer: moves, refusals with arrows, undo, choices, pages, and the panel's requests."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

import polyopt as po
from polyopt.errors import (
    IllegalScheduleError,
    InvalidOptionError,
    MissingExtraError,
    NotFusableError,
    UnknownNameError,
)
from polyopt.explain import CacheLevel
from polyopt.explain.choices.placements import place_of
from polyopt.explain.explorer import widget
from polyopt.library import load_scop
from polyopt.transform.plan import Plan

SIZES = {"H": 130, "W": 130}


@pytest.fixture
def explorer():
    return Plan(load_scop("blur")).explore(sizes=SIZES)


def shown(explorer):
    return explorer.history.shown.data


def test_a_move_is_proven_and_everything_follows(explorer):
    before = shown(explorer)
    explorer.apply("tile('out', y=32, x=64)")
    explorer.apply(".fuse('bx', into='out')")
    after = shown(explorer)
    assert [e.label for e in explorer.history.entries][1] == "tile('out', y=32, x=64)"
    assert [line["text"].strip() for line in after["nest"]][:3] == [
        "for out.y_tile", "for out.x_tile", "scratch bx[34][64]",
    ]  # fmt: skip
    assert after["places"] == {"bx": "scratch"}
    assert [name for name, _ in after["proof"]][:3] == ["dataflow", "live-out", "storage"]
    assert [n for n, _ in after["cost"]] == ["work", "scratch", "bytes moved", "parallel loops"]
    assert before["places"] == {"bx": "root"}
    assert explorer.script == explorer.plan.script
    namespace = {"po": po, "scop": load_scop("blur")}
    assert str(eval(explorer.script, namespace)) == str(explorer.plan)  # noqa: S307


def test_lines_of_source_nest_and_c_name_the_same_statements(explorer):
    explorer.apply("tile('out', y=32, x=64)")
    explorer.apply("fuse('bx', into='out')")
    source = {s: line["text"] for line in explorer.program["source"] for s in line["statements"]}
    assert source["bx"].lstrip().startswith("bx[y][x] =")
    assert source["out"].lstrip().startswith("out[y][x] =")
    code = shown(explorer)["c"]
    assigned = {s: x["text"].strip() for x in code for s in x["statements"] if "loop" not in x}
    assert re.match(r"bx\w*\[.*\] = ", assigned["bx"])
    assert assigned["out"].startswith("out[y][x] = ")
    loops = {line["loop"]: line for line in code if "loop" in line}
    assert loops.keys() == {n["loop"] for n in shown(explorer)["nest"] if "loop" in n}
    assert all(re.match(r"\s*for \(int64_t \w+ = ", line["text"]) for line in loops.values())
    assert loops["out.x_tile"]["statements"] == ["bx", "out"]
    assert loops["bx.x"]["statements"] == ["bx"]


def test_undo_goes_back_and_a_new_move_drops_what_was_undone(explorer):
    first = explorer.plan
    tiled = explorer.apply("tile('out', y=32, x=64)")
    assert explorer.undo() is first
    assert explorer.undo() is first
    assert explorer.redo() is tiled
    explorer.undo()
    explorer.apply("reverse('out.x')")
    assert [e.label for e in explorer.history.entries] == ["the source", "reverse('out.x')"]
    assert explorer.go(0) is first


def test_a_refusal_has_its_arrow_and_changes_nothing(explorer):
    before = explorer.plan
    with pytest.raises(IllegalScheduleError):
        explorer.apply("fuse_loops('bx.y', 'out.y')")
    assert explorer.plan is before
    refusal = explorer.refusal
    assert (refusal["code"], refusal["move"]) == ("order-violated", "fuse_loops('bx.y', 'out.y')")
    assert "shift=2" in refusal["hint"]
    (witness,) = refusal["witnesses"]
    (_, (y, x)), (_, (row, column)) = witness["source"], witness["sink"]
    assert (witness["source"][0], witness["sink"][0]) == ("bx", "out")
    assert x == column
    assert 0 < y - row <= 2
    explorer.apply("fuse_loops('bx.y', 'out.y', shift=2)")
    assert explorer.refusal is None


def test_witnesses_of_large_tiles_are_drawn_with_small_ones():
    explorer = Plan(load_scop("seidel_2d")).explore()
    with pytest.raises(IllegalScheduleError) as refused:
        explorer.apply("tile('A', t=32, i=32)")
    assert max(refused.value.witnesses[0].source[1]) > explorer.sizes.drawn["N"]
    for name, values in (explorer.refusal["witnesses"][0][end] for end in ("source", "sink")):
        assert name == "A"
        assert all(0 <= v < 12 for v in values)


@pytest.mark.parametrize(
    "text",
    ["", "tile", "__import__('os').system('x')", "tile('out', y=1+f())", "tile(*a)", "tile(**a)",
     "lambda: 0", "tile('out'", "a" * 5000, "(" * 3000, "tile('out', y=[i for i in x])", "f()()", "\0"],
)  # fmt: skip
def test_what_is_no_move_is_refused(explorer, text):
    with pytest.raises(InvalidOptionError, match="is no move"):
        explorer.apply(text)
    assert len(explorer.history.entries) == 1


def test_moves_with_names_and_arguments_that_do_not_exist(explorer):
    with pytest.raises(UnknownNameError, match="no move is called 'tiel'"):
        explorer.apply("tiel('out', y=4)")
    with pytest.raises(UnknownNameError):
        explorer.apply("reverse('out.z')")
    assert explorer.refusal["code"] == "unknown-name"
    with pytest.raises(InvalidOptionError):
        explorer.apply("reverse()")


def test_every_move_at_a_loop_is_tried(explorer):
    moves = {m["move"]: m.get("refused") for m in explorer.choices("bx.y")["moves"]}
    assert moves["parallelize('bx.y')"] is None
    assert moves["fuse_loops('bx.y', 'out.y')"]["code"] == "order-violated"
    for move, refused in moves.items():
        if refused is None:
            explorer.apply(move)
            explorer.undo()
    assert explorer.choices("bx.y") is explorer.choices("bx.y")
    with pytest.raises(UnknownNameError):
        explorer.choices("bx.z")


def test_places_that_a_producer_may_not_have_say_why():
    explorer = Plan(load_scop("conv_bn_relu_maxpool")).explore()
    places = {p["place"]: p for p in explorer.choices("conv")["places"]}
    assert places["root"]["here"]
    assert places["inline"]["refused"]["code"] == "not-fusable"
    assert "cannot be inlined" in places["inline"]["refused"]["message"]
    assert "refused" not in places["scratch"]
    with pytest.raises(NotFusableError):
        explorer.set(conv="inline")
    assert explorer.refusal["move"] == "conv: inline"


def test_a_producer_that_is_placed_has_places_and_no_further_moves(explorer):
    explorer.apply("fuse('bx', into='out')")
    found = explorer.choices("bx")
    assert found["moves"] == []
    assert [p["place"] for p in found["places"] if p["here"]] == ["element"]


def test_places_and_tile_sizes_by_name(explorer):
    explorer.set(bx="scratch", rows=8)
    assert place_of(explorer.plan.program, "bx") == "scratch"
    assert "scratch bx[10][" in str(explorer.plan)
    assert [e.label for e in explorer.history.entries] == ["the source", "bx: scratch, rows 8"]
    with pytest.raises(UnknownNameError, match="no producer is called 'img'"):
        explorer.set(img="root")
    with pytest.raises(InvalidOptionError, match="cannot be put 'cellar'"):
        explorer.place("bx", "cellar")


def test_measured_times_are_kept_with_their_plan(explorer):
    assert " ms (least " in str(explorer.measure(seconds=0.001))
    explorer.measure(seconds=0.001)
    explorer.apply("tile('out', y=32, x=64)")
    assert [len(e.times) for e in explorer.history.entries] == [2, 0]
    assert all(time > 0 for time in explorer.state()["entries"][0]["times"])


def test_caches_are_those_that_are_given():
    caches = [CacheLevel("L1", 1024, 64, 2)]
    explorer = Plan(load_scop("blur")).explore(drawn={"H": 10, "W": 10}, caches=caches)
    memory = shown(explorer)["picture"]["memory"]
    assert memory["levels"] == [{"name": "L1", "capacity": 1024, "line": 64, "ways": 2}]
    assert not memory["scaled"]
    assert len(memory["counts"]) == 2
    # each line of the three arrays once: none is thrown out
    lines = sum(buffer["lines"] for buffer in memory["buffers"])
    assert sum(int(digit, 36) for digit in memory["counts"][1]) == lines
    with pytest.raises(InvalidOptionError, match="a list of levels"):
        Plan(load_scop("blur")).explore(caches="machine")


def test_a_program_with_too_many_instances_has_no_picture_but_all_else():
    explorer = Plan(load_scop("blur")).explore(drawn={"H": 500, "W": 500})
    assert "instances to follow" in shown(explorer)["picture"]["refused"]
    assert shown(explorer)["nest"]


def test_a_page_holds_the_snapshot_and_loads_nothing(explorer, tmp_path):
    explorer.apply("fuse('bx', into='out')")
    page = explorer.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script>") == 1
    assert not re.search(r"\b(src|href)=|import\s*\(|@import|url\(http", page)
    data = re.search(r"\nmount\(document\.getElementById\(\"[\w-]+\"\), (\{.*\})\);</script>", page)
    snapshot = json.loads(data[1])
    assert snapshot["plans"].keys() == {"0", "1"}
    assert "1/out.y" in snapshot["state"]["choices"]
    assert "for out.y:" in page
    with pytest.raises(InvalidOptionError, match="cannot be written"):
        explorer.save(tmp_path / "no" / "page.html")


def test_it_shows_itself_live_and_without_python(explorer, monkeypatch):
    """The panel, and a copy for pages without a kernel, hidden where widgets are alive."""
    displayed = []
    monkeypatch.setattr("IPython.display.display", displayed.append)
    explorer._ipython_display_()
    live, plain = displayed
    assert "application/vnd.jupyter.widget-view+json" in live._repr_mimebundle_()[0]
    assert ".jp-NotebookPanel .polyopt-static" in plain.data
    assert len(plain.data) < 100_000
    assert explorer._display_() is live
    assert repr(explorer) == "<Explorer of blur: 1 plans; a panel in Jupyter>"


def test_the_panel_asks_and_is_told(explorer):
    panel = explorer.panel()
    panel.request = {"id": 1, "action": "move", "move": "tile('out', y=32, x=64)"}
    assert panel.told == {"id": 1}
    assert panel.state["at"] == 1
    assert panel.plans.keys() == {"0", "1"}
    panel.request = {"id": 2, "action": "move", "move": "fuse_loops('bx.y', 'out.y_tile')"}
    assert panel.told["id"] == 2
    assert panel.state["refusal"]["move"] == "fuse_loops('bx.y', 'out.y_tile')"
    panel.request = {"id": 3, "action": "choices", "subject": "bx"}
    assert {p["place"] for p in panel.state["choices"]["1/bx"]["places"]} >= {"root", "sliding"}
    panel.request = {"id": 4, "action": "undo"}
    assert panel.state["at"] == 0
    panel.request = {"id": 5, "action": "redo"}
    panel.request = {"id": 6, "action": "place", "subject": "bx", "place": "sliding"}
    assert panel.state["entries"][-1]["label"] == "bx: sliding"
    panel.request = {"id": 7, "action": "go", "step": 0}
    assert explorer.plan.moves == ()
    panel.request = {"id": 8, "action": "choices", "subject": "nothing"}
    assert "unknown-name" in panel.told["said"]
    panel.request = {"id": 9, "action": "dance"}
    assert "unknown" in panel.told["said"]
    panel.request = {"id": 10, "action": "measure"}
    assert " ms" in panel.told["said"]
    assert panel.state["entries"][0]["times"]


def test_without_anywidget_it_says_what_to_install(explorer, monkeypatch, tmp_path):
    def without(name):
        raise ImportError(name)

    widget._widget_class.cache_clear()
    monkeypatch.setattr(widget, "importlib", SimpleNamespace(import_module=without))
    with pytest.raises(MissingExtraError, match="needs anywidget") as refused:
        explorer.panel()
    assert "pip install" in str(refused.value)
    assert explorer.save(tmp_path / "page.html").exists()
