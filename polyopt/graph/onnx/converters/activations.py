"""Converters of activations, elementary functions, bits and remainders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.graph.onnx.context import converts, converts_as

if TYPE_CHECKING:
    from polyopt.graph.onnx.context import OnnxNode

converts_as({
    "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan",
    "Atanh": "atanh", "BitwiseAnd": "bitwise_and", "BitwiseNot": "bitwise_not",
    "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "Cosh": "cosh", "Mish": "mish",
    "Round": "rint", "Sinh": "sinh", "Softsign": "softsign", "Tan": "tan",
})  # fmt: skip


@converts("Celu")
def _celu(node: OnnxNode) -> None:
    node.define("celu", alpha=float(node.get("alpha", 1.0)))


@converts("Selu")
def _selu(node: OnnxNode) -> None:
    alpha = float(node.get("alpha", 1.67326319217681884765625))
    node.define("selu", alpha=alpha, gamma=float(node.get("gamma", 1.05070102214813232421875)))


@converts("ThresholdedRelu")
def _thresholded_relu(node: OnnxNode) -> None:
    node.define("thresholded_relu", alpha=float(node.get("alpha", 1.0)))


@converts("Shrink")
def _shrink(node: OnnxNode) -> None:
    node.define("shrink", limit=float(node.get("lambd", 0.5)), bias=float(node.get("bias", 0.0)))


@converts("IsInf")
def _is_inf(node: OnnxNode) -> None:
    node.define("is_inf", negative=int(node.get("detect_negative", 1)),
                positive=int(node.get("detect_positive", 1)))  # fmt: skip


@converts("Sign")
def _sign(node: OnnxNode) -> None:
    if not node.value(0).dtype.is_float:
        node.define("sign")
        return
    found, unknown = (node.step(op, node.inputs) for op in ("sign", "is_nan"))
    node.define("where", [unknown, node.inputs[0], found])


@converts("BitShift")
def _bit_shift(node: OnnxNode) -> None:
    direction = str(node.get("direction", ""))
    ours = {"LEFT": "shift_left", "RIGHT": "shift_right"}
    if direction not in ours:
        raise node.wrong(f"a direction is LEFT or RIGHT, not {direction!r}")
    node.define(ours[direction])


@converts("Mod")
def _mod(node: OnnxNode) -> None:
    is_c = bool(node.get("fmod", 0))
    if node.value(0).dtype.is_float:
        if not is_c and node.opset < 28:
            raise node.wrong("before opset 28 remainders of floats need fmod=1")
        node.define("fmod" if is_c else "remainder")
        return
    node.define("fmod" if is_c else "remainder")
