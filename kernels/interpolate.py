"""Colours between sparse pixels, over a pyramid of 10 levels: Halide's app ``interpolate``.

Every level halves both sides. The levels are premultiplied with alpha, the weight of a pixel, so
that a level filled from the next coarser one has colours wherever any pixel near has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polyopt as po

LEVELS = 10
#: the level that repeats its edge where the next one is made of it
REPEATED = 3

SIZES = {
    "bench": {"H": 2560, "W": 1536},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 13, "W": 19},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[4][H][W]``, planes R, G, B in [0, 1), alpha in [1/64, 1): never all zero."""
    img = rng.random((4, sizes["H"], sizes["W"]), dtype=np.float32)
    img[3] = np.maximum(img[3], np.float32(1 / 64))
    return {"img": img}


def from_photo(photo: np.ndarray) -> dict[str, np.ndarray]:
    """Every eighth pixel of the photograph, by chance; the others are to be found between them."""
    height, width, _ = photo.shape
    planes = np.moveaxis(photo, -1, 0).astype(np.float32) / np.float32(255)
    known = np.random.default_rng(0).random((height, width)) < 1 / 8
    known[height // 2, width // 2] = True
    alpha = known.astype(np.float32)
    return {"img": np.concatenate((planes * alpha, alpha[np.newaxis]))}


def input_picture(inputs: dict[str, np.ndarray]) -> np.ndarray:
    """What is computed on: the pixels that are known, on black."""
    return np.rint(np.moveaxis(inputs["img"][:3], 0, -1) * 255).astype(np.uint8)


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[3][H][W]``."""
    _, height, width = img.shape
    # up to the repeated level, and from there on, levels see less far beyond the image than this
    before, after, margin = 1 << REPEATED, 3 << REPEATED, 5 << (LEVELS - 2 - REPEATED)
    padded = np.pad(img, ((0, 0), (before, after), (before, after)), mode="edge")
    image, first = np.concatenate((padded[:3] * padded[3:], padded[3:])), -before
    levels = [(image, first)]
    for level in range(1, LEVELS):
        if level - 1 == REPEATED:
            beyond = np.arange(-margin, margin + (max(height, width) >> REPEATED))
            rows, columns = (np.clip(beyond, 0, n >> REPEATED) - first for n in (height, width))
            image, first = image[:, rows][:, :, columns], -margin
        image = _halved(_halved(image, 2, first), 1, first)
        first = (first + 2) // 2
        levels.append((image, first))
    filled, first = levels.pop()
    for image, lower in reversed(levels):
        finer = _doubled(_doubled(filled, 2, first), 1, first)
        own = image[:, -lower:, -lower:]
        rows, columns = np.minimum(own.shape[1:], finer.shape[1:])
        own, finer = own[:, :rows, :columns], finer[:, :rows, :columns]
        filled, first = own + (np.float32(1) - own[3]) * finer, 0
    filled = filled[:, :height, :width]
    return {"out": filled[:3] / filled[3]}


def _halved(image: np.ndarray, axis: int, first: int) -> np.ndarray:
    """Weights 1 2 1 over 4 around every even index, from the first one that has both sides.

    ``first`` is the index at which ``image`` begins.
    """
    start = 2 * ((first + 2) // 2) - 1 - first
    left, centre, right = (
        np.take(image, np.arange(start + k, image.shape[axis] - 2 + k, 2), axis) for k in range(3)
    )
    return (left + np.float32(2) * centre + right) / np.float32(4)


def _doubled(image: np.ndarray, axis: int, first: int) -> np.ndarray:
    """From index 0 on: the elements, and between them their means."""
    at = np.arange(2 * (first + image.shape[axis]) - 1)
    left, right = (np.take(image, index - first, axis) for index in (at // 2, (at + 1) // 2))
    return (left + right) / np.float32(2)


def pipeline() -> po.Scop:
    """The program: outside the image its edge repeats; levels reach as far as others need them."""
    import polyopt as po

    sides = po.size("H"), po.size("W")
    edge = po.clamped(po.input("img", po.f32, [4, *sides]))
    levels = [
        po.stage(
            "d0",
            [4, *_downward(sides, 0)],
            lambda c, y, x: po.select(c < 3, edge[c, y, x] * edge[3, y, x], edge[3, y, x]),
        )
    ]
    for level in range(1, LEVELS):
        levels.append(_coarser(levels[-1], sides, level))
    filled = levels.pop()
    for level, own in reversed(list(enumerate(levels))):
        filled = _filled(own, filled, sides, level)
    out = po.stage("out", [3, *sides], lambda c, y, x: filled[c, y, x] / filled[3, y, x])
    return po.pipeline(out, name="interpolate", context=["H >= 1", "W >= 1"])


def _coarser(finer: po.Stage, sides: tuple[po.Term, po.Term], level: int) -> po.Stage:
    import polyopt as po

    def at(c: po.Term, y: po.Term, x: po.Term) -> po.Term:
        if level - 1 == REPEATED:
            y, x = (po.clamp(i, 0, n // 2**REPEATED) for i, n in zip((y, x), sides, strict=True))
        return finer[c, y, x]

    rows, columns = _downward(sides, level)
    dx = po.stage(
        f"dx{level}",
        [4, (2 * rows[0] - 1, 2 * rows[1]), columns],
        lambda c, y, x: (at(c, y, 2 * x - 1) + 2 * at(c, y, 2 * x) + at(c, y, 2 * x + 1)) / 4,
    )
    return po.stage(
        f"d{level}",
        [4, rows, columns],
        lambda c, y, x: (dx[c, 2 * y - 1, x] + 2 * dx[c, 2 * y, x] + dx[c, 2 * y + 1, x]) / 4,
    )


def _filled(
    own: po.Stage, coarse: po.Stage, sides: tuple[po.Term, po.Term], level: int
) -> po.Stage:
    import polyopt as po

    height, width = sides
    ux = po.stage(
        f"ux{level}",
        [4, _end(height, level + 1), _end(width, level)],
        lambda c, y, x: (coarse[c, y, x // 2] + coarse[c, y, (x + 1) // 2]) / 2,
    )
    return po.stage(
        f"i{level}",
        [4, _end(height, level), _end(width, level)],
        lambda c, y, x: (
            own[c, y, x] + (1 - own[3, y, x]) * ((ux[c, y // 2, x] + ux[c, (y + 1) // 2, x]) / 2)
        ),
    )


def _end(side: po.Term, level: int) -> po.Term:
    """Where a filled level ends: what an image of that side needs of it.

    ``e[0] = side``, and index ``i`` of a level reads up to ``(i + 1) // 2`` of the next:
    ``e[l + 1] = e[l] // 2 + 1``.
    """
    return (side + (2**level - 2)) // 2**level + 1 if level else side


def _downward(sides: tuple[po.Term, po.Term], level: int) -> list[tuple[int, po.Term]]:
    """Where a level is made: what the next ones need of it, down to one that needs no more.

    That is the coarsest level, or the one that repeats its edge. ``i`` of a level reads
    ``2*i - 1`` to ``2*i + 1`` of the finer one.
    """
    last = REPEATED if level <= REPEATED else LEVELS - 1
    scale = 2 ** (last - level)
    return [(1 - scale, scale * _end(side, last)) for side in sides]
