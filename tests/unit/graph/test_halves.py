"""Networks of 16-bit floats: rounded node by node, computed with as f32."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from polyopt.errors import ArgumentError
from polyopt.graph import compile_model, load_onnx
from polyopt.graph.execution.run import random_inputs

KINDS = {
    "f16": (TensorProto.FLOAT16, np.float16),
    "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
}
#: half a unit in the last place of numbers up to 1
HALF_UNIT = {"f16": 2.0**-12, "bf16": 2.0**-9}


def network(kind):
    """A convolution, its activation, pooling, a product and a softmax."""
    number, dtype = KINDS[kind]
    rng = np.random.default_rng(0)
    weights = {
        "w": 0.2 * rng.standard_normal((8, 3, 3, 3)), "b": rng.standard_normal(8),
        "dense": 0.2 * rng.standard_normal((8 * 16, 10)),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["conv"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv"], ["act"]),
        helper.make_node("MaxPool", ["act"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pool"], ["flat"]),
        helper.make_node("MatMul", ["flat", "dense"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["y"]),
    ]
    stored = {name: array.astype(dtype) for name, array in weights.items()}
    graph = helper.make_graph(
        nodes, "half",
        [helper.make_tensor_value_info("x", number, [2, 3, 8, 8])],
        [helper.make_tensor_value_info("y", number, [2, 10])],
        [numpy_helper.from_array(array, name) for name, array in stored.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), stored


def rounded(array, kind):
    return array.astype(KINDS[kind][1]).astype(np.float64)


def expected(x, weights, kind):
    """In doubles, rounded where a node ends."""
    w, b, dense = (weights[n].astype(np.float64) for n in ("w", "b", "dense"))
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    conv = rounded(np.einsum("ncyxij,kcij->nkyx", windows, w) + b[:, None, None], kind)
    pool = np.maximum(conv, 0).reshape(2, 8, 4, 2, 4, 2).max((3, 5))
    logits = rounded(pool.reshape(2, -1) @ dense, kind)
    raised = np.exp(logits - logits.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_rounds_results_and_nothing_between(kind):
    model, weights = network(kind)
    graph = load_onnx(model)
    x = random_inputs(graph)["x"]
    assert x.dtype == KINDS[kind][1]
    (found,) = compile_model(graph).run({"x": x})
    assert found.dtype == KINDS[kind][1]
    error = np.abs(found.astype(np.float64) - expected(x, weights, kind))
    # a logit near the middle of two halves may go to the other one: a unit of up to 8
    assert np.median(error) <= HALF_UNIT[kind]
    assert error.max() <= 16 * HALF_UNIT[kind]


def test_bits_are_taken_for_bfloat16_and_other_types_are_not():
    model, _ = network("bf16")
    compiled = compile_model(load_onnx(model))
    x = random_inputs(compiled.graph)["x"]
    np.testing.assert_array_equal(compiled.run({"x": x.view(np.uint16)}), compiled.run({"x": x}))
    with pytest.raises(ArgumentError, match="x has the type float32, not bfloat16"):
        compiled.run({"x": x.astype(np.float32)})
