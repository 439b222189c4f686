"""Constants of 2, 4 and 8 bits that stand for numbers: dequantised, converted and moved."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph import compile_graph, compile_model, load_onnx

RANDOM = np.random.default_rng(21)
FLOAT = onnx.TensorProto.FLOAT
INTEGERS = ("int4", "uint4", "int2", "uint2")
FLOATS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn")


def network(nodes, constants, kind=FLOAT):
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", FLOAT, (3, 8))],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(a, name) for name, a in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


def weights(kind, *shape):
    dtype = np.dtype(getattr(ml_dtypes, kind))
    if kind.startswith("float"):
        return RANDOM.uniform(-3, 3, shape).astype(dtype)
    info = ml_dtypes.iinfo(dtype)
    return RANDOM.integers(int(info.min), int(info.max) + 1, shape).astype(dtype)


PRODUCT = helper.make_node("MatMul", ["x", "weights"], ["y"])


def check(nodes, constants, expected):
    x = RANDOM.uniform(-1, 1, (3, 8)).astype(np.float32)
    found = compile_model(network(nodes, constants))(x)
    np.testing.assert_allclose(found, x @ expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", INTEGERS)
def test_weights_of_few_bits_in_blocks(kind):
    """As large language models have them: a scale and a zero point for each block of a column."""
    w, points = weights(kind, 8, 5), weights(kind, 2, 5)
    scales = RANDOM.uniform(0.1, 2, (2, 5)).astype(np.float32)
    node = helper.make_node("DequantizeLinear", ["w", "s", "z"], ["weights"], axis=0, block_size=4)
    wide = w.astype(np.float32) - np.repeat(points.astype(np.float32), 4, 0)
    check([node, PRODUCT], {"w": w, "s": scales, "z": points}, wide * np.repeat(scales, 4, 0))


@pytest.mark.parametrize("kind", FLOATS)
def test_weights_that_are_short_floats(kind):
    w, scales = weights(kind, 8, 5), RANDOM.uniform(0.1, 2, 5).astype(np.float32)
    node = helper.make_node("DequantizeLinear", ["w", "s"], ["weights"], axis=1)
    check([node, PRODUCT], {"w": w, "s": scales}, w.astype(np.float32) * scales)


@pytest.mark.parametrize("kind", [*INTEGERS, *FLOATS])
def test_what_is_moved_and_converted_has_the_same_numbers(kind):
    w = weights(kind, 5, 8)
    nodes = [
        helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]),
        helper.make_node("Cast", ["t"], ["weights"], to=FLOAT),
        PRODUCT,
    ]
    check(nodes, {"w": w}, w.astype(np.float32).T)


@pytest.mark.parametrize("kind", ["int4", "float8_e5m2"])
def test_what_depends_on_the_type_is_refused(kind):
    """How far to saturate, or an output: the wider type is not what the model says."""
    z = np.zeros(1, np.dtype(getattr(ml_dtypes, kind)))
    scale = np.ones(1, np.float32)
    moved = helper.make_node("Reshape", ["z", "shape"], ["point"])
    nodes = [moved, helper.make_node("QuantizeLinear", ["x", "s", "point"], ["y"])]
    kinds = helper.np_dtype_to_tensor_dtype(z.dtype)
    constants = {"s": scale, "z": z, "shape": np.array([1])}
    with pytest.raises(UnsupportedError, match=f"QuantizeLinear reads 'point', .* type {kind}"):
        load_onnx(network(nodes, constants, kinds))
    nodes = [helper.make_node("Identity", ["z"], ["y"])]
    with pytest.raises(UnsupportedError, match=f"the output 'y' of .* type {kind}"):
        load_onnx(network(nodes, {"z": z}, kinds))


def test_floats_have_no_zero_points():
    w = weights("float8_e5m2", 8, 5)
    node = helper.make_node("DequantizeLinear", ["w", "s", "z"], ["weights"])
    constants = {"w": w, "s": np.ones((), np.float32), "z": np.ones((), w.dtype)}
    with pytest.raises(GraphError, match="the zero point of floats is 0"):
        load_onnx(network([node, PRODUCT], constants))


def test_the_reference_says_the_same():
    w, scales = weights("int4", 8, 5), RANDOM.uniform(0.1, 2, 5).astype(np.float32)
    model = network(
        [helper.make_node("DequantizeLinear", ["w", "s"], ["weights"], axis=1), PRODUCT],
        {"w": w, "s": scales},
    )
    x = RANDOM.uniform(-1, 1, (3, 8)).astype(np.float32)
    (found,) = compile_graph(load_onnx(model)).run({"x": x})
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(found, expected, rtol=1e-5)
