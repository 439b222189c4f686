"""Reading and writing at indices that are data, and which of them are shown to be inside."""

import numpy as np
import onnx
import pytest
from onnx import helper

from polyopt.errors import ArgumentError, GraphError, UnsupportedError
from polyopt.graph import compile_model, load_onnx
from polyopt.graph.ir.graph import Graph, Node, Value, attributes
from polyopt.graph.ir.ranges import IndexCheck, index_checks, intervals
from polyopt.graph.ir.verify import verify
from polyopt.ir.types import F32, I8, I32, I64

from .test_onnx_layers import both, floats, model_of, ours

RANDOM = np.random.default_rng(5)
INT32 = onnx.TensorProto.INT32


def table(kind, shape):
    return floats(*shape) if kind is np.float32 else RANDOM.integers(-9, 9, shape).astype(kind)


def distinct(size, axis, *shape):
    """Indices of which no two of a line are the same."""
    lines = RANDOM.permuted(np.broadcast_to(np.arange(size), (*shape, size)), axis=-1)
    return np.moveaxis(lines, -1, axis)


@pytest.mark.parametrize("kind", [np.float32, np.int32])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_elements_are_written_at_indices_of_data(reduction, kind):
    x, updates = table(kind, (4, 5, 3)), table(kind, (3, 4, 2))
    indices = distinct(5, 1, 3, 2)[:, :4]
    if reduction != "none":
        indices = RANDOM.integers(-5, 5, indices.shape)
    node = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=1, reduction=reduction)
    given = {"x": x, "i": indices, "u": updates}
    kinds = {} if kind is np.float32 else {"y": INT32}
    (found,), (expected,) = both(node, given, None, kinds)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_of_several_updates_of_one_place_the_last_counts():
    given = {"x": floats(3), "i": np.array([1, 0, -2, 0]), "u": floats(4)}
    node = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"])
    (found,) = ours(model_of(node, given), given)
    np.testing.assert_array_equal(found, [given["u"][3], given["u"][2], given["x"][2]])


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
@pytest.mark.parametrize("depth", [1, 2])
def test_slices_are_written_at_tuples_of_data(depth, reduction):
    x = floats(4, 3, 2)
    indices = np.array([[2, 1], [-1, 0], [0, -1]])[:, :depth]
    given = {"x": x, "i": indices, "u": floats(3, *x.shape[depth:])}
    node = helper.make_node("ScatterND", ["x", "i", "u"], ["y"], reduction=reduction)
    (found,), (expected,) = both(node, given)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("depth", [1, 2])
def test_slices_are_read_at_tuples_of_data(depth):
    given = {"x": floats(4, 3, 2), "i": np.array([[2, 1], [-1, 0], [0, -1]])[:, :depth]}
    node = helper.make_node("GatherND", ["x", "i"], ["y"])
    (found,), (expected,) = both(node, given)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_an_update_outside_makes_its_line_nan(reduction):
    given = {"x": floats(3, 2), "i": np.array([[0, 1], [3, 2]]), "u": floats(2, 2)}
    node = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], reduction=reduction)
    (found,) = ours(model_of(node, given), given)
    assert np.isnan(found[:, 0]).all()
    assert not np.isnan(found[:, 1]).any()


@pytest.mark.parametrize("reduction", ["max", "min"])
def test_extremes_with_nan_are_nan(reduction):
    x, updates = floats(3), np.array([np.nan, 1, 2], np.float32)
    x[2] = np.nan
    given = {"x": x, "i": np.array([0, 1, 2]), "u": updates}
    node = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], reduction=reduction)
    (found,) = ours(model_of(node, given), given)
    np.testing.assert_array_equal(np.isnan(found), [True, False, True])


def test_a_tuple_outside_of_one_axis_is_no_other_row():
    given = {"x": floats(4, 3), "i": np.array([[1, 3], [0, 2]])}
    node = helper.make_node("GatherND", ["x", "i"], ["y"])
    (found,) = ours(model_of(node, given), given)
    np.testing.assert_array_equal(found, [np.nan, given["x"][0, 2]])


# -- integers: indices have to be inside --------------------------------------------------------


def test_indices_of_the_caller_are_checked_at_each_call():
    given = {"x": table(np.int32, (4, 3)), "places": np.array([0, -4, 3], np.int32)}
    node = helper.make_node("Gather", ["x", "places"], ["y"])
    model = compile_model(load_onnx(model_of(node, given, None, {"y": INT32})))
    np.testing.assert_array_equal(model(**given), given["x"][[0, 0, 3]])
    for place, said in ((4, "holds 4"), (-5, "holds -5")):
        outside = np.array([0, place, 1], np.int32)
        with pytest.raises(ArgumentError, match=f"places {said}: .* takes -4 to 3 as indices"):
            model(x=given["x"], places=outside)


