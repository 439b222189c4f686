"""Quantised models of ONNX against its reference evaluator: the same integers."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph import compile_graph, load_onnx

RANDOM = np.random.default_rng(7)
KINDS = {np.dtype(np.uint8): onnx.TensorProto.UINT8, np.dtype(np.int8): onnx.TensorProto.INT8}


def model_of(nodes, inputs, constants, outputs):
    """A model; inputs are arrays, of which types and shapes are taken, outputs names and types."""
    graph = helper.make_graph(
        nodes, "quantised",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
         for name, a in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(a, name) for name, a in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


def both(nodes, inputs, constants, outputs):
    """What our kernels and ONNX's reference make of a model."""
    model = model_of(nodes, inputs, constants, outputs)
    ours = compile_graph(load_onnx(model)).run(inputs)
    theirs = ReferenceEvaluator(model).run(list(outputs), inputs)
    for one, other in zip(ours, theirs, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
    return ours, theirs


def integers(kind, *shape):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return RANDOM.integers(low, high + 1, shape).astype(kind)


def scalar(value, kind=np.float32):
    return np.array(value, kind)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("per_channel", [False, True])
def test_linear_convolutions_give_the_same_integers(kind, group, per_channel):
    x, w = integers(kind, 2, 4, 9, 8), integers(np.int8, 8, 4 // group, 3, 3)
    scales = RANDOM.uniform(0.001, 0.02, 8 if per_channel else ()).astype(np.float32)
    points = integers(np.int8, 8) if per_channel else scalar(3, np.int8)
    constants = {
        "x_scale": scalar(0.03), "x_zero": scalar(17, kind), "w": w, "w_scale": scales,
        "w_zero": points, "y_scale": scalar(0.9), "y_zero": scalar(5, kind),
        "b": RANDOM.integers(-2000, 2000, 8).astype(np.int32),
    }  # fmt: skip
    names = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b"]
    node = helper.make_node("QLinearConv", names, ["y"], group=group, pads=[1, 0, 2, 1],
                            strides=[2, 1])  # fmt: skip
    ours, theirs = both([node], {"x": x}, constants, {"y": KINDS[np.dtype(kind)]})
    assert len(np.unique(theirs[0])) > 20
    assert (ours[0] == theirs[0]).all()


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_convolutions_of_integers_are_exact(kind):
    x, w = integers(kind, 1, 3, 7, 7), integers(np.uint8, 4, 3, 3, 3)
    constants = {"w": w, "x_zero": scalar(101, kind), "w_zero": integers(np.uint8, 4)}
    node = helper.make_node("ConvInteger", ["x", "w", "x_zero", "w_zero"], ["y"],
                            pads=[1, 1, 1, 1], dilations=[2, 1])  # fmt: skip
    ours, theirs = both([node], {"x": x}, constants, {"y": onnx.TensorProto.INT32})
    assert (ours[0] == theirs[0]).all()


@pytest.mark.parametrize("shape", [(5, 6), (2, 3, 5, 6)])
def test_linear_products_take_a_scale_for_each_row_and_column(shape):
    a, b = integers(np.uint8, *shape), integers(np.int8, *shape[:-2], 6, 7)
    rows, columns = (*shape[:-1], 1), (*shape[:-2], 1, 7)
    constants = {
        "a_scale": RANDOM.uniform(0.001, 0.02, rows).astype(np.float32),
        "a_zero": integers(np.uint8, *rows), "b": b,
        "b_scale": RANDOM.uniform(0.001, 0.02, columns).astype(np.float32),
        "b_zero": integers(np.int8, *columns), "y_scale": scalar(0.05),
        "y_zero": scalar(-7, np.int8),
    }  # fmt: skip
    names = ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"]
    node = helper.make_node("QLinearMatMul", names, ["y"])
    ours, theirs = both([node], {"a": a}, constants, {"y": onnx.TensorProto.INT8})
    assert len(np.unique(theirs[0])) > 20
    assert (ours[0] == theirs[0]).all()


def test_a_vector_of_zero_points_is_of_rows_or_columns():
    a, b = integers(np.uint8, 5, 6), integers(np.uint8, 6, 7)
    points = {"a_zero": integers(np.uint8, 5), "b_zero": integers(np.uint8, 7)}
    node = helper.make_node("MatMulInteger", ["a", "b", "a_zero", "b_zero"], ["y"])
    model = model_of([node], {"a": a}, {"b": b, **points}, {"y": onnx.TensorProto.INT32})
    (found,) = compile_graph(load_onnx(model)).run({"a": a})
    left = a.astype(np.int32) - points["a_zero"][:, None].astype(np.int32)
    assert (found == left @ (b.astype(np.int32) - points["b_zero"].astype(np.int32))).all()


def quantised_layer(x, w, bias):
    """Nodes and constants of a layer in QDQ form; scales are powers of two: floats are exact."""
    constants = {
        "w": w, "b": bias, "x_scale": scalar(0.25), "x_zero": scalar(128, np.uint8),
        "w_scale": np.exp2(-RANDOM.integers(3, 7, w.shape[0])).astype(np.float32),
        "w_zero": np.zeros(w.shape[0], np.int8), "y_scale": scalar(4.0),
        "y_zero": scalar(100, np.uint8),
    }  # fmt: skip
    constants["b_scale"] = (constants["w_scale"] * np.float32(0.25)).astype(np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "x_scale", "x_zero"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["wf"], axis=0),
        helper.make_node("DequantizeLinear", ["b", "b_scale"], ["bf"], axis=0),
        helper.make_node("Conv", ["xf", "wf", "bf"], ["yf"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["yf"], ["rf"]),
        helper.make_node("QuantizeLinear", ["rf", "y_scale", "y_zero"], ["y"]),
    ]
    return nodes, {"x": x}, constants, {"y": onnx.TensorProto.UINT8}


def test_a_layer_in_qdq_form_gives_the_same_integers():
    x, w = integers(np.uint8, 1, 3, 8, 8), integers(np.int8, 5, 3, 3, 3)
    bias = RANDOM.integers(-5000, 5000, 5).astype(np.int32)
    ours, theirs = both(*quantised_layer(x, w, bias))
    assert len(np.unique(theirs[0])) > 20
    assert (ours[0] == theirs[0]).all()


def test_sums_of_residual_branches_in_qdq_form():
    one, two = integers(np.int8, 2, 50), integers(np.int8, 2, 50)
    constants = {"s": scalar(0.5), "t": scalar(0.125), "z": scalar(3, np.int8)}
    nodes = [
        helper.make_node("DequantizeLinear", ["one", "s", "z"], ["a"]),
        helper.make_node("DequantizeLinear", ["two", "t", "z"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("QuantizeLinear", ["c", "s", "z"], ["y"]),
    ]
    inputs, outputs = {"one": one, "two": two}, {"y": onnx.TensorProto.INT8}
    ours, theirs = both(nodes, inputs, constants, outputs)
    assert (ours[0] == theirs[0]).all()


def test_dynamically_quantised_products():
    x, w = RANDOM.normal(0, 3, (4, 16)).astype(np.float32), integers(np.int8, 16, 6)
    constants = {"w": w, "w_scale": scalar(0.01), "w_zero": scalar(0, np.int8)}
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        helper.make_node("MatMulInteger", ["q", "w", "zero", "w_zero"], ["sums"]),
        helper.make_node("Cast", ["sums"], ["f"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", ["scale", "w_scale"], ["both"]),
        helper.make_node("Mul", ["f", "both"], ["y"]),
    ]
    kinds = onnx.TensorProto
    outputs = {"y": kinds.FLOAT, "q": kinds.UINT8, "zero": kinds.UINT8, "scale": kinds.FLOAT}
    ours, theirs = both(nodes, {"x": x}, constants, outputs)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)
    assert (ours[1] == theirs[1]).all()
    assert ours[2] == theirs[2]


def test_no_range_is_no_division_by_nothing():
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"])
    kinds = onnx.TensorProto
    outputs = {"q": kinds.UINT8, "scale": kinds.FLOAT, "zero": kinds.UINT8}
    ours, theirs = both([node], {"x": np.zeros((2, 3), np.float32)}, {}, outputs)
    assert [a.tolist() for a in ours] == [a.tolist() for a in theirs]


def test_halves_go_to_the_even_neighbour_and_ends_are_kept():
    x = np.array([-0.5, 0.5, 1.5, 2.5, -1.5, 0.49999997, 1e9, -1e9, np.inf, -np.inf, np.nan])
    constants = {"s": scalar(1.0), "z": scalar(1, np.int8)}
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
    inputs = {"x": x.astype(np.float32)}
    model = model_of([node], inputs, constants, {"y": onnx.TensorProto.INT8})
    (found,) = compile_graph(load_onnx(model)).run(inputs)
    assert found.tolist() == [1, 1, 3, 3, -1, 1, 127, -128, 127, -128, -128]


def test_types_of_fewer_bits_are_refused_by_name():
    inputs = {"x": np.zeros((2, 3), np.float32)}
    node = helper.make_node("QuantizeLinear", ["x", "s"], ["y"],
                            output_dtype=onnx.TensorProto.INT4)  # fmt: skip
    model = model_of([node], inputs, {"s": scalar(1.0)}, {"y": onnx.TensorProto.INT4})
    with pytest.raises(UnsupportedError, match="int4"):
        load_onnx(model)


def test_zero_points_have_the_operands_type_and_shape():
    inputs = {"x": integers(np.uint8, 2, 3)}
    for scale, zero, said in (
        (scalar(1.0), scalar(0, np.int8), "the zero point is i8, the operand u8"),
        (np.ones(3, np.float32), scalar(0, np.uint8), r"its zero point \[\]"),
    ):
        node = helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"])
        constants = {"s": scale, "z": zero}
        model = model_of([node], inputs, constants, {"y": onnx.TensorProto.FLOAT})
        with pytest.raises(GraphError, match=said):
            load_onnx(model)


def test_integers_that_no_half_holds_are_scaled_in_floats():
    """60000 is no float16, and 60000 * 0.5 is one."""
    node = helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"])
    inputs = {"x": np.array([60000, 65535, 7, 0], np.uint16)}
    constants = {"s": scalar(0.5, np.float16), "z": scalar(3, np.uint16)}
    model = model_of([node], inputs, constants, {"y": onnx.TensorProto.FLOAT16})
    (found,) = compile_graph(load_onnx(model)).run(inputs)
    exact = (inputs["x"].astype(np.float64) - 3) * 0.5
    assert found.tolist() == exact.astype(np.float16).tolist()
