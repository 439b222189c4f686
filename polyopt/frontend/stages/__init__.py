"""Stages: a pipeline as arrays, each given by its extents and an expression per element.

>>> img = input("img", "u16", ["H", "W"])
>>> bx = stage("bx", ["H", "W - 2"], lambda y, x: (img[y, x] + img[y, x + 1] + img[y, x + 2]) // 3)
>>> out = stage("out", ["H - 2", "W - 2"], lambda y, x: (bx[y, x] + bx[y + 1, x]) // 2)
>>> [s.name for s in pipeline(out).statements]
['bx', 'out']
"""

from __future__ import annotations

from polyopt.frontend.stages.grids import (
    Border,
    Grid,
    Input,
    Stage,
    clamped,
    input,  # noqa: A004  (public name)
    mirrored,
    padded,
    scalar,
    size,
    stage,
    wrapped,
)
from polyopt.frontend.stages.pipeline import pipeline
from polyopt.frontend.stages.recurrences import Step, Steps, steps
from polyopt.frontend.stages.reductions import (
    assume,
    atan2,
    cast,
    ceil,
    clamp,
    cos,
    erf,
    exp,
    exp2,
    floor,
    fmod,
    log,
    log2,
    max,  # noqa: A004  (public name)
    min,  # noqa: A004  (public name)
    pow,  # noqa: A004  (public name)
    product,
    rint,
    select,
    sin,
    sqrt,
    sum,  # noqa: A004  (public name)
    tan,
    tanh,
    trunc,
)
from polyopt.frontend.stages.term import Term

__all__ = [
    "Border", "Grid", "Input", "Stage", "Step", "Steps", "Term", "assume", "atan2", "cast", "ceil",
    "clamp", "clamped", "cos", "erf", "exp", "exp2", "floor", "fmod", "input", "log", "log2", "max",
    "min", "mirrored", "padded", "pipeline", "pow", "product", "rint", "scalar", "select", "sin",
    "size", "sqrt", "stage", "steps", "sum", "tan", "tanh", "trunc", "wrapped",
]  # fmt: skip
