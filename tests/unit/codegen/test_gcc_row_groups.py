"""Rows as long as a power of two: gcc is asked to weigh what it does with few elements of each."""

import numpy as np
import pytest

import polyopt as po

ASKED = '#pragma GCC optimize("simd-cost-model=dynamic")'
SUMS = """
void sums(const float a[restrict 64]{row}, float s[restrict 64])
{{
    for (int k = 0; k < 16; k++)
        for (int i = 0; i < 64; i++)
            s[i] = s[i] + {element};
}}
"""


def down_columns(row, element, loaded):
    """Sums of the first elements of rows: rows in lanes, elements written out."""
    plan = po.Plan(po.parse_c(SUMS.format(row=row, element=element)))
    plan = plan.tile("s", k=loaded).reorder("s.k_tile", "s.i", "s.k")
    return plan.unroll("s.k").vectorize("s.i")


@pytest.mark.parametrize(
    ("row", "element", "loaded", "asks"),
    [
        ("[512]", "a[i][k]", 8, True),
        ("[32]", "a[i][k]", 8, True),
        ("[16]", "a[i][k]", 8, False),  # half of each row is needed
        ("[520]", "a[i][k]", 8, False),  # no group is as long
        ("[512]", "a[i][3]", 8, False),  # one element of each row is no group
        ("[8][64]", "a[i][2][k]", 8, True),  # a row of the lanes is 8 x 64 elements
        ("[9][64]", "a[i][2][k]", 8, False),
    ],
)
def test_gcc_weighs_where_it_would_load_whole_rows(row, element, loaded, asks, tmp_path):
    plan = down_columns(row, element, loaded)
    assert (ASKED in plan.emit().source) == asks
    kernel = plan.compile(cache=tmp_path, check=True)
    assert "has the source's values, for all sizes" in str(kernel.proof)
    shape = (64, *map(int, row.strip("[]").split("][")))
    a = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    taken = a[:, :16] if a.ndim == 2 else a[:, 2, :16]
    if element.endswith("[3]"):
        taken = np.repeat(a[:, 3:4], 16, axis=1)
    found = kernel(a, np.zeros(64, np.float32))
    np.testing.assert_allclose(found, taken.sum(axis=1), rtol=1e-5, atol=1e-5)


def test_rows_in_buffers_count_as_well():
    text = """
    void chain(const float a[restrict 64][64], float s[restrict 64])
    {
        float b[64][64];
        for (int i = 0; i < 64; i++)
            for (int k = 0; k < 64; k++)
                b[i][k] = a[i][k] * a[i][k];
        for (int k = 0; k < 16; k++)
            for (int i = 0; i < 64; i++)
                s[i] = s[i] + b[i][k];
    }
    """
    plan = po.Plan(po.parse_c(text)).tile("s", k=8).reorder("s.k_tile", "s.i", "s.k")
    assert ASKED not in plan.emit().source
    assert ASKED in plan.unroll("s.k").vectorize("s.i").emit().source
