"""Converters of recurrent networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.graph.onnx.context import converts
from polyopt.graph.ops.recurrent import ACTIVATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.ir.graph import Attribute
    from polyopt.graph.onnx.context import OnnxNode

#: operator -> gates, states, and the usual activations
CELLS = {
    "RNN": (1, 1, ("tanh",)),
    "GRU": (3, 1, ("sigmoid", "tanh")),
    "LSTM": (4, 2, ("sigmoid", "tanh", "tanh")),
}


@dataclass(frozen=True)
class _Layer:
    """A recurrent layer: its node, and how large everything is."""

    node: OnnxNode
    gates: int
    kinds: int
    steps: int
    batch: int
    width: int
    hidden: int
    directions: int

    def part(self, index: int, direction: int, first: int, count: int) -> str:
        """Rows of a weight of one direction, without its first axis."""
        _, _, *rest = self.node.value(index).shape
        zeros = (0,) * len(rest)
        taken = self.node.step(
            "slice", [self.node.inputs[index]], starts=(direction, first, *zeros),
            steps=(1,) * (2 + len(rest)), shape=(1, count, *rest),
        )  # fmt: skip
        return self.node.step("reshape", [taken], shape=(count, *rest))


@converts(*CELLS)
def _recurrent(node: OnnxNode) -> None:
    if node.get("input_forget", 0):
        raise node.unsupported("input_forget has to be 0")
    layer = _layer(node)
    x = node.inputs[0]
    if node.get("layout", 0):
        x = node.step("transpose", [x], perm=(1, 0, 2))
    every = [_direction(layer, x, direction) for direction in range(layer.directions)]
    _outputs(layer, every)


def _layer(node: OnnxNode) -> _Layer:
    """The sizes of a layer. Raises ``GraphError`` where weights do not fit."""
    gates, kinds, _ = CELLS[node.op]
    for index in (0, 1, 2):
        if len(node.value(index).shape) != 3:
            raise node.wrong(f"its input {index} has {len(node.value(index).shape)} dimension(s),"
                             " not 3")  # fmt: skip
    steps, batch, width = node.value(0).shape
    if node.get("layout", 0):
        steps, batch = batch, steps
    hidden = node.value(2).shape[2]
    direction = node.get("direction", "forward")
    if direction not in {"forward", "reverse", "bidirectional"}:
        raise node.wrong(f"there is no direction {direction!r}")
    directions = 2 if direction == "bidirectional" else 1
    layer = _Layer(node, gates, kinds, steps, batch, width, hidden, directions)
    if node.get("hidden_size", hidden) != hidden:
        raise node.wrong(f"hidden_size says {node.get('hidden_size')}, its weights {hidden}")
    for index, shape in _shapes(layer).items():
        if node.has(index) and node.value(index).shape != shape:
            found = list(node.value(index).shape)
            raise node.wrong(f"its input {index} has the shape {found}, not {list(shape)}")
    return layer


def _shapes(layer: _Layer) -> dict[int, tuple[int, ...]]:
    """What shapes a layer's operands have, by their places."""
    all_gates, count = layer.gates * layer.hidden, layer.directions
    state = (count, layer.batch, layer.hidden)
    if layer.node.get("layout", 0):
        state = (layer.batch, count, layer.hidden)
    return {
        1: (count, all_gates, layer.width),
        2: (count, all_gates, layer.hidden),
        3: (count, 2 * all_gates),
        4: (layer.batch,),
        5: state,
        6: state,
        7: (count, 3 * layer.hidden),
    }


def _direction(layer: _Layer, x: str, direction: int) -> str:
    """All steps of one direction: hidden states, then the last state of each kind."""
    node, rows = layer.node, layer.gates * layer.hidden
    weights = node.step("transpose", [layer.part(1, direction, 0, rows)], perm=(1, 0))
    recurrent = node.step("transpose", [layer.part(2, direction, 0, rows)], perm=(1, 0))
    given = node.step("matmul", [x, weights])
    linear = int(node.get("linear_before_reset", 0)) if node.op == "GRU" else 0
    inner = ""
    if node.has(3):
        bias, inner = _biases(layer, direction, linear)
        given = node.step("add", [given, bias])
    states = [_first(layer, 5 + kind, direction) for kind in range(layer.kinds)]
    reverse = int(direction == 1 or node.get("direction", "forward") == "reverse")
    options = _activations(layer, direction)
    operands = [given, recurrent, *states]
    if node.op == "GRU":
        operands.append(inner)
        options["linear_before_reset"] = linear
    if node.op == "LSTM":
        operands.append(_peepholes(layer, direction))
    return node.step(node.op.lower(), [*operands, _lengths(layer)], reverse=reverse, **options)


