"""Recurrent networks of ONNX: sequences of their own lengths, directions, activations."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph import compile_graph, load_onnx

RANDOM = np.random.default_rng(11)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STEPS, BATCH, WIDTH, HIDDEN = 6, 4, 3, 5


def weights(op, directions):
    rows = GATES[op] * HIDDEN
    shapes = {"w": (rows, WIDTH), "r": (rows, HIDDEN), "b": (2 * rows,)}
    return {
        name: RANDOM.uniform(-0.7, 0.7, (directions, *shape)).astype(np.float32)
        for name, shape in shapes.items()
    }


def states(op, directions, batch=BATCH):
    names = ["h", "c"] if op == "LSTM" else ["h"]
    shape = directions, batch, HIDDEN
    return {n: RANDOM.uniform(-1, 1, shape).astype(np.float32) for n in names}


def model_of(op, inputs, constants, names, outputs, **options):
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, hidden_size=HIDDEN, **options)], op,
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
         for name, a in inputs.items()],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(a, name) for name, a in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])


def ours(model, inputs):
    return compile_graph(load_onnx(model)).run(inputs)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_a_sequence_of_its_own_length_is_as_if_it_were_alone(op, direction, known):
    count = 2 if direction == "bidirectional" else 1
    x = RANDOM.uniform(-1, 1, (STEPS, BATCH, WIDTH)).astype(np.float32)
    lens = np.array([6, 1, 4, 3], np.int32)
    given = {**weights(op, count), **states(op, count)}
    constants = {**given, "lens": lens} if known else given
    inputs = {"x": x} if known else {"x": x, "lens": lens}
    last = ["h", "c"] if op == "LSTM" else ["h"]
    outputs = ["y", *(f"y_{n}" for n in last)]
    names = ["x", "w", "r", "b", "lens", *last]
    found = ours(model_of(op, inputs, constants, names, outputs, direction=direction), inputs)
    for image, length in enumerate(lens):
        alone = {"x": x[:length, image : image + 1]}
        kept = {n: a[:, image : image + 1] if n in last else a for n, a in given.items()}
        without = ["x", "w", "r", "b", "", *last]
        model = model_of(op, alone, kept, without, outputs, direction=direction)
        y, *ends = ReferenceEvaluator(model).run(None, alone)
        np.testing.assert_allclose(found[0][:length, :, image], y[:, :, 0], atol=1e-6)
        assert not found[0][length:, :, image].any()
        for one, other in zip(found[1:], ends, strict=True):
            np.testing.assert_allclose(one[:, image], other[:, 0], atol=1e-6)


def test_a_linear_product_before_the_reset_gate():
    x = RANDOM.uniform(-1, 1, (STEPS, BATCH, WIDTH)).astype(np.float32)
    constants = {**weights("GRU", 1), **states("GRU", 1)}
    names = ["x", "w", "r", "b", "", "h"]
    model = model_of("GRU", {"x": x}, constants, names, ["y", "y_h"], linear_before_reset=1)
    for one, other in zip(ours(model, {"x": x}), ReferenceEvaluator(model).run(None, {"x": x}),
                          strict=True):  # fmt: skip
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_activations_take_their_parameters_in_order_and_values_are_clipped():
    x = RANDOM.uniform(-4, 4, (STEPS, BATCH, WIDTH)).astype(np.float32)
    constants = weights("RNN", 2)
    options = {
        "direction": "bidirectional", "activations": ["LeakyRelu", "Affine"],
        "activation_alpha": [0.25, 0.5], "activation_beta": [0.125], "clip": 0.75,
    }  # fmt: skip
    model = model_of("RNN", {"x": x}, constants, ["x", "w", "r", "b"], ["y"], **options)
    (found,) = ours(model, {"x": x})

    def leaky(v):
        return np.where(v < 0, 0.25 * v, v)

    def affine(v):
        return 0.5 * v + 0.125

    for direction, function, rows in ((0, leaky, range(STEPS)), (1, affine, range(STEPS)[::-1])):
        w, r, b = (constants[n][direction].astype(np.float64) for n in ("w", "r", "b"))
        h = np.zeros((BATCH, HIDDEN))
        for t in rows:
            total = x[t] @ w.T + h @ r.T + b[:HIDDEN] + b[HIDDEN:]
            h = function(np.clip(total, -0.75, 0.75))
            np.testing.assert_allclose(found[t, direction], h, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"activations": ["Sigmoid", "Tanh", "Cube"]}, "the activation 'cube' is not taken"),
        ({"input_forget": 1}, "input_forget has to be 0"),
    ],
)
def test_what_is_not_taken_is_said(options, said):
    x = np.zeros((STEPS, BATCH, WIDTH), np.float32)
    model = model_of("LSTM", {"x": x}, weights("LSTM", 1), ["x", "w", "r"], ["y"], **options)
    with pytest.raises(UnsupportedError, match=said):
        load_onnx(model)


def test_weights_and_lengths_have_to_fit():
    x = np.zeros((STEPS, BATCH, WIDTH), np.float32)
    constants = weights("GRU", 1)
    wrong = {**constants, "r": np.zeros((1, 7, HIDDEN), np.float32)}
    with pytest.raises(GraphError, match=r"input 2 has the shape \[1, 7, 5\], not \[1, 15, 5\]"):
        load_onnx(model_of("GRU", {"x": x}, wrong, ["x", "w", "r"], ["y"]))
    long = {**constants, "lens": np.array([6, 7, 1, 1], np.int32)}
    with pytest.raises(GraphError, match=r"sequence_lens .* are not all in 0 \.\. 6"):
        load_onnx(model_of("GRU", {"x": x}, long, ["x", "w", "r", "b", "lens"], ["y"]))


def test_any_number_of_images_are_taken():
    """The first dimension is left open: batches come first in this layout."""
    given = weights("LSTM", 1)
    inputs = {"x": np.zeros((1, STEPS, WIDTH), np.float32)}
    model = model_of("LSTM", inputs, given, ["x", "w", "r", "b"], ["y", "y_h"], layout=1)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "images"
    many = compile_graph(load_onnx(model))
    for count in (1, 3):
        x = RANDOM.uniform(-1, 1, (count, STEPS, WIDTH)).astype(np.float32)
        y, last = many.run({"x": x})
        one, other = ReferenceEvaluator(model).run(None, {"x": x})
        np.testing.assert_allclose(y, one, atol=1e-6)
        np.testing.assert_allclose(last, other, atol=1e-6)


@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_the_number_of_sequences_stays_open_where_it_is_asked_for(op, gates):
    """It is the second dimension, which has to be named."""
    draw = np.random.default_rng(9)
    w, r = (draw.standard_normal((2, gates * 5, n)).astype(np.float32) for n in (4, 5))
    node = helper.make_node(op, ["x", "w", "r"], ["y", "h"], hidden_size=5,
                            direction="bidirectional")  # fmt: skip
    graph = helper.make_graph(
        [node], "net", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [6, "batch", 4])],
        [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in "yh"],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(r, "r")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])
    with pytest.raises(UnsupportedError, match="axis 1 of the input 'x' of net is left open"):
        load_onnx(model)
    compiled = compile_graph(load_onnx(model, usual={"batch": 2}))
    for count in (1, 2, 5):
        x = draw.standard_normal((6, count, 4)).astype(np.float32)
        expected = ReferenceEvaluator(model).run(None, {"x": x})
        for mine, theirs in zip(compiled.run({"x": x}), expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
