"""Loops of generated C between least and largest of several bounds."""

import pytest

from polyopt.frontend.c.readback.emitted import parse_emitted
from polyopt.isl import parse_set

KERNEL = """
#include <stdint.h>
static inline int64_t min_i64(int64_t a, int64_t b) {{
    return a {less} b ? a : b;
}}

static inline int64_t max_i64(int64_t a, int64_t b) {{
    return a < b ? b : a;
}}

int f(int64_t N, int64_t M, double x[restrict N], int threads)
{{
    (void)threads;
    for (int64_t i = max_i64(0, max_i64(M, N - 9)); i {sign} min_i64(N - 1, min_i64(2 * M, 7)); {step}) {{
        x[i] = 1.0;
    }}
    return 0;
}}
"""


def domain(**parts):
    text = KERNEL.format(**{"less": "<", "sign": "<=", "step": "i++", **parts})
    (statement,) = parse_emitted(text, "f").scop(("N", "M")).statements
    return statement.domain


@pytest.mark.parametrize(("sign", "bound"), [("<=", "<="), ("<", "<")])
def test_a_bound_for_each_operand_and_one_piece(sign, bound):
    found = domain(sign=sign)
    expected = parse_set(
        f"[N, M] -> {{ x[i] : i >= 0 and i >= M and i >= N - 9 "
        f"and i {bound} N - 1 and i {bound} 2 * M and i {bound} 7 }}"
    )
    assert found.set_tuple_name("x").is_equal(expected)
    assert len(found.get_basic_sets()) == 1


def test_a_stride_starts_at_the_largest():
    expected = parse_set(
        "[N, M] -> { x[i] : i >= 0 and i >= M and i >= N - 9 and i <= N - 1 and i <= 2M and i <= 7 "
        "and ((M >= 0 and M >= N - 9 and (i - M) mod 2 = 0) or (N - 9 >= 0 and N - 9 >= M and "
        "(i - N + 9) mod 2 = 0) or (M <= 0 and N <= 9 and i mod 2 = 0)) }"
    )
    assert domain(step="i += 2").set_tuple_name("x").is_equal(expected)


def test_a_helper_that_means_something_else_is_no_bound():
    found = domain(less=">")  # the larger one, whatever it is called
    assert found.set_tuple_name("x").is_equal(
        parse_set(
            "[N, M] -> { x[i] : i >= 0 and i >= M and i >= N - 9 "
            "and (i <= N - 1 or i <= 2M or i <= 7) }"
        )
    )
