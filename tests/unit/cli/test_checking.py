"""``polyopt check``: every problem of a file with its place, as compilers print it."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

import polyopt as po
from polyopt.checking import check_file
from polyopt.cli import cli
from polyopt.errors import UnknownNameError
from polyopt.library import Reading

C = """\
static float twice(float x) { return 2 * x; }
void one(int n, float a[n]) {
    for (int i = 0; i < n; i++)
        a[i * i] = twice(a[i]);
}
void two(int n, const float a[n], float b[n]) {
    for (int i = 0; i < n; i++)
        b[i] = a[i + 1];
}
void three(int n, const float a[n], float b[n]) {
    for (int i = 0; i < n; i++)
        b[i] = a[i];
}
int main(void) { return 0; }
"""
REGIONS = """\
void f(int n, float *a, float *b) {
#pragma scop
    for (int i = 0; i < n; i++) a[i] = b[i];
#pragma endscop
#pragma scop
    while (n) n--;
#pragma endscop
}
"""
PYTHON = """\
import polyopt as po
from polyopt import scop


@po.scop
def good(a: po.f32["N"], b: po.f32["N"]):
    for i in range(a.shape[0]):
        b[i] = a[i]


@scop
def bad(a: po.f32["N"], b: po.f32["N"]):
    for i in range(a.shape[0]):
        b[i * i] = a[i]


@po.scop
def out(a: po.f32["N"], b: po.f32["N"]):
    for i in range(a.shape[0]):
        b[i] = a[i + 1]


def built() -> po.Scop:
    raise po.errors.UnsupportedError("not yet")


if __name__ == "__main__":
    1 / 0
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a file, and gives its name."""
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write


def places(checked):
    return [(p.line, p.column, p.code) for p in checked.problems]


def test_each_function_of_a_c_file_is_checked(written):
    checked = check_file(written("a.c", C))
    assert places(checked) == [(4, 11, "non-affine"), (8, 16, "out-of-bounds")]
    assert checked.programs == ("two", "three")
    assert checked.errors == checked.problems


def test_each_region_of_a_c_file_is_checked(written):
    checked = check_file(written("a.c", REGIONS))
    assert checked.programs == ("lines 2 to 4",)
    assert [p.line for p in checked.errors] == [6]


def test_macros_and_folders_are_those_of_the_compiler(written, tmp_path):
    text = '#include "n.h"\nvoid f(float a[N]) { for (int i = 0; i < N + M; i++) a[i] = 0; }\n'
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "n.h").write_text("#define N 8\n")
    name = written("a.c", text)
    reading = Reading({"M": "0"}, (str(tmp_path / "more"),))
    assert check_file(name, reading).problems == ()
    reading = Reading({"M": "1"}, (str(tmp_path / "more"),))
    assert [p.code for p in check_file(name, reading).problems] == ["out-of-bounds"]


def test_each_program_of_a_python_file_is_checked(written):
    before = po.scop
    checked = check_file(written("a.py", PYTHON))
    assert [(p.line, p.code) for p in checked.problems] == [
        (1, "unsupported"), (14, "non-affine"), (20, "out-of-bounds"),
    ]  # fmt: skip
    assert checked.programs == ("good", "out")
    assert po.scop is before


@pytest.mark.parametrize(("text", "line", "code", "said"), [
    ("x = 1\ny = (\n", 2, "syntax-error", "was never closed"),
    ("import polyopt\n\ndef f():\n    return 1 / 0\n\nf()\n", 4, "invalid-option", "ZeroDivision"),
])  # fmt: skip
def test_a_python_file_that_fails_by_itself_says_where(written, text, line, code, said):
    (problem,) = check_file(written("a.py", text)).problems
    assert (problem.line, problem.code) == (line, code)
    assert said in problem.message


def test_a_c_file_that_does_not_parse(written):
    (problem,) = check_file(written("a.c", "void f(int n) {\n  for (;\n}\n")).problems
    assert (problem.file, problem.line, problem.code) == ("a.c", 3, "syntax-error")


def test_a_file_that_is_not_there(written):
    written("blur.c", C)
    with pytest.raises(UnknownNameError, match=r"no file blurr\.c"):
        check_file("blurr.c")


def test_lines_are_those_that_editors_read(written):
    result = CliRunner().invoke(
        cli, ["check", written("a.c", C), written("b.py", "import polyopt")]
    )
    assert result.exit_code == 2
    lines = result.stdout.splitlines()
    assert all(re.fullmatch(r"a\.c:\d+:\d+: (error|note): .+", line) for line in lines)
    assert lines[0].endswith("[non-affine]")
    assert sum(": error: " in line for line in lines) == 2
    assert "2 programs, 2 errors" in result.stderr


def test_json_has_what_the_lines_have(written):
    result = CliRunner().invoke(cli, ["check", "--json", written("a.c", C)])
    assert result.exit_code == 2
    (document,) = json.loads(result.stdout)
    first, second = document["problems"]
    assert (first["file"], first["line"], first["severity"]) == ("a.c", 4, "error")
    assert "shorten the loops" in second["hint"]


def test_what_is_right_leaves_with_0(written):
    result = CliRunner().invoke(cli, ["check", written("a.c", C[C.index("void three") :])])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "1 program, no errors" in result.stderr


@pytest.mark.parametrize("words", ["polyopt run blur --target a", "polyopt emit blur --size te"])
def test_targets_and_sizes_complete(words):
    environment = {"COMP_WORDS": words, "COMP_CWORD": "4", "_POLYOPT_COMPLETE": "bash_complete"}
    found = CliRunner().invoke(cli, prog_name="polyopt", env=environment).output.split()
    assert found == (["plain,avx2", "plain,avx512"] if "target" in words else ["plain,test"])


def test_help_ends_with_examples():
    said = CliRunner().invoke(cli, ["--help"]).output
    names = re.findall(r"^    polyopt (\w+)", said, re.MULTILINE)
    assert len(names) > 4
    assert set(names) <= set(cli.commands)


COMPILED_WHEN_CALLED = """\
import numpy as np
import polyopt as po


