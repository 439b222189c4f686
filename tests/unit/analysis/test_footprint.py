"""Data per tile, exposed data, and boxes; compared by meaning."""

from __future__ import annotations

import pytest

from polyopt.analysis.dependences import dependences
from polyopt.analysis.footprint import (
    bounding_box,
    footprint,
    outside_producers,
    upwards_exposed,
)
from polyopt.isl import dim_type, parse_map, parse_set, parse_union_map, same_map

TILES = (
    "[H, W] -> { T[y, x] -> out[i, j] : 4 y <= i < 4 y + 4 and 8 x <= j < 8 x + 8"
    " and 0 <= i < H - 2 and 0 <= j < W - 2 }"
)
SIZES = parse_set("[H, W] -> { : H >= 3 and W >= 3 }")


def reached(target, rows=2):
    """Elements of an array under a tile, ``rows`` more than it has itself."""
    return parse_union_map(
        f"[H, W] -> {{ T[y, x] -> {target}[i, j] : exists (k, l : 4 y <= k < 4 y + 4 and 8 x <= j < 8 x + 8"
        f" and 0 <= k < H - 2 and 0 <= j < W - 2 and k <= i <= k + {rows}) }}"
    ).intersect_params(SIZES)


def test_footprint_of_a_tile(blur):
    reads = blur.reads.domain_factor_domain()
    assert same_map(footprint(parse_union_map(TILES), reads), reached("bx"))
    nothing = parse_union_map("{ T[t] -> other[t] }")
    assert footprint(nothing, reads).is_empty()


def test_what_a_tile_needs_from_outside(blur):
    deps, tiles = dependences(blur), parse_union_map(TILES)
    assert same_map(upwards_exposed(tiles, deps), reached("bx"))
    assert same_map(outside_producers(tiles, deps), reached("bx"))


def test_live_in_and_own_values_are_not_exposed(conv):
    tiles = parse_union_map(
        "[H, W] -> { T[y] -> c_1[h, w, p, q] : 4 y <= h < 4 y + 4; T[y] -> c_0[h, w] : 4 y <= h < 4 y + 4 }"
    )
    assert upwards_exposed(tiles, dependences(conv)).is_empty()
    alone = parse_union_map("[H, W] -> { T[y] -> c_1[h, w, p, q] : 4 y <= h < 4 y + 4 }")
    box = "0 <= h < H - 2 and 0 <= w < W - 2"
    wanted = parse_union_map(f"[H, W] -> {{ T[y] -> c[h, w] : 4 y <= h < 4 y + 4 and {box} }}")
    assert same_map(upwards_exposed(alone, dependences(conv)), wanted)


def test_the_box_of_the_blurs_footprint(blur):
    (part,) = (reached("bx").as_map(),)
    box = bounding_box(part, SIZES)
    assert box.constant_extents == (6, 8)
    assert box.strides == (1, 1)
    offsets = [str(o) for o in box.offsets]
    assert offsets == [
        "[H, W] -> { T[y, x] -> [(4y)] }",
        "[H, W] -> { T[y, x] -> [(8x)] }",
    ]


@pytest.mark.parametrize(
    ("text", "offset", "extent", "stride"),
    [
        ("[N] -> { [t] -> A[x] : 32t <= x < 32t + 34 }", "32 t", 34, 1),
        # clipped at the array's ends: the offset keeps moving with the tile
        ("[N] -> { [t] -> A[x] : 32t - 2 <= x < 32t + 34 and 0 <= x < N and 0 <= 32t < N }",
         "32 t - 2", 36, 1),
        ("[N] -> { [t] -> A[x] : floor(t / 2) <= x <= floor((t + 5) / 2) }", "floor(t / 2)", 4, 1),
        ("[N] -> { [t] -> A[x] : exists (j : 0 <= j < 4 and x = 8 t + 2 j + 1) }",
         "8 t + 1", 4, 2),
        ("[N] -> { [t] -> A[x] : x = N - 1 - t }", "N - 1 - t", 1, 1),
        ("[N] -> { [t] -> A[x] : 0 <= x < 256 and 0 <= t < N }", "0", 256, 1),
        ("[N] -> { [t] -> A[x] : 4 t <= 2 x <= 4 t + 9 }", "2 t", 5, 1),
        # two far reads: no constant box moves with t, so the extent follows the size
        ("[N] -> { [t] -> A[x] : 0 <= t < N and (x = t or x = N - 1 - t) }", None, "N", 1),
        ("[N] -> { [t] -> A[x] : 0 <= x < N and 0 <= t < N }", "0", "N", 1),
    ],
)  # fmt: skip
def test_boxes(text, offset, extent, stride):
    touched, sizes = parse_map(text), parse_set("[N] -> { : N >= 1 }")
    box = bounding_box(touched, sizes)
    if offset is not None:
        wanted = parse_map(f"[N] -> {{ [t] -> [({offset})] }}")
        assert box.offsets[0].as_map().is_equal(wanted)
    if isinstance(extent, int):
        assert box.extents == (extent,)
    else:
        assert str(box.extents[0]) == f"[N] -> {{ [({extent})] }}"
    assert box.strides == (stride,)


