"""Layers of ONNX in forms that its node cases have not, against what says the same elsewhere."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph import compile_graph, load_onnx

RANDOM = np.random.default_rng(3)


def model_of(node, inputs, constants=None, outputs=None, opset=22):
    graph = helper.make_graph(
        [node], "layer",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
         for name, a in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None)
         for name, kind in (outputs or {"y": onnx.TensorProto.FLOAT}).items()],
        [numpy_helper.from_array(a, name) for name, a in (constants or {}).items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def ours(model, inputs):
    return compile_graph(load_onnx(model)).run(inputs)


def both(node, inputs, constants=None, outputs=None, opset=22):
    model = model_of(node, inputs, constants, outputs, opset)
    return ours(model, inputs), ReferenceEvaluator(model).run(None, inputs)


def floats(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_the_norm_of_whole_planes(p):
    x = floats(2, 3, 5, 4)
    (found,) = ours(model_of(helper.make_node("GlobalLpPool", ["x"], ["y"], p=p), {"x": x}),
                    {"x": x})  # fmt: skip
    expected = (np.abs(x.astype(np.float64)) ** p).sum((2, 3), keepdims=True) ** (1 / p)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("strides", [(1, 1), (2, 3), (4, 1)])
@pytest.mark.parametrize("dilations", [(1, 1), (2, 3)])
@pytest.mark.parametrize("group", [1, 2])
def test_a_transposed_convolution_is_the_adjoint_of_a_convolution(strides, dilations, group):
    """<conv(x), z> = <x, conv_transpose(z)> for all x: NumPy's sums of the scattered products."""
    z, w = floats(2, 4, 5, 3), floats(4, 3, 3, 2)
    node = helper.make_node("ConvTranspose", ["z", "w", "b"], ["y"], strides=strides,
                            dilations=dilations, group=group, pads=[1, 0, 2, 1],
                            output_padding=[0, 0])  # fmt: skip
    bias = floats(3 * group)
    (found,) = ours(model_of(node, {"z": z}, {"w": w, "b": bias}), {"z": z})
    reach = [(n - 1) * s + d * (k - 1) + 1
             for n, s, d, k in zip((5, 3), strides, dilations, (3, 2), strict=True)]  # fmt: skip
    whole = np.zeros((2, 3 * group, *reach))
    for channel in range(4):
        first = channel // (4 // group) * 3
        for i, j, a, b in np.ndindex(5, 3, 3, 2):
            place = i * strides[0] + a * dilations[0], j * strides[1] + b * dilations[1]
            product = z[:, channel, i, j, None] * w[channel, :, a, b].astype(np.float64)
            whole[:, first : first + 3, place[0], place[1]] += product
    expected = whole[:, :, 1 : reach[0] - 2, : reach[1] - 1] + bias[:, None, None]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_place_of_a_maximum_is_where_it_stands():
    x = RANDOM.integers(-4, 5, (2, 3, 7, 6)).astype(np.float32)  # many are equal
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[3, 2], strides=[2, 2],
                            pads=[1, 1, 1, 0], ceil_mode=1)  # fmt: skip
    outputs = {"y": onnx.TensorProto.FLOAT, "i": onnx.TensorProto.INT64}
    values, places = ours(model_of(node, {"x": x}, None, outputs), {"x": x})
    assert (x.ravel()[places] == values).all()
    firsts = []
    for n, c, a, b in np.ndindex(values.shape):
        rows = [r for r in range(2 * a - 1, 2 * a + 2) if 0 <= r < 7]
        columns = [s for s in range(2 * b - 1, 2 * b + 1) if 0 <= s < 6]
        window = [(x[n, c, r, s], -np.ravel_multi_index((n, c, r, s), x.shape))
                  for r in rows for s in columns]  # fmt: skip
        firsts.append(-max(window)[1])
    assert places.ravel().tolist() == firsts


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_greatest_several_of_many_equals(axis, largest):
    x = RANDOM.integers(-3, 4, (6, 5, 7)).astype(np.float32)
    node = helper.make_node("TopK", ["x", "k"], ["y", "i"], axis=axis, largest=largest)
    outputs = {"y": onnx.TensorProto.FLOAT, "i": onnx.TensorProto.INT64}
    values, places = ours(model_of(node, {"x": x}, {"k": np.array([4])}, outputs), {"x": x})
    order = np.argsort(-x if largest else x, axis=axis, kind="stable")
    expected = np.take(order, np.arange(4), axis=axis)
    assert (places == expected).all()
    assert (values == np.take_along_axis(x, expected, axis)).all()


def test_infinite_elements_and_nan_have_places():
    x = np.array([[-np.inf, np.nan, -np.inf, 2.0]], np.float32)
    node = helper.make_node("TopK", ["x", "k"], ["y", "i"])
    outputs = {"y": onnx.TensorProto.FLOAT, "i": onnx.TensorProto.INT64}
    values, places = ours(model_of(node, {"x": x}, {"k": np.array([4])}, outputs), {"x": x})
    assert places.tolist() == [[1, 3, 0, 2]]
    np.testing.assert_array_equal(values, [[np.nan, 2.0, -np.inf, -np.inf]])


