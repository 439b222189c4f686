"""Tone mapping by local Laplacian filters, Halide's app ``local_laplacian``.

The image's brightness is remapped around each of 8 intensities, and every copy made a Laplacian
pyramid of 8 levels. The result's pyramid has, at each pixel, the details of the two copies whose
intensities are next to the brightness there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import polyopt as po

    #: half-open, of rows and of columns
    Ranges = tuple[tuple[int, po.Term], tuple[int, po.Term]]

#: levels of the pyramids, and intensities around which the brightness is remapped
LEVELS, INTENSITIES = 8, 8
#: steps of the remapping curve from one intensity to the next; from black to white
STEPS = 256
RANGE = STEPS * (INTENSITIES - 1)

SIZES = {
    "bench": {"H": 2560, "W": 1536},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 5, "W": 3},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u16 ``[3][H][W]``, planes R, G, B; how much ``alpha`` details and ``beta`` tones."""
    return {
        "img": rng.integers(0, 1 << 16, (3, sizes["H"], sizes["W"]), dtype=np.uint16),
        "alpha": np.float32(1 / (INTENSITIES - 1)),
        "beta": np.float32(1),
    }


def reference(
    *, img: np.ndarray, alpha: np.float32, beta: np.float32, **_sizes: int
) -> dict[str, np.ndarray]:
    """``out`` u16 ``[3][H][W]``; every number in the program's order, so that none differs."""
    _, height, width = img.shape
    # further than the levels see, by multiples of the coarsest one's pixels: indices that are
    # relative to the padded image halve like those relative to the image
    before, after = 2 << (LEVELS - 1), 4 << (LEVELS - 1)
    padded = np.pad(img, ((0, 0), (before, after), (before, after)), mode="edge")
    red, green, blue = padded.astype(np.float32) / np.float32(65535)
    gray = np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue
    tones, copies = [gray], [_copies(gray, np.float32(alpha), np.float32(beta))]
    for _ in range(1, LEVELS):
        for levels in (tones, copies):
            levels.append(_halved(_halved(levels[-1], -2), -1))
    result = _chosen(tones[-1], copies[-1])
    for level in reversed(range(LEVELS - 1)):
        details = copies[level] - _doubled(copies[level + 1], copies[level].shape)
        result = _doubled(result, tones[level].shape) + _chosen(tones[level], details)
    inside = slice(before, before + height), slice(before, before + width)
    dark = np.float32(0.01)
    out = img.astype(np.float32) * (result[inside] + dark) / (gray[inside] + dark)
    return {"out": out.clip(0, 65535).astype(np.uint16)}


def _copies(gray: np.ndarray, alpha: np.float32, beta: np.float32) -> np.ndarray:
    """The brightness remapped around each intensity: f32 ``[k][y][x]``."""
    fx = np.arange(-RANGE, RANGE + 1).astype(np.float32) / np.float32(STEPS)
    curve = alpha * fx * np.exp(-(fx.astype(np.float64) ** 2) / 2).astype(np.float32)
    step = (gray * np.float32(RANGE)).astype(np.int32).clip(0, RANGE)
    result = np.empty((INTENSITIES, *gray.shape), np.float32)
    for k in range(INTENSITIES):
        level = np.float32(k) * np.float32(1 / (INTENSITIES - 1))
        result[k] = beta * (gray - level) + level + curve[step - STEPS * k + RANGE]
    return result


def _chosen(tones: np.ndarray, details: np.ndarray) -> np.ndarray:
    """Between the details of the two intensities next to each pixel's."""
    level = tones * np.float32(INTENSITIES - 1)
    below = level.astype(np.int32).clip(0, INTENSITIES - 2)
    part = level - below.astype(np.float32)
    low, high = (np.take_along_axis(details, k[np.newaxis], 0)[0] for k in (below, below + 1))
    return (np.float32(1) - part) * low + part * high


