"""Iterations away from borders are loops of their own, whatever border is at which end."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po

SIZES = {"H": 900, "W": 900}


def window(border, reach, *, size=None):
    """Sums of ``2 reach + 1`` elements along a row, with what ``border`` makes of its ends."""
    img = border(po.input("img", po.i32, [po.size("H"), po.size("W")]))
    out = po.stage(
        "out", [po.size("H"), po.size("W")],
        lambda y, x: po.sum(lambda k: img[y, x + k], k=(-reach, reach + 1)),
    )  # fmt: skip
    context = [f"W >= {size}"] if size else []
    return po.pipeline(out, name="window", context=context)


def inner_loops(source):
    """The statements in each innermost loop for vectors."""
    return re.findall(r"#pragma omp simd[^\n]*\n\s*for [^\n]*\{\n(.*?)\n\s*\}", source, re.DOTALL)


def test_tests_of_both_ends_are_left_out_in_between():
    """Padding is a test of both ends at once: few iterations, with many in between."""
    plan = po.auto(window(lambda a: po.padded(a, 0), 3), sizes=SIZES, target="avx2")
    bodies = [body for body in inner_loops(plan.emit().source) if "img" in body]
    plain = [body for body in bodies if "?" not in body]
    assert plain
    assert len(plain) < len(bodies)


@pytest.mark.parametrize("border", [po.mirrored, po.clamped])
def test_borders_as_wide_as_a_size_says_are_apart(border, tmp_path):
    scop = window(border, po.size("R"), size="R")
    plan = po.auto(scop, sizes={**SIZES, "R": 9}, target="avx2")
    bodies = [body for body in inner_loops(plan.emit().source) if "img" in body]
    assert any("?" not in b and "min_" not in b and "max_" not in b for b in bodies)
    kernel = plan.compile(cache=tmp_path)
    rng = np.random.default_rng(8)
    mode = "symmetric" if border is po.mirrored else "edge"
    for width, reach in ((1, 0), (5, 5), (5, 2), (70, 9), (70, 33), (131, 1)):
        image = rng.integers(-99, 99, (3, width)).astype(np.int32)
        wide = np.pad(image, ((0, 0), (reach, reach)), mode=mode)
        views = np.lib.stride_tricks.sliding_window_view(wide, 2 * reach + 1, 1)
        np.testing.assert_array_equal(kernel(img=image, R=reach), views.sum(axis=-1))


def test_halves_are_loops_of_their_own():
    img = po.input("img", po.i32, [po.size("H"), po.size("W")])
    out = po.stage(
        "out", [po.size("H"), po.size("W")],
        lambda y, x: po.select(2 * x < po.size("W"), img[y, x], 3 * img[y, x] + y),
    )  # fmt: skip
    plan = po.Plan(po.pipeline(out, name="halves")).vectorize("out.x")
    bodies = inner_loops(plan.separate_full_tiles("out.x").emit().source)
    assert len(bodies) == 2
    assert not any("?" in body for body in bodies)


CORNERS = """void corners(int H, int W, const float a[restrict H][W], float b[restrict H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float s;
            if (y == 0 && x == 0)
                s = a[0][0];
            else if (y == 0)
                s = a[0][x] + a[0][x - 1];
            else if (x == 0)
                s = a[y][0] + a[y - 1][0];
            else
                s = a[y][x] + a[y - 1][x] + a[y][x - 1];
            b[y][x] = 0.5f * s;
        }
}"""


def test_borders_with_statements_of_their_own_are_apart(tmp_path):
    plan = po.auto(po.parse_c(CORNERS), sizes=SIZES, target="avx2")
    bodies = [body for body in inner_loops(plan.emit().source) if "a[y][x]" in body]
    assert bodies
    assert not any("if (" in body for body in bodies)
    kernel = plan.compile(cache=tmp_path, contract=False)
    for shape in ((1, 1), (1, 9), (5, 1), (2, 2), (7, 40)):
        a = np.random.default_rng(9).random(shape, dtype=np.float32)
        left, up = np.zeros_like(a), np.zeros_like(a)
        left[:, 1:], up[1:] = a[:, :-1], a[:-1]
        expected = np.float32(0.5) * ((a + up) + left)
        np.testing.assert_array_equal(kernel(a=a), expected)
