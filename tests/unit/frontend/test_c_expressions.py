"""C expressions: literals, promotions, affine parts, and the forms that conditions take."""

from __future__ import annotations

import math

import pytest

from polyopt.frontend.c import parse_c
from polyopt.frontend.c.syntax.literals import literal
from polyopt.ir.expr import (
    Affine,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Inside,
    Load,
    Select,
    loads,
)
from polyopt.ir.types import F32, F64, I32, I64, U8, U32, U64, ScalarType
from polyopt.isl import parse_map, parse_set, same_set

_ARGUMENTS = "int n, float x[n], double d[n], unsigned char u[n], int a[n], long l[n], float s"


def value(expression: str, target: str = "l[i]") -> Expr:
    """The stored value of ``target = expression`` in a loop over i."""
    text = f"void f({_ARGUMENTS}) {{ for (int i = 0; i < n; i++) {target} = {expression}; }}"
    return parse_c(text).statements[0].value


def uncast(expr: Expr) -> Expr:
    return expr.operand if isinstance(expr, Cast) else expr


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [
        ("1", I32, 1),
        ("0", I32, 0),
        ("017", I32, 15),
        ("0xffffffff", U32, 0xFFFFFFFF),
        ("4294967295", I64, 4294967295),
        ("1u", U32, 1),
        ("1L", I64, 1),
        ("1ull", U64, 1),
        ("0x10", I32, 16),
        ("'a'", I32, 97),
        ("1.5", F64, 1.5),
        ("1.5f", F32, 1.5),
        (".5F", F32, 0.5),
        ("1e3", F64, 1000.0),
        ("2.f", F32, 2.0),
        ("0x1p-1", F64, 0.5),
        ("0x1p99999999999", F64, math.inf),
        ("1e999999999", F64, math.inf),
        ("1e39f", F32, math.inf),
        ("1e-999999999", F64, 0.0),
        ("9" * 5000 + ".", F64, math.inf),
        ("0" * 5000 + "7", I32, 7),
        ("0x" + "0" * 5000 + "7", I32, 7),
        # a char has a sign
        (r"'\377'", I32, -1),
        (r"'\xff'", I32, -1),
        (r"'\x7f'", I32, 127),
        (r"'\0'", I32, 0),
        (r"'\''", I32, 39),
        (r"'\?'", I32, 63),
        (r"'\n'", I32, 10),
        ("'\"'", I32, 34),
    ],
)
def test_literals(text: str, kind: ScalarType, number: float) -> None:
    found = literal(text)
    assert found is not None
    assert (found.type, found.value) == (kind, number)


@pytest.mark.parametrize(
    "text",
    [
        "1.0L", '"a"', "'ab'", "099", "18446744073709551616", "9" * 5000, "0x" + "9" * 5000,
        "0" + "7" * 5000, "0b" + "1" * 5000, "1.2.3", ".", "''", "'\\'", r"'\777'", r"'\xfff'",
        r"'\8'", r"'\u00e9'", r"'\N{DIGIT ONE}'", "'é'",
    ],
)  # fmt: skip
def test_literals_that_are_not_taken(text: str) -> None:
    assert literal(text) is None


def test_a_float_literal_is_rounded_once() -> None:
    found = literal("0.1f")
    assert found is not None
    assert found.value == pytest.approx(0.1, abs=1e-8)
    assert found.value != 0.1


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("u[i] + u[i]", I32),
        ("a[i] * 2u", U32),
        ("a[i] + l[i]", I64),
        ("l[i] * x[i]", F32),
        ("x[i] + 1.0", F64),
        ("x[i] + d[i]", F64),
        ("u[i] << 1L", I32),
        ("-u[i]", I32),
        ("~u[i]", I32),
        ("a[i] > 0 ? u[i] : 2.0f", F32),
        ("(unsigned char)a[i]", U8),
    ],
)
def test_promotions(expression: str, kind: ScalarType) -> None:
    target = "d[i]" if kind.is_float else "x[i]"
    found = value(expression, target)
    assert uncast(found).type == kind


def test_affine_values_stay_affine() -> None:
    found = value("2 * i + n / 2 - 3")
    assert isinstance(found, Affine)
    assert found.type == I64
    assert str(found.form) == "[n] -> { l[i] -> [(-3 + 2i + floor((n)/2))] }"


@pytest.mark.parametrize(("function", "kind"), [("abs", "int"), ("labs", "long")])
def test_the_distance_of_iterators_is_a_subscript(function: str, kind: str) -> None:
    """A border that mirrors: ``x[abs(i - 2)]``."""
    scop = parse_c(
        f"void f({kind} n, const float x[n + 2], float y[n]) {{"
        f" for ({kind} i = 0; i < n; i++) {{ {kind} k = {function}(i - 2); y[i] = x[k]; }} }}"
    )
    assert [a.name for a in scop.arrays if a.role == "temp"] == []
    (read,) = scop.statements[0].reads
    assert read.exact
    assert read.relation.is_equal(
        parse_map(
            "[n] -> { y[i] -> x[i - 2] : 2 <= i < n; y[i] -> x[2 - i] : 0 <= i <= 1 and i < n }"
        )
    )


def test_an_affine_value_becomes_a_number_of_the_other_type() -> None:
    found = value("x[i] * i", "x[i]")
    assert isinstance(found, Binary)
    assert isinstance(found.right, Cast)
    assert isinstance(found.right.operand, Affine)
    assert found.right.operand.type == I32


