"""What is read through arrays that are inlined already."""

from __future__ import annotations

import importlib

import polyopt as po
from polyopt.isl import dim_type, parse_map

inlining = importlib.import_module("polyopt.auto.inlining")  # ``polyopt.auto`` is a function

#: ``row`` is written again for each i: what is read of it is of the same i
AGAIN = """
void again(int n, const float x[n], float out[n][n])
{
    float shifted[n];
    for (int i = 0; i < n; i++)
        if (i % 2 == 0) shifted[i] = x[i] + 1; else shifted[i] = x[i];
    float row[n + 1];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n + 1; j++)
            row[j] = shifted[i];
        for (int j = n - 1; j >= 0; j--)
            out[i][j] = row[j] + row[j + 1];
    }
}
"""


def test_an_element_that_is_written_again_has_one_value_at_a_time():
    scop = po.parse_c(AGAIN)
    reading = inlining.Reading.of(scop, {"row"})
    ((host, taps),) = reading.hosts("shifted").items()
    assert host == next(s.name for s in scop.statements if s.array == "out")
    (tap,) = taps
    expected = parse_map("[n] -> { [i, j] -> [i] : 0 <= i < n and 0 <= j < n }")
    plain = tap.reset_tuple_id(dim_type.in_).reset_tuple_id(dim_type.out)
    assert plain.is_equal(expected.align_params(plain.get_space()))
