"""Converters of operators that choose, split, repeat and put together elements."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.fx.call import Ref, converts
from polyopt.graph.fx.elements import along, selected
from polyopt.graph.operators import normal_axis
from polyopt.graph.places import flat_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.fx.call import Call


# -- parts --------------------------------------------------------------------------------------


@converts("split", "split_with_sizes", "chunk", "tensor_split")
def _split(call: Call) -> None:
    shape = call.value("self").shape
    axis = normal_axis(int(call["dim"]), len(shape))
    if call.op == "split_with_sizes":
        sizes = [int(n) for n in call["split_sizes"]]
    elif call.op == "split":
        sizes = _pieces(shape[axis], int(call["split_size"]))
    elif call.op == "chunk":
        sizes = _pieces(shape[axis], -(-shape[axis] // int(call["chunks"])))
    else:
        raise call.unsupported("write it as split")
    start, parts = 0, list[str]()
    for size in sizes:
        taken = range(start, start + size)
        parts.append(call.step("slice", [call.tensor("self")], **along(shape, axis, taken)))
        start += size
    call.several(parts)


def _pieces(total: int, size: int) -> list[int]:
    return [min(size, total - first) for first in range(0, total, size)]


@converts("unbind")
def _unbind(call: Call) -> None:
    shape = call.value("self").shape
    axis = normal_axis(int(call["dim"]), len(shape))
    parts: list[str] = []
    for place in range(shape[axis]):
        taken = along(shape, axis, range(place, place + 1))
        part = call.step("slice", [call.tensor("self")], **taken)
        parts.append(call.step("reshape", [part], shape=(*shape[:axis], *shape[axis + 1 :])))
    call.several(parts)


@converts("stack")
def _stack(call: Call) -> None:
    given = call["tensors"]
    if not all(isinstance(part, Ref) for part in given):
        raise call.unsupported("its parts have to be tensors")
    shape = list(call.importer.values[given[0].name].shape)
    axis = normal_axis(int(call["dim"]), len(shape) + 1)
    shape.insert(axis, 1)
    rows = [call.step("reshape", [part.name], shape=tuple(shape)) for part in given]
    call.define("concat", rows, axis=axis)


@converts("flip")
def _flip(call: Call) -> None:
    shape = call.value("self").shape
    turned = {normal_axis(int(d), len(shape)) for d in call["dims"]}
    call.define("slice", [call.tensor("self")], shape=shape,
                starts=tuple(n - 1 if d in turned else 0 for d, n in enumerate(shape)),
                steps=tuple(-1 if d in turned else 1 for d in range(len(shape))))  # fmt: skip


@converts("roll")
def _roll(call: Call) -> None:
    shape, moved = call.value("self").shape, call.tensor("self")
    dims = [normal_axis(int(d), len(shape)) for d in call["dims"]]
    if not dims:  # as if it were flat
        flat = call.step("reshape", [moved], shape=(prod(shape),))
        first = -int(call["shifts"][0]) % prod(shape)
        ends = (range(first, prod(shape)), range(first)) if first else (range(prod(shape)),)
        parts = [call.step("slice", [flat], **along((prod(shape),), 0, end)) for end in ends]
        whole = call.step("concat", parts, axis=0) if first else flat
        call.define("reshape", [whole], shape=shape)
        return
    for shift, axis in zip(call["shifts"], dims, strict=True):
        first = -int(shift) % shape[axis]
        if not first:
            continue
        ends = (range(first, shape[axis]), range(first))
        parts = [call.step("slice", [moved], **along(shape, axis, end)) for end in ends]
        moved = call.step("concat", parts, axis=axis)
    call.alias(moved)


# -- repetitions --------------------------------------------------------------------------------


@converts("repeat", "tile")
def _repeat(call: Call) -> None:
    counts = [int(n) for n in call["repeats" if call.op == "repeat" else "dims"]]
    shape = call.value("self").shape
    counts = [1] * (len(shape) - len(counts)) + counts
    full = (1,) * (len(counts) - len(shape)) + shape
    pairs = list(zip(counts, full, strict=True))
    apart = call.step(
        "reshape", [call.tensor("self")], shape=tuple(e for _, n in pairs for e in (1, n))
    )
    wide = call.step("expand", [apart], shape=tuple(e for count, n in pairs for e in (count, n)))
    call.define("reshape", [wide], shape=tuple(count * n for count, n in pairs))


@converts("repeat_interleave")
def _repeat_each(call: Call) -> None:
    if not isinstance(call["repeats"], int) or call["dim"] is None:
        raise call.unsupported("repeats has to be a number, and dim given")
    _ = call.arguments.get("output_size")
    shape, count = call.value("self").shape, int(call["repeats"])
    axis = normal_axis(int(call["dim"]), len(shape))
    apart = call.step(
        "reshape", [call.tensor("self")], shape=(*shape[: axis + 1], 1, *shape[axis + 1 :])
    )
    wide = call.step("expand", [apart], shape=(*shape[: axis + 1], count, *shape[axis + 1 :]))
    call.define("reshape", [wide], shape=(*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


# -- windows ------------------------------------------------------------------------------------


@converts("unfold")
def _unfold(call: Call) -> None:
    shape, axis = call.value("self").shape, int(call["dimension"])
    if not shape:
        raise call.unsupported("a tensor without dimensions has no windows")
    call.define("windows", [call.tensor("self")], axis=normal_axis(axis, len(shape)),
                size=int(call["size"]), step=int(call["step"]))  # fmt: skip


@converts("im2col")
def _im2col(call: Call) -> None:
    """Columns of image blocks: ``[n][c][h][w]`` as ``[n][c * kernel][blocks]``."""
    found, rank = call.tensor("self"), len(call.value("self").shape)
    kernel, pads, steps, apart = ([int(n) for n in call[name]] for name in
                                  ("kernel_size", "padding", "stride", "dilation"))  # fmt: skip
    if any(pads):
        ends = (*(0 for _ in range(rank - 2)), *pads)
        found = call.step("pad", [found], pads=(*ends, *ends), mode="constant")
    for k in range(2):
        found = call.step("windows", [found], axis=rank - 2 + k, size=kernel[k], step=steps[k],
                          dilation=apart[k])  # fmt: skip
    #   [n][c][blocks down][blocks across][rows][columns]
    lead = rank - 2
    turned = call.step("transpose", [found],
                       perm=(*range(lead), lead + 2, lead + 3, lead, lead + 1))  # fmt: skip
    call.define("reshape", [turned], shape=call.result.shape)


# -- places from tensors ------------------------------------------------------------------------


@converts("embedding")
def _embedding(call: Call) -> None:
    _ = [call.arguments.get(name) for name in ("padding_idx", "scale_grad_by_freq", "sparse")]
    call.define("gather", [call.tensor("weight"), call.tensor("indices")], axis=0)


@converts("index_select")
def _index_select(call: Call) -> None:
    axis = normal_axis(int(call["dim"]), len(call.value("self").shape))
    call.define("gather", [call.tensor("self"), call.tensor("index")], axis=axis)


@converts("gather")
def _gather(call: Call) -> None:
    _ = call.arguments.get("sparse_grad")
    axis = normal_axis(int(call["dim"]), len(call.value("self").shape))
    call.define("gather_elements", [call.tensor("self"), call.tensor("index")], axis=axis)


@converts("index")
def _index(call: Call) -> None:
    """One tensor of places among slices, or several for neighbouring axes."""
    given = call["indices"]
    places = [d for d, one in enumerate(given) if one is not None]
    shape = call.value("self").shape
    if not places or places != list(range(places[0], places[-1] + 1)):
        raise call.unsupported("tensors of places have to stand side by side")
    names = [given[d].name for d in places]
    if any(not call.importer.values[name].dtype.is_integer for name in names):
        raise call.unsupported("conditions as places are not taken: the result's size is data")
    first, last = places[0], places[-1]
    if first == last:
        call.define("gather", [call.tensor("self"), names[0]], axis=first)
        return
    flat = (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :])
    rows = call.step("reshape", [call.tensor("self")], shape=flat)
    call.define("gather", [rows, _flat_place(call, names, shape[first : last + 1])], axis=first)


def _flat_place(call: Call, names: Sequence[str], shape: Sequence[int]) -> str:
    """Places along several axes as one along all of them; negative ones count from the end."""
    kinds = {call.importer.values[name].dtype.numpy_name for name in names}
    if len(kinds) > 1:
        raise call.unsupported("tensors of places have to be of one type")
    return flat_places(call.step, call.constant, names, kinds.pop(), shape)


@converts("select_scatter")
def _select_scatter(call: Call) -> None:
    from polyopt.graph.fx.elements import put

    shape = call.value("self").shape
    axis, place = selected(call)
    row = call.step("reshape", [call.converted("src", call.result.dtype)],
                    shape=(*shape[:axis], 1, *shape[axis + 1 :]))  # fmt: skip
    put(call, axis, range(place, place + 1), row)


# -- conditions ---------------------------------------------------------------------------------


@converts("where")
def _where(call: Call) -> None:
    kind = call.result.dtype
    call.define("where", [call.tensor("condition"), call.converted("self", kind),
                          call.converted("other", kind)])  # fmt: skip


@converts("masked_fill")
def _masked_fill(call: Call) -> None:
    kind = call.result.dtype
    call.define("where", [call.tensor("mask"), call.converted("value", kind),
                          call.converted("self", kind)])  # fmt: skip


@converts("tril", "triu")
def _triangle(call: Call) -> None:
    rows, columns = call.value("self").shape[-2:]
    kept = getattr(np, call.op)(np.ones((rows, columns), bool), int(call["diagonal"]))
    zero = call.constant(np.zeros((), call.result.dtype.numpy_name))
    call.define("where", [call.constant(kept), call.tensor("self"), zero])


# -- made from numbers --------------------------------------------------------------------------


@converts("arange")
def _arange(call: Call) -> None:
    _ = [call.arguments.get(name) for name in ("dtype", "end")]
    start, step = (call.arguments.get(n, d) for n, d in (("start", 0), ("step", 1)))
    count = np.arange(call.result.size)
    call.alias(call.constant((start + step * count).astype(call.result.dtype.numpy_name)))


@converts("eye")
def _eye(call: Call) -> None:
    _ = [call.arguments.get(name) for name in ("n", "m", "dtype")]
    call.alias(call.constant(np.eye(*call.result.shape, dtype=call.result.dtype.numpy_name)))


@converts("scalar_tensor")
def _scalar(call: Call) -> None:
    _ = call.arguments.get("dtype")
    call.alias(call.constant(np.array(call["s"], call.result.dtype.numpy_name)))
