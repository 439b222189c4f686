"""Two images blended over a pyramid of 4 levels by a mask, PolyMage's benchmark.

Each level halves both sides. The details of every level are blended with the mask of that level,
so that coarse shapes pass into each other over long ways and fine ones over short ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import polyopt as po

    #: half-open, of rows and of columns
    Ranges = tuple[tuple[int, po.Term], tuple[int, po.Term]]

LEVELS = 4
#: rows and columns that the caller adds, and how many of them come before the image
PADDING, BEFORE = 60, 31

SIZES = {
    "bench": {"H": 2048, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 11, "W": 14},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a``, ``b`` f32 ``[3][H + 60][W + 60]`` in [0, 1); ``mask`` f32 ``[H + 60][W + 60]``.

    The mask is 0 above a line, here 820 of 2108 rows down, and 1 below it.
    """
    height, width = (side + PADDING for side in sizes.values())
    a, b = (rng.random((3, height, width), dtype=np.float32) for _ in range(2))
    mask = np.zeros((height, width), np.float32)
    mask[820 * height // 2108 :] = 1
    return {"a": a, "b": b, "mask": mask}


def from_photo(photo: np.ndarray, other: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """The left half of a photograph and the right half of another, or of its own mirror image.

    The other one is cut, or repeats its edge, to the size of the first.
    """
    height, width, _ = photo.shape
    frame = (BEFORE, PADDING - BEFORE)
    one = np.pad(photo, (frame, frame, (0, 0)), mode="edge")
    two = photo[:, ::-1] if other is None else other[:height, :width]
    below, beside = (n - m for n, m in zip(photo.shape[:2], two.shape[:2], strict=True))
    after = PADDING - BEFORE
    two = np.pad(two, ((BEFORE, after + below), (BEFORE, after + beside), (0, 0)), mode="edge")
    a, b = (np.moveaxis(image, -1, 0).astype(np.float32) / np.float32(255) for image in (one, two))
    mask = np.zeros(one.shape[:2], np.float32)
    mask[:, : BEFORE + width // 2] = 1
    return {"a": a, "b": b, "mask": mask}


def input_picture(inputs: dict[str, np.ndarray]) -> np.ndarray:
    """What is computed on: both images side by side where the mask chooses them, not blended."""
    chosen = np.where(inputs["mask"] > 0, inputs["a"], inputs["b"])
    inside = slice(BEFORE, BEFORE - PADDING)
    return np.rint(np.moveaxis(chosen[:, inside, inside], 0, -1) * 255).astype(np.uint8)


def reference(
    *, a: np.ndarray, b: np.ndarray, mask: np.ndarray, H: int, W: int
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[3][H][W]``: what of the padded image is the image."""
    levels = [(a, b, mask)]
    for _ in range(1, LEVELS):
        levels.append(tuple(_halved(_halved(image, -2), -1) for image in levels[-1]))
    one, other, weight = levels.pop()
    coarse = (one, other)
    blended = one * weight + other * (np.float32(1) - weight)
    for *images, weight in reversed(levels):
        shape = weight.shape
        one, other = (
            image - _doubled(image_below, shape)
            for image, image_below in zip(images, coarse, strict=True)
        )
        details = one * weight + other * (np.float32(1) - weight)
        blended = details + _doubled(blended, shape)
        coarse = tuple(images)
    return {"out": blended[:, BEFORE : BEFORE + H, BEFORE : BEFORE + W]}


def _halved(image: np.ndarray, axis: int) -> np.ndarray:
    """Weights 1 4 6 4 1 over 16 around every other index; NaN where one would be outside."""
    image = np.moveaxis(image, axis, -1)
    padded = _framed(image, 2)
    taps = [padded[..., k : k + image.shape[-1] : 2] for k in range(5)]
    four, six = np.float32(4), np.float32(6)
    halved = (taps[0] + four * taps[1] + six * taps[2] + four * taps[3] + taps[4]) / np.float32(16)
    return np.moveaxis(halved, -1, axis)


def _doubled(image: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """In both directions: weights 1 6 1 over 8 at even indices, the mean between them."""
    for axis in (-2, -1):
        lines = np.moveaxis(image, axis, -1)
        padded = _framed(lines, 1)
        left, centre, right = padded[..., :-2], lines, padded[..., 2:]
        four, six, eight = np.float32(4), np.float32(6), np.float32(8)
        even = (left + six * centre + right) / eight
        odd = (four * centre + four * right) / eight
        both = np.stack((even, odd), axis=-1).reshape(*lines.shape[:-1], -1)
        image = np.moveaxis(both[..., : shape[axis]], -1, axis)
    return image


def _framed(image: np.ndarray, width: int) -> np.ndarray:
    frame = [(0, 0)] * (image.ndim - 1) + [(width, width)]
    return np.pad(image, frame, constant_values=np.nan)


def pipeline() -> po.Scop:
    """The program: the padding is as wide as the levels see, so that no border needs a rule."""
    import polyopt as po

    height, width = sides = po.size("H"), po.size("W")
    padded = [height + PADDING, width + PADDING]
    inputs = [po.input(name, po.f32, [3, *padded]) for name in ("a", "b")]
    inputs.append(po.input("mask", po.f32, padded))
    one, other, mask = ([image] for image in inputs)
    for levels in (one, other, mask):
        for level in range(1, LEVELS):
            levels.append(_coarser(levels[-1], f"{levels[0].name}{level}", sides, level))
    last = LEVELS - 1
    a, b, m = one[last], other[last], mask[last]
    blended = po.stage(
        f"blend{last}",
        [3, *_upward(sides, last)],
        lambda c, y, x: a[c, y, x] * m[y, x] + b[c, y, x] * (1 - m[y, x]),
    )
    for level in reversed(range(last)):
        ranges = _upward(sides, level)
        a, b = (_details(levels[level], levels[level + 1], ranges) for levels in (one, other))
        m, up = mask[level], _rows_doubled(blended, ranges[0])
        blended = po.stage(
            f"blend{level}" if level else "out",
            [3, *ranges],
            lambda c, y, x, a=a, b=b, m=m, up=up: (
                a[c, y, x] * m[y, x]
                + b[c, y, x] * (1 - m[y, x])
                + _between(lambda column: up[c, y, column], x)
            ),
        )
    return po.pipeline(blended, name="pyramid_blend", context=["H >= 1", "W >= 1"])


def _coarser(
    finer: po.Input | po.Stage, name: str, sides: tuple[po.Term, po.Term], level: int
) -> po.Stage:
    rows, columns = (_downward(side, level) for side in sides)
    half = _each_plane(
        f"{name}_rows", finer, (rows, (2 * columns[0] - 2, 2 * columns[1] + 1)),
        lambda at, y, x: _around(lambda row: at(row, x), y),
    )  # fmt: skip
    return _each_plane(
        name, half, (rows, columns), lambda at, y, x: _around(lambda column: at(y, column), x)
    )


def _each_plane(
    name: str, image: po.Input | po.Stage, ranges: Ranges, value: Callable[..., po.Term]
) -> po.Stage:
    """A stage of an image of one plane or of three, given how its planes are read."""
    import polyopt as po

    if len(image.ranges) == 2:
        return po.stage(name, ranges, lambda y, x: value(lambda i, j: image[i, j], y, x))
    return po.stage(name, [3, *ranges], lambda c, y, x: value(lambda i, j: image[c, i, j], y, x))


def _details(own: po.Input | po.Stage, coarse: po.Stage, ranges: Ranges) -> po.Stage:
    """What a level has and the next coarser one has not."""
    import polyopt as po

    up = _rows_doubled(coarse, ranges[0])
    return po.stage(
        f"{coarse.name}_less",
        [3, *ranges],
        lambda c, y, x: own[c, y, x] - _between(lambda column: up[c, y, column], x),
    )


def _rows_doubled(coarse: po.Stage, rows: tuple[po.Term, po.Term]) -> po.Stage:
    import polyopt as po

    return po.stage(
        f"{coarse.name}_up",
        [3, rows, coarse.ranges[-1]],
        lambda c, y, x: _between(lambda row: coarse[c, row, x], y),
    )


def _around(at: Callable[[po.Term], po.Term], i: po.Term) -> po.Term:
    """Weights 1 4 6 4 1 around every other index."""
    i = 2 * i
    return (at(i - 2) + 4 * at(i - 1) + 6 * at(i) + 4 * at(i + 1) + at(i + 2)) / 16


def _between(at: Callable[[po.Term], po.Term], i: po.Term) -> po.Term:
    """Twice as many: weights 1 6 1 at even indices, the mean of two between them."""
    import polyopt as po

    half = i // 2
    even = (at(half - 1) + 6 * at(half) + at(half + 1)) / 8
    return po.select(i % 2 == 0, even, (4 * at(half) + 4 * at(half + 1)) / 8)


def _upward(sides: tuple[po.Term, po.Term], level: int) -> Ranges:
    """Where a level is blended: what the image needs of it.

    Index ``i`` reads from ``i // 2 - 1`` to ``i // 2 + 1`` of the next level, or from ``i // 2``
    where it is odd, as the first one is on every level. So a last index ``i`` needs the next
    level to end with ``i // 2 + 1``: ``(side + k) // 2**level`` for the ``k`` below.
    """
    first = (BEFORE + 1) // 2**level - 1
    beyond = BEFORE - 1 + 2 * (2**level - 1)
    rows, columns = ((first, (side + beyond) // 2**level + 1) for side in sides)
    return rows, columns


def _downward(side: po.Term, level: int) -> tuple[int, po.Term]:
    """Where a level is made: what the coarsest needs of it, more than the blending does."""
    (first, end), _ = _upward((side, side), LEVELS - 1)
    for _ in range(level, LEVELS - 1):
        first, end = 2 * first - 2, 2 * end + 1
    return first, end