@pytest.mark.parametrize(
    "text",
    [
        "[N] -> { [t] -> A[x] : 32t <= x < 32t + 34 and 0 <= x < N and 0 <= t <= 3 }",
        "[N] -> { [t] -> A[x] : 0 <= t < N and (x = t or x = N - 1 - t) }",
        "[N] -> { [t] -> A[x] : exists (j : 0 <= j < 4 and x = 12 t + 3 j + 1) and 0 <= t < N }",
        "[N] -> { [t] -> A[x] : 0 <= t < N and (0 <= x <= 3 or 5 t <= x <= 5 t + 2) }",
    ],
)
def test_a_box_holds_everything_it_was_made_for(text):
    touched = parse_map(text).intersect_params(parse_set("[N] -> { : N = 9 }"))
    box = bounding_box(touched, parse_set("[N] -> { : N = 9 }"))
    extent, stride = box.extents[0], box.strides[0]
    assert isinstance(extent, int)
    room = parse_map(
        f"{{ [o] -> A[x] : o <= x < o + {extent * stride} and (x - o) mod {stride} = 0 }}"
    )
    assert touched.is_subset(box.offsets[0].as_map().apply_range(room))


@pytest.mark.parametrize(
    ("most", "extent"),
    [("100", 101), ("2147483647", "1 + N"), ("9223372036854775807", "1 + N")],
)
def test_a_box_is_not_as_long_as_the_largest_size_there_is(most, extent):
    """What a type holds bounds sizes: a buffer of so many elements would be all memory."""
    touched = parse_map(
        f"[N] -> {{ [t] -> A[x] : 0 <= x <= N and 1 <= N <= {most} and 0 <= t < 4 }}"
    )
    box = bounding_box(touched, parse_set(f"[N] -> {{ : 1 <= N <= {most} }}"))
    (found,) = box.extents
    assert (
        found == extent if isinstance(extent, int) else str(found) == f"[N] -> {{ [({extent})] }}"
    )


def test_no_box_around_endless_data():
    sizes = parse_set("{ : }")
    assert bounding_box(parse_map("{ [t] -> A[x] : x >= t }"), sizes) is None
    assert bounding_box(parse_map("{ [t] -> A[x] : t <= x <= 2 t and t >= 0 }"), sizes) is None
    assert bounding_box(parse_map("{ [t] -> A[y, x] : x <= y and 0 <= y < 4 }"), sizes) is None


def test_nothing_fits_in_one_element():
    sizes = parse_set("{ : }")
    assert bounding_box(parse_map("{ [t] -> A[x] : 1 = 0 }"), sizes).extents == (1,)
    assert bounding_box(parse_map("{ [t] -> A[] }"), sizes).extents == ()


def test_the_least_element_is_placed_without_exists():
    # odd elements up to N - 1 and even ones: which of them a tile has first depends on the sizes
    touched = parse_map(
        "[H] -> { T[t] -> A[x] : H >= 6 and t >= 0 and -1 + 32t <= x <= 33 + 32t and"
        " (((1 + x) mod 2 = 0 and x >= 2 + 32t and 2*floor((x)/2) < H) or"
        " ((x) mod 2 = 0 and 32t <= H and 0 <= x <= 32 + 32t and 2*floor((1 + x)/2) <= H)) }"
    )
    box = bounding_box(touched, parse_set("[H] -> { : H >= 6 }"))
    (offset,) = box.offsets
    where = offset.domain()
    assert [piece.dim(dim_type.div) for piece in where.get_basic_sets()] == [0]
    assert where.is_equal(touched.domain())
