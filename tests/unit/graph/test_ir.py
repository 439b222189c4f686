"""Graphs as values: types, text, pictures, checks."""

import numpy as np
import pytest

from polyopt.errors import GraphError, InvalidOptionError
from polyopt.graph import Graph, Node, Value, attributes, same_graph
from polyopt.graph.draw import draw_graph
from polyopt.graph.execution.run import run_plainly
from polyopt.graph.fusion.policy import choose_groups
from polyopt.graph.ir.verify import verify
from polyopt.graph.operators import Maker, Tensor, find_operator, forget, operator
from polyopt.ir.types import F32


def test_shapes_and_types_follow_from_inputs(stem):
    assert {n: str(v) for n, v in stem.values.items() if n in "xcbrp"} == {
        "x": "f32[1, 3, 12, 12]", "c": "f32[1, 4, 12, 12]", "b": "f32[1, 4, 12, 12]",
        "r": "f32[1, 4, 12, 12]", "p": "f32[1, 4, 6, 6]",
    }  # fmt: skip
    assert stem.values["p"].bytes == 4 * 4 * 36


def test_the_text_names_every_tensor_with_its_type(stem):
    lines = str(stem).splitlines()
    assert lines[0] == "graph net"
    assert "  in     x: f32[1, 3, 12, 12]" in lines
    assert any(
        line.startswith("  r = relu(b) ") and line.endswith(": f32[1, 4, 12, 12]") for line in lines
    )
    assert lines[-1] == "  out    p"


def test_attributes_compare_whatever_their_order():
    one = Node("y", "clip", ("x",), attributes(low=0.0, high=6.0))
    assert one == Node("y", "clip", ("x",), attributes(high=6.0, low=0.0), origin="elsewhere")
    assert one["high"] == 6.0
    assert one.with_attributes(high=1.0)["high"] == 1.0


def test_same_graph_looks_at_bits(stem):
    changed = stem.with_constants(w=stem.constants["w"] + 1)
    assert same_graph(stem, stem.with_nodes(stem.nodes))
    assert not same_graph(stem, changed)
    assert not same_graph(stem, stem.with_nodes(stem.nodes[:-1]))


def test_a_picture_has_a_box_for_every_node_and_colours_groups(stem):
    plain = draw_graph(stem).svg
    assert plain.count("<rect") == 1 + len(stem.nodes)
    assert all(op in plain for op in ("conv", "batch_norm", "relu", "max_pool"))
    grouped = draw_graph(stem, choose_groups(stem).groups).svg
    assert "in 1 kernels" not in plain
    assert "#1" in grouped


def test_a_cycle_is_named(net):
    n = net(2, 3)
    n.add("a", "add", "x", "b")
    n.add("b", "relu", "a")
    with pytest.raises(GraphError, match="a reads 'b', which comes later, or depends on this"):
        verify(n.graph("b"))


@pytest.mark.parametrize(
    ("nodes", "outputs", "said"),
    [
        ([("a", "relu", "nothing")], ("a",), "reads 'nothing', which does not exist"),
        ([("x", "relu", "x")], ("x",), "two tensors are called 'x'"),
        ([("a", "relu", "x")], ("b",), "the output 'b' of net is made by nothing"),
        ([("a", "relu", "x")], (), "net has no output"),
        ([("a", "relu", "x", "x")], ("a",), "relu takes 1 operand"),
    ],
)
def test_what_is_not_well_formed_is_refused(net, nodes, outputs, said):
    n = net(2, 3)
    for name, op, *inputs in nodes:
        n.add(name, op, *inputs)
    with pytest.raises(GraphError, match=said):
        verify(n.graph(*outputs))


def test_attributes_are_checked(net):
    n = net(2, 3)
    n.add("a", "relu", "x", slope=1.0)
    with pytest.raises(GraphError, match="relu has no attribute 'slope'"):
        verify(n.graph("a"))
    n = net(2, 3)
    n.add("a", "reduce_sum", "x")
    with pytest.raises(GraphError, match="reduce_sum needs the attribute 'axes'"):
        verify(n.graph("a"))


def test_errors_point_at_the_node(net):
    n = net(2, 3)
    n.add("a", "relu", "x")
    n.add("b", "matmul", "a", "x")
    with pytest.raises(GraphError) as caught:
        verify(n.graph("b"))
    assert str(caught.value.diagnostic.span) == "net:2:1"
    assert caught.value.diagnostic.notes == ("a is f32[2, 3]", "x is f32[2, 3]")


# -- operators of one's own ---------------------------------------------------------------------


@pytest.fixture
def cube():
    @operator("cube")
    def made(make: Maker, x: Tensor) -> Tensor:
        """The third power."""
        return make.stage(x.shape, lambda *i: x[i] * x[i] * x[i])

    return made


def test_an_operator_of_ones_own_runs_like_any_other(cube, net):
    n = net(2, 3)
    n.add("y", "cube", "x")
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    (found,) = run_plainly(n.graph("y"), {"x": given})
    np.testing.assert_array_equal(found, given**3)


def test_an_operators_name_is_taken_once(cube):
    with pytest.raises(InvalidOptionError, match="there is an operator 'cube' already"):
        operator("cube")
    with pytest.raises(InvalidOptionError, match="an operator's name is an identifier"):
        operator("not one")


def test_an_operator_can_be_forgotten(cube):
    assert find_operator("cube") is cube
    forget("cube")
    assert find_operator("cube") is None
    assert operator("cube")(cube.build).name == "cube"


def test_constants_and_inputs_have_types_of_their_own():
    graph = Graph("g", (Value("x", (), F32),), {}, (Node("y", "neg", ("x",)),), ("y",))
    (found,) = run_plainly(graph, {"x": np.array(3, np.float32)})
    assert (found.shape, found) == ((), -3)
