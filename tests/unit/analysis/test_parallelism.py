"""Coincidence, permutability and reductions of source loops."""

from __future__ import annotations

from polyopt.analysis.dependences import dependences
from polyopt.analysis.parallelism import loop_properties, reduction_dependences
from polyopt.ir import build
from polyopt.ir.scop import Loop
from polyopt.ir.types import F32
from polyopt.isl import parse_union_map, same_map


def properties(scop):
    return {(*p.path, p.statements[0]): p for p in loop_properties(scop, dependences(scop))}


def test_independent_stages(blur):
    found = properties(blur)
    assert all(p.coincident for p in found.values())
    assert found["i", "bx"].permutable
    assert not found["i", "j", "bx"].permutable, "there is no loop inside"
    assert found["i", "j", "out"].iterator == "j"


def test_reduction_loops_are_told_from_others(conv):
    found = properties(conv)
    assert found["h", "c_0"].coincident
    assert found["h", "c_0"].permutable
    assert not found["h", "w", "c_0"].permutable, "the nest is not perfect there"
    outer = found["h", "w", "p", "c_1"]
    assert not outer.coincident
    assert outer.reduction
    assert not outer.permutable
    assert outer.blocked_by_reduction
    assert [w.kind for w in outer.carried] == ["flow", "output"]


def test_reduction_dependences(conv, triangular):
    box = "0 <= h < H - 2 and 0 <= w < W - 2"
    wanted = parse_union_map(
        f"[H, W] -> {{ c_1[h, w, p, q] -> c_1[h, w, p, q + 1] : {box} and 0 <= p < 3 and 0 <= q < 2;"
        f"c_1[h, w, p, 2] -> c_1[h, w, p + 1, 0] : {box} and 0 <= p < 2 }}"
    )
    assert same_map(reduction_dependences(conv, dependences(conv)), wanted)
    assert reduction_dependences(triangular, dependences(triangular)).is_empty()


def test_a_recurrence_beside_an_update_is_no_reduction(program):
    p = program("N")
    p.array("a", "N", role="inout")
    p.statement(
        "a", "i, j", "1 <= i < N and 0 <= j < N", "a: i", lambda b: b.sum("a: i", "a: i - 1")
    )
    scop = p.scop(Loop("i", (Loop("j", ("a",)),)))
    deps = dependences(scop)
    assert reduction_dependences(scop, deps).is_empty()
    assert not loop_properties(scop, deps)[0].reduction


def test_time_loops_carry_all_kinds(jacobi):
    time, *space = loop_properties(jacobi, dependences(jacobi))
    assert [w.kind for w in time.carried] == ["flow", "anti", "output"]
    assert str(time.carried[0]) == "flow a[0, 1] -> b[1, 1] through a[1] when T = 2, N = 3"
    assert not time.reduction
    assert all(p.coincident for p in space)


def wavefront(program, left, *, step=1):
    p = program("N")
    p.array("a", "N", "N", role="inout")
    p.statement("a", "i, j", "1 <= i < N - 1 and 1 <= j < N - 1", "a: i, j", lambda b: b.load(left))
    return p.scop(Loop("i", (Loop("j", ("a",), step),)), context="N >= 4")


def test_distance_one_minus_one_blocks_the_exchange(program):
    outer, inner = loop_properties(
        (scop := wavefront(program, "a: i - 1, j + 1")), dependences(scop)
    )
    assert not outer.permutable
    assert str(outer.blocked) == "flow a[1, 2] -> a[2, 1] through a[1, 2] when N = 4"
    assert not outer.blocked_by_reduction
    assert inner.coincident
    assert "exchange would turn round flow" in str(outer)


def test_distance_one_one_allows_it(program):
    scop = wavefront(program, "a: i - 1, j - 1")
    outer, inner = loop_properties(scop, dependences(scop))
    assert outer.permutable
    assert not outer.coincident
    assert inner.coincident
    assert str(inner) == "i > j: coincident"


def test_a_descending_inner_loop_turns_the_sign(program):
    assert not _outer(wavefront(program, "a: i - 1, j - 1", step=-1)).permutable
    assert _outer(wavefront(program, "a: i - 1, j + 1", step=-1)).permutable


def _outer(scop):
    return loop_properties(scop, dependences(scop))[0]


def test_memory_based_dependences_are_carried_by_the_same_loops(conv, jacobi, triangular):
    from polyopt.analysis.parallelism import carried_at
    from polyopt.isl import dim_type, maps_of, tuple_name

    for scop in (conv, jacobi, triangular):
        deps = dependences(scop)
        for found in loop_properties(scop, deps):
            depth = len(found.path) - 1
            pairs = [
                m for m in maps_of(deps.memory)
                if tuple_name(m, dim_type.in_) in found.statements
                and tuple_name(m, dim_type.out) in found.statements
            ]  # fmt: skip
            assert found.coincident == all(carried_at(m, depth).is_empty() for m in pairs)


def test_constants_need_no_loops(program):
    p = program()
    p.array("s", role="out")
    p.statement("s", "", "", "s", lambda b: build.const(F32, 1))
    scop = p.scop("s")
    assert loop_properties(scop, dependences(scop)) == ()
