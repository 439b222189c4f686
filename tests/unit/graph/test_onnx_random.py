"""What random ONNX models found: each class of it, on a small model."""

import warnings

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from polyopt.errors import UnsupportedError
from polyopt.graph import compile_graph, compile_model, load_onnx


def model(node, inputs=(), constants=(), opset=21):
    """A model of one node; inputs are arrays by name, or shapes of float32."""
    shown = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, a) if isinstance(a, list) else
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in dict(inputs).items()
    ]  # fmt: skip
    ends = [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in node.output]
    graph = helper.make_graph(
        [node],
        "m",
        shown,
        ends,
        [numpy_helper.from_array(a, n) for n, a in dict(constants).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def results(node, inputs=(), constants=(), opset=21):
    given = model(node, inputs, constants, opset)
    return compile_graph(load_onnx(given), fusion="off").run(dict(inputs))


def test_a_computed_scalar_has_no_dimension():
    node = helper.make_node("Add", ["a", "a"], ["y"])
    assert load_onnx(model(node, constants={"a": np.array(2.5)})).values["y"].shape == ()


def test_sums_of_known_integers_keep_their_type():
    node = helper.make_node("ReduceSum", ["a"], ["y"])
    (found,) = results(node, constants={"a": np.array([[1, 2], [3, 4]], np.int32)})
    assert (found.dtype, found.tolist()) == (np.int32, [[10]])


def test_softmax_of_constants_is_that_of_the_models_opset():
    given = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8
    node = helper.make_node("Softmax", ["a"], ["y"], axis=1)
    (found,) = results(node, constants={"a": given}, opset=12)
    power = np.exp(given)
    np.testing.assert_allclose(found, power / power.sum(axis=(1, 2), keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_statistics_of_a_layer_normalisation_are_float32(kind):
    x = (np.arange(12).reshape(3, 4) / 4).astype(kind)
    node = helper.make_node("LayerNormalization", ["x", "w"], ["y", "mean", "inverse"])
    y, mean, inverse = results(node, {"x": x}, {"w": np.ones(4, kind)})
    assert (y.dtype, mean.dtype, inverse.dtype) == (kind, np.float32, np.float32)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(mean, wide.mean(1, keepdims=True), rtol=1e-6)
    expected = 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(inverse, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint8, np.uint64])
@pytest.mark.parametrize("op", ["Div", "Mod"])
def test_integers_are_divided_by_all_integers(op, kind):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    a = np.array([7, 7, low, low, high, 5], kind)
    b = np.array([0, 2, -1 if low < 0 else high, 3, high, 0], kind)
    (found,) = results(helper.make_node(op, ["a", "b"], ["y"]), {"a": a, "b": b})
    is_defined = [False, True, low == 0, True, True, False]  # the greatest of i8 is 127, not 128
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    quotients = [abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1) if q else 0 for p, q in pairs]
    expected = quotients if op == "Div" else [p % q if q else 0 for p, q in pairs]
    assert found[is_defined].tolist() == np.array(expected, object)[is_defined].tolist()


def test_an_exclusive_sum_of_one_element_reads_nothing():
    x = np.array([7, 9], np.int64).reshape(2, 1)
    node = helper.make_node("CumSum", ["x", "axis"], ["y"], exclusive=1)
    compiled = compile_model(model(node, {"x": x}, {"axis": np.array(1)}))
    assert compiled.run({"x": x})[0].tolist() == [[0], [0]]


def test_one_tuple_of_indices_reads_one_slice():
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    node = helper.make_node("GatherND", ["x", "i"], ["y"])
    assert results(node, {"x": x}, {"i": np.array([-1])})[0].tolist() == [6, 7, 8]


def test_integers_have_powers_of_fractions():
    x, y = np.array([0, 4, 9, 16], np.int64), np.array([0.25, 0.5, 1.5, 0.25], np.float32)
    node = helper.make_node("Pow", ["x", "y"], ["z"])
    assert results(node, {"x": x, "y": y})[0].tolist() == [0, 2, 27, 2]


def test_computing_while_reading_warns_of_nothing():
    node = helper.make_node("Log", ["a"], ["y"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = load_onnx(model(node, constants={"a": np.array([0.0, 1.0], np.float32)}))
    assert graph.constants["y"].tolist() == [-np.inf, 0]


def test_refusals_of_open_sizes_name_the_operator_or_the_tensor():
    node = helper.make_node("EyeLike", ["x"], ["y"])
    with pytest.raises(UnsupportedError, match="the constant 'y' of it depends"):
        load_onnx(model(node, {"x": ["N", 2]}))
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])
    with pytest.raises(UnsupportedError, match="reduce_min of DynamicQuantizeLinear computes with"):
        compile_model(model(node, {"x": ["N", 2]}))


@pytest.mark.parametrize("kind", [ml_dtypes.bfloat16, np.float16, np.float32])
def test_making_literals_warns_of_nothing(kind):
    node = helper.make_node("ReduceLogSumExp", ["a"], ["y"], keepdims=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (found,) = results(node, constants={"a": np.zeros((2, 2), kind)})
    np.testing.assert_allclose(found.astype(np.float64), np.log(4), rtol=4e-3)


def test_defaults_are_float32_as_attributes_are():
    x = np.array([-1.0, 2.0])
    (found,) = results(helper.make_node("LeakyRelu", ["x"], ["y"]), {"x": x})
    assert found.tolist() == [-float(np.float32(0.01)), 2.0]


def test_hardswish_of_great_numbers_does_not_overflow():
    x = np.array([3.0e38, -3.0e38, 4.0], np.float32)
    (found,) = results(helper.make_node("HardSwish", ["x"], ["y"]), {"x": x})
    np.testing.assert_array_equal(found, np.array([3.0e38, 0, 4], np.float32))
