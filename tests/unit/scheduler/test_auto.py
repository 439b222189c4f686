"""What the automatic plan chooses, by rule and not by name."""

from pathlib import Path

import numpy as np
import pytest

import polyopt as po

KERNELS = Path(__file__).parents[3] / "kernels"

ROW_SUM = """
void rows(int H, int W, const float a[restrict H][W], float s[restrict H])
{
    float t[H][W];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            t[y][x] = a[y][x] * 0.5f + 1.0f;
    for (int y = 0; y < H; y++) {
        s[y] = 0;
        for (int x = 0; x < W; x++)
            s[y] += t[y][x];
    }
}
"""

TWO_STENCILS = """
void two(int H, int W, const float a[restrict H][W], float out[restrict H - 8][W])
{
    float t[H][W];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            t[y][x] = a[y][x] * a[y][x] * 0.5f + a[y][x] * 3.0f + 1.0f / (a[y][x] + 2.0f);
    for (int y = 0; y < H - 8; y++)
        for (int x = 0; x < W; x++)
            out[y][x] = t[y][x] + t[y + 2][x] + t[y + 4][x] + t[y + 6][x] + t[y + 8][x];
}
"""


def applied(plan: po.Plan, move: str) -> set[str]:
    return {r.subject for r in plan.remarks if r.kind == "applied" and r.move == move}


def test_what_a_serial_sum_reads_is_not_computed_inside_it():
    plan = po.auto(po.parse_c(ROW_SUM), sizes={"H": 1000, "W": 1000}, target="avx2")

    assert applied(plan, "inline") == set()
    assert applied(plan, "fuse") == {"t"}
    assert any(name.startswith("t.") for name in applied(plan, "vectorize"))


def test_a_costly_producer_is_kept_and_computed_once_per_strip():
    plan = po.auto(po.parse_c(TWO_STENCILS), sizes={"H": 2000, "W": 2000}, target="avx2")

    assert applied(plan, "inline") == set()
    (scratch,) = plan.program.scratches
    assert scratch.array == "t"
    assert scratch.fold(0) >= 9  # nothing smaller holds the rows that one output row reads


@pytest.mark.parametrize("text", [ROW_SUM, TWO_STENCILS])
def test_plans_are_deterministic_and_made_of_moves(text, tmp_path):
    scop = po.parse_c(text)
    one, other = (po.auto(scop, sizes={"H": 100, "W": 200}, target="avx2") for _ in range(2))
    one.save(tmp_path / "plan.json")
    again = po.Plan.load(tmp_path / "plan.json", po.parse_c(text))

    assert one.script == other.script
    assert str(again) == str(one)
    assert again.emit().source == one.emit().source == other.emit().source


@pytest.mark.parametrize("height", [9, 17, 64, 65])
def test_the_automatic_plan_computes_what_the_source_does(height):
    scop = po.parse_c(TWO_STENCILS)
    image = np.random.default_rng(height).random((height, 31), dtype=np.float32)

    fast = po.auto(scop, sizes={"H": 2000, "W": 2000}).compile()(image)

    np.testing.assert_allclose(fast, po.Plan(scop).compile()(image), rtol=1e-6)


def test_every_producer_has_a_remark():
    plan = po.auto(po.parse_c(KERNELS / "unsharp.c"), sizes={"H": 300, "W": 400}, target="avx2")
    producers = {a.name for a in plan.scop.arrays if a.role == "temp"}

    assert producers <= {r.subject for r in plan.remarks}


def blurs(stages: int) -> po.Scop:
    last = po.input("img", po.f32, ["H", "W"])
    for number in range(1, stages + 1):
        name = "out" if number == stages else f"s{number}"
        extents = [f"{size} - {2 * number}" for size in ("H", "W")]
        last = po.stage(name, extents, lambda y, x, last=last: _box(last, y, x))
    least = 2 * stages + 1
    return po.pipeline(last, name="blurs", context=[f"H >= {least}", f"W >= {least}"])


def _box(image: po.stage, y: object, x: object) -> object:
    first, *others = (image[y + j, x + i] for j in range(3) for i in range(3))
    return sum(others, start=first)


def test_a_program_that_needs_large_sizes_is_weighed_at_these():
    plan = po.auto(blurs(14), sizes={"H": 1080, "W": 1920}, target="avx2")

    assert applied(plan, "inline") == set()
    assert applied(plan, "fuse")
