"""The random programs are what they promise: sound, exact, varied, and the same for one seed."""

from __future__ import annotations

import re
import subprocess
from ctypes import CDLL, c_double, c_float, c_int, c_void_p

import numpy as np
import pytest
from hypothesis import given, settings

from polyopt.analysis.bounds import check_bounds, check_initialized
from polyopt.analysis.dependences import dependences
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.frontend.c import parse_c

from .builder import MOST_TRIPS
from .programs import inputs, programs, random_program
from .templates import PROFILES

SEEDS = range(12)


def compiled(texts, folder):
    """The functions of some C texts, compiled without optimisation."""
    source, library = folder / "programs.c", folder / "programs.so"
    source.write_text("\n".join(texts))
    command = ["cc", "-std=c11", "-O0", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([*command, str(source), "-o", str(library), "-lm"], check=True)
    return CDLL(str(library))


def run(function, program, arrays, fill):
    """Outputs by name; those that the caller does not give hold ``fill`` before."""
    values = {}
    arguments = [c_int(size) for size in program.sizes.values()]
    for argument in program.arguments:
        if not argument.extents:
            scalar = {"i32": c_int, "f32": c_float, "f64": c_double}[argument.type]
            arguments.append(scalar(arrays[argument.name].item()))
            continue
        empty = np.full(argument.shape(program.sizes), fill, argument.dtype)
        values[argument.name] = np.copy(arrays.get(argument.name, empty))
        arguments.append(c_void_p(values[argument.name].ctypes.data))
    function(*arguments)
    return {a.name: values[a.name] for a in program.arguments if a.role != "in"}


def scalars_as_numbers(arrays):
    return {name: values if values.ndim else values[()] for name, values in arrays.items()}


def test_a_seed_gives_one_program():
    assert random_program(5) == random_program(5)
    assert len({random_program(seed).text.partition("(")[2] for seed in range(40)}) == 40


@pytest.mark.parametrize("profile", PROFILES)
def test_programs_stay_in_bounds_and_read_what_was_written(profile):
    for seed in SEEDS:
        program = random_program(seed, profile)
        scop = parse_c(program.text)
        assert list(scop.params) == list(program.sizes)
        check_bounds(scop)
        check_initialized(scop, dependences(scop))


@pytest.mark.parametrize("profile", PROFILES)
def test_the_interpreter_computes_what_the_compiler_does(profile, tmp_path):
    made = [random_program(seed, profile) for seed in SEEDS]
    library = compiled([program.text for program in made], tmp_path)
    for seed, program in zip(SEEDS, made, strict=True):
        arrays = inputs(program, np.random.default_rng(seed))
        function = getattr(library, program.name)
        expected = run(function, program, arrays, fill=0)
        again = run(function, program, arrays, fill=7)
        actual = interpret(parse_c(program.text), program.sizes, scalars_as_numbers(arrays))
        assert sorted(expected) == sorted(actual)
        for name, values in expected.items():
            np.testing.assert_array_equal(again[name], values, err_msg=str(program))
            np.testing.assert_array_equal(actual[name], values, err_msg=str(program))
            assert values.dtype.kind != "f" or np.array_equal(values, np.rint(values))


def test_programs_are_small_and_varied():
    made = [random_program(seed) for seed in range(200)]
    for program in made:
        for argument in program.arguments:
            assert all(1 <= n <= MOST_TRIPS for n in argument.shape(program.sizes))
    assert {len(program.sizes) for program in made} == {0, 1, 2}
    outputs = [sum(a.role != "in" for a in program.arguments) for program in made]
    assert sum(count > 1 for count in outputs) > 40
    for feature in (
        r"% 2 == 0", r"\+= 2\)", r"--\)", r"<= i && ", r"\} else \{", r"fmaxf", r"uint16_t",
        r"for \(int t = ", r" \? ", r"\[2 \* ", r"/ 2\]", r"row\d", r"\bs\d+ = 0",
    ):  # fmt: skip
        assert any(re.search(feature, program.text) for program in made), feature


@settings(max_examples=15)
@given(programs())
def test_hypothesis_draws_them_too(program):
    check_bounds(parse_c(program.text))
