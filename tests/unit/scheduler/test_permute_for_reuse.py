"""Outermost loops that pass over an array again: inside of the next one, or not, and why."""

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target

NEST = """
void f(int C, int H, int W, float out[restrict {rank}], float img[restrict C][H][W],
       float weight[restrict H][W])
{{
    for (int c = {first}; c < C; c++)
        for (int y = {top}; y < H; y++)
            for (int x = 0; x < W; x++)
                {body}
}}
"""
SMALL = replace(target("generic"), l1_bytes=8192, l2_bytes=32768, last_bytes=65536, cores=2)


def planned(body, rank="C][H][W", first=0, top=0, rows=400):
    scop = po.parse_c(NEST.format(body=body, rank=rank, first=first, top=top))
    return po.auto(scop, sizes={"C": 3, "H": rows, "W": 300}, target=SMALL)


def said(plan):
    return [(r.kind, r.subject, r.consumer) for r in plan.remarks if r.move == "reorder"]


def outermost(plan):
    return plan.program.tree[0].name


WEIGHTED = "out[c][y][x] = img[c][y][x] * weight[y][x];"
SUMMED = "out[y][x] = out[y][x] + img[c][y][x] * weight[y][x];"


@pytest.mark.parametrize(("body", "rank"), [(WEIGHTED, "C][H][W"), (SUMMED, "H][W")])
def test_channels_run_inside_of_the_rows_whose_weights_they_share(body, rank):
    plan = planned(body, rank)
    assert said(plan) == [("applied", "out.c", "out.y")]
    assert outermost(plan) == "out.y"
    [remark] = [r for r in plan.remarks if r.move == "reorder"]
    assert remark.numbers["bytes so"] < 0.9 * remark.numbers["bytes"]
    c, h, w = 3, 11, 67
    rng = np.random.default_rng(1)
    img, weight = rng.random((c, h, w), np.float32), rng.random((h, w), np.float32)
    out = rng.random((c, h, w) if body == WEIGHTED else (h, w), np.float32)
    parts = img * weight
    expected = parts if body == WEIGHTED else out + parts[0] + parts[1] + parts[2]
    got = plan.compile()(img=img, weight=weight, out=out)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_what_the_caches_hold_is_passed_over_as_often_as_it_is():
    plan = planned(WEIGHTED, rows=20)
    assert said(plan) == []
    assert outermost(plan) == "out.c"


def test_an_array_without_its_like_is_passed_over_once_anyway():
    plan = planned("out[c][y][x] = img[c][y][x] * 2;")
    assert said(plan) == []
    assert outermost(plan) == "out.c"


def test_rows_that_need_each_other_stay_inside_of_what_threads_share():
    plan = planned("out[c][y][x] = img[c][y][x] * weight[y][x] + out[c][y - 1][x];", top=1)
    assert said(plan) == [("refused", "out.c", "out.y")]
    assert outermost(plan) == "out.c"
