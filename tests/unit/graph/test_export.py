"""Networks as C of their own: built with make alone, checked, timed, fed with files."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner

from polyopt.cli import cli
from polyopt.errors import InvalidOptionError
from polyopt.graph import compile_graph
from polyopt.graph.execution.run import random_inputs
from polyopt.graph.ir.graph import Graph, Node, Value
from polyopt.ir.types import F32

#: the network is one that ``test_model`` plans too
pytestmark = pytest.mark.xdist_group("networks")

STRICT = "WARNINGS=-Wall -Wextra -Werror -Wno-unknown-pragmas"


def make(directory):
    subprocess.run([shutil.which("make"), "-s", "-C", str(directory), STRICT], check=True)


def run(directory, *args):
    command = [next(directory.glob("*-run")), *args]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def exported(tmp_path_factory, compiled_network):
    """A small MobileNet, as a model and as a directory that was made."""
    model = compiled_network("mobilenet", size=32, width=8, classes=10)
    out = model.export(tmp_path_factory.mktemp("net") / "out")
    make(out)
    return model, out


def test_a_network_builds_checks_and_times(exported):
    model, out = exported
    kernels = {step.kernel for step in model.steps}
    assert len(list(out.glob("mobilenet_kernel_*.c"))) == len(kernels) < len(model.steps)
    done = run(out, "--json", "--runs", "3", "--threads", "2")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["network"], found["threads"], found["runs"]) == ("mobilenet", 2, 3)
    assert found["agrees"]
    assert 0 <= found["difference"] < 1e-4
    assert "agrees: yes" in run(out, "--runs", "1").stdout


def test_files_go_in_and_come_out(exported, tmp_path):
    model, out = exported
    x = random_inputs(model.graph, seed=7)["input"]
    (tmp_path / "x.bin").write_bytes(x.tobytes())
    done = run(out, "--input", str(tmp_path / "x.bin"), "--output", str(tmp_path / "y.bin"))
    assert done.returncode == 0, done.stderr
    found = np.fromfile(tmp_path / "y.bin", np.float32).reshape(1, 10)
    np.testing.assert_allclose(found, model(x), rtol=1e-5, atol=1e-6)


def test_wrong_weights_are_noticed(exported, tmp_path):
    _, out = exported
    other = shutil.copytree(out, tmp_path / "other")
    weights = np.fromfile(other / "weights.bin", np.float32)
    (weights * 1.01).astype(np.float32).tofile(other / "weights.bin")
    done = run(other, "--runs", "1")
    assert done.returncode == 1
    assert "agrees: NO" in done.stdout
    weights[:8].tofile(other / "weights.bin")
    done = run(other)
    assert (done.returncode, done.stderr) == (2, "mobilenet: too short: weights.bin\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--threads", "0"], "no number from 1 to 10000: 0"),
        (["--fast"], "usage: "),
        (["--input", "x"], "--input and --output go together"),
        (["--input", "none", "--output", "y"], "cannot open none"),
    ],
)
def test_bad_command_lines(exported, arguments, said):
    done = run(exported[1], *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_library_is_called_from_anywhere(tmp_path):
    """Two outputs, one of them a view of an input."""
    nodes = (
        Node("double", "add", ("x", "x")),
        Node("flat", "reshape", ("x",), (("shape", (6,)),)),
    )
    graph = Graph("two outputs", (Value("x", (2, 3), F32),), {}, nodes, ("double", "flat"))
    out = compile_graph(graph).export(tmp_path / "out")
    make(out)
    library = ctypes.CDLL(str(out / "libtwo_outputs.so"))
    x = np.arange(6, dtype=np.float32)
    double, flat = np.zeros(6, np.float32), np.zeros(6, np.float32)
    memory = np.zeros(256, np.uint8)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (memory, x, double, flat)]
    assert library.two_outputs(None, *pointers, 1) == 0
    np.testing.assert_array_equal(double, 2 * x)
    np.testing.assert_array_equal(flat, x)


def test_from_the_shell(one_layer, tmp_path):
    arguments = ["emit", str(one_layer), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(cli, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    assert {"main.c", "weights.bin", "check.bin"} < set(json.loads(result.stdout)["files"])
    make(tmp_path / "out")
    assert run(tmp_path / "out", "--runs", "1").returncode == 0
    refused = CliRunner().invoke(cli, ["emit", str(one_layer)])
    assert refused.exit_code == 2
    assert "a network is written as a folder" in refused.stderr


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    graph = Graph("net", (Value("x", (2,), F32),), {}, (Node("y", "relu", ("x",)),), ("y",))
    with pytest.raises(InvalidOptionError, match="cannot be written"):
        compile_graph(graph).export(tmp_path / "file" / "out")
