"""Messages of the analyses: the theorem, the example, the caret."""

from __future__ import annotations

import re

import pytest

from polyopt.analysis.bounds import check_bounds, check_initialized, out_of_bounds, uninitialized
from polyopt.analysis.dependences import dependences
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.errors import ArgumentError, NotDecidedError, OutOfBoundsError, UninitializedError
from polyopt.ir import build
from polyopt.ir.expr import index_of
from polyopt.ir.scop import Loop
from polyopt.ir.types import F32, I32, I64, U8
from polyopt.isl import parse_set


def shifted(program, source="", context="N >= 1"):
    p = program("N", source=source)
    p.array("a", "N")
    p.array("b", "N", role="out")
    p.statement("S", "i", "0 <= i < N", "b: i", lambda b: b.load("a: i + 1", text="a[i+1]"))
    return p.scop(Loop("i", ("S",)), context=context)


SOURCE = """\
for (int i = 0; i < N; i++)
  b[i] = a[i+1];
"""


def test_out_of_bounds_is_a_theorem_with_an_example(program):
    with pytest.raises(OutOfBoundsError) as caught:
        check_bounds(shifted(program, SOURCE))
    assert (
        str(caught.value)
        == """\
test.c:2:10: out-of-bounds: `a[i+1]` leaves `a` exactly when i >= N - 1, \
for example at S[0] when N = 1: element a[1]
   2 |   b[i] = a[i+1];
     |          ^^^^^^
  hint: shorten the loops, enlarge `a` (it is a[N]), or guard the access"""
    )


def test_sizes_that_are_too_small_for_a_border_are_told(program):
    """A border that mirrors needs two elements: saying so is all it takes."""

    def mirrored(context):
        p = program("N")
        p.array("a", "N")
        p.array("b", "N", role="out")
        p.statement("b", "i", "1 <= i < N", "b: i", lambda b: b.load("a: i"))
        p.statement("b0", "", "", "b: 0", lambda b: b.load("a: 1"))
        return p.scop(Loop("i", ("b",)), "b0", context=context)

    with pytest.raises(OutOfBoundsError) as caught:
        check_bounds(mirrored("N >= 1"))
    assert "; or say what sizes are meant, N >= 2: " in caught.value.diagnostic.hint
    check_bounds(mirrored("N >= 2"))


def test_the_example_obeys_the_context(program):
    (violation,) = out_of_bounds(shifted(program, context="N >= 4"))
    assert violation.message == (
        "`a[i + 1]` leaves `a` exactly when i >= N - 1, "
        "for example at S[3] when N = 4: element a[4]"
    )
    assert violation.where.is_equal(parse_set("[N] -> { S[i] : i = N - 1 and N >= 4 }"))


def test_the_interpreter_confirms_the_example(program):
    import numpy as np

    scop = shifted(program, context="N >= 4")
    (violation,) = out_of_bounds(scop)
    with pytest.raises(ArgumentError, match=r"a\[4\] lies outside a"):
        interpret(scop, violation.params, {"a": np.zeros(violation.params["N"], np.float32)})


def test_well_formed_programs_stay_inside(blur, conv, jacobi, triangular):
    for scop in (blur, conv, jacobi, triangular):
        assert out_of_bounds(scop) == ()
        check_bounds(scop)
        check_initialized(scop, dependences(scop))


def test_all_violations_are_told(program):
    p = program("N")
    p.array("a", "N")
    p.array("b", "N", role="out")
    p.statement("S", "i", "0 <= i <= N", "b: i", lambda b: b.sum("a: i - 1", "a: 2 i", "a: 0"))
    scop = p.scop(Loop("i", ("S",)), context="N >= 2")
    assert [(v.text, v.condition) for v in out_of_bounds(scop)] == [
        ("b[i]", "i >= N"),
        ("a[i - 1]", "i <= 0"),
        ("a[2*i]", "2*i >= N"),
    ]
    with pytest.raises(OutOfBoundsError, match="`b\\[i\\]` leaves") as caught:
        check_bounds(scop)
    assert len(caught.value.diagnostic.notes) == 2


