"""Converters of recurrent networks: LSTM, GRU and plain ones, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.graph.fx.call import Ref, converts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.fx.call import Call
    from polyopt.graph.ir.graph import Attribute


@dataclass(frozen=True)
class _Kind:
    """A cell: our operator, its activations, and where its gates are among PyTorch's."""

    op: str
    activations: str
    gates: tuple[int, ...]
    states: int = 1


#: PyTorch has input, forget, cell, output of an LSTM, and reset, update, new of a GRU
_KINDS = {
    "lstm": _Kind("lstm", "sigmoid tanh tanh", (0, 3, 1, 2), 2),
    "gru": _Kind("gru", "sigmoid tanh", (1, 0, 2)),
    "rnn_tanh": _Kind("rnn", "tanh", (0,)),
    "rnn_relu": _Kind("rnn", "relu", (0,)),
}


@converts(*_KINDS)
def _recurrent(call: Call) -> None:
    kind, count = _KINDS[call.op], int(call["num_layers"])
    directions = 2 if call["bidirectional"] else 1
    if call["train"] and call["dropout"]:
        raise call.unsupported("training is not taken")
    _ = call["dropout"]
    each = 4 if call["has_biases"] else 2
    params = [p.name for p in call["params"] if isinstance(p, Ref)]
    if len(call.value("input").shape) != 3 or len(params) != count * directions * each:
        raise call.unsupported("a batch of sequences without projections is needed")
    x, first = call.tensor("input"), bool(call["batch_first"])
    x = call.step("transpose", [x], perm=(1, 0, 2)) if first else x
    hx = call["hx"] if isinstance(call["hx"], list | tuple) else [call["hx"]]
    lasts: list[list[str]] = [[] for _ in range(kind.states)]
    for layer in range(count):
        every: list[str] = []
        for direction in range(directions):
            number = layer * directions + direction
            weights = params[number * each : (number + 1) * each]
            starts = [_row(call, state.name, number) for state in hx]
            every.append(_direction(call, kind, x, weights, starts, direction))
        steps = call.importer.values[x].shape[0]
        hidden = [_rows(call, one, 0, steps) for one in every]
        x = call.step("concat", hidden, axis=2) if directions > 1 else hidden[0]
        for place, last in enumerate(lasts):
            last += [_rows(call, one, steps + place, 1) for one in every]
    y = call.step("transpose", [x], perm=(1, 0, 2)) if first else x
    states = [call.step("concat", last, axis=0) if len(last) > 1 else last[0] for last in lasts]
    call.several([y, *states])


def _direction(
    call: Call,
    kind: _Kind,
    x: str,
    weights: Sequence[str],
    starts: Sequence[str],
    direction: int,
) -> str:
    """All steps of one direction: hidden states, then the last state of each kind."""
    own, inner, *biases = weights
    hidden = call.importer.values[inner].shape[1]
    turned = [
        call.step("transpose", [_ordered(call, kind, w, hidden)], perm=(1, 0)) for w in (own, inner)
    ]
    given = call.step("matmul", [x, turned[0]])
    operands = [given, turned[1], *starts]
    options: dict[str, Attribute] = {"activations": kind.activations}
    if kind.op == "gru":
        options["linear_before_reset"] = 1
    if biases:
        one, other = (_ordered(call, kind, b, hidden) for b in biases)
        if kind.op == "gru":
            operands.append(_rows(call, other, 2 * hidden, hidden))
            zeros = call.step("mul", [operands[-1], call.number_like(operands[-1], 0)])
            other = call.step("concat", [_rows(call, other, 0, 2 * hidden), zeros], axis=0)
        operands[0] = call.step("add", [call.step("add", [given, one]), other])
    return call.step(kind.op, operands, reverse=direction, **options)


def _ordered(call: Call, kind: _Kind, name: str, hidden: int) -> str:
    """Rows of a weight in the order of our gates."""
    if len(kind.gates) == 1:
        return name
    parts = [_rows(call, name, gate * hidden, hidden) for gate in kind.gates]
    return call.step("concat", parts, axis=0)


def _rows(call: Call, name: str, first: int, count: int) -> str:
    shape = call.importer.values[name].shape
    zeros = (0,) * (len(shape) - 1)
    return call.step("slice", [name], starts=(first, *zeros), steps=(1,) * len(shape),
                     shape=(count, *shape[1:]))  # fmt: skip


def _row(call: Call, name: str, number: int) -> str:
    shape = call.importer.values[name].shape
    return call.step("reshape", [_rows(call, name, number, 1)], shape=shape[1:])
