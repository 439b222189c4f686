"""Extremes along axes, and their places, as PyTorch has them: NaN is one where there is one.

Ours pass NaN over, as those of ONNX Runtime do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.fx.call import Call


def extreme(call: Call, kind: str, given: str, axes: Sequence[int], keep: int) -> str:
    """The ``"max"`` or ``"min"`` along axes; its name. To it is added the sum of what is NaN."""
    found = call.step(f"reduce_{kind}", [given], axes=tuple(axes), keepdims=keep)
    if not call.importer.values[given].dtype.is_float:
        return found
    nans = call.step("where", [call.step("is_nan", [given]), given, call.number_like(given, 0)])
    total = call.step("reduce_sum", [nans], axes=tuple(axes), keepdims=keep)
    return call.step("add", [found, total])


def place(call: Call, kind: str, given: str, axis: int, keep: int) -> str:
    """Where the ``"max"`` or ``"min"`` is along an axis, or the first NaN; its name."""
    found = call.step(f"arg_{kind}", [given], axis=axis, keepdims=keep)
    if not call.importer.values[given].dtype.is_float:
        return found
    nans = call.step("cast", [call.step("is_nan", [given])], to="i32")
    first = call.step("arg_max", [nans], axis=axis, keepdims=keep)
    there = call.step("reduce_max", [nans], axes=(axis,), keepdims=keep)
    return call.step("where", [call.step("cast", [there], to="bool"), first, found])
