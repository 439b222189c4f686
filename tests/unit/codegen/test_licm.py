"""What is worked out before a loop stands for whole operands, and for nothing that looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyopt.codegen.ast.expr import Var
from polyopt.codegen.ast.nodes import AffineExpr, Block, For, assigns_in
from polyopt.codegen.ast.visit import substitute
from polyopt.codegen.passes.licm import licm
from polyopt.codegen.printers.c_expr import c_text, hints
from tests.unit.codegen.reader import Reader

#: Python's binary operators that bind as C's do
OPERATORS = ("|", "^", "&", "<<", "+", "-", "*")


@pytest.mark.parametrize(
    ("text", "expression", "expected"),
    [
        ("a[x + 1]", "x + 1", "a[n]"),
        ("2 * j - x + 1", "x + 1", "2 * j - x + 1"),
        ("2 * j - (int32_t)(w ? x : y) + 1", "w ? x : y", "2 * j - (int32_t)n + 1"),
        ("x + 1 - j", "x + 1", "n - j"),
        ("x + 1 * j", "x + 1", "x + 1 * j"),
        ("-x % 3", "x % 3", "-x % 3"),
        ("max_i64(x, y) - max_i64(x, y)", "max_i64(x, y)", "n - n"),
        ("w == x ? y : z", "x ? y : z", "w == x ? y : z"),
        ("w ? x ? y : z : 0", "x ? y : z", "w ? n : 0"),
        ("w ? 0 : x ? y : z", "x ? y : z", "w ? 0 : n"),
        ("x && y ? u : v", "x && y", "n ? u : v"),
        ("u == x && y", "x && y", "u == x && y"),
        ("x + 10", "x + 1", "x + 10"),
        ("!x && y", "x && y", "!x && y"),
        ("b[x + 1][x + 1]", "x + 1", "b[n][n]"),
    ],
)  # fmt: skip
def test_a_variable_stands_for_whole_operands(text, expression, expected):
    read = Reader()
    found = substitute(read(text), {read(expression): Var(read.symbol("n"))})
    assert c_text(found, hints) == expected


_LEAVES = st.sampled_from(["x", "y", "1", "2"])
EXPRESSIONS = st.recursive(
    _LEAVES,
    lambda e: st.one_of(
        st.builds("({} {} {})".format, e, st.sampled_from(OPERATORS), e),
        st.builds("(-{})".format, e),
    ),
    max_leaves=8,
)


def _value(text, **names):
    try:
        return eval(text, {"__builtins__": {}}, names)  # noqa: S307 (printed here)
    except (ValueError, OverflowError):  # shifted to the left by less than nothing
        return None


@given(EXPRESSIONS, st.data(), st.integers(-9, 9), st.integers(-9, 9))
def test_the_value_stays_whatever_is_named(text, data, x, y):
    read = Reader()
    tree = read(text)
    parts = sorted({c_text(node, hints): node for node in _all(tree)}.items())
    part, node = data.draw(st.sampled_from(parts))
    named = _value(part, x=x, y=y)
    if named is None:
        return
    shown = c_text(substitute(tree, {node: Var(read.symbol("n"))}), hints)
    assert _value(shown, x=x, y=y, n=named) == _value(text, x=x, y=y)


def _all(tree):
    return [tree, *(inner for child in tree.children for inner in _all(child))]


def _hoisted(value, *forms):
    read = Reader()
    assign = read.assign("a[y][x]", value)
    found = tuple(AffineExpr("inside", read(form)) for form in forms)
    from dataclasses import replace

    loop = For(
        read.symbol("x"), read("0"), read("x < W"), 1, Block((replace(assign, forms=found),))
    )
    return [
        (c_text(a.target, hints), c_text(a.value, hints)) for a in assigns_in(licm(Block((loop,))))
    ]


def test_a_test_that_the_loop_does_not_change_goes_before_it():
    value = "(y <= M || y >= N ? b[y][x] : 0) + (y <= M || y + x >= N ? 1 : b[0][x])"
    forms = ("y <= M || y >= N", "y <= M || y + x >= N")
    assert _hoisted(value, *forms) == [
        ("inside", "y <= M || y >= N"),
        ("a[y][x]", "(inside ? b[y][x] : 0) + (y <= M || y + x >= N ? 1 : b[0][x])"),
    ]


def test_arithmetic_stays_for_the_compiler_to_move():
    assert _hoisted("b[y + 1][x]", "y + 1") == [("a[y][x]", "b[y + 1][x]")]
