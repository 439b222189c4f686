"""The ``repr`` of what users hold: one short line, however much is in it."""

from __future__ import annotations

import re

import pytest

import polyopt as po
from polyopt.oneline import at_sizes, some


@pytest.fixture(scope="module")
def held() -> dict[str, object]:
    kernel = po.load_kernel("blur")
    sizes = {"H": 20, "W": 30}
    plan = po.Plan(kernel.scop).tile("out", y=4, x=8).fuse("bx", into="out")
    choices, weighed = plan.alternatives("bx", sizes=sizes), plan.tradeoff(sizes=sizes)
    return {
        "kernel": kernel, "scop": plan.scop, "source": plan.scop.source, "plan": plan,
        "array": plan.scop.arrays[0], "statement": plan.scop.statements[0],
        "access": plan.scop.statements[0].reads[0], "program": plan.program,
        "dependences": plan.scop.dependences(), "dependence": plan.scop.dependences().rows()[0],
        "alternatives": choices, "alternative": choices["root"], "tradeoff": weighed,
        "point": weighed[1], "cost": plan.cost(sizes=sizes), "explanation": plan.explain(sizes=sizes),
        "remark": plan.explain(sizes=sizes).rows[0], "program in C": plan.emit(), "move": plan.moves[0],
        "provenance": plan.why("out[1, 1]", sizes=sizes), "formulas": plan.formula(),
        "difference": plan.diff(po.Plan(plan.scop), sizes=sizes),
    }  # fmt: skip


def test_a_repr_is_one_short_line(held: dict[str, object]) -> None:
    for name, one in held.items():
        shown = repr(one)
        assert "\n" not in shown, name
        assert len(shown) <= 500, name
        assert type(one).__name__ in shown, name


def test_a_repr_says_how_much_there_is(held: dict[str, object]) -> None:
    assert repr(held["scop"]) == "<Scop of blur: 2 statements, 3 arrays, sizes H, W>"
    assert repr(held["plan"]) == "<Plan of blur: 2 statements, 3 arrays, 2 moves>"
    assert repr(held["program"]) == "<ScheduledProgram of blur: 2 statements, 1 nest, 1 buffer>"
    assert repr(held["statement"]) == "<Statement of bx[y, x]: writes bx, reads img>"
    assert repr(held["array"]) == "<Array of u16 img[][]: in>"
    assert repr(held["cost"]).startswith("<Cost of blur(H=20, W=30): ")
    weighed = held["tradeoff"]
    assert re.fullmatch(r"<Tradeoff of .*: \d+ plans weighed, \d+ on the front>", repr(weighed))
    assert "scratch*" in repr(held["alternatives"])


def test_the_text_is_the_table(held: dict[str, object]) -> None:
    assert len(str(held["tradeoff"]).splitlines()) > 2
    assert "scratch bx" in str(held["plan"])


def test_numbers_and_sizes_in_words() -> None:
    assert [some(n, "move") for n in (0, 1, 2_000)] == ["", "1 move", "2,000 moves"]
    assert at_sizes("blur", {}) == "blur"
