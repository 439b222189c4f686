"""Bad networks: each mistake has one clear message, at its node where there is one."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper

from polyopt.bench.networks import network
from polyopt.cli import cli
from polyopt.errors import GraphError, InvalidOptionError, UnsupportedError, UserError
from polyopt.graph import load_onnx

F32 = TensorProto.FLOAT


def value(name, *shape, kind=F32):
    return helper.make_tensor_value_info(name, kind, list(shape))


def model(nodes, shape=(1, 3, 8, 8), *, weights=(), opset=17, outputs=("y",), kind=F32):
    ends = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
    arrays = [onnx.numpy_helper.from_array(a, n) for n, a in weights]
    graph = helper.make_graph(nodes, "m", [value("x", *shape, kind=kind)], ends, arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def node(op, inputs, outputs="y", name="", **options):
    return helper.make_node(op, inputs.split(), outputs.split(), name, **options)


def conv(*shape, **options):
    weights = [("w", np.zeros(shape, np.float32))]
    return model([node("Conv", "x w", name="first", **options)], weights=weights)


REFUSED = {
    "an operator that is not taken": (
        model([node("Relu", "x", "r"), node("Det", "r", name="sum")]),
        UnsupportedError, "the operator Det 'sum' is not taken", "m:2:1",
    ),
    "several operators that are not taken": (
        model([node("Det", "x", "d"), node("Unique", "d", "n"), node("Det", "x", "e"),
               node("Add", "d e")]),
        UnsupportedError, r"2 operators are not taken: Det \(2\), Unique \(1\)", "m:1:1",
    ),
    "an operator of another domain": (
        model([helper.make_node("Relu", ["x"], ["y"], "mine", domain="com.mine")]),
        UnsupportedError, "the operator Relu 'mine' of com.mine is not taken", "m:1:1",
    ),
    "an opset that is too old": (
        model([node("Relu", "x")], opset=6), UnsupportedError, "m uses opset 6; 7 to", "None",
    ),
    "an opset of the future": (
        model([node("Relu", "x")], opset=999), UnsupportedError, "m uses opset 999", "None",
    ),
    "a cycle": (
        model([node("Add", "x b", "a"), node("Relu", "a", "b"), node("Neg", "b")]),
        GraphError, "Add reads 'b', which comes later, or depends on this node", "m:1:1",
    ),
    "a tensor that nothing makes": (
        model([node("Add", "x z")]), GraphError, "Add reads 'z', which does not exist", "m:1:1",
    ),
    "weights that are missing": (
        model([node("Conv", "x w", name="first")]), GraphError,
        "Conv 'first' reads 'w', which does not exist", "m:1:1",
    ),
    "a tensor made twice": (
        model([node("Relu", "x"), node("Neg", "x")]), GraphError, "two tensors are called 'y'",
        "m:2:1",
    ),
    "an output that nothing makes": (
        model([node("Relu", "x", "z")]), GraphError, "the output 'y' of m is made by nothing",
        "None",
    ),
    "weights for other channels": (
        conv(4, 5, 3, 3), GraphError,
        r"Conv 'first': weights \[4, 5, 3, 3\] do not fit 3 channels in 1 group", "m:1:1",
    ),
    "a kernel_shape that is not the weights'": (
        conv(4, 3, 3, 3, kernel_shape=[5, 5]), GraphError,
        r"kernel_shape says \[5, 5\], the weights have \[3, 3\]", "m:1:1",
    ),
    "strides for another rank": (
        conv(4, 3, 3, 3, strides=[2]), GraphError, "strides, pads and dilations do not fit",
        "m:1:1",
    ),
    "a kernel larger than its input": (
        conv(4, 3, 11, 11), GraphError, r"y would have the shape|from 1 up|-2", "m:1:1",
    ),
    "an attribute of another type": (
        model([node("LeakyRelu", "x", alpha="steep")]), GraphError, "is not what ONNX allows",
        "m:1:1",
    ),
    "operands of two types": (
        model([node("Cast", "x", "i", to=TensorProto.INT32), node("Add", "x i")]), GraphError,
        "Add: operands of one type are needed, not f32 and i32", "m:2:1",
    ),
    "shapes that do not broadcast": (
        model([node("Add", "x w")], weights=[("w", np.zeros((5, 8), np.float32))]), GraphError,
        r"Add: shapes \[1, 3, 8, 8\] and \[5, 8\] do not broadcast", "m:1:1",
    ),
    "an open dimension": (
        model([node("Relu", "x")], (3, "N")), UnsupportedError,
        "axis 1 of the input 'x' of m is left open", "None",
    ),
    "an open dimension that is computed with": (
        model([node("Concat", "x x", axis=0)], ("N", 3)), UnsupportedError,
        "the network cannot be one for every N: the shape of 'y' depends on it otherwise", "None",
    ),
    "an input of complex numbers": (
        model([node("Relu", "x")], kind=TensorProto.COMPLEX64), UnsupportedError,
        "the input 'x' of m has elements of a type that is not taken", "None",
    ),
    "weights of complex numbers": (
        model([node("Cast", "w", "v", to=F32), node("Add", "x v")],
              weights=[("w", np.zeros(8, np.complex64))]),
        UnsupportedError, "'w' has elements of type complex64", "m:1",
    ),
    "a shape that depends on data": (
        model([node("Cast", "x", "s", to=TensorProto.INT64), node("Reshape", "x s", name="r")]),
        UnsupportedError, "Reshape 'r': its input 's' has to be a constant", "m:2:1",
    ),
    "training": (
        model([node("Dropout", "x r t", "y mask")],
              weights=[("r", np.array(0.5, np.float32)), ("t", np.array(True))]),
        UnsupportedError, "Dropout: training is not taken", "m:1:1",
    ),
    "no nodes": (
        model([], outputs=("x",)), GraphError, "m is no ONNX model, or a damaged one", "None",
    ),
    "weights with NaN in them": (
        model([node("Conv", "x w", name="first")],
              weights=[("w", np.full((4, 3, 3, 3), np.nan, np.float32))]),
        GraphError, r"Conv 'first': its constant 'w' holds NaN, first at \[0, 0, 0, 0\]", "m:1:1",
    ),
    "an option that is NaN": (
        model([node("LeakyRelu", "x", name="leaky", alpha=float("nan"))]), GraphError,
        "LeakyRelu 'leaky': the attribute 'alpha' of leaky_relu is NaN", "m:1:1",
    ),
    "a scale that is NaN": (
        model([helper.make_node("Resize", ["x", "", "s"], ["y"], "larger")],
              weights=[("s", np.array([1, 1, np.nan, 1], np.float32))]), GraphError,
        "Resize 'larger': scales are greater than 0 and finite", "m:1:1",
    ),
    "a scale without end": (
        model([helper.make_node("Resize", ["x", "", "s"], ["y"])],
              weights=[("s", np.array([1, 1, np.inf, 1], np.float32))]), GraphError,
        "Resize: scales are greater than 0 and finite", "m:1:1",
    ),
    "more elements than a computer has": (
        model([node("Pad", "x p")], weights=[("p", np.array([0] * 7 + [1 << 45]))]), GraphError,
        r"Pad: y would have the shape \[1, 3, 8, 35184372088840\]", "m:1:1",
    ),
    "half an element": (
        model([node("Reshape", "x s")], weights=[("s", np.array([7, -1], np.int64))]), GraphError,
        "192 elements do not fill the shape", "m:1:1",
    ),
    "nothing passed on": (
        model([helper.make_node("Min", [""], ["r"]), node("Relu", "r")]), GraphError,
        "Min: its input 0 is missing", "m:1:1",
    ),
    "bounds that are not as many": (
        model([node("Slice", "x s e")], weights=[("s", np.array([0])), ("e", np.array([1, 2]))]),
        GraphError, "Slice: 2 ends do not fit 1 starts", "m:1:1",
    ),
    "an axis taken twice": (
        model([node("Slice", "x s s a")], weights=[("s", np.array([1, 2])), ("a", np.array([3, -1]))]),
        GraphError, r"Slice: axes \[3, 3\] are not all different", "m:1:1",
    ),
    "an axis added twice": (
        model([node("Unsqueeze", "x a")], weights=[("a", np.array([0, 0]))]),
        GraphError, r"Unsqueeze: axes \[0, 0\] are not all different", "m:1:1",
    ),
    "sizes of some axes": (
        model([helper.make_node("Resize", ["x", "", "", "s"], ["y"])],
              weights=[("s", np.array([16, 16]))]), GraphError,
        "Resize: 2 sizes do not fit 4 axes", "m:1:1",
    ),
    "scales of some axes": (
        model([helper.make_node("Resize", ["x", "", "s"], ["y"])],
              weights=[("s", np.array([2, 2], np.float32))]), GraphError,
        "Resize: 2 scales do not fit 4 axes", "m:1:1",
    ),
    "windows that do not move": (
        model([node("MaxPool", "x", kernel_shape=[2, 2], strides=[0, 1], auto_pad="SAME_UPPER")]),
        GraphError, r"MaxPool: strides \[0, 1\] and dilations \[1, 1\] are not all positive", "m:1:1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_mistake_in_a_model_is_named(mistake):
    given, kind, said, place = REFUSED[mistake]
    with pytest.raises(kind, match=said) as caught:
        load_onnx(given)
    assert str(caught.value.diagnostic.span).startswith(place)
    assert "onnx." not in str(caught.value.diagnostic.message)


def test_terabytes_that_a_few_bytes_ask_for_are_not_computed(monkeypatch):
    """What constants are folded into is not made where it would be too large to keep."""
    given = model(
        [node("ConstantOfShape", "s", "c"), node("ReduceMax", "c", "r"), node("Add", "x r")],
        weights=[("s", np.array([1 << 40]))],
    )
    made = []
    monkeypatch.setattr(onnx.reference, "ReferenceEvaluator", made.append)
    with pytest.raises(
        UnsupportedError, match="ConstantOfShape: its result has more elements than"
    ):
        load_onnx(given)
    assert made == []


def test_functions_that_call_themselves_are_refused():
    own = helper.make_opsetid("own", 1)
    inner = [helper.make_node("F", ["a"], ["b"], domain="own")]
    function = helper.make_function("own", "F", ["a"], ["b"], inner, [own])
    given = model([helper.make_node("F", ["x"], ["y"], domain="own")])
    given.functions.append(function)
    given.opset_import.append(own)
    with pytest.raises(GraphError, match="the functions of m cannot be put in place") as caught:
        load_onnx(given)
    assert "recursive" in caught.value.diagnostic.notes[0]


def test_an_unknown_operator_comes_with_those_that_are_taken():
    with pytest.raises(UnsupportedError) as caught:
        load_onnx(REFUSED["an operator that is not taken"][0])
    assert "Conv, " in caught.value.diagnostic.hint
    assert "y = Det(r)" in str(caught.value)


def test_an_open_dimension_is_given_by_its_name():
    given = model([node("Relu", "x")], ("N", 3))
    assert str(load_onnx(given, sizes={"N": 5}).values["y"]) == "f32[5, 3]"
    with pytest.raises(GraphError, match="m has no open dimension 'M'") as caught:
        load_onnx(given, sizes={"N": 5, "M": 1})
    assert caught.value.diagnostic.hint == "open: N"
    with pytest.raises(GraphError, match="has 0 elements"):
        load_onnx(given, sizes={"N": 0})
    with pytest.raises(GraphError, match="is no size that m leaves open") as caught:
        load_onnx(given, usual={"M": 4})
    assert caught.value.diagnostic.hint == "open dimensions: N"


def test_a_model_that_lies_about_its_output_is_refused():
    given = model([node("Relu", "x")])
    del given.graph.output[:]
    given.graph.output.append(value("y", 1, 3, 9, 9))
    with pytest.raises(GraphError, match=r"says that 'y' has the shape \[1, 3, 9, 9\], it has f32"):
        load_onnx(given)


@pytest.mark.parametrize("keep", [0.001, 0.3, 0.6, 0.95])
def test_truncated_files_are_refused(tmp_path, keep):
    whole = network("unet", size=16, width=2).SerializeToString()
    path = tmp_path / "cut.onnx"
    path.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(UserError) as caught:
        load_onnx(path)
    assert "cut.onnx" in str(caught.value)


@pytest.mark.parametrize("text", [b"batch", b"name_of_x", b"axis"])
def test_names_that_are_no_text_are_told(text):
    """Protobuf gives them as bytes."""
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", 4])
            for n in ("name_of_x", "r")]  # fmt: skip
    graph = helper.make_graph([node("Softmax", "name_of_x", "r", axis=1)], "g", ends[:1], ends[1:])
    whole = helper.make_model(graph).SerializeToString()
    assert load_onnx(whole).inputs
    with pytest.raises(GraphError, match="is no ONNX model, or a damaged one"):
        load_onnx(whole.replace(text, b"\xff" * len(text)))


def test_damaged_bytes_never_crash():
    whole = bytearray(model([node("Relu", "x", "r"), node("Neg", "r")]).SerializeToString())
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        bad = bytearray(whole)
        for place in rng.integers(0, len(bad), 2):
            bad[place] = rng.integers(0, 256)
        try:
            load_onnx(bytes(bad))
        except UserError:
            refused += 1
    assert refused > 100


def test_weights_in_a_file_outside_are_not_read(tmp_path):
    given = conv(4, 3, 3, 3)
    given.graph.initializer[0].ClearField("raw_data")
    given.graph.initializer[0].data_location = TensorProto.EXTERNAL
    entry = given.graph.initializer[0].external_data.add()
    entry.key, entry.value = "location", "../../etc/passwd"
    path = tmp_path / "m.onnx"
    path.write_bytes(given.SerializeToString())
    with pytest.raises(GraphError, match="is no ONNX model, or a damaged one"):
        load_onnx(path)


@pytest.mark.parametrize(
    ("given", "said"),
    [("none.onnx", "there is no file none.onnx"), (3, "not a int"), (b"nonsense", "no ONNX model")],
)
def test_what_is_no_model_is_refused(given, said):
    with pytest.raises(GraphError, match=said):
        load_onnx(given)


# -- on the command line --------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(model([node("Relu", "x", "r"), node("Neg", "r")], ("N", 3)), "m.onnx")

    def invoke(*arguments):
        result = CliRunner().invoke(cli, list(arguments))
        assert "Traceback" not in result.output
        return result

    return invoke


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "none.onnx"], "bad-graph: there is no file none.onnx"),
        (["explain", "m.onnx", "-s", "M=1"], "m.onnx has no open dimension 'M'"),
        (["emit", "m.onnx", "-o", "c"], "m leaves N open: its memory is planned for a number"),
        (["explain", "m.onnx", "-s", "N=x"], "an open dimension is given as NAME=NUMBER"),
        (["explain", "m.onnx", "-s", "N=2", "--level", "most"], "no fusion level 'most'"),
        (["explain", "m.onnx", "-s", "N=2", "--exclude", "fc"], "no node and no operator 'fc'"),
        (["profile", "m.onnx", "-s", "N=2", "--include", "fc"], "no node and no operator 'fc'"),
        (
            ["explain", "blur", "--exclude", "relu"],
            "--exclude, --most-scratch and --graphs are for",
        ),
        (["explain", "m.onnx", "q", "-s", "N=2"], "m.onnx has no node 'q'"),
        (["explain", "m.onnx", "-s", "N=2", "--graphs", "m.onnx"], "m.onnx cannot be made"),
        (["profile", "m.onnx", "-s", "N=2", "--runs", "0"], "runs=0"),
    ],
)
def test_mistakes_on_the_command_line_exit_with_2(run, arguments, said):
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_a_network_is_explained_and_profiled(run, tmp_path):
    shown = run("explain", "m.onnx", "-s", "N=2", "--graphs", "out")
    assert shown.exit_code == 0
    assert "m: 2 nodes in 1 kernels" in shown.stdout
    assert "fused  r -> y: each result reads one element of it" in shown.stdout
    assert "+y = [relu + neg](x)" in (tmp_path / "out" / "fusion.diff").read_text()
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "fused.svg", "fused.txt", "fusion.diff", "unfused.svg", "unfused.txt",
    }  # fmt: skip
    data = json.loads(run("explain", "m.onnx", "-s", "N=2", "--json").stdout)
    assert data["remarks"][0]["producer_instances"] == 6
    times = json.loads(run("profile", "m.onnx", "-s", "N=2", "--json", "--trace", "t").stdout)
    assert times["rows"][0]["operators"] == "relu + neg"
    assert "traceEvents" in (tmp_path / "t").read_text()


def test_the_policy_is_given_on_the_command_line(run):
    apart = run("explain", "m.onnx", "-s", "N=2", "--exclude", "neg")
    assert "m: 2 nodes in 2 kernels" in apart.stdout
    assert "y is excluded by the policy" in apart.stdout
    times = run("profile", "m.onnx", "-s", "N=2", "--json", "--exclude", "y", "--runs", "1")
    assert [row["operators"] for row in json.loads(times.stdout)["rows"]] == ["relu", "neg"]
    none = run("explain", "m.onnx", "-s", "N=2", "--most-scratch", "0")
    assert "m: 2 nodes in 1 kernels" in none.stdout  # they need none
    listed = run("explain", "m.onnx", "-s", "N=2", "--operators", "relu")
    assert "the policy does not list neg" in listed.stdout
    both = run("explain", "m.onnx", "-s", "N=2", "--operators", "relu,neg")
    assert "m: 2 nodes in 1 kernels" in both.stdout
    joined = run("explain", "m.onnx", "-s", "N=2", "--level", "off", "--include", "neg")
    assert "m: 2 nodes in 1 kernels" in joined.stdout


def test_options_of_programs_do_not_go_with_networks(run):
    result = run("explain", "m.onnx", "-s", "N=2", "--unfused")
    assert result.exit_code == 2
    assert InvalidOptionError.code in result.stderr
