"""Resizing against ONNX's reference evaluator, on sizes that its own cases leave out."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from polyopt.errors import UnsupportedError
from polyopt.graph import compile_graph, load_onnx

SHAPE = (1, 2, 7, 10)


def resizing(scales=(), sizes=(), shape=SHAPE, **options):
    """A model of one node."""
    weights = [onnx.numpy_helper.from_array(np.array(scales, np.float32), "scales")]
    inputs = ["x", "", "scales"]
    if sizes:
        weights = [onnx.numpy_helper.from_array(np.array(sizes, np.int64), "sizes")]
        inputs = ["x", "", "", "sizes"]
    node = helper.make_node("Resize", inputs, ["y"], "resized", **options)
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "m", [given], [result], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def agrees(model, shape=SHAPE):
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    found = compile_graph(load_onnx(model))(x)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric")


@pytest.mark.parametrize("coordinates", [*COORDINATES, "align_corners"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_coordinates_of_filters(mode, coordinates):
    """Factors that do not divide, one up and one down: the result is cut, its centre moves."""
    scales = (1.0, 1.0, 0.6, 1.7)
    agrees(resizing(scales, mode=mode, coordinate_transformation_mode=coordinates))


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_coordinates_of_nearest(coordinates):
    """Factors by which no position lies half way between two elements: rounding decides there."""
    scales = (1.0, 1.0, 0.65, 1.65)
    agrees(resizing(scales, mode="nearest", coordinate_transformation_mode=coordinates))


@pytest.mark.parametrize("exclude_outside", [0, 1])
@pytest.mark.parametrize("antialias", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_filters_and_what_lies_outside(mode, antialias, exclude_outside):
    """Rows shrink to less than a third: a wide filter reads further than their number."""
    agrees(
        resizing(
            sizes=(1, 2, 2, 13), mode=mode, antialias=antialias, exclude_outside=exclude_outside,
            cubic_coeff_a=-0.5,
        )
    )  # fmt: skip


def test_a_filter_of_many_elements_is_a_loop():
    shape = (1, 1, 90, 3)
    agrees(resizing(sizes=(1, 1, 4, 3), shape=shape, mode="cubic", antialias=1), shape)


def test_a_filter_along_channels():
    agrees(resizing((1.0, 1.5, 1.0, 1.0), mode="cubic"))


def test_what_is_cropped_is_refused_at_its_node():
    model = resizing((1.0, 1.0, 2.0, 2.0), coordinate_transformation_mode="tf_crop_and_resize")
    with pytest.raises(UnsupportedError) as caught:
        load_onnx(model)
    shown = caught.value.diagnostic
    assert "Resize 'resized': coordinate_transformation_mode='tf_crop_and_resize'" in shown.message
    assert "half_pixel_symmetric" in shown.hint
    assert str(shown.span).startswith("m:1:1")
