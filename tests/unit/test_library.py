"""Programs by name: kernels, C files, and functions of Python files."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt import same_scop
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.cli.program import load_program
from polyopt.errors import InvalidOptionError, ProgramSyntaxError, UnknownNameError
from polyopt.library import (
    kernel_module,
    kernel_name,
    kernel_names,
    kernel_of_file,
    kernels_dir,
    load_kernel,
    load_scop,
    recipe,
    recipe_names,
)

PROGRAM = """
import polyopt as po


@po.scop
def double(a: po.f32["N"], out: po.f32["N"]):
    N = a.shape[0]
    for i in range(N):
        out[i] = 2 * a[i]


def made():
    return double


def helper(x):
    return x


number = 3
"""


PIPELINE = """
import polyopt as po

SIZES = {"test": {"N": 5}}


def inputs(rng, sizes):
    return {"a": rng.random(sizes["N"], dtype="f4")}


def reference(*, a, **_sizes):
    return {"out": a + a}


def pipeline() -> po.Scop:
    a = po.input("a", po.f32, ["N"])
    return po.pipeline(po.stage("out", ["N"], lambda i: a[i] + a[i]), name="twice")
"""


@pytest.fixture
def kernels(monkeypatch, tmp_path):
    """A folder of kernels with one whose program is stages, one in C, and a shared file."""
    folder = tmp_path / "polyopt" / "kernels"
    folder.mkdir(parents=True)
    (folder / "twice.py").write_text(PIPELINE)
    (folder / "once.c").write_text("void once(int n, float a[n]) { a[0] = 1; }")
    (folder / "once.py").write_text("SIZES = {}")
    (folder / "_shared.py").write_text("")
    monkeypatch.setattr("polyopt.library._PACKAGE", tmp_path / "polyopt")
    return folder


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(PROGRAM)
    return path


def test_every_kernel_has_a_reference_beside_it():
    assert "blur" in kernel_names()
    for name in kernel_names():
        module = kernel_module(name)
        assert callable(module.reference)
        assert callable(module.inputs)


def test_a_name_and_its_file_are_the_same_program():
    by_path = load_scop(str(kernels_dir() / "blur.c"))
    assert same_scop(load_scop("blur"), by_path)
    assert same_scop(load_kernel("blur").scop, by_path)


def test_a_kernel_without_a_c_file_is_a_pipeline(kernels):
    assert kernel_names() == ("once", "twice")
    kernel = load_kernel("twice")
    assert kernel.scop.name == "twice"
    assert kernel.scop.params == ("N",)
    given = kernel.inputs({"N": 5}, np.random.default_rng(0))
    found = interpret(kernel.scop, {"N": 5}, given)
    np.testing.assert_array_equal(found["out"], kernel.reference(**given)["out"])
    assert same_scop(load_scop(f"{kernels}/twice.py:pipeline"), kernel.scop)
    assert load_scop("once").name == "once"


def test_the_c_file_comes_first(kernels):
    (kernels / "once.py").write_text(PIPELINE)
    assert load_scop("once").name == "once"


def test_a_file_with_an_underscore_is_no_kernel(kernels):
    with pytest.raises(UnknownNameError, match="_shared") as caught:
        load_scop("_shared")
    assert "twice" in caught.value.diagnostic.hint


def test_a_pipeline_is_found_by_a_name_that_comes_close(kernels):
    with pytest.raises(UnknownNameError, match="twyce") as caught:
        load_kernel("twyce")
    assert "twice" in caught.value.diagnostic.hint


def test_folders_hold_kernels_too(kernels):
    (kernels / "__pycache__").mkdir()
    (kernels / "__pycache__" / "once.c").write_text("")
    (kernels / "solvers").mkdir()
    (kernels / "solvers" / "2x.c").write_text("void x2(int n, float a[n]) { a[0] = 1; }")
    (kernels / "solvers" / "2x.py").write_text("SIZES = {}")
    assert kernel_names() == ("2x", "once", "twice")
    assert load_scop("2x").name == "x2"
    assert kernel_module("2x").SIZES == {}
    assert kernel_of_file(kernels / "solvers" / "2x.c") == "2x"
    assert kernel_of_file(kernels / "once.c") == "once"
    assert kernel_of_file(kernels.parent / "2x.c") == ""


def test_a_kernel_without_a_program(kernels):
    (kernels / "none.py").write_text("SIZES = {}")
    with pytest.raises(UnknownNameError, match=r"none.py has no 'pipeline'"):
        load_scop("none")


@pytest.mark.parametrize("given", ["twice", "{}/twice.py:pipeline", "{}/twice.py", "{}/once.c"])
def test_the_file_of_a_kernels_program_is_the_kernel(kernels, given):
    program = load_program(given.format(kernels))
    assert program.kernel is not None
    assert program.name == program.kernel.name == program.scop.name


def test_a_dash_in_a_name_is_an_underscore():
    assert kernel_name("jacobi-2d") == "jacobi_2d"


@pytest.mark.parametrize("function", ["double", "made"])
def test_functions_of_a_python_file(file, function):
    assert load_scop(f"{file}:{function}").name == "double"


def test_a_file_is_run_once(file):
    assert load_scop(f"{file}:double") is load_scop(f"{file}:double")


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("blurr", "blur"), ("conv2", "conv2d"), ("jacobi-2", "jacobi_2d")],
)
def test_an_unknown_kernel_names_those_that_come_close(wrong, near):
    with pytest.raises(UnknownNameError, match=wrong) as caught:
        load_scop(wrong)
    assert near in caught.value.diagnostic.hint


def test_a_name_like_no_other_lists_them_all():
    with pytest.raises(UnknownNameError) as caught:
        load_kernel("zzz")
    assert all(name in caught.value.diagnostic.hint for name in kernel_names())


def test_a_missing_file_names_its_neighbours(file):
    with pytest.raises(UnknownNameError) as caught:
        load_scop(f"{file.parent}/mina.py:double")
    assert "mine.py" in caught.value.diagnostic.hint


def test_a_missing_c_file():
    with pytest.raises(UnknownNameError, match="no file nowhere/x"):
        load_scop("nowhere/x.c")


def test_a_missing_function_names_those_there_are(file):
    with pytest.raises(UnknownNameError, match="doubel") as caught:
        load_scop(f"{file}:doubel")
    assert "double" in caught.value.diagnostic.hint


@pytest.mark.parametrize("function", ["helper", "number"])
def test_what_is_not_a_program(file, function):
    with pytest.raises(InvalidOptionError, match="not a program"):
        load_scop(f"{file}:{function}")


def test_the_only_program_of_a_python_file_is_meant(file):
    assert load_scop(str(file)).name == "double"


def test_a_function_whose_head_says_that_it_returns_a_program_is_one(file):
    file.write_text(PROGRAM.replace("def made():", "def made() -> po.Scop:"))
    with pytest.raises(InvalidOptionError, match="which of its functions") as caught:
        load_scop(str(file))
    assert caught.value.diagnostic.hint == f"write {file}:function, one of: double, made"


def test_a_python_file_without_a_program(file):
    file.write_text("def helper():\n    raise RuntimeError\n")
    with pytest.raises(InvalidOptionError, match="which of its functions") as caught:
        load_scop(str(file))
    assert caught.value.diagnostic.hint == f"write {file}:function"


def test_a_python_file_with_a_mistake(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("def f(:\n")
    with pytest.raises(ProgramSyntaxError, match="line 1"):
        load_scop(f"{path}:f")


def test_an_unknown_recipe():
    with pytest.raises(UnknownNameError, match="no recipe"):
        recipe("zzz")


def test_without_the_folder_of_recipes_there_are_none(monkeypatch, tmp_path):
    monkeypatch.setattr("polyopt.library._PACKAGE", tmp_path / "polyopt")
    assert recipe_names() == ()
    with pytest.raises(UnknownNameError, match="no recipe"):
        recipe("blur")
