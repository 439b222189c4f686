"""Dependences are compared by meaning with relations written down by hand."""

from __future__ import annotations

import pytest

from polyopt.analysis.dependences import dependences
from polyopt.errors import NotDecidedError
from polyopt.ir import build
from polyopt.ir.expr import index_of
from polyopt.ir.scop import Loop
from polyopt.ir.types import F32, I64, U8
from polyopt.isl import parse_union_map, same_map


def check(found, expected, params="", context=""):
    """Compare with a relation given as isl text, where the parameters satisfy ``context``."""
    wanted = parse_union_map(f"[{params}] -> {{ {expected} }}")
    if context:
        from polyopt.isl import parse_set

        sizes = parse_set(f"[{params}] -> {{ : {context} }}")
        wanted, found = wanted.intersect_params(sizes), found.intersect_params(sizes)
    assert same_map(found, wanted), f"found {found}\nwanted {wanted}"


def test_blur_reads_three_rows(blur):
    deps = dependences(blur)
    inside = "0 <= i < H and 0 <= j < W - 2 and 0 <= ii < H - 2"
    check(deps.flow, f"bx[i, j] -> out[ii, j] : {inside} and i - 2 <= ii <= i", "H, W")
    check(
        deps.tagged_flow,
        "; ".join(
            f"bx[i, j] -> [out[i - {k}, j] -> out_r{k}[]] : 0 <= j < W - 2 and {k} <= i < H - 2 + {k}"
            for k in range(3)
        ),
        "H, W",
    )
    check(
        deps.live_in,
        "; ".join(
            f"[bx[i, j] -> bx_r{k}[]] -> img[i, j + {k}] : 0 <= i < H and 0 <= j < W - 2"
            for k in range(3)
        ),
        "H, W", "H >= 3 and W >= 3",
    )  # fmt: skip
    assert deps.anti.is_empty()
    assert deps.output.is_empty()
    check(deps.memory_flow, f"bx[i, j] -> out[ii, j] : {inside} and i - 2 <= ii <= i", "H, W")
    check(
        deps.live_out, "out[i, j] -> out[i, j] : 0 <= i < H - 2 and 0 <= j < W - 2",
        "H, W", "H >= 3 and W >= 3",
    )  # fmt: skip


def test_reduction_passes_its_sum_along(conv):
    deps = dependences(conv)
    box = "0 <= h < H - 2 and 0 <= w < W - 2"
    step = (
        f"c_0[h, w] -> c_1[h, w, 0, 0] : {box};"
        f"c_1[h, w, p, q] -> c_1[h, w, p, q + 1] : {box} and 0 <= p < 3 and 0 <= q < 2;"
        f"c_1[h, w, p, 2] -> c_1[h, w, p + 1, 0] : {box} and 0 <= p < 2"
    )
    check(deps.flow, step, "H, W")
    check(deps.value_output, step, "H, W")
    assert deps.value_anti.is_empty(), "an instance does not wait for itself"
    check(deps.live_out, f"c_1[h, w, 2, 2] -> c[h, w] : {box}", "H, W", "H >= 3 and W >= 3")
    earlier = "0 <= p < 3 and 0 <= q < 3 and 0 <= s < 3 and 0 <= t < 3 and 3 p + q < 3 s + t"
    check(deps.anti, f"c_1[h, w, p, q] -> c_1[h, w, s, t] : {box} and {earlier}", "H, W")


