"""Channels share what they load: they run inside the vector loop, and repeat nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po
from polyopt.auto.channels import channels


def bright(count=3):
    """Each channel by a common factor, which takes some work to find."""
    image = po.input("img", po.f32, (count, "H", "W"))
    gray = po.stage("gray", ("H", "W"), lambda y, x: image[0, y, x] * 3 + image[1, y, x] * 2)
    ratio = po.stage("ratio", ("H", "W"), lambda y, x: (gray[y, x] + 1) / (gray[y, x] * 2 + 1))
    out = po.stage("out", (count, "H", "W"), lambda c, y, x: ratio[y, x] * image[c, y, x])
    return po.pipeline(out, name="bright", context=["H >= 1", "W >= 1"])


@pytest.fixture(scope="module")
def plan():
    return po.auto(bright(), sizes={"H": 1000, "W": 1000})


def test_channels_share_an_inlined_factor(plan):
    text = str(plan)
    assert "inline ratio" in text
    assert re.search(r"for out\.x:  # vector\n *for out\.c:  # unroll", text)


def test_they_are_the_same_results(plan):
    kernel, rng = plan.compile(), np.random.default_rng(6)
    for height, width in ((1, 1), (3, 17), (5, 40)):
        img = rng.random((3, height, width), np.float32)
        gray = img[0] * 3 + img[1] * 2
        wanted = (gray + 1) / (gray * 2 + 1) * img
        assert np.allclose(kernel(img), wanted, rtol=1e-6)


def test_many_channels_stay_a_loop_of_their_own():
    text = str(po.auto(bright(16), sizes={"H": 1000, "W": 1000}))
    assert "out.c:  # unroll" not in text


def test_channels_that_share_nothing_stay_apart():
    image = po.input("img", po.f32, (3, "H", "W"))
    out = po.stage("out", (3, "H", "W"), lambda c, y, x: image[c, y, x] * 2)
    scop = po.pipeline(out, name="alone", context=["H >= 1", "W >= 1"])
    assert "unroll" not in str(po.auto(scop, sizes={"H": 1000, "W": 1000}))


def test_what_channels_look_up_together_is_not_shared_loads():
    image = po.input("img", po.i32, (3, "H", "W"))
    curve = po.input("curve", po.f32, (100,))

    def curved(c, y, x):
        return curve[po.min(po.max(image[c, y, x], 0), 99)]

    out = po.stage("out", (3, "H", "W"), curved)
    scop = po.pipeline(out, name="curves", context=["H >= 1", "W >= 1"])
    assert "unroll" not in str(po.auto(scop, sizes={"H": 1000, "W": 1000}))


def test_what_counts_as_channels():
    (statement,) = (s for s in bright().statements if s.array == "out")
    assert channels(statement) == {0: 3}
    (statement,) = (s for s in bright().statements if s.array == "gray")
    assert channels(statement) == {}
