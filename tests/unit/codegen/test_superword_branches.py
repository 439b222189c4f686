"""Searches that seldom find more: strips of whole vectors are tested, and left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.validate.translation import check_code
from polyopt.errors import InternalError, UserError

ARGMAX = """
void argmax(int N, int M, const float a[restrict N][M], int at[restrict N], float best[restrict N])
{
    for (int i = 0; i < N; i++) {
        int k = 0;
        float b = a[i][0];
        for (int j = 1; j < M; j++)
            if (a[i][j] > b) {
                b = a[i][j];
                k = j;
            }
        at[i] = k;
        best[i] = b;
    }
}
"""
#: the branch of a strip that nothing changes in
BRANCH = "if (changes != 0) {"


def plan_of(text=ARGMAX):
    return po.Plan(po.parse_c(text))


def rows(columns):
    """Rows that rise, fall, tie, and hold what compares with nothing."""
    rng = np.random.default_rng(3)
    found = rng.integers(-5, 5, (6, columns)).astype(np.float32)
    found[0], found[1] = np.arange(columns), -np.arange(columns)
    found[2, columns // 2] = np.nan
    found[3, 0] = np.nan
    found[4] = np.where(np.arange(columns) % 2, 0.0, -0.0)
    return found


@pytest.mark.parametrize("columns", [1, 2, 64, 65, 66, 128, 129, 193, 1000])
def test_the_first_of_the_greatest_is_found_whatever_stands_there(columns):
    plan = plan_of()
    assert BRANCH in plan.emit().source
    a = rows(columns)
    at, best = plan.compile()(a=a)
    for row, place, value in zip(a, at, best, strict=True):
        expected = 0
        for j in range(1, columns):
            if row[j] > row[expected]:
                expected = j
        assert place == expected
        assert value.tobytes() == row[expected].tobytes()


def test_its_c_reads_back_as_its_source():
    plan = plan_of()
    assert "the source's values, for all sizes" in check_code(plan.scop, plan.emit()).detail


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("a[i][j] > b", "a[i][j] > 3", id="elements alone decide"),
        pytest.param("a[i][j] > b", "a[i][j] - b > 0", id="arithmetic on what changes"),
        pytest.param("a[i][j] > b", "b > 2", id="no element decides"),
        pytest.param("k = j;", "k = k + j;\n } else {\n k = k - 1;", id="others change something"),
    ],
)
def test_what_is_no_search_stays(old, new):
    assert BRANCH not in plan_of(ARGMAX.replace(old, new)).emit().source


def test_what_is_short_stays():
    text = ARGMAX.replace("int M, ", "").replace("[M]", "[40]").replace("j < M", "j < 40")
    assert BRANCH not in plan_of(text).emit().source


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        pytest.param(
            "changes | (b_tile < a[i][j])",
            "changes | (a[i][j] < b_tile)",
            UserError,
            id="turned round",
        ),
        pytest.param(
            "changes | (b_tile < a[i][j])",
            "changes | (b_tile < a[i][0])",
            UserError,
            id="another element",
        ),
        pytest.param(
            "changes | (b_tile < a[i][j])", "(b_tile < a[i][j])", InternalError, id="the last alone"
        ),
        pytest.param(
            "changes = j_end - j_strip != 64",
            "changes = j_end - j_strip < 64",
            UserError,
            id="long",
        ),
        pytest.param("int32_t changes", "static int32_t changes", UserError, id="the first alone"),
        pytest.param("if (changes != 0)", "if (changes == 0)", UserError, id="the others"),
        pytest.param(
            "reduction(| : changes)", "reduction(& : changes)", InternalError, id="all of them"
        ),
    ],
)
def test_code_that_leaves_out_something_else_is_refused(old, new, error):
    plan = plan_of()
    program = plan.emit()
    assert program.source.count(old) == 1
    broken = replace(program, source=program.source.replace(old, new))
    with pytest.raises(error):
        check_code(plan.scop, broken)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("k_tile = (int32_t)j;", id="for all"),
        pytest.param("k_tile = condition_tile ? (int32_t)j : k_tile + 1;", id="for the others"),
    ],
)
def test_a_loop_that_changes_more_is_refused(line):
    plan = plan_of()
    program = plan.emit()
    old = "k_tile = condition_tile ? (int32_t)j : k_tile;"
    assert program.source.count(old) == 1
    with pytest.raises(UserError):
        check_code(plan.scop, replace(program, source=program.source.replace(old, line)))
