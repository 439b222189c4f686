"""Wavefronts: nests of two loops that carry dependences are shared diagonal by diagonal, or not."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.codegen.target import target
from tests.unit.transform.programs import assert_right

MACHINE = replace(target("avx2"), cores=2)
LARGE = {"n": 3000, "m": 3000}
DP = """
void dp(int n, int m, const int a[n][m], int d[n][m])
{{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            d[i][j] = {value};
}}
"""
LCS = "a[i][j] > 0 ? d[i - 1][j - 1] + 1 : d[i - 1][j] > d[i][j - 1] ? d[i - 1][j] : d[i][j - 1]"


def planned(value: str, sizes: dict[str, int] = LARGE) -> po.Plan:
    return po.auto(po.parse_c(DP.format(value=value)), target=MACHINE, sizes=sizes)


def test_blocks_on_a_diagonal_are_shared():
    plan = planned(LCS)
    assert [loop.split(":")[0].strip() for loop in str(plan).splitlines()[:2]] == [
        "for d.j_tile",
        "for d.i_tile",
    ]
    assert "# parallel" in str(plan).splitlines()[1]
    assert any("wavefront" in remark.reason for remark in plan.remarks)
    assert_right(plan, {"n": 3, "m": 4}, {"n": 9, "m": 40})


@pytest.mark.parametrize(
    ("value", "sizes"),
    [
        ("d[i - 1][m - 1 - j] + d[i][j - 1] - a[i][j]", LARGE),
        (LCS, {"n": 100, "m": 100}),
        (LCS, {"n": 3000, "m": 12}),
        ("d[i - 1][j] + a[i][j]", LARGE),
    ],
    ids=["blocks would need later ones", "little work", "few columns", "columns are independent"],
)
def test_other_nests_have_no_diagonals(value, sizes):
    assert not any(move.name == "skew" for move in planned(value, sizes).moves)
