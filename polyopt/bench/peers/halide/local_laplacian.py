"""Local Laplacian filters: ``kernels/local_laplacian`` in Halide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyopt.bench.peers.halide.definition import Definition, repeating, variables

if TYPE_CHECKING:
    from polyopt.bench.peers.halide.definition import Reader, Schedule

#: levels of the pyramids, and intensities
_J, _K = 8, 8


def define(hl: Any, _kernel: str, _reader: Reader) -> Definition:  # noqa: ANN401
    """``img`` u16 ``[3][H][W]``, ``alpha`` and ``beta`` f32, to ``out`` like ``img``."""
    v = variables(hl, "x y c k i xi yi")
    x, y, c, k = v["x"], v["y"], v["c"], v["k"]
    img = hl.ImageParam(hl.UInt(16), 3, "img")
    alpha, beta = hl.Param(hl.Float(32), "alpha"), hl.Param(hl.Float(32), "beta")
    edge = repeating(hl, img)
    f: dict[str, Any] = {"remap": hl.Func("remap"), "in0": hl.Func("in0"), "g0": hl.Func("g0")}
    fx = hl.f32(v["i"]) / hl.f32(256)
    f["remap"][v["i"]] = alpha * fx * hl.exp(-fx * fx / hl.f32(2))
    red, green, blue = (hl.f32(edge[x, y, n]) / hl.f32(65535) for n in range(3))
    gray = f["in0"]
    gray[x, y] = hl.f32(0.299) * red + hl.f32(0.587) * green + hl.f32(0.114) * blue
    level = hl.f32(k) * hl.f32(1 / (_K - 1))
    top = (_K - 1) * 256
    idx = hl.clamp(hl.i32(gray[x, y] * hl.f32(top)), 0, top)
    f["g0"][x, y, k] = beta * (gray[x, y] - level) + level + f["remap"][idx - 256 * k]
    for j in range(1, _J):
        _halved(hl, v, f, f"g{j}", f[f"g{j - 1}"])
        _halved(hl, v, f, f"in{j}", f[f"in{j - 1}"])
    for j in reversed(range(_J)):
        lap = f[f"lap{j}"] = hl.Func(f"lap{j}")
        lap[x, y, k] = f[f"g{j}"][x, y, k]
        if j < _J - 1:
            lap = f[f"lap{j}"] = hl.Func(f"lap{j}_")
            lap[x, y, k] = f[f"g{j}"][x, y, k] - _doubled(hl, f[f"g{j + 1}"], x, y, k)
        value = f[f"in{j}"][x, y] * hl.f32(_K - 1)
        li = hl.clamp(hl.i32(value), 0, _K - 2)
        lf = value - hl.f32(li)
        o = f[f"o{j}"] = hl.Func(f"o{j}")
        own = (hl.f32(1) - lf) * lap[x, y, li] + lf * lap[x, y, li + 1]
        o[x, y] = own if j == _J - 1 else _doubled(hl, f[f"o{j + 1}"], x, y) + own
    out = f["out"] = hl.Func("out")
    lift = hl.f32(0.01)
    result = hl.f32(img[x, y, c]) * (f["o0"][x, y] + lift) / (gray[x, y] + lift)
    out[x, y, c] = hl.u16(hl.clamp(result, hl.f32(0), hl.f32(65535)))
    out.bound(c, 0, 3)
    return Definition((img, alpha, beta), out, f, v)


def _halved(hl: Any, v: dict[str, Any], f: dict[str, Any], name: str, a: Any) -> None:  # noqa: ANN401
    x, y, rest = v["x"], v["y"], [v["k"]] if name.startswith("g") else []
    half, result = hl.Func(f"{name}_y"), hl.Func(name)
    three, eight = hl.f32(3), hl.f32(8)

    def at(b: Any, *place: Any) -> Any:  # noqa: ANN401
        return b[(*place, *rest)]

    half[(x, y, *rest)] = (
        at(a, x, 2 * y - 1) + three * (at(a, x, 2 * y) + at(a, x, 2 * y + 1)) + at(a, x, 2 * y + 2)
    ) / eight
    result[(x, y, *rest)] = (
        at(half, 2 * x - 1, y)
        + three * (at(half, 2 * x, y) + at(half, 2 * x + 1, y))
        + at(half, 2 * x + 2, y)
    ) / eight
    f[f"{name}_y"], f[name] = half, result


def _doubled(hl: Any, a: Any, x: Any, y: Any, *rest: Any) -> Any:  # noqa: ANN401
    def along_x(row: Any) -> Any:  # noqa: ANN401
        weight = hl.f32((x % 2) * 2 + 1) / hl.f32(4)
        return hl.lerp(a[((x + 1) / 2, row, *rest)], a[((x - 1) / 2, row, *rest)], weight)

    weight = hl.f32((y % 2) * 2 + 1) / hl.f32(4)
    return hl.lerp(along_x((y + 1) / 2), along_x((y - 1) / 2), weight)


def _levels(lanes: int, rows: int, *, stored: int = 1) -> Schedule:
    """All levels of the copies are whole but the finest; rows of halves slide.

    ``stored`` is the finest level of the result that is stored before the last.
    """

    def schedule(_hl: Any, d: Definition) -> None:  # noqa: ANN401
        x, y, yi = d.v["x"], d.v["y"], d.v["yi"]
        d.f["remap"].compute_root()
        d.f["in0"].compute_root().split(y, y, yi, rows).parallel(y).vectorize(x, lanes)
        d.out.split(y, y, yi, rows).parallel(y).reorder(x, d.v["c"], yi, y).vectorize(x, lanes)
        for j in range(1, _J):
            large = j < 5
            for name in (f"in{j}", f"g{j}", f"o{j}"):
                if name == f"o{j}" and j < stored:
                    continue
                stage = d.f[name].compute_root().vectorize(x, lanes if large else 4)
                if name.startswith("g"):
                    stage.reorder_storage(x, d.v["k"], y).reorder(x, d.v["k"], y)
                if large:
                    stage.split(y, y, yi, 8).parallel(y)
                if name[0] != "o" and large:
                    half = d.f[f"{name}_y"]
                    half.compute_at(d.f[name], d.v["k"] if name[0] == "g" else yi)
                    half.vectorize(x, lanes)
        d.f["o0"].compute_at(d.out, yi).vectorize(x, lanes)

    return schedule


SCHEDULES = {
    "levels_v16_y32": _levels(16, 32),
    "levels_v8_y32": _levels(8, 32),
    "levels_v16_y128": _levels(16, 128),
}
