"""What Jupyter shows: well-formed HTML without scripts, for every value people look at."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from polyopt.explain import draw_tree, explain
from polyopt.library import load_scop
from polyopt.transform.plan import Plan

VOID = {"br"}


class Checker(HTMLParser):
    """Collects text, and fails where tags do not close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def shown(value: Any) -> str:
    """The text of what Jupyter shows, after checking its HTML."""
    html = value._repr_html_()
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert not checker.open
    assert len(html) < 100_000
    return checker.text


@pytest.fixture(scope="module")
def fused() -> Plan:
    return Plan(load_scop("blur")).tile("out", y=64, x=512).fuse("bx", into="out")


def test_a_program_is_its_listing(fused: Plan) -> None:
    assert "bx[y, x] = " in shown(fused.scop)


def test_dependences_are_a_table_with_witnesses(fused: Plan) -> None:
    text = shown(fused.scop.dependences())
    assert "distance" in text
    assert "bx[0, 0] -> out[0, 0]" in text


def test_a_plan_is_its_loops_and_its_script(fused: Plan) -> None:
    text = shown(fused)
    assert "for out.x_tile" in text
    assert ".tile('out', y=64, x=512)" in text


def test_a_proof_lists_what_was_shown(fused: Plan) -> None:
    assert "dataflow" in shown(fused.prove())


def test_a_bill_has_both_columns(fused: Plan) -> None:
    text = shown(fused.cost({"H": 2050, "W": 2050}))
    assert "unfused" in text
    assert "bx computed" in text
    assert "67.6 KB" in text


def test_remarks_are_rows_with_witnesses_below() -> None:
    plan = Plan(load_scop("jacobi_2d"))
    text = shown(explain(plan, {"T": 5, "N": 20}))
    assert "witness:" in text
    assert "not considered" in text


def test_pictures_show_themselves(fused: Plan) -> None:
    assert draw_tree(fused)._repr_html_().startswith("<svg")


def test_tables_of_large_programs_are_cut_and_say_so() -> None:
    plan = Plan(load_scop("local_laplacian"))
    found = plan.scop.dependences()
    text = shown(found)
    assert len(found._repr_html_()) < 100_000
    assert f"and {len(found.rows()) - 80} more" in text


def test_answers_are_tables(fused: Plan) -> None:
    sizes = {"H": 130, "W": 130}
    assert "sliding" in shown(fused.alternatives("bx", sizes=sizes))
    assert "bx[3..5, 7]" in shown(fused.why("out[3, 7]", sizes=sizes))
    assert "+ .inline(" in shown(fused.diff(Plan(fused.scop).inline("bx"), sizes=sizes))
    assert "memory against work of plans for blur" in shown(fused.tradeoff(sizes=sizes))
    assert "(now " in shown(fused.explain("bx", if_="root", sizes=sizes))
    assert "int blur(" in shown(fused.compile())
