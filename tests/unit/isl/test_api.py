"""Parsing says what it was given; budgets stop, and leave the context as it was."""

from __future__ import annotations

import pytest

from polyopt.errors import InternalError, NotDecidedError
from polyopt.isl import (
    budget,
    context,
    parse_map,
    parse_set,
    parse_union_map,
    parse_union_set,
    stretches,
)


@pytest.mark.parametrize("parse", [parse_set, parse_map, parse_union_set, parse_union_map])
def test_malformed_text_is_named(parse):
    with pytest.raises(InternalError, match=r"malformed \w+ text: '\{ S\[i : \}'"):
        parse("{ S[i : }")


DOMAIN = parse_set("[N] -> { S[i, j, k] : 0 <= i < N and i <= j < 2 i and j <= k < N + j }")


def work():
    return DOMAIN.project_out_all_params().lexmin()


def test_a_spent_budget_is_not_an_isl_error():
    with (
        pytest.raises(NotDecidedError, match="the test: not decided within 3 isl operations"),
        budget(3, "the test"),
    ):
        work()
    assert context().get_max_operations() == 0
    assert not work().is_empty()


def test_an_inner_budget_never_extends_the_outer_one():
    with pytest.raises(NotDecidedError, match="outer"), budget(3, "outer"), budget(10**9, "inner"):
        work()


def test_enough_budget_changes_nothing():
    with budget(10**9, "the test"):
        found = work()
    assert found.is_equal(work())


def test_other_failures_are_defects():
    endless = parse_set("{ S[i] : i >= 0 }")
    with pytest.raises(InternalError, match="isl failed in the test"), budget(10**9, "the test"):
        endless.lexmax()


def test_a_stretch_ends_where_a_budget_within_begins():
    with stretches(50_000, "a search"):
        for _ in range(100):  # more than a stretch, all together
            with budget(50_000, "a step"):
                work()
    assert context().get_max_operations() == 0


def test_a_long_stretch_is_stopped():
    with (
        pytest.raises(NotDecidedError, match="a search: not decided within 3 isl operations"),
        stretches(3, "a search"),
        stretches(10**9, "a search in it"),
    ):
        work()


def test_a_budget_bounds_the_stretches_in_it():
    with pytest.raises(NotDecidedError, match="outer"), budget(3, "outer"), stretches(10**9, "in"):
        work()


def test_a_budget_in_a_stretch_leaves_it_bounded():
    def search():
        with budget(10**9, "a step"):
            work()
        work()

    with pytest.raises(NotDecidedError, match="a search"), stretches(3, "a search"):
        search()
