"""What compiling takes: the times of small programs, their table and their JSON."""

import json

import pytest
from click.testing import CliRunner

import polyopt as po
from polyopt.bench import compiling
from polyopt.bench.compiling import CompileTime, chain, chain_table, compile_time, table
from polyopt.bench.suites import IMAGES, members
from polyopt.cli import cli


def test_each_part_takes_time():
    kernel = po.load_kernel("blur")
    times = compile_time("blur", kernel.scop, kernel.sizes["test"])
    assert times.stages == 2
    assert min(times.plan_s, times.proof_s, times.c_s, times.check_s, times.compiler_s) > 0
    slower = max(times.check_s, times.compiler_s)
    assert times.all_s == times.plan_s + times.c_s + slower
    assert times.reported_s is None


def test_a_proof_made_again_leaves_the_plan_as_it_is():
    plan = po.auto(chain(3), sizes=compiling.CHAIN_SIZES, target="avx2")
    script = plan.script
    assert compiling.proof_seconds(plan) > 0
    assert plan.script == script


def test_a_chain_has_its_stages():
    assert len(chain(5).statements) == 5
    assert [a.name for a in chain(1).arrays] == ["img", "out"]


def test_the_paper_s_figures_belong_to_pipelines_of_images():
    assert set(members(IMAGES)) >= compiling.REPORTED.keys()


def test_tables_have_a_cell_per_column():
    times = CompileTime("harris", 9, 1.0, 0.25, 0.5, 3.0, 2.0, 435.0)
    cells = ("harris", "9", "1.00", "0.25", "0.50", "3.00", "2.00", "4.50", "435")
    assert list(table([times])) == [cells]
    assert list(chain_table([times])) == [("9", "1.00", "0.25", "0.111")]
    assert len(compiling.COLUMNS) == 9
    assert len(compiling.CHAIN_COLUMNS) == 4


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(compiling, "CHAIN", (1, 2))


@pytest.mark.usefixtures("short")
def test_the_command_prints_both_tables():
    result = CliRunner().invoke(cli, ["bench", "--compile-time", "blur", "unsharp", "-s", "test"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[1].split()[:2] == ["program", "stages"]
    assert [line.split()[0] for line in lines[2:4]] == ["blur", "unsharp"]
    assert lines[3].split()[-1] == "0.05"
    assert [line.split()[0] for line in lines[-2:]] == ["1", "2"]


@pytest.mark.usefixtures("short")
def test_what_the_command_prints_makes_a_page(tmp_path):
    arguments = ["bench", "--compile-time", "unsharp", "-s", "test", "--json"]
    printed = CliRunner().invoke(cli, arguments).stdout
    target = tmp_path / "out.md"
    result = CliRunner().invoke(cli, ["report", "-", "-o", str(target)], input=printed)
    assert result.exit_code == 0, result.output
    assert "| unsharp |" in target.read_text()
    assert "polyopt bench --compile-time unsharp -s test --json" in target.read_text()


@pytest.mark.usefixtures("short")
def test_the_command_prints_json():
    result = CliRunner().invoke(cli, ["bench", "--compile-time", "blur", "-s", "test", "--json"])
    found = json.loads(result.output)
    assert [k["program"] for k in found["kernels"]] == ["blur"]
    assert found["kernels"][0].keys() >= {"plan_s", "proof_s", "c_s", "compiler_s", "all_s"}
    assert [c["stages"] for c in found["chain"]] == [1, 2]
