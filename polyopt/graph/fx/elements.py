"""Converters of operators on single elements, of reductions, and of those that move elements."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.fx.arithmetic import divided
from polyopt.graph.fx.call import CONVERTERS, Ref, converts
from polyopt.graph.fx.extremes import extreme
from polyopt.graph.operators import normal_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.fx.call import Call
    from polyopt.graph.ir.graph import Attribute

#: ATen's name -> ours, of one operand without options
UNARY = {
    "abs": "abs", "ceil": "ceil", "cos": "cos", "erf": "erf", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "floor": "floor", "hardswish": "hardswish", "log": "log", "log1p": "log1p",
    "log2": "log2", "logical_not": "logical_not", "neg": "neg", "reciprocal": "reciprocal",
    "relu": "relu", "round": "rint", "sigmoid": "sigmoid", "silu": "silu", "sin": "sin",
    "sqrt": "sqrt", "tan": "tan", "tanh": "tanh", "trunc": "trunc",
}  # fmt: skip
BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "maximum": "maximum",
    "minimum": "minimum",
}  # fmt: skip


def _unary(call: Call) -> None:
    """An integer becomes a float first where PyTorch's result is one."""
    given = call.converted("self", call.result.dtype)
    if call.op in {"round", "trunc", "floor", "ceil"} and not call.result.dtype.is_float:
        call.alias(given)
        return
    call.define(UNARY[call.op], [given])


CONVERTERS.update(dict.fromkeys(UNARY, _unary))


def _binary(call: Call) -> None:
    """Operands of other types are converted to the result's, as PyTorch promotes them."""
    one, other = (call.converted(name, call.result.dtype) for name in ("self", "other"))
    alpha = call.arguments.get("alpha", 1)
    if alpha != 1:
        factor = call.constant(np.array(alpha, call.result.dtype.numpy_name))
        other = call.step("mul", [other, factor])
    rounding = call.arguments.get("rounding_mode")
    if rounding is not None:
        divided(call, str(rounding), one, other)
        return
    call.define(BINARY[call.op], [one, other])


CONVERTERS.update(dict.fromkeys(BINARY, _binary))


@converts("pow")
def _pow(call: Call) -> None:
    """Of integers by products, which are exact and wrap around as PyTorch's do."""
    kind = call.result.dtype
    if kind.is_float:
        call.define("power", [call.converted(name, kind) for name in ("self", "exponent")])
        return
    exponent = call["exponent"]
    if not isinstance(exponent, int) or exponent < 0:
        raise call.unsupported("integers are raised to known powers from 0 on alone")
    square, result = call.converted("self", kind), ""
    while exponent:
        if exponent % 2:
            result = call.step("mul", [result, square]) if result else square
        exponent //= 2
        if exponent:
            square = call.step("mul", [square, square])
    ones = np.ones(call.result.shape, kind.numpy_name)
    call.alias(result or call.constant(ones))


@converts("hardtanh", "clamp", "relu6")
def _clip(call: Call) -> None:
    names = ("min_val", "max_val") if call.op == "hardtanh" else ("min", "max")
    ends = {"low": call.arguments.get(names[0]), "high": call.arguments.get(names[1])}
    if call.op == "relu6":
        ends = {"low": 0.0, "high": 6.0}
    found = call.converted("self", call.result.dtype)
    if any(isinstance(end, Ref) for end in ends.values()):
        for name, op in zip(names, ("maximum", "minimum"), strict=True):
            if call.arguments.get(name) is not None:
                found = call.step(op, [found, call.converted(name, call.result.dtype)])
        call.alias(found)
        return
    given = {name: float(end) for name, end in ends.items() if end is not None}
    call.define("clip", [found], **given)


@converts("hardsigmoid")
def _hardsigmoid(call: Call) -> None:
    call.define("hard_sigmoid", [call.tensor("self")], alpha=1 / 6, beta=0.5)


@converts("leaky_relu")
def _leaky_relu(call: Call) -> None:
    call.define("leaky_relu", [call.tensor("self")], alpha=float(call["negative_slope"]))


@converts("gelu")
def _gelu(call: Call) -> None:
    call.define("gelu", [call.tensor("self")], approximate=str(call["approximate"]))


@converts("mean", "sum", "amax", "amin")
def _reduce(call: Call) -> None:
    op = {"mean": "reduce_mean", "sum": "reduce_sum"}
    _ = call.arguments.get("dtype")  # the result has it
    rank = len(call.value("self").shape)
    dims = call.arguments.get("dim")
    axes = tuple([dims] if isinstance(dims, int) else dims or range(rank))
    keep = int(call.arguments.get("keepdim", False))
    given = call.converted("self", call.result.dtype)
    if call.op in {"amax", "amin"}:
        call.alias(extreme(call, call.op[1:], given, axes, keep))
        return
    call.define(op[call.op], [given], axes=axes, keepdims=keep)


