"""Temporaries that live within one iteration of a loop are kept for one iteration."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

#: a row is made, summed up from the left, and read from both ends
BODY = """
        for (int j = 0; j < M; j++)
            {row}[j] = A[i][j] * 2 + i;
        for (int j = 1; j < M; j++)
            {row}[j] = {row}[j] + {row}[j - 1] * 0.5;
        for (int j = 1; j < M - 1; j++)
            B[i][j] = {row}[j - 1] + {row}[j + 1] + {row}[M - 1 - j];
"""
HEAD = "void f(int N, int M, const double A[N][M], double B[N][M])\n{{\n{0}for (int i = 0; i < N; i++) {{\n{1}"
WHOLE = HEAD.format("double tmp[N][M];\n", "") + BODY.format(row="tmp[i]") + "}\n}\n"
LOCAL = HEAD.format("", "double row[M];\n") + BODY.format(row="row") + "}\n}\n"
#: the next row reads what this one made
CARRIED = WHOLE.replace(
    "tmp[i][j] = A[i][j] * 2 + i;", "tmp[i][j] = A[i][j] + (i > 0 ? tmp[i - 1][j] : 0);"
)
SIZES = {"N": 2000, "M": 2000}


@pytest.mark.parametrize(("text", "name"), [(WHOLE, "tmp"), (LOCAL, "row")])
def test_rows_of_a_temporary_are_kept_for_as_many_rows_as_run_together(text, name, tmp_path):
    plan = po.auto(po.parse_c(text), sizes=SIZES)
    assert f"scratch {name}[8][M]" in str(plan)
    kernel = plan.compile(contract=False, cache=tmp_path)
    source = po.Plan(plan.scop).compile(contract=False, cache=tmp_path)
    for rows, columns in ((1, 1), (7, 2), (8, 9), (9, 17), (35, 64)):
        A = np.random.default_rng(rows).random((rows, columns))
        B = np.zeros((rows, columns))
        assert np.array_equal(kernel(A=A, B=B.copy(), threads=2), source(A=A, B=B.copy()))


def test_a_remark_says_what_is_kept_and_instead_of_what():
    plan = po.auto(po.parse_c(WHOLE), sizes=SIZES)
    (said,) = (r for r in plan.remarks if r.move == "store")
    assert (said.kind, said.subject, said.consumer) == ("applied", "tmp", "B.i")
    assert said.numbers == {"bytes": 16_000.0, "instead of": 32_000_000.0}


def test_what_the_next_iteration_reads_is_stored_in_full():
    plan = po.auto(po.parse_c(CARRIED), sizes=SIZES)
    assert "store" not in [r.move for r in plan.remarks]
    assert "scratch" not in str(plan)


def test_small_temporaries_stay_as_they_are():
    plan = po.auto(po.parse_c(WHOLE), sizes={"N": 40, "M": 40})
    assert "store" not in [r.move for r in plan.remarks]
