"""A search whose budget is spent ends with the last legal plan, and says so; the same each time."""

from __future__ import annotations

from importlib import import_module

import pytest

import polyopt as po
from polyopt.errors import InvalidOptionError, NotDecidedError
from polyopt.isl import budget
from polyopt.scheduler.search import limits as bounded

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


@pytest.mark.parametrize("fusion", ["min", "smart", "max", "hybrid"])
def test_an_order_that_is_not_decided_gives_way_to_the_sources(monkeypatch, fusion):
    monkeypatch.setattr("polyopt.transform.loops.reschedule.SCHEDULER_BUDGET", 1)
    plan = po.auto(po.parse_c(SOURCE), target="generic", fusion=fusion)
    plan.prove()
    assert "reschedule" not in plan.script
    assert "vectorize" in plan.script
    refused = [(r.kind, r.move, r.subject, r.code) for r in plan.remarks]
    assert ("refused", "reschedule", fusion, "not-decided") in refused


def test_c_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr("polyopt.codegen.emit._BUDGET", 100)
    with pytest.raises(NotDecidedError, match="the C of two: not decided within 100 isl"):
        po.Plan(po.parse_c(SOURCE)).emit()


def hostile(name):
    """Programs that look small, and whose relations are not."""
    stripes = " || ".join(f"i % {p} == {p // 2}" for p in (3, 5))
    beside = " || ".join(f"{3 * k + 1} * i - {2 * k + 3} * j <= {5 * k + 7}" for k in range(3))
    return po.parse_c({
        "stripes": f"""
void stripes(int N, const float a[N], float b[N])
{{
    for (int i = 0; i < N; i++)
        b[i] = a[i];
    for (int i = 0; i < N; i++)
        if ({stripes})
            b[i] = b[i] + 1;
}}
""",
        "beside": f"""
void beside(int N, float s[N][N])
{{
    for (int t = 0; t < N; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                if ({beside})
                    s[i][j] = s[i - 1][j + 1] + s[i + 1][j - 1] + s[j][i];
}}
""",
        "deep": """
void deep(int N, float s[24 * N], const float a[N])
{
    for (int i = 0; i < N; i++)
        for (int j = i; j < N; j++)
            for (int k = j; k < N + i; k++)
                for (int l = k; l < N + j; l++)
                    s[i + j + k] = s[i + j] + s[l];
}
""",
        "two": SOURCE,
    }[name])  # fmt: skip


@pytest.mark.parametrize("operations", [1, 1_000, 100_000])
@pytest.mark.parametrize("name", ["stripes", "beside", "deep", "two"])
def test_a_spent_search_ends_with_a_legal_plan_and_a_remark(name, operations):
    scop = hostile(name)
    plan = po.auto(scop, target="generic", operations=operations)
    plan.prove()
    told = [r for r in plan.remarks if "the search: not decided" in r.reason]
    assert len(told) == len({str(r) for r in told})
    assert told or operations > 1_000
    again = po.auto(scop, target="generic", operations=operations)
    assert again.script == plan.script
    assert [str(r) for r in again.remarks] == [str(r) for r in plan.remarks]


def test_a_search_takes_no_more_than_it_may():
    scop = hostile("deep")
    start = po.Plan(scop)
    with budget(10**10, "all") as one:
        start.prove()
    with budget(10**10, "all") as both:
        po.auto(scop, target="generic", operations=20_000)
    beside = 5 * (one.operations - one.left) + 2_000_000  # the flow of the source, and proofs
    assert both.operations - both.left < 20_000 + beside


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(InvalidOptionError, match="the search: a budget of 0 isl operations"):
        po.auto(po.parse_c(SOURCE), target="generic", operations=0)


def test_answers_have_budgets(monkeypatch):
    plan = po.Plan(po.parse_c(SOURCE)).tile("out", y=8).fuse("sums", into="out")
    whole = plan.explain()
    for module in ("reasons", "choices.alternatives", "choices.tradeoff", "choices.difference"):
        monkeypatch.setattr(import_module(f"polyopt.explain.{module}"), "ANSWER_BUDGET", 10)
    cut = plan.explain()
    assert {r.subject for r in whole.rows} == {r.subject for r in cut.rows}
    assert {r.kind for r in cut.rows} == {"unknown"}
    assert {r.code for r in cut.rows} == {"not-decided"}
    assert [r.refusal.code for r in plan.alternatives("sums")] == ["not-decided"] * 4
    for ask in (plan.cost, plan.tradeoff, lambda: plan.diff(po.Plan(plan.scop))):
        with pytest.raises(NotDecidedError, match="not decided within 10 isl operations"):
            ask()


def test_a_tradeoff_that_is_spent_shows_what_it_has(monkeypatch):
    plan = po.Plan(po.parse_c(SOURCE))
    with budget(10**10, "all") as bound:
        plan.cost()
    enough = 3 * (bound.operations - bound.left)
    monkeypatch.setattr(import_module("polyopt.explain.choices.tradeoff"), "ANSWER_BUDGET", enough)
    found = plan.tradeoff(target="generic")
    assert found.chosen in found.points
    assert found.left_out > 0
    assert "layouts were weighed" in str(found)
