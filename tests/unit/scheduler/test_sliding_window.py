"""Row pipelines: who runs down a result's strips, and who does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.analysis.sets.count import count
from polyopt.codegen.target import target as find_target
from polyopt.scheduler.context import SearchContext
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.strategies import sliding_window as rows
from polyopt.scheduler.strategies.sliding_window import moves_with
from polyopt.transform.schedule.query import loops_around

SIZES = {"H": 2000, "W": 2000}


def image(planes=0):
    return po.input("img", po.f32, (planes, "H + 8", "W + 8") if planes else ("H + 8", "W + 8"))


def costly(value):
    """More work than storing the value takes."""
    return po.sqrt(value * value + 1) / (value + 2) + po.exp(value)


def plan_of(*outputs, **options):
    scop = po.pipeline(*outputs, name="program", context=["H >= 1", "W >= 1"])
    return po.auto(scop, sizes=SIZES, target="avx2", **options)


def remark(plan, kind, subject):
    (found,) = [r for r in plan.remarks if (r.move, r.kind, r.subject) == ("fuse", kind, subject)]
    return found


def windows(plan):
    return {s.array: s.folds for s in plan.program.scratches}


def runs(plan, array):
    """How often an array's elements are computed, on average."""
    copies = [c for c in plan.program.copies.values() if c.statement.array == array]
    once = count(copies[0].statement.domain, SIZES)
    return sum(count(c.domain, SIZES) for c in copies) / once


def test_a_chain_runs_in_windows_of_its_stencils():
    rows = po.stage("first", ("H + 4", "W"), lambda y, x: costly(image()[y, x]))
    then = po.stage("second", ("H + 2", "W"), lambda y, x: costly(rows[y, x] + rows[y + 2, x]))
    plan = plan_of(po.stage("out", ("H", "W"), lambda y, x: then[y, x] + then[y + 2, x]))
    assert windows(plan) == {"first": (3, 0), "second": (3, 0)}
    assert 1 < runs(plan, "first") < 1.1


def test_what_all_channels_need_is_computed_once():
    colours = image(6)
    gray = po.stage("gray", ("H", "W"), lambda y, x: costly(colours[0, y, x] + colours[1, y, x]))
    out = po.stage("out", (6, "H", "W"), lambda c, y, x: colours[c, y, x] * gray[y, x])
    plan = plan_of(out)
    assert runs(plan, "gray") == 1
    names = [loop.iterator for loop in loops_around(plan.program, "out")]
    assert names == ["y_tile", "y", "c", "x"]


def test_channels_read_together_go_inside_too():
    colours = image(7)
    scaled = po.stage("scaled", (7, "H", "W"), lambda c, y, x: costly(colours[c, y, x]))
    out = po.stage("out", (6, "H", "W"), lambda c, y, x: scaled[c, y, x] / scaled[6, y, x])
    assert runs(plan_of(out), "scaled") == 1


def test_loops_move_with_what_their_iterations_need():
    colours = image(3)
    gray = po.stage("gray", ("H", "W"), lambda y, x: colours[0, y, x] + colours[1, y, x])
    table = po.stage("table", 256, lambda i: po.exp(po.cast("f32", i)))
    level = po.stage("level", ("H", "W // 2"), lambda y, x: gray[y, 2 * x])
    out = po.stage(
        "out",
        (3, "H", "W // 2"),
        lambda c, y, x: table[po.clamp(po.cast("i32", level[y, x]), 0, 255)] * colours[c, y, x],
    )
    program = po.Plan(po.pipeline(out, name="p", context=["H >= 1", "W >= 2"])).program
    found = moves_with(program, "out", loops_around(program, "out"))
    assert found == {
        "level": {"out.y", "out.x"},
        "gray": {"out.y", "out.x"},
        "table": frozenset(),
    }


def test_what_each_row_needs_whole_stays():
    picture = image()
    table = po.stage("table", 1 << 20, lambda i: costly(po.cast("f32", i)))
    rows = po.stage("rows", ("H + 1", "W"), lambda y, x: costly(picture[y, x]))
    out = po.stage(
        "out",
        ("H", "W"),
        lambda y, x: rows[y + 1, x] + table[po.clamp(po.cast("i32", rows[y, x]), 0, (1 << 20) - 1)],
    )
    plan = plan_of(out)
    assert remark(plan, "refused", "table").reason == "each row needs all of it"
    assert runs(plan, "table") == 1


