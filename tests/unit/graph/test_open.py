"""Sizes that networks leave open: one compilation for any number of images."""

import pickle

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from polyopt.bench.networks import Network, network
from polyopt.errors import ArgumentError, GraphError, InvalidOptionError, UnsupportedError
from polyopt.graph import (
    DEFAULT_PASSES,
    Graph,
    Node,
    Value,
    attributes,
    compile_graph,
    compile_model,
    explain_network,
    load_onnx,
    run_passes,
    same_graph,
)  # fmt: skip
from polyopt.graph.execution.run import random_inputs, run_plainly
from polyopt.graph.ir.open import Open
from polyopt.ir.types import F32

BATCH = Open("batch", 2)
SMALL = {
    "resnet50": {"size": 32, "width": 4, "classes": 10},
    "mobilenet": {"size": 32, "width": 8, "classes": 10},
    "unet": {"size": 32, "width": 4},
}


def open_model(name, label="batch"):
    return opened(network(name, **SMALL[name]), label)


def opened(model, label="batch"):
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = label
    return model


@pytest.mark.parametrize("name", SMALL)
def test_one_compilation_serves_every_number_of_images(name):
    proto = open_model(name)
    model = compile_model(proto)
    x = np.random.default_rng(3).standard_normal((3, 3, 32, 32)).astype(np.float32)
    (expected,) = ReferenceEvaluator(proto).run(None, {"input": x})
    for count in (3, 1, 2):
        found = model(x[:count])
        assert np.abs(found - expected[:count]).max() <= 1e-3 * np.abs(expected).max()
    kernels = [step.kernel for step in model.at(batch=3).steps]
    assert kernels == [step.kernel for step in model.at(batch=1).steps]
    assert all(k.kernel.arguments[0].name == "BATCH" for k in kernels)


def unary(op, extents, inputs=("x",), **options):
    node = Node("y", op, inputs, attributes(**options))
    return Graph("net", (Value("x", extents, F32),), {}, (node,), ("y",))


def test_shapes_keep_the_name():
    graph = load_onnx(open_model("unet", "N"), usual={"N": 4})
    assert str(graph.values[graph.outputs[0]]) == "f32[N, 2, 32, 32]"
    assert graph.values["input"].bytes == 4 * 3 * 32 * 32 * 4
    assert str(graph.at(N=7).values["input"]) == "f32[7, 3, 32, 32]"
    assert not same_graph(graph, graph.at(N=4))
    assert graph.usual.values["input"].shape == (4, 3, 32, 32)


def test_shapes_that_exporters_compute_stay_open():
    """Reshapes to ``[Shape(x)[0], -1]``, as frameworks write ``x.view(x.size(0), -1)``."""
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Concat", ["n", "rest"], ["to"], axis=0),
        helper.make_node("Reshape", ["x", "to"], ["flat"]),
        helper.make_node("Relu", ["flat"], ["y"]),
    ]
    info = helper.make_tensor_value_info
    constants = [numpy_helper.from_array(np.array([v], np.int64), n)
                 for n, v in (("zero", 0), ("rest", -1))]  # fmt: skip
    proto = helper.make_model(helper.make_graph(
        nodes, "flat", [info("x", TensorProto.FLOAT, ["N", 3, 4])],
        [info("y", TensorProto.FLOAT, ["N", 12])], constants,
    ))  # fmt: skip
    graph = load_onnx(proto)
    assert graph.makers["flat"]["shape"] == (Open("N"), 12)
    x = random_inputs(graph.at(N=5))["x"]
    np.testing.assert_array_equal(compile_graph(graph)(x), np.maximum(x.reshape(5, 12), 0))


def test_passes_are_verified_on_usual_numbers():
    """Those that change a U-Net change its first and its last layer."""
    layers = Network("ends", (1, 3, 32, 32))
    ends = layers.model(layers.conv(layers.block("input", 4, 3), 2, 1, bias=True))
    report = run_passes(load_onnx(opened(ends)), DEFAULT_PASSES, verify_numbers=True)
    assert sum(step.changed for step in report.steps) >= 2
    assert str(report.graph.inputs[0]) == "f32[batch, 3, 32, 32]"
    assert max(step.max_error for step in report.steps) < 1e-4


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (unary("concat", (BATCH, 3), ("x", "x"), axis=0), "shape of 'y' depends on it"),
        (unary("reshape", (BATCH, 3), shape=(6,)), "elements do not fill the shape"),
    ],
)
def test_shapes_that_depend_on_a_number_otherwise(graph, said):
    with pytest.raises(UnsupportedError, match="one for every batch") as caught:
        _ = graph.values
    assert said in caught.value.diagnostic.message
    assert caught.value.diagnostic.hint == "compile it for one: sizes={'batch': 1}"
    assert graph.at(batch=2).values["y"].dtype == F32


