"""Affine conditions and expressions in people's words."""

from __future__ import annotations

import pytest

from polyopt.ir.text import affine_text, condition_text
from polyopt.isl import (
    affine_constant,
    affine_param,
    affine_var,
    instance_space,
    parse_map,
    parse_set,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[N] -> { S[i] : i >= N - 1 }", "i >= N - 1"),
        ("[N] -> { S[i] : 0 <= i < N }", "0 <= i < N"),
        ("[N] -> { S[i] : i <= N + 2 }", "i <= N + 2"),
        ("[N] -> { S[i] : i > N }", "i > N"),
        ("[N] -> { S[i] : i <= N - 3 }", "i < N - 2"),
        ("{ S[i] : i <= 3 }", "i <= 3"),
        ("[N] -> { S[i, j] : 0 <= i < N and i <= j < N }", "i >= 0 and i <= j < N"),
        ("[N] -> { S[i, j] : i >= N - 1 and j <= 3 or i = 0 }",
         "i == 0 or (i >= N - 1 and j <= 3)"),
        ("{ S[i] : i mod 2 = 0 and 0 <= i <= 10 }", "0 <= i <= 10 and i % 2 == 0"),
        ("{ S[i, j] : (i + j) mod 3 <= 1 }", "(i + j) % 3 <= 1"),
        ("[N] -> { S[i] : exists (e : i = 3e + 1) }", "(i - 1) % 3 == 0"),
        ("[N] -> { S[i] : 2 i >= N }", "2*i >= N"),
        ("[N] -> { S[i, j] : i = j + 1 and N >= 4 }", "N >= 4 and j == i - 1"),
        ("[N] -> { : N >= 4 }", "N >= 4"),
        ("{ S[i] }", "true"),
        ("{ S[i] : 1 = 0 }", "false"),
    ],
)  # fmt: skip
def test_conditions(text, expected):
    assert condition_text(parse_set(text)) == expected


def test_conditions_in_other_names():
    where = parse_set("[N] -> { S[i, j] : (i + j) mod 2 = 0 and j < N }")
    assert condition_text(where, ["y", "x"]) == "x < N and (y + x) % 2 == 0"
    assert condition_text(parse_set("{ [a, b] : a <= b }"), "yx") == "x >= y"


def test_many_parts_are_counted_instead():
    parts = " or ".join(f"i = {k * k}" for k in range(20))
    assert "conditions holds" in condition_text(parse_set(f"{{ S[i] : {parts} }}"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i + 1", "i + 1"),
        ("N - i - 1", "N - i - 1"),
        ("2 i - N", "2*i - N"),
        ("-i", "-i"),
        ("-3", "-3"),
        ("0", "0"),
        ("floor(i / 2)", "i // 2"),
        ("i mod 3", "i % 3"),
        ("(i + 1) mod 2 + 3", "(i + 1) % 2 + 3"),
        ("floor((i + N) / 4)", "(i + N) // 4"),
        ("3*floor((i + 1) / 2)", "3*((i + 1) // 2)"),
    ],
)
def test_affine_expressions(text, expected):
    form = parse_map(f"[N] -> {{ S[i] -> [({text})] }}").as_pw_multi_aff().get_at(0)
    assert affine_text(form) == expected
    assert affine_text(form, ["y"]) == expected.replace("i", "y")


def test_minimum_and_maximum():
    space = instance_space(["N"], "S", ["i"])
    i, n = affine_var(space, 0), affine_param(space, "N")
    assert affine_text(i.min(n)) == "min(N, i)"
    assert affine_text(i.max(affine_constant(space, 3))) in {"max(i, 3)", "max(3, i)"}


def test_other_pieces_are_conditionals():
    space = instance_space(["N"], "S", ["i"])
    i, zero = affine_var(space, 0), affine_constant(space, 0)
    form = i.ge_set(zero).indicator_function()
    assert affine_text(form) in {
        "(1 if i >= 0 else 0)",
        "(0 if i < 0 else 1)",
        "(0 if i <= -1 else 1)",
    }
