"""``emit`` and ``scop`` on files with marked regions."""

import json

import pytest
import yaml
from click.testing import CliRunner

import polyopt as po
from polyopt.cli import cli
from polyopt.isl import UnionMap, context

TEXT = """\
static double a[9], b[9];
void f(int n) {
#pragma scop
  for (int i = 0; i < n; i++)
    a[i] = b[i] + TERM;
#pragma endscop
}
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.c").write_text(TEXT)

    def run(*arguments):
        result = CliRunner().invoke(cli, list(arguments))
        assert result.exit_code == 0, result.output
        return result

    return run


def test_without_output_the_file_is_printed(call):
    result = call("emit", "in.c", "-D", "TERM=1")
    assert result.stdout.startswith("static double a[9], b[9];\nvoid f(int n) {\n/* polyopt: f")
    assert result.stdout.endswith("}\n}\n")
    assert "in.c:3: optimised by" in result.stderr


def test_json_tells_of_each_region(call):
    found = json.loads(call("emit", "in.c", "-DTERM=1", "--prove", "--json").stdout)
    (region,) = found["regions"]
    assert (region["first"], region["last"], region["optimised"], region["proved"]) == (
        3,
        6,
        True,
        True,
    )
    assert found["source"].startswith("static double")


def test_prove_and_explain_speak_on_stderr(call):
    result = call("emit", "in.c", "-DTERM=1", "--prove", "--explain", "-o", "out.c")
    assert result.stdout == ""
    assert "proved: the plan's dataflow is the source's" in result.stderr
    assert "vectorize" in result.stderr


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_scop_prints_sets_and_relations(call, options):
    text = call("scop", "in.c", "-DTERM=2", *options).stdout
    found = json.loads(text) if options else yaml.safe_load(text)
    (scop,) = found["scops"]
    assert scop["lines"] == [3, 6]
    reads = UnionMap.read_from_str(context(), scop["reads"])
    wanted = "[n] -> { [a[i] -> a_r0[]] -> b[i] : 0 <= i < n <= 9 }"
    assert reads.is_equal(UnionMap.read_from_str(context(), wanted))
    assert scop["statements"][0]["line"] == 5
    assert scop["statements"][0]["body"] == "b[i] + 2.0"


def test_scop_reads_kernels_too(call):
    found = json.loads(call("scop", "blur", "--json").stdout)["scops"][0]
    blur = po.parse_c(po.library.kernels_dir() / "blur.c")
    schedule = UnionMap.read_from_str(context(), found["schedule"])
    assert schedule.is_equal(blur.schedule)
    assert [s["line"] for s in found["statements"]] == [s.span.line for s in blur.statements]
