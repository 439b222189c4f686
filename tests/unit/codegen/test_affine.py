"""Affine expressions as C have the values that they have as sets."""

from __future__ import annotations

import itertools

import pytest

from polyopt.analysis.sets.points import parameter_value
from polyopt.codegen.expressions.affine import c_affine
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.codegen.signature import sizes_called
from polyopt.isl import AstBuild, PwAff, Set, params_space, parse_map

PARAMS = ("i", "j", "k")
VALUES = [(5, -3, 2), (-7, 4, 1), (0, 9, -6)]


def form(text: str) -> PwAff:
    """An expression of the parameters alone."""
    found = parse_map(f"[{', '.join(PARAMS)}] -> {{ [] -> [({text})] }}")
    return found.as_pw_multi_aff().get_at(0).project_domain_on_params()


def c_of(pw: PwAff) -> str:
    build = AstBuild.from_context(Set.universe(params_space(PARAMS)))
    names = sizes_called({name: name for name in PARAMS})
    return c_text(c_affine(build.expr_from_pw_aff(pw), names).node, hints)


def value_of(text: str, values: dict[str, int]) -> int:
    helpers = {"floordiv_i64": lambda a, b: a // b, "min_i64": min, "max_i64": max}
    if "?" in text:
        condition, _, branches = text.partition(" ? ")
        text = "({}) if ({}) else ({})".format(*_swapped(condition, *branches.split(" : ")))
    return eval(text, helpers, values)  # noqa: S307 (text made here)


def _swapped(condition: str, yes: str, no: str) -> tuple[str, str, str]:
    return yes, condition, no


@pytest.mark.parametrize("constant", [-2, 0, 2])
@pytest.mark.parametrize("factors", list(itertools.product([-2, -1, 0, 1], repeat=3)), ids=str)
def test_sums_keep_their_signs(factors, constant):
    terms = [f"{f}*{p}" for f, p in zip(factors, PARAMS, strict=True)]
    pw = form(" + ".join([str(constant), *terms]))
    for numbers in VALUES:
        values = dict(zip(PARAMS, numbers, strict=True))
        assert value_of(c_of(pw), values) == parameter_value(pw, values)


def test_a_sum_that_starts_with_a_minus_is_not_one_negative_term():
    pw = form("-i - j").add(form("2"))
    assert value_of(c_of(pw), {"i": 5, "j": 1, "k": 0}) == -4


@pytest.mark.parametrize(
    "text",
    ["floor((i + j)/3)", "2 - floor((-i - j)/2)", "max(-i - j, k) + 1", "1 - min(i, j - k)",
     "-3*floor((i - j)/4) - k", "k - floor((k - 5)/2) - j"],
)  # fmt: skip
def test_divisions_and_extremes_keep_their_values(text):
    pw = form(text)
    for numbers in VALUES:
        values = dict(zip(PARAMS, numbers, strict=True))
        assert value_of(c_of(pw), values) == parameter_value(pw, values)