def test_the_greatest_of_lines_of_nan_is_the_first():
    x = np.array([[np.nan, np.nan], [np.nan, 1.0]], np.float32)
    outputs = {"y": onnx.TensorProto.INT64}
    for name in ("ArgMax", "ArgMin"):
        node = helper.make_node(name, ["x"], ["y"], axis=1, keepdims=0)
        (found,) = ours(model_of(node, {"x": x}, None, outputs), {"x": x})
        assert found.tolist() == [0, 1]


def test_sums_of_powers_do_not_overflow():
    x = np.array([[1000.0, 999.0], [-np.inf, -np.inf], [np.inf, 0.0]], np.float32)
    constants = {"axes": np.array([1])}
    node = helper.make_node("ReduceLogSumExp", ["x", "axes"], ["y"], keepdims=0)
    (found,) = ours(model_of(node, {"x": x}, constants), {"x": x})
    np.testing.assert_allclose(found, np.logaddexp(x[:, 0], x[:, 1]), rtol=1e-6)


@pytest.mark.parametrize("opset", [18, 21])
def test_scales_are_of_groups_before_opset_21(opset):
    x, count = floats(2, 6, 4), 6 if opset == 21 else 3
    constants = {"s": floats(count), "b": floats(count)}
    node = helper.make_node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=3)
    model = model_of(node, {"x": x}, constants, None, opset)
    (found,) = ours(model, {"x": x})
    groups = x.reshape(2, 3, 8).astype(np.float64)
    centred = groups - groups.mean(2, keepdims=True)
    normal = (centred / np.sqrt(groups.var(2, keepdims=True) + 1e-5)).reshape(2, 6, 4)
    scale, shift = (np.repeat(constants[n], 6 // count)[:, None] for n in "sb")
    np.testing.assert_allclose(found, normal * scale + shift, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [0, 1])
def test_places_far_outside_are_read_as_padding_says(mode, padding, aligned):
    x, grid = floats(2, 2, 4, 3), RANDOM.uniform(-3, 3, (2, 5, 4, 2)).astype(np.float32)
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode=padding,
                            align_corners=aligned)  # fmt: skip
    (found,), (expected,) = both(node, {"x": x, "grid": grid})
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_regions_of_images_that_are_not_there_are_nan():
    x, rois = floats(2, 1, 6, 6), np.array([[0, 0, 4, 4], [0, 0, 4, 4]], np.float32)
    batch = np.array([1, 2])
    node = helper.make_node("RoiAlign", ["x", "rois", "batch"], ["y"], sampling_ratio=2,
                            output_height=2, output_width=2)  # fmt: skip
    (found,) = ours(model_of(node, {"x": x, "rois": rois, "batch": batch}),
                    {"x": x, "rois": rois, "batch": batch})  # fmt: skip
    assert not np.isnan(found[0]).any()
    assert np.isnan(found[1]).all()
    with pytest.raises(GraphError, match=r"batch_indices \[1, 2\] are not all in the batch"):
        load_onnx(model_of(node, {"x": x, "rois": rois}, {"batch": batch}))


def test_elements_at_indices_outside_are_nan_and_refused_where_they_are_known():
    x, places = floats(4, 3), np.array([0, -4, 4, -5])
    node = helper.make_node("Gather", ["x", "places"], ["y"])
    (found,) = ours(model_of(node, {"x": x, "places": places}), {"x": x, "places": places})
    np.testing.assert_array_equal(found, [x[0], x[0], [np.nan] * 3, [np.nan] * 3])
    with pytest.raises(GraphError, match="there is no element 4 along an axis of 4"):
        load_onnx(model_of(node, {"x": x}, {"places": places}))


@pytest.mark.parametrize("count", [5, 40])
def test_places_that_are_known_are_taken(count):
    x, places = floats(3, 9), RANDOM.integers(-9, 9, (count, 2))
    node = helper.make_node("Gather", ["x", "places"], ["y"], axis=1)
    (found,), (expected,) = both(node, {"x": x}, {"places": places})
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("chosen", [False, True])
def test_the_branch_of_a_known_condition_is_taken(chosen):
    x = floats(3)
    branches = {}
    for name, op in (("then_branch", "Neg"), ("else_branch", "Exp")):
        result = helper.make_tensor_value_info(f"{op}_made", onnx.TensorProto.FLOAT, [3])
        nodes = [helper.make_node(op, ["x"], [f"{op}_made"])]
        branches[name] = helper.make_graph(nodes, name, [], [result])
    node = helper.make_node("If", ["which"], ["y"], **branches)
    (found,), (expected,) = both(node, {"x": x}, {"which": np.array(chosen)})
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(UnsupportedError, match="its condition has to be a constant"):
        load_onnx(model_of(node, {"x": x, "which": np.array(chosen)}))


def test_results_whose_size_depends_on_data_are_refused_with_that_reason():
    given = {"x": floats(5)}
    node = helper.make_node("Unique", ["x"], ["y"])
    with pytest.raises(UnsupportedError, match="is not taken: the size of its result depends"):
        load_onnx(model_of(node, given))
