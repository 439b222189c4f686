"""Conversions of short vector loops: in loops of their own, with the values of their source."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.ast.expr import Binary, Cast, Const, Index, Select, Symbol, Var, number
from polyopt.codegen.ast.nodes import Assign, Block, For, Function, Simd, loops_in
from polyopt.codegen.passes.distribute_conversions import distribute_conversions
from polyopt.codegen.validate.translation import check_code
from polyopt.errors import InternalError
from polyopt.ir.types import F32, I32, I64, U8
from polyopt.transform.legality.equivalence import NotShownError, check_same

QUANTIZED = """
#include <math.h>

void quantized(int N, const float x[restrict N][{count}], const {narrow} p[restrict N][{count}],
               const float s[restrict {count}], const {narrow} zero[restrict 1],
               {narrow} out[restrict N][{count}])
{{
    for (int i = 0; i < N; i++)
        for (int c = 0; c < {count}; c++)
            out[i][c] = ({narrow})fminf(fmaxf(
                rintf((p[i][c] - zero[0]) * s[c] + x[i][c]) + zero[0], {low}.0f), {high}.0f);
}}
"""
#: bytes that are made on the way, and floats in the end
TWICE = """
#include <math.h>

void twice(int N, const float x[restrict N][8], float out[restrict N][8])
{
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 8; c++)
            out[i][c] = 0.5f * (unsigned char)fminf(fmaxf(rintf(x[i][c]), 0.0f), 255.0f);
}
"""
#: the second row needs what the first left
READ_AGAIN = """
void again(int N, const float x[restrict N][8], unsigned char p[restrict N][8],
           float out[restrict N][8])
{
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 8; c++) {
            p[i][c] = (unsigned char)x[i][c];
            out[i][c] = p[i][c] * 0.5f;
        }
}
"""
TYPES = {"unsigned char": (0, 255), "signed char": (-128, 127), "short": (-999, 999)}


def of_vectors(text):
    plan = po.Plan(po.parse_c(text))
    for name in plan.program.copies:
        plan = plan.vectorize(plan.program.places[name].loops[-1].name)
    return plan


def quantized(narrow, count):
    low, high = TYPES[narrow]
    return QUANTIZED.format(narrow=narrow, count=count, low=low, high=high)


@pytest.mark.parametrize("narrow", TYPES)
@pytest.mark.parametrize("count", [4, 5, 7])
def test_narrow_elements_are_converted_beside_the_vectors(narrow, count):
    plan = of_vectors(quantized(narrow, count))
    program = plan.emit()
    assert "p_wide" in program.source
    assert "out_wide" in program.source
    shown = check_code(plan.scop, program)
    assert "for all sizes" in shown.detail
    assert "not shown" not in shown.detail
    random = np.random.default_rng(count)
    type_ = {"unsigned char": np.uint8, "signed char": np.int8, "short": np.int16}[narrow]
    low, high = TYPES[narrow]
    p = random.integers(low, high, (9, count)).astype(type_)
    x = random.standard_normal((9, count)).astype(np.float32) * high
    s = random.random(count).astype(np.float32)
    found = plan.compile()(p=p, x=x, s=s, zero=np.array([3], type_))
    wide = np.rint((p.astype(np.float32) - 3) * s + x) + 3
    assert np.array_equal(found, np.clip(wide, low, high).astype(type_))


@pytest.mark.parametrize(("narrow", "count"), [("unsigned char", 16), ("short", 8)])
def test_whole_vectors_of_narrow_elements_stay(narrow, count):
    assert "_wide" not in of_vectors(quantized(narrow, count)).emit().source


def test_a_float_that_is_a_byte_on_its_way_is_a_word_there():
    plan = of_vectors(TWICE)
    program = plan.emit()
    assert "(int32_t)" in program.source
    assert "(uint8_t)" not in program.source.partition("twice(")[2]
    assert "not shown" not in check_code(plan.scop, program).detail
    x = np.linspace(-9, 300, 80, dtype=np.float32).reshape(10, 8)
    assert np.array_equal(plan.compile()(x=x), np.clip(np.rint(x), 0, 255) * np.float32(0.5))


def test_what_the_loop_wrote_is_read_after_it():
    plan = of_vectors(READ_AGAIN)
    p, x = np.zeros((3, 8), np.uint8), np.arange(24, dtype=np.float32).reshape(3, 8)
    out = np.zeros((3, 8), np.float32)
    plan.compile()(x=x, out={"p": p, "out": out})
    assert np.array_equal(out, x / 2)


SUMS = """
void sums(int N, const unsigned char p[restrict N][8], const unsigned char q[restrict N][8],
          unsigned char out[restrict N][8])
{
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 8; c++)
            out[i][c] = (p[i][c] + q[i][c] + 1) >> 1;
}
"""


COPY = SUMS.replace("(p[i][c] + q[i][c] + 1) >> 1", "p[i][c]")


def test_rows_are_vectors_by_what_they_compute():
    """Eight bytes are less than a vector of bytes, and eight floats are a whole one of floats."""
    plans = [po.auto(po.parse_c(text)) for text in (quantized("unsigned char", 8), COPY)]
    marks = [plan.program.places["out"].loops[-1].mark for plan in plans]
    assert marks[0] == "vector"
    assert marks[1] != "vector"
    assert "out_wide" in plans[0].emit().source


def test_plain_loops_and_arithmetic_on_bytes_stay():
    assert "_wide" not in po.Plan(po.parse_c(quantized("short", 4))).emit().source
    assert "_wide" not in of_vectors(SUMS).emit().source


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("p_wide[c] = (int32_t)p[i][c]", "p_wide[c] = (int32_t)p[i][0]"),
        ("out[i][c] = (uint8_t)out_wide[c]", "out[i][c] = (uint8_t)out_wide[0]"),
    ],
)
def test_other_elements_are_not_the_source(right, wrong):
    plan = of_vectors(quantized("unsigned char", 8))
    program = plan.emit()
    changed = replace(program, source=program.source.replace(right, wrong))
    assert changed.source != program.source
    with pytest.raises(InternalError):
        check_code(plan.scop, changed)


def converted(expression, type_):
    return po.parse_c(f"""
