"""Results whose size depends on data: what is valid of them comes back, and nothing else reads more."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph import compile_model, load_onnx
from polyopt.graph.ir.graph import Graph, Node, ValidLength, Value, same_graph
from polyopt.graph.ir.verify import verify
from polyopt.ir.types import BOOL, F32, I64

from .test_onnx_layers import both, model_of, ours

RANDOM = np.random.default_rng(11)
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def network(nodes, inputs, outputs, constants):
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(a, name) for name, a in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def boxes(batch, count):
    found = RANDOM.random((batch, count, 4)).astype(np.float32)
    found[..., 2:] = found[..., :2] + 0.3 * found[..., 2:]
    return found


SETTINGS = {
    "most": np.array([4]), "overlap": np.array([0.2], np.float32),
    "least": np.array([0.3], np.float32), "axis": np.array([1]), "rows": np.array([0]),
    "box": np.array([2]), "class": np.array(1), "six": np.array([6, 1]), "pads": np.array([0, 0, 1, 0]),
}  # fmt: skip
SELECTED = helper.make_node(
    "NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["selected"]
)


@pytest.mark.parametrize(("batch", "classes", "count"), [(1, 1, 1), (2, 3, 9), (1, 4, 30)])
@pytest.mark.parametrize("centred", [0, 1])
def test_boxes_that_overlap_better_ones_are_left_out(batch, classes, count, centred):
    node = helper.make_node(*("NonMaxSuppression", SELECTED.input, ["y"]), center_point_box=centred)
    settings = {name: SETTINGS[name] for name in ("most", "overlap", "least")}
    scores = RANDOM.integers(0, 12, (batch, classes, count)).astype(np.float32) / 10
    given = {"boxes": boxes(batch, count), "scores": scores}
    (found,), (expected,) = both(node, given, settings, {"y": INT64}, opset=18)
    assert found.tolist() == expected.tolist()


def test_boxes_are_found_at_what_was_selected():
    """As detection heads have it: classes, and the boxes themselves, of what is left."""
    nodes = [
        SELECTED,
        helper.make_node("Gather", ["selected", "box"], ["column"], axis=1),
        helper.make_node("Squeeze", ["column", "axis"], ["places"]),
        helper.make_node("Squeeze", ["boxes", "rows"], ["all"]),
        helper.make_node("Gather", ["all", "places"], ["corners"], axis=0),
        helper.make_node("Gather", ["selected", "class"], ["label"], axis=1),
        helper.make_node("Unsqueeze", ["label", "axis"], ["labels"]),
        helper.make_node("Cast", ["labels"], ["numbers"], to=FLOAT),
        helper.make_node("Concat", ["corners", "numbers"], ["found"], axis=1),
    ]
    model = network(nodes, {"boxes": (1, 15, 4), "scores": (1, 3, 15)},
                    {"found": FLOAT, "selected": INT64},
                    {**SETTINGS, "most": np.array([15])})  # fmt: skip
    compiled, reference = compile_model(model), ReferenceEvaluator(model)
    sizes = set()
    for scale in (1.0, 0.6, 0.0):
        scores = scale * RANDOM.random((1, 3, 15)).astype(np.float32)
        given = {"boxes": boxes(1, 15), "scores": scores.astype(np.float32)}
        for mine, theirs in zip(compiled.run(given), reference.run(None, given), strict=True):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)
            sizes.add(len(mine))
    assert len(sizes) == 3
    assert 0 in sizes


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_places_of_what_is_not_zero(shape, share):
    x = np.where(RANDOM.random(shape) < share, 2.5, 0).astype(np.float32)
    (found,), (expected,) = both(helper.make_node("NonZero", ["x"], ["y"]), {"x": x}, None,
                                 {"y": INT64})  # fmt: skip
    assert (found.shape, found.tolist()) == (expected.shape, expected.tolist())


@pytest.mark.parametrize("axis", [0, -1, None])
def test_slices_are_kept_where_data_say(axis):
    x = RANDOM.random((4, 5)).astype(np.float32)
    flags = np.array([True, False, False, True])
    node = helper.make_node(
        "Compress", ["x", "c"], ["y"], **({} if axis is None else {"axis": axis})
    )
    (found,), (expected,) = both(node, {"x": x, "c": flags})
    np.testing.assert_array_equal(found, expected)


#: what reads more than a row, or how many there are
OTHERS = {
    "Shape": (helper.make_node("Shape", ["selected"], ["y"]), "Shape of 'selected': its size"),
    "Size": (helper.make_node("Size", ["selected"], ["y"]), "Size of 'selected'"),
    "sums over rows": (
        helper.make_node("ReduceSum", ["selected", "rows"], ["y"]), "reduce_sum reads 'selected'",
    ),
    "all elements": (helper.make_node("ReduceMax", ["selected"], ["y"]), "reduce_max reads"),
    "prefix sums": (helper.make_node("CumSum", ["selected", "class"], ["y"]), "cumsum reads"),
    "rows after rows": (
        helper.make_node("Concat", ["selected", "selected"], ["y"], axis=0), "concat reads",
    ),
    "rows behind": (helper.make_node("Pad", ["selected", "pads"], ["y"]), "pad reads 'selected'"),
    "one row": (helper.make_node("Gather", ["selected", "rows"], ["y"], axis=0), "slice reads"),
    "two sizes": (
        helper.make_node("Concat", ["selected", "other"], ["y"], axis=1), "have different sizes",
    ),
    "a shape alone": (helper.make_node("EyeLike", ["selected"], ["y"]), "EyeLike: the size of its"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_reads_more_than_a_row_is_refused(name):
    node, message = OTHERS[name]
    other = helper.make_node("NonMaxSuppression", [*SELECTED.input[:3]], ["other"])
    model = network([SELECTED, other, node], {"boxes": (1, 5, 4), "scores": (1, 2, 5)},
                    {"y": INT64}, SETTINGS)  # fmt: skip
    with pytest.raises(UnsupportedError, match=message) as caught:
        load_onnx(model)
    assert caught.value.diagnostic.span.line == 3


def test_a_tensor_beside_that_goes_row_by_row_is_refused():
    """There are as many rows of it as there may be, and not as there are."""
    table = np.arange(16, dtype=np.int64).reshape(8, 2)[:, :1]
    nodes = [SELECTED, helper.make_node("Add", ["selected", "table"], ["y"])]
    model = network(nodes, {"boxes": (1, 5, 4), "scores": (1, 2, 5)}, {"y": INT64},
                    {**SETTINGS, "table": table})  # fmt: skip
    with pytest.raises(UnsupportedError, match="add reads 'selected'"):
        load_onnx(model)


def test_none_are_asked_for():
    given = {"boxes": boxes(1, 5), "scores": np.ones((1, 2, 5), np.float32)}
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores"], ["y"])
    (found,) = ours(model_of(node, given, None, {"y": INT64}, opset=18), given)
    assert (found.shape, found.dtype) == ((0, 3), np.int64)


def graph_of(**changes):
    given = {
        "name": "g", "inputs": (Value("x", (6,), BOOL),), "constants": {},
        "nodes": (Node("y", "true_places", ("x",)), Node("n", "cast", ("x",), (("to", "i64"),)),
                  Node("c", "reduce_sum", ("n",), (("axes", (0,)), ("keepdims", 0)))),
        "outputs": ("y", "c"), "lengths": (ValidLength("y", 0, "c"),),
    }  # fmt: skip
    return Graph(**{**given, **changes})


def test_a_graph_says_which_results_have_a_length():
    graph = verify(graph_of())
    assert str(graph).splitlines()[-1].split() == ["valid", "y:", "c", "along", "axis", "0"]
    assert not same_graph(graph, graph_of(lengths=()))
    model = compile_model(graph)
    assert model(np.array([0, 1, 0, 0, 1, 1], np.bool_)).tolist() == [1, 4, 5]
    assert graph.values["y"] == Value("y", (6,), I64)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outputs": ("y",)}, "'c' has to be an output"),
        ({"outputs": ("c",)}, "'y' has to be an output"),
        ({"lengths": (ValidLength("y", 1, "c"),)}, "the valid length of 'y' along axis 1"),
        ({"lengths": (ValidLength("y", 0, "n"),), "outputs": ("y", "n")}, "is one integer, not"),
    ],
)
def test_a_length_that_is_none_is_refused(changes, message):
    with pytest.raises(GraphError, match=message):
        verify(graph_of(**changes))


def test_sizes_that_are_left_open_besides_are_refused():
    nodes = [SELECTED, helper.make_node("Relu", ["z"], ["y"])]
    model = network(nodes, {"boxes": (1, 5, 4), "scores": (1, 2, 5), "z": ("N", 2)},
                    {"selected": INT64, "y": FLOAT}, SETTINGS)  # fmt: skip
    with pytest.raises(UnsupportedError, match="size depends on data, and leaves sizes open"):
        compile_model(model)
    assert compile_model(model, sizes={"N": 3}).graph.values["y"] == Value("y", (3, 2), F32)
