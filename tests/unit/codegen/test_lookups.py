"""Short tables in registers: the same elements, wherever strips, rows and vectors end."""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.ast.expr import Var
from polyopt.codegen.ast.nodes import Block, For, Simd, assigns_in
from polyopt.codegen.helpers.permute import LONGEST, lookup_functions, place_type
from polyopt.codegen.passes.table_permute import table_permute
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.ir.types import TYPES
from tests.unit.codegen.reader import Reader
from tests.unit.codegen.test_cexpr import COMPILERS
from tests.unit.codegen.vectors import FLAGS

ELEMENTS = ("u8", "i16", "f32")
#: around what one, two and several registers hold
LENGTHS = (1, 7, 8, 9, 16, 17, 32, 33, 64, 100, 127, 128)
COUNTS = (0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 130)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS.keys())
def test_every_length_and_count(compiler, flags, tmp_path):
    kinds = [TYPES[name] for name in ELEMENTS]
    lines = ["#include <stdint.h>", lookup_functions(kinds)]
    for kind in kinds:
        lengths = {n for n in (*LENGTHS, LONGEST[kind.bits]) if n <= LONGEST[kind.bits]}
        for length in lengths:
            element, place = kind.c_name, place_type(kind).c_name
            head = f"void {kind.name}_{length}(const {element} *t, const {place} *at, {element} *to"
            lines.append(f"{head}, int64_t n) {{ lookup_{kind.name}(t, {length}, at, to, n); }}")
    source, library = tmp_path / "lookups.c", tmp_path / "lookups.so"
    source.write_text("\n".join(lines))
    strict = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *flags]
    subprocess.run([compiler, *strict, str(source), "-o", str(library)], check=True)
    loaded, rng = ctypes.CDLL(str(library)), np.random.default_rng(5)
    for name, length in re.findall(r"void (\w+)_(\d+)\(", source.read_text()):
        if name not in ELEMENTS:
            continue
        dtype, places = (
            np.dtype(TYPES[name].numpy_name),
            np.dtype(place_type(TYPES[name]).numpy_name),
        )
        table = rng.integers(0, 255, int(length)).astype(dtype)
        for count in COUNTS:
            at = rng.integers(0, int(length), count + 1).astype(places)
            to = np.full(count + 1, 77, dtype)
            pointers = [ctypes.c_void_p(a.ctypes.data) for a in (table, at, to)]
            getattr(loaded, f"{name}_{length}")(*pointers, ctypes.c_int64(count))
            assert np.array_equal(to[:count], table[at[:count]]), (name, length, count)
            assert to[count] == 77


def curve(kind, length):
    """Each pixel through a table, beyond the image's edge on both sides."""
    image = po.input("img", po.i32, ("H", "W + 2"))
    table = po.input("table", getattr(po, kind), (length,))

    def looked_up(y, x):
        place = po.min(po.max(image[y, x], 0), length - 1)
        return table[place] + po.cast(getattr(po, kind), 1)

    out = po.stage("out", ("H", "W + 2"), looked_up)
    return po.pipeline(out, name="curve", context=["H >= 1", "W >= 1"])


@pytest.mark.parametrize(("kind", "length"), [("u8", 1024), ("u16", 100), ("f32", 100)])
def test_a_curve_is_looked_up_in_registers(kind, length):
    kernel = po.auto(curve(kind, length)).compile()
    assert f"lookup_{kind}(table, {length}, at" in kernel.source
    rng = np.random.default_rng(2)
    table = rng.integers(0, 255, length).astype(np.dtype(TYPES[kind].numpy_name).type)
    for height, width in ((1, 1), (2, 61), (3, 62), (2, 127), (1, 200)):
        img = rng.integers(-20, length + 20, (height, width + 2)).astype(np.int32)
        wanted = table[np.clip(img, 0, length - 1)] + np.dtype(TYPES[kind].numpy_name).type(1)
        assert np.array_equal(kernel(img, table), wanted)


