"""Harris corners: ``kernels/harris.c`` in Halide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyopt.bench.peers.halide.definition import Definition, functions, variables

if TYPE_CHECKING:
    from polyopt.bench.peers.halide.definition import Reader, Schedule

_LANES = 16


def define(hl: Any, _kernel: str, reader: Reader) -> Definition:  # noqa: ANN401
    """``img`` f32 ``[3][H][W]`` to ``out`` f32 ``[H - 6][W - 6]``."""
    v = variables(hl, "x y c xi yi")
    x, y = v["x"], v["y"]
    img = hl.ImageParam(hl.Float(32), 3, "img")
    f = functions(hl, "gray Ix Iy Ixx Iyy Ixy Sxx Syy Sxy det trace out")
    src = reader(img)
    red, green, blue = (src[x, y, c] for c in range(3))
    f["gray"][x, y] = hl.f32(0.299) * red + hl.f32(0.587) * green + hl.f32(0.114) * blue
    g = f["gray"]
    one, two = hl.f32(1 / 12), hl.f32(2 / 12)
    f["Iy"][x, y] = (
        one * (g[x - 1, y + 1] - g[x - 1, y - 1])
        + two * (g[x, y + 1] - g[x, y - 1])
        + one * (g[x + 1, y + 1] - g[x + 1, y - 1])
    )
    f["Ix"][x, y] = (
        one * (g[x + 1, y - 1] - g[x - 1, y - 1])
        + two * (g[x + 1, y] - g[x - 1, y])
        + one * (g[x + 1, y + 1] - g[x - 1, y + 1])
    )
    for a, b in ("xx", "yy", "xy"):
        f[f"I{a}{b}"][x, y] = f[f"I{a}"][x, y] * f[f"I{b}"][x, y]
        f[f"S{a}{b}"][x, y] = _sum3x3(f[f"I{a}{b}"], x, y)
    f["det"][x, y] = f["Sxx"][x, y] * f["Syy"][x, y] - f["Sxy"][x, y] * f["Sxy"][x, y]
    f["trace"][x, y] = f["Sxx"][x, y] + f["Syy"][x, y]
    trace = f["trace"][x + 3, y + 3]
    f["out"][x, y] = f["det"][x + 3, y + 3] - hl.f32(0.04) * trace * trace
    return Definition((img,), f["out"], f, v)


def _sum3x3(a: Any, x: Any, y: Any) -> Any:  # noqa: ANN401
    first, *others = (a[x + i, y + j] for j in (-1, 0, 1) for i in (-1, 0, 1))
    return sum(others, start=first)


def _strips(rows: int, columns: int = 0, stored: str = "gray Ix Iy") -> Schedule:
    """Strips of rows, cut into tiles where ``columns`` is given; some stages' rows slide along."""

    def schedule(_hl: Any, d: Definition) -> None:  # noqa: ANN401
        x, y, yi = d.v["x"], d.v["y"], d.v["yi"]
        if columns:
            d.out.tile(x, y, x, y, d.v["xi"], yi, columns, rows)
            d.out.parallel(y).vectorize(d.v["xi"], _LANES)
            outer = x
        else:
            d.out.split(y, y, yi, rows).parallel(y).vectorize(x, _LANES)
            outer = y
        for name in stored.split():
            stage = d.f[name]
            stage.store_at(d.out, outer).compute_at(d.out, yi).vectorize(stage.args()[0], _LANES)

    return schedule


SCHEDULES = {
    "strips_y32": _strips(32),
    "tiles_x512_y64": _strips(64, 512),
    "tiles_x512_y64_products": _strips(64, 512, "gray Ixx Iyy Ixy"),
    "tiles_x256_y128": _strips(128, 256),
}