void converted(int N, const float x[N], {type_} out[N])
{{
    for (int i = 0; i < N; i++)
        out[i] = {expression};
}}
""")


@pytest.mark.parametrize(
    ("type_", "source", "other", "is_same"),
    [
        ("unsigned char", "(unsigned char)x[i]", "(unsigned char)(int)x[i]", True),
        ("unsigned char", "(unsigned char)x[i]", "(unsigned char)(signed char)x[i]", False),
        ("unsigned char", "(unsigned char)(int)x[i]", "(unsigned char)x[i]", False),
        ("unsigned char", "(unsigned char)x[i]", "(unsigned char)(double)(int)x[i]", False),
        ("float", "(float)(unsigned char)x[i]", "(float)(int)x[i]", True),
        ("float", "(float)(unsigned char)x[i]", "(float)(signed char)x[i]", False),
        ("float", "(float)(int)x[i]", "(float)(unsigned char)x[i]", False),
        ("float", "x[i]", "(float)(int)x[i]", False),
        ("long", "(long)x[i]", "(long)(int)x[i]", False),
        ("unsigned int", "(unsigned int)x[i]", "(unsigned int)(int)x[i]", False),
        ("_Bool", "(_Bool)x[i]", "(_Bool)(int)x[i]", False),
    ],
)
def test_a_wider_integer_on_the_way_is_the_same_where_the_source_has_a_value(
    type_, source, other, is_same
):
    one, two = converted(source, type_), converted(other, type_)
    names = {array.name: array.name for array in one.arrays}
    if is_same:
        assert check_same(one, two, names)
        return
    with pytest.raises(NotShownError):
        check_same(one, two, names)


ROW, LANE = Symbol("i", I64), Symbol("c", I64)
BYTES, FLOATS, OUT = Symbol("p", U8), Symbol("x", F32), Symbol("out", F32)
BYTE, FLOAT = (Index(array, (Var(LANE),)) for array in (BYTES, FLOATS))
SCALED = Binary("*", Const(0.5, F32), BYTE)
LATER = Binary(">=", Var(ROW), number(1))


def distributed(value):
    """The loops of ``out[c] = value`` in eight lanes."""
    body = Block((Assign(Index(OUT, (Var(LANE),)), value),))
    loop = For(LANE, number(0), Binary("<=", Var(LANE), number(7)), 1, body, Simd())
    return list(loops_in(distribute_conversions(Function("f", (), Block((loop,)), ())).body))


@pytest.mark.parametrize("holds", [True, False])
def test_elements_under_conditions_are_loaded_under_them(holds):
    sides = (SCALED, FLOAT) if holds else (FLOAT, SCALED)
    first, second = distributed(Select(LATER, *sides))
    (conversion,), (computed,) = first.body.body, second.body.body
    wide = (Cast(I32, BYTE), number(0)) if holds else (number(0), Cast(I32, BYTE))
    assert conversion.value == Select(LATER, *wide)
    assert conversion.target in (
        computed.value.yes.children if holds else computed.value.no.children
    )


def test_an_element_that_is_needed_under_two_conditions_is_loaded_for_each():
    other = Binary("<", Var(ROW), number(0))
    both = Binary("+", Select(LATER, SCALED, FLOAT), Select(other, SCALED, FLOAT))
    *conversions, _ = distributed(both)
    assert [loop.body.body[0].value.test for loop in conversions] == [LATER, other]


@pytest.mark.parametrize(
    "test",
    [
        Binary(">", FLOAT, Const(0.0, F32)),
        Binary(">", Var(LANE), number(3)),
        Binary(">", Index(OUT, (number(0),)), Const(0.0, F32)),
    ],
)
def test_elements_that_lanes_or_results_choose_stay_where_they_are(test):
    loops = distributed(Select(test, SCALED, FLOAT))
    assert len(loops) == 1
    assert loops[0].body.body[0].value == Select(test, SCALED, FLOAT)


def test_the_second_of_two_tests_is_no_place_to_load_before():
    both = Binary("&&", LATER, Binary(">", BYTE, number(3)))
    (loop,) = distributed(Select(both, FLOAT, Const(0.0, F32)))
    assert loop.body.body[0].value.test == both


VARIABLES = """
void variables(int N, const unsigned char p[restrict N][8], const float x[restrict N][8],
               float out[restrict N][8])
{
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 8; c++) {
            float v = p[i][c] * x[i][c];
            v = v + (i > 0 ? p[i - 1][c] * 0.5f : p[i][c]);
            out[i][c] = v * v;
        }
}
"""


def test_variables_of_an_iteration_stay_between_conversions():
    plan = of_vectors(VARIABLES)
    program = plan.emit()
    assert "p_wide" in program.source
    assert "not shown" not in check_code(plan.scop, program).detail
    p = np.arange(24, dtype=np.uint8).reshape(3, 8)
    x = np.linspace(0, 1, 24, dtype=np.float32).reshape(3, 8)
    v = p * x
    v += np.concatenate([p[:1], p[:-1] * np.float32(0.5)])
    assert np.array_equal(plan.compile(contract=False)(p=p, x=x), v * v)


def written_first(type_, index):
    """A row that is written, and then read in a subscript."""
    return f"""
