"""Box blur, 3 x 3: ``kernels/blur.c`` and ``kernels/blur_f32.c`` in Halide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyopt.bench.peers.halide.definition import Definition, variables

if TYPE_CHECKING:
    from polyopt.bench.peers.halide.definition import Reader, Schedule


def define(hl: Any, kernel: str, reader: Reader) -> Definition:  # noqa: ANN401
    """``img`` u16 or f32 ``[H][W]`` to ``out`` of two rows and columns less."""
    v = variables(hl, "x y xi yi")
    x, y = v["x"], v["y"]
    bx, out = hl.Func("bx"), hl.Func("out")
    if kernel == "blur":
        img = hl.ImageParam(hl.UInt(16), 2, "img")
        src = reader(img)
        bx[x, y] = (src[x, y] + src[x + 1, y] + src[x + 2, y]) / hl.u16(3)
        out[x, y] = (bx[x, y] + bx[x, y + 1] + bx[x, y + 2]) / hl.u16(3)
    else:
        img = hl.ImageParam(hl.Float(32), 2, "img")
        third = hl.f32(1 / 3)
        src = reader(img)
        bx[x, y] = (src[x, y] + src[x + 1, y] + src[x + 2, y]) * third
        out[x, y] = (bx[x, y] + bx[x, y + 1] + bx[x, y + 2]) * third
    return Definition((img,), out, {"bx": bx}, v)


def _lanes(definition: Definition) -> int:
    """How many elements a vector of 512 bits has."""
    return 512 // definition.out.type().bits()


def _inlined(rows: int, unrolled: int) -> Schedule:
    """The first stage is computed again for each of the three rows that read it."""

    def schedule(_hl: Any, d: Definition) -> None:  # noqa: ANN401
        x, y, yi = d.v["x"], d.v["y"], d.v["yi"]
        d.out.split(y, y, yi, rows).parallel(y).vectorize(x, _lanes(d))
        if unrolled > 1:
            d.out.split(x, x, d.v["xi"], unrolled).unroll(d.v["xi"])

    return schedule


def _sliding(rows: int) -> Schedule:
    """Strips of rows; the first stage's rows are kept as long as they are read."""

    def schedule(_hl: Any, d: Definition) -> None:  # noqa: ANN401
        x, y, yi = d.v["x"], d.v["y"], d.v["yi"]
        d.out.split(y, y, yi, rows).parallel(y).vectorize(x, _lanes(d))
        d.f["bx"].store_at(d.out, y).compute_at(d.out, yi).vectorize(x, _lanes(d))

    return schedule


def _registers(rows: int, block: int) -> Schedule:
    """Blocks of one vector by a few rows: the first stage's vectors stay in registers."""

    def schedule(_hl: Any, d: Definition) -> None:  # noqa: ANN401
        x, y, yi, xi = d.v["x"], d.v["y"], d.v["yi"], d.v["xi"]
        d.out.split(y, y, yi, rows).parallel(y)
        d.out.tile(x, yi, x, yi, xi, d.v["yb"], _lanes(d), block)
        d.out.vectorize(xi).unroll(d.v["yb"])
        d.f["bx"].compute_at(d.out, x).vectorize(d.f["bx"].args()[0], _lanes(d))
        d.f["bx"].unroll(d.f["bx"].args()[1])

    def with_block(hl: Any, d: Definition) -> None:  # noqa: ANN401
        d.v["yb"] = hl.Var("yb")
        schedule(hl, d)

    return with_block


SCHEDULES = {
    "inlined_y64": _inlined(64, 1),
    "inlined_y64_u2": _inlined(64, 2),
    "sliding_y64": _sliding(64),
    "registers_y64_b8": _registers(64, 8),
}
