"""Values of several statements: one local, in sight of all that read it, while it holds."""

from __future__ import annotations

import re

import numpy as np

import polyopt as po
from polyopt.codegen.ast.expr import Symbol, Var
from polyopt.codegen.ast.nodes import Assign, Block, Do, For, If, Local
from polyopt.codegen.emit import emit
from polyopt.codegen.passes.cse_across import cse_across
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.ir.types import F32, F64
from tests.unit.codegen.reader import Reader

read = Reader()


def store(target, value, *locals_):
    """``target = value`` that reads these locals, each a name and a value."""
    return read.assign(target, value, *locals_)


def lines(node):
    """Declarations and assignments in order."""
    match node:
        case Assign():
            return [
                *(f"{v.symbol.hint} = {c_text(v.value, hints)}" for v in node.locals),
                f"{c_text(node.target, hints)} = {c_text(node.value, hints)}",
            ]
        case Do():
            return [c_text(node.call, hints)]
        case If():
            others = lines(node.other) if node.other else []
            return ["if", *lines(node.then), *others, "end"]
        case For():
            return ["for", *lines(node.body), "end"]
        case _:
            return [line for child in node.body for line in lines(child)]


def common(*nodes):
    return lines(cse_across(Block(nodes)))


def test_one_local_serves_statements_after_each_other():
    one = store("b[0]", "s + s2", ("s", "a[0]*2"), ("s2", "a[1]*2"))
    two = store("b[1]", "s3 + s4", ("s3", "a[1]*2"), ("s4", "a[2]*2"))
    assert common(one, two) == [
        "s = a[0] * 2", "s2 = a[1] * 2", "b[0] = s + s2", "s4 = a[2] * 2", "b[1] = s2 + s4",
    ]  # fmt: skip


def test_values_of_equal_values_are_equal():
    one = store("b[0]", "t", ("s", "a[0]*2"), ("t", "s+1"))
    two = store("b[1]", "t2", ("s2", "a[0]*2"), ("t2", "s2+1"))
    assert common(one, two) == ["s = a[0] * 2", "t = s + 1", "b[0] = t", "b[1] = t"]


def test_a_store_to_what_a_value_reads_ends_it():
    one = store("a[0]", "s", ("s", "a[1]*2"))
    two = store("b[0]", "s2", ("s2", "a[1]*2"))
    assert common(one, two) == ["s = a[1] * 2", "a[0] = s", "s2 = a[1] * 2", "b[0] = s2"]


def test_a_store_ends_what_reads_it_through_another_value():
    one = store("b[0]", "t", ("s", "a[1]*2"), ("t", "s+c[0]"))
    two = store("a[1]", "0")
    three = store("b[1]", "t2", ("s2", "c[0]*2"), ("t2", "s+c[0]"))
    assert common(one, two, three)[3:] == [
        "a[1] = 0", "s2 = c[0] * 2", "t2 = s + c[0]", "b[1] = t2",
    ]  # fmt: skip


def test_lines_that_nobody_looks_into_end_all_values():
    one = store("b[0]", "s", ("s", "a[0]*2"))
    two = store("b[1]", "s2", ("s2", "a[0]*2"))
    assert common(one, Do(read("f()")), two)[-2:] == ["s2 = a[0] * 2", "b[1] = s2"]


def test_a_branch_sees_what_stands_before_it_and_keeps_its_own():
    one = store("b[0]", "s", ("s", "a[0]*2"))
    inside = store("b[1]", "s + t", ("s", "a[0]*2"), ("t", "a[1]*2"))
    after = store("b[2]", "t", ("t", "a[1]*2"))
    assert common(one, If(read("x"), Block((inside,))), after) == [
        "s = a[0] * 2", "b[0] = s", "if", "t = a[1] * 2", "b[1] = s + t", "end",
        "t = a[1] * 2", "b[2] = t",
    ]  # fmt: skip


def test_a_store_in_a_branch_or_a_loop_ends_values_for_what_follows():
    one = store("b[0]", "s", ("s", "a[0]*2"))
    two = store("b[1]", "s2", ("s2", "a[0]*2"))
    clobber = Block((store("a[0]", "0"),))
    loop = For(read.symbol("i"), read("0"), read("i < 3"), 1, clobber)
    for between in (If(read("x"), clobber), If(read("x"), Block(()), clobber), loop):
        assert common(one, between, two)[-2:] == ["s2 = a[0] * 2", "b[1] = s2"]


def test_a_loop_computes_its_own():
    one = store("b[0]", "s", ("s", "a[0]*2"))
    two = store("b[1]", "s2", ("s2", "a[0]*2"))
    loop = For(read.symbol("i"), read("0"), read("i < 3"), 1, Block((two,)))
    assert common(one, loop) == [
        "s = a[0] * 2", "b[0] = s", "for", "s2 = a[0] * 2", "b[1] = s2", "end",
    ]  # fmt: skip


def test_types_tell_values_apart():
    def held(target, type_):
        local = Symbol(f"s{type_.bits}", type_)
        return Assign(read(target), Var(local), locals=(Local(local, read("a[0]")),))

    assert common(held("b[0]", F32), held("c[0]", F64)) == [
        "s32 = a[0]", "b[0] = s32", "s64 = a[0]", "c[0] = s64",
    ]  # fmt: skip


def rows():
    """A mean over three rows of a difference along rows, as ``(out, mid)``."""
    h, w = po.size("H"), po.size("W")
    a = po.input("a", "f32", (h + 2, w + 1))
    mid = po.stage("mid", (h + 2, w), lambda y, x: a[y, x + 1] - a[y, x])
    return po.stage("out", (h, w), lambda y, x: (mid[y, x] + mid[y + 1, x] + mid[y + 2, x]) / 3)


def test_rows_of_a_block_name_what_they_share_once():
    scop = po.pipeline([rows()])
    plan = po.Plan(scop).inline("mid").unroll_and_jam("out.y", 4)
    source = emit(plan.program).source
    values = re.findall(r"const float mid\d* = (.*);", source)
    assert len(values) == len(set(values)) == 6
    assert re.search(r"= \(mid2 \+ mid3 \+ mid4\) / 3", source)
    a = np.random.default_rng(0).random((13, 8), dtype=np.float32)
    mid = a[:, 1:] - a[:, :-1]
    out = plan.compile()(a=a)
    np.testing.assert_allclose(out, (mid[:-2] + mid[1:-1] + mid[2:]) / 3, rtol=1e-5, atol=1e-6)


def test_a_local_is_not_called_as_an_iterator_of_another_s_loop():
    """``v1`` is free in the first loop, and the iterator around the second one's value."""
    text = """
    void f(int n, int a[n], const int b[n], int c[7][n])
    {
        for (int i = 0; i < n; i++)
            a[i] = b[i] * 3 + 1 > 2 ? b[i] * 3 + 1 : 0;
        for (int v1 = 0; v1 < 7; v1++)
            for (int i = 0; i < n; i++)
                c[v1][i] = b[i] * v1 > 9 ? b[i] * v1 : v1;
    }
    """
    b = np.arange(5, dtype=np.int32)
    a, c = po.Plan(po.parse_c(text)).compile()(b=b)
    np.testing.assert_array_equal(a, np.where(b * 3 + 1 > 2, b * 3 + 1, 0))
    rows = np.arange(7, dtype=np.int32)[:, None]
    np.testing.assert_array_equal(c, np.where(b * rows > 9, b * rows, rows))