void first(int N, const float x[restrict N][8], const unsigned char t[restrict 256],
           const float f[restrict 256], {type_} at[restrict N][8], float out[restrict N][8])
{{
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 8; c++) {{
            at[i][c] = ({type_})x[i][c];
            out[i][c] = {index} * 0.5f;
        }}
}}
"""


@pytest.mark.parametrize(
    ("type_", "index"), [("unsigned char", "f[at[i][c]]"), ("int", "t[at[i][c] & 255]")]
)
def test_subscripts_read_what_the_loop_wrote(type_, index):
    plan = of_vectors(written_first(type_, index))
    assert "not shown" not in check_code(plan.scop, plan.emit()).detail
    random = np.random.default_rng(0)
    x = random.integers(0, 256, (5, 8)).astype(np.float32)
    t, f = random.integers(0, 256, 256).astype(np.uint8), random.random(256).astype(np.float32)
    at = np.zeros((5, 8), np.uint8 if type_ == "unsigned char" else np.int32)
    out = np.zeros((5, 8), np.float32)
    plan.compile()(x=x, t=t, f=f, out={"at": at, "out": out})
    assert np.array_equal(out, (f if "f[" in index else t)[x.astype(int)] * np.float32(0.5))


def test_arithmetic_on_rounded_bytes_is_shown():
    sums = TWICE.replace("float out", "int out").replace("0.5f * ", "7 + ")
    plan = of_vectors(sums)
    assert "not shown" not in check_code(plan.scop, plan.emit()).detail


RECURRENCES = {
    "a sum of integers": """
void f(int N, const float a[restrict N], int s[restrict 1])
{
    for (int i = 0; i < N; i++)
        s[0] += a[i];
}
""",
    "bytes one after the other": """
void f(int N, const float a[restrict N], unsigned char s[restrict N])
{
    for (int i = 1; i < N; i++)
        s[i] = (unsigned char)(s[i - 1] * a[i]);
}
""",
    "rows of bytes in time": """
void f(int T, int N, unsigned char t[restrict T][N][8])
{
    for (int s = 1; s < T; s++)
        for (int i = 1; i < N - 1; i++)
            for (int c = 0; c < 8; c++)
                t[s][i][c] = (unsigned char)(0.25f * t[s - 1][i - 1][c] + 0.5f * t[s - 1][i][c]);
}
""",
}


@pytest.mark.parametrize("name", RECURRENCES)
def test_recurrences_through_conversions_are_shown(name):
    """Each value is made from one that is claimed to be the same: nothing is followed to its start."""
    text = RECURRENCES[name]
    plan = of_vectors(text) if "[8]" in text else po.Plan(po.parse_c(text))
    assert "for all sizes" in check_code(plan.scop, plan.emit()).detail


def test_chains_of_bytes_have_a_claim_for_each():
    steps = 12
    arrays = ["a", *(f"t{k}" for k in range(1, steps)), "out"]
    body = "".join(
        f"    for (int i = {k + 1}; i < N - {k + 1}; i++)\n"
        f"        {new}[i] = (unsigned char)(.25f * {old}[i - 1] + .5f * {old}[i] + .25f * {old}[i + 1]);\n"
        for k, (old, new) in enumerate(pairwise(arrays))
    )
    locals_ = "".join(f"    unsigned char t{k}[N];\n" for k in range(1, steps))
    text = f"void f(int N, const unsigned char a[restrict N], unsigned char out[restrict N])\n{{\n{locals_}{body}}}\n"
    scop = po.parse_c(text)
    assert check_same(scop, scop, {array.name: array.name for array in scop.arrays}) == steps
