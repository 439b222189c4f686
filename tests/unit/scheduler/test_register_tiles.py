"""Register tiles: sums whose results lie side by side in vectors."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target as find_target
from polyopt.scheduler.strategies.contractions import register_tiles
from polyopt.transform.schedule.tree import loops_of

#: lanes of the generic target's vectors
B = 4


def convolved(x, w, stride):
    """``[cb][y][x][ci]`` with ``[kb][cb][ky][kx][ci][ki]``, nothing around the edges."""
    kernel = w.shape[2]
    rows, columns = ((n - kernel) // stride + 1 for n in x.shape[1:3])
    out = np.zeros((w.shape[0], rows, columns, w.shape[-1]), np.float64)
    for r in range(kernel):
        for t in range(kernel):
            part = x[:, r : r + stride * rows : stride, t : t + stride * columns : stride]
            out += np.einsum("cyxi,kcio->kyxo", part, w[:, :, r, t].astype(np.float64))
    return out


def program(blocks, results, size, kernel, stride=1, *, tail=None):
    """A blocked convolution with ``tail(sums)`` behind it; inputs, and its sums in NumPy."""
    x = po.input("x", po.f32, [blocks, size, size, B])
    w = po.input("w", po.f32, [results, blocks, kernel, kernel, B, B])
    left = (size - kernel) // stride + 1
    over = {"c": blocks, "r": kernel, "t": kernel, "i": B}
    sums = po.stage(
        "sums",
        [results, left, left, B],
        lambda k, y, v, o: po.sum(
            lambda c, r, t, i: x[c, stride * y + r, stride * v + t, i] * w[k, c, r, t, i, o], over
        ),
        indices=("k", "y", "v", "o"),
    )
    rng = np.random.default_rng(0)
    arrays = {
        "x": rng.standard_normal((blocks, size, size, B)).astype(np.float32),
        "w": rng.standard_normal((results, blocks, kernel, kernel, B, B)).astype(np.float32),
    }
    expected = convolved(arrays["x"], arrays["w"], stride)
    return po.pipeline([tail(sums) if tail else sums]), arrays, expected


def marks(plan):
    return {loop.name: loop.mark for loop in loops_of(plan.program.tree) if loop.mark}


def relu(sums):
    return po.stage(
        "out", [2, 6, 6, B], lambda k, y, v, o: po.max(sums[k, y, v, o], 0.0),
        indices=("k", "y", "v", "o"),
    )  # fmt: skip


def test_a_convolution_runs_in_tiles_inside_what_reads_it():
    scop, arrays, expected = program(2, 2, 8, 3, tail=relu)
    plan = po.auto(scop, target="generic")
    found = marks(plan)
    assert found["sums.c"] == "register_tile"
    assert {found["sums.k"], found["sums.v"]} == {"unroll"}
    # the array of sums is the tile: 2 blocks of channels by 6 pixels
    (scratch,) = plan.program.scratches
    assert (scratch.array, scratch.at) == ("sums", "out.v_tile")
    assert "sums_tile[2][1][6][4]" in plan.emit().source
    kernel = plan.compile()
    np.testing.assert_allclose(kernel(**arrays), np.maximum(expected, 0), rtol=1e-4, atol=1e-4)
    assert "register_tile" in str(plan.explain())


@pytest.mark.parametrize("shape", [(1, 1, 7, 3, 2), (2, 3, 5, 1, 1), (1, 2, 9, 1, 2)])
def test_convolutions_of_their_own_nest_are_right(shape):
    scop, arrays, expected = program(*shape)
    plan = po.auto(scop, target="generic")
    assert "register_tile" in marks(plan).values()
    np.testing.assert_allclose(plan.compile()(**arrays), expected, rtol=1e-4, atol=1e-4)


def test_a_reader_of_neighbours_gets_the_sums_as_an_array():
    def blurred(sums):
        return po.stage(
            "out", [2, 6, 5, B], lambda k, y, v, o: sums[k, y, v, o] + sums[k, y, v + 1, o]
        )

    scop, arrays, expected = program(2, 2, 8, 3, tail=blurred)
    plan = po.auto(scop, target="generic")
    assert "register_tile" in marks(plan).values()
    result = plan.compile()(**arrays)
    np.testing.assert_allclose(
        result, expected[:, :, :-1] + expected[:, :, 1:], rtol=1e-4, atol=1e-4
    )


def test_a_wrong_host_does_not_make_a_wrong_program(monkeypatch):
    def mirrored(sums):
        return po.stage(
            "out", [2, 6, 6, B], lambda k, y, v, o: sums[k, y, 5 - v, o], indices=("k", "y", "v", "o")
        )  # fmt: skip

    scop, arrays, expected = program(2, 2, 8, 3, tail=mirrored)
    # told that each sum is read at its own place, the tile is still what the reads need
    host = register_tiles.Host("out", (0, 1, 2, 3))
    monkeypatch.setattr(register_tiles, "_host", lambda _program, _found: host)
    plan = po.auto(scop, target="generic")
    result = plan.compile()(**arrays)
    np.testing.assert_allclose(result, expected[:, :, ::-1], rtol=1e-4, atol=1e-4)


def test_a_reader_may_have_its_dimensions_in_another_order():
    def planes(sums):
        return po.stage(
            "out", [2, B, 6, 6], lambda k, o, y, v: po.max(sums[k, y, v, o], 0.0),
            indices=("k", "o", "y", "v"),
        )  # fmt: skip

    scop, arrays, expected = program(2, 2, 8, 3, tail=planes)
    plan = po.auto(scop, target="generic")
    (scratch,) = plan.program.scratches
    assert (scratch.array, scratch.at) == ("sums", "out.v_tile")
    result = plan.compile()(**arrays)
    np.testing.assert_allclose(
        result, np.maximum(expected, 0).transpose(0, 3, 1, 2), rtol=1e-4, atol=1e-4
    )


def test_depthwise_sums_run_in_tiles_of_pixels():
    x = po.input("x", po.f32, [2, 8, 8, B])
    w = po.input("w", po.f32, [2, 3, 3, B])
    out = po.stage(
        "out",
        [2, 6, 6, B],
        lambda c, y, v, o: po.sum(
            lambda r, t: x[c, y + r, v + t, o] * w[c, r, t, o], {"r": 3, "t": 3}
        ),
        indices=("c", "y", "v", "o"),
    )
    plan = po.auto(po.pipeline([out]), target="generic")
    found = marks(plan)
    assert (found["out.r"], found["out.o"]) == ("register_tile", "vector")
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((2, 8, 8, B), (2, 3, 3, B)))
    expected = sum(
        a[:, r : r + 6, t : t + 6] * b[:, None, None, r, t] for r in range(3) for t in range(3)
    )
    np.testing.assert_allclose(plan.compile()(x=a, w=b), expected, rtol=1e-4, atol=1e-4)


def test_elements_that_serve_several_rows_are_loaded_once_in_a_row():
    scop, _, _ = program(2, 2, 8, 3, tail=relu)
    lines = [line.strip() for line in po.auto(scop, target="generic").emit().source.splitlines()]
    first = next(n for n, line in enumerate(lines) if line.startswith("const float x_0"))
    assert [line.split(" = ")[0] for line in lines[first : first + 4]] == [
        "const float x_0", "sums_block_0_0_0", "sums_block_1_0_0", "const float x_1",
    ]  # fmt: skip


def order(results, size, cache):
    """Loops around the tile of a convolution, from the outside in, with caches of some size."""
    x = po.input("x", po.f32, [4, size, size, B])
    w = po.input("w", po.f32, [results, 4, B, B])
    sums = po.stage(
        "sums", [results, size, size, B],
        lambda k, y, v, o: po.sum(lambda c, i: x[c, y, v, i] * w[k, c, i, o], {"c": 4, "i": B}),
        indices=("k", "y", "v", "o"),
    )  # fmt: skip
    target = replace(find_target("generic"), l2_bytes=cache)
    plan = po.auto(po.pipeline([sums]), target=target)
    return [loop.name.removeprefix("sums.") for loop in plan.program.places["sums_1"].loops[:3]]


@pytest.mark.parametrize(
    ("results", "size", "cache", "expected"),
    [
        (4, 8, 1 << 16, ["k_tile", "y", "v_tile"]),  # all fits
        (4, 16, 1 << 13, ["y", "k_tile", "v_tile"]),  # 16 KB of places would stream twice
        (64, 8, 1 << 13, ["k_tile", "y", "v_tile"]),  # 16 KB of weights stream once
        (64, 16, 1 << 13, ["k_tile", "y", "v_tile"]),  # nothing fits: the order of the results
    ],
)
def test_what_does_not_fit_the_cache_streams_once(results, size, cache, expected):
    assert order(results, size, cache) == expected


def framed(stride, size=9):
    """A depthwise sum over blocks of channels with a frame of zeros; inputs, and the sums."""
    x = po.input("x", po.f32, ["N", 2, size, size, B])
    w = po.input("w", po.f32, [2, 3, 3, B])
    left = (size - 1) // stride + 1
    wide = po.padded(x, 0.0)
    frame = po.stage(
        "frame", ["N", 2, size + 2, size + 2, B],
        lambda n, c, y, v, o: wide[n, c, y - 1, v - 1, o], indices=("n", "c", "y", "v", "o"),
    )  # fmt: skip
    sums = po.stage(
        "sums", ["N", 2, left, left, B],
        lambda n, c, y, v, o: po.sum(
            lambda r, t: frame[n, c, stride * y + r, stride * v + t, o] * w[c, r, t, o],
            {"r": 3, "t": 3},
        ),
        indices=("n", "c", "y", "v", "o"),
    )  # fmt: skip
    out = po.stage(
        "out", ["N", 2, left, left, B], lambda *i: po.max(sums[i], 0.0),
        indices=("n", "c", "y", "v", "o"),
    )  # fmt: skip
    rng = np.random.default_rng(2)
    a = rng.standard_normal((3, 2, size, size, B)).astype(np.float32)
    b = rng.standard_normal((2, 3, 3, B)).astype(np.float32)
    edged = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0)))
    expected = sum(
        edged[:, :, r : r + size : stride, t : t + size : stride] * b[:, None, None, r, t]
        for r in range(3) for t in range(3)
    )  # fmt: skip
    return po.pipeline(out), {"x": a, "w": b}, np.maximum(expected, 0)


@pytest.mark.parametrize("stride", [1, 2])
def test_a_frame_stays_an_array_where_results_stay_in_registers(stride):
    scop, arrays, expected = framed(stride)
    # also for any number of images, which no tile needs to know
    plan = po.auto(scop, target="generic", sizes={"N": 1})
    assert marks(plan)["sums.r"] == "register_tile"
    assert "frame" not in plan.program.inlined
    sums = next(s for s in plan.program.scratches if s.array == "sums")
    assert sums.at.startswith("out.")
    np.testing.assert_allclose(plan.compile()(**arrays), expected, rtol=1e-4, atol=1e-4)


def test_each_thread_makes_the_part_of_a_frame_that_it_reads():
    scop, arrays, expected = framed(1)
    target = replace(find_target("generic"), cores=2)
    plan = po.auto(scop, target=target, sizes={"N": 1})
    frame = next(s for s in plan.program.scratches if s.array == "frame")
    assert frame.at == "out.c"
    (said,) = [
        r for r in plan.remarks if (r.kind, r.move, r.subject) == ("applied", "fuse", "frame")
    ]
    assert said.numbers["recompute"] == 1
    np.testing.assert_allclose(plan.compile()(**arrays), expected, rtol=1e-4, atol=1e-4)
    # a part that fills more than half the cache stays where it was
    small = po.auto(scop, target=replace(target, l2_bytes=1024), sizes={"N": 1})
    assert "frame" not in {s.array for s in small.program.scratches}


def test_a_vector_that_one_update_needs_is_loaded_right_before_it():
    scop, _, _ = framed(1)
    lines = [line.strip() for line in po.auto(scop, target="generic").emit().source.splitlines()]
    first = next(n for n, line in enumerate(lines) if line.startswith("const f32x4 w_0"))
    names = [line.split(" = ")[0] for line in lines[first + 1 : first + 5]]
    assert [name.startswith("const f32x4 frame") for name in names] == [True, False, True, False]


def test_of_equal_tiles_the_longest_along_rows_is_taken():
    x = po.input("x", po.f32, [2, 16, 16, 16])
    w = po.input("w", po.f32, [2, 3, 3, 16])
    out = po.stage(
        "out", [2, 14, 14, 16],
        lambda c, y, v, o: po.sum(
            lambda r, t: x[c, y + r, v + t, o] * w[c, r, t, o], {"r": 3, "t": 3}
        ),
        indices=("c", "y", "v", "o"),
    )  # fmt: skip
    (said,) = [r for r in po.auto(po.pipeline(out), target="avx512").remarks
               if (r.kind, r.move) == ("applied", "register_tile")]  # fmt: skip
    assert (said.numbers["y"], said.numbers["v"]) == (2, 14)


def pointwise_tile(blocks, results, size, **machine):
    """The tile of a convolution of 1 x 1 on vectors of 16 lanes."""
    x = po.input("x", po.f32, [blocks, size, size, 16])
    w = po.input("w", po.f32, [results, blocks, 16, 16])
    sums = po.stage(
        "sums", [results, size, size, 16],
        lambda k, y, v, o: po.sum(lambda c, i: x[c, y, v, i] * w[k, c, i, o],
                                  {"c": blocks, "i": 16}),
        indices=("k", "y", "v", "o"),
    )  # fmt: skip
    plan = po.auto(po.pipeline(sums), target=replace(find_target("avx512"), **machine))
    (said,) = [r for r in plan.remarks if (r.kind, r.move) == ("applied", "register_tile")]
    return {name: int(said.numbers[name]) for name in "kyv" if name in said.numbers}


def test_bytes_from_beyond_the_first_cache_are_weighed_against_its_bandwidth():
    """Of few results and many sums, weights come again for every four pixels."""
    assert pointwise_tile(30, 5, 14) == {"k": 2, "v": 14}
    assert pointwise_tile(30, 5, 14, l1_bytes=1 << 30) == {"k": 5, "y": 2, "v": 2}


def test_tiles_may_leave_partial_ones():
    """63 blocks of results and rows of 13 have no divisors that fit 32 registers together: 31 tiles
    of two blocks and a row, and one of one."""
    assert pointwise_tile(32, 63, 13) == {"k": 2, "v": 13}


def test_tiles_of_overlapping_windows_are_nearly_square_where_bytes_cost_most():
    """Windows of 28 x 1 pixels with stride 2 have 57 x 3 elements, and of 7 x 4 only 15 x 9."""
    x = po.input("x", po.f32, [6, 113, 113, 16])
    w = po.input("w", po.f32, [6, 3, 3, 16])
    out = po.stage(
        "out", [6, 56, 56, 16],
        lambda c, y, v, o: po.sum(
            lambda r, t: x[c, 2 * y + r, 2 * v + t, o] * w[c, r, t, o], {"r": 3, "t": 3}
        ),
        indices=("c", "y", "v", "o"),
    )  # fmt: skip
    (said,) = [r for r in po.auto(po.pipeline(out), target="avx512").remarks
               if (r.kind, r.move) == ("applied", "register_tile")]  # fmt: skip
    assert (said.numbers["y"], said.numbers["v"]) == (4, 7)


def test_a_tile_has_three_dimensions_where_two_of_them_cannot_fill_the_registers():
    """Rows and columns of 14 have the divisors 2, 7 and 14: two results of two rows and two columns
    load least."""
    p, arrays, expected = program(2, 4, 14, 1)
    target = replace(find_target("generic"), registers=16)
    plan, remarks = register_tiles.register_tiles(po.Plan(p), target, {})
    (said,) = [dict(r.numbers) for r in remarks if r.move == "register_tile"]
    assert {k: v for k, v in said.items() if k in "kyv"} == {"k": 2, "y": 2, "v": 2}
    assert np.allclose(plan.compile(target="generic")(**arrays), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("results", "size"), [(3, 7), (4, 7), (5, 13), (3, 11)], ids=str)
@pytest.mark.parametrize("kernel", [1, 3])
def test_partial_tiles_are_blocks_in_registers_too(results, size, kernel):
    p, arrays, expected = program(2, results, size + kernel - 1, kernel)
    target = replace(find_target("generic"), registers=16)
    plan, remarks = register_tiles.register_tiles(po.Plan(p), target, {})
    (said,) = [dict(r.numbers) for r in remarks if r.move == "register_tile"]
    lengths = {"k": results, "y": size, "v": size}
    tiles = {d: int(said[d]) for d in lengths if d in said}
    assert any(lengths[d] % tile for d, tile in tiles.items())
    # accumulators of whole tiles and of partial ones, and no updates but theirs
    text = plan.emit().source.partition("*/")[2]  # without the plan
    accumulators = re.findall(r"f32x4 (sums_block\w*) = ", text)
    assert len(accumulators) == prod(tile + lengths[d] % tile for d, tile in tiles.items())
    assert len(re.findall(r" = sums_block\w* \+ ", text)) == len(accumulators)
    assert not re.search(r" = sums\[[^;]* \+ ", text)
    assert np.allclose(plan.compile(target="generic")(**arrays), expected, rtol=1e-4, atol=1e-4)
