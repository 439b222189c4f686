"""Static quantisation: integers as NumPy computes them, the report, and what is refused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import polyopt as po
from polyopt.errors import ArgumentError, InvalidOptionError
from polyopt.graph import compile_model, load_onnx, run_passes
from polyopt.graph.passes import FoldConstants, IntegerProducts

#: what makes sums of products of integers
INTEGERS = (IntegerProducts(), FoldConstants())
RNG = np.random.default_rng(0)
WEIGHTS = {
    "w1": 0.2 * RNG.standard_normal((8, 3, 3, 3)), "b1": 0.1 * RNG.standard_normal(8),
    "w2": 0.1 * RNG.standard_normal((8, 4, 3, 3)), "fc": 0.1 * RNG.standard_normal((10, 8)),
    "fb": 0.1 * RNG.standard_normal(10), "mix": 0.1 * RNG.standard_normal((10, 6)),
}  # fmt: skip


def network(batch=2):
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1], name="c1"),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1], strides=[2, 2], group=2),
        helper.make_node("Relu", ["c2"], ["r2"]),
        helper.make_node("GlobalAveragePool", ["r2"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "fc", "fb"], ["h"], transB=1),
        helper.make_node("MatMul", ["h", "mix"], ["y"]),
    ]
    stored = [numpy_helper.from_array(a.astype(np.float32), n) for n, a in WEIGHTS.items()]
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 9, 9])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 6])], stored,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def samples(count=3):
    return [RNG.standard_normal((2, 3, 9, 9)).astype(np.float32) for _ in range(count)]


# -- the same in NumPy --------------------------------------------------------------------------


def steps(low, high):
    scale = np.float32((high - low) / 255)
    return scale, int(np.clip(np.rint(-low / scale), 0, 255))


def to_integers(x, low, high):
    scale, zero = steps(low, high)
    return np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.int64) - zero, scale


def weights(w, axis):
    over = tuple(d for d in range(w.ndim) if d != axis)
    scale = (np.abs(w).max(axis=over, keepdims=True) / 127).astype(np.float32)
    return np.clip(np.rint(w / scale), -127, 127).astype(np.int64), scale


def convolved(x, w, stride, group):
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[
        :, :, ::stride, ::stride
    ]
    parts = [
        np.einsum("ncyxij,kcij->nkyx", one, own)
        for one, own in zip(np.split(windows, group, 1), np.split(w, group, 0), strict=True)
    ]
    return np.concatenate(parts, 1)


def expected(x, ranges):
    w = {name: array.astype(np.float32) for name, array in WEIGHTS.items()}
    value = x
    for name, bias, stride, group, low_high in (("w1", "b1", 1, 1, "c1"), ("w2", "", 2, 2, "c2")):
        whole, scale = to_integers(value, *ranges[low_high])
        kernel, each = weights(w[name], 0)
        sums = convolved(whole, kernel, stride, group)
        value = sums * (scale * each.reshape(-1, 1, 1)) + (w[bias].reshape(-1, 1, 1) if bias else 0)
        value = np.maximum(value, 0).astype(np.float32)
    whole, scale = to_integers(value.mean((2, 3)), *ranges["h"])
    kernel, each = weights(w["fc"], 0)
    hidden = (whole @ kernel.T * (scale * each.reshape(-1)) + w["fb"]).astype(np.float32)
    whole, scale = to_integers(hidden, *ranges["y"])
    kernel, each = weights(w["mix"], 1)
    return whole @ kernel * (scale * each.reshape(-1))


def test_products_are_those_of_the_integers():
    given = samples()
    quantised = po.quantize(network(), given)
    assert [layer.name for layer in quantised.layers] == ["c1", "c2", "h", "y"]
    ranges = {layer.name: (layer.low, layer.high) for layer in quantised.layers}
    assert ranges["c1"] == (min(float(x.min()) for x in given), max(float(x.max()) for x in given))
    assert ranges["c2"][0] == 0.0
    model = quantised.compile()
    for x in given:
        np.testing.assert_allclose(model(x), expected(x, ranges), rtol=1e-4, atol=1e-4)


def test_sums_are_of_integers_and_nothing_is_left_of_the_weights():
    graph = run_passes(po.quantize(network(), samples()).graph, INTEGERS).graph
    ops = [node.op for node in graph.nodes]
    assert ops.count("conv_integer") == 2
    assert ops.count("matmul_integer") == 2
    assert not {"conv", "gemm", "matmul"} & {*ops}
    big = [a for a in graph.constants.values() if a.dtype == np.float32 and a.ndim == 4]
    assert all(a.size <= 8 for a in big)


def test_the_report_measures_noise():
    given = samples()
    report = po.quantize(network(), given)
    text = str(report)
    (output,) = report.outputs
    exact = compile_model(load_onnx(network()))
    found = report.compile()
    error = max(float(np.abs(found(x) - exact(x)).max()) for x in given)
    assert output.largest_error == pytest.approx(error, rel=1e-5)
    assert 0 < output.largest_error < 0.05 * output.largest
    assert output.sqnr_db > 25
    assert all(20 < layer.sqnr_db < 80 for layer in report.layers)
    assert "4 nodes quantised" in text
    assert "c2" in text
    assert f"{output.largest_error:.3g}" in text


def test_scales_of_channels_leave_less_noise_than_one_scale():
    uneven = network()
    w1 = WEIGHTS["w1"] * np.geomspace(0.01, 1.0, 8).reshape(-1, 1, 1, 1)
    uneven.graph.initializer[0].CopyFrom(numpy_helper.from_array(w1.astype(np.float32), "w1"))
    given = samples()
    each, one = (po.quantize(uneven, given, per_channel=p) for p in (True, False))
    assert each.layers[0].sqnr_db > one.layers[0].sqnr_db + 1


def test_excluded_nodes_and_operators_stay_in_floats():
    given = samples()
    assert [n.name for n in po.quantize(network(), given, exclude=("conv",)).layers] == ["h", "y"]
    partly = po.quantize(network(), given, exclude=("c1", "y"))
    assert [layer.name for layer in partly.layers] == ["c2", "h"]
    ops = [node.op for node in run_passes(partly.graph, INTEGERS).graph.nodes]
    assert ops.count("conv_integer") == 1


def test_what_cannot_be_calibrated_is_refused():
    given = samples(1)
    with pytest.raises(InvalidOptionError, match="no samples"):
        po.quantize(network(), [])
    with pytest.raises(InvalidOptionError, match="no node and no operator 'c3'") as caught:
        po.quantize(network(), given, exclude=("c3",))
    assert "c1" in caught.value.diagnostic.hint
    with pytest.raises(InvalidOptionError, match="nothing to quantise"):
        po.quantize(network(), given, exclude=("conv", "gemm", "matmul"))
    with pytest.raises(ArgumentError, match="infinite or NaN"):
        po.quantize(network(), [np.full_like(given[0], np.nan)])
    with pytest.raises(ArgumentError, match="a sample is a list"):
        po.quantize(network(), [[1.0, 2.0]])
    with pytest.raises(ArgumentError, match="shape"):
        po.quantize(network(), [given[0][:, :2]])


# -- models that come quantised -----------------------------------------------------------------


def in_quantised_form(asymmetric):
    """A convolution and a product between pairs of quantisers, as exporters write them."""
    w = np.clip(np.rint(RNG.standard_normal((4, 3, 3, 3)) * 40), -127, 127).astype(np.int8)
    fc = np.clip(np.rint(RNG.standard_normal((4, 5)) * 40), -127, 127).astype(np.int8)
    bias = RNG.integers(-500, 500, 4).astype(np.int32)
    zeros = np.array([3, -2, 0, 7], np.int8) if asymmetric else np.zeros(4, np.int8)
    stored = {
        "w": w, "ws": np.array([0.01, 0.02, 0.03, 0.015], np.float32), "wz": zeros,
        "b": bias, "bs": np.array([0.0002, 0.0004, 0.0006, 0.0003], np.float32),
        "fc": fc, "fs": np.float32(0.02), "xs": np.float32(0.02), "xz": np.uint8(120),
        "cs": np.float32(0.05), "cz": np.uint8(10), "ys": np.float32(0.04), "yz": np.uint8(100),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0),
        helper.make_node("DequantizeLinear", ["b", "bs"], ["bd"], axis=0),
        helper.make_node("Conv", ["xd", "wd", "bd"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "cs", "cz"], ["rq"]),
        helper.make_node("DequantizeLinear", ["rq", "cs", "cz"], ["rd"]),
        helper.make_node("GlobalAveragePool", ["rd"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("QuantizeLinear", ["f", "cs", "cz"], ["fq"]),
        helper.make_node("DequantizeLinear", ["fq", "cs", "cz"], ["fd"]),
        helper.make_node("DequantizeLinear", ["fc", "fs"], ["fcd"]),
        helper.make_node("MatMul", ["fd", "fcd"], ["m"]),
        helper.make_node("QuantizeLinear", ["m", "ys", "yz"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "qdq",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, [2, 5]),
         helper.make_tensor_value_info("rq", TensorProto.UINT8, [2, 4, 8, 8])],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in stored.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    onnx.checker.check_model(model)
    return model


@pytest.mark.parametrize("asymmetric", [False, True])
def test_results_of_quantised_models_are_within_a_step_of_the_reference(asymmetric):
    model = in_quantised_form(asymmetric)
    compiled = compile_model(load_onnx(model))
    ops = [node.op for node in run_passes(load_onnx(model), INTEGERS).graph.nodes]
    assert "conv_integer" in ops
    assert "matmul_integer" in ops
    for _ in range(3):
        x = RNG.standard_normal((2, 3, 8, 8)).astype(np.float32)
        found = compiled.run({"x": x})
        reference = ReferenceEvaluator(model).run(None, {"x": x})
        for mine, theirs in zip(found, reference, strict=True):
            steps_apart = np.abs(mine.astype(int) - np.asarray(theirs).astype(int))
            assert steps_apart.max() <= 1
            assert (steps_apart == 0).mean() > 0.95 or steps_apart.size < 100
        assert len(np.unique(found[1])) > 20


def test_scales_along_what_is_summed_over_stay_in_floats():
    model = in_quantised_form(asymmetric=False)
    model.graph.node[12].attribute.append(helper.make_attribute("axis", 0))
    for initializer in model.graph.initializer:
        if initializer.name == "fs":
            initializer.CopyFrom(
                numpy_helper.from_array(np.linspace(0.01, 0.04, 4, dtype=np.float32), "fs")
            )
    report = run_passes(load_onnx(model), INTEGERS)
    ops = [node.op for node in report.graph.nodes]
    assert "matmul" in ops
    assert "conv_integer" in ops
    assert "differs along an axis that is summed over" in str(report)
    x = RNG.standard_normal((2, 3, 8, 8)).astype(np.float32)
    (found, _), (wanted, _) = (
        compile_model(load_onnx(model)).run({"x": x}),
        ReferenceEvaluator(model).run(None, {"x": x}),
    )
    assert np.abs(found.astype(int) - wanted.astype(int)).max() <= 1
