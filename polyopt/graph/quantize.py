"""Static quantisation: a network of floats as one of 8-bit integers, calibrated on samples.

Operands of convolutions and of products with constant weights are quantised: tensors to ``u8`` by
the least and greatest element that the samples give them, weights to ``i8`` by the greatest
magnitude of each output channel. All else stays in floats, and a pass makes sums of products of
integers of the rest (``IntegerProducts``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, cast

import numpy as np

from polyopt.arguments import checks_arguments
from polyopt.errors import ArgumentError, InvalidOptionError
from polyopt.graph.compiling import compile_model
from polyopt.graph.ir.graph import Graph
from polyopt.graph.onnx import load_onnx
from polyopt.graph.operators import called
from polyopt.graph.passes import FoldBatchNorm, FoldConstants, FoldIdioms, FoldPads, run_passes
from polyopt.graph.passes.base import Mutator
from polyopt.graph.save import save_onnx
from polyopt.ir.types import I8, U8

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from polyopt.graph.execution.model import Model
    from polyopt.graph.ir.graph import Array, Node

#: operators whose operands are quantised
QUANTISED = ("conv", "gemm", "matmul")
#: what comes before: constants, and batch normalisation in the weights of convolutions
_BEFORE = (FoldConstants(), FoldIdioms(), FoldPads(), FoldBatchNorm())


@dataclass(frozen=True)
class LayerAccuracy:
    """A quantised node: what the samples gave its operand, and how much of its result is noise."""

    name: str
    op: str
    low: float
    high: float
    #: signal to quantisation noise of its result, with that of all before it, in decibels
    sqnr_db: float


@dataclass(frozen=True)
class OutputAccuracy:
    """A result beside that of floats, over all samples."""

    name: str
    largest_error: float
    #: the largest magnitude of the floats
    largest: float
    sqnr_db: float
    #: the share of rows whose greatest element is the same one, of a matrix
    same_first: float | None


@dataclass(frozen=True, eq=False)
class Quantized:
    """A quantised network. ``str`` is the accuracy report.

    ``compile()`` makes a model of it, with the options of ``po.compile_model``.
    """

    graph: Graph
    layers: tuple[LayerAccuracy, ...]
    outputs: tuple[OutputAccuracy, ...]

    def compile(self, **options: object) -> Model:
        """The network as a function on NumPy arrays. Raises what ``po.compile_model`` raises."""
        return compile_model(self.graph, **options)  # type: ignore[arg-type]

    def save(self, path: str | Path) -> None:
        """Write the network as an ONNX file of floats between ``QuantizeLinear`` and
        ``DequantizeLinear`` (QDQ). Raises what ``save_onnx`` raises."""
        save_onnx(self.graph, path)

    def __str__(self) -> str:
        """A line for each quantised node, and one for each result."""
        lines = [f"{self.graph.name}: {len(self.layers)} nodes quantised"]
        width = max([len(layer.name) for layer in self.layers], default=0)
        for layer in self.layers:
            span = f"{layer.low:.4g} .. {layer.high:.4g}"
            lines.append(f"  {layer.name:{width}}  {layer.op:7} operand {span:24} "
                         f"result {layer.sqnr_db:.1f} dB")  # fmt: skip
        for output in self.outputs:
            same = "" if output.same_first is None else f", same first {output.same_first:.1%}"
            lines.append(f"  {output.name}: error up to {output.largest_error:.3g} of "
                         f"{output.largest:.3g}, {output.sqnr_db:.1f} dB{same}")  # fmt: skip
        return "\n".join(lines)


@checks_arguments
def quantize(
    model: object,
    samples: Sequence[object],
    *,
    per_channel: bool = True,
    exclude: Sequence[str] = (),
) -> Quantized:
    """A network of f32 with convolutions and products of 8-bit integers, and how accurate it is.

    For example::

        quantised = po.quantize("resnet50.onnx", images)
        print(quantised)
        y = quantised.compile()(x)

    ``model`` is a ``Graph``, or what ``load_onnx`` takes. ``samples`` are inputs as it gets them:
    arrays, or mappings of names to arrays where it has several; they should be like those of use.
    ``per_channel`` gives each output channel of weights a scale of its own. ``exclude`` names
    nodes and operators that stay in floats.

    Raises ``InvalidOptionError`` without samples, for names that the network has not, and where
    nothing is left to quantise; ``ArgumentError`` for samples that do not fit, or with NaN; and
    what ``load_onnx`` and ``compile_model`` raise.
    """
    given = model if isinstance(model, Graph) else load_onnx(model)
    graph = run_passes(given, _BEFORE).graph
    fed = [_fed(graph, sample) for sample in samples]
    if not fed:
        raise InvalidOptionError("no samples to calibrate with",
                                 hint="give a few inputs like those of use")  # fmt: skip
    chosen = _chosen(graph, exclude)
    operands = dict.fromkeys(node.inputs[0] for node in chosen)
    results = dict.fromkeys([*(node.name for node in chosen), *graph.outputs])
    floats = _run(graph, tuple({**operands, **results}), fed)
    ranges = {name: _range(name, floats[name]) for name in operands}
    made = _Quantiser(frozenset(n.name for n in chosen), ranges, per_channel=per_channel)
    quantised = made.mutate(graph)
    integers = _run(quantised, tuple(results), fed)
    layers = tuple(
        LayerAccuracy(
            node.name, node.op, *ranges[node.inputs[0]],
            _sqnr(floats[node.name], integers[node.name]),
        )
        for node in chosen
    )  # fmt: skip
    outputs = tuple(_output(name, floats[name], integers[name]) for name in graph.outputs)
    return Quantized(quantised, layers, outputs)


def _fed(graph: Graph, sample: object) -> dict[str, Array]:
    if isinstance(sample, np.ndarray) and len(graph.inputs) == 1:
        return {graph.inputs[0].name: sample}
    if not isinstance(sample, dict):
        names = ", ".join(v.name for v in graph.inputs)
        kind = type(cast("object", sample)).__name__
        raise ArgumentError(f"a sample is a {kind}",
                            hint=f"give an array, or a dictionary with {names}")  # fmt: skip
    return cast("dict[str, Array]", sample)


def _chosen(graph: Graph, exclude: Sequence[str]) -> list[Node]:
    """The nodes whose operands are quantised. Raises ``InvalidOptionError``."""
    known = {name for node in graph.nodes for name in called(node)}
    unknown = next((name for name in exclude if name not in known), None)
    if unknown is not None:
        near = get_close_matches(unknown, known, n=3)
        nodes = ", ".join(node.name for node in graph.nodes if node.op in QUANTISED)
        hint = f"did you mean {' or '.join(near)}?" if near else f"could be quantised: {nodes}"
        msg = f"the network has no node and no operator {unknown!r}"
        raise InvalidOptionError(msg, hint=hint)
    values = graph.values
    found = [
        node for node in graph.nodes
        if node.op in QUANTISED and node.inputs[1] in graph.constants
        and node.inputs[0] not in graph.constants and values[node.name].dtype.name == "f32"
        and len(values[node.inputs[1]].shape) > 1 and not called(node) & {*exclude}
    ]  # fmt: skip
    if not found:
        raise InvalidOptionError(f"{graph.name} has nothing to quantise: no convolution and no"
                                 " product with constant weights of f32 is left")  # fmt: skip
    return found


def _run(
    graph: Graph, names: tuple[str, ...], fed: Sequence[Mapping[str, Array]]
) -> dict[str, list[Array]]:
    """Those tensors, for each sample."""
    inputs = {value.name for value in graph.inputs}
    computed = tuple(name for name in names if name not in inputs)
    observed = compile_model(replace(graph, outputs=computed, lengths=()))
    found: dict[str, list[Array]] = {name: [] for name in names}
    for sample in fed:
        arrays = {**sample, **dict(zip(computed, observed.run(sample), strict=True))}
        for name in names:
            found[name].append(arrays[name].copy())
    return found


def _range(name: str, arrays: Sequence[Array]) -> tuple[float, float]:
    """The least and greatest element, and 0. Raises ``ArgumentError``."""
    low, high = (float(end([end(a) for a in arrays])) for end in (np.min, np.max))
    if not np.isfinite([low, high]).all():
        raise ArgumentError(f"a sample makes {name} infinite or NaN")
    return min(low, 0.0), max(high, 0.0)


class _Quantiser(Mutator):
    """Puts tensors through integers and back, each once, and stores weights as integers."""

    def __init__(
        self,
        chosen: frozenset[str],
        ranges: Mapping[str, tuple[float, float]],
        *,
        per_channel: bool,
    ) -> None:
        self.chosen, self.ranges, self.per_channel = chosen, ranges, per_channel
        self.tensors: dict[str, str] = {}

    def mutate_node(self, graph: Graph, node: Node) -> None:
        """Quantise the operands of chosen nodes."""
        if node.name not in self.chosen:
            self.new.nodes.append(node)
            return
        x, w, *rest = node.inputs
        inputs = (self._tensor(x), self._weights(graph, node, w), *rest)
        self.new.nodes.append(replace(node, inputs=inputs))

    def _tensor(self, name: str) -> str:
        if name not in self.tensors:
            low, high = self.ranges[name]
            scale = np.float32((high - low) / U8.range[1]) or np.float32(1.0)
            zero = np.uint8(np.clip(np.rint(-low / scale), *U8.range))
            given = [self.new.constant(f"{name}_scale", np.array(scale, np.float32)),
                     self.new.constant(f"{name}_zero", np.array(zero, np.uint8))]  # fmt: skip
            whole = self.new.node(self.new.fresh(f"{name}_quantized"), "quantize",
                                  [name, *given], to=U8.name)  # fmt: skip
            self.tensors[name] = self.new.node(
                self.new.fresh(f"{name}_dequantized"), "dequantize", [whole, *given]
            )
        return self.tensors[name]

    def _weights(self, graph: Graph, node: Node, name: str) -> str:
        weights = graph.constants[name]
        axis = _output_axis(node, weights.ndim) if self.per_channel else None
        over = tuple(d for d in range(weights.ndim) if d != axis)
        most = np.abs(weights).max(axis=over, keepdims=True)
        scale = np.where(most > 0, most / I8.range[1], 1.0).astype(np.float32)
        whole = np.clip(np.rint(weights / scale), -I8.range[1], I8.range[1]).astype(np.int8)
        given = [self.new.constant(f"{name}_quantized", whole),
                 self.new.constant(f"{name}_scale", scale)]  # fmt: skip
        fresh = self.new.fresh(f"{name}_dequantized")
        return self.new.node(fresh, "dequantize", given)


def _output_axis(node: Node, rank: int) -> int | None:
    """The axis of weights that is one of the result's; ``None`` where there is none."""
    if node.op == "conv":
        return 0
    if node.op == "gemm":
        return 0 if dict(node.attributes).get("trans_b", 0) else 1
    return 1 if rank == 2 else None


# -- accuracy -----------------------------------------------------------------------------------


def _sqnr(exact: Sequence[Array], found: Sequence[Array]) -> float:
    pairs = list(zip(exact, found, strict=True))
    signal = sum(float(np.square(one, dtype=np.float64).sum()) for one, _ in pairs)
    noise = sum(float(np.square(two.astype(np.float64) - one).sum()) for one, two in pairs)
    return float(10 * np.log10(signal / noise)) if signal and noise else float("inf")


def _output(name: str, exact: Sequence[Array], found: Sequence[Array]) -> OutputAccuracy:
    pairs = list(zip(exact, found, strict=True))
    error = max(float(np.abs(two.astype(np.float64) - one).max()) for one, two in pairs)
    largest = max(float(np.abs(one).max()) for one in exact)
    alike = [one.argmax(-1) == two.argmax(-1) for one, two in pairs if one.ndim == 2]
    same = float(np.concatenate(alike).mean()) if alike else None
    return OutputAccuracy(name, error, largest, _sqnr(exact, found), same)
