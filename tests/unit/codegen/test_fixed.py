"""Values that a vector loop's iterations have in common are worked out before it."""

from __future__ import annotations

import re

import numpy as np

import polyopt as po


def levels():
    """How many of eight columns have each of sixteen values: the bins are the inner loop."""
    image = po.input("img", po.f32, ("H", "8 * W"))

    def bins(y, x, z):
        def one(r):
            value = po.max(po.min(image[y, 8 * x + r], 15.0), 0.0)
            return po.select(po.cast(po.i32, value) == z, po.f32(1), po.f32(0))

        return po.sum(one, r=8)

    out = po.stage("out", ("H", "W", 16), bins)
    return po.pipeline(out, name="levels", context=["H >= 1", "W >= 1"])


def inner(source):
    """What stands before each vector loop in its block, and the loop's own lines."""
    found = re.findall(
        r"((?:^ *const .*\n)*)#pragma omp simd.*\n(.*\n(?:.*;\n)+)", source, re.MULTILINE
    )
    return [(before, loop) for before, loop in found if "img" in before + loop]


def test_a_value_with_branches_leaves_the_vector_loop():
    source = po.auto(levels(), sizes={"H": 100, "W": 100}).compile().source
    loops = inner(source)
    assert loops
    for before, loop in loops:
        assert "min_f32" in before
        assert "min_f32" not in loop
        assert "img" not in loop


def test_it_is_the_same_value():
    rng = np.random.default_rng(1)
    kernel = po.auto(levels(), sizes={"H": 100, "W": 100}).compile()
    for height, width in ((1, 1), (3, 5), (7, 2)):
        img = (rng.random((height, 8 * width)) * 20 - 2).astype(np.float32)
        bins = np.clip(img, 0, 15).astype(np.int32).reshape(height, width, 8)
        wanted = (bins[..., None] == np.arange(16)).sum(axis=2)
        assert np.array_equal(kernel(img), wanted.astype(np.float32))


FILL = """
void fill(int N, float a[N][N + 1]) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j + 1] = (a[i][0] > 1.0f ? a[i][0] : 1.0f) + a[i][j + 1];
}
"""
LAST = """
void last(int N, int M, const float a[N], const float b[M], float out[M]) {
    for (int i = 0; i < M; i++)
        out[i] = (a[N - 1] > 1.0f ? a[N - 1] : 1.0f) + b[i];
}
"""


def test_what_the_loop_itself_changes_stays_inside():
    source = po.Plan(po.parse_c(FILL)).vectorize("a.j").compile().source
    (loop,) = re.findall(r"#pragma omp simd.*\n(.*\n.*;)", source)
    assert "1.0f < a[i][0]" in loop


def test_values_wait_for_a_loop_that_may_not_run():
    source = po.Plan(po.parse_c(LAST)).vectorize("out.i").compile().source
    assert re.search(r"if \(0 < M\) \{\s*const float \w+ = 1\.0f < a\[N - 1\]", source)


def test_a_size_becomes_a_float_before_a_vector_loop():
    scop = po.parse_c("""
void f(int n, long w, const double a[n], double out[n]) {
    for (int i = 0; i < n; i++)
        out[i] = a[i] / w;
}
""")
    text = po.Plan(scop).vectorize("out.i").emit().source
    before, _, after = text.partition("#pragma omp simd")
    assert "const double fixed = w;" in before
    assert "out[i] = a[i] / fixed;" in after
    plain = po.Plan(scop).emit().source
    assert "fixed" not in plain
