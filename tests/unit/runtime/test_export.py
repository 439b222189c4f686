"""Exported directories build with make alone, verify, and report times."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

import polyopt as po
from polyopt.runtime.kernel import compile_kernel
from tests.compilers import COMPILERS, OWN
from tests.unit.runtime.programs import AXPY, AXPY_BODY, BLUR, BLUR_BODY, blur, program


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "cache"))


def make(directory, compiler: str) -> None:
    warnings = "WARNINGS=-Wall -Wextra -Werror -Wno-unknown-pragmas"
    command = [shutil.which("make"), "-s", "-C", str(directory), f"CC={compiler}", warnings]
    subprocess.run(command, check=True)


def run(directory, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(directory / "bench"), *args], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("compiler", COMPILERS)
def test_builds_verifies_and_reports(tmp_path, compiler: str) -> None:
    kernel = compile_kernel(blur(), BLUR.context, reference=blur())
    out = kernel.export(tmp_path / "dist", H=20, W=30)
    assert sorted(p.name for p in out.iterdir()) == [
        "Makefile", "bench.c", "blur3.c", "blur3.h", "blur3_calls.c", "blur3_reference.c",
    ]  # fmt: skip
    make(out, compiler)
    done = run(out, "--json", "--runs", "3")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["sizes"] == {"H": 20, "W": 30}
    assert [r["variant"] for r in found["rows"]][:2] == ["reference", "optimised"]
    for row in found["rows"]:
        assert row["agrees"]
        assert row["runs"] == 3
        assert row["bandwidth_gbs"] > 0
        assert row["gflops"] > 0
    table = run(out, "--runs", "2", "--threads", "1", "7", "8").stdout
    assert "H = 7, W = 8" in table
    assert "GB/s" in table


def test_a_wrong_kernel_fails_its_bench(tmp_path) -> None:
    wrong = program(BLUR, BLUR_BODY.replace("/ 3", "/ 4"))
    kernel = compile_kernel(wrong, BLUR.context, reference=blur())
    out = kernel.export(tmp_path / "dist", H=4, W=5)
    make(out, OWN)
    done = run(out, "--runs", "1")
    assert done.returncode == 1
    assert "NO" in done.stdout


def test_bad_command_lines(tmp_path) -> None:
    made = program(AXPY, AXPY_BODY)
    kernel = compile_kernel(made, AXPY.context, reference=made)
    out = kernel.export(tmp_path / "dist")
    make(out, OWN)
    assert run(out, "--runs", "1", "8").returncode == 0
    for args, message in (
        (["7"], "not allowed"), (["x"], "positive number"), (["8", "8"], "usage"),
        (["--runs", "0"], "positive"),
    ):  # fmt: skip
        done = run(out, *args)
        assert done.returncode == 2
        assert message in done.stderr


def test_names_of_headers_and_of_the_harness_itself(tmp_path) -> None:
    source = """
    void check(int NULL, int M_PI_2, const double stdin[NULL][M_PI_2], double exit[M_PI_2],
               double polyopt_size[NULL])
    {
        for (int size_ = 0; size_ < NULL; size_++)
            for (int count_ = 0; count_ < M_PI_2; count_++)
                exit[count_] += sqrt(stdin[size_][count_]);
        for (int data_ = 0; data_ < NULL; data_++)
            polyopt_size[data_] = 2 * stdin[data_][0];
    }
    """
    kernel = po.Plan(po.parse_c(source)).compile()
    out = kernel.export(tmp_path / "dist", NULL=30, M_PI_2=20)
    make(out, OWN)
    done = run(out, "--json", "--runs", "1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sizes"] == {"NULL": 30, "M_PI_2": 20}
