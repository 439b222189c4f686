"""Order, tiles, memory and arrows of a plan on paper, against loops written by hand."""

from __future__ import annotations

import itertools

import pytest

import polyopt as po
from polyopt.errors import InvalidOptionError
from polyopt.explain.explorer.arrows import dependence_arrows
from polyopt.explain.explorer.drawn import draw, drawn_sizes, scaled_moves
from polyopt.explain.explorer.execution import execute
from polyopt.explain.explorer.snapshot import Sizes, plan_data
from polyopt.library import load_scop

HEAT = """void heat(int T, int N, double A[restrict T + 1][N])
{
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            A[t + 1][i] = 0.25 * (A[t][i - 1] + 2.0 * A[t][i] + A[t][i + 1]);
}
"""
T, N, H, W = 7, 12, 11, 9


@pytest.fixture(scope="module")
def heat(tmp_path_factory):
    file = tmp_path_factory.mktemp("heat") / "heat.c"
    file.write_text(HEAT)
    return po.parse_c(str(file))


def in_order(plan, sizes):
    """Statement and own iterators of each step."""
    found = execute(plan.program, sizes)
    steps = [None] * found.length
    for part in found.instances:
        copy = plan.program.copies[part.copy]
        for row, step in zip(part.rows.tolist(), part.steps.tolist(), strict=True):
            steps[step] = copy.statement.name, tuple(row[copy.outer :])
    return steps


