"""Dot products of packed pairs: sums of a word by words, in registers, with the values of their C."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.helpers.packed_dot import DOTS, dot_name, dot_text
from polyopt.codegen.validate.translation import check_code
from polyopt.errors import PolyoptError

SUMS = """
#include <stdint.h>

void sums(int M, int N, int K, const int32_t x[restrict M][K], const int32_t w[restrict K][N],
          int32_t out[restrict M][N])
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < K; k++)
                out[i][j] += PRODUCT;
}
"""
DOT = "(int16_t)x[i][k] * (int16_t)w[k][j] + (x[i][k] >> 16) * (w[k][j] >> 16)"


def tiled(product=DOT, lanes=8):
    """A tile of two rows and one vector of columns; operands have room for whole ones."""
    plan = po.Plan(po.parse_c(SUMS.replace("PRODUCT", product)))
    plan = plan.tile("out", i=2, j=lanes).reorder(
        "out.i_tile", "out.j_tile", "out.k", "out.i", "out.j"
    )
    plan = plan.pack("x", at="out.j_tile").pack("w", at="out.j_tile")
    return plan.unroll("out.i").vectorize("out.j", lanes).register_tile("out.k")


def words(low, high):
    return ((low & 0xFFFF) | (high << 16)).astype(np.int32)


def body(program):
    """The C after what stands before its functions."""
    return program.source.partition("static void sums")[2] or program.source


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_a_block_of_sums_calls_the_function_and_is_shown(lanes):
    plan = tiled(lanes=lanes)
    program = plan.emit()
    assert f"+ {dot_name(lanes)}(" in program.source
    assert "source's values, for all sizes" in check_code(plan.scop, program).detail


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (4, 16, 6), (5, 19, 7)])
def test_values_are_those_of_64_bits(sizes, lanes):
    m, n, k = sizes
    random = np.random.default_rng(n)
    ends = np.array([-(2**15), 2**15 - 1, -1, 0, 1, 255, -255])
    x = random.choice(ends, (2, m, k))
    w = random.choice(ends, (2, k, n))
    out = random.integers(-9, 9, (m, n)).astype(np.int32)
    wanted = out.astype(np.int64) + np.einsum("pik,pkj->ij", x, w)
    tiled(lanes=lanes).compile()(x=words(*x), w=words(*w), out=out)
    assert np.array_equal(out, (wanted + 2**31) % 2**32 - 2**31)


@pytest.mark.parametrize(
    "product",
    [
        DOT.replace(">> 16", ">> 15"),
        DOT.replace("(int16_t)w", "(uint16_t)w"),
        DOT.replace("(w[k][j] >> 16)", "(x[i][k] >> 16)"),
        DOT.replace(" + ", " - "),
        "(int16_t)x[i][k] * (int16_t)w[k][j]",
    ],
)
def test_what_is_no_dot_product_is_left_as_it_stands(product):
    plan = tiled(product)
    program = plan.emit()
    assert "dot_2x16packed" not in program.source
    assert "source's" in check_code(plan.scop, program).detail


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("* ((pairs << 16) >> 16)", "* (pairs >> 16)"),
        ("__builtin_ia32_pmaddwd256(one, other)", "__builtin_ia32_pmulhw256(one, other)"),
        ("+ pair;", "- pair;"),
    ],
)
def test_a_function_of_another_text_is_refused(right, wrong):
    plan = tiled()
    program = plan.emit()
    assert right in program.source
    changed = replace(program, source=program.source.replace(right, wrong))
    with pytest.raises(PolyoptError):
        check_code(plan.scop, changed)


def test_a_call_of_other_words_is_refused():
    plan = tiled()
    program = plan.emit()
    head, call, rest = program.source.rpartition("dot_2x16packed_i32x8(")
    changed = head + call + rest.replace("[1]", "[0]", 1)
    assert changed != program.source
    with pytest.raises(PolyoptError):
        check_code(plan.scop, replace(program, source=changed))


def test_each_vector_has_one_function_of_its_name():
    assert sorted(DOTS.values()) == [4, 8, 16]
    for name, lanes in DOTS.items():
        assert f"static inline i32x{lanes} {name}(int32_t pair, i32x{lanes} pairs)" in dot_text(
            name
        )