@converts("dropout")
def _dropout(call: Call) -> None:
    if call["train"] and call["p"]:
        raise call.unsupported("training is not taken")
    _ = call["p"]
    call.alias(call.tensor("input"))


@converts("clone", "contiguous", "detach", "alias", "lift_fresh_copy")
def _same(call: Call) -> None:
    call.alias(call.tensor("self"))


@converts("_to_copy")
def _to_copy(call: Call) -> None:
    _ = call["dtype"]  # the result has it
    call.alias(call.converted("self", call.result.dtype))


@converts("copy", "expand")
def _expand(call: Call) -> None:
    _ = [call.arguments.get(name) for name in ("self", "size", "implicit")]
    _spread(call, "src" if call.op == "copy" else "self")


def _spread(call: Call, argument: str) -> None:
    """The result is an argument in the result's shape and type."""
    given = call.converted(argument, call.result.dtype)
    if call.importer.values[given].shape == call.result.shape:
        call.alias(given)
        return
    ones = np.ones(call.result.shape, call.result.dtype.numpy_name)
    call.define("mul", [given, call.constant(ones)])


@converts("fill", "full", "full_like", "zeros", "zeros_like", "ones", "ones_like")
def _full(call: Call) -> None:
    _ = [call.arguments.get(name) for name in ("self", "size", "dtype")]
    names = (name for name in ("value", "fill_value") if name in call.arguments)
    name = next(names, "")
    if name and isinstance(call[name], Ref):
        _spread(call, name)
        return
    value = call[name] if name else int("ones" in call.op)
    if not isinstance(value, int | float):
        raise call.unsupported(f"{value!r} is not taken as an element")
    filled = np.full(call.result.shape, value, call.result.dtype.numpy_name)
    call.alias(call.constant(filled))


@converts("getitem")
def _getitem(call: Call) -> None:
    if call["index"] != 0:
        raise call.unsupported("only the first result is given")
    call.alias(call.tensor("self"))


@converts("eq", "ne", "lt", "le", "gt", "ge")
def _comparison(call: Call) -> None:
    kind = call.operand_type("self", "other")
    names = {"eq": "equal", "ne": "equal", "lt": "less", "le": "less_equal", "gt": "greater",
             "ge": "greater_equal"}  # fmt: skip
    operands = [call.converted(name, kind) for name in ("self", "other")]
    if call.op == "ne":
        call.define("logical_not", [call.step("equal", operands)])
    else:
        call.define(names[call.op], operands)


#: ATen's name -> ours, of conditions
LOGIC = {
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor",
    "bitwise_not": "logical_not",
}  # fmt: skip


@converts(*LOGIC)
def _logic(call: Call) -> None:
    names = ("self",) if call.op == "bitwise_not" else ("self", "other")
    if any(call.value(name).dtype.name != "bool" for name in names):
        raise call.unsupported("its operands have to be conditions")
    call.define(LOGIC[call.op], [call.tensor(name) for name in names])


@converts("isnan")
def _isnan(call: Call) -> None:
    call.define("is_nan", [call.tensor("self")])


@converts("rsqrt")
def _rsqrt(call: Call) -> None:
    root = call.step("sqrt", [call.converted("self", call.result.dtype)])
    call.define("reciprocal", [root])


@converts("cumsum")
def _cumsum(call: Call) -> None:
    _ = call.arguments.get("dtype")  # the result has it
    axis = normal_axis(int(call["dim"]), len(call.value("self").shape))
    call.define("cumsum", [call.converted("self", call.result.dtype)], axis=axis)


# -- shapes -------------------------------------------------------------------------------------


