"""The time model ranks plans: predictions beside recorded times of kernels that it was not fitted
to, and what breaks when a part of it is taken away."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from polyopt.bench.tuning.sweep import spearman
from polyopt.scheduler.model.body import BodyModel
from polyopt.scheduler.model.cache import Traffic
from polyopt.scheduler.model.time import Runs
from tests.ranking.numbers import numbers_of_scheduler
from tests.ranking.page import COSTS, Ranked, correlation, left_out, ranked, sweeps
from tests.ranking.timings import FILE, Timing, recorded

if TYPE_CHECKING:
    from polyopt.scheduler.model.machine import Costs

pytestmark = pytest.mark.xdist_group("ranking")

#: sweeps that the model ranks; conv2d's it does not (docs/model.md)
SWEPT = ("bilateral_grid", "harris", "unsharp")
#: of each kernel that is left out so many plans are looked at, beside sweeps
MOST = 4


@cache
def timings() -> tuple[Timing, ...]:
    return tuple(recorded(FILE))


@cache
def swept() -> dict[str, list[Ranked]]:
    return sweeps(ranked(t for t in timings() if t.kernel in SWEPT))


@cache
def others() -> dict[str, list[Ranked]]:
    out = left_out(t.kernel for t in timings())
    chosen: list[Timing] = []
    for kernel in sorted(out - set(SWEPT)):
        chosen += [t for t in timings() if t.kernel == kernel][:MOST]
    return ranked(chosen)


def test_what_was_recorded_is_made_again():
    """Names of statements and loops are what recorded moves speak of: also of kernels that no test
    below looks at."""
    known = set(SWEPT) | set(left_out(t.kernel for t in timings()))
    chosen = [t for t in timings() if t.name == "auto" and t.kernel not in known]
    assert len(chosen) > 15
    for timing in chosen:
        assert len(timing.plan().moves) == len(timing.moves), timing.kernel


@pytest.mark.parametrize("kernel", SWEPT)
def test_a_sweep_of_tile_sizes_is_ranked(kernel):
    plans = swept()[kernel]
    assert len(plans) >= 24
    assert correlation(plans, 1) >= 0.8
    assert correlation(plans, 2) >= 0.8


def test_plans_of_kernels_that_nothing_was_fitted_to_are_ranked():
    plans = [p for some in others().values() for p in some]
    assert len(plans) > 60
    assert correlation(plans, 1) >= 0.9


def test_of_two_plans_the_one_that_is_clearly_better_by_prediction_is_faster():
    """By less than four fifths, which is what the search asks for (``objective.CLEARLY``)."""
    found = others() | swept()
    pairs = [
        one.timing.ms[1] < other.timing.ms[1]
        for plans in found.values()
        for one in plans
        for other in plans
        if one.predicted(1) < 0.8 * other.predicted(1)
    ]
    assert sum(pairs) > 0.85 * len(pairs) > 300


def test_without_what_fills_no_vector_sweeps_are_not_ranked(monkeypatch):
    monkeypatch.setattr(Runs, "left_over", lambda self: 0.0)
    costs = replace(COSTS, vector_start=0.0)
    plans = swept()["harris"]
    predicted = [p.predicted(1, costs) for p in plans]
    assert spearman(predicted, [p.timing.ms[1] for p in plans]) < 0.8


def gain(kernel: str, costs: Costs | None = None) -> float:
    """How many times as long the source's order takes as the automatic plan: recorded, or as
    predicted with some costs."""
    found = ranked(t for t in timings() if t.kernel == kernel and t.name in {"source", "auto"})
    plans = {p.timing.name: p for p in found[kernel]}
    one, other = plans["source"], plans["auto"]
    if costs is None:
        return one.timing.ms[1] / other.timing.ms[1]
    return one.predicted(1, costs) / other.predicted(1, costs)


@pytest.mark.parametrize("kernel", ["blur_f32", "unsharp", "jacobi_1d"])
def test_what_plans_that_move_less_gain_is_not_seen_without_traffic(kernel):
    recorded_, blind = gain(kernel), gain(kernel, replace(COSTS, exposed=0.0))
    assert abs(gain(kernel, COSTS) - recorded_) < abs(blind - recorded_)
    assert blind < 0.75 * recorded_


@pytest.mark.parametrize("kernel", ["mvt", "atax", "gemver"])
def test_what_sums_side_by_side_gain_is_not_seen_without_chains(kernel):
    recorded_, blind = gain(kernel), gain(kernel, replace(COSTS, latency=0.0))
    assert abs(gain(kernel, COSTS) - recorded_) < abs(blind - recorded_)


def test_guards_and_lines_are_seen(monkeypatch):
    """isl's order of one loop for two statements of which one runs every other time is slow."""
    some = [t for t in timings() if t.kernel == "bn_relu_maxpool"]
    slow = next(t for t in some if t.name == "smart")
    seen = ranked([slow])["bn_relu_maxpool"][0].predicted(1)
    monkeypatch.setattr(BodyModel, "_has_guards", lambda self, loop: False)
    assert ranked([slow])["bn_relu_maxpool"][0].predicted(1) < seen / 2
    columns = next(t for t in timings() if (t.kernel, t.name) == ("trisolv", "min"))
    seen = ranked([columns])["trisolv"][0].predicted(1)
    monkeypatch.setattr(Traffic, "_lines", lambda self, use, uses, cache: 1.0)
    assert ranked([columns])["trisolv"][0].predicted(1) < seen / 2


def test_each_number_of_the_scheduler_says_what_it_is():
    known = list(numbers_of_scheduler())
    assert len({(n.file, n.name) for n in known}) == len(known) > 10
    assert [n.name for n in known if not n.said] == []