def _biases(layer: _Layer, direction: int, linear: int) -> tuple[str, str]:
    """What is added to a step's input, and to the recurrent product of a hidden gate."""
    node, hidden, rows = layer.node, layer.hidden, layer.gates * layer.hidden
    if not linear:
        own, other = (layer.part(3, direction, first, rows) for first in (0, rows))
        return node.step("add", [own, other]), ""
    own, other = (layer.part(3, direction, first, 2 * hidden) for first in (0, rows))
    both = node.step("add", [own, other])
    last = layer.part(3, direction, 2 * hidden, hidden)
    joined = node.step("concat", [both, last], axis=0)
    return joined, layer.part(3, direction, rows + 2 * hidden, hidden)


def _first(layer: _Layer, index: int, direction: int) -> str:
    """A state before the first step; nothing where it is zeros."""
    node, shape = layer.node, (layer.batch, layer.hidden)
    if not node.has(index):
        return ""
    if not node.get("layout", 0):
        return layer.part(index, direction, 0, layer.batch)
    taken = node.step(
        "slice", [node.inputs[index]], starts=(0, direction, 0), steps=(1, 1, 1),
        shape=(layer.batch, 1, layer.hidden),
    )  # fmt: skip
    return node.step("reshape", [taken], shape=shape)


def _peepholes(layer: _Layer, direction: int) -> str:
    if not layer.node.has(7):
        return ""
    taken = layer.part(7, direction, 0, 3 * layer.hidden)
    return layer.node.step("reshape", [taken], shape=(3, layer.hidden))


def _lengths(layer: _Layer) -> str:
    """How many steps each image has; nothing where all have all."""
    node = layer.node
    if not node.has(4):
        return ""
    known = node.importer.known.get(node.inputs[4])
    if known is None:
        return node.inputs[4]
    if known.min() < 0 or known.max() > layer.steps:
        raise node.wrong(f"sequence_lens {known.tolist()} are not all in 0 .. {layer.steps}")
    return "" if (known == layer.steps).all() else node.inputs[4]


def _activations(layer: _Layer, direction: int) -> dict[str, Attribute]:
    """The activations of one direction, and the alpha and beta of each."""
    node, usual = layer.node, CELLS[layer.node.op][2]
    given = node.get("activations", None)
    names = [_text(n).lower() for n in given] if given else [*usual] * layer.directions
    if len(names) != len(usual) * layer.directions:
        raise node.wrong(f"{len(names)} activations, not {len(usual) * layer.directions}")
    unknown = next((name for name in names if name not in ACTIVATIONS), None)
    if unknown is not None:
        raise node.unsupported(f"the activation {unknown!r} is not taken",
                               f"known: {', '.join(ACTIVATIONS)}")  # fmt: skip
    alpha = _consumed(node, "activation_alpha", names, 0)
    beta = _consumed(node, "activation_beta", names, 1)
    own = slice(direction * len(usual), (direction + 1) * len(usual))
    return {
        "activations": " ".join(names[own]), "alpha": tuple(alpha[own]), "beta": tuple(beta[own]),
        "clip": float(node.get("clip", 0.0)),
    }  # fmt: skip


def _text(name: object) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def _consumed(node: OnnxNode, attribute: str, names: Sequence[str], place: int) -> list[float]:
    """Values of an attribute, in the order of the activations that take one."""
    rest = [float(value) for value in node.get(attribute, ())]
    found: list[float] = []
    for name in names:
        _, *both = ACTIVATIONS[name]
        usual = both[place]
        if usual is None:
            found.append(0.0)
            continue
        found.append(rest.pop(0) if rest else usual)
    if rest:
        raise node.wrong(f"{attribute} has {len(rest)} more value(s) than activations take")
    return found


def _outputs(layer: _Layer, every: Sequence[str]) -> None:
    """The node's outputs: hidden states of all steps, and the last state of each kind."""
    node, steps, batch, hidden = layer.node, layer.steps, layer.batch, layer.hidden
    for output, name in enumerate(node.outputs):
        if not name:
            continue
        row, count = (0, steps) if output == 0 else (steps + output - 1, 1)
        parts = [
            node.step("slice", [made], starts=(row, 0, 0), steps=(1, 1, 1),
                      shape=(count, batch, hidden))
            for made in every
        ]  # fmt: skip
        axis = 1 if output == 0 else 0
        wide = (count, 1, batch, hidden) if output == 0 else (1, batch, hidden)
        joined = [node.step("reshape", [part], shape=wide) for part in parts]
        if not node.get("layout", 0):
            node.define("concat", joined, output=output, axis=axis)
            continue
        whole = node.step("concat", joined, axis=axis)
        perm = (2, 0, 1, 3) if output == 0 else (1, 0, 2)
        node.define("transpose", [whole], output=output, perm=perm)
