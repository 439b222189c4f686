"""slide: windows that follow their readers, however readers and rows move."""

from __future__ import annotations

import pytest

from polyopt.analysis.sets.count import count
from polyopt.isl import dim_type
from tests.unit.transform.programs import lines, plan, right

CHAIN = """
void chain(int H, const float a[H + 6], float o[H])
{
    float p[H + 4];
    float q[H + 2];
    for (int y = 0; y < H + 4; y++)
        p[y] = a[y] + a[y + 1] + a[y + 2];
    for (int y = 0; y < H + 2; y++)
        q[y] = p[y] * p[y + 1] + p[y + 2];
    for (int y = 0; y < H; y++)
        o[y] = q[y] - q[y + 1] * q[y + 2];
}
"""
SAMPLED = """
void sampled(int H, const float a[%(rows)s], float o[H])
{
    float p[%(rows)s];
    for (int y = 0; y < %(rows)s; y++)
        p[y] = 2 * a[y] + 1;
    for (int y = 0; y < H; y++)
        o[y] = %(reads)s;
}
"""
#: rows of the producer, what a row reads of it, the window, the first iteration
RATES = {
    "two rows in each": ("2 * H + 1", "p[2 * y] + p[2 * y + 1] + p[2 * y + 2]", 3, -1),
    "three rows in each": ("3 * H", "p[3 * y] * p[3 * y + 2]", 3, 0),
    "a row in two": ("H / 2 + 1", "p[y / 2] + p[(y + 1) / 2]", 2, -1),
    "two rows in three": ("H + 1", "p[2 * y / 3] - p[2 * y / 3 + 1]", 2, -1),
}


def slid(text: str, *arrays: str):
    made = plan(text).tile("o", y=5)
    for array in arrays:
        made = made.fuse(array, into="o", at="o.y", storage="sliding")
    return right(made)


def test_windows_of_a_chain_are_as_long_as_their_stencils():
    found = lines(slid(CHAIN, "q", "p"))
    assert "  scratch q[3 rolling]" in found
    assert "  scratch p[3 rolling]" in found


def test_the_first_rows_of_a_chain_run_before_its_readers():
    made = slid(CHAIN, "q", "p")
    sizes = {"H": 10}  # two strips
    runs = {name: count(copy.domain, sizes) for name, copy in made.program.copies.items()}
    assert runs["p@o.y"] == 2 * (5 + 4)
    assert runs["q@o.y"] == 2 * (5 + 2)


@pytest.mark.parametrize(("rows", "reads", "window", "first"), RATES.values(), ids=RATES)
def test_a_window_moves_at_the_rate_of_its_rows(rows, reads, window, first):
    made = slid(SAMPLED % {"rows": rows, "reads": reads}, "p")
    assert f"  scratch p[{window} rolling]" in lines(made)
    times = made.program.prefixes["p@o.y"].range()
    assert times.dim_min_val(1).to_python() == first


def test_each_row_of_a_strip_runs_once():
    for rows, reads, *_ in RATES.values():
        made = slid(SAMPLED % {"rows": rows, "reads": reads}, "p")
        instances = made.program.copies["p@o.y"].domain
        strips = instances.project_out(dim_type.set, 1, 1)
        sizes = {"H": 23}
        assert count(instances, sizes) == count(strips, sizes)
