"""32 windows of 5 x 5 after each other: ``kernels/stencil_chain`` in Halide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyopt.bench.peers.halide.definition import Definition, repeating, variables

if TYPE_CHECKING:
    from polyopt.bench.peers.halide.definition import Reader, Schedule

_STAGES = 32
_LANES = 32


def define(hl: Any, _kernel: str, _reader: Reader) -> Definition:  # noqa: ANN401
    """``img`` u16 ``[H][W]`` to ``out`` of the same shape."""
    v = variables(hl, "x y xi yi")
    x, y = v["x"], v["y"]
    img = hl.ImageParam(hl.UInt(16), 2, "img")
    last = repeating(hl, img)
    f: dict[str, Any] = {}
    for number in range(1, _STAGES + 1):
        name = "out" if number == _STAGES else f"f{number}"
        first, *others = (
            hl.u16((i + 3) * (j + 3)) * last[x + i, y + j]
            for j in range(-2, 3)
            for i in range(-2, 3)
        )
        f[name] = hl.Func(name)
        f[name][x, y] = sum(others, start=first)
        last = f[name]
    return Definition((img,), last, f, v)


def _sliding(rows: int, columns: int, group: int = _STAGES) -> Schedule:
    """Tiles; within one, all stages of a group move down together, a row at a time.

    The last stage of each group is stored whole.
    """

    def schedule(hl: Any, d: Definition) -> None:  # noqa: ANN401
        for last in range(group, _STAGES + 1, group):
            name = "out" if last == _STAGES else f"f{last}"
            end = d.f[name]
            x, y = d.v["x"], d.v["y"]
            xi, yi = hl.Var("xi"), hl.Var("yi")
            if name != "out":
                end.compute_root()
            end.tile(x, y, x, y, xi, yi, columns, rows).vectorize(xi, _LANES).parallel(y)
            for number in range(last - group + 1, last):
                stage = d.f[f"f{number}"]
                stage.store_at(end, x).compute_at(end, yi).vectorize(d.v["x"], _LANES)

    return schedule


def _tiles(rows: int, columns: int, group: int) -> Schedule:
    """Tiles of a group's last stage; the others are made whole for each tile."""

    def schedule(hl: Any, d: Definition) -> None:  # noqa: ANN401
        for last in range(group, _STAGES + 1, group):
            name = "out" if last == _STAGES else f"f{last}"
            end = d.f[name]
            x, y = d.v["x"], d.v["y"]
            xi, yi = hl.Var("xi"), hl.Var("yi")
            if name != "out":
                end.compute_root()
            end.tile(x, y, x, y, xi, yi, columns, rows).vectorize(xi, _LANES).parallel(y)
            end.unroll(yi, 2)
            for number in range(last - group + 1, last):
                stage = d.f[f"f{number}"]
                stage.compute_at(end, x).vectorize(d.v["x"], _LANES).unroll(d.v["y"], 2)

    return schedule


SCHEDULES = {
    "sliding_x512_y640": _sliding(640, 512),
    "sliding_x512_y128_g8": _sliding(128, 512, 8),
    "tiles_x256_y128_g8": _tiles(128, 256, 8),
    "tiles_x256_y64_g4": _tiles(64, 256, 4),
}
