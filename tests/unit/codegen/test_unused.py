"""What nothing reads is neither declared nor computed."""

from __future__ import annotations

from polyopt.codegen.loops import Assign, Block, Buffer, For, If
from polyopt.codegen.unused import without_unused
from polyopt.ir.types import F32

SCALAR = Buffer("s", F32, (), heap=False)
ROW = Buffer("row", F32, ("8",), heap=False)


def loop(*body, buffers=()):
    return For("i", "0", "i < 8", 1, Block(body, buffers))


def test_a_buffer_is_declared_only_where_it_is_used():
    used = loop(Assign("row[i]", "a[i]", "row"), Assign("b[i]", "row[i]", "b"), buffers=(ROW,))
    unused = loop(Assign("b[i]", "a[i]", "b"), buffers=(ROW,))
    result = without_unused(Block((used, unused), (ROW,)))
    assert result.buffers == (ROW,)
    assert [node.body.buffers for node in result.body] == [(ROW,), ()]


def test_a_variable_that_is_only_set_goes_with_all_that_sets_it():
    setting = If("i < 4", Block((Assign("s", "s2 + 1", "s"),)))
    kept = Assign("b[i]", "a[i]", "b")
    result = without_unused(Block((loop(setting, kept, buffers=(SCALAR,)),)))
    assert result == Block((loop(kept),))


def test_a_variable_that_is_a_subscript_is_read():
    body = (Assign("s", "1", "s"), Assign("b[s]", "a[i]", "b"))
    block = Block((loop(*body, buffers=(SCALAR,)),))
    assert without_unused(block) == block


def test_a_loop_that_only_sets_it_goes_as_well():
    inner = loop(Assign("s", "a[i]", "s"))
    outer = Block((inner, Assign("b[0]", "1", "b")), (SCALAR,))
    assert without_unused(outer) == Block((Assign("b[0]", "1", "b"),))