def _halved(image: np.ndarray, axis: int) -> np.ndarray:
    """Weights 1 3 3 1 over 8 between every two indices; not what it is at the borders."""
    image = np.moveaxis(image, axis, -1)
    frame = [(0, 0)] * (image.ndim - 1) + [(1, 2)]
    padded, length = np.pad(image, frame, mode="edge"), image.shape[-1]
    before, left, right, after = (padded[..., k : k + length : 2] for k in range(4))
    halved = (before + np.float32(3) * (left + right) + after) / np.float32(8)
    return np.moveaxis(halved, -1, axis)


def _doubled(image: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Twice as many, 3 : 1 between the two next to each; not what it is at the borders."""
    for axis in (-1, -2):
        at, last = np.arange(shape[axis]), image.shape[axis] - 1
        right = np.take(image, ((at + 1) // 2).clip(0, last), axis)
        left = np.take(image, ((at - 1) // 2).clip(0, last), axis)
        share = ((at % 2) * 2 + 1).astype(np.float32) / np.float32(4)
        share = share[:, np.newaxis] if axis == -2 else share
        image = right * (np.float32(1) - share) + left * share
    return image


def pipeline() -> po.Scop:
    """The program: outside the image its edge repeats; levels reach as far as others need them."""
    import polyopt as po

    sides = po.size("H"), po.size("W")
    img = po.input("img", po.u16, [3, *sides])
    alpha, beta = po.scalar("alpha", po.f32), po.scalar("beta", po.f32)
    edge = po.clamped(img)
    curve = po.stage("curve", [(-RANGE, RANGE + 1)], lambda i: _curve(i, alpha))
    floating = po.stage(
        "floating",
        [3, *_downward(sides, 0)],
        lambda c, y, x: po.cast(po.f32, edge[c, y, x]) / 65535,
    )
    gray = po.stage(
        "gray",
        _downward(sides, 0),
        lambda y, x: (
            0.299 * floating[0, y, x] + 0.587 * floating[1, y, x] + 0.114 * floating[2, y, x]
        ),
    )
    remapped = po.stage(
        "g0",
        [INTENSITIES, *_downward(sides, 0)],
        lambda k, y, x: _remapped(gray[y, x], k, curve, beta),
    )
    tones, copies = [gray], [remapped]
    for level in range(1, LEVELS):
        ranges = _downward(sides, level)
        tones.append(_coarser(tones[-1], f"in{level}", ranges))
        copies.append(_coarser(copies[-1], f"g{level}", ranges))
    result = _chosen_stage(tones[-1], copies[-1], LEVELS - 1, _upward(sides, LEVELS - 1))
    for level in reversed(range(LEVELS - 1)):
        ranges = _upward(sides, level)
        coarse = _columns_doubled(
            copies[level + 1], f"up_g{level + 1}", _upward(sides, level + 1)[0], ranges[1]
        )
        details = po.stage(
            f"lap{level}",
            [INTENSITIES, *ranges],
            lambda k, y, x, own=copies[level], coarse=coarse: (
                own[k, y, x] - _between(lambda row: coarse[k, row, x], y)
            ),
        )
        chosen = _chosen_stage(tones[level], details, level, ranges)
        up = _columns_doubled(result, f"up_{result.name}", _upward(sides, level + 1)[0], ranges[1])
        result = po.stage(
            f"outG{level}",
            ranges,
            lambda y, x, up=up, chosen=chosen: _between(lambda row: up[row, x], y) + chosen[y, x],
        )
    out = po.stage(
        "out",
        [3, *sides],
        lambda c, y, x: po.cast(
            po.u16,
            po.clamp(
                po.cast(po.f32, img[c, y, x]) * (result[y, x] + 0.01) / (gray[y, x] + 0.01),
                0,
                65535,
            ),
        ),
    )
    return po.pipeline(out, name="local_laplacian", context=["H >= 1", "W >= 1"])


def _curve(i: po.Term, alpha: po.Term) -> po.Term:
    """How the tones at a distance from an intensity change."""
    import polyopt as po

    fx = po.cast(po.f32, i) / STEPS
    # in double precision, since libraries' exponentials of single precision differ
    return alpha * fx * po.cast(po.f32, po.exp(-(po.cast(po.f64, fx) * po.cast(po.f64, fx)) / 2))


def _remapped(gray: po.Term, k: po.Term, curve: po.Stage, beta: po.Term) -> po.Term:
    import polyopt as po

    level = po.cast(po.f32, k) * (1 / (INTENSITIES - 1))
    step = po.clamp(po.cast(po.i32, gray * RANGE), 0, RANGE)
    # the clamp changes nothing: it says where a subscript that depends on data lies
    return beta * (gray - level) + level + curve[po.clamp(step - STEPS * k, -RANGE, RANGE)]


def _chosen_stage(tones: po.Stage, details: po.Stage, level: int, ranges: Ranges) -> po.Stage:
    import polyopt as po

    def value(y: po.Term, x: po.Term) -> po.Term:
        intensity = tones[y, x] * (INTENSITIES - 1)
        below = po.clamp(po.cast(po.i32, intensity), 0, INTENSITIES - 2)
        part = intensity - po.cast(po.f32, below)
        return (1 - part) * details[below, y, x] + part * details[below + 1, y, x]

    return po.stage(f"outL{level}", ranges, value)


def _each_plane(
    name: str, image: po.Stage, ranges: Ranges, value: Callable[..., po.Term]
) -> po.Stage:
    """A stage of an image of one plane or of several, given how its planes are read."""
    import polyopt as po

    if len(image.ranges) == 2:
        return po.stage(name, ranges, lambda y, x: value(lambda i, j: image[i, j], y, x))
    extents = [INTENSITIES, *ranges]
    return po.stage(name, extents, lambda k, y, x: value(lambda i, j: image[k, i, j], y, x))


def _coarser(finer: po.Stage, name: str, ranges: Ranges) -> po.Stage:
    rows, columns = ranges
    wider = (2 * columns[0] - 1, 2 * columns[1] + 1)
    half = _each_plane(
        f"{name}_rows", finer, (rows, wider), lambda at, y, x: _around(lambda row: at(row, x), y)
    )
    return _each_plane(
        name, half, ranges, lambda at, y, x: _around(lambda column: at(y, column), x)
    )


def _columns_doubled(
    coarse: po.Stage, name: str, rows: tuple[int, po.Term], columns: tuple[int, po.Term]
) -> po.Stage:
    return _each_plane(
        name, coarse, (rows, columns), lambda at, y, x: _between(lambda column: at(y, column), x)
    )


def _around(at: Callable[[po.Term], po.Term], i: po.Term) -> po.Term:
    """Weights 1 3 3 1 around every other index and the one after it."""
    return (at(2 * i - 1) + 3 * (at(2 * i) + at(2 * i + 1)) + at(2 * i + 2)) / 8


def _between(at: Callable[[po.Term], po.Term], i: po.Term) -> po.Term:
    """Twice as many: 3 : 1 between the two next to each."""
    import polyopt as po

    share = po.cast(po.f32, (i % 2) * 2 + 1) / 4
    return at((i + 1) // 2) * (1 - share) + at((i - 1) // 2) * share


def _upward(sides: tuple[po.Term, po.Term], level: int) -> Ranges:
    """Where the result's level is made: what the image needs of it.

    Index ``i`` reads from ``(i - 1) // 2`` to ``(i + 1) // 2`` of the next level, so the end of
    a level is half the end of the finer one and 1: in one division, as below.
    """
    if level == 0:
        rows, columns = ((0, side) for side in sides)
    else:
        rows, columns = ((-1, (side + 2**level - 2) // 2**level + 1) for side in sides)
    return rows, columns


def _downward(sides: tuple[po.Term, po.Term], level: int) -> Ranges:
    """Where a level of the image is made: what the coarsest needs of it, more than the result.

    Index ``i`` reads from ``2*i - 1`` to ``2*i + 2`` of the finer level.
    """
    scale = 2 ** (LEVELS - 1 - level)
    ends = (end for _, end in _upward(sides, LEVELS - 1))
    rows, columns = ((1 - 2 * scale, scale * (end + 1) - 1) for end in ends)
    return rows, columns
