"""Unsharp masking: ``kernels/unsharp.c`` in Halide."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from polyopt.bench.peers.halide.definition import Definition, functions, repeating, variables

if TYPE_CHECKING:
    from polyopt.bench.peers.halide.definition import Reader, Schedule

_LANES = 16
_SIGMA = 1.5


def define(hl: Any, _kernel: str, _reader: Reader) -> Definition:  # noqa: ANN401
    """``img`` f32 ``[3][H][W]`` to ``out`` of the same shape."""
    v = variables(hl, "x y c xi yi")
    x, y, c = v["x"], v["y"], v["c"]
    img = hl.ImageParam(hl.Float(32), 3, "img")
    edge = repeating(hl, img)
    f = functions(hl, "gray by bx sharpen ratio out")
    red, green, blue = (edge[x, y, k] for k in range(3))
    f["gray"][x, y] = hl.f32(0.299) * red + hl.f32(0.587) * green + hl.f32(0.114) * blue
    weights = [
        hl.f32(math.exp(-i * i / (2 * _SIGMA**2)) / (math.sqrt(2 * math.pi) * _SIGMA))
        for i in range(4)
    ]
    gray, by = f["gray"], f["by"]
    f["by"][x, y] = weights[0] * gray[x, y] + sum(
        (weights[i] * (gray[x, y - i] + gray[x, y + i]) for i in (2, 3)),
        start=weights[1] * (gray[x, y - 1] + gray[x, y + 1]),
    )
    f["bx"][x, y] = weights[0] * by[x, y] + sum(
        (weights[i] * (by[x - i, y] + by[x + i, y]) for i in (2, 3)),
        start=weights[1] * (by[x - 1, y] + by[x + 1, y]),
    )
    f["sharpen"][x, y] = hl.f32(2) * gray[x, y] - f["bx"][x, y]
    f["ratio"][x, y] = f["sharpen"][x, y] / gray[x, y]
    f["out"][x, y, c] = f["ratio"][x, y] * edge[x, y, c]
    f["out"].bound(c, 0, 3)
    return Definition((img,), f["out"], f, v)


def _strips(rows: int, ratio: str) -> Schedule:
    """Strips of rows; brightness and its blur along y slide along.

    ``ratio`` says where it is made: for a ``row`` of the three colours, or for a ``vector``.
    """

    def schedule(_hl: Any, d: Definition) -> None:  # noqa: ANN401
        x, y, c, xi, yi = (d.v[n] for n in ("x", "y", "c", "xi", "yi"))
        d.out.split(y, y, yi, rows).parallel(y)
        if ratio == "row":
            d.out.reorder(x, c, yi, y).vectorize(x, _LANES)
            place = yi
        else:
            d.out.split(x, x, xi, _LANES).reorder(xi, c, x, yi, y).vectorize(xi).unroll(c)
            place = x
        stage = d.f["ratio"]
        stage.compute_at(d.out, place).vectorize(stage.args()[0], _LANES)
        for name in ("gray", "by"):
            stage = d.f[name]
            stage.store_at(d.out, y).compute_at(d.out, yi).vectorize(stage.args()[0], _LANES)

    return schedule


SCHEDULES = {
    "strips_y32": _strips(32, "row"),
    "strips_y32_vector": _strips(32, "vector"),
    "strips_y128_vector": _strips(128, "vector"),
}
