"""Overlapped tiles: sizes by predicted time, producers that join where that pays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.scheduler.context import SearchContext
from polyopt.scheduler.strategies.overlapped_tiles import COLUMNS, group

SIZES = {"N": 8_000_000}
AVX2 = target("avx2")


def line():
    """Three stages along a line, each of which reads neighbours of the one before."""
    a = po.input("a", po.f32, ["N"])
    b = po.stage("b", "N - 4", lambda x: po.sqrt(a[x] * a[x + 1] + a[x + 4]) / (a[x + 3] + 2))
    c = po.stage("c", "N - 8", lambda x: po.exp(b[x] + b[x + 2]) + b[x + 4])
    d = po.stage("d", "N - 12", lambda x: po.sqrt(c[x] * c[x + 4]) + c[x + 2])
    return po.pipeline(d, name="line", context=["N >= 13"])


def grouped(scop, machine=AVX2):
    plan, remarks = group(replace(po.Plan(scop), checked=False), SearchContext(machine, SIZES))
    return replace(plan, checked=True), remarks


def test_a_tile_is_as_long_as_repeating_its_ends_asks_for():
    plan, remarks = grouped(line())
    (move,) = [m for m in plan.moves if m.name == "tile"]
    assert dict(move.options)["x"] > COLUMNS
    applied = {r.subject: r.numbers for r in remarks if r.kind == "applied"}
    assert set(applied) == {"b", "c"}
    assert applied["b"]["saved ns"] > 0
    assert plan.prove()
    a = np.random.default_rng(0).random(5000).astype(np.float32)
    expected = po.Plan(line()).compile(contract=False)(a)
    assert np.array_equal(plan.compile(contract=False)(a), expected)


def test_where_caches_hold_all_nothing_is_computed_again():
    huge = replace(AVX2, l1_bytes=1 << 30, l2_bytes=1 << 30, last_bytes=1 << 30)
    plan, remarks = grouped(line(), huge)
    assert plan.moves == ()
    assert {r.kind for r in remarks} == {"refused"}
    assert all(r.reason == "it stays in the cache anyway" for r in remarks)


def test_a_producer_that_is_dear_to_repeat_stays_out_of_small_tiles():
    """Its tile is widened by as much as its reader's reach: most of it would be computed twice."""
    a = po.input("a", po.f32, ["N"])
    far = po.stage("far", "N - 8", lambda x: po.exp(po.exp(po.exp(a[x] + a[x + 8]))))
    out = po.stage("out", "N - 4008", lambda x: far[x] + far[x + 4000])
    scop = po.pipeline(out, name="reach", context=["N >= 4009"])
    small = replace(AVX2, l1_bytes=1 << 12, l2_bytes=1 << 14, last_bytes=1 << 16)
    plan, remarks = grouped(scop, small)
    tiles = [dict(m.options)["x"] for m in plan.moves if m.name == "tile"]
    assert tiles == [] or tiles[0] >= 16 * 4000
    assert remarks


def test_a_spent_budget_of_fusions_is_said(monkeypatch):
    monkeypatch.setattr("polyopt.scheduler.strategies.overlapped_tiles.Budget", _Spent)
    _, remarks = grouped(line())
    assert [r.kind for r in remarks] == ["not considered"] * len(remarks)
    assert remarks


class _Spent:
    left = 0


@pytest.mark.parametrize("sizes", [{"N": 13}, {"N": 40}])
def test_tiles_longer_than_a_line_are_right(sizes):
    plan, _ = grouped(line())
    a = np.random.default_rng(1).random(sizes["N"]).astype(np.float32)
    expected = po.Plan(line()).compile(contract=False)(a)
    assert np.array_equal(plan.compile(contract=False)(a), expected)