def planes_read_twice():
    """A result for which a cheap array is read in two groups: one needs the whole of the other."""
    colours = image(3)

    def cheap(c, y, x):
        return (colours[0, y, x] * po.cast("f32", c) + 1) * colours[1, y, x] + 2

    planes = po.stage("planes", (8, "H", "W"), cheap)

    def pairs(y, x):
        return costly(po.sum(lambda k: planes[k, y, x] * planes[7 - k, y, x], k=8))

    sums = po.stage("sums", ("H", "W"), pairs)
    total = po.stage("total", "W", lambda x: po.sum(lambda k: sums[k, x], k="H"))
    return po.stage("out", (8, "H", "W"), lambda c, y, x: planes[c, y, x] - total[x])


def test_a_cheap_array_is_computed_in_each_group_that_reads_it():
    plan = plan_of(planes_read_twice())
    (said,) = [r for r in plan.remarks if (r.kind, r.subject) == ("applied", "planes")]
    assert said.numbers["recompute"] == 2
    own = [c for c in plan.program.places if plan.program.copies[c].statement.array == "planes"]
    assert len(own) == 2


def test_groups_that_are_predicted_to_take_longer_are_left():
    """Sums of columns in strips of eight, with all rows kept in each: through memory is faster."""
    plan = plan_of(planes_read_twice())
    refused = {r.subject: r.reason for r in plan.remarks if r.move == "fuse"}
    assert refused["sums"] == "no tile is predicted to take less time"
    assert "for out.x_tile:" not in str(plan)


@pytest.mark.parametrize("planes", [2, 2000])
def test_windows_leave_room_in_the_cache(planes):
    deep = po.input("img", po.f32, (planes, "H + 1", "W"))
    layers = po.stage("layers", (planes, "H + 1", "W"), lambda c, y, x: costly(deep[c, y, x]))
    out = po.stage(
        "out",
        ("H", "W"),
        lambda y, x: po.max(lambda k: layers[k, y, x] - layers[k, y + 1, x], k=planes),
    )
    plan = plan_of(out)
    held = plan.cost(SIZES, target="avx2").scratch_bytes
    assert held <= 512 * 1024
    assert (planes == 2) == ("layers" in windows(plan))


def test_blocks_whose_windows_leave_the_cache_are_refused_with_a_remark(monkeypatch):
    """Windows that a single row has room for, but not those of several rows at once."""
    wide = rows.private_bytes

    def widened(program, at, sizes):
        jammed = any(loop.name.endswith("_jam") for loop in program.tree[-1].loops)
        return wide(program, at, sizes) + (find_target("avx2").l2_bytes if jammed else 0)

    monkeypatch.setattr(rows, "private_bytes", widened)
    plan = po.auto(po.load_kernel("harris").scop, target="avx2")
    (said,) = [r for r in plan.remarks if r.move == "unroll_and_jam"]
    assert (said.kind, said.reason) == ("refused", rows.TOO_WIDE)
    assert said.numbers["bytes"] > said.numbers["cache bytes"]
    assert not any(move.name == "unroll_and_jam" for move in plan.moves)


def strips(count, cores, reach=0, images=1):
    """Strips of a result of so many rows that read ``reach`` more rows of its producer."""
    img = po.input("img", po.f32, (images, count + reach, 10000))
    first = po.stage(
        "first", (images, count + reach, 10000), lambda n, y, x: po.sqrt(img[n, y, x]),
        indices=("n", "y", "x"),
    )  # fmt: skip
    out = po.stage(
        "out", (images, count, 9998),
        lambda n, y, x: po.sqrt(first[n, y, x] + first[n, y, x + 2] + first[n, y + reach, x + 1]),
        indices=("n", "y", "x"),
    )  # fmt: skip
    context = SearchContext(replace(find_target("avx2"), cores=cores), {})
    plan, _ = rows.pipelines(po.Plan(po.pipeline(out)), context)
    assert set(windows(plan)) == {"first"}
    (loop,) = [n for n in loops_around(plan.program, "out") if n.iterator == "y_tile"]
    return int(trips(plan.program, loop, {}))


def test_a_short_result_has_strips_for_all_threads():
    assert strips(56, 2) == 8
    assert strips(56, 1) == 1
    # long ones have enough strips, and so have several images
    assert strips(1000, 2) == 8
    assert strips(56, 2, images=2) == 1


def test_where_many_strips_repeat_too_much_there_is_one_for_each_thread():
    assert strips(400, 2, reach=1) == 8
    assert strips(400, 2, reach=8) == 2


def test_what_takes_longer_in_strips_stays_stored():
    """Few rows of many that each needs: every strip would compute most of them again."""
    with pytest.raises(AssertionError, match="first"):
        strips(16, 2, reach=12)
