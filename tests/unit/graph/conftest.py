"""Small graphs, built by hand."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.graph import Graph, Node, Value, attributes
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
