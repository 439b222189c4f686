"""Parallel loops as functions of their own: what they are given, and which loops stay."""

from __future__ import annotations

import re

import numpy as np

import polyopt as po
from polyopt.codegen.ast.nodes import Parallel, loops_in
from polyopt.codegen.lower.lowering import lower
from polyopt.codegen.pipeline import function_of, generate


def two_stages():
    image = po.input("img", po.f32, ("H + 2", "W"))
    sums = po.stage("sums", ("H + 2", "W"), lambda y, x: image[y, x] * 2)
    out = po.stage("out", ("H", "W"), lambda y, x: sums[y, x] + sums[y + 2, x])
    return po.pipeline(out, name="twice", context=["H >= 1", "W >= 1"])


def tiled(scop):
    plan = po.Plan(scop).tile("out", y=8).fuse("sums", into="out", at="out.y", storage="sliding")
    return plan.vectorize("out.x").parallelize("out.y_tile")


def tasks(source):
    """Name, parameters and body of every function that threads call."""
    found = re.findall(
        r"^static void (twice\w*)\(([^{]*)\)\n\{\n(.*?)^\}", source, re.MULTILINE | re.DOTALL
    )
    return [(name, " ".join(parameters.split()), body) for name, parameters, body in found]


def test_gcc_is_kept_from_taking_tasks_for_functions_that_store_nothing():
    """See ``seed_16857`` in the corpus of the random programs."""
    plan = tiled(two_stages())

    assert '#pragma GCC optimize("no-ipa-modref")' in plan.emit().source
    assert "#pragma GCC optimize" not in po.Plan(two_stages()).emit().source


def test_a_task_has_its_arrays_as_restricted_parameters():
    ((name, parameters, body),) = tasks(tiled(two_stages()).compile().source)
    assert name == "twice_y_tile"
    assert parameters.split(", ")[:4] == [
        "int64_t H",
        "int64_t W",
        "const float img[restrict H + 2][W]",
        "float out[restrict H][W]",
    ]
    assert "int64_t y_tile" in parameters
    assert "float sums_tile[restrict 3][W - (W + 15) % 32 + 31]" in parameters
    assert "#pragma omp simd" in body
    assert "omp parallel" not in body


def test_the_loop_calls_its_task_with_the_buffers_of_its_thread():
    source = tiled(two_stages()).compile().source
    call = re.search(r"schedule[^{]*\{\s*(twice_y_tile\([^;]*\));", source)
    assert call is not None
    assert "sums_tile_of[omp_get_thread_num()]" in call[1]


def test_a_task_computes_what_the_loop_did():
    scop, rng = two_stages(), np.random.default_rng(3)
    for height, width in ((1, 1), (7, 5), (8, 3), (9, 17), (33, 16)):
        img = rng.random((height + 2, width), np.float32)
        kernel = tiled(scop).compile()
        for threads in (1, 2):
            out = kernel(img, threads=threads)
            assert np.array_equal(out, img[:-2] * 2 + img[2:] * 2)


def test_a_loop_without_loops_inside_stays():
    a = po.input("a", po.f32, ("N",))
    out = po.stage("out", ("N",), lambda i: a[i] + 1)
    source = po.Plan(po.pipeline(out, name="twice")).parallelize("out.i").compile().source
    assert "omp parallel" in source
    assert not tasks(source)


SWEEP = """
void sweep(int N, float a[N][N][N]) {
    for (int t = 1; t < N; t++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                a[t][i][j] = a[t - 1][i][j] + 1.0f;
}
"""


def test_outer_iterators_reach_the_task():
    plan = po.Plan(po.parse_c(SWEEP)).parallelize("a.i")
    source = plan.compile().source
    assert re.search(r"static void sweep_i\([^)]*int64_t t, int64_t i\)", source)
    a = np.zeros((5, 5, 5), np.float32)
    plan.compile()(a=a)
    assert np.array_equal(a[:, 2, 3], np.arange(5, dtype=np.float32))


def test_long_lists_are_broken_into_lines():
    source = tiled(two_stages()).compile().source
    head = source[source.index("static void twice") : source.index("int twice(")]
    assert max(map(len, head[: head.index("{")].splitlines())) <= 100


def test_before_it_threads_run_what_is_in_their_loop():
    program = tiled(two_stages()).program
    inside = function_of(lower(program), program, "twice")
    outlined = generate(lower(program), program, "twice")
    assert not inside.tasks
    (whole,), (called,) = parallel_loops(inside), parallel_loops(outlined)
    (task,) = outlined.tasks
    assert len(loops_in(whole.body)) == len(loops_in(task.body)) > 0
    assert loops_in(called.body) == ()
    assert [b.is_allocated for b in whole.private] == [True]
    assert called.private == ()


def parallel_loops(function):
    return [loop for loop in loops_in(function.body) if isinstance(loop.kind, Parallel)]
