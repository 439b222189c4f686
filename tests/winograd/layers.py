"""Layers of 3 x 3 weights as ONNX models, computed by each that there is to compare."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import polyopt as po
from polyopt.codegen.target import target
from polyopt.graph import default_passes
from polyopt.graph.passes import SelectLayout, UseWinograd
from polyopt.graph.winograd import cost, rounding

PADS = (1, 1, 1, 1)
#: channels, and rows and columns of their maps, of a residual network's stages; then others
LAYERS = ((64, 56), (128, 28), (256, 14), (512, 7), (32, 56), (96, 35))


@dataclass(frozen=True)
class Layer:
    """A convolution with as many results as channels, and a ReLU."""

    channels: int
    side: int

    @property
    def name(self) -> str:
        """As the page has it."""
        return f"{self.channels} of {self.side} x {self.side}"

    @cached_property
    def weights(self) -> np.ndarray[Any, Any]:
        """``[co][c][3][3]``, so that results are as large as the operand."""
        random = np.random.default_rng(self.channels)
        shape = (self.channels, self.channels, 3, 3)
        scale = (2.0 / (9 * self.channels)) ** 0.5
        return (random.standard_normal(shape) * scale).astype(np.float32)

    @cached_property
    def image(self) -> np.ndarray[Any, Any]:
        """What a ReLU leaves of normally distributed elements."""
        random = np.random.default_rng(self.side)
        shape = (1, self.channels, self.side, self.side)
        return np.maximum(random.standard_normal(shape), 0).astype(np.float32)

    def model(self, *, relu: bool = True) -> Any:
        """The ``ModelProto``."""
        kind, shape = TensorProto.FLOAT, list(self.image.shape)
        nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=list(PADS))]
        nodes += [helper.make_node("Relu", ["y"], ["z"])] if relu else []
        graph = helper.make_graph(
            nodes, "layer",
            [helper.make_tensor_value_info("x", kind, shape)],
            [helper.make_tensor_value_info(nodes[-1].output[0], kind, shape)],
            [numpy_helper.from_array(self.weights, "w")],
        )  # fmt: skip
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def compiled(self, tile: int, *, relu: bool = True) -> Any:
        """Ours in tiles of that size; 0 as it is defined."""
        passes = list(default_passes())
        if tile:
            place = next(k for k, p in enumerate(passes) if isinstance(p, SelectLayout))
            passes.insert(place + 1, UseWinograd((tile,), always=True))
        return po.compile_model(self.model(relu=relu), passes=passes, check=False)

    def runtime(self, threads: int = 1) -> Any:
        """ONNX Runtime's session, whose threads do not spin."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(
            self.model().SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def predicted(self, tile: int) -> float:
        """Milliseconds that the model predicts; of tiles of size 0 for a direct convolution."""
        machine = target()
        lanes = machine.lanes(4)
        blocks = -(-self.channels // lanes)
        layer = cost.Layer(1, self.side, self.side, blocks, blocks, lanes)
        ns = cost.tiled_ns(layer, tile, machine) if tile else cost.direct_ns(layer, machine)
        return ns / 1e6

    def errors(self, tile: int) -> dict[str, float]:
        """How far results without the ReLU are from those of doubles, and the bounds of that."""
        exact = rounding.exact_convolution(self.image, self.weights, PADS)
        found = rounding.errors(self.compiled(tile, relu=False)(self.image), exact)
        scale = float(np.abs(exact).max())
        sums = float(np.abs(self.weights).sum((1, 2, 3)).max() * np.abs(self.image).max())
        if tile:
            each = rounding.error_bound(self.image, self.weights, tile, PADS)
            most = float(each.max()) / scale
            stated = rounding.relative_bound(tile, self.channels) * sums / scale
        else:
            stated = rounding.direct_bound(self.channels) * sums / scale
            bare = rounding.exact_convolution(self.image, np.abs(self.weights), PADS)
            most = float(bare.max()) * rounding.direct_bound(self.channels) / scale
        return {"most": found.most, "rms": found.rms, "bound": most, "stated": stated}
