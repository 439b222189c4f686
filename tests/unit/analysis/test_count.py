"""Counting points: exact against isl's enumeration, and right where enumerating would not end."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyopt.analysis.sets.count import MOST_ROWS, Number, about, count, counted
from polyopt.analysis.sets.linear import Linear, System, system_ranges, systems
from polyopt.analysis.sets.unimodular import in_narrow_ranges
from polyopt.errors import InternalError, NotDecidedError
from polyopt.isl import fix_param_values, parse_set, parse_union_set

if TYPE_CHECKING:
    from collections.abc import Mapping

DIMS = ("i", "j", "k", "l")


@st.composite
def conditions(draw: st.DrawFn, rank: int) -> str:
    """A quasi-affine condition on a few dimensions and N."""
    terms = [
        f"{draw(st.integers(-3, 3))} {draw(st.sampled_from(DIMS[:rank]))}"
        for _ in range(draw(st.integers(1, 3)))
    ]
    form = " + ".join([*terms, str(draw(st.integers(-6, 6)))])
    match draw(st.sampled_from(["ge", "ge", "mod", "floor", "nested", "eq"])):
        case "ge":
            return f"{form} >= 0"
        case "mod":
            return f"({form}) mod {draw(st.integers(2, 4))} <= {draw(st.integers(0, 2))}"
        case "floor":
            other = draw(st.sampled_from(DIMS[:rank]))
            return f"{other} >= floor(({form}) / {draw(st.integers(2, 5))})"
        case "nested":
            other = draw(st.sampled_from(DIMS[:rank]))
            return f"(floor(({form}) / 3) + {other}) mod 2 = 0"
        case _:
            return f"{form} = {draw(st.sampled_from(['0', 'N', 'N - i']))}"


@st.composite
def small_sets(draw: st.DrawFn) -> str:
    rank = draw(st.integers(1, 4))
    pieces: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        box = [f"{draw(st.integers(-4, 0))} <= {d} <= N" for d in DIMS[:rank]]
        more = draw(st.lists(conditions(rank), max_size=3))
        pieces.append("(" + " and ".join([*box, *more]) + ")")
    return f"[N] -> {{ S[{', '.join(DIMS[:rank])}] : {' or '.join(pieces)} }}"


@settings(max_examples=250, deadline=None)
@given(small_sets(), st.integers(0, 6))
def test_it_counts_what_isl_enumerates(text: str, n: int) -> None:
    domain = parse_set(text)
    assert count(domain, {"N": n}) == fix_param_values(domain, {"N": n}).count_val().to_python()


def test_a_tiled_producer_counts_its_halos() -> None:
    domain = parse_set(
        "[H, W] -> { P[ty, tx, y, x] : exists (oy, ox : 64 ty <= oy <= 64 ty + 63 and 0 <= oy < H - 2"
        " and 512 tx <= ox <= 512 tx + 511 and 0 <= ox < W - 2 and oy <= y <= oy + 2"
        " and ox <= x <= ox + 2) }"
    )
    rows = sum(min(64, 6398 - t) + 2 for t in range(0, 6398, 64))
    columns = sum(min(512, 6398 - t) + 2 for t in range(0, 6398, 512))
    assert count(domain, {"H": 6400, "W": 6400}) == rows * columns == 42_385_552


def test_a_tetrahedron_of_167_million_points() -> None:
    domain = parse_set("[N] -> { S[i, j, k] : 0 <= i <= j <= k < N }")
    assert count(domain, {"N": 1000}) == 1000 * 1001 * 1002 // 6


def test_skewed_time_steps() -> None:
    domain = parse_set(
        "[N, T] -> { S[t, i, j] : 0 <= t < T and t <= i < t + N and t <= j < t + N }"
    )
    assert count(domain, {"N": 100_000, "T": 300}) == 300 * 100_000**2


def test_strides_do_not_enumerate() -> None:
    domain = parse_set("[N] -> { S[i, j] : 0 <= i, j < N and i mod 7 = 3 and (i + j) mod 2 = 0 }")
    n = 5 * 10**6
    rows = {r: len(range((3 if r else 10), n, 14)) for r in (0, 1)}
    even = (n + 1) // 2
    assert count(domain, {"N": n}) == rows[0] * even + rows[1] * (n - even)


def test_numbers_beyond_machine_integers() -> None:
    n = 10**7
    box = parse_set("[N] -> { S[i, j, k] : 0 <= i, j, k < N }")
    chain = parse_set("[N] -> { S[t, i, j, k] : 0 <= t < 2 and t <= i, j, k < t + N }")
    assert count(box, {"N": n}) == n**3
    assert count(chain, {"N": n}) == 2 * n**3


def test_a_union_adds_up_and_an_empty_set_is_zero() -> None:
    union = parse_union_set("[N] -> { S[i] : 0 <= i < N; T[i, j] : 0 <= i < N and 0 <= j < 2 }")
    assert count(union, {"N": 5}) == 15
    assert count(parse_set("[N] -> { S[i] : 0 <= i < N }"), {"N": 0}) == 0
    assert count(parse_set("[N] -> { S[i] : 1 = 0 }"), {"N": 9}) == 0
    assert count(parse_set("[N] -> { S[] : N > 3 }"), {"N": 4}) == 1


def test_infinite_sets_and_missing_sizes_are_refused() -> None:
    with pytest.raises(InternalError, match="infinite"):
        count(parse_set("{ S[i] : i >= 0 }"), {})
    with pytest.raises(InternalError, match="no value"):
        count(parse_set("[N] -> { S[i] : 0 <= i < N }"), {})


#: what two tiled stages need of a third: each piece is simple, and isl joins them into one where
#: i1 and y, i3 and x are nearly the same
NEARLY_EQUAL = parse_set(
    "[H, W] -> { [i0, i1, z, i3, y, x] : z = 1 + i1 and x = 1 + i3 and 0 <= i0 and 128 i0 < H and"
    " 128 i0 - 1 <= i1 <= 128 i0 + 127 and i1 < H and -1 <= i3 and 2 i3 < W"
    " and (2 y = 1 + i1 or 2 y = i1 - 1);"
    " [i0, i1, z, i3, y, x] : z = 1 + i1 and x = i3 and 0 <= i0 and 128 i0 < H and"
    " 128 i0 - 2 <= i1 <= 128 i0 + 127 and i1 < H and -1 <= i3 and 2 i3 <= W"
    " and ((2 y = 1 + i1 and 128 i0 - 1 <= i1 and 2 i3 < W)"
    " or (2 y = i1 and i1 <= 128 i0 + 126 and 0 <= i3)"
    " or (2 y = i1 - 1 and 128 i0 - 1 <= i1 and 2 i3 < W)) }"
)


def test_dimensions_that_are_nearly_equal_are_counted_exactly() -> None:
    small = {"H": 40, "W": 30}
    enumerated = fix_param_values(NEARLY_EQUAL, small).count_val().to_python()
    assert count(NEARLY_EQUAL, small) == enumerated
    assert count(NEARLY_EQUAL, {"H": 1920, "W": 2560}) == 6_244_875


def _points(system: System, ranges: Mapping[int, tuple[int, int]]) -> int:
    """How many points of a box hold every constraint, one by one."""
    found = 0
    for values in product(*(range(low, high + 1) for low, high in ranges.values())):
        known = dict(zip(ranges, values, strict=True))
        for k, division in enumerate(system.divisions):
            known[system.rank + k] = _value(division, known) // division.divisor
        holds = ((_value(c, known), c.equality) for c in system.constraints)
        found += all(value == 0 if equality else value >= 0 for value, equality in holds)
    return found


def _value(form: Linear, known: Mapping[int, int]) -> int:
    return form.constant + sum(factor * known.get(v, 0) for v, factor in form.terms.items())


@settings(max_examples=60, deadline=None)
@given(small_sets())
def test_a_change_of_variables_keeps_the_number_of_points(text: str) -> None:
    for parametric in systems(parse_set(text)):
        system = parametric.at((3,))
        ranges = system_ranges(system, (3,))
        if ranges is not None:
            changed, narrow = in_narrow_ranges(system, ranges)
            assert _points(changed, narrow) == _points(system, ranges)


def test_a_change_of_variables_makes_a_diagonal_band_narrow() -> None:
    (system,) = systems(
        parse_set("{ [i, j, k] : 0 <= i < 50 and i <= j <= i + 1 and j <= k <= j + 2 }")
    )
    ranges = system_ranges(system, ())
    assert ranges == {0: (0, 49), 1: (0, 50), 2: (0, 52)}
    _, narrow = in_narrow_ranges(system, ranges)
    assert sorted(high - low + 1 for low, high in narrow.values()) == [2, 3, 50]


#: a cube cut by a plane whose divisions tie all dimensions: two of them have to be enumerated
TIED = parse_set(
    "[N] -> { S[i, j, k] : 0 <= i, j, k < N and (i + 2 j + 3 k) mod 7 <= 3 and 2 i <= j + k + N }"
)


def test_an_exact_number_has_a_limit() -> None:
    small, large = {"N": 300}, {"N": 5000}
    assert about(TIED, small) == count(TIED, small)
    assert large["N"] ** 2 > MOST_ROWS
    assert counted(TIED, small) == Number(count(TIED, small), is_exact=True)
    assert not counted(TIED, large).is_exact
    with pytest.raises(NotDecidedError, match=r"not counted: more than [\d,]+ values") as found:
        count(TIED, large)
    assert "smaller sizes" in found.value.diagnostic.hint


@pytest.mark.parametrize("n", [3000, 5000])
def test_an_estimate_is_near_the_number(n: int) -> None:
    share = count(TIED, {"N": 700}) / 700**3
    assert about(TIED, {"N": n}) / n**3 == pytest.approx(share, rel=0.01)


@pytest.mark.parametrize("wide", [2**62, 2**63 - 1, 2**63, 2**64 - 6, 2**70])
def test_counts_of_numbers_beyond_64_bits_are_exact(wide):
    for text, expected in (
        (f"{{ [i] : 0 <= i < {wide} }}", wide),
        (f"{{ [i] : -{wide} <= i < 5 and i mod 3 = 0 }}", wide // 3 + 2),
        (f"{{ [i, j] : 0 <= i < {wide} and i <= j < i + 4 }}", 4 * wide),
        (f"{{ [i, j] : 0 <= i < 10 and 0 <= j <= {wide} i }}", 45 * wide + 10),
        (f"{{ [i, j] : 0 <= i < 7 and 0 <= j < 4 and (i + j) mod {wide} >= 5 }}", 14),
        (f"{{ [i, j] : {wide} <= i < {wide + 7} and i <= j < i + 4 and (i + j) mod 5 >= 2 }}",
         sum((i + j) % 5 >= 2 for i in range(wide, wide + 7) for j in range(i, i + 4))),
    ):  # fmt: skip
        assert counted(parse_set(text), {}) == Number(expected, is_exact=True)
