"""Benchmarks of small kernels: rows, agreement, tables, JSON, tuning."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import polyopt as po
from polyopt.bench import Results, load_results, measure_kernels, runner
from polyopt.bench.machine import Machine
from polyopt.bench.pages.report import COLUMNS, summary, table
from polyopt.bench.runner import Row, Subjects, agrees, bench
from polyopt.bench.tuning.tune import Effort, candidates, save_plan, tune
from polyopt.cli import cli
from polyopt.errors import InternalError, InvalidOptionError
from polyopt.runtime.measuring.arguments import CallArguments, inputs_for
from tests.unit.explain.test_jupyter import shown

MACHINE = Machine("a cpu", 2, "a cc", {1: 10.0, 2: 20.0}, {1: 100.0, 2: 200.0})
DESIGN = "suite kernel size variant threads median_ms min_ms iqr_ms runs limit_ms fraction agrees"


def subjects(name, sizes="test"):
    kernel = po.load_kernel(name)
    return Subjects(name, kernel.scop, kernel, kernel.sizes[sizes])


@pytest.mark.parametrize("name", ["blur", "conv2d", "gemm", "jacobi_2d"])
def test_every_variant_has_a_row_and_agrees(name):
    rows = list(bench(subjects(name), MACHINE, threads=(1, 2), rounds=2))
    assert [r.threads for r in rows] == sorted(r.threads for r in rows)
    for count in (1, 2):
        variants = [r.variant for r in rows if r.threads == count]
        assert variants[:2] == ["polyopt", "polyopt-unfused"]
    for row in rows:
        assert row.agrees
        assert row.fraction == pytest.approx(row.limit_ms / row.median_ms)
        assert 0 < row.min_ms <= row.median_ms
        assert row.compile_s > row.schedule_s >= 0
        assert row.proof_s > 0


def test_more_threads_have_another_limit():
    one, two = (
        next(r for r in bench(subjects("blur"), MACHINE, threads=(n,), rounds=2)).limit_ms
        for n in (1, 2)
    )
    assert one == pytest.approx(2 * two)


def test_a_copy_is_one_more_form_where_memory_sets_the_limit():
    asked = []

    def copying(live_bytes, threads):
        asked.append((live_bytes, threads))
        return lambda: None

    what = subjects("blur")
    by_memory = replace(MACHINE, copying=copying)
    *ours, copy = bench(what, by_memory, threads=(2,), rounds=2)
    assert copy.variant == "copy"
    assert copy.agrees
    assert copy.limit_ms == ours[0].limit_ms
    # u16: all of the input is read, and an output of two rows and columns less is written
    assert asked == [(2 * (13 * 19 + 11 * 17), 2)]
    by_arithmetic = replace(by_memory, peak_gflops={1: 1e-6, 2: 1e-6})
    assert "copy" not in [r.variant for r in bench(what, by_arithmetic, threads=(2,), rounds=2)]


def test_the_summary_names_the_copy():
    rows = [row("polyopt", 2.0), row("polyopt-unfused", 6.0), row("copy", 1.5)]
    (line,) = summary(rows)
    assert line.startswith("blur, 1 thread: 3.00x the speed of unfused, 50% of the limit, ")
    assert line.endswith(" 75% of a copy's speed in the same rounds")


def test_peers_are_checked_before_anything_is_planned():
    with pytest.raises(InvalidOptionError, match="no peer is called 'fortran'"):
        list(bench(subjects("blur"), MACHINE, threads=(1,), peers=("fortran",)))


def test_a_wrong_result_does_not_agree():
    what = subjects("blur")
    plan = po.Plan(what.scop)
    kernel = plan.compile()
    inputs = inputs_for(kernel, what.sizes, library=what.library)
    expected = what.library.reference(**inputs)
    assert agrees(plan, kernel, inputs, what.sizes, expected)
    expected["out"] = expected["out"].copy()
    expected["out"][0, 0] += 1
    assert not agrees(plan, kernel, inputs, what.sizes, expected)


def test_few_outliers_count_only_if_they_stay_without_contraction(monkeypatch):
    what = subjects("conv2d")
    plan = po.Plan(what.scop)
    kernel = plan.compile(contract=False)
    inputs = inputs_for(kernel, what.sizes, library=what.library)
    shares = iter([1e-4, 0.0, 1e-4, 1e-4, 0.5])
    monkeypatch.setattr(runner, "share_of_outliers", lambda *_: next(shares))
    answers = [agrees(plan, kernel, inputs, what.sizes, {}) for _ in range(3)]
    assert answers == [True, False, False]


def test_calls_start_from_the_first_contents():
    what = subjects("gemm")
    kernel = po.Plan(what.scop).compile()
    inputs = inputs_for(kernel, what.sizes, library=what.library)
    before = inputs["C"].copy()
    call = CallArguments.make(kernel, inputs, what.sizes)
    assert call.changes_inputs
    call.call(kernel)
    once = call.results["C"].copy()
    call.restore()
    call.call(kernel)
    assert np.array_equal(call.results["C"], once)
    assert np.array_equal(inputs["C"], before)


def row(variant, median, threads=1, **others):
    values = {
        "suite": "kernels", "kernel": "blur", "size": {"H": 8}, "variant": variant,
        "threads": threads, "median_ms": median, "min_ms": median, "iqr_ms": 0.0, "runs": 9,
        "limit_ms": 1.0, "fraction": 1.0 / median, "agrees": True, "compile_s": 0.5,
        "schedule_s": 0.1, "proof_s": 0.1, "noisy": False,
    }  # fmt: skip
    return Row(**{**values, **others})


def test_the_table_has_the_ratio_to_unfused_on_as_many_threads():
    rows = [
        row("polyopt", 2.0), row("polyopt-unfused", 6.0),
        row("polyopt", 1.0, 2, noisy=True), row("polyopt-unfused", 5.0, 2, agrees=False),
    ]  # fmt: skip
    cells = list(table(rows))
    titles = [title for title, _ in COLUMNS]
    assert [c[titles.index("vs unfused")] for c in cells] == ["3.00x", "1.00x", "5.00x", "1.00x"]
    assert [c[titles.index("agrees")] for c in cells] == ["yes", "yes", "yes", "NO"]
    assert cells[2][titles.index("median ms")] == "1.000~"
    assert list(summary(rows)) == [
        "blur, 1 thread: 3.00x the speed of unfused, 50% of the limit",
        "blur, 2 threads: 5.00x the speed of unfused, 100% of the limit",
    ]


@pytest.fixture
def command(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("polyopt.bench.machine.machine", lambda: MACHINE)

    def run(*arguments):
        result = CliRunner().invoke(cli, list(arguments))
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def test_bench_prints_json_as_designed(command):
    shown = command("bench", "blur", "--size", "test", "-n", "2", "--threads", "1", "--json")
    found = json.loads(shown)
    assert found["command"] == "polyopt bench blur --size test -n 2 --threads 1 --json"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
    assert found["versions"]["polyopt"] == po.__version__
    assert (found["peers"], found["missing"], found["notes"]) == ([], [], [])
    assert found["machine"] == MACHINE.as_json()
    assert {"cpu", "cores", "compiler", "bandwidth_gbs", "peak_gflops"} <= set(found["machine"])
    for row in found["rows"]:
        assert set(DESIGN.split()) | {"compile_s", "schedule_s", "proof_s"} <= set(row)
        assert row["size"] == {"H": 13, "W": 19}


def test_what_bench_prints_makes_a_page(command, tmp_path):
    arguments = ["-s", "test", "-n", "2", "-t", "1", "--peers", "gcc", "--json"]
    (tmp_path / "in.json").write_text(command("bench", "blur", *arguments))
    command("report", "in.json", "-o", "out.md")
    text = (tmp_path / "out.md").read_text()
    assert re.search(r"^\| blur \| 1 \| \d", text, re.MULTILINE)
    assert "polyopt bench blur -s test -n 2 -t 1 --peers gcc --json > in.json\n" in text
    assert re.search(r"^- versions: .*gcc ", text, re.MULTILINE)


def test_bench_prints_a_table_of_80_columns(command):
    shown = command("bench", "conv_bn_relu_maxpool", "--size", "test", "-n", "2")
    assert max(map(len, shown.splitlines())) <= 80
    assert "x the speed of unfused" in shown


def test_tuning_finds_plans_and_orders_them():
    what = subjects("conv2d")
    trials = tune(what.scop, what.sizes, library=what.library, effort=Effort(0.01))
    ratios = [t.ratio for t in trials[1:]]
    assert ratios == sorted(ratios)
    assert len({str(t.plan) for t in trials}) == len(trials) >= 2


def test_candidates_are_the_models_choice_and_its_neighbours():
    what = subjects("conv2d", "bench")
    plans = candidates(what.scop, what.sizes, seed=1)
    first = next(iter(plans.values()))
    assert str(first) == str(po.auto(what.scop, sizes=what.sizes))
    assert "no fusion" in plans
    tiled = [p for name, p in plans.items() if name.startswith("tiles of ")]
    assert tiled
    for plan in tiled:
        assert len(plan.moves) == len(first.moves)
        different = [(a, b) for a, b in zip(plan.moves, first.moves, strict=True) if a != b]
        assert [a.name for a, _ in different] == ["tile"]
    assert list(candidates(what.scop, what.sizes, seed=1)) == list(plans)


def test_the_fastest_plan_is_saved_and_read_back(command, tmp_path):
    shown = command("tune", "conv2d", "--size", "test", "--seconds", "0.01", "--save", "best.json")
    assert "wrote best.json" in shown
    scop = po.load_kernel("conv2d").scop
    plan = po.Plan.load(tmp_path / "best.json", scop)
    assert str(plan) in shown
    assert command("emit", "conv2d", "--plan", "best.json") == plan.emit().source


def test_tune_prints_json(command):
    shown = command("tune", "blur", "--size", "test", "--seconds", "0.01", "--json")
    found = json.loads(shown)
    assert [t["name"] for t in found["trials"]]
    assert all(t["ratio"] > 0 for t in found["trials"])


def test_a_plan_that_cannot_be_saved_leaves_no_file(tmp_path):
    scop = po.load_kernel("blur").scop
    plan = po.Plan(scop).tile("out", y=8)
    save_plan(plan, tmp_path / "good.json")
    assert str(po.Plan.load(tmp_path / "good.json", scop)) == str(plan)
    with pytest.raises(InternalError, match="do not make this plan again"):
        save_plan(replace(plan, moves=()), tmp_path / "bad.json")
    assert not (tmp_path / "bad.json").exists()


def test_measurements_are_a_value_with_a_table(tmp_path):
    found = measure_kernels("blur", sizes={"H": 20, "W": 24}, seconds=0.01)
    assert {row.kernel for row in found} == {"blur"}
    assert all(row.agrees for row in found)
    assert len(found.where(variant="polyopt")) == 1
    assert "median ms" in str(found)
    assert re.search(r"blur, 1 thread: [\d.]+x the speed of unfused", str(found))
    text = shown(found)
    assert "polyopt-unfused" in text
    assert "vs unfused" in text
    with pytest.raises(InvalidOptionError, match="names of kernels"):
        measure_kernels()


def test_measurements_are_read_back(tmp_path):
    file = tmp_path / "run.json"
    arguments = ["bench", "blur", "-s", "H=20,W=24", "-t", "1", "--seconds", "0.01", "--json"]
    file.write_text(CliRunner().invoke(cli, arguments).stdout)
    found = load_results(file)
    assert "blur" in shown(found)
    with pytest.raises(InvalidOptionError, match="that file is their JSON"):
        found.as_dict()
    file.write_text("{}")
    with pytest.raises(InvalidOptionError, match="holds no measurements"):
        load_results(file)


def test_large_tables_are_cut_and_say_so():
    row = Row("kernels", "blur", {"H": 9}, "polyopt", 1, 1.0, 1.0, 0.1, 9, 0.5, 0.5, True, 0.1, 0.1,
              0.1, False)  # fmt: skip
    found = Results("a machine", tuple(replace(row, kernel=f"k{n}") for n in range(500)))
    assert len(found._repr_html_()) < 100_000
    assert "and 420 more" in shown(found)
