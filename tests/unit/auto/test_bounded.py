"""A search whose budget is spent ends with the last legal plan, and says so; the same each time."""

from __future__ import annotations

import pytest

import polyopt as po
from polyopt.auto import bounded
from polyopt.errors import NotDecidedError

SOURCE = """
void two(int H, int W, const float img[H][W], float out[H - 2][W])
{
    float sums[H][W];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            sums[y][x] = img[y][x] * 3;
    for (int y = 0; y < H - 2; y++)
        for (int x = 0; x < W; x++)
            out[y][x] = sums[y][x] + sums[y + 1][x] + sums[y + 2][x];
}
"""


@pytest.mark.parametrize("operations", [1, 500])
def test_what_a_step_cannot_afford_is_left_out(monkeypatch, operations):
    monkeypatch.setattr(bounded, "STEP_BUDGET", operations)
    plan = po.auto(po.parse_c(SOURCE), target="generic")
    plan.prove()
    spent = [r for r in plan.remarks if f"within {operations:,} isl operations" in r.reason]
    assert {(r.kind, r.code) for r in spent} == {("refused", "not-decided")}
    again = po.auto(po.parse_c(SOURCE), target="generic")
    assert again.script == plan.script
    assert [str(r) for r in again.remarks] == [str(r) for r in plan.remarks]


def test_with_its_budget_nothing_is_left_out():
    plan = po.auto(po.parse_c(SOURCE), target="generic")
    assert not any("isl operations" in r.reason for r in plan.remarks)
    assert plan.moves


def test_an_order_of_isls_is_bounded_as_well(monkeypatch):
    monkeypatch.setattr(bounded, "STEP_BUDGET", 1)
    plan = po.auto(po.parse_c(SOURCE), target="generic", fusion="max")
    plan.prove()
    assert any("isl operations" in r.reason for r in plan.remarks)


def test_c_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr("polyopt.codegen.emit._BUDGET", 100)
    with pytest.raises(NotDecidedError, match="the C of two: not decided within 100 isl"):
        po.Plan(po.parse_c(SOURCE)).emit()
