"""Squares of elements that change places in registers: same elements, whatever the sizes."""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.helpers.transpose import SIDE, TRANSPOSED
from polyopt.codegen.validate.translation import ReadBack
from polyopt.errors import UnsupportedError
from polyopt.frontend.c.readback.emitted import parse_emitted
from polyopt.transform.legality.equivalence import NotShownError
from tests.unit.codegen.test_cexpr import COMPILERS
from tests.unit.codegen.vectors import FLAGS


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS.keys())
def test_every_square(compiler, flags, tmp_path):
    source, library = tmp_path / "squares.c", tmp_path / "squares.so"
    head = "void across(const float *from, int64_t step, float *to, int64_t to_step, int64_t rows,"
    call = "transposed_f32(from, step, to, to_step, rows, columns);"
    whole = f"{head} int64_t columns) {{ {call} }}\n"
    source.write_text(f"#include <stdint.h>\n{TRANSPOSED}\n{whole}")
    strict = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *flags]
    subprocess.run([compiler, *strict, str(source), "-o", str(library)], check=True)
    across = ctypes.CDLL(str(library)).across
    given = np.arange(SIDE * 19, dtype=np.float32).reshape(SIDE, 19)
    for rows in range(1, SIDE + 1):
        for columns in range(1, SIDE + 1):
            to = np.full((SIDE, 17), -1.0, np.float32)
            across(*map(ctypes.c_void_p, (given.ctypes.data, 19, to.ctypes.data)),
                   *map(ctypes.c_int64, (17, rows, columns)))  # fmt: skip
            assert np.array_equal(to[:columns, :rows], given[:rows, :columns].T)
            to[:columns, :rows] = -1
            assert (to == -1).all(), (rows, columns)


def copied():
    x = po.input("x", po.f32, [3, 57, 16])
    return po.pipeline([po.stage("out", [3, 16, 28], lambda c, i, y: x[c, 2 * y, i])])


def computed():
    x = po.input("x", po.f32, [28, 64])
    b = po.input("b", po.f32, [28])
    return po.pipeline([po.stage("out", [64, 28], lambda i, j: po.max(x[j, i] + b[j], 0.0))])


def both():
    x, r = po.input("x", po.f32, [28, 64]), po.input("r", po.f32, [64, 28])
    return po.pipeline([po.stage("out", [64, 28], lambda i, j: x[j, i] - r[i, j])])


@pytest.mark.parametrize(
    ("made", "place"), [(copied, "&x["), (computed, "&x_square"), (both, "&x[")]
)
def test_c_has_the_squares_and_reads_back_as_its_source(made, place):
    program = po.auto(made(), target="avx512").emit()
    (call,) = re.findall(r"^ +transposed_f32\((.*?;)", program.source, re.DOTALL | re.MULTILINE)
    assert call.startswith(place)
    assert ("_across" in call) == (made is both)
    assert ReadBack(made(), program).claims() >= 0


def test_kernels_have_the_elements_of_their_source():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((3, 57, 16)).astype(np.float32)
    assert np.array_equal(po.auto(copied()).compile()(x), x[:, :-1:2].transpose(0, 2, 1))
    x, b = (rng.standard_normal(s).astype(np.float32) for s in ((28, 64), (28,)))
    assert np.array_equal(po.auto(computed()).compile()(x, b), np.maximum(x.T + b, 0))
    r = rng.standard_normal((64, 28)).astype(np.float32)
    assert np.array_equal(po.auto(both()).compile()(x, r), x.T - r)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("sizeof(x[0][0])", "sizeof(x)"), "no row of x"),
        (("to[c * to_step + r]", "to[c * to_step]"), "is not what it is known as"),
    ],
)
def test_squares_of_another_form_are_refused(wrong, message):
    program = po.auto(copied(), target="avx512").emit()
    text = program.source.replace(*wrong)
    assert text != program.source
    with pytest.raises(UnsupportedError, match=message):
        parse_emitted(text, program.c_name).scop()


@pytest.mark.parametrize("swapped", [("14, 16);", "13, 16);"), ("[2 * (14", "[(14")])
def test_a_wrong_square_is_seen(swapped):
    scop = copied()
    program = po.auto(scop, target="avx512").emit()
    wrong = replace(program, source=program.source.replace(*swapped))
    assert wrong.source != program.source
    with pytest.raises(NotShownError):
        ReadBack(scop, wrong).claims()
