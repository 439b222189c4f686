"""polyopt: loop nests in, proven and fused C out.

The public names are loaded when first used: importing polyopt itself imports no isl, no NumPy,
no sympy and no matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from polyopt import errors, graph
    from polyopt.bench.tuning.space import tune
    from polyopt.frontend.c import parse_c
    from polyopt.frontend.loops import scop
    from polyopt.frontend.loops.checked import (
        bf16,
        boolean,
        f16,
        f32,
        f64,
        i8,
        i16,
        i32,
        i64,
        u8,
        u16,
        u32,
        u64,
    )
    from polyopt.frontend.stages import (
        assume,
        atan2,
        cast,
        ceil,
        clamp,
        clamped,
        cos,
        erf,
        exp,
        exp2,
        floor,
        fmod,
        input,
        log,
        log2,
        max,
        min,
        mirrored,
        padded,
        pipeline,
        pow,
        product,
        rint,
        scalar,
        select,
        sin,
        size,
        sqrt,
        stage,
        steps,
        sum,
        tan,
        tanh,
        trunc,
        wrapped,
    )
    from polyopt.graph.compiling import compile_model
    from polyopt.graph.quantize import quantize
    from polyopt.ir.same import same_scop
    from polyopt.ir.scop import Array, Scop
    from polyopt.library import load_kernel, load_schedule
    from polyopt.optimizing import optimize
    from polyopt.scale import cuts, map_blocks
    from polyopt.scheduler import affine, auto, candidates
    from polyopt.specialize import FallbackWarning, batched, jit
    from polyopt.transform.plan import Plan

__version__ = "0.1.0"

__all__ = [
    "Array",
    "FallbackWarning",
    "Plan",
    "Scop",
    "affine",
    "assume",
    "atan2",
    "auto",
    "batched",
    "bf16",
    "boolean",
    "candidates",
    "cast",
    "ceil",
    "clamp",
    "clamped",
    "compile_model",
    "cos",
    "cuts",
    "erf",
    "errors",
    "exp",
    "exp2",
    "f16",
    "f32",
    "f64",
    "floor",
    "fmod",
    "graph",
    "i8",
    "i16",
    "i32",
    "i64",
    "input",
    "jit",
    "load_kernel",
    "load_schedule",
    "log",
    "log2",
    "map_blocks",
    "max",
    "min",
    "mirrored",
    "optimize",
    "padded",
    "parse_c",
    "pipeline",
    "pow",
    "product",
    "quantize",
    "rint",
    "same_scop",
    "scalar",
    "scop",
    "select",
    "sin",
    "size",
    "sqrt",
    "stage",
    "steps",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "tune",
    "u8",
    "u16",
    "u32",
    "u64",
    "wrapped",
]  # fmt: skip

#: where the public names live
_NAMES_IN: Final = {
    "polyopt.bench.tuning.space": "tune",
    "polyopt.scheduler": "affine auto candidates",
    "polyopt.frontend.c": "parse_c",
    "polyopt.frontend.loops": "bf16 boolean f16 f32 f64 i8 i16 i32 i64 scop u8 u16 u32 u64",
    "polyopt.frontend.stages": (
        "assume atan2 cast ceil clamp clamped cos erf exp exp2 floor fmod input log log2 max min"
        " mirrored padded pipeline pow product rint scalar select sin size sqrt stage steps sum"
        " tan tanh trunc wrapped"
    ),
    "polyopt.graph.compiling": "compile_model",
    "polyopt.graph.quantize": "quantize",
    "polyopt.ir.same": "same_scop",
    "polyopt.ir.scop": "Array Scop",
    "polyopt.specialize": "FallbackWarning batched jit",
    "polyopt.library": "load_kernel load_schedule",
    "polyopt.optimizing": "optimize",
    "polyopt.scale": "cuts map_blocks",
    "polyopt.transform.plan": "Plan",
}
_MODULE_OF: Final = {name: module for module, names in _NAMES_IN.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """The public name, loaded on first use."""
    if name in {"bench", "errors", "explain", "graph"}:
        return import_module(f"polyopt.{name}")
    if name not in _MODULE_OF:
        msg = f"module 'polyopt' has no attribute {name!r}"
        raise AttributeError(msg)
    value: object = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
