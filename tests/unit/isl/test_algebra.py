"""What isl lacks or does silently wrong."""

from __future__ import annotations

import pytest

from polyopt.errors import InternalError
from polyopt.isl import (
    Set,
    canonical_text,
    coalesced,
    coalesced_map,
    compose,
    dim_type,
    empty_map,
    fix_param_values,
    instance_of,
    irredundant,
    maps_of,
    params_of,
    parse_map,
    parse_set,
    parse_union_map,
    parse_union_set,
    same_map,
    same_set,
    sample,
    sets_of,
    tuple_name,
    union_all,
)


def test_tuple_names():
    relation = parse_map("[N] -> { S[i] -> A[i] }")
    assert tuple_name(relation, dim_type.in_) == "S"
    assert tuple_name(relation, dim_type.out) == "A"
    assert tuple_name(parse_set("{ T[i] }")) == "T"
    assert tuple_name(parse_set("{ [i] }")) == ""
    assert tuple_name(parse_set("{ T[i] }").get_space()) == "T"
    assert params_of(relation.get_space()) == ("N",)


def test_parts_come_in_a_fixed_order():
    names = [f"S{k}" for k in range(12)]
    forward = parse_union_set("{ " + "; ".join(f"{n}[i]" for n in names) + " }")
    backward = parse_union_set("{ " + "; ".join(f"{n}[i]" for n in reversed(names)) + " }")
    assert [tuple_name(s) for s in sets_of(forward)] == [tuple_name(s) for s in sets_of(backward)]
    maps = parse_union_map("{ B[] -> A[]; A[] -> B[]; A[] -> A[] }")
    assert [str(m) for m in maps_of(maps)] == sorted(str(m) for m in maps_of(maps))


def test_compose_refuses_what_does_not_meet():
    first = parse_union_map("{ A[i] -> B[i] }")
    second = parse_union_map("{ B[i] -> C[2 i] }")
    assert same_map(compose(first, second, why="test"), parse_union_map("{ A[i] -> C[2 i] }"))
    with pytest.raises(InternalError, match="test: nothing to compose"):
        compose(second, first, why="test")
    with pytest.raises(InternalError, match="nothing to compose"):
        compose(first, parse_union_map("{ B[i, j] -> C[i] }"), why="test")


def test_unions():
    assert union_all([]).is_empty()
    assert empty_map().is_empty()
    parts = [parse_map("{ A[i] -> B[i] : i >= 3 }"), parse_union_map("{ A[i] -> B[i] : i < 3 }")]
    assert same_map(union_all(parts), parse_map("{ A[i] -> B[i] }"))


def test_equality_is_by_elements():
    one = parse_set("{ S[i] : 0 <= i < 10 or 5 <= i < 20 }")
    other = parse_set("{ S[k] : 0 <= k < 20 }")
    assert same_set(one, other)
    assert not same_set(one, parse_set("{ S[k] : 0 <= k <= 20 }"))


def test_canonical_text_is_stable():
    text = "{ S[i] -> A[i] : 0 <= i < 10; T[i] -> A[i] }"
    swapped = "{ T[i] -> A[i]; S[i] -> A[i] : 0 <= i < 10 }"
    assert canonical_text(parse_union_map(text)) == canonical_text(parse_union_map(swapped))
    assert canonical_text(parse_set("{ S[i] : i >= 0 and i >= -3 }")) == "{ S[i] : i >= 0 }"


@pytest.mark.parametrize(
    ("text", "params", "point"),
    [
        ("[N] -> { S[i] : 0 <= i < N and i >= 3 }", [4], [3]),
        ("[N] -> { S[i] : N = 7 and i < 0 and i > -5 }", [7], [-1]),
        ("{ S[i, j] : i + j = 10 and i >= 4 }", [], [4, 6]),
        ("{ S[i] : exists (e : i = 3 e) and i >= 4 }", [], [6]),
        ("{ S[i] : i <= -3 }", [], [-3]),
        ("[M, N] -> { : M > N and N >= 2 }", [3, 2], []),
    ],
)
def test_samples_are_small(text, params, point):
    found = sample(parse_set(text) if "S[" in text else parse_set(text).from_params())
    assert found == {"params": params, "set": point}


def test_samples_of_nothing():
    assert sample(parse_set("{ S[i] : i > 0 and i < 0 }")) is None
    assert instance_of(parse_set("{ S[i] : 1 = 0 }")) is None


def test_instances():
    found = instance_of(parse_set("[N] -> { S[i, j] : 1 <= i < j < N }"))
    assert found == ("S", (1, 2), {"N": 3})


def test_parameters_are_fixed_where_they_occur():
    domain = parse_set("[N] -> { S[i] : 0 <= i < N }")
    fixed = fix_param_values(domain, {"N": 3, "absent": 5})
    assert same_set(fixed, parse_set("[N] -> { S[i] : N = 3 and 0 <= i < 3 }"))


@pytest.mark.parametrize(
    ("pieces", "left"),
    [
        # the last lies in both others together, and in neither of them
        (("0 <= i <= 5", "8 <= i <= 12", "3 <= i <= 10 and (i <= 5 or i >= 8)"), 2),
        (("0 <= i <= 5", "i = 9"), 2),
        (("i = 3",), 1),
        (("1 = 0",), 0),
    ],
)
def test_pieces_that_others_cover_go(pieces, left):
    whole = parse_set("{ S[i] : 1 = 0 }")
    for piece in pieces:
        whole = whole.union(parse_set(f"{{ S[i] : {piece} }}"))
    found = irredundant(whole)
    assert found.n_basic_set() == left
    assert same_set(found, whole)


def test_pieces_of_other_strides_are_written_alike_wherever_they_lie():
    # isl's coalesce makes one of two forms of them, by which of two of its copies lies first
    pieces = [
        "(i) mod 2 = 0 and t >= 0 and i < H and 8t - 4 <= i <= 8t + 6 and 0 <= o <= 9",
        "(1 + i) mod 2 = 0 and t >= 0 and -1 <= i < H and 8t - 2 <= i <= 8t + 7 and 2 <= o <= 9",
        "(1 + i) mod 2 = 0 and t >= 0 and -1 <= i < H and 8t - 2 <= i <= 8t + 7 and 0 <= o < 8",
    ]
    text = f"[H] -> {{ {'; '.join(f'[t, i, o] : {piece}' for piece in pieces)} }}"
    held: list[Set] = []
    found = set()
    for number in range(200):
        held.extend(parse_set(f"{{ [x] : x >= {i} }}") for i in range(number % 5))
        if number % 3 == 0:
            held.clear()
        found.add(str(coalesced(parse_set(text))))

    assert len(found) == 1
    joined = coalesced(parse_set(text))
    assert joined.is_equal(parse_set(text))
    assert joined.n_basic_set() == 2


def test_pieces_of_one_stride_are_joined():
    text = (
        "{ A[i] -> B[j] : i mod 4 = 1 and 0 <= j < 5; A[i] -> B[j] : i mod 4 = 1 and 5 <= j < 9 }"
    )

    assert coalesced_map(parse_map(text)).n_basic_map() == 1
