"""A raw image to colours: ``kernels/camera_pipe`` in Halide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyopt.bench.peers.halide.definition import Definition, functions, variables

if TYPE_CHECKING:
    from polyopt.bench.peers.halide.definition import Reader, Schedule

_TOP, _LEFT = 12, 16
_STAGES = (
    "den g_gr r_r b_b g_gb g_r g_b r_gr b_gr r_gb b_gb r_b b_r "
    "red green blue matrix curve corr cu uy un out"
)


def define(hl: Any, _kernel: str, reader: Reader) -> Definition:  # noqa: ANN401
    """``raw`` u16 ``[H][W]`` and the kernel's scalars to ``out`` u8 ``[3][H - 48][W - 32]``."""
    v = variables(hl, "x y c i xi yi")
    x, y, c = v["x"], v["y"], v["c"]
    raw = hl.ImageParam(hl.UInt(16), 2, "raw")
    matrices = [hl.ImageParam(hl.Float(32), 2, name) for name in ("m3200", "m7000")]
    scalars = {n: hl.Param(hl.Float(32), n) for n in ("color_temp", "gamma", "contrast", "sharpen")}
    scalars |= {n: hl.Param(hl.Int(32), n) for n in ("black", "white")}
    f = functions(hl, _STAGES)
    src, x0, y0 = reader(raw), x + _LEFT, y + _TOP
    around = hl.max(src[x0 - 2, y0], src[x0 + 2, y0])
    around = hl.max(around, hl.max(src[x0, y0 - 2], src[x0, y0 + 2]))
    f["den"][x, y] = hl.min(src[x0, y0], around)
    _mosaic(hl, f, x, y)
    _tones(hl, f, v, matrices, scalars)
    m = f["matrix"]
    total = hl.i32(m[3, c])
    for k, name in enumerate(("red", "green", "blue")):
        total += hl.i32(m[k, c]) * hl.i32(hl.i16(f[name][x, y]))
    f["corr"][x, y, c] = hl.i16(total >> 8)
    f["cu"][x, y, c] = f["curve"][hl.clamp(hl.i32(f["corr"][x, y, c]), 0, 1023)]
    cu, uy = f["cu"], f["uy"]
    uy[x, y, c] = _blur121(hl, cu[x, y - 1, c], cu[x, y, c], cu[x, y + 1, c])
    f["un"][x, y, c] = _blur121(hl, uy[x - 1, y, c], uy[x, y, c], uy[x + 1, y, c])
    strength = hl.i16(hl.u8(scalars["sharpen"] * hl.f32(32)))
    mask = (hl.i16(cu[x, y, c]) - hl.i16(f["un"][x, y, c])) * strength / hl.i16(32)
    f["out"][x, y, c] = hl.u8_sat(hl.i16(cu[x, y, c]) + mask)
    f["out"].bound(c, 0, 3)
    return Definition((raw, *matrices, *scalars.values()), f["out"], f, v)


def _avg(hl: Any, a: Any, b: Any) -> Any:  # noqa: ANN401
    """The mean, rounded up."""
    a, b = (e if isinstance(e, hl.Expr) else hl.Expr(e) for e in (a, b))
    wide = hl.UInt(32)
    return hl.cast(a.type(), (hl.cast(wide, a) + hl.cast(wide, b) + 1) / 2)


def _blur121(hl: Any, a: Any, b: Any, c: Any) -> Any:  # noqa: ANN401
    return _avg(hl, _avg(hl, a, c), b)


def _nearer(hl: Any, one: tuple[Any, Any], other: tuple[Any, Any]) -> Any:  # noqa: ANN401
    return hl.absd(*one) < hl.absd(*other)


