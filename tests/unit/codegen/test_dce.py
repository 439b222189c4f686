"""What nothing reads is neither declared nor computed."""

from __future__ import annotations

from polyopt.codegen.ast.nodes import Block, Buffer, For, If
from polyopt.codegen.passes.dce import dce
from polyopt.ir.types import F32
from tests.unit.codegen.reader import Reader

read = Reader(s=F32)
SCALAR = Buffer(read.symbol("s"), ())
ROW = Buffer(read.symbol("row", F32), (read("8"),))


def loop(*body, buffers=()):
    return For(read.symbol("i"), read("0"), read("i < 8"), 1, Block(body, buffers))


def test_a_buffer_is_declared_only_where_it_is_used():
    used = loop(read.assign("row[i]", "a[i]"), read.assign("b[i]", "row[i]"), buffers=(ROW,))
    unused = loop(read.assign("b[i]", "a[i]"), buffers=(ROW,))
    result = dce(Block((used, unused), (ROW,)))
    assert result.buffers == (ROW,)
    assert [node.body.buffers for node in result.body] == [(ROW,), ()]


def test_a_variable_that_is_only_set_goes_with_all_that_sets_it():
    setting = If(read("i < 4"), Block((read.assign("s", "s2 + 1"),)))
    kept = read.assign("b[i]", "a[i]")
    result = dce(Block((loop(setting, kept, buffers=(SCALAR,)),)))
    assert result == Block((loop(kept),))


def test_a_variable_that_is_a_subscript_is_read():
    body = (read.assign("s", "1"), read.assign("b[s]", "a[i]"))
    block = Block((loop(*body, buffers=(SCALAR,)),))
    assert dce(block) == block


def test_a_loop_that_only_sets_it_goes_as_well():
    inner = loop(read.assign("s", "a[i]"))
    outer = Block((inner, read.assign("b[0]", "1")), (SCALAR,))
    assert dce(outer) == Block((read.assign("b[0]", "1"),))
