"""Producers of nests in register tiles: in pieces where each iteration reads a part of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target as find_target

#: lanes of the generic target's vectors
B = 4
TWO_CORES = replace(find_target("generic"), cores=2)


def framed(channels, size, *, shared=False, kept=False):
    """A 3 x 3 depthwise convolution of a framed image, or one of all its channels (``shared``);
    with ``kept``, the framed image is a result as well. Inputs and expected sums come along."""
    x = po.input("x", po.f32, [channels, size, size, B])
    w = po.input("w", po.f32, [channels, 3, 3, B])
    edge = po.padded(x, 0.0)
    frame = po.stage(
        "frame", [channels, size + 2, size + 2, B],
        lambda c, y, v, o: edge[c, y - 1, v - 1, o], indices=("c", "y", "v", "o"),
    )  # fmt: skip

    def summed(c, y, v, o):
        if shared:
            over = {"i": channels, "r": 3, "t": 3}
            return po.sum(lambda i, r, t: frame[i, y + r, v + t, o] * w[c, r, t, o], over)
        return po.sum(lambda r, t: frame[c, y + r, v + t, o] * w[c, r, t, o], {"r": 3, "t": 3})

    sums = po.stage("sums", [channels, size, size, B], summed, indices=("c", "y", "v", "o"))
    rng = np.random.default_rng(1)
    image = rng.standard_normal((channels, size, size, B)).astype(np.float32)
    weights = rng.standard_normal((channels, 3, 3, B)).astype(np.float32)
    wide = np.pad(image, [(0, 0), (1, 1), (1, 1), (0, 0)])
    read = np.broadcast_to(wide.sum(axis=0), wide.shape) if shared else wide
    expected = sum(
        read[:, r : r + size, t : t + size] * weights[:, r, t][:, None, None]
        for r in range(3)
        for t in range(3)
    )
    scop = po.pipeline([sums, frame] if kept else [sums])
    return scop, {"x": image, "w": weights}, expected


def planned(scop, **changes):
    """The automatic plan for two cores, its scratch arrays by name, and remarks of pieces."""
    plan = po.auto(scop, target=replace(TWO_CORES, **changes))
    remarks = [r for r in plan.remarks if "reads a part of its own" in r.reason]
    return plan, {s.array: s for s in plan.program.scratches}, remarks


@pytest.mark.parametrize(("channels", "size"), [(4, 6), (3, 7)])
def test_each_channel_gets_its_part_of_the_frame(channels, size):
    scop, arrays, expected = framed(channels, size)
    plan, scratches, (remark,) = planned(scop)
    piece = scratches["frame"]
    assert (piece.at, remark.subject) == ("sums.c", "frame")
    assert remark.numbers == {"bytes": 4.0 * B * (size + 2) ** 2, "recompute": 1.0}
    plan.prove()
    np.testing.assert_allclose(plan.compile()(**arrays), expected, rtol=1e-4, atol=1e-4)


def test_what_all_iterations_read_is_computed_once_before_them():
    scop, arrays, expected = framed(4, 6, shared=True)
    plan, scratches, remarks = planned(scop)
    assert not remarks
    assert "frame" not in scratches
    np.testing.assert_allclose(plan.compile()(**arrays), expected, rtol=1e-4, atol=1e-3)


def test_a_result_of_the_program_stays_in_full():
    scop, arrays, expected = framed(4, 6, kept=True)
    plan, scratches, remarks = planned(scop)
    assert not remarks
    assert "frame" not in scratches
    np.testing.assert_allclose(plan.compile()(**arrays)[0], expected, rtol=1e-4, atol=1e-4)


def test_fewer_iterations_than_cores_are_left_to_all_of_them():
    scop, _, _ = framed(4, 6)
    assert planned(scop, cores=4)[2]
    assert not planned(scop, cores=5)[2]


def test_pieces_have_to_fit_half_the_second_level_cache():
    scop, _, _ = framed(4, 6)
    size = 4 * B * 8 * 8
    assert planned(scop, l2_bytes=2 * size)[2]
    assert not planned(scop, l2_bytes=2 * size - 2)[2]
