"""The interpreter against NumPy, against poison, and on programs that were transformed."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.analysis.interpreter.interpret import (
    Cell,
    Instance,
    interpret,
    make_memory,
    run_instances,
    source_order,
)
from polyopt.errors import ArgumentError
from polyopt.ir import build
from polyopt.ir.scop import Loop
from polyopt.ir.types import F32, I32, I64, U8

SIZES = {"H": 7, "W": 9}


def image(h=7, w=9):
    return np.random.default_rng(1).random((h, w), dtype=np.float32)


def blurred(img):
    bx = img[:, :-2] + img[:, 1:-1] + img[:, 2:]
    return bx[:-2] + bx[1:-1] + bx[2:]


def test_blur(blur):
    img = image()
    found = interpret(blur, SIZES, {"img": img})
    assert set(found) == {"out"}
    assert found["out"].dtype == np.float32
    np.testing.assert_array_equal(found["out"], blurred(img))


def test_reduction(conv):
    a, k = image(), image(3, 3)
    wanted = np.zeros((5, 7), np.float32)
    for p in range(3):
        for q in range(3):
            wanted += a[p : p + 5, q : q + 7] * k[p, q]
    np.testing.assert_array_equal(interpret(conv, SIZES, {"a": a, "k": k})["c"], wanted)


def test_in_place_updates_leave_the_callers_arrays_alone(jacobi):
    a, b = image(1, 12)[0], image(1, 12)[0] * 2
    kept = a.copy()
    found = interpret(jacobi, {"T": 3, "N": 12}, {"a": a, "b": b})
    x, y = a.copy(), b.copy()
    for _ in range(3):
        y[1:-1] = x[:-2] + x[1:-1] + x[2:]
        x[1:-1] = y[:-2] + y[1:-1] + y[2:]
    np.testing.assert_array_equal(found["a"], x)
    np.testing.assert_array_equal(found["b"], y)
    np.testing.assert_array_equal(a, kept)


def test_triangle(triangular):
    low, x = image(6, 6), np.ones(6, np.float32)
    wanted = x.copy()
    for i in range(6):
        for j in range(i):
            wanted[i] = wanted[i] - low[i, j] * wanted[j]
    np.testing.assert_array_equal(interpret(triangular, {"N": 6}, {"l": low, "x": x})["x"], wanted)


def test_a_descending_strided_loop(program):
    p = program("N")
    p.array("a", "N", role="inout", type=I32)
    p.statement(
        "a", "i", "0 <= i < N - 2 and i mod 2 = 0", "a: i",
        lambda b: build.binary("add", b.load("a: i + 2"), build.const(I32, 1)),
    )  # fmt: skip
    found = interpret(p.scop(Loop("i", ("a",), -2)), {"N": 7}, {"a": np.zeros(7, np.int32)})
    assert found["a"].tolist() == [3, 0, 2, 0, 1, 0, 0]


def test_reads_of_what_nothing_wrote_show(program):
    p = program("N")
    p.array("t", "N", role="temp")
    p.array("n", "N", role="temp", type=U8)
    p.array("y", "N", role="out")
    p.array("z", "N", role="out", type=U8)
    p.statement("t", "i", "0 <= i < N - 1", "t: i", lambda b: build.const(F32, 1))
    p.statement("y", "i", "0 <= i < N", "y: i", lambda b: b.load("t: i"))
    p.statement("z", "i", "0 <= i < N", "z: i", lambda b: b.load("n: i"))
    scop = p.scop(*(Loop("i", (name,)) for name in ("t", "y", "z")))
    found = interpret(scop, {"N": 3}, {})
    assert found["y"][:2].tolist() == [1, 1]
    assert np.isnan(found["y"][2])
    assert found["z"].tolist() == [0xA5] * 3


def test_outputs_keep_what_the_caller_gave_where_nothing_is_written(program):
    p = program("N")
    p.array("y", "N", role="out", type=I32)
    p.statement("y", "i", "1 <= i < N", "y: i", lambda b: build.affine(I32, b.form("2 i")))
    scop = p.scop(Loop("i", ("y",)))
    given = np.full(4, -1, np.int32)
    assert interpret(scop, {"N": 4}, {"y": given})["y"].tolist() == [-1, 2, 4, 6]


def test_data_dependent_index_and_scalar_argument(program):
    p = program("N")
    p.array("pick", "N", type=U8)
    p.array("lut", 256, type=I32)
    p.array("bias", type=I32)
    p.array("y", "N", role="out", type=I32)
    p.statement(
        "y", "i", "0 <= i < N", "y: i",
        lambda b: b.sum(b.load_at("lut", build.cast(I64, b.load("pick: i"))), "bias"),
    )  # fmt: skip
    scop = p.scop(Loop("i", ("y",)))
    pick = np.array([3, 255, 0], np.uint8)
    lut = np.arange(256, dtype=np.int32) ** 2
    found = interpret(scop, {"N": 3}, {"pick": pick, "lut": lut, "bias": 5})
    assert found["y"].tolist() == [14, 65030, 5]


def test_arrays_that_start_elsewhere(program):
    p = program("N")
    p.array("a", "N + 2", lower=("-1",), type=I32)
    p.array("y", "N", role="out", type=I32)
    p.statement("y", "i", "0 <= i < N", "y: i", lambda b: b.sum("a: i - 1", "a: i + 1"))
    a = np.arange(6, dtype=np.int32)
    found = interpret(p.scop(Loop("i", ("y",))), {"N": 4}, {"a": a})
    assert found["y"].tolist() == [2, 4, 6, 8]


def test_leaving_an_array_is_an_error(program):
    p = program("N")
    p.array("a", "N")
    p.array("y", "N", role="out")
    p.statement("y", "i", "0 <= i < N", "y: i", lambda b: b.load("a: i - 1"))
    with pytest.raises(ArgumentError, match=r"a\[-1\] lies outside a"):
        interpret(p.scop(Loop("i", ("y",))), {"N": 4}, {"a": np.zeros(4, np.float32)})


def test_arguments_that_do_not_fit(blur):
    with pytest.raises(ArgumentError, match="the array img is missing"):
        interpret(blur, SIZES, {})
    with pytest.raises(ArgumentError, match=r"img is float64 \(7, 9\), not float32 \(7, 9\)"):
        interpret(blur, SIZES, {"img": np.zeros((7, 9))})
    with pytest.raises(ArgumentError, match=r"img is float32 \(7, 8\)"):
        interpret(blur, SIZES, {"img": np.zeros((7, 8), np.float32)})


def test_source_order_is_the_sources(jacobi):
    order = source_order(jacobi, {"T": 2, "N": 4})
    assert [(i.statement, i.iterators) for i in order] == [
        ("b", (0, 1)), ("b", (0, 2)), ("a", (0, 1)), ("a", (0, 2)),
        ("b", (1, 1)), ("b", (1, 2)), ("a", (1, 1)), ("a", (1, 2)),
    ]  # fmt: skip


def sliding(window):
    """The blur row by row, the intermediate kept in ``window`` rows only."""
    order = []
    for row in range(7):
        order += [Instance("bx", (row, j)) for j in range(7)]
        if row >= 2:
            order += [Instance("out", (row - 2, j)) for j in range(7)]

    def cell_of(ref, cell, instance):
        if cell.array != "bx":
            return cell
        return ("rows", cell.subscripts[0] % window, cell.subscripts[1])

    return order, cell_of


@pytest.mark.parametrize(("window", "right"), [(3, True), (2, False)])
def test_folded_storage_is_right_or_visibly_wrong(blur, window, right):
    img = image()
    memory = make_memory(blur, SIZES, {"img": img})
    order, cell_of = sliding(window)
    run_instances(blur, order, SIZES, memory, cell_of)
    assert (memory.result("out") == blurred(img)).all() == right


def test_recomputed_tiles_with_scratch_of_their_own(blur):
    img = image()
    order = []
    for tile in range(3):
        rows = range(2 * tile, min(2 * tile + 2, 5))
        for i in range(rows.start, rows.stop + 2):
            order += [Instance("bx", (i, j), (tile,)) for j in range(7)]
        order += [Instance("out", (i, j), (tile,)) for i in rows for j in range(7)]

    def cell_of(ref, cell, instance):
        assert ref.startswith(instance.statement)
        return (instance.at, cell) if cell.array == "bx" else cell

    memory = make_memory(blur, SIZES, {"img": img})
    run_instances(blur, order, SIZES, memory, cell_of)
    np.testing.assert_array_equal(memory.result("out"), blurred(img))
    assert Cell("out", (0, 0)) in memory.written
