"""Early exits are looked for by whole vectors, where elements behind the one that is found are
there."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

FIRST = """
#pragma polyopt inbounds

void first(int n, int m, float t, const float a[restrict n][m], int at[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        at[i] = -1;
        for (int j = 0; j < m; j++)
            if (a[i][j] > t) {
                at[i] = j;
                break;
            }
    }
#pragma endscop
}
"""
BRANCH = "if (found != 0) {"


def plan_of(text=FIRST):
    return po.Plan(po.parse_c(text))


@pytest.mark.parametrize("columns", [1, 63, 64, 65, 127, 128, 129, 300])
def test_the_first_is_found_wherever_it_stands(columns):
    plan = plan_of()
    assert BRANCH in plan.emit().source
    a = np.zeros((columns + 3, columns), np.float32)
    for row in range(columns):
        a[row, row:] = 1  # and all behind it
    a[columns + 1, columns // 2] = np.nan
    a[columns + 2, [0, columns - 1]] = 2
    found = plan.compile()(a=a, t=np.float32(0.5))
    assert found[:columns].tolist() == list(range(columns))
    assert found[columns:].tolist() == [-1, -1, 0]


def test_what_it_reads_is_there():
    """Rows of an array end at its last element: an address behind it is another page's."""
    kernel = plan_of().compile()
    for columns in (64, 100, 128):
        pages = np.zeros(1 << 14, np.float32)
        a = pages[-3 * columns :].reshape(3, columns)
        assert kernel(a=a, t=np.float32(0.5)).tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("j < m", "j < m - 1", id="not up to the extent"),
        pytest.param("restrict n][m]", "restrict n][m + 1]", id="a longer row"),
        pytest.param("a[i][j] > t", "a[i][m - 1 - j] > t", id="backwards"),
        pytest.param("a[i][j] > t", "(int)a[i][j] > 3", id="a number that may be too large"),
        pytest.param("a[i][j] > t", "at[j] > 3", id="its own results"),
        pytest.param("int j = 0;", "int j = i;", id="from elsewhere on"),
        pytest.param("break;", "if (t > 3) break;", id="may go on"),
        pytest.param("if (a", "at[i] = at[i] - 1;\n if (a", id="more than tests"),
    ],
)
def test_other_loops_stay(old, new):
    text = FIRST.replace("j++)\n", "j++) {\n").replace("}\n    }\n#", "}\n    }}\n#")
    assert BRANCH in plan_of(text).emit().source
    assert text.count(old) == 1
    assert BRANCH not in plan_of(text.replace(old, new)).emit().source


@pytest.mark.parametrize(
    ("counter", "end"), [("unsigned j = 5", "(uint32_t)m"), ("int j = 70", "(int32_t)m")]
)
def test_a_loop_that_does_not_start_has_no_strips(counter, end):
    """What is left of it is less than nothing: of numbers without a sign, that is very much."""
    plan = plan_of(FIRST.replace("int j = 0", counter))
    assert f"for (; j < {end} && {end} - j >= 64; j = j + 64)" in plan.emit().source
    kernel, first = plan.compile(), int(counter.split()[-1])
    for columns in (3, 69, 70, 71, 200):
        a = np.ones((2, columns), np.float32)
        expected = first if first < columns else -1
        assert kernel(a=a, t=np.float32(0.5)).tolist() == [expected, expected]


def test_an_end_that_is_rounded_is_no_extent():
    assert BRANCH not in plan_of(FIRST.replace("j < m", "j < (float)m")).emit().source