def test_data_times_an_iterator() -> None:
    found = uncast(value("a[i] * (i + 1)"))
    assert isinstance(found, Binary)
    assert isinstance(found.right, Affine)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("i > 0", "i > 0"),
        ("i > 0 && i < n - 1", "0 < i < n - 1"),
        ("!(i == 3)", "i != 3"),
        ("i < 2 || i % 2 == 1", "i < 2 or i mod 2 = 1"),
        ("i % 3", "i mod 3 != 0"),
        ("(i < 2 ? n : 5) > i", "(i < 2 and n > i) or (2 <= i < 5)"),
    ],
)
def test_affine_conditions_are_membership(condition: str, text: str) -> None:
    found = value(f"{condition} ? x[i] : s", "x[i]")
    assert isinstance(found, Select)
    assert isinstance(found.cond, Inside)
    domain = parse_set("[n] -> { x[i] : 0 <= i < n }")
    expected = parse_set(f"[n] -> {{ x[i] : {text} }}")
    assert same_set(found.cond.where.intersect(domain), expected.intersect(domain))


def test_a_condition_on_data_is_a_comparison() -> None:
    found = value("x[i] > s ? x[i] : s", "x[i]")
    assert isinstance(found, Select)
    assert isinstance(found.cond, Compare)
    assert found.cond.op == "lt"


def test_an_affine_guard_keeps_the_read_within_bounds() -> None:
    text = f"void f({_ARGUMENTS}) {{ for (int i = 0; i < n; i++) a[i] = i > 0 && x[i - 1] > 0; }}"
    (read,) = parse_c(text).statement("a").reads
    assert same_set(read.relation.domain().to_union_set(), parse_set("[n] -> { a[i] : 0 < i < n }"))


def test_integer_choices_are_minimum_and_maximum() -> None:
    found = uncast(value("a[i] < 255 ? a[i] : 255"))
    assert isinstance(found, Binary)
    assert found.op == "min"
    clamp = uncast(value("a[i] < 0 ? 0 : a[i] > 255 ? 255 : a[i]"))
    assert isinstance(clamp, Binary)
    assert clamp.op == "max"
    assert isinstance(value("x[i] < s ? x[i] : s", "x[i]"), Select)


def test_a_clamp_needs_its_limits_in_order() -> None:
    found = uncast(value("a[i] < 9 ? 9 : a[i] > 2 ? 2 : a[i]"))
    assert isinstance(found, Select)


def test_math_functions_have_the_type_of_their_name() -> None:
    single, double = value("sqrtf(d[i])", "d[i]"), value("sqrt(x[i])", "d[i]")
    assert isinstance(uncast(single), Call)
    assert (uncast(single).type, uncast(double).type) == (F32, F64)
    extremum = value("fmaxf(x[i], s)", "x[i]")
    assert isinstance(extremum, Binary)
    assert extremum.op == "max"


def test_a_scalar_argument_in_values_alone_is_a_rank_0_array() -> None:
    scop = parse_c("void f(int n, int k, float a[n]) { for (int i = 0; i < n; i++) a[i] = k; }")
    assert scop.params == ("n",)
    (load,) = loads(scop.statement("a").value)
    assert (load.array, load.index, load.type) == ("k", (), I32)


def test_a_size_in_values_is_affine() -> None:
    found = value("n * n")
    assert isinstance(uncast(found), Binary)
    assert isinstance(value("n"), Affine)


def test_indirect_reads_are_inexact_with_their_range() -> None:
    scop = parse_c("""
    void f(int n, const unsigned char u[n], const int p[n], const float t[256], float x[n]) {
      for (int i = 0; i < n; i++) x[i] = t[u[i]] + t[min(max(p[i], 3), n)];
    }""")
    table = [a for a in scop.statement("x").reads if a.array == "t"]
    assert [a.exact for a in table] == [False, False]
    first, second = (a.relation.range() for a in table)
    assert same_set(first.project_out_all_params(), parse_set("{ t[k] : 0 <= k <= 255 }"))
    upper = parse_set("[n] -> { t[k] : k <= n or k <= 3 }")
    assert second.is_subset(upper)


def test_loads_have_spans() -> None:
    text = f"void f({_ARGUMENTS}) {{ for (int i = 0; i < n; i++) x[i] = (x[i]) * a[ i ] + s; }}"
    spans = [load.span for load in loads(parse_c(text).statements[0].value)]
    assert [text[s.column - 1 : s.column - 1 + s.length] for s in spans if s is not None] == [
        "x[i]",
        "a[ i ]",
        "s",
    ]


def test_spans_survive_macros_and_comments() -> None:
    text = (
        "#define TWICE(v) ((v) + (v))\n"
        "void f(int n, float x[n]) { /* all of it */\n"
        "  for (int i = 0; i < n; i++) // every one\n"
        "    x[i] = /* twice */ TWICE(x[i]) * x[0];\n}"
    )
    line = text.splitlines()[3]
    spans = [load.span for load in loads(parse_c(text).statements[0].value)]
    assert [(s.line, line[s.column - 1 : s.column - 1 + s.length]) for s in spans if s] == [
        (4, "x[i]"),
        (4, "x[i]"),
        (4, "x[0]"),
    ]


def test_constants_fold_and_stand_for_themselves() -> None:
    scop = parse_c("""
    static const float third = 1.0f / 3;
    void f(int n, float x[n]) {
      const float half = 0.5f;
      for (int i = 0; i < n; i++) x[i] = x[i] * third + half;
    }""")
    assert [a.name for a in scop.arrays] == ["x"]
    constants = _constants(scop.statement("x").value)
    assert [c.type for c in constants] == [F32, F32]
    assert constants[1].value == 0.5


def _constants(expr: Expr) -> list[Const]:
    found = [expr] if isinstance(expr, Const) else []
    for child in expr.children:
        if not isinstance(expr, Load):
            found += _constants(child)
    return found
