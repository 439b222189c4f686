"""Camera pipeline: a raw Bayer image to an RGB image of 8 bits.

Hot pixels are suppressed, the missing colours interpolated, corrected by a matrix for the colour
temperature of the light, put through a tone curve and sharpened. The definition and its wrapping
16-bit arithmetic are those of Halide's app ``camera_pipe``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from polyopt.frontend.stages import Stage, Term

    Range = tuple[Term, Term]
    #: rows down and columns to the right
    Step = tuple[int, int]

#: pixels of the raw image above and left of the result, and on both sides together
TOP, LEFT = 12, 16
MORE_ROWS, MORE_COLUMNS = 48, 32

#: the result's
SIZES = {
    "bench": {"H": 1920, "W": 2560},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 5, "W": 11},
    "tiny": {"H": 1, "W": 1},
}

#: one row for each of R, G, B of the result: factors of R, G, B, and an offset
M3200 = (
    (1.6697, -0.2693, -0.4004, -42.4346),
    (-0.3576, 1.0615, 1.5949, -37.1158),
    (-0.2175, -1.8751, 6.9640, -26.6970),
)
M7000 = (
    (2.2997, -0.4478, 0.1706, -39.0923),
    (-0.3826, 1.5906, -0.2080, -25.4311),
    (-0.0888, -0.7344, 2.2832, -20.0826),
)


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """A 10-bit image with random pixels, and how to develop it.

    - ``raw`` u16 ``[H + 48][W + 32]``: a Bayer mosaic, rows G R G R ... and B G B G ... in turn
    - ``m3200``, ``m7000`` f32 ``[3][4]``: colour matrices for light of 3200 K and 7000 K
    - ``color_temp`` f32: colour temperature of the light, in K
    - ``black``, ``white`` i32: the raw values of black and white
    - ``gamma`` f32, ``contrast`` f32 (percent), ``sharpen`` f32 (a factor below 4)
    """
    shape = sizes["H"] + MORE_ROWS, sizes["W"] + MORE_COLUMNS
    return {
        "raw": rng.integers(0, 1024, shape, dtype=np.uint16),
        "m3200": np.array(M3200, np.float32),
        "m7000": np.array(M7000, np.float32),
        "color_temp": np.float32(3700),
        "black": np.int32(25),
        "white": np.int32(1023),
        "gamma": np.float32(2),
        "contrast": np.float32(50),
        "sharpen": np.float32(1),
    }


def from_photo(photo: np.ndarray) -> dict[str, np.ndarray]:
    """What a camera would have recorded: the development of the usual inputs, backwards.

    Tones go back through the curve, colours through the matrix; of each pixel the mosaic keeps
    one colour.
    """
    curve = _reference_curve(25, 1023, 2.0, 50.0)
    # the value in the middle of those that a tone is made of
    tones = np.arange(256)
    linear = (np.searchsorted(curve, tones) + np.searchsorted(curve, tones, side="right") - 1) / 2
    usual = inputs(np.random.default_rng(0), {"H": 0, "W": 0})
    matrix = _reference_matrix(usual["m3200"], usual["m7000"], float(usual["color_temp"])) / 256
    colours = linear[photo] - matrix[:, 3]
    colours = (colours @ np.linalg.inv(matrix[:, :3]).T).clip(0, 1023)
    frame = (TOP, MORE_ROWS - TOP), (LEFT, MORE_COLUMNS - LEFT), (0, 0)
    colours = np.pad(colours, frame, mode="edge")
    raw = colours[..., 1].copy()
    raw[::2, 1::2] = colours[::2, 1::2, 0]
    raw[1::2, ::2] = colours[1::2, ::2, 2]
    return {"raw": np.rint(raw).astype(np.uint16)}


def input_picture(inputs: dict[str, np.ndarray]) -> np.ndarray:
    """What is computed on: the mosaic, each pixel in its colour, brightened."""
    raw = inputs["raw"]
    inside = raw[TOP : TOP - MORE_ROWS, LEFT : LEFT - MORE_COLUMNS]
    tones = np.rint(np.sqrt(inside / 1023) * 255).astype(np.uint8)
    picture = np.zeros((*tones.shape, 3), np.uint8)
    for y, x, plane in ((0, 0, 1), (0, 1, 0), (1, 0, 2), (1, 1, 1)):
        picture[y::2, x::2, plane] = tones[y::2, x::2]
    return picture


def reference(
    *,
    raw: np.ndarray,
    m3200: np.ndarray,
    m7000: np.ndarray,
    color_temp: float,
    black: int,
    white: int,
    gamma: float,
    contrast: float,
    sharpen: float,
    **_sizes: int,
) -> dict[str, np.ndarray]:
    """``out`` u8 ``[3][H][W]``, planes R, G, B; its (0, 0) belongs to raw pixel (12, 16)."""
    matrix = _reference_matrix(m3200, m7000, float(color_temp))
    curve = _reference_curve(int(black), int(white), float(gamma), float(contrast))
    colours = [colour.astype(np.int16).astype(np.int32) for colour in _reference_mosaic(raw)]
    planes = []
    for *factors, offset in matrix.astype(np.int32):
        total = offset + sum(f * colour for f, colour in zip(factors, colours, strict=True))
        planes.append((total >> 8).astype(np.int16))
    curved = curve[np.clip(planes, 0, 1023)]
    blurred = _reference_blur121(curved[:, :-2], curved[:, 1:-1], curved[:, 2:])
    blurred = _reference_blur121(blurred[..., :-2], blurred[..., 1:-1], blurred[..., 2:])
    centre = curved[:, 1:-1, 1:-1].astype(np.int16)
    strength = np.int16(np.uint8(sharpen * 32))
    mask = (centre - blurred.astype(np.int16)) * strength // np.int16(32)
    return {"out": np.clip(centre + mask, 0, 255).astype(np.uint8)}


def _reference_mosaic(raw: np.ndarray) -> list[np.ndarray]:
    """R, G, B, each u16 ``[H + 2][W + 2]``: the result's pixels and one more on each side."""
    height, width = raw.shape[0] - MORE_ROWS, raw.shape[1] - MORE_COLUMNS
    # whole quads: of an odd side's last ones, the half that is added is read by none of the result
    raw = np.pad(raw, ((0, height % 2), (0, width % 2)))
    around = [raw[2:-2, :-4], raw[2:-2, 4:], raw[:-4, 2:-2], raw[4:, 2:-2]]
    den = np.minimum(raw[2:-2, 2:-2], np.max(around, axis=0))
    g_gr, r_r, b_b, g_gb = (den[y::2, x::2] for y in (0, 1) for x in (0, 1))
    avg, absd = _reference_avg, _reference_absd

    def at(quads: np.ndarray, y: int, x: int) -> np.ndarray:
        # what comes round at the borders is not part of the result
        return np.roll(quads, (-y, -x), (0, 1))

    def nearer(
        one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        return absd(*one) < absd(*other)

    across, along = (at(g_gr, 0, 1), g_gr), (at(g_gb, -1, 0), g_gb)
    g_r = np.where(nearer(across, along), avg(*across), avg(*along))
    across, along = (at(g_gb, 0, -1), g_gb), (at(g_gr, 1, 0), g_gr)
    g_b = np.where(nearer(across, along), avg(*across), avg(*along))
    r_gr = g_gr - avg(g_r, at(g_r, 0, -1)) + avg(at(r_r, 0, -1), r_r)
    b_gr = g_gr - avg(g_b, at(g_b, -1, 0)) + avg(b_b, at(b_b, -1, 0))
    r_gb = g_gb - avg(g_r, at(g_r, 1, 0)) + avg(r_r, at(r_r, 1, 0))
    b_gb = g_gb - avg(g_b, at(g_b, 0, 1)) + avg(b_b, at(b_b, 0, 1))
    falling, rising = (r_r, at(r_r, 1, -1)), (at(r_r, 0, -1), at(r_r, 1, 0))
    r_b = np.where(
        nearer(falling, rising),
        g_b - avg(g_r, at(g_r, 1, -1)) + avg(*falling),
        g_b - avg(at(g_r, 0, -1), at(g_r, 1, 0)) + avg(*rising),
    )
    falling, rising = (b_b, at(b_b, -1, 1)), (at(b_b, 0, 1), at(b_b, -1, 0))
    b_r = np.where(
        nearer(falling, rising),
        g_r - avg(g_b, at(g_b, -1, 1)) + avg(*falling),
        g_r - avg(at(g_b, 0, 1), at(g_b, -1, 0)) + avg(*rising),
    )
    colours = []
    for quads in ((r_gr, r_r, r_b, r_gb), (g_gr, g_r, g_b, g_gb), (b_gr, b_r, b_b, b_gb)):
        pixels = np.empty_like(den)
        for k, part in enumerate(quads):
            pixels[k // 2 :: 2, k % 2 :: 2] = part
        # den has lost 2 pixels on each side of raw
        top, left = TOP - 3, LEFT - 3
        colours.append(pixels[top : top + height + 2, left : left + width + 2])
    return colours


def _reference_avg(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The mean, rounded up, of u16 or u8, without overflow."""
    return ((one.astype(np.uint32) + other + 1) // 2).astype(one.dtype)


def _reference_absd(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.maximum(one, other) - np.minimum(one, other)


def _reference_blur121(before: np.ndarray, here: np.ndarray, after: np.ndarray) -> np.ndarray:
    return _reference_avg(_reference_avg(before, after), here)


def _reference_matrix(m3200: np.ndarray, m7000: np.ndarray, color_temp: float) -> np.ndarray:
    """i16 ``[3][4]`` in 256ths: interpolated in the inverse of the temperature."""
    alpha = (1 / color_temp - 1 / 3200) / (1 / 7000 - 1 / 3200)
    one, other = (m.astype(np.float64) for m in (m3200, m7000))
    return ((one * alpha + other * (1 - alpha)) * 256).astype(np.int16)


def _reference_curve(black: int, white: int, gamma: float, contrast: float) -> np.ndarray:
    """u8 ``[1024]``: the tone of a corrected value, with an S-shaped contrast around the middle."""
    b = 2 - 2 ** (contrast / 100)
    a = 2 - 2 * b
    value = np.arange(1024)
    g = np.clip((value - black) / (white - black), 0, 1) ** (1 / gamma)
    z = np.where(g > 0.5, 1 - (a * (1 - g) ** 2 + b * (1 - g)), a * g**2 + b * g)
    tone = np.clip(255 * z + 0.5, 0, 255).astype(np.uint8)
    return np.where(value <= black, np.uint8(0), np.where(value > white, np.uint8(255), tone))


def pipeline() -> po.Scop:
    """The program, as 24 stages. A quad is 2 x 2 pixels, G R above B G; most stages up to the
    whole colours are in quads.
    """
    raw = po.input("raw", po.u16, (f"H + {MORE_ROWS}", f"W + {MORE_COLUMNS}"))

    def hot_pixels_suppressed(y: Term, x: Term) -> Term:
        y, x = y + TOP, x + LEFT
        around = po.max(raw[y, x - 2], raw[y, x + 2], raw[y - 2, x], raw[y + 2, x])
        return po.min(raw[y, x], around)

    den = po.stage("den", _pixel_range(6), hot_pixels_suppressed)
    red, green, blue = (_interleaved(name, quads) for name, quads in _quads(den).items())
    matrix, curve = _matrix(), _curve()

    def corrected(c: Term, y: Term, x: Term) -> Term:
        total = po.cast("i32", matrix[c, 3])
        for k, colour in enumerate((red, green, blue)):
            total = total + po.cast("i32", matrix[c, k]) * po.cast("i32", colour[y, x])
        return po.cast("i16", total >> 8)

    corr = po.stage("corr", (3, *_pixel_range(1)), corrected)
    curved = po.stage(
        "curved", (3, *_pixel_range(1)), lambda c, y, x: curve[po.clamp(corr[c, y, x], 0, 1023)]
    )
    return po.pipeline(
        _sharpened(curved),
        name="camera_pipe",
        context=["H >= 1", "W >= 1"],
    )


def _pixel_range(margin: int) -> tuple[Range, Range]:
    """Rows and columns of the result, and a margin around it."""
    height, width = po.size("H"), po.size("W")
    return (-margin, height + margin), (-margin, width + margin)


def _quad_range(margin: int) -> tuple[Range, Range]:
    """The same in quads: quad (y, x) has its first pixel at (2y, 2x)."""
    height, width = po.size("H"), po.size("W")
    return (-margin, height // 2 + margin), (-margin, width // 2 + margin)


def _quads(den: Stage) -> dict[str, tuple[Stage, ...]]:
    """Each colour at the four pixels of a quad; ``b_gr``: blue where green is, in a row of red."""
    plain, near, used = _quad_range(3), _quad_range(2), _quad_range(1)
    g_gr = po.stage("g_gr", plain, lambda y, x: den[2 * y, 2 * x])
    r_r = po.stage("r_r", plain, lambda y, x: den[2 * y, 2 * x + 1])
    b_b = po.stage("b_b", plain, lambda y, x: den[2 * y + 1, 2 * x])
    g_gb = po.stage("g_gb", plain, lambda y, x: den[2 * y + 1, 2 * x + 1])

    # green: the mean of its neighbours in the row or in the column, where they differ less
    def green_at_red(y: Term, x: Term) -> Term:
        row, column = (g_gr[y, x + 1], g_gr[y, x]), (g_gb[y - 1, x], g_gb[y, x])
        return po.select(_absd(*row) < _absd(*column), _avg(*row), _avg(*column))

    def green_at_blue(y: Term, x: Term) -> Term:
        row, column = (g_gb[y, x - 1], g_gb[y, x]), (g_gr[y + 1, x], g_gr[y, x])
        return po.select(_absd(*row) < _absd(*column), _avg(*row), _avg(*column))

    g_r = po.stage("g_r", near, green_at_red)
    g_b = po.stage("g_b", near, green_at_blue)

    # red and blue at a green pixel: the mean of both neighbours that have it, and what green
    # itself is above its mean at these two
    def at_green(y: Term, x: Term, green: Stage, known: tuple[Stage, Stage], step: Step) -> Term:
        colour, its_green = known
        other = y + step[0], x + step[1]
        above = green[y, x] - _avg(its_green[y, x], its_green[other])
        return above + _avg(colour[y, x], colour[other])

    red, blue = (r_r, g_r), (b_b, g_b)
    r_gr = po.stage("r_gr", used, lambda y, x: at_green(y, x, g_gr, red, (0, -1)))
    b_gr = po.stage("b_gr", used, lambda y, x: at_green(y, x, g_gr, blue, (-1, 0)))
    r_gb = po.stage("r_gb", used, lambda y, x: at_green(y, x, g_gb, red, (1, 0)))
    b_gb = po.stage("b_gb", used, lambda y, x: at_green(y, x, g_gb, blue, (0, 1)))

    # red at a blue pixel and blue at a red one: the same along the diagonal that differs less
    def across(y: Term, x: Term, green: Stage, known: tuple[Stage, Stage], step: Step) -> Term:
        colour, its_green = known
        down, right = y + step[0], x + step[1]
        one, other = ((y, x), (down, right)), ((y, right), (down, x))
        ends = [[colour[place] for place in pair] for pair in (one, other)]
        values = [
            green[y, x] - _avg(*(its_green[place] for place in pair)) + _avg(*pair_ends)
            for pair, pair_ends in zip((one, other), ends, strict=True)
        ]
        return po.select(_absd(*ends[0]) < _absd(*ends[1]), *values)

    r_b = po.stage("r_b", used, lambda y, x: across(y, x, g_b, red, (1, -1)))
    b_r = po.stage("b_r", used, lambda y, x: across(y, x, g_r, blue, (-1, 1)))
    return {
        "red": (r_gr, r_r, r_b, r_gb),
        "green": (g_gr, g_r, g_b, g_gb),
        "blue": (b_gr, b_r, b_b, b_gb),
    }


def _interleaved(name: str, quads: tuple[Stage, ...]) -> Stage:
    """Pixels from the four of each quad, row by row; signed from here on."""

    def pixel(y: Term, x: Term) -> Term:
        first, second, third, fourth = (part[y // 2, x // 2] for part in quads)
        is_even = x % 2 == 0
        row = po.select(is_even, first, second), po.select(is_even, third, fourth)
        return po.cast("i16", po.select(y % 2 == 0, *row))

    return po.stage(name, _pixel_range(1), pixel)


def _avg(one: Term, other: Term) -> Term:
    """The mean of u16, rounded up, without overflow."""
    return po.cast("u16", (po.cast("u32", one) + po.cast("u32", other) + 1) >> 1)


def _absd(one: Term, other: Term) -> Term:
    """The distance of unsigned numbers."""
    return po.max(one, other) - po.min(one, other)


def _matrix() -> Stage:
    """i16 ``[3][4]`` in 256ths: between both matrices, by the inverse of the temperature."""
    m3200, m7000 = (po.input(name, po.f32, (3, 4)) for name in ("m3200", "m7000"))
    color_temp = po.scalar("color_temp", po.f32)

    def interpolated(c: Term, k: Term) -> Term:
        # in doubles, so that no compiler's rounding is seen after truncation; as in the curve
        alpha = (1 / po.cast("f64", color_temp) - 1 / 3200) / (1 / 7000 - 1 / 3200)
        return po.cast("i16", (m3200[c, k] * alpha + m7000[c, k] * (1 - alpha)) * 256)

    return po.stage("matrix", (3, 4), interpolated)


def _curve() -> Stage:
    """u8 ``[1024]``: the tone of a corrected value, S-shaped around the middle by contrast."""
    black, white = po.scalar("black", po.i32), po.scalar("white", po.i32)
    gamma, contrast = po.scalar("gamma", po.f32), po.scalar("contrast", po.f32)

    def tone(value: Term) -> Term:
        b = 2 - po.exp2(po.cast("f64", contrast) / 100)
        a = 2 - 2 * b
        level = po.cast("f64", value - black) / po.cast("f64", white - black)
        g = po.pow(po.clamp(level, 0, 1), 1 / po.cast("f64", gamma))
        z = po.select(g > 0.5, 1 - (a * (1 - g) ** 2 + b * (1 - g)), a * g**2 + b * g)
        inner = po.cast("u8", po.clamp(255 * z + 0.5, 0, 255))
        return po.select(value <= black, 0, po.select(value > white, 255, inner))

    return po.stage("curve", 1024, tone, type=po.u8)


def _sharpened(curved: Stage) -> Stage:
    """What a small blur takes away, added once more by the strength of sharpening."""
    sharpen = po.scalar("sharpen", po.f32)
    strength = po.stage("strength", (), lambda: po.cast("u8", sharpen * 32))
    (rows, columns), wider = _pixel_range(0), _pixel_range(1)[1]
    blur_y = po.stage(
        "blur_y",
        (3, rows, wider),
        lambda c, y, x: _blur121(curved[c, y - 1, x], curved[c, y, x], curved[c, y + 1, x]),
    )
    blur = po.stage(
        "blur",
        (3, rows, columns),
        lambda c, y, x: _blur121(blur_y[c, y, x - 1], blur_y[c, y, x], blur_y[c, y, x + 1]),
    )

    def sharpened(c: Term, y: Term, x: Term) -> Term:
        centre = po.cast("i16", curved[c, y, x])
        mask = (centre - po.cast("i16", blur[c, y, x])) * po.cast("i16", strength) // 32
        return po.cast("u8", po.clamp(centre + mask, 0, 255))

    return po.stage("out", (3, rows, columns), sharpened)


def _blur121(before: Term, here: Term, after: Term) -> Term:
    """u8: the mean of the middle and of the mean of both sides, both rounded up."""
    sides = (po.cast("u16", before) + po.cast("u16", after) + 1) >> 1
    return po.cast("u8", (sides + po.cast("u16", here) + 1) >> 1)
