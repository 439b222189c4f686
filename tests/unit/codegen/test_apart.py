"""Vector loops whose iterations reach an element by subscripts that look different."""

import pytest

import polyopt as po

UPDATED = """
void f(const int in0[restrict 60], int a[restrict 60])
{
    for (int t = 0; t < 20; t++)
        for (int k = 0; k < 3; k++) {
            a[3 * t + k] = 2 * in0[3 * t + k];
            CHANGE
        }
}
"""


def text(change):
    plan = po.Plan(po.parse_c(UPDATED.replace("CHANGE", change)))
    return plan.unroll("a.k").vectorize("a.t").emit().source


@pytest.mark.parametrize(
    ("change", "simd"),
    [
        # isl writes the element of the one instance as a[0]: gcc and clang join the others past it
        ("if (t == 0 && k == 0) a[3 * t + k] = in0[0];", False),
        ("if (k == 0) a[3 * t + k] = in0[t];", True),
        ("", True),
    ],
)
def test_a_loop_is_for_lanes_where_one_element_has_one_text(change, simd):
    assert ("#pragma omp simd" in text(change)) == simd
