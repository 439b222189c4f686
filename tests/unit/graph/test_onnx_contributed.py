"""Quantised operators of ONNX Runtime's own domain, against what they say in NumPy."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph import compile_graph, load_onnx

RANDOM = np.random.default_rng(11)
#: scale and zero point of each operand, and of the result
ONE, TWO, OUT = (0.031, 120), (0.017, 3), (0.043, 97)


def integers(*shape):
    return RANDOM.integers(0, 256, shape).astype(np.uint8)


def parameters(*pairs):
    """Scales as arrays of one element and zero points of none, as quantisers write them."""
    return [array for scale, zero in pairs
            for array in (np.array([scale], np.float32), np.array(zero, np.uint8))]  # fmt: skip


def run(op, arrays, *, domain="com.microsoft", real=False, **options):
    """What kernels make of a node whose first operand is an input; "" stands for none."""
    names = [f"i{k}" if array is not None else "" for k, array in enumerate(arrays)]
    place = next(k for k, a in enumerate(arrays) if a is not None and a.ndim > 1)
    node = helper.make_node(op, names, ["y"], domain=domain, **options)
    given = arrays[place]
    graph = helper.make_graph(
        [node], "contributed",
        [helper.make_tensor_value_info(names[place], onnx.TensorProto.UINT8, given.shape)],
        [helper.make_tensor_value_info(
            "y", onnx.TensorProto.FLOAT if real else onnx.TensorProto.UINT8, None)],
        [numpy_helper.from_array(a, n) for a, n in zip(arrays, names, strict=True)
         if n and n != names[place]],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets)
    (found,) = compile_graph(load_onnx(model)).run({names[place]: given})
    return found


def real(array, pair):
    return (array.astype(np.float64) - pair[1]) * pair[0]


def whole(array, pair=OUT):
    return np.clip(np.rint(array / pair[0]) + pair[1], 0, 255)


def assert_near(found, wanted):
    """All but ties of rounding are the same integers, and those are neighbours."""
    off = np.abs(found.astype(np.int64) - wanted.astype(np.int64))
    assert found.dtype == np.uint8
    assert off.max() <= 1
    assert np.count_nonzero(off) <= off.size // 50
    assert len(np.unique(wanted)) > 5


@pytest.mark.parametrize(("op", "made"), [("QLinearAdd", np.add), ("QLinearMul", np.multiply)])
def test_sums_and_products_of_two(op, made):
    a, b = integers(2, 3, 5), integers(3, 1)
    found = run(op, [a, *parameters(ONE), b, *parameters(TWO), *parameters(OUT)])
    assert_near(found, whole(made(real(a, ONE), real(b, TWO))))


def test_averages():
    x = integers(2, 3, 6, 6)
    given = [x, *parameters(ONE), *parameters((0.02, 100))]
    found = run("QLinearGlobalAveragePool", given)
    assert_near(found, whole(real(x, ONE).mean((2, 3), keepdims=True), (0.02, 100)))
    found = run("QLinearAveragePool", given, kernel_shape=[2, 2], strides=[2, 2])
    mean = real(x, ONE).reshape(2, 3, 3, 2, 3, 2).mean((3, 5))
    assert_near(found, whole(mean, (0.02, 100)))
    with pytest.raises(UnsupportedError, match="channels in the last dimension are not taken"):
        run("QLinearGlobalAveragePool", given, channels_last=1)


def test_activations():
    x = integers(4, 5)
    given = [x, *parameters(ONE), *parameters(OUT)]
    values = real(x, ONE)
    found = run("QLinearLeakyRelu", given, alpha=0.25)
    assert_near(found, whole(np.where(values < 0, values * 0.25, values)))
    small = [x, *parameters(ONE), *parameters((1 / 256, 0))]
    assert_near(run("QLinearSigmoid", small), whole(1 / (1 + np.exp(-values)), (1 / 256, 0)))
    for version, axes in ((13, (1,)), (12, (1, 2))):
        x = integers(3, 4, 2)
        powers = np.exp(real(x, ONE))
        found = run("QLinearSoftmax", [x, *parameters(ONE), *parameters((1 / 256, 0))],
                    axis=1, opset=version)  # fmt: skip
        assert_near(found, whole(powers / powers.sum(axes, keepdims=True), (1 / 256, 0)))


def test_concatenations_and_choices():
    a, b = integers(2, 3), integers(2, 4)
    found = run("QLinearConcat", [*parameters(OUT), a, *parameters(ONE), b, *parameters(TWO)],
                axis=1)  # fmt: skip
    assert_near(found, whole(np.concatenate([real(a, ONE), real(b, TWO)], 1)))
    take = np.array([True, False, True])
    b = integers(2, 3)
    found = run("QLinearWhere", [take, a, *parameters(ONE), b, *parameters(TWO), *parameters(OUT)])
    assert_near(found, whole(np.where(take, real(a, ONE), real(b, TWO))))


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("result", ["quantised", "real"])
def test_products_of_matrices_with_a_bias(turned, per_column, alpha, result):
    a, b = integers(3, 6), integers(7, 6) if turned else integers(6, 7)
    scale = np.linspace(0.01, 0.03, 7, dtype=np.float32) if per_column else np.float32([0.02])
    zero = np.arange(7, dtype=np.uint8) if per_column else np.array(9, np.uint8)
    bias = RANDOM.integers(-500, 500, 7).astype(np.int32)
    out = (0.11, 128)
    given = [a, *parameters(ONE), b, scale, zero, bias]
    given += parameters(out) if result == "quantised" else []
    found = run("QGemm", given, alpha=alpha, transB=turned, real=result == "real")
    right = (b.T if turned else b).astype(np.float64) - zero
    wanted = alpha * ONE[0] * scale * ((a.astype(np.float64) - ONE[1]) @ right + bias)
    if result == "real":
        assert np.allclose(found, wanted, rtol=1e-5, atol=1e-4)
    else:
        assert_near(found, whole(wanted, out))


def test_what_is_missing_or_not_taken_is_named():
    with pytest.raises(GraphError, match="QLinearAdd needs 7 operands, it has 3"):
        run("QLinearAdd", [integers(2, 3), *parameters(ONE)])
    with pytest.raises(UnsupportedError, match=r"FusedMatMul of com\.microsoft is not taken"):
        run("FusedMatMul", [integers(2, 3), *parameters(ONE)])
    with pytest.raises(UnsupportedError, match=r"QLinearAdd of org\.example is not taken"):
        run("QLinearAdd", [integers(2, 3), *parameters(ONE)], domain="org.example")
