"""Affine expressions by operations equal those parsed from text."""

from __future__ import annotations

from polyopt.isl import (
    affine_constant,
    affine_param,
    affine_var,
    constant_value,
    instance_space,
    params_space,
    parse_map,
    parse_set,
)


def test_spaces_are_those_of_parsed_sets():
    space = instance_space(["N", "M"], "S", ["i", "j"])
    assert space.is_equal(parse_set("[N, M] -> { S[i, j] }").get_space())
    assert params_space(["N"]).is_equal(parse_set("[N] -> { : }").get_space())
    assert instance_space([], "", ["i"]).is_equal(parse_set("{ [i] }").get_space())


def test_expressions():
    space = instance_space(["N"], "S", ["i", "j"])
    j, n, two = affine_var(space, 1), affine_param(space, "N"), affine_constant(space, 2)
    wanted = parse_map("[N] -> { S[i, j] -> [2 j + N] }")
    assert two.mul(j).add(n).as_map().is_equal(wanted)
    assert j.ge_set(n).is_equal(parse_set("[N] -> { S[i, j] : j >= N }"))


def test_constants_are_recognised():
    space = instance_space(["N"], "S", ["i"])
    i = affine_var(space, 0)
    assert constant_value(affine_constant(space, -7)) == -7
    assert constant_value(i) is None
    assert constant_value(i.sub(i)) == 0
    assert constant_value(i.max(affine_constant(space, 0))) is None
    assert constant_value(affine_param(space, "N")) is None
