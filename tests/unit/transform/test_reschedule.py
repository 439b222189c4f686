"""What isl's scheduler is told of dependences: bounds of long loops of constant length are left
out, but where what is left bounds them at fractions."""

from __future__ import annotations

import pytest

from polyopt.isl import parse_union_map, parse_union_set
from polyopt.transform.loops.reschedule import _without

#: bounds of what is long alone, as of rows and columns
BOUNDS = parse_union_set("{ S[y, x] : 0 <= y <= 6 and 0 <= x <= 16; T[y, x] : 0 <= x <= 16 }")


@pytest.mark.parametrize(
    ("deps", "left"),
    [
        pytest.param(
            "{ S[y, x] -> T[y', x] : 0 <= x <= 16 and 0 <= y <= 6 and y <= y' <= y + 2 }",
            "{ S[y, x] -> T[y', x] : y <= y' <= y + 2 }",
            id="nothing bounds them",
        ),
        pytest.param(
            "{ S[y, x] -> T[y', x] : 0 <= x <= 16 and 0 <= y <= 6 and 0 <= y' <= 3 and"
            " -7 + 3y <= 5y' <= 4 + 3y }",
            "{ S[y, x] -> T[y', x] : 0 <= y <= 6 and 0 <= y' <= 3 and -7 + 3y <= 5y' <= 4 + 3y }",
            id="a short loop bounds rows at fractions",
        ),
    ],
)
def test_bounds_are_left_out_where_none_stay(deps, left):
    found, expected = _without(parse_union_map(deps), BOUNDS), parse_union_map(left)
    assert found.is_equal(expected)
