"""Sweeps: the grid, plans in its sizes, ranks, the command, the page. No times."""

import json
from dataclasses import asdict
from itertools import count

import numpy as np
import pytest
from click.testing import CliRunner

import polyopt as po
from polyopt.bench.pages.compose import page
from polyopt.bench.pages.markdown import Making
from polyopt.bench.pages.reading import Sweeps, read
from polyopt.bench.runner import Subjects
from polyopt.bench.tuning import sweep as sweeping
from polyopt.bench.tuning.sweep import Point, Sweep, grid, resized, spearman, tilings
from polyopt.cli import cli
from polyopt.errors import InvalidOptionError
from polyopt.explain.choices.placements import blocks_of
from polyopt.runtime.measuring.alternate import Sample

UNSHARP = po.load_kernel("unsharp")
SIZES = {"H": 40, "W": 300}


@pytest.fixture(scope="module")
def plan():
    return po.auto(UNSHARP.scop, sizes=UNSHARP.sizes["bench"])


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 40], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3], [1, 100, 2], 0.5),
        ([1, 1, 2], [5, 5, 9], 1.0),
        ([1, 2, 2, 3], [1, 2, 3, 4], 0.9486832980505138),
        ([7, 7, 7], [1, 2, 3], 0.0),
    ],
)
def test_ranks_correlate(one, two, expected):
    assert spearman(one, two) == pytest.approx(expected)


def test_the_grid_has_the_plans_own_sizes_once_and_none_that_one_tile_fills(plan):
    found = list(grid(plan, UNSHARP.sizes["bench"]))
    strip = next(dict(m.options)["y"] for m in plan.moves if m.name == "tile")
    assert [(rows, columns) for rows, columns, own in found if own] == [(strip, 0)]
    assert len(found) == len(set(found)) == 6 * len({strip, *sweeping.ROWS})
    small = list(grid(plan, SIZES))
    assert {rows for rows, _, own in small if not own} == {8, 32, strip}
    assert {columns for _, columns, _ in small} == {0, 64, 128, 256}


def test_a_plan_in_other_sizes_is_proven_and_computes_the_same(plan):
    other = resized(plan, 16, 64, SIZES)
    assert blocks_of(other.program) == (16, 64)
    assert other.prove()
    inputs = UNSHARP.inputs(SIZES, np.random.default_rng(0))
    results = [p.compile()(**inputs, **SIZES) for p in (plan, other)]
    assert (results[0] == results[1]).all()


def test_whole_rows_of_a_plan_with_tiles_are_one_tile(plan):
    tiled = resized(plan, 16, 64, SIZES)
    (tiling,) = tilings(tiled)
    assert tiling.sizes == {"y": 16, "x": 64}
    assert blocks_of(resized(tiled, 32, 0, SIZES).program) == (32, SIZES["W"])


def test_a_plan_without_tiles_is_refused():
    with pytest.raises(InvalidOptionError, match="the plan of blur has neither strips nor tiles"):
        tilings(po.Plan(po.load_kernel("blur").scop))


@pytest.fixture
def timed(monkeypatch, plan):
    """Times nothing: the first plan takes 7 ms, each other 1 ms less.

    The plan's own rows are fewer than all others, which on some machine they might not be.
    """
    own = resized(plan, 8, 0, SIZES)
    asked: list[list[str]] = []

    def at_once(subjects, *, seconds, rounds):
        asked.append(list(subjects))
        if len(asked) % 2:
            took.update(zip(subjects, count(7, -1), strict=False))
        slower = 1.0 if len(asked) % 2 else 1.5
        return {name: Sample(took[name] * slower, 1.0, 0.1, 7) for name in subjects}

    took: dict[str, float] = {}
    monkeypatch.setattr(sweeping, "alternate", at_once)
    monkeypatch.setattr(sweeping, "auto", lambda _scop, sizes: own)
    monkeypatch.setattr(sweeping, "ROWS", (16, 32))
    monkeypatch.setattr(sweeping, "COLUMNS", (0, 64))
    return asked


