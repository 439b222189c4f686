"""Nests that read the same are computed in one where that comes from memory."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

LARGE, SMALL = {"H": 2000, "W": 2000}, {"H": 60, "W": 60}


def results(*functions, same=True):
    """A stage for each function of the elements of one image, or of images of their own."""
    size = [po.size("H"), po.size("W")]
    images = [po.input(f"img{k if not same else ''}", po.f32, size) for k in range(len(functions))]
    grids = images[:1] * len(functions) if same else images
    stages = [
        po.stage(f"r{k}", size, lambda y, x, f=f, g=g: f(g, y, x))
        for k, (f, g) in enumerate(zip(functions, grids, strict=True))
    ]
    return po.pipeline(*stages, name="results")


def double(img, y, x):
    return 2 * img[y, x]


def square(img, y, x):
    return img[y, x] * img[y, x]


def third(img, y, x):
    return img[y, x] / 3


def fused(plan):
    return [(r.kind, r.subject, r.consumer) for r in plan.remarks if r.move == "fuse_loops"]


def test_siblings_share_one_nest(tmp_path):
    plan = po.auto(results(double, square, third), sizes=LARGE, target="avx2")
    assert fused(plan) == [("applied", "r0.y", "r1.y"), ("applied", "r1.y", "r2.y")]
    assert len(plan.program.tree) == 1
    image = np.random.default_rng(0).random((7, 33), dtype=np.float32)
    one, two, three = plan.compile(cache=tmp_path)(img=image)
    np.testing.assert_array_equal(one, 2 * image)
    np.testing.assert_array_equal(two, image * image)
    np.testing.assert_array_equal(three, image / np.float32(3))


@pytest.mark.parametrize(
    ("scop", "sizes"),
    [
        (results(double, square), SMALL),  # the image stays in the cache
        (results(double, square, same=False), LARGE),
    ],
)
def test_nests_without_a_large_array_in_common_stay_apart(scop, sizes):
    plan = po.auto(scop, sizes=sizes, target="avx2")
    assert not fused(plan)
    assert len(plan.program.tree) == 2
