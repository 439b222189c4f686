"""The bilateral grid: ``kernels/bilateral_grid`` in Halide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyopt.bench.peers.halide.definition import Definition, repeating, variables

if TYPE_CHECKING:
    from polyopt.bench.peers.halide.definition import Reader, Schedule

#: pixels per point of the grid in x and y, and levels of brightness at r_sigma = 0.1
_CELL, _LEVELS = 8, 11
_OFFSETS, _WEIGHTS = (-2, -1, 0, 1, 2), (1, 4, 6, 4, 1)


def define(hl: Any, _kernel: str, _reader: Reader) -> Definition:  # noqa: ANN401
    """``img`` f32 ``[H][W]`` and ``r_sigma`` f32 to ``out`` like ``img``."""
    v = variables(hl, "x y z c xi yi")
    x, y, z, c = v["x"], v["y"], v["z"], v["c"]
    img = hl.ImageParam(hl.Float(32), 2, "img")
    r_sigma = hl.Param(hl.Float(32), "r_sigma")
    inverse = hl.f32(1) / r_sigma
    edge = repeating(hl, img)
    zero, one, half = hl.f32(0), hl.f32(1), hl.f32(0.5)
    f: dict[str, Any] = {n: hl.Func(n) for n in ("hist", "bz", "bx", "by", "interpolated", "out")}
    r = hl.RDom([(0, _CELL), (0, _CELL)])
    value = hl.clamp(edge[x * _CELL + r.x - _CELL // 2, y * _CELL + r.y - _CELL // 2], zero, one)
    zi = hl.i32(value * inverse + half)
    hist = f["hist"]
    hist[x, y, z, c] = zero
    hist[x, y, zi, c] += hl.select(c == 0, value, one)
    f["bz"][x, y, z, c] = _weighted(hl, [hist[x, y, z + i, c] for i in _OFFSETS])
    f["bx"][x, y, z, c] = _weighted(hl, [f["bz"][x + i, y, z, c] for i in _OFFSETS])
    f["by"][x, y, z, c] = _weighted(hl, [f["bx"][x, y + i, z, c] for i in _OFFSETS])
    zv = hl.clamp(img[x, y], zero, one) * inverse
    zi = hl.clamp(hl.i32(zv), 0, _LEVELS - 1)
    zf = zv - hl.f32(zi)
    xf, yf = (hl.f32(n % _CELL) / hl.f32(_CELL) for n in (x, y))
    xi, yi = x / _CELL, y / _CELL

    def along_x(j: int, k: int) -> Any:  # noqa: ANN401
        return hl.lerp(f["by"][xi, yi + j, zi + k, c], f["by"][xi + 1, yi + j, zi + k, c], xf)

    along_y = (hl.lerp(along_x(0, k), along_x(1, k), yf) for k in (0, 1))
    f["interpolated"][x, y, c] = hl.lerp(*along_y, zf)
    f["out"][x, y] = f["interpolated"][x, y, 0] / f["interpolated"][x, y, 1]
    f["r"] = r
    return Definition((img, r_sigma), f["out"], f, v)


def _weighted(hl: Any, values: list[Any]) -> Any:  # noqa: ANN401
    first, *others = (hl.f32(w) * v for w, v in zip(_WEIGHTS, values, strict=True))
    return sum(others, start=first)


def _grid(lanes: int, rows: int, *, along_z: bool) -> Schedule:
    """The grid is stored whole; its histogram is made with the blur along z, cell by cell.

    ``along_z`` makes whole rows of the histogram first.
    """

    def schedule(_hl: Any, d: Definition) -> None:  # noqa: ANN401
        x, y, z, c = (d.v[n] for n in ("x", "y", "z", "c"))
        hist, bz, bx, by = (d.f[n] for n in ("hist", "bz", "bx", "by"))
        bz.compute_root().reorder_storage(c, z, x, y).reorder(c, z, x, y).parallel(y)
        bz.vectorize(z, 8).bound(c, 0, 2).unroll(c)
        hist.compute_at(bz, y if along_z else x).reorder_storage(c, z, x, y)
        hist.reorder(c, z, x, y).bound(c, 0, 2).unroll(c)
        hist.update().reorder(c, d.f["r"].x, d.f["r"].y, x, y).unroll(c)
        for stage in (bx, by):
            stage.compute_root().reorder_storage(c, z, x, y).reorder(c, z, x, y)
            stage.parallel(y).vectorize(z, 8).bound(c, 0, 2).unroll(c)
        d.out.split(y, y, d.v["yi"], rows).parallel(y).vectorize(x, lanes)

    return schedule


def _apart(lanes: int, rows: int) -> Schedule:
    """Values and weights lie apart, and x innermost: vectors go along x."""

    def schedule(_hl: Any, d: Definition) -> None:  # noqa: ANN401
        x, y, z, c = (d.v[n] for n in ("x", "y", "z", "c"))
        hist, bz, bx, by = (d.f[n] for n in ("hist", "bz", "bx", "by"))
        bz.compute_root().reorder(x, z, c, y).parallel(y).vectorize(x, lanes)
        hist.compute_at(bz, y).vectorize(x, lanes)
        hist.update().reorder(c, d.f["r"].x, d.f["r"].y, x, y).unroll(c)
        for stage in (bx, by):
            stage.compute_root().reorder(x, z, c, y).parallel(y).vectorize(x, lanes)
        d.out.split(y, y, d.v["yi"], rows).parallel(y).vectorize(x, lanes)

    return schedule


SCHEDULES = {
    "pairs_v16_y8": _grid(16, 8, along_z=False),
    "pairs_v8_y32_rows": _grid(8, 32, along_z=True),
    "apart_v16_y32": _apart(16, 32),
}
