"""Buffers on the stack are no more than a thread has, however many there are."""

from __future__ import annotations

import re

import pytest

import polyopt as po
from polyopt.codegen.ast.expr import Symbol, number
from polyopt.codegen.ast.nodes import Buffer
from polyopt.codegen.lower.frames import FRAME_BYTES, STACK_BYTES, beyond_frame
from polyopt.ir.types import F32, F64

ELEMENTS = STACK_BYTES // F32.bytes


def _buffers(**sizes):
    return {name: Buffer(Symbol(name, F64), (number(k * 1024 // 8),)) for name, k in sizes.items()}


@pytest.mark.parametrize(
    ("sizes", "at", "moved"),
    [
        ({"a": 128, "b": 128}, {}, set()),
        ({"a": 128, "b": 129}, {}, {"b"}),
        ({"a": 129, "b": 129, "c": 129}, {}, {"a", "b"}),
        ({"a": 200, "b": 200}, {"a": "x", "b": "y"}, set()),  # never at once
        ({"a": 200, "b": 57}, {"b": "x"}, {"a"}),
        ({"a": 200, "b": 57, "c": 57}, {"b": "x", "c": "y"}, {"a"}),
        ({"a": 100, "b": 100, "c": 100}, {"b": "x", "c": "z"}, {"a"}),
    ],
)
def test_what_is_moved(sizes, at, moved):
    paths = [(), ("x",), ("x", "z"), ("y",)]
    found = beyond_frame(_buffers(**sizes), {name: at.get(name, "") for name in sizes}, paths)
    assert found == moved


def _chain(count):
    arrays = "".join(f"float t{k}[{ELEMENTS}];" for k in range(count))
    loop = f"for (int i = 0; i < {ELEMENTS}; i++)"
    steps = "".join(f"{loop} t{k}[i] = t{k - 1}[{ELEMENTS - 1} - i] + 1;" for k in range(1, count))
    return f"""
    void f(const float a[{ELEMENTS}], float out[{ELEMENTS}])
    {{
        {arrays}
        {loop} t0[i] = a[i] + 1;
        {steps}
        {loop} out[i] = t{count - 1}[i] + t0[i];
    }}
    """


def _on_stack(source):
    found = re.findall(r"_Alignas\(64\) float \w+\[(\d+)\];", source)
    return F32.bytes * sum(map(int, found))


def test_many_small_arrays_are_no_large_frame():
    source = po.Plan(po.parse_c(_chain(FRAME_BYTES // STACK_BYTES))).emit().source
    assert _on_stack(source) == FRAME_BYTES
    assert "buffer(" not in source
    source = po.Plan(po.parse_c(_chain(FRAME_BYTES // STACK_BYTES + 4))).emit().source
    assert _on_stack(source) == FRAME_BYTES
    assert source.count("= buffer(sizeof(float[") == 4
    assert (
        len(re.findall(r"release\(t\d\)", source)) == 2 * 4
    )  # where memory is short, and at the end
