"""C is read back and run where control is opaque, and where data are subscripts."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.codegen.validate import translation as readback
from polyopt.codegen.validate.translation import _cases, check_code
from polyopt.errors import InternalError, TooDeepError
from polyopt.frontend.c.readback.emitted import parse_emitted
from polyopt.library import load_kernel

GATHER = """
#pragma polyopt inbounds
#pragma polyopt assume(M >= N + 1)

void gather(int N, int M, const int start[M], const int col[M], const double v[M], double w[N])
{
    for (int i = 0; i < N; i++) {
        int at = start[i];
        double sum = 0.0;
        while (at < start[i + 1]) {
            sum += v[col[at]];
            at++;
        }
        w[i] = sum;
    }
}
"""
#: its least size is 1,000: too large to run step by step
LARGE = """
#pragma polyopt assume(N >= 1000)

void large(int N, double a[N])
{
    for (int i = 0; i < N; i++)
        a[i] = (i * i) % 7;
}
"""


def test_loops_that_data_end_are_read_back_and_run():
    plan = po.Plan(po.parse_c(GATHER))
    found = check_code(plan.scop, emit(plan.program))
    runs = int(found.detail.split(" runs ")[0].split()[-1])
    assert runs > 10
    assert "opaque" in found.detail


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("at < start", "at <= start"), ("v[col[at]]", "v[at]"), ("sum = 0", "sum = 1")],
)
def test_another_loop_that_data_end_is_refused(right, wrong):
    plan = po.Plan(po.parse_c(GATHER))
    program = emit(plan.program)
    assert right in program.source
    with pytest.raises(InternalError, match=r"computes another w|does what it must not"):
        check_code(plan.scop, replace(program, source=program.source.replace(right, wrong)))


def test_what_nothing_was_run_for_is_not_decided():
    plan = po.Plan(po.parse_c(LARGE))
    found = check_code(plan.scop, emit(plan.program), operations=1)
    assert found.detail.startswith("not decided: no size and data")


@pytest.mark.parametrize("moves", [(), (("vectorize", "t.i"),), (("parallelize", "t.i"),)])
def test_a_plan_may_leave_nothing_of_a_program_without_results(moves):
    plan = po.Plan(
        po.parse_c(
            "void p(int n, const int a[n]) { int t[n]; for (int i = 0; i < n; i++) t[i] = a[i]; }"
        )
    )
    for name, loop in moves:
        plan = plan.replay(name, (loop,), {})
    plan = plan.inline("t")
    assert "for (" not in plan.emit().source
    assert plan.prove(code=True).obligations[-1].detail.startswith("there is no result")


WIDTHS = """
void widths(int N, const int u[N], const unsigned v[N], const int t[8], long y[N])
{
    for (int i = 0; i < N; i++)
        for (long k = 3; k < 4; k++)
            y[i] = ((u[i] + k) << 4) + t[7 & (v[i] - k > 5)] * k;
}
"""


def test_data_at_the_ends_of_their_types_tell_widths_apart():
    plan = po.Plan(po.parse_c(WIDTHS)).unroll("y.k")
    program = emit(plan.program)
    assert "for all sizes" in check_code(plan.scop, program).detail
    for part in re.finditer(r"\(int64_t\)(?=\w)", program.source):
        narrow = program.source[: part.start()] + program.source[part.end() :]
        with pytest.raises(InternalError, match="computes another y"):
            check_code(plan.scop, replace(program, source=narrow))


def test_data_at_the_ends_of_64_unsigned_bits_are_these_ends():
    scop = po.parse_c(
        "void p(int n, const unsigned long a[n], unsigned long b[n], const int k[n])"
        " { for (int i = 0; i < n; i++) b[i] = a[i] + (k[i] > 0); }"
    )
    given = [case.given["a"] for case in _cases(scop, "")]
    assert max(int(values.max()) for values in given) == 2**64 - 1


NONE_OR_SOME = """
#include <stdint.h>

void first(uint64_t n, const int x[16], int y[16])
{
    for (int i = 0; i < 16; i++)
        if (i + 1 <= n)
            y[i] = x[i];
}
"""


def test_what_wraps_for_a_size_of_the_source_is_not_taken_not_to():
    """The source has no elements for n = 0; ``(uint64_t)n - 1`` is then the largest of numbers."""
    plan = po.Plan(po.parse_c(NONE_OR_SOME))
    program = emit(plan.program)
    loop = "i <= min_i64(15, n - 1); i++) {"
    wrapping = "i <= min_i64(15, n); i++) { if ((uint64_t)i <= (uint64_t)n - 1)"
    assert loop in program.source
    wrong = replace(program, source=program.source.replace(loop, wrapping))
    with pytest.raises(InternalError, match="computes another y at n = 0"):
        check_code(plan.scop, wrong)


def test_c_that_the_frontend_does_not_take_is_not_decided(monkeypatch):
    """Such as C nested deeper than it reads."""
    plan = po.Plan(po.parse_c(NONE_OR_SOME))

    def refused(*_args, **_options):
        raise TooDeepError("loops and conditions nested more than 200 deep")

    monkeypatch.setattr(readback, "parse_emitted", refused)
    found = check_code(plan.scop, emit(plan.program))
    assert found.detail.startswith("not decided: the C is not read back (too-deep")


def test_a_file_is_parsed_once_for_all_the_ways_in_which_it_is_read():
    kernel = load_kernel("harris")
    plan = po.auto(kernel.scop, sizes=kernel.sizes["test"], target="avx2")
    program = emit(plan.program)

    def said(emitted, **ways):
        scop = emitted.scop(plan.scop.params, **ways)
        return str(scop), [repr(s.value) for s in scop.statements]

    def parsed():
        return parse_emitted(program.source, program.c_name)

    once = parsed()
    for ways in ({"marked": True}, {"backwards": True}, {"marked": True}, {}):
        assert said(once, **ways) == said(parsed(), **ways)
    assert said(once, backwards=True) != said(once)
