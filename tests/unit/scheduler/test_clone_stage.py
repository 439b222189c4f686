"""Arrays computed once more for readers that read each element once: where, and what is said."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

SIZES = {"H": 1200, "W": 1600}


def pipeline(rows: int, *, products: int = 1) -> po.Scop:
    """Sums of products, sums of so many by so many of them, and the ratio of two of these and one of
    those."""
    a, b = (po.input(name, po.f32, ["H", "W"]) for name in "ab")
    heavy = po.stage(
        "heavy",
        ["H", "W"],
        lambda y, x: sum(((a[y, x] + k) * a[y, x] for k in range(products)), start=a[y, x]),
    )
    sums = po.stage(
        "sums",
        [f"H - {rows}", f"W - {rows}"],
        lambda y, x: sum(
            (heavy[y + j, x + i] for j in range(rows) for i in range(rows)), start=b[y, x]
        ),
    )
    out = po.stage(
        "out",
        [f"H - {rows + 1}", f"W - {rows}"],
        lambda y, x: (sums[y, x] + sums[y + 1, x]) / heavy[y, x],
    )
    return po.pipeline(out, name="ratio", context=[f"H > {rows + 1}", f"W > {rows}"])


def test_a_reader_of_single_elements_computes_them_itself(tmp_path):
    scop = pipeline(4)
    plan = po.auto(scop, sizes=SIZES)
    assert (plan.moves[0].name, plan.moves[0].args) == ("clone_stage", ("heavy", "out"))
    assert "heavy_again" in plan.program.inlined
    assert "heavy" not in plan.program.inlined
    (said,) = (r for r in plan.remarks if r.move == "clone_stage")
    assert (said.kind, said.subject, said.consumer) == ("applied", "heavy", "out")
    assert said.numbers["bytes"] == 4 * SIZES["H"] * SIZES["W"]
    image = np.random.default_rng(0).random((2, 40, 70)).astype(np.float32) + 1
    named = {"a": image[0].copy(), "b": image[1].copy()}
    expected = po.Plan(scop).compile(cache=tmp_path)(**named)
    np.testing.assert_allclose(plan.compile(cache=tmp_path)(**named), expected, rtol=1e-5)


def test_what_takes_many_operations_is_computed_once():
    plan = po.auto(pipeline(4, products=8), sizes=SIZES)
    assert plan.scop is plan.source


@pytest.mark.parametrize("size", [16, 64])
def test_what_stays_in_the_cache_is_computed_once(size):
    plan = po.auto(pipeline(4), sizes={"H": size, "W": size})
    assert plan.scop is plan.source