def test_a_sweep_measures_the_fastest_again_beside_the_models_choice(timed):
    heard: list[tuple[int, int]] = []
    what = Subjects("unsharp", UNSHARP.scop, UNSHARP, SIZES, "images")
    one, two = sweeping.sweep(
        what, threads=(1, 2), report=lambda done, total: heard.append((done, total))
    )
    assert (one.threads, two.threads) == (1, 2)
    assert heard[-1] == (6, 6)
    assert [len(names) for names in timed] == [6, 4, 6, 4]
    assert timed[1] == [*reversed(timed[0][-3:]), repr((one.chosen.rows, one.chosen.columns))]
    # what the second run was slower by is taken out again
    assert [p.median_ms for p in one.points] == pytest.approx([7, 6, 5, 4, 3, 2])
    assert one.best.median_ms == pytest.approx(2)
    assert one.behind == pytest.approx(one.chosen.median_ms / 2 - 1)
    assert all(p.estimate > 0 for p in one.points)
    assert two.chosen.estimate < one.chosen.estimate


def test_the_command_prints_table_and_summary(timed):
    size = ",".join(f"{name}={value}" for name, value in SIZES.items())
    arguments = ["bench", "unsharp", "--sweep", "--size", size, "--threads", "1"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert "unsharp, 1 thread: rank correlation " in result.stdout
    assert "is 250.0% behind the best, 32 x 64" in result.stdout
    assert result.stdout.count("the model's choice") == 2
    result = CliRunner().invoke(cli, [*arguments, "--json"])
    document = json.loads(result.stdout)
    (found,) = document["sweeps"]
    assert found["program"] == "unsharp"
    assert -1 <= found["spearman"] <= 1
    assert len(found["points"]) == 6
    run = read(result.stdout, "sweep.json")
    assert isinstance(run, Sweeps)
    assert run.sweeps[0].correlation == found["spearman"]


def some():
    points = tuple(
        Point(rows, columns, 1000.0 + place * 100, 2.0 + place, 0.1, noisy=False, chosen=place == 1)
        for place, (rows, columns) in enumerate([(8, 0), (16, 0), (16, 64)])
    )
    return Sweep("harris", SIZES, 2, points)


def document(*sweeps):
    return {
        "command": "polyopt bench harris --sweep --json", "date": "2026-01-02", "versions": {},
        "cpu": "a cpu", "cores": 2, "compiler": "a cc", "sweeps": [s.as_dict() for s in sweeps],
    }  # fmt: skip


def test_the_page_has_a_line_for_each_sweep_and_a_table_of_its_grid():
    run = read(json.dumps(document(some())), "sweep.json")
    made = page(run, Making("build/sweep.json", "sweep.svg", "polyopt report"))
    assert (
        "| harris | 2 | 3 | 1.00 | 16 x whole | 3.000 | 8 x whole | 2.000 | 50.0% "
        "| 8 x whole (0.0%) |"
    ) in made.markdown
    assert "| 16 | whole | 1100.000 | 3.000 | 0.100 | 1.50 | the model's choice |" in made.markdown
    assert "| 16 | 64 | 1200.000 | 4.000 | 0.100 | 2.00 | - |" in made.markdown
    assert "sizes: harris H = 40, W = 300" in made.markdown
    assert made.svg.count("<title>") == 3
    assert made.svg.count("<circle") == 1
    assert "16 x 64, 2 threads: 2.00 at 1.20" in made.svg


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"median_ms": 0.0}, "is not positive"),
        ({"chosen": True}, "one has to be 'chosen'"),
        ({"rows": "8"}, "'rows' is not a whole number"),
    ],
)
def test_a_document_that_is_no_sweep_is_refused(change, said):
    found = document(some())
    found["sweeps"][0]["points"][0] |= change
    with pytest.raises(InvalidOptionError, match=said):
        read(json.dumps(found), "sweep.json")


def test_points_come_back_as_they_were():
    run = read(json.dumps(document(some())), "sweep.json")
    assert [asdict(p) for p in run.sweeps[0].points] == [asdict(p) for p in some().points]