@pytest.mark.parametrize(("kind", "length"), [("f64", 16), ("f32", 129), ("u8", 2049)])
def test_longer_tables_are_loaded(kind, length):
    kernel = po.auto(curve(kind, length)).compile()
    assert "lookup_" not in kernel.source


@pytest.mark.parametrize("shift", [0, 3, 8])
def test_rows_that_change_every_few_pixels(shift):
    image = po.input("img", po.f32, ("H", "W"))
    grid = po.input("grid", po.f32, ("(W + 15) // 8", 12))

    def looked_up(y, x):
        place = po.min(po.max(po.cast(po.i32, image[y, x]), 0), 10)
        cell = (x + shift) // 8
        return grid[cell, place] * 2 + grid[cell, place + 1]

    out = po.stage("out", ("H", "W"), looked_up)
    scop = po.pipeline(out, name="cells", context=["H >= 1", "W >= 1"])
    kernel = po.auto(scop, sizes={"H": 100, "W": 1000}).compile()
    assert "x_cell" in kernel.source
    rng = np.random.default_rng(4)
    for height, width in ((1, 1), (3, 9), (2, 64), (1, 71), (2, 150)):
        img = (rng.random((height, width)) * 14 - 2).astype(np.float32)
        grid_ = rng.random(((width + 15) // 8, 12)).astype(np.float32)
        cell = (np.arange(width) + shift) // 8
        place = np.clip(img.astype(np.int32), 0, 10)
        wanted = grid_[cell, place] * np.float32(2) + grid_[cell, place + 1]
        assert np.allclose(kernel(img, grid_), wanted, rtol=1e-6)


read = Reader(a=TYPES["i32"], x_strip=TYPES["i64"])


def vector_loop(*assigns):
    start, condition = read("0"), read("x < W")
    return Block((For(read.symbol("x"), start, condition, 1, Block(assigns), Simd()),))


def looked_up(value, *locals_):
    """``b[x]`` of tables of 12 elements: each a name and a value."""
    made = read.assign("b[x]", value, *locals_)
    return replace(made, locals=tuple(replace(local, table=12) for local in made.locals))


def text(expr):
    return c_text(expr, hints)


READS = looked_up("v1 + v1", ("v1", "t[a[x]]"))


def test_a_loop_with_a_lookup_goes_in_strips():
    block = table_permute(vector_loop(READS))
    targets = [text(assign.target) for assign in assigns_in(block)]
    assert targets == ["x_end", "at[x - x_strip]", "b[x]"]


@pytest.mark.parametrize(
    "assigns",
    [
        [replace(READS, target=read("t[x]"))],
        [READS, read.assign("a[x]", "0")],
        [looked_up("v1", ("v1", "t[x][a[x]]"))],
        [looked_up("v1", ("v1", "t[2 * x / 8][a[x]]"))],
        [looked_up("v1", ("v1", "t[x / 8][x / 4][a[x]]"))],
        [replace(READS, target=Var(read.symbol("s", TYPES["f32"])), declares=True)],
    ],
    ids=["writes the table", "writes places", "a row each", "half cells", "two cells", "declares"],
)
def test_what_is_not_looked_up_in_strips(assigns):
    block = vector_loop(*assigns)
    assert table_permute(block) == block


def test_tables_with_rows_of_different_lengths_have_loops_of_their_own():
    both = looked_up("v1 + v2", ("v1", "t[x / 8][a[x]]"), ("v2", "s[x / 4][a[x]]"))
    block = table_permute(vector_loop(both))
    (strips,) = block.body
    assert isinstance(strips, For)
    starts = [text(node.start) for node in strips.body.body if isinstance(node, For)]
    assert starts == ["x_strip", "x_strip / 8", "x_strip / 4", "x_strip"]


def test_a_lookup_at_a_place_that_was_looked_up_stays():
    both = looked_up("v2", ("v1", "t[a[x]]"), ("v2", "t[(int32_t)v1]"))
    *_, last = assigns_in(table_permute(vector_loop(both)))
    assert [text(local.value) for local in last.locals] == [
        "v1_found[x - x_strip]",
        "t[(int32_t)v1]",
    ]
