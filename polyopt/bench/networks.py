"""Networks to measure and test with: random weights, built as ONNX models, nothing downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import MissingExtraError, UnknownNameError
from polyopt.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_OPSET = 17


class Network:
    """An ONNX model in the making: each call adds a layer and returns its tensor's name.

    Weights keep the size of activations about the same from layer to layer. Raises
    ``MissingExtraError`` without ``onnx``.
    """

    def __init__(self, name: str, shape: Sequence[int], seed: int = 0) -> None:
        try:
            import onnx
        except ImportError:
            raise MissingExtraError("networks need onnx", hint=install_command("nn")) from None
        self.onnx: Any = onnx
        self.name = name
        self.shape = tuple(shape)
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.channels = {"input": self.shape[1]}

    def node(self, op: str, inputs: Sequence[str], **attributes: object) -> str:
        """Any ONNX operator with one output."""
        output = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(
            self.onnx.helper.make_node(op, list(inputs), [output], output, **attributes)
        )
        self.channels[output] = self.channels.get(inputs[0], 0)
        return output

    def weight(self, *shape: int, scale: float = 1.0, shift: float = 0.0) -> str:
        """Normally distributed weights."""
        array = (self.rng.standard_normal(shape) * scale + shift).astype(np.float32)
        return self.constant(array)

    def constant(self, array: np.ndarray[Any, Any]) -> str:
        """Given weights."""
        name = f"w{len(self.weights)}"
        self.weights.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def conv(
        self,
        x: str,
        count: int,
        kernel: int,
        stride: int = 1,
        group: int = 1,
        *,
        bias: bool = False,
    ) -> str:
        """A convolution padded so that stride 1 keeps the size."""
        per_group = self.channels[x] // group
        scale = (2.0 / (per_group * kernel * kernel)) ** 0.5
        inputs = [x, self.weight(count, per_group, kernel, kernel, scale=scale)]
        inputs += [self.weight(count, scale=0.1)] if bias else []
        result = self.node(
            "Conv", inputs, pads=[kernel // 2] * 4, strides=[stride] * 2, group=group
        )
        self.channels[result] = count
        return result

    def batch_norm(self, x: str) -> str:
        """Statistics near mean 0 and variance 1."""
        count = self.channels[x]
        spread = np.abs(self.rng.standard_normal(count)) * 0.2 + 0.9
        inputs = [
            x, self.weight(count, scale=0.1, shift=1.0), self.weight(count, scale=0.1),
            self.weight(count, scale=0.1), self.constant(spread.astype(np.float32)),
        ]  # fmt: skip
        return self.node("BatchNormalization", inputs)

    def block(self, x: str, count: int, kernel: int, stride: int = 1, group: int = 1) -> str:
        """Convolution, batch normalisation, ReLU."""
        return self.node("Relu", [self.batch_norm(self.conv(x, count, kernel, stride, group))])

    def classifier(self, x: str, classes: int) -> str:
        """Global mean and a linear layer."""
        flat = self.node("Flatten", [self.node("GlobalAveragePool", [x])])
        count = self.channels[x]
        weights = self.weight(classes, count, scale=count**-0.5)
        return self.node("Gemm", [flat, weights, self.weight(classes, scale=0.1)], transB=1)

    def model(self, output: str) -> Any:  # noqa: ANN401
        """The ``ModelProto``; the input is called ``input``, the output ``output``."""
        helper, kind = self.onnx.helper, self.onnx.TensorProto.FLOAT
        self.nodes[-1].output[0] = "output"
        assert output == self.nodes[-1].name
        graph = helper.make_graph(
            self.nodes, self.name,
            [helper.make_tensor_value_info("input", kind, list(self.shape))],
            [helper.make_tensor_value_info("output", kind, None)],
            self.weights,
        )  # fmt: skip
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=8
        )


def resnet50(batch: int = 1, size: int = 224, classes: int = 1000, width: int = 64) -> Any:  # noqa: ANN401
    """ResNet-50 v1.5: K. He, X. Zhang, S. Ren and J. Sun, 2016, stride in the 3 x 3 convolution.

    8.2 GFLOP for one image of 224 x 224; ``width`` channels after the stem.
    """
    net = Network("resnet50", (batch, 3, size, size))
    x = net.block("input", width, 7, 2)
    x = net.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner = width << stage
        for number in range(blocks):
            stride = 2 if stage and not number else 1
            way = net.block(net.block(x, inner, 1), inner, 3, stride)
            way = net.batch_norm(net.conv(way, 4 * inner, 1))
            if not number:
                x = net.batch_norm(net.conv(x, 4 * inner, 1, stride))
            x = net.node("Relu", [net.node("Add", [way, x])])
    return net.model(net.classifier(x, classes))


def mobilenet(batch: int = 1, size: int = 224, classes: int = 1000, width: int = 32) -> Any:  # noqa: ANN401
    """MobileNetV2: M. Sandler and others, 2018: inverted residuals, depthwise, ReLU6."""
    net = Network("mobilenet", (batch, 3, size, size))
    low, high = net.constant(np.array(0, np.float32)), net.constant(np.array(6, np.float32))

    def cut(x: str) -> str:
        return net.node("Clip", [net.batch_norm(x), low, high])

    x = cut(net.conv("input", width, 3, 2))
    settings = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip
    for expand, count, blocks, first_stride in settings:
        channels = count * width // 32
        for number in range(blocks):
            stride = 1 if number else first_stride
            before, inner = x, net.channels[x] * expand
            y = cut(net.conv(x, inner, 1)) if expand > 1 else x
            y = cut(net.conv(y, inner, 3, stride, group=inner))
            x = net.batch_norm(net.conv(y, channels, 1))
            if stride == 1 and net.channels[before] == channels:
                x = net.node("Add", [before, x])
    return net.model(net.classifier(cut(net.conv(x, 40 * width, 1)), classes))


def unet(batch: int = 1, size: int = 128, classes: int = 2, width: int = 16) -> Any:  # noqa: ANN401
    """A small U-Net: O. Ronneberger, P. Fischer and T. Brox, 2015, upwards by interpolation."""
    net = Network("unet", (batch, 3, size, size))
    x, kept = "input", list[str]()
    for level in range(3):
        x = net.block(net.block(x, width << level, 3), width << level, 3)
        kept.append(x)
        x = net.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = net.block(x, width << 3, 3)
    scales = net.constant(np.array([1, 1, 2, 2], np.float32))
    for level in (2, 1, 0):
        up = net.node("Resize", [x, "", scales], mode="linear")
        joined = net.node("Concat", [up, kept[level]], axis=1)
        net.channels[joined] = net.channels[up] + net.channels[kept[level]]
        x = net.block(net.block(joined, width << level, 3), width << level, 3)
    return net.model(net.conv(x, classes, 1, bias=True))


NETWORKS: dict[str, Callable[..., Any]] = {
    "resnet50": resnet50,
    "mobilenet": mobilenet,
    "unet": unet,
}


def network(name: str, **options: int) -> Any:  # noqa: ANN401
    """The ONNX model of that name. Raises ``UnknownNameError``, ``MissingExtraError``."""
    if name not in NETWORKS:
        msg = f"no network is called {name!r}"
        raise UnknownNameError(msg, hint="there are: " + ", ".join(NETWORKS))
    return NETWORKS[name](**options)
