"""Graphs as ONNX files, run by ONNX's reference evaluator: the same results."""

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph import Graph, Value, default_passes, load_onnx, quantize, run_passes, save_onnx
from polyopt.graph.execution.run import run_plainly
from polyopt.ir.types import BOOL, F32


def saved(graph, folder, feeds, *, rtol=1e-5, atol=1e-5):
    """The file's results, which are those of the graph, and of the graph that is read back."""
    file = folder / "saved.onnx"
    save_onnx(graph, file)
    onnx.checker.check_model(str(file), full_check=True)
    theirs = ReferenceEvaluator(str(file)).run(list(graph.outputs), feeds)
    ours = run_plainly(graph, feeds)
    again = run_plainly(load_onnx(file), feeds)
    for one, other, back in zip(ours, theirs, again, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
        np.testing.assert_allclose(back, other, rtol=rtol, atol=atol)
    return theirs


def feeds_of(graph, seed=3):
    rng = np.random.default_rng(seed)
    return {v.name: rng.standard_normal(v.shape).astype(np.float32) for v in graph.inputs}


UNARY = [
    ("abs", {}), ("atan", {}), ("ceil", {}), ("celu", {"alpha": 0.7}), ("clip", {"low": -0.5}),
    ("clip", {"low": -0.5, "high": 0.25}), ("elu", {}), ("erf", {}), ("exp", {}), ("gelu", {}),
    ("gelu", {"approximate": "tanh"}), ("hard_sigmoid", {}), ("hardswish", {}), ("is_nan", {}),
    ("leaky_relu", {}), ("log_softmax", {}), ("mish", {}), ("neg", {}), ("reciprocal", {}),
    ("relu", {}), ("rint", {}), ("selu", {"alpha": 1.5, "gamma": 1.1}), ("sigmoid", {}), ("sign", {}), ("sin", {}),
    ("softmax", {"axis": 1}), ("softplus", {}), ("softsign", {}), ("tanh", {}),
    ("thresholded_relu", {}), ("cast", {"to": "i32"}), ("transpose", {"perm": (0, 2, 3, 1)}),
    ("reshape", {"shape": (4, 18)}), ("tile", {"repeats": (1, 2, 1, 3)}),
    ("expand", {"shape": (2, 4, 3, 6)}),
    ("pad", {"pads": (0, 0, 1, 1, 0, 0, 2, 3), "mode": "constant", "value": 0.5}),
    ("pad", {"pads": (0, 0, 1, 1, 0, 0, 2, 1), "mode": "edge"}),
    ("pad", {"pads": (0, 0, 1, 1, 0, 0, 2, 1), "mode": "reflect"}),
    ("slice", {"starts": (0, 1, 0, 5), "steps": (1, 2, 1, -1), "shape": (1, 2, 2, 6)}),
    ("slice", {"starts": (0, 3, 0, 4), "steps": (1, -3, 1, -2), "shape": (1, 2, 3, 2)}),
    ("reduce_mean", {"axes": (2, 3), "keepdims": 1}),
    ("reduce_sum", {"axes": (1,), "keepdims": 0}), ("reduce_max", {"axes": (0, 3), "keepdims": 0}),
    ("reduce_l2", {"axes": (1,), "keepdims": 1}),
    ("max_pool", {"kernel": (2, 3), "strides": (1, 2), "pads": (1, 1, 0, 1), "dilations": (1, 1)}),
    ("avg_pool", {"kernel": (3, 3), "strides": (2, 2), "pads": (1, 0, 0, 0), "dilations": (1, 1),
                  "count_include_pad": 1, "ceil_mode": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("op", "options"), UNARY, ids=lambda given: str(given)[:30])
def test_an_operator_is_the_same_in_a_file(net, tmp_path, op, options):
    n = net(1, 4, 3, 6)
    n.add("y", op, "x", **options)
    graph = n.graph("y")
    saved(graph, tmp_path, feeds_of(graph))


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "maximum", "minimum", "equal", "less"])
def test_operators_on_two_tensors(net, tmp_path, op):
    n = net(1, 4, 3, 6)
    n.add("y", op, "x", n.const("c", 4, 1, 1, around=2.0))
    graph = n.graph("y")
    saved(graph, tmp_path, feeds_of(graph))


def test_choices_between_tensors(tmp_path, net):
    n = net(2, 3)
    n.inputs.append(Value("take", (2, 3), BOOL))
    n.add("a", "neg", "x")
    n.add("y", "where", "take", "x", "a")
    graph = n.graph("y")
    take = np.array([[True, False, True], [False, False, True]])
    saved(graph, tmp_path, {"x": np.ones((2, 3), np.float32), "take": take})


def network(net):
    """Two convolutions, a sum, pooling and a classifier."""
    n = net(1, 3, 12, 12)
    n.conv("c", "x", n.const("w", 8, 3, 3, 3), n.const("cb", 8))
    n.norm("b", "c", 8)
    n.add("r", "relu", "b")
    n.conv("d", "r", n.const("v", 8, 1, 3, 3), group=8)
    n.add("s", "add", "d", "r")
    n.pool("p", "s")
    n.add("m", "reduce_mean", "p", axes=(2, 3), keepdims=0)
    n.add("y", "gemm", "m", n.const("g", 5, 8), n.const("gb", 5), trans_b=1)
    return n.graph("y")


def test_a_network_is_the_same_in_a_file(net, tmp_path):
    graph = network(net)
    saved(graph, tmp_path, feeds_of(graph))


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_quantised_network_is_the_same_in_a_file(net, tmp_path, per_channel):
    """A tie of one rounding may go the other way: by one step of an operand in between."""
    graph = network(net)
    samples = [feeds_of(graph, seed) for seed in range(3)]
    made = quantize(graph, samples, per_channel=per_channel)
    made.save(tmp_path / "own.onnx")
    kinds = {node.op_type for node in onnx.load(tmp_path / "own.onnx").graph.node}
    assert {"QuantizeLinear", "DequantizeLinear", "Conv", "Gemm"} <= kinds
    (theirs,) = saved(made.graph, tmp_path, samples[0], rtol=0.02, atol=0.02)
    (exact,) = run_plainly(graph, samples[0])
    assert 0 < np.abs(theirs - exact).max() < 0.1


def test_a_size_that_is_left_open_stays_so(tmp_path):
    open_model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[N, 6] x) => (float[N, 2, 3] y) <int64[3] shape = {0, 2, 3}> {
            r = Relu(x)
            y = Reshape(r, shape)
        }""")
    graph = load_onnx(open_model)
    save_onnx(graph, tmp_path / "open.onnx")
    evaluator = ReferenceEvaluator(str(tmp_path / "open.onnx"))
    x = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)
    (found,) = evaluator.run(None, {"x": x})
    assert (found == np.maximum(x, 0).reshape(5, 2, 3)).all()
    assert load_onnx(tmp_path / "open.onnx").open.keys() == graph.open.keys()


def test_what_has_no_nodes_is_named_at_once(net, tmp_path):
    n = net(1, 32, 6, 6)
    n.conv("c", "x", n.const("w", 32, 32, 3, 3))
    n.pool("p", "c")
    graph = run_passes(n.graph("p"), default_passes("avx2")).graph
    with pytest.raises(UnsupportedError, match="that ONNX has no nodes for: conv_blocked"):
        save_onnx(graph, tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()
    with pytest.raises(GraphError, match=r"none/m\.onnx cannot be written"):
        save_onnx(n.graph("p"), tmp_path / "none" / "m.onnx")


def test_scales_along_several_axes_are_refused(tmp_path):
    scale = np.full((2, 3), 0.5, np.float32)
    from polyopt.graph import Node, attributes

    graph = Graph(
        "g", (Value("x", (2, 3), F32),), {"scale": scale},
        (Node("y", "quantize", ("x", "scale"), attributes(to="u8")),), ("y",),
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match="y has scales along 2 axes"):
        save_onnx(graph, tmp_path / "m.onnx")