def _mosaic(hl: Any, f: dict[str, Any], x: Any, y: Any) -> None:  # noqa: ANN401
    """Each colour at every pixel, from quads of 2 x 2 pixels G R and B G."""
    for k, name in enumerate(("g_gr", "r_r", "b_b", "g_gb")):
        f[name][x, y] = f["den"][2 * x + k % 2, 2 * y + k // 2]
    g_gr, r_r, b_b, g_gb, g_r, g_b = (f[n] for n in ("g_gr", "r_r", "b_b", "g_gb", "g_r", "g_b"))

    def green(result: Any, one: tuple[Any, Any], other: tuple[Any, Any]) -> None:  # noqa: ANN401
        result[x, y] = hl.select(_nearer(hl, one, other), _avg(hl, *one), _avg(hl, *other))

    green(g_r, (g_gr[x + 1, y], g_gr[x, y]), (g_gb[x, y - 1], g_gb[x, y]))
    green(g_b, (g_gb[x - 1, y], g_gb[x, y]), (g_gr[x, y + 1], g_gr[x, y]))

    def between(name: str, centre: Any, greens: Any, known: Any, step: tuple[int, int]) -> None:  # noqa: ANN401
        there = (x + step[0], y + step[1])
        off = _avg(hl, greens[x, y], greens[there])
        f[name][x, y] = centre[x, y] - off + _avg(hl, known[x, y], known[there])

    between("r_gr", g_gr, g_r, r_r, (-1, 0))
    between("b_gr", g_gr, g_b, b_b, (0, -1))
    between("r_gb", g_gb, g_r, r_r, (0, 1))
    between("b_gb", g_gb, g_b, b_b, (1, 0))

    def across(name: str, centre: Any, greens: Any, known: Any, sign: int) -> None:  # noqa: ANN401
        places = (
            ((x, y), (x - sign, y + sign)),
            ((x - sign, y), (x, y + sign)),
        )
        one, other = (tuple(known[p] for p in pair) for pair in places)
        values = [
            centre[x, y]
            - _avg(hl, *(greens[p] for p in pair))
            + _avg(hl, *(known[p] for p in pair))
            for pair in places
        ]
        f[name][x, y] = hl.select(_nearer(hl, one, other), *values)

    across("r_b", g_b, g_r, r_r, 1)
    across("b_r", g_r, g_b, b_b, -1)
    quads = {
        "red": ("r_gr", "r_r", "r_b", "r_gb"),
        "green": ("g_gr", "g_r", "g_b", "g_gb"),
        "blue": ("b_gr", "b_r", "b_b", "b_gb"),
    }
    for name, parts in quads.items():
        a, b, c, d = (f[part][x / 2, y / 2] for part in parts)
        even = x % 2 == 0
        f[name][x, y] = hl.select(y % 2 == 0, hl.select(even, a, b), hl.select(even, c, d))


def _tones(
    hl: Any,  # noqa: ANN401
    f: dict[str, Any],
    v: dict[str, Any],
    matrices: list[Any],
    s: dict[str, Any],
) -> None:
    """The colour matrix in 256ths, and the curve from 10 bits to 8."""
    x, y, i = v["x"], v["y"], v["i"]
    one = hl.f32(1)
    alpha = (one / s["color_temp"] - hl.f32(1 / 3200)) / hl.f32(1 / 7000 - 1 / 3200)
    mixed = matrices[0][x, y] * alpha + matrices[1][x, y] * (one - alpha)
    f["matrix"][x, y] = hl.i16(mixed * hl.f32(256))
    scaled = hl.f32(i - s["black"]) / hl.f32(s["white"] - s["black"])
    g = hl.pow(hl.clamp(scaled, hl.f32(0), one), one / s["gamma"])
    b = hl.f32(2) - hl.pow(hl.f32(2), s["contrast"] / hl.f32(100))
    a = hl.f32(2) - hl.f32(2) * b
    dark = a * g * g + b * g
    light = one - (a * (one - g) * (one - g) + b * (one - g))
    z = hl.select(g > hl.f32(0.5), light, dark)
    tone = hl.u8(hl.clamp(hl.f32(255) * z + hl.f32(0.5), hl.f32(0), hl.f32(255)))
    above = hl.select(i > s["white"], hl.u8(255), tone)
    f["curve"][i] = hl.select(i <= s["black"], hl.u8(0), above)


def _strips(lanes: int, rows: int, sharpened: str) -> Schedule:
    """Strips of rows, two at a time; hot pixels, quads, colours and tones slide along."""

    def schedule(_hl: Any, d: Definition) -> None:  # noqa: ANN401
        x, y, c, xi, yi = (d.v[n] for n in ("x", "y", "c", "xi", "yi"))
        d.f["curve"].compute_root()
        d.f["matrix"].compute_root()
        d.out.split(y, y, yi, rows).reorder(x, c, yi, y).parallel(y).vectorize(x, lanes)
        for name in ("den", "g_r", "g_b", "red", "green", "blue"):
            stage = d.f[name].store_at(d.out, y).compute_at(d.out, yi)
            if name in {"red", "green", "blue"}:
                # each half of the columns has a form of its own
                stage.align_bounds(x, 2).align_bounds(y, 2)
                stage.split(x, x, xi, 2).reorder(xi, x, y).unroll(xi)
                stage.vectorize(x, lanes).unroll(y, 2)
            else:
                stage.vectorize(x, lanes)
        d.f["cu"].store_at(d.out, y).compute_at(d.out, yi).vectorize(x, lanes)
        if sharpened == "rows":
            d.f["uy"].compute_at(d.out, c).vectorize(x, lanes)

    return schedule


SCHEDULES = {
    "strips_v16_y32": _strips(16, 32, "rows"),
    "strips_v32_y32": _strips(32, 32, "rows"),
    "strips_v32_y96": _strips(32, 96, "rows"),
}
