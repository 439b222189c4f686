"""Index arithmetic is in 64 bits wherever 32 do not hold it, and literals are what C takes them for.

What random expressions with such parts mean is in ``test_cexpr.py``; whole files with sizes and
data at the ends of their types are in ``tests/oracle/sources/widths.c``.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.ast.expr import Symbol
from polyopt.codegen.expressions.affine import c_trips
from polyopt.codegen.expressions.indices import (
    index_choice,
    index_negation,
    index_number,
    index_operation,
    index_variable,
)
from polyopt.codegen.lower.host_names import HostNames
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.errors import UserError
from polyopt.ir.types import F32, I16, I32, I64
from polyopt.rewrite import rewrite
from tests.unit.codegen.reader import Reader

read = Reader(n=I32, few=I32, s=I16, k=I32)
n = index_variable(read("n"))
few = index_variable(read("few"), (1, 1000))
short = index_variable(read("s"))
i = index_variable(read("i"))


@pytest.mark.parametrize(
    ("expected", "type_", "made"),
    [
        ("i + n", I64, index_operation("+", i, n)),
        ("(int64_t)n + few", I64, index_operation("+", n, few)),
        ("few + few", I32, index_operation("+", few, few)),
        ("66 * (int64_t)n", I64, index_operation("*", index_number(66), n)),
        ("66 * s", I32, index_operation("*", index_number(66), short)),
        ("n / 2 + few", I32, index_operation("+", index_operation("/", n, index_number(2)), few)),
        ("n % 8 - few", I32, index_operation("-", index_operation("%", n, index_number(8)), few)),
        ("-(int64_t)n", I64, index_negation(n)),
        ("-few", I32, index_negation(few)),
        ("i > 3 ? 1 : 2", I32, index_choice(read("i > 3"), index_number(1), index_number(2))),
        ("i > 3 ? i : 2", I64, index_choice(read("i > 3"), i, index_number(2))),
        ("-2147483648", I64, index_number(-(2**31))),
        ("2147483647", I32, index_number(2**31 - 1)),
        ("INT64_MIN", I64, index_number(-(2**63))),
    ],
)
def test_32_bits_are_widened_where_they_may_overflow(expected, type_, made):
    assert (c_text(made.node, hints), made.ctype) == (expected, type_)


def test_iterations_are_counted_in_64_bits():
    def trips(start, bound):
        return c_text(c_trips(start, bound), hints)

    zero = index_number(0)
    assert [trips(zero, bound) for bound in (few, i)] == ["few", "i"]
    assert trips(zero, n) == "(int64_t)n"  # of which the chunk takes one
    assert trips(few, n) == "(int64_t)n - few > 0 ? (int64_t)n - few : 0"


@pytest.mark.parametrize(
    ("expected", "first", "extent"),
    [("0 * n + k", index_number(0), n), ("(int64_t)3 * n + k", index_number(3), n),
     ("i * n + k", i, n), ("(int64_t)few * n + k", few, n), ("few * few + k", few, few),
     ("(n / 2) * rest + k", index_operation("/", n, index_number(2)), index_variable(read("rest")))],
)  # fmt: skip
def test_elements_of_folded_arrays_are_found_in_64_bits(expected, first, extent):
    text = c_text(extent.node, hints)
    names = HostNames({"A": f"A[{{(0)}} * {text} + {{1}}]"}, folded={"A": ((("m", 0),),)})
    k = index_variable(read("k"), (0, 99))
    made = names.element(Symbol("A", F32, "A"), [first, k], {"m": extent})
    assert c_text(made, hints) == f"A[{expected}]"


REGIONS = """
void jacobi(int T, int n, double a[n], double b[n])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.33 * (a[i - 1] + a[i] + a[i + 1]);
        for (int i = 1; i < n - 1; i++)
            a[i] = 0.33 * (b[i - 1] + b[i] + b[i + 1]);
    }