def helper(a):
    return np.median(a)


@po.jit
def fine(a):
    i = 0
    while i < 3:
        a[i] = sum(x for x in (1, 2))
        i += 1
    return a + 1


@po.jit
def loops(a):
    while a[0] < 3:
        a[0] += helper(a)


@po.jit(fallback=False)
def sorts(a):
    return np.sort(a)
"""


def test_functions_that_calls_compile_are_told_what_no_call_compiles(tmp_path):
    file = tmp_path / "j.py"
    file.write_text(COMPILED_WHEN_CALLED)
    checked = check_file(file)
    assert checked.programs == ("fine", "loops", "sorts")
    found = {(p.line, p.column, p.severity, p.message) for p in checked.problems}
    assert found == {
        (6, 12, "warning", "a call of np.median is not taken"),
        (20, 5, "warning", "the statement 'while' is not taken"),
        (26, 12, "error", "a call of np.sort is not taken"),
    }
    assert CliRunner().invoke(cli, ["check", str(file)]).exit_code == 2


def test_one_function_of_a_c_file_by_its_name(tmp_path):
    file = tmp_path / "c.c"
    file.write_text(C)
    shown = CliRunner().invoke(cli, ["scop", f"{file}:three"])
    assert shown.exit_code == 0
    assert 'function: "three"' in shown.output
    other = CliRunner().invoke(cli, ["scop", f"{file}:four"])
    assert other.exit_code == 2
    assert "no function is called 'four'" in other.output


def test_functions_of_arrays_have_no_program_without_a_call(tmp_path):
    file = tmp_path / "j.py"
    file.write_text(COMPILED_WHEN_CALLED)
    shown = CliRunner().invoke(cli, ["explain", f"{file}:fine"])
    assert shown.exit_code == 2
    assert "polyopt run" in shown.output
