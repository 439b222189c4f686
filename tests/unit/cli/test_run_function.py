"""``polyopt run my.py:f`` and ``po.optimize``: NumPy functions and programs, wherever they are."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import polyopt as po
from polyopt.cli import cli
from polyopt.errors import InvalidOptionError, UnknownNameError, UnsupportedError
from polyopt.runtime.kernel import Kernel

FILE = """
import numpy as np

def shifted(a, b, n=1):
    return a[n:] - b[:-n], a.sum()

def chosen(a):
    return a[a > 0]

broken = 3
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    np.save(tmp_path / "a.npy", np.arange(8.0) ** 2)
    np.save(tmp_path / "b.npy", np.arange(8.0))
    return path


def added(x):
    return x + 1


def run(*words):
    return CliRunner().invoke(cli, ["run", *map(str, words)])


def test_a_function_is_run_on_files_and_explained(file, tmp_path):
    done = run(f"{file}:shifted", "-i", f"b={tmp_path}/b.npy", "-i", tmp_path / "a.npy",
               "-s", "n=3", "-o", tmp_path / "out")  # fmt: skip
    assert done.exit_code == 0, done.output
    a = np.arange(8.0) ** 2
    assert np.array_equal(np.load(tmp_path / "out/result0.npy"), a[3:] - np.arange(5.0))
    assert np.load(tmp_path / "out/result1.npy") == a.sum()
    assert "shifted(a: f64[a_0], b: f64[" in done.output
    assert "for result" in done.output
    assert "proved" in done.output


def test_it_is_said_as_json(file, tmp_path):
    done = run(f"{file}:shifted", "-i", tmp_path / "a.npy", "-i", tmp_path / "b.npy", "--json")
    said = json.loads(done.output)
    assert said["results"] == [
        {"type": "float64", "shape": [7]},
        {"type": "float64", "shape": []},
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["shifted"], "shifted needs a, b"),
        (["shifted", "-i", "c=a.npy"], "shifted has no argument c"),
        (["shifted", "photo.jpg"], "is a NumPy function"),
        (["chosen", "-i", "a.npy"], "a choice by an array of truth values"),
        (["missing"], "has no 'missing'"),
        (["broken"], "is not a program"),
    ],
)
def test_mistakes_are_told_without_a_traceback(file, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    name, *more = words
    done = run(f"{file}:{name}", *more)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_optimize_takes_functions_files_programs_and_names(file, tmp_path):
    a = np.arange(6.0)
    assert np.array_equal(po.optimize(added)(a), a + 1)
    named = po.optimize(f"{file}:shifted")
    assert np.array_equal(named(a, a, 2)[0], a[2:] - a[:-2])
    source = tmp_path / "twice.c"
    source.write_text("void twice(int n, double a[n]) { for (int i = 0; i < n; i++) a[i] *= 2; }")
    for program in (source, str(source), po.parse_c(source)):
        kernel = po.optimize(program)
        assert isinstance(kernel, Kernel)
        assert np.array_equal(kernel(a.copy()), 2 * a)
    assert po.optimize("blur").name == "blur"


def test_optimize_refuses_what_it_does_not_know(file):
    with pytest.raises(InvalidOptionError, match="list is no program"):
        po.optimize([1])
    with pytest.raises(UnknownNameError):
        po.optimize("nothing.c")
    with pytest.raises(UnsupportedError):
        po.optimize(f"{file}:chosen")(np.arange(3.0))
