"""Loops that are split where all of their dependences cross, and those where nothing helps."""

import numpy as np
import pytest

import polyopt as po

NEST = """
void f(int N, int M,{more} double a[restrict N][M])
{{
{assume}    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            {body}
}}
"""


def planned(body, assume="", rows=3000, columns=400):
    pragma = f"#pragma polyopt assume({assume})\n" if assume else ""
    more = " int p," if "p" in body else ""
    sizes = {"N": rows, "M": columns, **({"p": 100} if more else {})}
    return po.auto(po.parse_c(NEST.format(more=more, assume=pragma, body=body)), sizes=sizes)


def said(plan):
    return [(r.kind, r.reason) for r in plan.remarks if r.move == "split_range"]


def run(plan, n, m, p=2):
    a = np.random.default_rng(n).random((n, m))
    return plan.compile()(a=a.copy(), **({"p": p} if "p" in plan.scop.params else {})), a


def reversed_rows(a, p):
    for i in range(len(a)):
        a[i] = 0.5 * a[len(a) - 1 - i] + 1


def rotated_rows(a, p):
    half = len(a) // 2
    for i in range(len(a)):
        a[i] = a[i + half if 2 * i < len(a) else i - half] + 1


def with_pivot(a, p):
    for i in range(len(a)):
        a[i] = a[i] + 2 * a[p]


@pytest.mark.parametrize(
    ("body", "assume", "meant", "where", "parts"),
    [
        ("a[i][j] = 0.5 * a[N - 1 - i][j] + 1;", "", reversed_rows, "floor((N)/2)", 2),
        ("a[i][j] = (2 * i < N ? a[i + N / 2][j] : a[i - N / 2][j]) + 1;", "N % 2 == 0",
         rotated_rows, "floor((N)/2)", 2),
        ("a[i][j] = a[i][j] + 2 * a[p][j];", "p >= 1 && p < N - 1", with_pivot, "p and 1 + p", 3),
    ],
)  # fmt: skip
def test_parts_are_for_threads_where_the_loop_is_not(body, assume, meant, where, parts):
    plan = planned(body, assume)
    assert said(plan) == [("applied", f"before and from {where} on its iterations are independent")]
    assert str(plan).count("# parallel") >= 2
    assert len(plan.program.copies) == parts
    for n in (4, 6, 22):
        found, expected = run(plan, n, 5)
        meant(expected, 2)
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    text = str(plan.explain())
    assert "are independent" in text


def test_where_one_cut_does_not_help_it_is_said():
    body = "a[i][j] = i > 0 && j > 0 ? 0.5 * a[i - 1][j - 1] + a[N - 1 - i][j] : 0;"
    plan = planned(body)
    assert said(plan)[0] == (
        "refused",
        "at floor((N)/2) it would leave iterations that depend on each other",
    )
    assert not any(move.name == "split_range" for move in plan.moves)


@pytest.mark.parametrize(
    "body", ["a[i][j] = i > 0 ? a[i - 1][j] + 1 : 0;", "a[i][j] = 0.5 * a[i][j];"]
)
def test_other_loops_stay_whole_without_a_word(body):
    assert said(planned(body)) == []


def test_short_loops_stay_whole():
    assert said(planned("a[i][j] = a[N - 1 - i][j];", rows=20, columns=20)) == []
