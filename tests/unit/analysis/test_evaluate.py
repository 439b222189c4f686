"""Typed semantics: wrapping, C's truncation, rounding at every operation, lazy selects."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polyopt.analysis.interpreter.evaluate import Environment, evaluate, poison, wrap
from polyopt.errors import ArgumentError
from polyopt.ir import build
from polyopt.ir.expr import Binary, Call, Cast, Const, Unary
from polyopt.ir.types import BOOL, F32, F64, I8, I32, I64, TYPES, U8, U16, U32, U64
from polyopt.isl import parse_map


def worth(expr, env=None):
    return evaluate(expr, env or Environment())


def binary(op, type_, a, b):
    """Unfolded: constants of ``build`` would fold before anything runs."""
    return worth(Binary(type_, op, Const(type_, a), Const(type_, b)))


@pytest.mark.parametrize(
    ("op", "type_", "a", "b", "expected"),
    [
        ("add", U8, 250, 10, 4),
        ("add", I8, 127, 1, -128),
        ("mul", I32, 1 << 30, 4, 0),
        ("sub", U64, 0, 1, (1 << 64) - 1),
        ("div", I32, -7, 2, -3),
        ("mod", I32, -7, 2, -1),
        ("div", I32, 7, -2, -3),
        ("mod", I32, 7, -2, 1),
        ("floordiv", I32, -7, 2, -4),
        ("floormod", I32, -7, 2, 1),
        ("floormod", I32, 7, -2, -1),
        ("div", I32, -(1 << 31), -1, -(1 << 31)),
        ("min", I32, -3, 2, -3),
        ("max", U8, 200, 3, 200),
        ("and", I8, -1, 6, 6),
        ("xor", U8, 255, 1, 254),
        ("shl", U8, 3, 7, 128),
        ("shr", I8, -8, 1, -4),
        ("shr", U8, 200, 3, 25),
    ],
)
def test_integers(op, type_, a, b, expected):
    assert binary(op, type_, a, b) == expected


@pytest.mark.parametrize("op", ["div", "mod", "floordiv", "floormod"])
def test_division_by_zero_is_an_error(op):
    with pytest.raises(ArgumentError, match="division by zero"):
        binary(op, I32, 1, 0)


def test_shifts_that_c_leaves_undefined_are_errors():
    with pytest.raises(ArgumentError, match="shift of i32 by 32"):
        binary("shl", I32, 1, 32)


def test_f32_rounds_after_every_operation():
    big, one = 16777216.0, 1.0
    total = Binary(
        F32, "add", Binary(F32, "add", Const(F32, big), Const(F32, one)), Const(F32, one)
    )
    assert worth(total) == np.float32(big)
    assert isinstance(worth(total), np.float32)
    wide = Binary(F64, "add", Const(F64, big), Const(F64, one))
    assert worth(wide) == big + 1


def test_float_divisions_follow_ieee():
    assert binary("div", F32, 1.0, 0.0) == math.inf
    assert math.isnan(binary("div", F64, 0.0, 0.0))
    assert binary("mod", F64, -7.0, 2.0) == -1.0
    assert binary("floormod", F64, -7.0, 2.0) == 1.0
    assert binary("floordiv", F64, -7.0, 2.0) == -4.0


def test_minimum_with_nan_takes_the_second_operand():
    assert binary("min", F32, math.nan, 1.0) == 1.0
    assert math.isnan(binary("max", F32, 1.0, math.nan))


@pytest.mark.parametrize(
    ("to", "origin", "value", "expected"),
    [
        (U8, I32, -1, 255),
        (I8, U8, 200, -56),
        (I32, F32, -2.75, -2),
        (U8, F64, 255.9, 255),
        (BOOL, I32, 7, True),
        (BOOL, F32, 0.5, True),
        (F32, I64, (1 << 24) + 1, 16777216.0),
        # 2^53 + 2^29 + 1 would round to even twice by way of a double
        (F32, I64, (1 << 53) + (1 << 29) + 1, float((1 << 53) + (1 << 30))),
        (F64, U64, (1 << 64) - 1, float(1 << 64)),
        (I64, BOOL, 1, 1),
        (I32, F32, math.nan, -(1 << 31)),
    ],
)
def test_casts(to, origin, value, expected):
    assert worth(Cast(to, Const(origin, value))) == expected


@pytest.mark.parametrize(
    ("function", "type_", "args", "expected"),
    [
        ("round", F32, (2.5,), 3.0),
        ("round", F32, (-2.5,), -3.0),
        ("round", F64, (0.49999999999999994,), 0.0),
        ("trunc", F32, (-2.7,), -2.0),
        ("rint", F32, (2.5,), 2.0),
        ("rint", F32, (-3.5,), -4.0),
        ("rint", F64, (0.5000000000000001,), 1.0),
        ("sqrt", F32, (2.0,), np.float32(2.0) ** np.float32(0.5)),
        ("pow", F64, (2.0, 10.0), 1024.0),
        ("fmod", F64, (-7.0, 3.0), -1.0),
        ("erf", F64, (0.5,), math.erf(0.5)),
        ("atan2", F64, (1.0, -1.0), math.atan2(1, -1)),
        ("abs", I8, (-128,), -128),
        ("exp2", F32, (3.0,), 8.0),
    ],
)
def test_functions(function, type_, args, expected):
    result = worth(Call(type_, function, tuple(Const(type_, a) for a in args)))
    assert result == expected
    if type_ == F32:
        assert isinstance(result, np.float32)


def test_unary():
    assert worth(Unary(U8, "neg", Const(U8, 1))) == 255
    assert worth(Unary(U8, "not", Const(U8, 1))) == 254
    assert worth(Unary(BOOL, "not", Const(BOOL, 1))) is False
    assert math.copysign(1, worth(Unary(F32, "neg", Const(F32, 0.0)))) == -1


def test_a_select_reads_only_what_it_chooses():
    read = []

    def reader(array, index):
        read.append((array, index))
        return np.float32(1)

    cond = build.compare("lt", build.load(F32, "a", ()), build.const(F32, 2))
    choice = build.select(cond, build.load(F32, "b", ()), build.load(F32, "c", ()))
    assert worth(choice, Environment(read=reader)) == 1
    assert read == [("a", ()), ("b", ())]


def test_affine_values_wrap_to_their_type():
    form = parse_map("[N] -> { S[i] -> [i + N] }").as_pw_multi_aff().get_at(0)
    env = Environment((250,), {"N": 10})
    assert worth(build.affine(U8, form), env) == 4
    assert worth(build.affine(U16, form), env) == 260


def test_every_type_has_its_poison():
    for type_ in TYPES.values():
        value = poison(type_)
        if type_.is_float:
            assert math.isnan(value)
        else:
            assert wrap(type_, int(value)) == value != 0


def test_comparison_of_unsigned_values():
    assert worth(build.compare("gt", build.const(U32, 1 << 31), build.const(U32, 1))) is True
