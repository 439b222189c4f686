"""Interleaved channels: vectors along the pixels, the channels written out in them."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po


def image(channels):
    return po.input("img", po.u8, ("H", "W", channels))


def blurred(channels):
    img = image(channels)

    def mean(y, x, c):
        return (po.cast(po.i32, img[y, x, c]) + po.cast(po.i32, img[y, x + 1, c]) + 1) >> 1

    out = po.stage("out", ("H", "W - 1", channels), lambda y, x, c: po.cast(po.u8, mean(y, x, c)))
    return po.pipeline(out, name="blurred", context=["H >= 1", "W >= 2"])


def vectors(plan):
    return [m.args[0] for m in plan.moves if m.name == "vectorize"]


@pytest.mark.parametrize("channels", [2, 3, 4])
def test_vectors_run_along_the_pixels(channels):
    plan = po.auto(blurred(channels), sizes={"H": 1000, "W": 1000}, target="avx2")
    assert vectors(plan) == ["out.x"]
    img = np.random.default_rng(1).integers(0, 256, (5, 43, channels), dtype=np.uint8)
    wide = img.astype(np.int32)
    expected = (wide[:, :-1] + wide[:, 1:] + 1) >> 1
    assert np.array_equal(plan.compile()(img=img), expected.astype(np.uint8))


def test_many_channels_are_vectors_themselves():
    plan = po.auto(blurred(64), sizes={"H": 200, "W": 200}, target="avx2")
    assert vectors(plan) == ["out.c"]


def test_a_result_of_short_rows_is_stored_through_the_caches():
    """A strip of a row's few elements would be stored piece by piece."""
    plan = po.auto(blurred(4), sizes={"H": 8000, "W": 8000}, target="avx2")
    assert not [m for m in plan.moves if m.name == "store_nontemporal"]
    (said,) = [r for r in plan.remarks if r.move == "store_nontemporal"]
    assert said.kind == "refused"


def test_a_loop_of_five_is_left_to_the_compiler():
    a, b = po.input("a", po.f64, ("N", 5)), po.input("b", po.f64, (5, 5, "N"))
    out = po.stage("out", ("N", 5), lambda i, m: a[i, m] * b[m, m, i])
    plan = po.auto(po.pipeline(out, name="fives"), sizes={"N": 10_000}, target="avx2")
    assert "out.m" not in vectors(plan)
