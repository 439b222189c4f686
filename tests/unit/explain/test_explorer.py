"""The explorer: its controls make proven plans, and all that is seen follows."""

from __future__ import annotations

import builtins

import pytest

from polyopt.errors import InvalidOptionError, MissingExtraError, UnknownNameError
from polyopt.explain.choices.placements import place_of
from polyopt.library import load_scop
from polyopt.transform.plan import Plan

SIZES = {"H": 130, "W": 130}


def control(explorer, name):
    return next(c for c in explorer.panel().children[0].children
                if getattr(c, "description", "") == name)  # fmt: skip


def test_a_control_changes_loops_bill_and_tiles():
    plan = Plan(load_scop("blur"))
    explorer = plan.explore(sizes=SIZES)
    before = explorer.static()
    control(explorer, "bx").value = "scratch"
    assert place_of(explorer.plan.program, "bx") == "scratch"
    assert "out.x_tile" in explorer.nest()
    assert "out.x_tile" not in before
    control(explorer, "rows").value = 8
    assert "scratch bx[10][" in explorer.nest()
    assert "computed 1.18 times" in explorer.tiles()
    assert "bx[10][" in explorer._views["bill"].value
    explorer.plan.prove()
    assert plan.moves == ()


def test_what_is_refused_is_shown_and_taken_back():
    explorer = Plan(load_scop("conv_bn_relu_maxpool")).explore()
    before = explorer.plan
    control(explorer, "conv").value = "inline"
    assert explorer.plan is before
    assert "not-fusable" in explorer._views["said"].value
    with pytest.raises(UnknownNameError, match="no producer is called 'bx'"):
        explorer.set(bx="root")
    with pytest.raises(InvalidOptionError, match="cannot be put 'cellar'"):
        explorer.set(conv="cellar")


def test_it_measures_and_goes_to_a_page_without_scripts(tmp_path):
    explorer = Plan(load_scop("blur")).explore(sizes=SIZES)
    assert " ms (least " in explorer.measure(seconds=0.001)
    explorer._timed(None)
    assert " ms" in explorer._views["said"].value
    assert "<svg" in explorer.save(tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(InvalidOptionError, match="cannot be written"):
        explorer.save(tmp_path / "no" / "page.html")


def test_it_shows_itself_live_and_as_plain_html(monkeypatch):
    """The panel, and a copy for pages without a kernel, hidden where widgets are alive."""
    explorer = Plan(load_scop("blur")).explore(sizes={"H": 66, "W": 66})
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    explorer._ipython_display_()
    live, plain = shown
    assert "application/vnd.jupyter.widget-view+json" in live._repr_mimebundle_()
    assert ".jp-NotebookPanel .polyopt-static" in plain.data
    assert "<script" not in plain.data
    assert "<svg" in plain.data
    assert len(plain.data) < 100_000
    assert repr(explorer) == "<Explorer of blur: bx root; a panel in Jupyter>"


def test_without_ipywidgets_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "ipywidgets":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match="needs ipywidgets") as refused:
        Plan(load_scop("blur")).explore()
    assert "ipywidgets>=8" in str(refused.value)