def test_buffers_written_in_turn(jacobi):
    deps = dependences(jacobi)
    near = "0 < i < N - 1 and 0 < k < N - 1 and i - 1 <= k <= i + 1"
    check(
        deps.flow,
        f"b[t, i] -> a[t, k] : 0 <= t < T and {near}; a[t, i] -> b[t + 1, k] : 0 <= t < T - 1 and {near}",
        "T, N",
    )
    check(
        deps.value_anti,
        f"b[t, i] -> a[t, k] : 0 <= t < T and {near}; a[t, i] -> b[t + 1, k] : 0 <= t < T - 1 and {near}",
        "T, N",
    )
    check(
        deps.anti,
        f"b[t, i] -> a[s, k] : 0 <= t <= s < T and {near}; a[t, i] -> b[s, k] : 0 <= t < s < T and {near}",
        "T, N",
    )
    check(
        deps.value_output,
        "a[t, i] -> a[t + 1, i] : 0 <= t < T - 1 and 0 < i < N - 1;"
        "b[t, i] -> b[t + 1, i] : 0 <= t < T - 1 and 0 < i < N - 1",
        "T, N",
    )
    check(
        deps.live_out,
        "a[T - 1, i] -> a[i] : 0 < i < N - 1; b[T - 1, i] -> b[i] : 0 < i < N - 1",
        "T, N", "T >= 1",
    )  # fmt: skip


def test_triangle_reads_the_finished_value(triangular):
    deps = dependences(triangular)
    check(
        deps.flow,
        "x[i, j] -> x[i, j + 1] : 0 <= j < i - 1 and i < N;x[i, i - 1] -> x[k, i] : 0 < i < k < N",
        "N",
    )
    check(deps.live_out, "x[i, i - 1] -> x[i] : 0 < i < N", "N")


def test_two_reads_of_one_array_stay_apart(program):
    p = program("N")
    p.array("a", "2*N", role="inout")
    p.statement("a_0", "i", "0 <= i < N", "a: 2 i", lambda b: build.const(F32, 1))
    p.statement("a_1", "i", "0 < i < N", "a: 2 i + 1", lambda b: b.sum("a: 2 i", "a: i"))
    deps = dependences(p.scop(Loop("i", ("a_0",)), Loop("i", ("a_1",)), context="N >= 1"))
    check(
        deps.tagged_flow,
        "a_0[i] -> [a_1[i] -> a_1_r0[]] : 0 < i < N;"
        "a_0[i] -> [a_1[2 i] -> a_1_r1[]] : 0 < 2i < N;"
        "a_1[i] -> [a_1[2 i + 1] -> a_1_r1[]] : 0 < i and 2 i + 1 < N",
        "N",
    )
    check(
        deps.live_in, "[a_1[1] -> a_1_r1[]] -> a[1] : N >= 2", "N"
    )  # no instance a_1[0] wrote element 1


def test_modulo_buffer(program):
    p = program("N")
    p.array("x", "N")
    p.array("ring", 3, role="temp")
    p.array("y", "N", role="out")
    p.statement("ring", "i", "0 <= i < N", "ring: i mod 3", lambda b: b.load("x: i"))
    p.statement(
        "y", "i", "2 <= i < N", "y: i", lambda b: b.sum("ring: (i - 2) mod 3", "ring: i mod 3")
    )
    deps = dependences(p.scop(Loop("i", ("ring", "y"))))
    check(
        deps.tagged_flow,
        "ring[i] -> [y[i + 2] -> y_r0[]] : 0 <= i < N - 2; ring[i] -> [y[i] -> y_r1[]] : 2 <= i < N",
        "N",
    )
    check(
        deps.value_anti,
        "y[i] -> ring[i + 1] : 2 <= i < N - 1; y[i] -> ring[i + 3] : 2 <= i < N - 3", "N",
    )  # fmt: skip


def test_a_guarded_read_happens_only_under_its_guard(program):
    p = program("N")
    p.array("a", "N", role="inout")
    p.statement(
        "a", "i", "0 <= i < N", "a: i",
        lambda b: build.select(b.inside("i >= 2"), b.load("a: i - 2"), build.const(F32, 0)),
    )  # fmt: skip
    deps = dependences(p.scop(Loop("i", ("a",))))
    check(deps.flow, "a[i] -> a[i + 2] : 0 <= i < N - 2", "N")
    assert deps.live_in.is_empty()


