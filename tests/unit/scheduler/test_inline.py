"""What is read through arrays that are inlined already."""

from __future__ import annotations

from itertools import permutations

import pytest

import polyopt as po
from polyopt.isl import dim_type, parse_map
from polyopt.rewrite import Rewriting, regions_in
from polyopt.scheduler.strategies import inline as inlining

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
    reading = inlining.ReuseAnalysis(scop, {"n": 24}, {"row"})
    ((host, taps),) = reading.hosts("shifted").items()
    assert host == next(s.name for s in scop.statements if s.array == "out")
    (tap,) = taps
    expected = parse_map("[n] -> { [i, j] -> [i] : 0 <= i < n and 0 <= j < n }")
    plain = tap.reset_tuple_id(dim_type.in_).reset_tuple_id(dim_type.out)
    assert plain.is_equal(expected.align_params(plain.get_space()))


EDGES = """#include <stdint.h>
#include <stdlib.h>
void edges(int H, int W, const uint8_t img[restrict H][W], uint8_t bin[restrict H][W],
           uint8_t iir[restrict H][W], int32_t hist[restrict 256])
{
#pragma polyopt inbounds
#pragma scop
    uint8_t mag[H][W];
    for (int y = 1; y < H - 1; y++)
        for (int x = 1; x < W - 1; x++) {
            int gx = img[y - 1][x + 1] + 2 * img[y][x + 1] - img[y - 1][x - 1] - 2 * img[y][x - 1];
            int gy = img[y + 1][x - 1] + 2 * img[y + 1][x] - img[y - 1][x - 1] - 2 * img[y - 1][x];
            mag[y][x] = abs(gx) + abs(gy) > 255 ? 255 : abs(gx) + abs(gy);
        }
    %s
    %s
#pragma endscop
}
"""
NEST = "for (int y = 1; y < H - 1; y++) for (int x = 1; x < W - 1; x++) "
READERS = {
    "bin": NEST + "bin[y][x] = mag[y][x] > 99 ? 255 : 0;",
    "hist": NEST + "hist[mag[y][x]] += 1;",
    "iir": NEST + "iir[y][x] = (3 * iir[y][x - 1] + mag[y][x]) >> 2;",
}


def marks_of(path, readers):
    """Per statement the marks of its loops, from the outside in."""
    path.write_text(EDGES % tuple(READERS[name] for name in readers))
    (region,) = regions_in(path, Rewriting())[1]
    plan = po.auto(region.scop, sizes={"H": 2160, "W": 3840}, target="avx2")
    return {
        name: tuple(loop.mark for loop in place.loops)
        for name, place in plan.program.places.items()
    }


@pytest.mark.parametrize("pair", [("bin", "hist"), ("bin", "iir"), ("hist", "iir")])
def test_a_vector_loop_is_not_repeated_one_by_one_in_whatever_order_its_readers_stand(
    tmp_path, pair
):
    found = [marks_of(tmp_path / "edges.c", readers) for readers in permutations(pair)]
    assert found[0] == found[1]
    assert {"parallel", "vector"} <= {*found[0]["mag"]}
