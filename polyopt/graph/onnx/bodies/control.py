"""Control flow: branches that a known condition chooses, and loops of known numbers of steps.

The nodes of a body take the node's place, once for each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.graph.onnx.bodies.functions import free_prefix, made_names, rename
from polyopt.graph.onnx.context import as_ints
from polyopt.graph.onnx.weights import read_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.graph.onnx.context import OnnxNode

    #: reads a node of a body into the graph
    Convert = Callable[[Any], None]

#: nodes that a loop may become
_MOST_NODES = 1 << 12


def branch(node: OnnxNode, convert: Convert) -> None:
    """``If``: the branch that a known condition chooses, in its place."""
    if len(node.inputs) != 1 or not node.inputs[0]:
        raise node.wrong("it takes one condition")
    condition = node.importer.known.get(node.inputs[0])
    if condition is None or condition.size != 1:
        raise node.unsupported("its condition has to be a constant",
                               "control flow that depends on data is not taken")  # fmt: skip
    wanted = "then_branch" if condition.item() else "else_branch"
    body = node.get(wanted)
    if body is None:
        raise node.wrong(f"it has no {wanted}")
    read_weights(node.importer, body, node.title, node.span)
    for inner in body.node:
        convert(inner)
    if len(body.output) != len(node.outputs):
        raise node.wrong(f"its branch has {len(body.output)} results, not {len(node.outputs)}")
    _name_results(node, [_made(node, entry.name) for entry in body.output])


def loop(node: OnnxNode, convert: Convert) -> None:
    """``Loop``: as many steps as are known to be."""
    going = True
    if node.has(1):
        going = bool(node.number(1))
    most, states = node.number(0), list(node.inputs[2:])
    body = _Body.of(node, 2 + len(states), 1 + len(states), convert)
    rows: list[list[str]] = []
    for step in count():
        if not going or (most is not None and step >= most):
            break
        number = node.constant(np.array(step, np.int64), "step")
        flag = node.constant(np.array(True), "going")
        goes_on, *results = body.step(step, [number, flag, *states])
        known = node.importer.known.get(goes_on)
        if known is None or known.size != 1:
            raise node.unsupported("its condition after each step has to be a constant",
                                   "control flow that depends on data is not taken")  # fmt: skip
        going = bool(known.item())
        states = results[: len(states)]
        rows.append(results[len(states) :])
    _name_results(node, states)
    _stack_rows(node, len(states), rows, (), ())


def scan(node: OnnxNode, convert: Convert) -> None:
    """``Scan``: a step for each slice of its scanned inputs."""
    if node.opset < 9:
        raise node.unsupported("before opset 9 it is not taken", "convert the model to opset 9")
    scanned_count = int(node.get("num_scan_inputs", 0))
    first = len(node.inputs) - scanned_count
    states, scanned = list(node.inputs[:first]), node.inputs[first:]
    if first < 0 or not scanned:
        raise node.wrong(f"{scanned_count} of its {len(node.inputs)} inputs cannot be scanned")
    axes = _given(node, "scan_input_axes", scanned_count)
    backwards = _given(node, "scan_input_directions", scanned_count)
    shapes = [node.shape_of(name) for name in scanned]
    fits = all(-len(shape) <= axis < len(shape) for shape, axis in zip(shapes, axes, strict=True))
    steps = {shape[axis] for shape, axis in zip(shapes, axes, strict=True)} if fits else set[int]()
    if len(steps) != 1:
        raise node.wrong(f"its scanned inputs {shapes} do not have as many slices each")
    (steps_count,) = steps
    body = _Body.of(node, len(node.inputs), len(states), convert)
    rows: list[list[str]] = []
    for step in range(steps_count):
        slices = [
            _slice_of(node, name, axis, steps_count - 1 - step if back else step)
            for name, axis, back in zip(scanned, axes, backwards, strict=True)
        ]
        results = body.step(step, [*states, *slices])
        states = results[: len(states)]
        rows.append(results[len(states) :])
    _name_results(node, states)
    results_count = len(node.outputs) - len(states)
    _stack_rows(node, len(states), rows, _given(node, "scan_output_axes", results_count),
                _given(node, "scan_output_directions", results_count))  # fmt: skip


#: operators with graphs inside, and what reads each
CONTROL: dict[str, Callable[[OnnxNode, Convert], None]] = {
    "If": branch, "Loop": loop, "Scan": scan,
}  # fmt: skip


def _given(node: OnnxNode, name: str, length: int) -> tuple[int, ...]:
    """A number for each scanned tensor, 0 unless given. Raises ``GraphError``."""
    found = as_ints(node.get(name, (0,) * length))
    if len(found) != length:
        raise node.wrong(f"{name} has {len(found)} number(s), not {length}")
    return found


@dataclass(frozen=True)
class _Body:
    """The body of a loop, and how to put a step of it into the graph."""

    node: OnnxNode
    graph: Any
    prefix: str
    convert: Convert

    @classmethod
    def of(cls, node: OnnxNode, inputs: int, outputs: int, convert: Convert) -> _Body:
        """The body, its arrays known. Raises ``GraphError`` for one that does not fit its node."""
        import onnx

        given = node.get("body")
        if given is None or len(given.input) != inputs or len(given.output) < outputs:
            raise node.wrong("its body does not have its inputs and states")
        if not all(node.inputs[2:] if node.op == "Loop" else node.inputs):
            raise node.wrong("one of its states is missing")
        graph = onnx.GraphProto()
        graph.CopyFrom(given)
        prefix = free_prefix(node.importer, next(filter(None, node.outputs)))
        rename(graph, {tensor.name: f"{prefix}{tensor.name}" for tensor in graph.initializer})
        read_weights(node.importer, graph, node.title, node.span)
        del graph.initializer[:]
        return cls(node, graph, prefix, convert)

    def step(self, number: int, inputs: Sequence[str]) -> list[str]:
        """The tensors that a step makes of these.

        Raises ``UnsupportedError`` for too many steps.
        """
        import onnx

        if (number + 1) * max(1, len(self.graph.node)) > _MOST_NODES:
            raise self.node.unsupported(
                f"its steps are more than {_MOST_NODES} nodes", "loops are written out step by step"
            )
        graph = onnx.GraphProto()
        graph.CopyFrom(self.graph)
        names = {name: f"{self.prefix}{number}_{name}" for name in made_names(graph)}
        names |= {entry.name: name for entry, name in zip(graph.input, inputs, strict=True)}
        rename(graph, names)
        for inner in graph.node:
            self.convert(inner)
        return [_made(self.node, entry.name) for entry in graph.output]


def _made(node: OnnxNode, name: str) -> str:
    """The tensor that a body's result is. Raises ``GraphError`` where there is none."""
    found = node.importer.resolve(name)
    if found not in node.importer.values:
        raise node.wrong(f"its body gives {name!r}, which does not exist")
    return found