def test_a_descending_loop_runs_backwards(program):
    p = program("N")
    p.array("a", "N", role="inout")
    p.statement("a", "i", "0 <= i < N - 1", "a: i", lambda b: b.load("a: i + 1"))
    nest = Loop("i", ("a",), -1)
    deps = dependences(p.scop(nest, context="N >= 1"))
    check(deps.flow, "a[i] -> a[i - 1] : 0 < i < N - 1", "N")
    check(deps.live_in, "[a[N - 2] -> a_r0[]] -> a[N - 1] : N >= 2", "N")


def table_program(program, index):
    p = program("N")
    p.array("pick", "N", type=U8)
    p.array("lut", 256, role="temp")
    p.array("y", "N", role="out")
    p.statement("lut", "v", "0 <= v < 256", "lut: v", lambda b: build.const(F32, 1))
    p.statement("y", "i", "0 <= i < N", "y: i", lambda b: b.load_at("lut", index(b)))
    return p.scop(Loop("v", ("lut",)), Loop("i", ("y",)), context="N >= 1")


def test_an_unknown_element_may_be_any(program):
    scop = table_program(program, lambda b: build.cast(I64, b.load("pick: i")))
    deps = dependences(scop)
    check(deps.flow, "lut[v] -> y[i] : 0 <= v < 256 and 0 <= i < N", "N")


def test_a_clamp_narrows_an_unknown_element(program):
    def index(b):
        free = build.cast(I64, b.load("pick: i"))
        low, high = (index_of(b.form(text)) for text in ("3", "i + 5"))
        return build.binary("min", build.binary("max", free, low), high)

    deps = dependences(table_program(program, index))
    check(deps.flow, "lut[v] -> y[i] : 3 <= v <= i + 5 and v < 256 and 0 <= i < N", "N")


def test_an_index_that_is_itself_loaded_is_not_taken_for_its_subscript(program):
    p = program("N")
    p.array("next", "N", type=I64)
    p.array("a", "N", role="inout")
    p.statement("a", "i", "0 <= i < N", "a: i", lambda b: b.load_at("a", b.load("next: i")))
    deps = dependences(p.scop(Loop("i", ("a",)), context="N >= 1"))
    check(deps.flow, "a[i] -> a[k] : 0 <= i < k < N", "N")


def test_value_dependences_order_what_memory_dependences_order(conv, jacobi, triangular):
    for scop in (conv, jacobi, triangular):
        deps = dependences(scop)
        closure, _ = deps.value.transitive_closure()
        assert deps.memory.is_subset(closure)


def test_a_spent_budget_is_an_answer_of_its_own(conv):
    with pytest.raises(NotDecidedError, match="not decided within 10 isl operations"):
        dependences(conv, budget=10)
    assert not dependences(conv).flow.is_empty()


def test_rows_and_table(jacobi):
    deps = dependences(jacobi)
    rows = {(r.kind, r.source, r.sink, r.array): r.distance_text for r in deps.rows()}
    assert rows == {
        ("flow", "b", "a", "b"): "(0, -1..1)",
        ("flow", "a", "b", "a"): "(1, -1..1)",
        ("anti", "b", "a", "a"): "(0, -1..1)",
        ("anti", "a", "b", "b"): "(1, -1..1)",
        ("output", "b", "b", "b"): "(1, 0)",
        ("output", "a", "a", "a"): "(1, 0)",
    }
    witness = deps.rows()[1].witness
    assert str(witness) == "flow a[0, 1] -> b[1, 1] through a[1] when T = 2, N = 3"
    assert all(len(line) <= 80 for line in str(deps).splitlines())


def test_unbounded_distances_show_their_direction(triangular):
    flow = dependences(triangular).rows()[0]
    assert flow.distance == ("<=", "1")


def test_a_wide_table_gives_witnesses_lines_of_their_own(conv):
    text = str(dependences(conv))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "[0, 0, 0, 0] -> [0, 0, 0, 1], H = 3, W = 3" in text


def test_no_dependences(program):
    p = program()
    p.array("a", 4)
    p.array("b", 4, role="out")
    p.statement("b", "i", "0 <= i < 4", "b: i", lambda b: b.load("a: i"))
    assert str(dependences(p.scop(Loop("i", ("b",))))) == "no dependences"
