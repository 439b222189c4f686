"""Operators that write and read at constant indices, einsum, elementary functions: hard operands."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph import compile_graph, load_onnx

KINDS = {np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE}


def model(op, shape, constants=(), kind=np.float32, data=(), **options):
    """One operator on ``x`` and others: constant arrays, and inputs of shapes."""
    inputs = [helper.make_tensor_value_info("x", KINDS[kind], shape)]
    inputs += [helper.make_tensor_value_info(name, TensorProto.INT64, s) for name, s in data]
    names = ["x", *(name for name, _ in data), *(name for name, _ in constants)]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **options)], "m", inputs,
        [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)],
        [numpy_helper.from_array(array, name) for name, array in constants],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("op", "numpy", "low", "high"),
    [
        ("Sinh", np.sinh, -88, 88), ("Cosh", np.cosh, -88, 88), ("Asinh", np.arcsinh, -1e30, 1e30),
        ("Acosh", np.arccosh, 1, 1e30), ("Atanh", np.arctanh, -1, 1), ("Asin", np.arcsin, -1, 1),
        ("Acos", np.arccos, -1, 1), ("Atan", np.arctan, -1e30, 1e30),
    ],
)  # fmt: skip
def test_functions_are_right_at_both_ends_and_for_small_operands(op, numpy, low, high, kind):
    small = np.array(
        [1e-30, 1e-12, 1e-6, 1e-3, 0.1, 0.4999, 0.5, 0.9, 1.0, 1.0001, 3.0, 1e4, 1e9, 3e9]
    )
    given = np.concatenate([small, -small, [0.0, low, high, np.nan, np.inf, -np.inf]]).astype(kind)
    with np.errstate(all="ignore"):
        expected = numpy(given.astype(np.float64)).astype(kind)
    (found,) = compile_graph(load_onnx(model(op, given.shape, kind=kind))).run({"x": given})
    np.testing.assert_allclose(found, expected, rtol=16 * np.finfo(kind).eps, atol=0)


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND", "GatherND"])
def test_an_index_outside_is_an_error_with_its_place(op):
    indices = np.array([[0, 4]] if op == "ScatterElements" else [[4]])
    updates = np.zeros((1, 2) if op == "ScatterElements" else (1, 4), np.float32)
    constants = [("i", indices), ("u", updates)][: 1 if op == "GatherND" else 2]
    options = {"axis": 1} if op == "ScatterElements" else {}
    with pytest.raises(GraphError, match="no element 4 along an axis of 4") as caught:
        load_onnx(model(op, [4, 4], constants, **options))
    assert str(caught.value.diagnostic.span) == "m:1:1"


def test_indices_of_batches_that_are_data_are_refused():
    with pytest.raises(UnsupportedError, match="its input 'i' has to be a constant"):
        load_onnx(model("GatherND", [2, 4], data=[("i", [2, 1])], batch_dims=1))


def test_the_last_of_several_updates_stays():
    indices, updates = np.array([[1], [0], [1]]), np.array([5, 6, 7], np.float32)
    read = load_onnx(model("ScatterND", [3], [("i", indices), ("u", updates)]))
    (found,) = compile_graph(read).run({"x": np.array([1, 2, 3], np.float32)})
    assert found.tolist() == [6, 7, 3]


@pytest.mark.parametrize(
    ("equation", "shape"),
    [
        ("iij->j", (3, 3, 2)),
        ("ij->", (2, 3)),
        ("...ij->...ji", (2, 3, 4)),
        ("ba", (2, 3)),
        ("ii", (3, 3)),
    ],
)
def test_einsum_of_one_operand_is_numpys(equation, shape):
    given = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    (found,) = compile_graph(load_onnx(model("Einsum", shape, equation=equation))).run({"x": given})
    np.testing.assert_allclose(found, np.einsum(equation, given), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("equation", "said"),
    [("ij,jk->ik", "2 operand"), ("ijk->i", "does not fit"), ("ij->ii", "labels twice"),
     ("ij->k", "no operand has"), ("iI->i", "letters a to z"), ("ii->i", "both 2 and 3 long")],
)  # fmt: skip
def test_equations_that_do_not_fit_are_errors(equation, said):
    with pytest.raises(GraphError, match=said):
        load_onnx(model("Einsum", (2, 3), equation=equation))


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_outputs_of_a_split_may_be_left_out(kept):
    names = ["y" if k == kept else "" for k in range(3)]
    graph = helper.make_graph(
        [helper.make_node("Split", ["x"], names, axis=0, num_outputs=3)], "m",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (6, 2))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    given = np.arange(12, dtype=np.float32).reshape(6, 2)
    read = load_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    (found,) = compile_graph(read).run({"x": given})
    np.testing.assert_array_equal(found, given[2 * kept : 2 * kept + 2])