def test_both_ends(program):
    p = program("H", "W")
    p.array("a", "H", "W")
    p.array("b", "H", "W", role="out")
    p.statement(
        "S", "y, x", "0 <= y < H and 0 <= x < W", "b: y, x", lambda b: b.load("a: y - 1, x + 2")
    )
    scop = p.scop(Loop("y", (Loop("x", ("S",)),)), context="H >= 1 and W >= 1")
    (violation,) = out_of_bounds(scop)
    assert violation.condition == "y <= 0 or x >= W - 2"
    assert violation.element == (-1, 2)


def test_a_guard_makes_it_legal(program):
    p = program("N")
    p.array("a", "N")
    p.array("b", "N", role="out")
    p.statement(
        "S", "i", "0 <= i < N", "b: i",
        lambda b: build.select(b.inside("i < N - 1"), b.load("a: i + 1"), build.const(F32, 0)),
    )  # fmt: skip
    assert out_of_bounds(p.scop(Loop("i", ("S",)))) == ()


def lookup(program, index):
    p = program("N")
    p.array("pick", "N", type=U8)
    p.array("deep", "N", type=I32)
    p.array("lut", 200)
    p.array("y", "N", role="out")
    p.statement("y", "i", "0 <= i < N", "y: i", lambda b: b.load_at("lut", index(b)))
    return p.scop(Loop("i", ("y",)), context="N >= 1")


def clamped(b, name):
    free = build.cast(I64, b.load(name))
    low, high = (index_of(b.form(text)) for text in ("0", "199"))
    return build.binary("min", build.binary("max", free, low), high)


def test_data_dependent_subscripts_need_a_range(program):
    scop = lookup(program, lambda b: build.cast(I64, b.load("pick: i")))
    with pytest.raises(OutOfBoundsError) as caught:
        check_bounds(scop)
    assert str(caught.value) == (
        "out-of-bounds: `lut[i64(pick[i])]` may leave `lut` by what its subscript may be,"
        " for example at y[0] when N = 1: element lut[200]\n"
        "  hint: clamp the subscript with min and max so that it stays within lut[200],"
        " or state in C that it does: #pragma polyopt inbounds"
    )


@pytest.mark.parametrize("name", ["pick: i", "deep: i"])
def test_a_clamp_is_range_enough(program, name):
    assert out_of_bounds(lookup(program, lambda b: clamped(b, name))) == ()


def test_the_budget_of_bounds(program):
    with pytest.raises(NotDecidedError, match="bounds of test: not decided within 5"):
        check_bounds(shifted(program), budget=5)


def partial(program, role):
    p = program("N", source=SOURCE)
    p.array("t", "N", role=role)
    p.array("b", "N", role="out")
    p.statement("t", "i", "0 < i < N", "t: i", lambda b: build.const(F32, 1))
    p.statement("b", "i", "0 <= i < N", "b: i", lambda b: b.load("t: i", text="a[i+1]"))
    return p.scop(Loop("i", ("t",)), Loop("i", ("b",)), context="N >= 1")


def test_reads_of_what_nothing_wrote(program):
    scop = partial(program, "temp")
    with pytest.raises(UninitializedError) as caught:
        check_initialized(scop, dependences(scop))
    text = str(caught.value)
    assert text.startswith(
        "test.c:2:10: uninitialized: `a[i+1]` reads what nothing wrote when i == 0"
    )
    assert "for example at b[0] when N = 1: element t[0]" in text
    assert "^^^^^^" in text
    assert re.search("hint: `t` is a local array", text)


def test_what_the_caller_gives_is_initialised(program):
    scop = partial(program, "inout")
    assert uninitialized(scop, dependences(scop)) == ()


def test_an_output_is_not_given(program):
    scop = partial(program, "out")
    with pytest.raises(UninitializedError, match="`t` is an output"):
        check_initialized(scop, dependences(scop))


def test_a_read_before_the_write(program):
    p = program()
    p.array("t", 4, role="temp")
    p.array("b", 4, role="out")
    p.statement("b", "i", "0 <= i < 4", "b: i", lambda b: b.load("t: i"))
    p.statement("t", "i", "0 <= i < 4", "t: i", lambda b: build.const(F32, 1))
    scop = p.scop(Loop("i", ("b", "t")))
    (violation,) = uninitialized(scop, dependences(scop))
    assert violation.always
    assert violation.example == "at b[0]: element t[0]"