@pytest.mark.parametrize("op", ["softmax", "reduce_mean"])
def test_stages_that_need_the_number_are_refused(op):
    options = {"axis": 0} if op == "softmax" else {"axes": (0,), "keepdims": 0}
    graph = unary(op, (BATCH, 5), **options)
    with pytest.raises(UnsupportedError, match=f"{op} computes with how many batch there are"):
        compile_graph(graph)
    given = random_inputs(graph)
    np.testing.assert_allclose(
        compile_graph(graph.at(batch=2)).run(given)[0], run_plainly(graph.at(batch=2), given)[0]
    )


@pytest.fixture(scope="module")
def pair():
    inputs = (Value("x", (BATCH, 3), F32), Value("z", (BATCH, 3), F32))
    graph = Graph("pair", inputs, {}, (Node("y", "add", ("x", "z")),), ("y",))
    return compile_graph(graph)


@pytest.mark.parametrize(
    ("x", "z", "said"),
    [
        ((2, 3), (1, 3), "batch is 2 in x and 1 in z"),
        ((2, 4), (2, 3), "x has the shape [2, 4], not f32[batch, 3]"),
        ((0, 3), (0, 3), "x has the shape [0, 3], not f32[batch, 3]"),
    ],
)
def test_inputs_that_do_not_fit_together(pair, x, z, said):
    with pytest.raises(ArgumentError) as caught:
        pair(np.zeros(x, np.float32), np.zeros(z, np.float32))
    assert said in str(caught.value)


def test_models_for_one_number_are_kept_for_a_while(pair):
    one = pair.at(batch=1)
    assert pair.at(batch=1) is one
    for count in (2, 3, 4, 5):
        assert pair.at(batch=count)(*[np.ones((count, 3), np.float32)] * 2).sum() == 6 * count
    assert pair.at(batch=1) is not one
    assert pair.at(batch=1).constants is pair.constants


@pytest.mark.parametrize("sizes", [{}, {"batch": 0}, {"batch": 1, "N": 2}])
def test_numbers_for_other_sizes_are_refused(pair, sizes):
    with pytest.raises(GraphError, match="pair is given") as caught:
        pair.at(**sizes)
    assert caught.value.diagnostic.hint == "open sizes: batch"


def test_profiles_and_explanations_have_numbers(pair):
    row = pair.profile(*[np.ones((4, 3), np.float32)] * 2, runs=1).rows[0]
    assert (row.operations, row.bytes, row.result) == (12, 3 * 4 * 3 * 4, "f32[4, 3]")
    assert pair.profile(runs=1).rows[0].operations == 6
    assert str(pair.explain()) == str(explain_network(pair.graph))


def test_a_folder_of_c_has_a_number(pair, tmp_path):
    with pytest.raises(InvalidOptionError, match="pair leaves batch open"):
        pair.export(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    made = pair.at(batch=4).export(tmp_path / "four")
    assert "pair_kernel_1(4, in0, in1, pair_tensor(0), threads)" in (made / "pair.c").read_text()


def test_sizes_that_cannot_be_told_apart_are_refused():
    values = tuple(Value(f"x{k}", (Open(n),), F32) for k, n in enumerate(("n", "N")))
    graph = Graph("net", values, {}, (Node("y", "relu", ("x0",)),), ("y",))
    with pytest.raises(UnsupportedError, match="the sizes n, N are left open"):
        compile_graph(graph)


def test_an_open_size_is_a_number_that_knows_its_name():
    size = Open("input.0", 8)
    assert (int(size), str(size), size.symbol, size + 0, 1 * size) == (
        8, "input.0", "INPUT_0", size, size,
    )  # fmt: skip
    assert Open("0").symbol == "N_0"
    assert size != 8
    assert size + 1 == 9
    assert 2 * size == 16
    assert pickle.loads(pickle.dumps(size)) == size


def sliced(starts, ends, axes):
    """A network that cuts a part out of images, whose number is open."""
    from onnx import TensorProto, helper, numpy_helper

    bounds = {"starts": starts, "ends": ends, "axes": axes}
    ends_of = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
               for name, shape in (("x", ["batch", 4]), ("y", None))]  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("Slice", ["x", *bounds], ["y"])], "cut", ends_of[:1], ends_of[1:],
        [numpy_helper.from_array(np.array(b, np.int64), n) for n, b in bounds.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


@pytest.mark.parametrize(
    ("starts", "ends"), [((1, -4), (0, 9)), ((2, 0), (2, 3)), ((3, 0), (0, 2))]
)
@pytest.mark.parametrize("usual", [1, 8])
def test_what_is_the_same_for_large_numbers_alone_is_refused(starts, ends, usual):
    """Parts without elements, of at most so many images."""
    proto = sliced(starts, ends, (1, 0))
    with pytest.raises(UnsupportedError, match=r"cannot be one for every batch: the shape of 'y'"):
        compile_model(proto, usual={"batch": usual})
    model = compile_model(proto, sizes={"batch": 2})
    (expected,) = ReferenceEvaluator(proto).run(None, {"x": np.ones((2, 4), np.float32)})
    assert model(np.ones((2, 4), np.float32)).shape == expected.shape
