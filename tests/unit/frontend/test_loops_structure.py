"""What a loop function's Scop holds: sizes, arrays, loops, names, places."""

# ruff: noqa: F821, UP037  (extents are texts in subscripts of annotations)

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from polyopt.frontend import loops
from polyopt.frontend.loops import ArrayOf, f32, i32, scop, u8, u16
from polyopt.frontend.values import Number, Strong, common_type, type_of
from polyopt.ir.scop import Loop, Scop
from polyopt.ir.types import TYPES, ScalarType
from polyopt.ir.verify import verify
from polyopt.isl import parse_set, same_set

if TYPE_CHECKING:
    from polyopt.source import Span

STEP = np.int64(2)


def text_at(span: Span | None) -> str:
    assert span is not None
    assert span.source.name == __file__
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[span.line - 1]
    assert span.source.line(span.line) == line
    return line[span.column - 1 : span.column - 1 + span.length]


@scop
def strided(
    n: int,
    a: u8["2*n + 1", "m"],
):
    """Steps of both signs."""
    m = a.shape[1]
    for i in range(1, 2 * n, 3):
        for j in range(m - 1, i, -STEP):
            a[i, j] = 0
    for i in range(n):
        if i % 4 == 1:
            a[2 * i, 0] = a[i // 2, m - 1] + 1


def test_sizes_and_arguments() -> None:
    verify(strided)
    assert strided.name == "strided"
    assert strided.params == ("n", "m")
    assert strided.signature == ("m", "n", "a")
    assert strided.array("a").role == "inout"
    assert same_set(strided.context, parse_set("[n, m] -> { : n >= 0 and m >= 1 }"))


def test_domains() -> None:
    first, second = strided.statements
    expected = (
        "[n, m] -> { a_0[i, j] : exists s, t : i = 1 + 3s and 1 <= i < 2n"
        " and j = m - 1 - 2t and t >= 0 and j > i }"
    )
    assert first.name == "a_0"
    assert same_set(first.domain, parse_set(expected))
    expected = "[n, m] -> { a_1[i] : 0 <= i < n and i mod 4 = 1 }"
    assert same_set(second.domain, parse_set(expected))


def test_loops() -> None:
    outer, last = strided.nest
    assert isinstance(outer, Loop)
    assert (outer.iterator, outer.step) == ("i", 3)
    inner = outer.body[0]
    assert isinstance(inner, Loop)
    assert (inner.iterator, inner.step, inner.body) == ("j", -2, ("a_0",))
    assert isinstance(last, Loop)
    assert last.body == ("a_1",)


def test_places() -> None:
    statement = strided.statement("a_1")
    assert text_at(statement.span) == "a[2 * i, 0] = a[i // 2, m - 1] + 1"
    assert text_at(statement.reads[0].span) == "a[i // 2, m - 1]"
    assert text_at(strided.array("a").span) == 'a: u8["2*n + 1", "m"]'


def test_an_indented_function_keeps_its_columns() -> None:
    if True:

        def inner(a: f32["N"]):
            for i in range(len(a)):
                a[i] = 2 * a[i]

    statement = scop(inner).statements[0]
    assert text_at(statement.span) == "a[i] = 2 * a[i]"
    assert text_at(statement.reads[0].span) == "a[i]"


def test_stated_sizes_enter_the_context() -> None:
    def stated(a: f32["N", "M"]):
        N, M = a.shape
        assert N >= 8
        assert M % 4 == 0 and N < M  # noqa: PT018
        a[0, 0] = 1

    expected = "[N, M] -> { : N >= 8 and M mod 4 = 0 and N < M }"
    assert same_set(scop(stated).context, parse_set(expected))


def test_privatised_locals_have_the_box_of_their_loops() -> None:
    def triangle(a: f32["N", "N"]):
        N = len(a)
        for i in range(2, N):
            for j in range(i, N - 1):
                t = a[i, j]
                a[i, j] = t * t

    program = scop(triangle)
    local = program.array("t")
    assert (local.rank, local.private, local.role) == (2, 2, "temp")
    expected = "[N] -> { t[i, j] : 2 <= i <= N - 2 and 2 <= j <= N - 2 }"
    assert same_set(local.elements(program.params), parse_set(expected))
    assert same_set(program.statement("t").write.relation.range().coalesce(), parse_set(
        "[N] -> { t[i, j] : 2 <= i <= j <= N - 2 }"
    ))  # fmt: skip


def test_names_are_numbered_in_textual_order() -> None:
    def several(a: f32["N"], a_1: f32["N"]):
        a[0] = 1
        a_1[0] = 2
        a[1] = 3
        a[2] = 4

    assert [s.name for s in scop(several).statements] == ["a_0", "a_1", "a_2", "a_3"]


def test_roles() -> None:
    def roles(read: f32["N"], written: f32["N"], both: f32["N"], reread: f32["N"]):
        for i in range(len(read)):
            written[i] = read[i]
            reread[i] = read[i] + 1
            both[i] = both[i] + reread[i]
            if i > 0:
                reread[i] = reread[i - 1] * 2

    assert {a.name: a.role for a in scop(roles).arrays} == {
        "read": "in",
        "written": "out",
        "both": "inout",
        "reread": "out",
    }


def test_unused_arguments_stay_in_the_signature() -> None:
    def unused(n: int, alpha: f32, a: f32["n"], b: i32["k"]):
        a[0] = 1

    program = scop(unused)
    assert program.signature == ("k", "n", "alpha", "a", "b")
    assert program.array("b").role == "in"


def test_array_types_are_values() -> None:
    assert u16["H", "W - 2"] == ArrayOf["u16", "H", "W - 2"] == ArrayOf[np.uint16, "H", "W - 2"]
    assert repr(u16["H", 4]) == "u16['H', 4]"
    assert f32(1) / 3 == np.float32(1) / np.float32(3)
    assert np.zeros(2, u16).dtype == np.uint16


def test_scop_decorates() -> None:
    assert isinstance(strided, Scop)
    assert callable(strided.reference)
    data = np.full((5, 3), 7, np.uint8)
    strided.reference(2, data)
    assert data[2, 0] == 8


def test_reading_twice_gives_the_same() -> None:
    again = scop(strided.reference)
    assert replace(again, source=strided.source).signature == strided.signature
    assert [s.name for s in again.statements] == [s.name for s in strided.statements]


NUMBERS = [t for t in TYPES.values() if t.name != "bool"]


def strong(kind: ScalarType) -> Strong:
    from polyopt.ir import build

    return Strong(build.const(kind, 1))


@pytest.mark.parametrize("one", NUMBERS, ids=str)
@pytest.mark.parametrize("other", [*NUMBERS, 1, 1.5], ids=str)
def test_types_of_mixed_operands_are_numpys(one: ScalarType, other: object) -> None:
    left = np.dtype(one.numpy_name).type(1)
    if isinstance(other, ScalarType):
        value, right = strong(other), np.dtype(other.numpy_name).type(1)
    else:
        assert isinstance(other, int | float)
        value, right = Number(other), other
    assert common_type(strong(one), value).numpy_name == (left + right).dtype.name
    assert common_type(value, strong(one)).numpy_name == (right + left).dtype.name


@pytest.mark.parametrize("name", ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"])
def test_division_of_integers(name: str) -> None:
    from polyopt.frontend.values import binary

    kind = getattr(loops, name)
    exact = binary("truediv", strong(kind.type), Number(2))
    assert type_of(exact).numpy_name == (kind(1) / 2).dtype.name
