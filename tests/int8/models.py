"""Residual networks of floats as ONNX models: random weights, statistics as training leaves them."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


class Net:
    """A model in the making; each call adds nodes and gives the name of the last one's result."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, array):
        """A name for an array of weights."""
        name = f"w{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def op(self, kind, inputs, **attributes):
        """A node of one result."""
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def conv(self, x, before, channels, side, stride, *, relu=True):
        """Convolution and batch normalisation, with ReLU behind them or not."""
        draw = self.random
        deviation = np.sqrt(2 / (before * side * side))
        weights = draw.standard_normal((channels, before, side, side)) * deviation
        x = self.op("Conv", [x, self.constant(weights)], strides=[stride] * 2,
                    pads=[side // 2] * 4, kernel_shape=[side] * 2)  # fmt: skip
        statistics = [draw.uniform(0.7, 1.3, channels), draw.normal(0, 0.2, channels),
                      draw.normal(0, 0.2, channels), draw.uniform(0.5, 1.5, channels)]  # fmt: skip
        x = self.op("BatchNormalization", [x, *map(self.constant, statistics)], epsilon=1e-5)
        return self.op("Relu", [x]) if relu else x

    def block(self, x, before, channels, stride):
        """Two convolutions, and the sum with what they are computed from."""
        y = self.conv(x, before, channels, 3, stride)
        y = self.conv(y, channels, channels, 3, 1, relu=False)
        if stride != 1 or before != channels:
            x = self.conv(x, before, channels, 1, stride, relu=False)
        return self.op("Relu", [self.op("Add", [y, x])])


def resnet(side, *, blocks=2, widths=(64, 128, 256, 512), classes=1000, seed=0) -> ModelProto:
    """A residual network (K. He et al., 2016) for images of a side: ResNet-18, unless stages have
    other blocks and widths."""
    net = Net(seed)
    x = net.conv("x", 3, widths[0], 7, 2)
    x = net.op("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    before = widths[0]
    for stage, channels in enumerate(widths):
        x = net.block(x, before, channels, 2 if stage else 1)
        for _ in range(blocks - 1):
            x = net.block(x, channels, channels, 1)
        before = channels
    x = net.op("Flatten", [net.op("GlobalAveragePool", [x])])
    weights = net.random.standard_normal((classes, before)) / np.sqrt(before)
    bias = net.constant(net.random.normal(0, 0.1, classes))
    net.nodes.append(
        helper.make_node("Gemm", [x, net.constant(weights), bias], ["y"], "fc", transB=1)
    )
    graph = helper.make_graph(
        net.nodes, "resnet18",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, side, side])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, classes])],
        net.constants,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
