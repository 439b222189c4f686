"""Random nodes of ONNX: elements, reductions and moves; each function draws one node of its operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from tests.fuzz.drawing import FLOATS, Refused, fit, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fuzz.drawing import Drawing

    Drawer = Callable[[Drawing, str], object]

DRAWERS: dict[str, Drawer] = {}


def draws(*names: str) -> Callable[[Drawer], Drawer]:
    """Register what draws nodes of these operators."""

    def register(drawer: Drawer) -> Drawer:
        DRAWERS.update(dict.fromkeys(names, drawer))
        return drawer

    return register


def attributes(d: Drawing, **options: Any) -> dict[str, Any]:
    """Attributes with one of some values each; most are left out in half of the nodes."""
    return {name: d.one(values) for name, values in options.items() if d.chance(0.6)}


#: operators of one operand, and what their attributes may be
_SCALES = (0.0, 0.5, 1.0, 2.0, -1.0, 0.01)
_UNARY: dict[str, dict[str, Any]] = {
    **{op: {} for op in (
        "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Ceil", "Cos",
        "Cosh", "Erf", "Exp", "Floor", "HardSwish", "Identity", "IsNaN", "Log", "Mish", "Neg",
        "Not", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus",
        "Softsign", "Sqrt", "Tan", "Tanh", "DynamicQuantizeLinear", "GlobalAveragePool",
        "GlobalMaxPool",
    )},
    "Celu": {"alpha": (0.5, 1.0, 2.0, -1.0)},
    "Elu": {"alpha": _SCALES},
    "Gelu": {"approximate": ("none", "tanh")},
    "HardSigmoid": {"alpha": _SCALES, "beta": _SCALES},
    "IsInf": {"detect_negative": (0, 1), "detect_positive": (0, 1)},
    "LeakyRelu": {"alpha": _SCALES},
    "Selu": {"alpha": _SCALES, "gamma": _SCALES},
    "Shrink": {"bias": _SCALES, "lambd": _SCALES},
    "Swish": {"alpha": (1.0, 0.5, 2.0, -1.0)},
    "ThresholdedRelu": {"alpha": _SCALES},
    "GlobalLpPool": {"p": (1, 2, 3)},
}  # fmt: skip


@draws(*_UNARY)
def _unary(d: Drawing, op: str) -> None:
    low = 2 if op.startswith("Global") else 0
    d.add(op, [d.operand(op, rank=(low, 4))], 3 if op.startswith("Dynamic") else 1,
          **attributes(d, **_UNARY[op]))  # fmt: skip


@draws(
    "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater",
    "GreaterOrEqual", "Less", "LessOrEqual", "Mul", "Or", "Sub", "Xor",
)  # fmt: skip
def _binary(d: Drawing, op: str) -> None:
    x = d.operand(op)
    y = x if d.chance(0.1) else d.broadcastable(x, op, 1)
    d.add(op, [y, x] if d.chance(0.3) else [x, y])


@draws("Pow")
def _pow(d: Drawing, op: str) -> None:
    x = d.operand(op)
    among = None if d.opset > 11 and d.chance(0.5) else [kind_of(d.arrays[x].dtype)]
    d.add(op, [x, d.operand(op, 1, among=among, fits=lambda s: fit(s, d.shape_of(x)))])


@draws("PRelu")
def _prelu(d: Drawing, op: str) -> None:
    x = d.operand(op)
    shape = tuple(e if d.chance(0.5) else 1 for e in d.shape_of(x))
    d.add(op, [x, d.like(x, op, 1, shape[d.number(0, len(shape)) :])])


@draws("BitShift")
def _bit_shift(d: Drawing, op: str) -> None:
    x = d.operand(op)
    d.add(op, [x, d.broadcastable(x, op, 1)], direction=d.one(("LEFT", "RIGHT")))


@draws("Mod")
def _mod(d: Drawing, op: str) -> None:
    x = d.operand(op)
    is_float = kind_of(d.arrays[x].dtype) in FLOATS
    d.add(op, [x, d.broadcastable(x, op, 1)], fmod=1 if is_float else d.one((0, 1, None)))


@draws("Max", "Min", "Mean", "Sum")
def _variadic(d: Drawing, op: str) -> None:
    first = d.operand(op)
    others = [d.broadcastable(first, op, 0) for _ in range(d.number(0, 3))]
    d.add(op, [first, *others])


@draws("Where")
def _where(d: Drawing, op: str) -> None:
    x = d.operand(op, 1)
    y = d.broadcastable(x, op, 2)
    wide = np.broadcast_shapes(d.shape_of(x), d.shape_of(y))
    d.add(op, [d.operand(op, 0, fits=lambda s: fit(s, wide)), x, y])


@draws("Clip")
def _clip(d: Drawing, op: str) -> None:
    x = d.operand(op)
    bounds = [d.like(x, op, k, ()) if d.chance(0.7) else "" for k in (1, 2)]
    d.add(op, [x, *bounds])


@draws("Cast")
def _cast(d: Drawing, op: str) -> None:
    to = d.one((1, 11, 10, 16, 2, 3, 4, 5, 6, 7, 9, 12, 13, 1, 6, 7))
    d.add(op, [d.operand(op)], to=to)


@draws("CastLike")
def _cast_like(d: Drawing, op: str) -> None:
    d.add(op, [d.operand(op), d.operand(op, 1)])


@draws("Dropout")
def _dropout(d: Drawing, op: str) -> None:
    outputs = 2 if d.chance(0.2) else 1
    if d.opset < 12:
        d.add(op, [d.operand(op)], outputs, **attributes(d, ratio=(0.0, 0.5)))
        return
    ratio = d.fresh(np.float32(0.3), constant=True) if d.chance(0.4) else ""
    training = d.fresh(np.array(False), constant=True) if d.chance(0.3) else ""
    d.add(op, [d.operand(op), ratio, training], outputs, **attributes(d, seed=(0, 7)))


# -- along axes -----------------------------------------------------------------------------------


@draws(
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare",
)  # fmt: skip
def _reduce(d: Drawing, op: str) -> None:
    x = d.operand(op)
    axes = d.axes(d.rank(x)) if d.chance(0.8) else None
    options = attributes(d, keepdims=(0, 1))
    if d.opset >= (13 if op == "ReduceSum" else 18):
        given = [d.ints(axes)] if axes is not None else []
        d.add(op, [x, *given], **options, **attributes(d, noop_with_empty_axes=(0, 1)))
    else:
        d.add(op, [x], axes=axes or None, **options)


@draws("ArgMax", "ArgMin")
def _arg(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    more = attributes(d, select_last_index=(0, 1)) if d.opset >= 12 else {}
    axis = d.axis(d.rank(x)) if d.chance(0.8) else None
    d.add(op, [x], axis=axis, **attributes(d, keepdims=(0, 1)), **more)


@draws("Softmax", "LogSoftmax", "Hardmax", "LpNormalization")
def _soft(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    more = attributes(d, p=(1, 2)) if op == "LpNormalization" else {}
    d.add(op, [x], axis=d.axis(d.rank(x)) if d.chance(0.8) else None, **more)


@draws("CumSum")
def _cum_sum(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    axis = d.ints(d.axis(d.rank(x)), d.one((np.int32, np.int64)))
    d.add(op, [x, axis], **attributes(d, exclusive=(0, 1), reverse=(0, 1)))


@draws("TopK")
def _top_k(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 3))
    axis = d.axis(d.rank(x))
    k = d.ints([d.number(1, max(d.shape_of(x)[axis], 1))])
    outputs = d.one(((True, True), (True, False), (False, True)))
    d.add(op, [x, k], outputs, axis=axis, **attributes(d, largest=(0, 1), sorted=(1, 1)))


# -- shapes ---------------------------------------------------------------------------------------


@draws("Reshape")
def _reshape(d: Drawing, op: str) -> None:
    x = d.operand(op)
    size = d.arrays[x].size
    if size == 0:
        d.add(op, [x, d.ints([0] * d.rank(x))])
        return
    shape: list[int] = []
    while size > 1 and len(shape) < 4:
        factors = [f for f in range(1, size + 1) if size % f == 0]
        shape.append(d.one(factors))
        size //= shape[-1]
    shape += [size] * (size > 1)
    if shape and d.chance(0.4):
        shape[d.number(0, len(shape) - 1)] = -1
    if shape and d.rank(x) and (shape[0] == d.shape_of(x)[0] or d.batch) and d.chance(0.5):
        shape[0] = 0
        if d.batch:
            shape = [0, -1]
    more = attributes(d, allowzero=(0, 1)) if d.opset >= 14 else {}
    d.add(op, [x, d.ints(shape)], **more)


@draws("Flatten")
def _flatten(d: Drawing, op: str) -> None:
    x = d.operand(op)
    d.add(op, [x], axis=d.number(-d.rank(x), d.rank(x)) if d.chance(0.8) else None)


@draws("Transpose")
def _transpose(d: Drawing, op: str) -> None:
    x = d.operand(op)
    perm = [int(k) for k in d.draw.permutation(d.rank(x))]
    d.add(op, [x], perm=perm if d.chance(0.8) else None)


@draws("Squeeze")
def _squeeze(d: Drawing, op: str) -> None:
    x = d.operand(op, fits=lambda s: 1 in s)
    ones = [k - d.rank(x) * d.number(0, 1) for k, e in enumerate(d.shape_of(x)) if e == 1]
    axes = ones[: d.number(1, len(ones))] if d.chance(0.8) else None
    _with_axes(d, op, x, axes)


@draws("Unsqueeze")
def _unsqueeze(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(0, 3))
    count = d.number(1, 2)
    rank = d.rank(x) + count
    _with_axes(d, op, x, [int(k) - rank * d.number(0, 1) for k in d.draw.permutation(rank)[:count]])


def _with_axes(d: Drawing, op: str, x: str, axes: list[int] | None) -> None:
    if d.opset >= 13:
        d.add(op, [x] if axes is None else [x, d.ints(axes)])
    else:
        d.add(op, [x], axes=axes)


@draws("Expand")
def _expand(d: Drawing, op: str) -> None:
    x = d.operand(op)
    shape = [d.number(2, 4) if e == 1 and d.chance(0.6) else d.one((e, 1)) for e in d.shape_of(x)]
    front = [d.number(1, 3) for _ in range(d.number(0, 1))]
    cut = d.number(0, len(shape)) if not front and d.chance(0.2) else 0
    d.add(op, [x, d.ints([*front, *shape[cut:]])])


@draws("Tile")
def _tile(d: Drawing, op: str) -> None:
    x = d.operand(op)
    d.add(op, [x, d.ints([d.one((1, 2, 3, 1)) for _ in d.shape_of(x)])])


@draws("Concat")
def _concat(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    axis = d.axis(d.rank(x))
    given = [x]
    for _ in range(d.number(0, 3)):
        shape = list(d.shape_of(x))
        shape[axis] = d.number(1, 3)
        given.append(x if d.chance(0.2) else d.like(x, op, 0, tuple(shape)))
    d.add(op, [given[int(k)] for k in d.draw.permutation(len(given))], axis=axis)


@draws("Split")
def _split(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    axis = d.axis(d.rank(x))
    extent, count = d.shape_of(x)[axis], d.number(1, 3)
    if d.chance(0.4):
        more = {"num_outputs": count} if d.opset >= 18 else {}
        d.add(op, [x], count, axis=axis, **more)
        return
    cuts = sorted(
        d.number(0 if d.chance(0.1) else min(1, extent), extent) for _ in range(count - 1)
    )
    parts = [b - a for a, b in zip([0, *cuts], [*cuts, extent], strict=True)]
    wanted = [True, *(d.chance(0.8) for _ in parts[1:])]
    if d.opset >= 13:
        d.add(op, [x, d.ints(parts)], wanted, axis=axis)
    else:
        d.add(op, [x], wanted, axis=axis, split=parts)


@draws("Slice")
def _slice(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    axes = d.axes(d.rank(x), 1) if d.chance(0.8) else None
    starts, ends, steps = [], [], []
    for axis in range(d.number(1, d.rank(x))) if axes is None else axes:
        extent = d.shape_of(x)[axis]
        steps.append(d.one((1, 1, 2, 3, -1, -2)))
        bounds = [d.number(-extent - 1, extent + 1), d.one((1 << 31, 1 << 62, extent, -1))]
        bounds = bounds if steps[-1] > 0 else [bounds[1], d.one((-(1 << 62), -extent - 1, 0))]
        starts.append(bounds[0])
        ends.append(bounds[1])
    given = [x, d.ints(starts), d.ints(ends)]
    if axes is not None or d.chance(0.3):
        given += [d.ints(axes if axes is not None else range(len(starts)))]
        given += [d.ints(steps)] if d.chance(0.7) else []
    elif d.chance(0.5):
        given += ["", d.ints(steps)]
    d.add(op, given)


@draws("Pad")
def _pad(d: Drawing, op: str) -> None:
    x = d.operand(op)
    modes = (
        ("constant", "edge", "reflect", "wrap")
        if d.opset >= 19
        else ("constant", "edge", "reflect")
    )
    axes = d.axes(d.rank(x)) if d.opset >= 18 and d.chance(0.4) else None
    rank = d.rank(x) if axes is None else len(axes)
    pads = [d.number(-1 if d.chance(0.15) else 0, 2) for _ in range(2 * rank)]
    value = d.like(x, op, 2, ()) if d.chance(0.5) else ""
    given = [x, d.ints(pads), value, *([d.ints(axes)] if axes is not None else [])]
    d.add(op, given, **attributes(d, mode=modes))


@draws("CenterCropPad")
def _center(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    axes = d.axes(d.rank(x), 1) if d.chance(0.6) else None
    count = d.rank(x) if axes is None else len(axes)
    d.add(op, [x, d.ints([d.number(1, 5) for _ in range(count)])], axes=axes)


@draws("DepthToSpace")
def _depth(d: Drawing, op: str) -> None:
    size = d.number(1, 2)
    shape = (d.number(1, 2), size * size * d.number(1, 2), d.number(1, 3), d.number(1, 3))
    d.add(op, [d.operand(op, shape=shape)], blocksize=size, **attributes(d, mode=("DCR", "CRD")))


@draws("SpaceToDepth")
def _space(d: Drawing, op: str) -> None:
    size = d.number(1, 2)
    shape = (d.number(1, 2), d.number(1, 3), size * d.number(1, 3), size * d.number(1, 2))
    d.add(op, [d.operand(op, shape=shape)], blocksize=size)


@draws("Trilu")
def _trilu(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(2, 4))
    k = [d.ints(d.number(-4, 4))] if d.chance(0.6) else []
    d.add(op, [x, *k], **attributes(d, upper=(0, 1)))


@draws("EyeLike")
def _eye(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(2, 2))
    d.add(op, [x], **attributes(d, k=(-1, 0, 1, 9), dtype=(1, 6, 7, 9, 10, 11)))


# -- indices --------------------------------------------------------------------------------------


def indices(d: Drawing, shape: tuple[int, ...], extent: int) -> str:
    """Indices along an axis: known ones, or data."""
    if not extent:
        raise Refused("there are no indices")
    found = d.draw.integers(-extent, extent, size=shape)
    kind = d.one((np.int64, np.int64, np.int32))
    return d.fresh(np.asarray(found).astype(kind), constant=d.chance(0.6))


@draws("Gather")
def _gather(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    axis = d.axis(d.rank(x))
    where = indices(d, d.shape(0, 2), d.shape_of(x)[axis])
    d.add(op, [x, where], axis=axis if d.chance(0.8) else None)


@draws("GatherElements")
def _gather_elements(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    axis = d.axis(d.rank(x))
    shape = tuple(d.number(1, max(e, 1)) for e in d.shape_of(x))
    d.add(op, [x, indices(d, shape, d.shape_of(x)[axis])], axis=axis)


def _tuples(d: Drawing, within: tuple[int, ...], outer: tuple[int, ...], *, constant: bool) -> str:
    depth = d.number(1, len(within))
    if 0 in within:
        raise Refused("there are no indices")
    parts = [d.draw.integers(-e, e, size=outer) for e in within[:depth]]
    return d.fresh(np.stack(parts, -1).astype(np.int64), constant=constant)


@draws("GatherND")
def _gather_nd(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    shape = d.shape_of(x)
    batch = d.number(0, len(shape) - 1) if d.opset >= 12 and d.chance(0.4) else 0
    outer = (*shape[:batch], *d.shape(0, 2))
    where = _tuples(d, shape[batch:], outer, constant=d.chance(0.7))
    d.add(op, [x, where], batch_dims=batch if batch or d.chance(0.3) else None)


def _reduction(d: Drawing, oldest: int) -> dict[str, Any]:
    if d.opset < oldest:
        return {}
    return attributes(d, reduction=("none", "add", "mul") + ("max", "min") * (d.opset >= 18))


@draws("ScatterElements", "Scatter")
def _scatter(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 3))
    axis = d.axis(d.rank(x))
    shape = tuple(d.number(1, max(e, 1)) for e in d.shape_of(x))
    reduction = _reduction(d, 16)
    where = indices(d, shape, d.shape_of(x)[axis])
    if reduction.get("reduction", "none") == "none":  # which of two updates wins is not said
        line = d.draw.permutation(d.shape_of(x)[axis])[: shape[axis]]
        spread = [1] * len(shape)
        spread[axis] = shape[axis]
        d.arrays[where] = np.broadcast_to(line.reshape(spread), shape).astype(np.int64).copy()
    d.add(op, [x, where, d.like(x, op, 2, shape)], axis=axis, **reduction)


@draws("ScatterND")
def _scatter_nd(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 3))
    shape, reduction = d.shape_of(x), _reduction(d, 16)
    where = _tuples(d, shape, (d.number(1, 3),), constant=d.chance(0.8))
    found = d.arrays[where]
    if reduction.get("reduction", "none") == "none":
        found = d.arrays[where] = np.unique(found % np.array(shape[: found.shape[-1]]), axis=0)
    updates = d.like(x, op, 2, (*found.shape[:-1], *shape[found.shape[-1] :]))
    d.add(op, [x, where, updates], **reduction)


@draws("OneHot")
def _one_hot(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(0, 3))
    values = d.operand(op, 2, shape=(2,))
    depth = d.fresh(
        np.asarray(d.number(1, 4), d.one((np.int64, np.float32, np.int32))), constant=True
    )
    d.add(op, [x, depth, values], axis=d.number(-d.rank(x) - 1, d.rank(x)))


@draws("If")
def _if(d: Drawing, op: str) -> None:
    x = d.operand("Add")
    y = d.broadcastable(x, "Add", 1)
    d.count += 2
    kind = helper.np_dtype_to_tensor_dtype(d.arrays[x].dtype)
    branches = {}
    for name, inner in (("then_branch", d.one(("Add", "Mul"))), ("else_branch", "Sub")):
        made = f"b{d.count}_{name}"
        out = helper.make_tensor_value_info(made, kind, None)
        node = helper.make_node(inner, [x, y], [made])
        branches[name] = helper.make_graph([node], name, [], [out])
    condition = d.fresh(np.array(d.chance(0.5)), constant=d.chance(0.7))
    d.add(op, [condition], **branches)
