"""Plans thought up to break the proof or the generated C: compiled, they do what the source does.

Outputs hold garbage before a call, so that what a plan must not write, or must not leave out, is
seen.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.errors import InvalidOptionError, UnknownNameError
from polyopt.frontend.c import parse_c
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.query import find_loop
from polyopt.transform.schedule.tree import copies_in

from .transformed import random_arrays

#: threads of each call
TEAMS = (1, 3)


@cache
def plan_of(text: str) -> Plan:
    return Plan(parse_c(text))


def assert_same(plan: Plan, cache, *sizes: dict[str, int]) -> None:
    """Fail unless the compiled plan computes what the interpreter makes of its source."""
    kernel = plan.compile(cache=cache)
    for params in sizes:
        given = random_arrays(plan.scop, params)
        expected = interpret(plan.scop, params, given)
        for threads in TEAMS:
            arrays = {name: values.copy() for name, values in given.items()}
            out = {name: arrays[name] for name in expected}
            rest = {name: v for name, v in arrays.items() if name not in out}
            kernel(**rest, **params, out=out, threads=threads)
            for name, values in expected.items():
                np.testing.assert_array_equal(arrays[name], values, err_msg=f"{name} at {params}")


BLUR = """void f(int M, float out[64][M], const float a[64][M]) {
    float bx[64][M];
    for (int y = 0; y < 64; y++) for (int x = 0; x < M; x++) bx[y][x] = a[y][x] * 2;
    for (int y = 0; y < 62; y++) for (int x = 0; x < M; x++)
        out[y][x] = bx[y][x] + bx[y + 1][x] + bx[y + 2][x];
}"""


@pytest.mark.parametrize("word", ["share", "buffer", "threads", "min_i64", "bx_tile", "bx_tile_of"])
def test_names_of_generated_code_are_free_for_programs(word, tmp_path):
    text = """void f(int N, float WORD[N][N], const float a[N][N]) {
        float bx[N][N];
        for (int y = 0; y < N; y++) for (int i = 0; i < N; i++) bx[y][i] = a[y][i] * 2;
        for (int y = 0; y < N; y++) for (int i = 0; i < N; i++) WORD[y][i] = bx[y][i] + a[i][y];
    }""".replace("WORD", word)
    plan = plan_of(text).tile(word, y=4).fuse("bx", word).parallelize(f"{word}.y_tile")
    assert_same(plan, tmp_path, {"N": 30})


def test_a_size_or_an_iterator_may_be_called_share(tmp_path):
    text = """void f(int share, float out[share]) { for (int i = 0; i < share; i++) out[i] = i; }"""
    assert_same(plan_of(text).parallelize("out.i"), tmp_path, {"share": 300})
    text = """void f(int N, float out[N][N]) {
        for (int share = 0; share < N; share++) for (int i = 0; i < share; i++) out[share][i] = i;
    }"""
    assert_same(plan_of(text).parallelize("out.i"), tmp_path, {"N": 30})


def test_a_parallel_loop_of_one_iteration_still_has_its_buffer(tmp_path):
    plan = plan_of(BLUR).tile("out", y=64).fuse("bx", "out").parallelize("out.y_tile")
    assert "bx_tile_of[omp_get_thread_num()]" in plan.emit().source
    assert_same(plan, tmp_path, {"M": 1}, {"M": 9})


def test_parallel_loops_inside_parallel_loops_run_on_one_thread():
    plan = plan_of(BLUR).parallelize("bx.y").tile("out", y=4).fuse("bx", "out")
    plan = plan.parallelize("out.y_tile")
    assert plan.emit().source.count("#pragma omp parallel") == 1


def test_lanes_do_not_share_a_heap_buffer():
    plan = plan_of(BLUR).interchange("out.y", "out.x").vectorize("out.y")
    plan = plan.interchange("out.y", "out.x").fuse("bx", "out", at="out.y")
    source = plan.emit().source
    assert "buffer(sizeof" in source
    assert "omp simd" not in source


def test_a_buffer_has_room_also_at_sizes_that_store_nothing(tmp_path):
    plan = plan_of("""void f(int N, float out[N], const float a[N]) {
        float bx[N];
        for (int y = 50; y < N - 50; y++) bx[y] = a[y] * 2;
        for (int y = 52; y < N - 52; y++) out[y] = bx[y - 1] + bx[y + 2];
    }""").store("bx", at="")
    assert_same(plan, tmp_path, {"N": 1}, {"N": 3}, {"N": 101}, {"N": 130})


@pytest.mark.parametrize(("step", "lanes"), [(1, 8), (2, 4), (3, 3), (8, 1)])
def test_safelen_counts_iterations_not_values(step, lanes):
    # A[i - 8] is 8 / step iterations back: more at once would read what is not written yet
    plan = plan_of(f"""void f(int N, float A[N], const float B[N]) {{
        for (int i = 8; i < N; i += {step}) A[i] = A[i - 8] * 0.5f + B[i];
    }}""").vectorize("A.i", 8)
    assert f"safelen({lanes})" in plan.emit().source


LOCALS = """void f(int N, float out[N], float other[N], const float a[N]) {
    for (int y = 0; y < N; y++) { float t = a[y] * 2; out[y] = t * t; }
    for (int z = 0; z < N; z++) { float u = a[z] * 3; other[z] = u * u; }
}"""


def test_locals_of_merged_loops_stay_locals(tmp_path):
    plan = plan_of(LOCALS).fuse_loops("out.y", "other.z")
    assert {s.at for s in plan.program.stores} == {"other.z"}
    plan = plan.tile("other", z=4).parallelize("other.z_tile").vectorize("other.z")
    assert_same(plan, tmp_path, {"N": 1}, {"N": 9})


def test_each_half_of_a_distributed_loop_has_its_locals(tmp_path):
    plan = plan_of(LOCALS).fuse_loops("out.y", "other.z").distribute("other.z", at="u")
    assert len({s.at for s in plan.program.stores}) == 2
    assert_same(plan, tmp_path, {"N": 1}, {"N": 9})


def test_a_distributed_nest_has_loops_of_distinct_names(tmp_path):
    plan = plan_of("""void f(int N, float out[N][N], float other[N][N], const float a[N][N]) {
        for (int y = 0; y < N; y++) for (int x = 0; x < N; x++) {
            float t = a[y][x] * 2; out[y][x] = t * t;
            float u = a[y][x] * 3; other[y][x] = u * u + out[y][x];
        }
    }""").distribute("other.y", at="u")
    plan = plan.vectorize("other.x2").tile("other", y=4, x=8)
    assert_same(plan, tmp_path, {"N": 1}, {"N": 9})


@pytest.mark.parametrize(
    "move",
    [
        lambda p: p.split("out.y", 10**30),
        lambda p: p.tile("out", y=10**30),
        lambda p: p.vectorize("out.x", 10**30),
        lambda p: p.unroll("out.x", 10**30),
        lambda p: p.shift("out", y=-(10**30)),
        lambda p: p.skew("out.x", by="out.y", factor=10**30),
        lambda p: p.store("bx", at="", fold={"y": 10**30}),
        lambda p: p.store("bx", at="", extents={0: 10**30}),
    ],
)
def test_numbers_beyond_what_c_counts_are_refused(move):
    with pytest.raises(InvalidOptionError, match="too large"):
        move(plan_of(BLUR))


def test_merge_shifts_all_statements_of_the_second_loop(tmp_path):
    plan = plan_of("""void f(int N, float c[N], float d[N], float e[N], const float a[N]) {
        for (int i = 0; i < N; i++) c[i] = a[i];
        for (int i = 0; i < N - 1; i++) { float u = c[i + 1]; d[i] = u + 1; e[i] = d[i] * c[i]; }
    }""").fuse_loops("c.i", "e.i", shift=1)
    assert_same(plan, tmp_path, {"N": 1}, {"N": 2}, {"N": 9})


@pytest.mark.parametrize("name", [None, 7, ["out"], {}, b"out"])
@pytest.mark.parametrize(
    "move",
    [
        lambda p, n: p.tile(n, y=4),
        lambda p, n: p.split(n, 4),
        lambda p, n: p.fuse_loops("bx.y", n),
        lambda p, n: p.distribute("out.y", n),
        lambda p, n: p.fuse(n, "out"),
        lambda p, n: p.fuse("bx", n),
        lambda p, n: p.inline(n),
        lambda p, n: p.store(n, at=""),
        lambda p, n: p.pack(n, at="out.y"),
        lambda p, n: p.parallelize(n),
    ],
)
def test_what_is_no_name_names_nothing(name, move):
    with pytest.raises(UnknownNameError, match="known by its name"):
        move(plan_of(BLUR), name)


SUMS = """void f(int N, float out[N], float other[N], const float a[N]) {
    float bx[N];
    for (int y = 0; y < N; y++) {
        float s = 0;
        for (int k = 0; k < 3; k++) s += a[y] * k;
        float t = s + 1;
        bx[y] = t * s;
        OTHER
    }
    for (int z = 0; z < N - 1; z++) { float s = bx[z] + bx[z + 1]; out[z] = s * s; }
}"""


@pytest.mark.parametrize("storage", ["scratch", "sliding", "full"])
@pytest.mark.parametrize("other", ["other[y] = 1;", "other[y] = t;"])
def test_a_fused_producer_takes_its_locals_along(storage, other, tmp_path):
    plan = plan_of(SUMS.replace("OTHER", other)).tile("out", z=4)
    plan = plan.fuse("bx", "out", storage=storage)
    assert {"bx", "s", "t"} <= _written_in(plan, "out.z_tile")
    assert ("s" in _written_in(plan, "other.y")) == ("= t" in other)
    assert_same(plan, tmp_path, {"N": 2}, {"N": 5}, {"N": 9})


def _written_in(plan: Plan, loop: str) -> set[str]:
    copies = plan.program.copies
    return {copies[c].statement.array for c in copies_in(find_loop(plan.program, loop))}


def test_a_producer_fused_in_full_does_not_run_twice(tmp_path):
    plan = plan_of(SUMS.replace("OTHER", "other[y] = 1;")).tile("out", z=4)
    plan = plan.fuse("bx", "out", storage="full")
    assert [p.copy for p in plan.program.places.values() if "bx" in p.copy] == ["bx@out.z_tile"]
    assert_same(plan, tmp_path, {"N": 5})


def test_arrays_that_start_below_zero_start_at_zero_in_c(tmp_path):
    image = po.input("image", po.i32, ["H", "W"])
    near = po.clamped(image)
    halo = po.stage("halo", [(-2, "H + 1"), (-1, "W")], lambda y, x: near[y, x] * 2)
    out = po.stage("out", [(-1, "H"), "W"], lambda y, x: halo[y - 1, x - 1] + halo[y + 1, x])
    plan = Plan(po.pipeline(out))
    for made in (plan, plan.tile("out", y=4).fuse("halo", "out", storage="full")):
        assert "[y - 1][x - 1]" not in made.emit().source
        assert_same(made, tmp_path, {"H": 5, "W": 6}, {"H": 1, "W": 1})
