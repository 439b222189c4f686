"""What it takes to show C for all sizes: guesses within bounds, and sizes cut to their types."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

import polyopt as po
from polyopt.codegen.validate.translation import ReadBack
from polyopt.library import load_scop
from polyopt.transform.legality.equivalence import NotShownError

AVERAGES = """
void averages(int M, int N, const double data[M][N], double mean[M])
{
    for (int i = 0; i < M; i++) {
        mean[i] = 0;
        for (int j = 0; j < N; j++)
            mean[i] += data[i][j];
        mean[i] = mean[i] / N;
    }
}
"""


def claims(text, *changes):
    """The claims about a plan's C in which words are replaced by others."""
    plan = po.Plan(po.parse_c(text))
    program = plan.emit()
    source = program.source
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    return ReadBack(plan.scop, replace(program, source=source)).claims()


@pytest.mark.parametrize("type_", ["int", "unsigned"])
def test_a_size_cut_to_its_type_in_the_source_is_that_size(type_):
    text = AVERAGES.replace("int N", f"{type_} N")
    assert claims(text)


@pytest.mark.parametrize(
    "new", ["(int16_t)N", "(uint32_t)N", "(int32_t)(N + 1)", "(int32_t)M", "(float)N"]
)
def test_a_size_cut_to_another_type_is_another_value(new):
    with pytest.raises(NotShownError, match="may differ"):
        claims(AVERAGES, ("(int32_t)N", new))


def test_a_size_that_the_source_does_not_cut_may_not_be_cut():
    text = AVERAGES.replace("int N", "long N")
    assert claims(text)
    with pytest.raises(NotShownError, match="may differ"):
        claims(text, ("/ N;", "/ (int32_t)N;"))


@cache
def factors():
    """Blocks in registers, of which corners that are no results hold anything."""
    plan = po.auto(load_scop("lu"), target="avx512")
    program = plan.emit()
    assert "A_block_4_1" in program.source
    return plan, program


def test_corners_of_blocks_that_hold_no_results_are_left_out():
    plan, program = factors()
    assert ReadBack(plan.scop, program).claims() > 40


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("k2 <= 64 * k_tile + 63;", "k2 <= 64 * k_tile + 62;"),
        ("A_block_4_1 = A_block_4_1 -", "A_block_4_1 = A_block_5_1 -"),
    ],
)
def test_a_wrong_block_is_not_shown(old, new):
    plan, program = factors()
    assert old in program.source
    wrong = replace(program, source=program.source.replace(old, new))
    with pytest.raises(NotShownError, match="may differ"):
        ReadBack(plan.scop, wrong).claims()


def test_a_load_that_stands_in_two_statements_is_read_twice():
    """Its element may have been written in between: each statement has a reference of its own."""
    text = """void f(const float a[2], float y[1], float z[1]) {
        float s = a[0];
        y[0] = s;
        s = a[1];
        z[0] = s;
    }"""
    scop = po.parse_c(text)
    one, other = scop.statement("y"), scop.statement("z")
    shared = scop.with_statements(replace(other, value=one.value))
    program = po.Plan(shared).emit()
    ReadBack(shared, program).claims()
    wrong = replace(program, source=program.source.replace("y[0] = s;", "y[0] = s + 1.0f;"))
    assert wrong.source != program.source
    with pytest.raises(NotShownError):
        ReadBack(shared, wrong).claims()
