"""The last iteration that meets a condition is a maximum where all before it are less."""

# ruff: noqa: F821, UP037  (extents are texts in subscripts of annotations)

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.expr import Binary, Select

TEXT = """void f(int N, int M, const float a[N][M], {arguments}int last[N]) {{
    for (int r = 0; r < N; r++) {{
        int j = {start};
        for ({header}) {{
            {body}
        }}
        last[r] = j;
    }}
}}"""
UP, DOWN = "int i = 0; i < M; i++", "int i = M - 1; i >= 0; i--"
FIND = "if (a[r][i] < 0.5f) j = i;"


def program(start="-1", header=UP, body=FIND, arguments=""):
    return po.parse_c(TEXT.format(start=start, header=header, body=body, arguments=arguments))


def reductions(scop):
    """The operations by which ``j`` is reduced, and how many selections of it there are."""
    own = [s for s in scop.statements if s.array == "j" and s.reads]
    found = [s.value.op for s in own if isinstance(s.value, Binary) and s.reduction]
    return found, sum(isinstance(s.value, Select) for s in own)


def rows(n=5, m=40):
    a = np.random.default_rng(0).random((n, m), dtype=np.float32)
    a[0] = 1.0  # none
    a[1] = 0.0  # all
    a[2, 1:] = 1.0
    return a


def last_of(met, otherwise):
    return [np.flatnonzero(row)[-1] if row.any() else otherwise for row in met]


TAKEN = {
    "the last": (program(), "max", lambda a: last_of(a < 0.5, -1)),
    "the first, from behind": (
        program("M", DOWN), "min",
        lambda a: [np.flatnonzero(r)[0] if r.any() else a.shape[1] for r in a < 0.5],
    ),
    "kept where it holds": (
        program(body="j = a[r][i] >= 0.5f ? j : i;"), "max", lambda a: last_of(a < 0.5, -1),
    ),
    "a place computed from it": (
        program("0", body="if (a[r][i] < 0.5f) j = 3 * i + r;"), "max",
        lambda a: [3 * last + r if last >= 0 else 0 for r, last in enumerate(last_of(a < 0.5, -1))],
    ),
    "every second": (
        program(header="int i = 1; i < M; i += 2"), "max",
        lambda a: [2 * k + 1 if k >= 0 else -1 for k in last_of(a[:, 1::2] < 0.5, -1)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_it_is_the_greatest_or_the_least(name):
    scop, op, expected = TAKEN[name]
    assert reductions(scop) == ([op], 0)
    a = rows()
    for plan in (po.Plan(scop), po.auto(scop, sizes={"N": 5, "M": 40})):
        assert plan.compile()(a).tolist() == list(map(int, expected(a)))


def test_conditions_of_two_take_turns():
    scop = program(body="if (a[r][i] < 0.2f) j = 2 * i; if (a[r][i] > 0.8f) j = 2 * i + 1;")
    assert reductions(scop) == (["max", "max"], 0)
    a = rows()
    either = np.stack([a < 0.2, a > 0.8], axis=2).reshape(len(a), -1)
    assert po.auto(scop).compile()(a).tolist() == last_of(either, -1)


def test_of_two_conditions_the_one_with_less_stays():
    scop = program(body="if (a[r][i] < 0.2f) j = 2 * i + 1; if (a[r][i] > 0.8f) j = 2 * i;")
    assert reductions(scop) == (["max"], 1)
    a = rows()
    either = np.stack([a > 0.8, a < 0.2], axis=2).reshape(len(a), -1)
    assert po.auto(scop).compile()(a).tolist() == last_of(either, -1)


LEFT = {
    "starts with more": program("M"),
    "starts with more in some rows": program("r"),
    "starts with data": program("seed[r]", arguments="const int seed[N], "),
    "numbers rise and fall": program(header="int i = 0; i < M; i++", body="if (a[r][i] < 0.5f) j = i * (M - i);"),
    "numbers that data give": program(
        body="if (a[r][i] < 0.5f) j = seed[i];", arguments="const int seed[M], "
    ),
    "is given by the caller": po.parse_c(
        "void f(int M, const float a[M], int j[1]) { for (int i = 0; i < M; i++) if (a[i] < 0.5f) j[0] = i; }"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_may_be_greater_before_stays_a_selection(name):
    found, selections = reductions(LEFT[name])
    assert not found
    assert selections


def test_results_of_what_stays_are_those_of_its_source():
    a = rows()
    for start, expected in (("M", a.shape[1]), ("r", None)):
        wanted = [
            last if last >= 0 else (expected if expected is not None else r)
            for r, last in enumerate(last_of(a < 0.5, -1))
        ]
        assert po.auto(program(start)).compile()(a).tolist() == wanted


def test_numbers_of_python_that_may_wrap_stay():
    @po.scop
    def narrow(a: po.f32["N"], j: po.i32["1"]):
        j[0] = -1
        for i in range(len(a)):
            if a[i] < 0.5:
                j[0] = i

    @po.scop
    def wide(a: po.f32["N"], j: po.i64["1"]):
        j[0] = -1
        for i in range(len(a)):
            if a[i] < 0.5:
                j[0] = i

    assert reductions(narrow) == ([], 1)
    assert reductions(wide) == (["max"], 0)
    a = rows()[3]
    for scop, kind in ((narrow, np.int32), (wide, np.int64)):
        found = po.auto(scop).compile()(a)
        assert found.dtype == kind
        assert found.tolist() == last_of([a < 0.5], -1)


def test_proofs_hold_and_code_is_checked_for_all_sizes():
    plan = po.auto(program(), sizes={"N": 500, "M": 4000})
    details = [o.detail for o in plan.prove(code=True).obligations]
    assert any("for all sizes" in text for text in details)