def _reshape(call: Call, shape: Sequence[int]) -> None:
    size = call.value("self").size
    rest = prod(n for n in shape if n != -1)
    call.define("reshape", [call.tensor("self")],
                shape=tuple(size // max(rest, 1) if n == -1 else n for n in shape))  # fmt: skip


@converts("view", "reshape", "_unsafe_view")
def _view(call: Call) -> None:
    _reshape(call, call["shape"] if call.op == "reshape" else call["size"])


@converts("flatten")
def _flatten(call: Call) -> None:
    shape = call.value("self").shape
    first, last = (normal_axis(call[a], len(shape)) for a in ("start_dim", "end_dim"))
    _reshape(call, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@converts("unsqueeze")
def _unsqueeze(call: Call) -> None:
    shape = list(call.value("self").shape)
    shape.insert(normal_axis(call["dim"], len(shape) + 1), 1)
    _reshape(call, shape)


@converts("squeeze")
def _squeeze(call: Call) -> None:
    shape = call.value("self").shape
    given = call.arguments.get("dim")
    axes = range(len(shape)) if given is None else [given] if isinstance(given, int) else given
    along = {normal_axis(a, len(shape)) for a in axes}
    _reshape(call, [n for d, n in enumerate(shape) if n != 1 or d not in along])


@converts("permute")
def _permute(call: Call) -> None:
    rank = len(call.value("self").shape)
    call.define("transpose", [call.tensor("self")],
                perm=tuple(normal_axis(d, rank) for d in call["dims"]))  # fmt: skip


@converts("transpose", "t")
def _transpose(call: Call) -> None:
    rank = len(call.value("self").shape)
    perm = list(range(rank))
    pair = (0, 1) if call.op == "t" else (call["dim0"], call["dim1"])
    one, two = (normal_axis(d, rank) for d in pair)
    perm[one], perm[two] = perm[two], perm[one]
    call.define("transpose", [call.tensor("self")], perm=tuple(perm))


@converts("cat")
def _cat(call: Call) -> None:
    given = call["tensors"]
    if not all(isinstance(part, Ref) for part in given):
        raise call.unsupported("its parts have to be tensors")
    parts = [part.name for part in given if call.importer.values[part.name].size]
    call.define("concat", parts, axis=int(call["dim"]))


@converts("pad", "constant_pad_nd")
def _pad(call: Call) -> None:
    rank = len(call.value("self").shape)
    mode = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    pads = [0] * (2 * rank)
    for k, width in enumerate(call["pad"]):  # the last axis first, begin and end in turn
        axis = rank - 1 - k // 2
        pads[axis if k % 2 == 0 else rank + axis] = int(width)
    call.define("pad", [call.tensor("self")], pads=tuple(pads),
                mode=mode[call.arguments.get("mode", "constant")],
                value=float(call.arguments.get("value") or 0.0))  # fmt: skip


@converts("slice")
def _slice(call: Call) -> None:
    axis, taken = _taken(call)
    shape = call.value("self").shape
    call.define("slice", [call.tensor("self")], **along(shape, axis, taken))


@converts("select")
def _select(call: Call) -> None:
    shape = call.value("self").shape
    axis, place = selected(call)
    one = call.step("slice", [call.tensor("self")], **along(shape, axis, range(place, place + 1)))
    call.define("reshape", [one], shape=(*shape[:axis], *shape[axis + 1 :]))


@converts("slice_scatter")
def _slice_scatter(call: Call) -> None:
    axis, taken = _taken(call)
    if taken.step != 1:
        raise call.unsupported(f"a step of {taken.step} is not taken")
    put(call, axis, taken, call.converted("src", call.result.dtype))


def _taken(call: Call) -> tuple[int, range]:
    """The axis of a slice, and which of its elements are taken."""
    shape = call.value("self").shape
    axis = normal_axis(call["dim"], len(shape))
    taken = range(shape[axis])[call["start"] : call["end"] : call["step"]]
    if not taken:
        raise call.unsupported(f"it takes no element of axis {axis}")
    return axis, taken


def selected(call: Call) -> tuple[int, int]:
    """The axis of a selection, and the place along it."""
    shape = call.value("self").shape
    axis = normal_axis(call["dim"], len(shape))
    return axis, range(shape[axis])[int(call["index"])]


def along(shape: Sequence[int], axis: int, taken: range) -> dict[str, Attribute]:
    """What ``slice`` is told to take of one axis, and all of the others."""
    return {
        "starts": tuple(taken[0] if d == axis else 0 for d in range(len(shape))),
        "steps": tuple(taken.step if d == axis else 1 for d in range(len(shape))),
        "shape": tuple(len(taken) if d == axis else n for d, n in enumerate(shape)),
    }


def put(call: Call, axis: int, taken: range, source: str) -> None:
    """The tensor with these neighbours of an axis replaced: what is before, them, what is after."""
    given, shape = call.tensor("self"), call.value("self").shape
    ends = (range(taken[0]), range(taken[-1] + 1, shape[axis]))
    before, after = (
        [call.step("slice", [given], **along(shape, axis, end))] if end else [] for end in ends
    )
    parts = [*before, source, *after]
    if len(parts) == 1:
        call.alias(source)
    else:
        call.define("concat", parts, axis=axis)