def blur_by_hand():
    """Tiles of 4 x 3 with the rows of bx that each one reads."""
    for yt, xt in itertools.product(range(-(-(H - 2) // 4)), range(-(-(W - 2) // 3))):
        rows = range(4 * yt, min(4 * yt + 4, H - 2))
        line = range(3 * xt, min(3 * xt + 3, W - 2))
        for y, x in itertools.product(range(4 * yt, min(4 * yt + 6, H)), line):
            yield "bx", (y, x)
        for y, x in itertools.product(rows, line):
            yield "out", (y, x)


def blur_plan():
    return po.Plan(load_scop("blur")).tile("out", y=4, x=3).fuse("bx", into="out")


def test_a_fused_plan_runs_tile_by_tile_and_repeats_rows():
    steps = in_order(blur_plan(), {"H": H, "W": W})
    assert steps == list(blur_by_hand())
    assert len(steps) > len(set(steps))


def test_skewed_tiles_run_in_their_order(heat):
    plan = po.Plan(heat).skew("A.i", by="A.t").tile("A", t=3, i=4)
    expected = [
        ("A", (t, i - t))
        for tt in range(-(-T // 3))
        for ii in range((N + T) // 4 + 1)
        for t in range(3 * tt, min(3 * tt + 3, T))
        for i in range(4 * ii, 4 * ii + 4)
        if 1 <= i - t < N - 1
    ]
    assert in_order(plan, {"T": T, "N": N}) == expected


def test_diamonds_keep_the_order_of_values_and_partition_the_instances(heat):
    plan = po.Plan(heat).diamond("A.t", "A.i", 6)
    steps = [point for _, point in in_order(plan, {"T": T, "N": N})]
    assert sorted(steps) == list(itertools.product(range(T), range(1, N - 1)))
    at = {point: step for step, point in enumerate(steps)}
    for t, i in steps:
        for d in (-1, 0, 1):
            assert at.get((t - 1, i + d), -1) < at[t, i]
    # faces of slope one: a tile is what lies between t + i and t - i at multiples of the width
    data = plan_data(plan, Sizes({"T": T, "N": N}, {"T": T, "N": N}))["picture"]
    (space,) = data["spaces"]
    loops = [loop.get("values") for loop in space["loops"][:2]]
    tiles = dict(zip(zip(*space["columns"], strict=True), zip(*loops, strict=True), strict=True))
    same = {}
    for point, tile in tiles.items():
        same.setdefault(tile, []).append(point)
    assert len(same) > 6
    for points in same.values():
        for form in (lambda t, i: t + i, lambda t, i: t - i):
            values = [form(*point) for point in points]
            assert max(values) - min(values) < 6


def test_accesses_have_the_addresses_that_c_gives_them():
    """img, out and the tile's buffer in rows; the buffer is one for all tiles."""
    plan = blur_plan()
    found = execute(plan.program, {"H": H, "W": W})
    memory = {b.name: b for b in found.memory}
    assert {n: b.shape for n, b in memory.items()} == {
        "img": (H, W), "out": (H - 2, W - 2), "bx@out.x_tile": (6, 3),
    }  # fmt: skip
    img, out, buffer = memory["img"], memory["out"], memory["bx@out.x_tile"]
    expected = []
    for yt, xt in itertools.product(range(-(-(H - 2) // 4)), range(-(-(W - 2) // 3))):
        y0, x0 = 4 * yt, 3 * xt
        line = range(x0, min(x0 + 3, W - 2))

        def cell(y, x, y0=y0, x0=x0):
            return buffer.start + 2 * (3 * (y - y0) + x - x0)

        for y, x in itertools.product(range(y0, min(y0 + 6, H)), line):
            reads = [img.start + 2 * (W * y + x + d) for d in range(3)]
            expected.append([*reads, cell(y, x)])
        for y, x in itertools.product(range(y0, min(y0 + 4, H - 2)), line):
            expected.append(
                [*(cell(y + d, x) for d in range(3)), out.start + 2 * ((W - 2) * y + x)]
            )
    assert found.accesses() == expected
    assert len({b.start // 64 for b in found.memory}) == 3


def test_windows_wrap_around_and_inlined_values_are_read_where_they_are_used():
    window = po.Plan(load_scop("blur")).fuse("bx", into="out", storage="sliding")
    found = execute(window.program, {"H": H, "W": W})
    (buffer,) = (b for b in found.memory if b.array == "bx")
    assert buffer.shape[0] == 3
    touched = {
        a
        for step in found.accesses()
        for a in step
        if buffer.start <= a < buffer.start + buffer.bytes
    }
    assert len(touched) == 3 * buffer.shape[1]
    inlined = execute(po.Plan(load_scop("blur")).inline("bx").program, {"H": H, "W": W})
    assert [b.name for b in inlined.memory] == ["img", "out"]
    first = inlined.accesses()[0]
    assert sorted(first[:-1]) == sorted(2 * (W * y + x) for y in range(3) for x in range(3))


def test_registers_are_no_memory():
    plan = po.Plan(load_scop("harris"))
    names = {b.array for b in execute(plan.program, {"H": 9, "W": 9}).memory}
    fused = plan.fuse("det", into="out", at="out.x", storage="register")
    assert names - {b.array for b in execute(fused.program, {"H": 9, "W": 9}).memory} == {"det"}


def test_arrows_are_the_distances_of_the_loops(heat):
    found = dependence_arrows(heat, {"T": 5, "N": 8})
    assert [(e["kind"], e["vectors"], e["uniform"]) for e in found] == [
        ("flow", [[1, -1], [1, 0], [1, 1]], True)
    ]
    gemm = dependence_arrows(load_scop("gemm"), {"M": 3, "N": 4, "K": 2})
    starts = next(e for e in gemm if (e["kind"], e["source"], e["sink"]) == ("flow", "C_0", "C_1"))
    expected = [[[i, j], [i, 0, j]] for i in range(3) for j in range(4)]
    assert sorted(starts["pairs"]) == expected


def test_tiles_are_drawn_smaller_where_several_would_not_fit(heat):
    plan = po.Plan(heat).skew("A.i", by="A.t").tile("A", t=32, i=64)
    drawn = draw(plan, {"T": 12, "N": 18})
    assert drawn.scaled == ("tile('A', t=32, i=64) as tile('A', t=4, i=4)",)
    assert len(set(drawn.execution.instances[0].loops["A.t_tile"].tolist())) == 3
    two = po.Plan(load_scop("blur")).tile("out", y=64, x=64).tile("out", y=32, x=16)
    assert [str(m) for m in scaled_moves(two.moves)[0]] == [
        ".tile('out', y=4, x=4)", ".tile('out', y=2, x=2)",
    ]  # fmt: skip
    untouched = po.Plan(load_scop("blur")).tile("out", y=4, x=3)
    assert draw(untouched, {"H": 12, "W": 12}).plan is untouched


def test_pictures_have_few_instances_unless_sizes_are_given():
    scop = load_scop("seidel_2d")
    chosen = drawn_sizes(scop, None)
    assert 300 < execute(po.Plan(scop).program, chosen).length <= 1500
    assert drawn_sizes(scop, {"N": 9})["N"] == 9
    with pytest.raises(InvalidOptionError, match="are the most"):
        execute(po.Plan(scop).program, {"T": 50, "N": 50})
