"""Enumeration and affine evaluation agree with isl's own, point by point."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.analysis.sets.points import affine_values, holds, parameter_value, points
from polyopt.errors import InternalError
from polyopt.isl import PwAff, context, dim_type, fix_param_values, parse_map, parse_set

SETS = [
    "[N] -> { S[i, j] : 0 <= i < N and i <= j < N }",
    "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N and (i + j) mod 3 = 1 }",
    "[N] -> { S[i] : 0 <= i < N and exists (e : i = 2e or i = 3e + 1) }",
    "[N] -> { S[i] : -N <= i < N and i mod 5 <= 1 }",
    "[N] -> { S[i, j, k] : 0 <= i < N and j = 2 i - 3 and floor(j / 3) <= k <= floor(i / 2) }",
    "[N] -> { S[i, j] : exists (a, b : 0 <= a < N and 0 <= b < 4 and i = a + b and j = a - b) }",
    "[N] -> { S[] : N >= 2 }",
    "[N] -> { S[] : N < 2 }",
    "[N] -> { S[i] : 0 <= i < N - 100 }",
    "[N] -> { S[i, j] : 0 <= i < 1000000 and j = i and i mod 250000 = 7 and i < 1000 N }",
]


def listed(domain, n):
    fixed = fix_param_values(domain, {"N": n})
    found = []
    fixed.foreach_point(
        lambda p: found.append(
            tuple(
                p.get_coordinate_val(dim_type.set, k).to_python()
                for k in range(fixed.dim(dim_type.set))
            )
        )
    )
    return sorted(found)


@pytest.mark.parametrize("text", SETS[:-1])
@pytest.mark.parametrize("n", [1, 4, 7])
def test_points_are_isls_points_in_order(text, n):
    domain = parse_set(text)
    found = points(domain, {"N": n})
    assert [tuple(row) for row in found.tolist()] == listed(domain, n)
    assert found.shape[1] == domain.dim(dim_type.set)


def test_thin_sets_in_wide_boxes():
    assert points(parse_set(SETS[-1]), {"N": 10}).tolist() == [[7, 7]]


def test_membership():
    where = parse_set("[N] -> { S[i] : i < 2 or exists (e : i = 3e) }")
    rows = np.arange(-3, 8).reshape(-1, 1)
    assert holds(where, rows, {"N": 1}).tolist() == [i < 2 or i % 3 == 0 for i in range(-3, 8)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 i - 3 j + N", lambda i, j, n: 2 * i - 3 * j + n),
        ("floor((i - 5) / 3)", lambda i, j, n: (i - 5) // 3),
        ("(i + floor(j / 2)) mod 4", lambda i, j, n: (i + j // 2) % 4),
        (
            "floor((3 i + 2*floor((j - N) / 2)) / 5)",
            lambda i, j, n: (3 * i + 2 * ((j - n) // 2)) // 5,
        ),
    ],
)
def test_affine_values(text, expected):
    form = parse_map(f"[N] -> {{ S[i, j] -> [({text})] }}").as_pw_multi_aff().get_at(0)
    rows = np.array([(i, j) for i in range(-4, 5) for j in range(-4, 5)])
    wanted = [expected(i, j, 6) for i, j in rows.tolist()]
    assert affine_values(form, rows, {"N": 6}).tolist() == wanted


def test_pieces():
    form = PwAff.read_from_str(
        context(), "[N] -> { S[i] -> [(i)] : i < N; S[i] -> [(2 N - i)] : i >= N }"
    )
    rows = np.arange(6).reshape(-1, 1)
    assert affine_values(form, rows, {"N": 3}).tolist() == [0, 1, 2, 3, 2, 1]


def test_extents_are_values_of_parameters():
    form = parse_map("[N] -> { [] -> [N - 2] }").as_pw_multi_aff().get_at(0)
    assert parameter_value(form.project_domain_on_params(), {"N": 7}) == 5


def test_what_cannot_be_listed_is_an_internal_error():
    with pytest.raises(InternalError, match="no bounds"):
        points(parse_set("{ S[i] : i >= 0 }"), {})
    with pytest.raises(InternalError, match="no value for the parameter 'N'"):
        affine_values(
            parse_map("[N] -> { S[i] -> [N] }").as_pw_multi_aff().get_at(0),
            np.zeros((1, 1), int),
            {},
        )
