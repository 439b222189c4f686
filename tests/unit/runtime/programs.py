"""Hand-written C programs, below any code generation, and the fixtures' helpers."""

from __future__ import annotations

from dataclasses import replace

from polyopt.codegen.signature import CProgram, c_prototype, signature_of
from polyopt.ir.scop import Array, Scop
from polyopt.ir.types import F32, F64, I32, U16
from polyopt.isl import PwAff, affine_constant, affine_param, params_space, parse_set


def extent(params: tuple[str, ...], text: str | int) -> PwAff:
    """``"H-2"``, ``"2*H"`` or a number as an extent."""
    space = params_space(params)
    if isinstance(text, int):
        return affine_constant(space, text)
    scale, _, rest = text.rpartition("*")
    name, _, less = rest.partition("-")
    value = affine_param(space, name)
    if scale:
        value = value.mul(affine_constant(space, int(scale)))
    return value.sub(affine_constant(space, int(less or 0)))


def scop(name: str, params: str, context: str, *arrays: tuple) -> Scop:
    """``arrays`` are (name, type, role, extents...)."""
    names = tuple(params.split())
    made = tuple(Array(n, t, tuple(extent(names, e) for e in es), r) for n, t, r, *es in arrays)
    space = parse_set(f"[{', '.join(names)}] -> {{ : {context} }}")
    signature = (*names, *(a.name for a in made))
    return Scop(name, names, space, made, (), (), signature=signature)


def program(of: Scop, body: str, **more: object) -> CProgram:
    arguments = signature_of(of)
    prototype = c_prototype(of.name, arguments)
    source = f"#include <stdint.h>\n#include <stdlib.h>\n\n{prototype} {{\n    (void)threads;\n{body}}}\n"
    made = CProgram(of.name, source, prototype, arguments, of.params)
    return replace(made, **more)


BLUR = scop(
    "blur3", "H W", "H >= 1 and W >= 3",
    ("in", U16, "in", "H", "W"), ("out", U16, "out", "H", "W-2"),
)  # fmt: skip
BLUR_BODY = """\
    for (int64_t i = 0; i < H; i++) {
        for (int64_t j = 0; j < W - 2; j++) {
            out[i][j] = (in[i][j] + in[i][j + 1] + in[i][j + 2]) / 3;
        }
    }
    return 0;
"""
AXPY = scop(
    "axpy", "N", "N >= 1 and N mod 2 = 0",
    ("a", F64, "in"), ("x", F32, "in", "N"), ("y", F32, "inout", "N"), ("s", I32, "out"),
)  # fmt: skip
AXPY_BODY = """\
    *s = 0;
    for (int64_t i = 0; i < N; i++) {
        y[i] += (float)(a * x[i]);
        *s += 1;
    }
    return 0;
"""
FILL = scop("fill", "N M", "N >= 1 and M >= 1", ("v", U16, "in"), ("out", U16, "out", "N", "M"))
FILL_BODY = """\
    for (int64_t i = 0; i < N * M; i++) {
        (&out[0][0])[i] = v;
    }
    return 0;
"""


def blur() -> CProgram:
    return program(BLUR, BLUR_BODY, flops="4 * H * (W - 2)", bytes="2 * H * (W + W - 2)")