def test_indices_that_are_computed_have_to_be_shown_to_be_inside():
    x, a = Value("x", (4,), I32), Value("a", (2,), I64)
    sums = Node("s", "add", ("a", "a"))
    read = Node("y", "gather", ("x", "s"), attributes(axis=0))
    with pytest.raises(UnsupportedError, match=r"indices 's' of gather 'y' are computed") as caught:
        compile_model(Graph("g", (x, a), {}, (sums, read), ("y",)))
    assert "not shown to be in -4 .. 3" in caught.value.diagnostic.message
    clipped = Node("c", "clip", ("s",), attributes(low=0, high=3))
    read = Node("y", "gather", ("x", "c"), attributes(axis=0))
    model = compile_model(Graph("g", (x, a), {}, (sums, clipped, read), ("y",)))
    np.testing.assert_array_equal(model(np.arange(4, dtype=np.int32), np.array([-3, 1])), [0, 2])


@pytest.mark.parametrize(("low", "high", "is_inside"), [
    (-4, 3, True), (-5, 3, False), (-4, 4, False),
])  # fmt: skip
def test_bounds_are_those_of_the_axis(low, high, is_inside):
    nodes = (Node("s", "add", ("a", "a")),
             Node("c", "clip", ("s",), attributes(low=low, high=high)),
             Node("y", "gather", ("x", "c"), attributes(axis=0)))  # fmt: skip
    made = Graph("g", (Value("x", (4,), I32), Value("a", (2,), I64)), {}, nodes, ("y",))
    if is_inside:
        assert index_checks(made) == ()
        return
    with pytest.raises(UnsupportedError, match=r"not shown to be in -4 \.\. 3"):
        index_checks(made)


def test_indices_are_integers():
    given, read = (Value("x", (4,), F32), Value("a", (2,), F32)), Node("y", "gather", ("x", "a"))
    with pytest.raises(GraphError, match="indices are integers, not f32"):
        verify(Graph("g", given, {}, (read,), ("y",)))


def interval_of(*nodes, **constants):
    inputs = (Value("x", (3, 7), F32), Value("n", (3, 7), I8))
    made = Graph("g", inputs, constants, nodes, (nodes[-1].name,))
    return intervals(made).get(nodes[-1].name)


PLACE = Node("p", "arg_max", ("x",), attributes(axis=1, keepdims=1))


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([PLACE], (0, 6)),
        ([PLACE, Node("q", "add", ("p", "two"))], (2, 8)),
        ([PLACE, Node("q", "sub", ("two", "p"))], (-4, 2)),
        ([PLACE, Node("q", "mul", ("p", "minus"))], (-18, 0)),
        ([PLACE, Node("q", "maximum", ("p", "two"))], (2, 6)),
        ([PLACE, Node("q", "floor_divide", ("p", "two"))], (0, 3)),
        ([PLACE, Node("q", "floor_divide", ("p", "minus"))], None),
        ([PLACE, Node("q", "remainder", ("p", "two"))], (0, 1)),
        ([PLACE, Node("q", "reshape", ("p",), attributes(shape=(3,)))], (0, 6)),
        ([PLACE, Node("q", "concat", ("p", "minus"), attributes(axis=0))], (-3, 6)),
        ([PLACE, Node("q", "cast", ("p",), attributes(to="i8"))], (0, 6)),
        ([PLACE, Node("q", "where", ("met", "minus", "p"))], (-3, 6)),
        ([Node("q", "remainder", ("n", "small"))], (0, 1)),
        ([Node("q", "clip", ("n",), attributes(low=-2, high=5))], (-2, 5)),
        ([Node("q", "clip", ("n",), attributes(low=3))], (3, 127)),
        ([Node("q", "add", ("n", "n"))], None),
        ([PLACE, Node("q", "mul", ("p", "large"))], None),  # it would not fit, and wraps
        ([PLACE, Node("q", "cast", ("p",), attributes(to="f32"))], None),
    ],
)  # fmt: skip
def test_intervals(nodes, expected):
    constants = {"two": np.array([[2]]), "minus": np.array([[-3]]), "large": np.array([[2**62]]),
                 "small": np.array([[2]], np.int8), "met": np.array([[True]])}  # fmt: skip
    assert interval_of(*nodes, **constants) == expected


def test_checks_are_of_inputs_that_are_moved_or_made_wider():
    x, places = Value("x", (4,), I32), Value("a", (2, 3), I8)
    nodes = (Node("t", "transpose", ("a",), attributes(perm=(1, 0))),
             Node("w", "cast", ("t",), attributes(to="i64")),
             Node("y", "gather", ("x", "w"), attributes(axis=0)))  # fmt: skip
    made = Graph("g", (x, places), {}, nodes, ("y",))
    assert index_checks(made) == (IndexCheck("a", -4, 3, "y"),)
    partly = (Node("t", "slice", ("a",), attributes(starts=(0, 0), steps=(1, 1), shape=(1, 3))),
              Node("y", "gather", ("x", "t"), attributes(axis=0)))  # fmt: skip
    with pytest.raises(UnsupportedError, match="not shown to be in"):
        index_checks(Graph("g", (x, places), {}, partly, ("y",)))
