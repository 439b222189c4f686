"""Simulated caches, against a simulator that shares nothing with them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyopt.codegen.target import target
from polyopt.errors import InvalidOptionError
from polyopt.explain.explorer.cache_simulator import (
    CacheLevel,
    check_caches,
    machine_caches,
    scaled_caches,
    simulate,
)


def by_reuse_distance(lines, level):
    """An access hits where fewer than ``ways`` other lines of its set came since the last one."""
    hits = []
    for now, line in enumerate(lines):
        before = [k for k in range(now) if lines[k] == line]
        if not before:
            hits.append(False)
            continue
        between = {x for x in lines[before[-1] + 1 : now] if x % level.sets == line % level.sets}
        hits.append(len(between) < level.ways)
    return hits


LEVELS = st.tuples(st.integers(1, 4), st.integers(1, 4)).map(
    lambda p: CacheLevel("L1", 64 * p[0] * p[1], 64, p[1])
)


@given(st.lists(st.integers(0, 20), max_size=120), LEVELS)
def test_one_level_misses_where_the_reuse_distance_says_so(lines, level):
    missed = [count > 0 for count in simulate(lines, [level])]
    assert missed == [not hit for hit in by_reuse_distance(lines, level)]


def test_the_second_level_sees_what_the_first_one_misses():
    drawn = random.Random(5)  # noqa: S311
    lines = [drawn.randrange(40) for _ in range(600)]
    one, two = CacheLevel("L1", 512, 64, 2), CacheLevel("L2", 2048, 64, 4)
    first = by_reuse_distance(lines, one)
    behind = [line for line, hit in zip(lines, first, strict=True) if not hit]
    second = iter(by_reuse_distance(behind, two))
    expected = [0 if hit else 1 if next(second) else 2 for hit in first]
    assert simulate(lines, [one, two]) == expected
    assert {0, 1, 2} == set(expected)


def test_caches_of_a_machine_and_caches_scaled_to_data():
    first, second = machine_caches(target("avx2"))
    assert (first.capacity, second.capacity) == (32 * 1024, 512 * 1024)
    one, two = scaled_caches(64_000, 4)
    assert one.line == two.line == 16
    assert 64_000 / 16 <= one.capacity <= 64_000 / 8
    assert 64_000 / 4 <= two.capacity <= 64_000 / 2


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ([], "a list of levels"),
        ("L1", "a list of levels"),
        ([32768], "each of the caches"),
        ([CacheLevel("L1", 512, 64), CacheLevel("L2", 512, 32)], "lines of one length"),
    ],
)
def test_what_is_no_hierarchy_is_refused(levels, said):
    with pytest.raises(InvalidOptionError, match=said):
        check_caches(levels)


@pytest.mark.parametrize(("capacity", "line"), [(100, 64), (0, 64), (-64, 64), (512, 0), ("L", 64)])
def test_what_is_no_cache_is_refused(capacity, line):
    with pytest.raises(InvalidOptionError, match=r"no cache|whole number of sets"):
        CacheLevel("L1", capacity, line)
