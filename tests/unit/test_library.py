"""Programs by name: kernels, C files, and functions of Python files."""

from __future__ import annotations

import pytest

from polyopt import same_scop
from polyopt.errors import InvalidOptionError, ProgramSyntaxError, UnknownNameError
from polyopt.library import (
    kernel_module,
    kernel_name,
    kernel_names,
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


def test_a_python_file_needs_a_function(file):
    with pytest.raises(InvalidOptionError) as caught:
        load_scop(str(file))
    assert f"{file}:function" in caught.value.diagnostic.hint


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
