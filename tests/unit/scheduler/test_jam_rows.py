"""Rows in blocks: when they pay, how many, what is inlined then, and the same results."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import polyopt as po
from polyopt.scheduler.strategies import jam_rows as blocks
from tests.unit.scheduler.test_sliding_window import costly, image, plan_of


def tower(stages, tall=3):
    """Stages of a few rows each, cheap to compute."""
    last = po.input("img", po.f32, ("H + 8", "W + 8"))
    for number in range(stages):
        source, left = last, (tall - 2) * (stages - number - 1) + 2
        last = po.stage(
            f"s{number}",
            (f"H + {left}", f"W + {stages - number}"),
            lambda y, x, source=source: po.f32(0.5) * (source[y, x] + source[y + tall - 2, x + 1]),
        )
    return po.stage("out", ("H", "W"), lambda y, x: last[y, x] + last[y + 1, x] * last[y + 2, x])


def jammed(plan):
    return [loop for loop in plan.loops("out") if loop.endswith("_jam")]


def inlined(plan):
    return {m.args[0] for m in plan.moves if m.name == "inline"}


def test_a_stencil_of_a_stencil_is_inlined_in_blocks():
    """The first stage alone is not worth repeating for each of three rows; shared, it is."""
    plan = plan_of(three_by_three())
    assert jammed(plan) == ["out.y_jam"]
    assert "rows" in inlined(plan)
    (said,) = [r for r in plan.remarks if r.subject == "rows" and r.kind == "applied"]
    assert said.numbers["rows"] in {2, 4, 8}
    assert said.numbers["predicted ns"] < said.numbers["in single rows"]


def three_by_three():
    img = image()

    def row(y, x):
        return (img[y, x] + img[y, x + 1] + img[y, x + 2]) * po.f32(1 / 3)

    rows = po.stage("rows", ("H + 2", "W"), row)
    return po.stage("out", ("H", "W"), lambda y, x: rows[y, x] + rows[y + 1, x] + rows[y + 2, x])


def test_costly_stages_stay_stored_row_by_row():
    rows = po.stage("rows", ("H + 6", "W"), lambda y, x: costly(image()[y, x]))
    out = po.stage("out", ("H", "W"), lambda y, x: rows[y, x] + rows[y + 6, x])
    assert not jammed(plan_of(out))


@cache
def in_blocks(height):
    """The kernel of three stages in blocks of rows, and the unfused one."""
    scop = po.pipeline(tower(3), name="program", context=["H >= 1", "W >= 1"])
    plan = po.Plan(scop).inline("s2").tile("out", y=16).unroll_and_jam("out.y", height)
    for producer in ("s1", "s0"):
        plan = plan.fuse(producer, into="out", at="out.y_jam", storage="sliding")
        plan = blocks.unroll_rows(plan, producer, "out.y_jam")
    plan = plan.separate_full_tiles("out.y_jam").vectorize("out.x").parallelize("out.y_tile")
    plan.prove()
    return plan.compile(contract=False), po.Plan(scop).compile(contract=False)


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (7, 16), (8, 17), (9, 5), (128, 3), (131, 33)])
@pytest.mark.parametrize(
    "height", [pytest.param(h, marks=pytest.mark.xdist_group(f"rows {h}")) for h in (2, 3, 4)]
)
def test_blocks_of_any_height_compute_the_same(size, height):
    """Windows, partial blocks, and strips of fewer rows than a block."""
    planned, unfused = in_blocks(height)
    h, w = size
    img = np.random.default_rng(0).random((h + 8, w + 8), np.float32)
    assert np.array_equal(planned(img=img, H=h, W=w), unfused(img=img, H=h, W=w))


def test_the_rows_of_a_producer_are_told_from_its_channels():
    """A loop over three channels runs a constant number of times as well."""
    img = image(3)
    base = po.stage("base", (3, "H + 2", "W"), lambda c, y, x: img[c, y, x] * 2)
    out = po.stage(
        "out", ("H", "W"), lambda y, x: base[0, y, x] + base[1, y + 1, x] + base[2, y + 2, x]
    )
    scop = po.pipeline(out, name="program", context=["H >= 1", "W >= 1"])
    plan = po.Plan(scop).tile("out", y=16).unroll_and_jam("out.y", 4)
    plan = plan.fuse("base", into="out", at="out.y_jam", storage="sliding")
    found = blocks.row_loop(plan.program, "base", "out.y_jam")
    assert found is not None
    assert found.iterator == "y"


def test_bodies_stay_small():
    """Sixty-four loads a row are shared by nobody: blocks of eight would be a body of 512."""
    img = po.input("img", po.f32, ("H + 2", "W + 512"))

    def wide(y, x):
        return sum((img[y, x + 8 * k] for k in range(64)), start=po.f32(0))

    rows = po.stage("rows", ("H + 2", "W"), wide)
    plan = plan_of(po.stage("out", ("H", "W"), lambda y, x: rows[y, x] + rows[y + 2, x]))
    assert not jammed(plan)


def test_rows_of_statements_that_share_no_loop():
    """A sum is set to zero outside of the loop over rows that its producer is inlined into."""
    scop = po.parse_c("""
        void step(int N, const double p[restrict N][N], double r[restrict N][N], double rr[restrict 1])
        {
            double q[N][N];
            double alpha = rr[0], next = 0.0;
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++)
                    q[i][j] = 4.0 * p[i][j];
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    r[i][j] -= alpha * q[i][j];
                    next += r[i][j] * r[i][j];
                }
            rr[0] = next;
        }
        """)
    plan = po.auto(scop, sizes={"N": 1024})
    assert "q" in inlined(plan)
    rng = np.random.default_rng(0)
    p, r = rng.random((2, 19, 19))
    residual, total = plan.compile()(p=p, r=r.copy(), rr=np.array([0.5]))
    left = r - 0.5 * (4.0 * p)
    assert np.array_equal(residual, left)
    assert np.isclose(total[0], (left * left).sum())
