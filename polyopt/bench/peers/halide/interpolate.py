"""Colours between sparse pixels, over a pyramid: ``kernels/interpolate`` in Halide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyopt.bench.peers.halide.definition import Definition, repeating, variables

if TYPE_CHECKING:
    from polyopt.bench.peers.halide.definition import Reader, Schedule

_LEVELS = 10
#: the level that repeats its edge where the next one is made of it
_REPEATED = 3
_LANES = 16


def define(hl: Any, _kernel: str, _reader: Reader) -> Definition:  # noqa: ANN401
    """``img`` f32 ``[4][H][W]`` to ``out`` f32 ``[3][H][W]``."""
    v = variables(hl, "x y c xi yi")
    x, y, c = v["x"], v["y"], v["c"]
    img = hl.ImageParam(hl.Float(32), 3, "img")
    edge = repeating(hl, img)
    f: dict[str, Any] = {"d0": hl.Func("d0")}
    f["d0"][x, y, c] = hl.select(c < 3, edge[x, y, c] * edge[x, y, 3], edge[x, y, 3])
    quarter, half, one, two = (hl.f32(k) for k in (0.25, 0.5, 1, 2))
    for level in range(1, _LEVELS):
        finer = f[f"d{level - 1}"]
        if level - 1 == _REPEATED:
            clamped = hl.Func("clamped")
            last = (img.width() >> _REPEATED, img.height() >> _REPEATED)
            clamped[x, y, c] = finer[hl.clamp(x, 0, last[0]), hl.clamp(y, 0, last[1]), c]
            finer = clamped
        dx = f[f"dx{level}"] = hl.Func(f"dx{level}")
        d = f[f"d{level}"] = hl.Func(f"d{level}")
        dx[x, y, c] = (
            finer[2 * x - 1, y, c] + two * finer[2 * x, y, c] + finer[2 * x + 1, y, c]
        ) * quarter
        d[x, y, c] = (dx[x, 2 * y - 1, c] + two * dx[x, 2 * y, c] + dx[x, 2 * y + 1, c]) * quarter
    coarser = f[f"d{_LEVELS - 1}"]
    for level in reversed(range(_LEVELS - 1)):
        ux = f[f"ux{level}"] = hl.Func(f"ux{level}")
        u = f[f"u{level}"] = hl.Func(f"u{level}")
        i = f[f"i{level}"] = hl.Func(f"i{level}")
        ux[x, y, c] = (coarser[x / 2, y, c] + coarser[(x + 1) / 2, y, c]) * half
        u[x, y, c] = (ux[x, y / 2, c] + ux[x, (y + 1) / 2, c]) * half
        d = f[f"d{level}"]
        i[x, y, c] = d[x, y, c] + (one - d[x, y, 3]) * u[x, y, c]
        coarser = i
    out = f["out"] = hl.Func("out")
    out[x, y, c] = coarser[x, y, c] / coarser[x, y, 3]
    out.bound(c, 0, 3)
    return Definition((img,), out, f, v)


def _levels(rows: int, *, rows_kept: bool, blocks: bool) -> Schedule:
    """Each level is stored whole, made by strips of rows in parallel where it is large.

    ``rows_kept`` makes the halving along x by rows that slide; otherwise each vector is made
    again. ``blocks`` makes pixels of the result 2 x 2 vectors at a time, for reuse between them.
    """

    def schedule(hl: Any, d: Definition) -> None:  # noqa: ANN401
        x, y, c, xi, yi = (d.v[n] for n in ("x", "y", "c", "xi", "yi"))
        for level in range(1, _LEVELS):
            large = level < 5
            for name in (f"d{level}", f"i{level}"):
                if name not in d.f:
                    continue
                stage = d.f[name].compute_root().vectorize(x, _LANES if large else 8)
                stage.split(y, y, yi, 8).parallel(y) if large else None
            if rows_kept and large:
                own = d.f[f"dx{level}"].store_at(d.f[f"d{level}"], y)
                own.compute_at(d.f[f"d{level}"], yi).vectorize(x, _LANES)
        out = d.out.split(y, y, yi, rows).parallel(y)
        if blocks:
            out.tile(x, yi, x, yi, xi, d.v.setdefault("yb", hl.Var("yb")), 2 * _LANES, 2)
            out.reorder(xi, d.v["yb"], c, x, yi, y).vectorize(xi, _LANES).unroll(xi)
            out.unroll(d.v["yb"]).unroll(c)
        else:
            out.split(x, x, xi, _LANES).reorder(xi, c, x, yi, y).vectorize(xi).unroll(c)

    return schedule


SCHEDULES = {
    "levels_y64": _levels(64, rows_kept=True, blocks=False),
    "levels_y64_blocks": _levels(64, rows_kept=True, blocks=True),
    "levels_y64_blocks_again": _levels(64, rows_kept=False, blocks=True),
}
