"""Converters of operators that write at places from tensors."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.fx.call import Ref, converts
from polyopt.graph.operators import normal_axis
from polyopt.graph.places import flat_places, written_slices
from polyopt.ir.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.fx.call import Call

#: PyTorch's names of how updates join -> ours
_JOINED = {"add": "add", "amax": "max", "amin": "min", "multiply": "mul", "prod": "mul",
           "sum": "add"}  # fmt: skip


@converts("scatter", "scatter_add", "scatter_reduce")
def _scatter(call: Call) -> None:
    shape, index = call.value("self").shape, call.value("index").shape
    if not shape or not index:
        raise call.unsupported("tensors without dimensions are not taken")
    if not call.arguments.get("include_self", True):
        raise call.unsupported("include_self=False is not taken")
    given = "add" if call.op == "scatter_add" else call.arguments.get("reduce")
    if given is not None and given not in _JOINED:
        raise call.unsupported(f"reduce={given!r} is not taken")
    if "src" in call.arguments:
        source = _first(call, call.converted("src", call.result.dtype), index)
    else:
        one = call.converted("value", call.result.dtype)
        source = call.step("expand", [one], shape=index)
    call.define("scatter_elements", [call.tensor("self"), call.tensor("index"), source],
                axis=normal_axis(int(call["dim"]), len(shape)),
                reduction=_JOINED.get(str(given), "none"))  # fmt: skip


def _first(call: Call, name: str, shape: tuple[int, ...]) -> str:
    """The first elements along each axis."""
    if call.importer.values[name].shape == shape:
        return name
    zeros, ones = (0,) * len(shape), (1,) * len(shape)
    return call.step("slice", [name], starts=zeros, steps=ones, shape=shape)


@converts("index_add", "index_copy", "index_fill")
def _index_add(call: Call) -> None:
    """Slices along an axis."""
    shape = call.value("self").shape
    if not shape:
        raise call.unsupported("a tensor without dimensions is not taken")
    if call.op == "index_add" and call["alpha"] != 1:
        raise call.unsupported("alpha has to be 1")
    axis = normal_axis(int(call["dim"]), len(shape))
    count = call.value("index").size
    full = (*shape[:axis], count, *shape[axis + 1 :])
    values = call.converted("value" if call.op == "index_fill" else "source", call.result.dtype)
    if call.op == "index_fill":
        values = call.step("expand", [values], shape=full)
    kind = "add" if call.op == "index_add" else "none"
    tensors = call.tensor("self"), call.tensor("index"), values
    parts = shape[:axis], shape[axis : axis + 1], shape[axis + 1 :]
    found = written_slices(call.step, tensors, parts, count, kind)
    call.define("reshape", [found], shape=shape)


@converts("index_put", "_unsafe_index_put")
def _index_put(call: Call) -> None:
    """Elements at places of neighbouring axes, or where a condition holds."""
    given, shape = call["indices"], call.value("self").shape
    places = [d for d, one in enumerate(given) if one is not None]
    kinds = [call.importer.values[given[d].name].dtype for d in places]
    if BOOL in kinds:
        _put_where(call, given, places)
        return
    if not places or places != list(range(places[0], places[-1] + 1)):
        raise call.unsupported("tensors of places have to stand side by side")
    if len(set(kinds)) > 1:
        raise call.unsupported("tensors of places have to be of one type")
    first, end = places[0], places[-1] + 1
    names = [given[d].name for d in places]
    lots = np.broadcast_shapes(*(call.importer.values[n].shape for n in names))
    wide = [call.step("expand", [n], shape=lots) if call.importer.values[n].shape != lots else n
            for n in names]  # fmt: skip
    index = wide[0]
    if len(wide) > 1:
        index = flat_places(call.step, call.constant, wide, kinds[0].numpy_name, shape[first:end])
    full = (*shape[:first], *lots, *shape[end:])
    values = call.converted("values", call.result.dtype)
    values = call.step("expand", [values], shape=full)
    kind = "add" if call["accumulate"] else "none"
    tensors = call.tensor("self"), index, values
    parts = shape[:first], shape[first:end], shape[end:]
    found = written_slices(call.step, tensors, parts, prod(lots), kind)
    call.define("reshape", [found], shape=shape)


def _put_where(call: Call, given: Sequence[Ref | None], places: Sequence[int]) -> None:
    shape = call.value("self").shape
    condition = given[0]
    values = call.converted("values", call.result.dtype)
    if len(places) != 1 or condition is None or call["accumulate"]:
        raise call.unsupported("a condition as a place has to stand alone, in front")
    if call.importer.values[values].size != 1:
        raise call.unsupported("values of a condition have to be one: where each goes is data")
    met = call.importer.values[condition.name].shape
    wide = call.step("reshape", [condition.name], shape=(*met, *(1 for _ in shape[len(met) :])))
    number = call.step("reshape", [values], shape=())
    call.define("where", [wide, number, call.tensor("self")])