def _name_results(node: OnnxNode, made: Sequence[str]) -> None:
    """The node's first outputs are these tensors."""
    for name, result in zip(node.outputs, made, strict=False):
        if name:
            node.importer.aliases[name] = result


def _slice_of(node: OnnxNode, name: str, axis: int, place: int) -> str:
    """One slice of a tensor, without the axis."""
    shape = node.shape_of(name)
    d = axis % len(shape)
    known = node.importer.known.get(name)
    if known is not None:
        return node.constant(np.take(known, place, axis=d), "slice")
    taken = node.step(
        "slice", [name], starts=tuple(place if k == d else 0 for k in range(len(shape))),
        steps=(1,) * len(shape), shape=(*shape[:d], 1, *shape[d + 1 :]),
    )  # fmt: skip
    return node.step("reshape", [taken], shape=(*shape[:d], *shape[d + 1 :]))


def _stack_rows(
    node: OnnxNode,
    first: int,
    rows: Sequence[Sequence[str]],
    axes: Sequence[int],
    backwards: Sequence[int],
) -> None:
    """The node's outputs from ``first`` on: what each step gave, along an axis of its own."""
    for k, name in enumerate(node.outputs[first:]):
        if not name:
            continue
        if not rows:
            raise node.unsupported("it has no steps, and results of 0 elements are not taken")
        parts = [row[k] for row in rows]
        _stack(node, first + k, parts[::-1] if backwards and backwards[k] else parts,
               axes[k] if axes else 0)  # fmt: skip


def _stack(node: OnnxNode, output: int, parts: Sequence[str], axis: int) -> None:
    """Tensors of one shape, one after the other along a new axis."""
    known = [node.importer.known.get(part) for part in parts]
    shape = node.shape_of(parts[0])
    if not -len(shape) - 1 <= axis <= len(shape):
        raise node.wrong(f"there is no axis {axis}")
    d = axis % (len(shape) + 1)
    arrays = [array for array in known if array is not None]
    if len(arrays) == len(parts):
        stacked = np.stack(arrays, axis=d)
        node.importer.constant(node.outputs[output], stacked, node.span)
        return
    wide = (*shape[:d], 1, *shape[d:])
    if len(parts) == 1:
        node.define("reshape", parts, output=output, shape=wide)
        return
    shaped = [node.step("reshape", [part], shape=wide) for part in parts]
    node.define("concat", shaped, output=output, axis=d)
