"""Statements with other expressions and other statements in them."""

from __future__ import annotations

import pytest

from polyopt.codegen.ast.expr import Call, Var
from polyopt.codegen.ast.nodes import (
    Assign,
    Barrier,
    Block,
    Do,
    For,
    If,
    Jump,
    Opaque,
    Parallel,
    While,
    expressions,
    with_expressions,
)
from polyopt.codegen.ast.visit import substitute
from polyopt.ir.types import F32
from tests.unit.codegen.reader import Reader

read = Reader(s=F32)
BODY = Block((read.assign("b[n]", "a[n]"),))


def loop(start, condition, trips):
    return For(read.symbol("i"), read(start), read(condition), 1, BODY, Parallel(read(trips)))


def do(text):
    call = read(text)
    assert isinstance(call, Call)
    return Do(call)


#: statements with ``n``, and with ``m + 1`` in its place
BOTH = (
    (read.assign("b[n]", "t * n", ("t", "a[n]")),
     read.assign("b[m + 1]", "t * (m + 1)", ("t", "a[m + 1]"))),
    (Assign(read("s"), read("a[n]"), declares=True), Assign(read("s"), read("a[m + 1]"), declares=True)),
    (loop("n", "i < n", "n - 1"), loop("m + 1", "i < m + 1", "m + 1 - 1")),
    (If(read("n > 3"), BODY, BODY), If(read("m + 1 > 3"), BODY, BODY)),
    (While(read("n > 3"), BODY), While(read("m + 1 > 3"), BODY)),
    (do("fill(n)"), do("fill(m + 1)")),
)  # fmt: skip


@pytest.mark.parametrize(("before", "after"), BOTH, ids=lambda node: type(node).__name__)
def test_every_expression_of_a_statement_itself_is_changed(before, after):
    made = with_expressions(before, lambda e: substitute(e, {read("n"): read("m + 1")}))
    assert made == after
    # all that is listed was changed, and what is below stays
    assert not any(Var(read.symbol("n")).symbols & e.symbols for e in expressions(made))


def test_a_variable_that_a_statement_declares_stays():
    (before, _) = BOTH[1]
    made = with_expressions(before, lambda e: substitute(e, {read("s"): read("n")}))
    assert made == before


@pytest.mark.parametrize("node", [BODY, Barrier(memory=True), Jump("break"), Opaque(BODY), While(None, BODY)],
                         ids=lambda node: type(node).__name__)  # fmt: skip
def test_what_has_no_expressions_of_its_own_stays(node):
    assert with_expressions(node, lambda _: read("m")) == node
