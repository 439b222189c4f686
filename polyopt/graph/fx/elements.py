"""Converters of operators on single elements, of reductions, and of those that move elements."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from polyopt.graph.fx.call import CONVERTERS, Ref, converts
from polyopt.graph.operators import normal_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.fx.call import Call

#: ATen's name -> ours, of one operand without options
UNARY = {
    "abs": "abs", "ceil": "ceil", "cos": "cos", "erf": "erf", "exp": "exp", "floor": "floor",
    "hardswish": "hardswish", "hardswish_": "hardswish", "log": "log", "neg": "neg",
    "reciprocal": "reciprocal", "relu": "relu", "relu_": "relu", "sigmoid": "sigmoid",
    "silu": "silu", "silu_": "silu", "sin": "sin", "sqrt": "sqrt", "tanh": "tanh",
}  # fmt: skip
BINARY = {
    "add": "add", "add_": "add", "sub": "sub", "mul": "mul", "mul_": "mul", "div": "div",
    "maximum": "maximum", "minimum": "minimum", "pow": "power",
}  # fmt: skip


def _unary(call: Call) -> None:
    call.define(UNARY[call.op], [call.tensor("self")])


CONVERTERS.update(dict.fromkeys(UNARY, _unary))


def _binary(call: Call) -> None:
    other = "exponent" if call.op == "pow" else "other"
    if call.arguments.get("alpha", 1) != 1 or call.arguments.get("rounding_mode") is not None:
        raise call.unsupported("alpha and rounding_mode are not taken")
    call.define(BINARY[call.op], [call.tensor("self"), call.tensor(other)])


CONVERTERS.update(dict.fromkeys(BINARY, _binary))


@converts("hardtanh", "hardtanh_", "clamp", "relu6")
def _clip(call: Call) -> None:
    names = ("min_val", "max_val") if "hardtanh" in call.op else ("min", "max")
    ends = {"low": call.arguments.get(names[0]), "high": call.arguments.get(names[1])}
    if call.op == "relu6":
        ends = {"low": 0.0, "high": 6.0}
    given = {name: float(end) for name, end in ends.items() if end is not None}
    call.define("clip", [call.tensor("self")], **given)


@converts("hardsigmoid")
def _hardsigmoid(call: Call) -> None:
    call.define("hard_sigmoid", [call.tensor("self")], alpha=1 / 6, beta=0.5)


@converts("leaky_relu", "leaky_relu_")
def _leaky_relu(call: Call) -> None:
    call.define("leaky_relu", [call.tensor("self")], alpha=float(call["negative_slope"]))


@converts("gelu")
def _gelu(call: Call) -> None:
    call.define("gelu", [call.tensor("self")], approximate=str(call["approximate"]))


@converts("mean", "sum", "amax", "amin")
def _reduce(call: Call) -> None:
    op = {"mean": "reduce_mean", "sum": "reduce_sum", "amax": "reduce_max", "amin": "reduce_min"}
    if call.arguments.get("dtype") is not None:
        raise call.unsupported("dtype is not taken")
    rank = len(call.value("self").shape)
    given = call.arguments.get("dim")
    axes = tuple([given] if isinstance(given, int) else given or range(rank))
    keep = int(call.arguments.get("keepdim", False))
    call.define(op[call.op], [call.tensor("self")], axes=axes, keepdims=keep)


@converts("dropout", "clone", "contiguous", "detach", "alias", "lift_fresh_copy")
def _same(call: Call) -> None:
    if call.arguments.get("train", False):
        raise call.unsupported("training is not taken")
    call.alias(call.tensor("input" if call.op == "dropout" else "self"))


@converts("getitem")
def _getitem(call: Call) -> None:
    if call["index"] != 0:
        raise call.unsupported("only the first result is given")
    call.alias(call.tensor("self"))


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
    call.define("concat", [part.name for part in given], axis=int(call["dim"]))


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
    shape = call.value("self").shape
    axis = normal_axis(call["dim"], len(shape))
    taken = range(shape[axis])[call["start"] : call["end"] : call["step"]]
    if not taken:
        raise call.unsupported(f"it takes no element of axis {axis}")
    call.define(
        "slice",
        [call.tensor("self")],
        starts=tuple(taken[0] if d == axis else 0 for d in range(len(shape))),
        steps=tuple(call["step"] if d == axis else 1 for d in range(len(shape))),
        shape=tuple(len(taken) if d == axis else n for d, n in enumerate(shape)),
    )