#pragma endscop
}
void copy(int n, int m, double *A, double *B)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i * m + j] = 2 * B[i * m + j];
#pragma endscop
}
void longer_rows(int n, int m, double *restrict A)
{
#pragma scop
    for (long i = 3; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i * (m + 2L) + j] = 0;
#pragma endscop
}
void unsigned_rows(unsigned m, double *restrict A)
{
#pragma scop
    for (long i = 3; i < 5; i++)
        for (unsigned j = 0; j < m; j++)
            A[i * m + j] = 0;
#pragma endscop
}
"""


def test_what_is_made_of_int_sizes_is_worked_out_in_64_bits(tmp_path):
    path = tmp_path / "regions.c"
    path.write_text(REGIONS)
    text = rewrite(path).text
    assert "* (long)T + n" in text  # bounds of skewed tiles
    assert "* T + n" not in text
    assert "6.0 * T * ((long)n - 2) <" in text  # what decides on threads, before any test
    assert "A[0 * m + 0], A[(long)(n - 1) * m + m - 1], B[0 * m + 0]" in text
    assert "A[i * (long)m + j]" in text
    assert "A[i * ((long)m + 2) + j]" in text


SINGLE = """
void single(int N, const int u[N], const unsigned v[N], long y[N], double z[N])
{
    for (int i = 0; i < N; i++)
        for (long k = 3; k < 4; k++) {
            y[i] = u[i] * k;
            z[i] = (v[i] - k) * 0.5;
        }
}
"""
ENDS = np.array([2**31 - 1, -(2**31), -1, 0, 1, 7, 1431655765, 2**31 - 2], np.int32)


def test_a_single_trip_keeps_its_iterator_in_64_bits():
    kernel = po.auto(po.parse_c(SINGLE)).compile()
    u, v = ENDS, ENDS.view(np.uint32)
    y, z = kernel(u=u, v=v)
    np.testing.assert_array_equal(y, u.astype(np.int64) * 3)
    np.testing.assert_array_equal(z, (v.astype(np.int64) - 3) * 0.5)


def test_unrolled_sums_keep_their_iterator_in_64_bits():
    u = po.input("u", po.u32, ("N",))
    y = po.stage("y", ("N",), lambda i: po.sum(lambda c: po.cast(po.i64, u[i]) - c, c=(1, 4)))
    given = ENDS.view(np.uint32)
    found = po.auto(po.pipeline(y, name="sums", context="N >= 1")).compile()(u=given)
    np.testing.assert_array_equal(found, given.astype(np.int64) * 3 - 6)


@pytest.mark.parametrize(
    ("test", "holds"),
    [("i < -10LLU", True), ("i >= 18446744073709551600ULL", False), ("i != ~0ULL", True),
     ("i + n > 0xfffffffffffffff0", False), ("i <= -1LLU", True), ("i < 1LLU << 63", True),
     ("9223372036854775808u <= i", False), ("n == 9223372036854775808u", False)],
)  # fmt: skip
@pytest.mark.parametrize("plan_of", [po.Plan, po.auto], ids=["unfused", "auto"])
def test_what_no_index_reaches_is_decided_and_not_compared(test, holds, plan_of):
    """``i >= 18446744073709551600`` in C would compare without signs, or in more than 64 bits."""
    text = f"""
    void f(int n, int a[n], int b[n])
    {{
        for (int i = 0; i < n; i++)
            b[i] = ({test} ? 1 : 0) + a[i] * ({test});
    }}
    """
    plan = plan_of(po.parse_c(text))
    assert not re.search(r"\b(18446744073709551|9223372036854775808)\d*\b(?!u)", plan.emit().source)
    assert "code" in str(plan.prove(code=True))
    found = plan.compile()(a=np.arange(4, dtype=np.int32))
    np.testing.assert_array_equal(found, (np.arange(4) + 1) * holds)


@pytest.mark.parametrize("mask", ["i & 9223372036854775807", "i % 9223372036854775808u"])
def test_a_modulus_that_no_index_holds_is_computed_in_the_type_of_the_source(mask):
    text = f"void f(int n, long y[n]) {{ for (int i = 0; i < n; i++) y[i] = {mask}; }}"
    plan = po.auto(po.parse_c(text))
    assert not re.search(r"\b9223372036854775808\b(?!u)", plan.emit().source)
    assert "for all sizes" in str(plan.prove(code=True))
    assert plan.compile()(n=5).tolist() == list(range(5))


def test_a_coefficient_that_no_index_holds_is_refused():
    text = (
        "void f(long n, long y[n]) { for (long i = 0; i < n; i++) y[i] = (i << 62) + (i << 62); }"
    )
    with pytest.raises(UserError, match="9223372036854775808, which 64 bits do not hold"):
        po.Plan(po.parse_c(text)).emit()


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("(i % 8) / 8.0f", "(int32_t)(i % 8) / 8.0f"),  # no vectors of 64 bits become floats
        ("i / 8.0f", "i / 8.0f"),  # which 32 bits may not hold
        ("(i % 5000000000) * 0.5", "i % 5000000000 * 0.5"),
    ],
)
def test_what_32_bits_hold_becomes_a_float_from_there(value, printed):
    source = f"void f(long n, double out[n]) {{ for (long i = 0; i < n; i++) out[i] = {value}; }}"
    plan = po.Plan(po.parse_c(source))
    assert f"out[i] = {printed};" in plan.emit().source
    expected = [eval(value.replace("f", ""), {"i": i}) for i in range(20)]  # noqa: S307
    assert plan.compile()(n=20).tolist() == expected
