"""Small graphs, built by hand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from polyopt.bench.networks import network
from polyopt.graph import Graph, Node, Value, attributes, compile_model
from polyopt.ir.types import F32


class Net:
    """A graph in the making; each call adds a node and gives its name."""

    def __init__(self, *shape, seed=0):
        self.rng = np.random.default_rng(seed)
        self.inputs = [Value("x", shape, F32)]
        self.constants, self.nodes = {}, []

    def const(self, name, *shape, around=0.0):
        self.constants[name] = (self.rng.standard_normal(shape) * 0.3 + around).astype(np.float32)
        return name

    def add(self, name, op, *inputs, **options):
        self.nodes.append(Node(name, op, inputs, attributes(**options)))
        return name

    def conv(self, name, x, w, *more, stride=1, pad=1, group=1):
        return self.add(
            name,
            "conv",
            x,
            w,
            *more,
            strides=(stride,) * 2,
            pads=(pad,) * 4,
            dilations=(1, 1),
            group=group,
        )

    def norm(self, name, x, channels):
        statistics = [
            self.const(f"{name}_{part}", channels, around=1.0)
            for part in ("scale", "shift", "mean")
        ]
        self.constants[f"{name}_variance"] = self.rng.random(channels).astype(np.float32) + 0.5
        return self.add(name, "batch_norm", x, *statistics, f"{name}_variance", epsilon=1e-5)

    def pool(self, name, x):
        return self.add(
            name, "max_pool", x, kernel=(3, 3), strides=(2, 2), pads=(1,) * 4, dilations=(1, 1)
        )

    def graph(self, *outputs):
        return Graph("net", tuple(self.inputs), dict(self.constants), tuple(self.nodes), outputs)


@pytest.fixture
def net():
    return Net


@pytest.fixture(scope="module")
def net_class():
    return Net


@pytest.fixture
def stem(net):
    """conv + batch_norm + relu + max_pool."""
    n = net(1, 3, 12, 12)
    n.conv("c", "x", n.const("w", 4, 3, 3, 3))
    n.norm("b", "c", 4)
    n.add("r", "relu", "b")
    n.pool("p", "r")
    return n.graph("p")


@pytest.fixture(scope="session")
def compiled_network():
    """Networks by name and options, compiled once for the tests of the group ``networks``."""
    return cache(lambda name, **options: compile_model(network(name, **options)))


@pytest.fixture
def one_layer(tmp_path):
    """A file with a network of one layer."""
    from onnx import TensorProto, helper, numpy_helper, save

    weights = np.random.default_rng(0).standard_normal((2, 3, 3, 3)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["input", "w"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["y"])]  # fmt: skip
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, 16, 16])
            for name, channels in (("input", 3), ("y", 2))]  # fmt: skip
    graph = helper.make_graph(
        nodes, "net", ends[:1], ends[1:], [numpy_helper.from_array(weights, "w")]
    )
    save(helper.make_model(graph), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"
