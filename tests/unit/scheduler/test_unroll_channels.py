"""Channels share what they load: they run inside the vector loop, and repeat nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po
from polyopt.scheduler.finishing.unroll_channels import channels


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


#: steps of a table from one tone to the next
STEPS = 50


def toned(count=8, *, apart=False):
    """A table looked up around each of some tones: at places that one image decides on."""
    image = po.input("img", po.f32, (count, "H", "W") if apart else ("H", "W"))
    curve = po.input("curve", po.f32, (2 * count * STEPS + 1,))
    most = count * STEPS

    def around(k, y, x):
        tone = (image[k, y, x] if apart else image[y, x]) * most
        at = po.clamp(po.cast(po.i32, tone), 0, most)
        return tone + curve[po.clamp(at - STEPS * k, -most, most) + most]

    out = po.stage("out", (count, "H", "W"), around)
    return po.pipeline(out, name="toned", context=["H >= 1", "W >= 1"])


def test_lookups_at_places_of_the_same_data_run_together():
    plan = po.auto(toned(), sizes={"H": 1000, "W": 1000})
    assert re.search(r"for out\.x:  # vector\n *for out\.k:  # unroll", str(plan))
    places = re.findall(r"curve\[(.*)\];", plan.compile().source)
    assert len(places) == 8
    assert all(place.count("min") == 1 for place in places)  # the second clamp changes nothing


def test_lookups_at_places_of_their_own_data_stay_apart():
    assert "out.k:  # unroll" not in str(po.auto(toned(apart=True), sizes={"H": 999, "W": 999}))


def test_many_lookups_stay_a_loop_of_their_own():
    assert "out.k:  # unroll" not in str(po.auto(toned(16), sizes={"H": 1000, "W": 1000}))


def test_lookups_together_find_the_same_elements():
    kernel, rng = po.auto(toned(), sizes={"H": 1000, "W": 1000}).compile(), np.random.default_rng(3)
    curve = rng.random(2 * 8 * STEPS + 1, np.float32)
    for height, width in ((1, 1), (3, 17), (5, 40)):
        img = (rng.random((height, width)) * 1.5 - 0.25).astype(np.float32)
        tone = img * np.float32(8 * STEPS)
        at = tone.astype(np.int32).clip(0, 8 * STEPS)
        places = at - STEPS * np.arange(8)[:, None, None] + 8 * STEPS
        assert np.allclose(kernel(img, curve), tone + curve[places], rtol=1e-6)


def test_what_counts_as_channels():
    (statement,) = (s for s in bright().statements if s.array == "out")
    assert channels(statement) == {0: 3}
    (statement,) = (s for s in bright().statements if s.array == "gray")
    assert channels(statement) == {}
