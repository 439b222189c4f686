"""Passes: what they do, what they leave alone, and that they keep what the network computes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from polyopt.errors import InvalidOptionError, WrongPassError
from polyopt.graph import DEFAULT_PASSES, Graph, run_passes, same_graph
from polyopt.graph.passes import (
    FoldBatchNorm,
    FoldConstants,
    FoldIdioms,
    FoldPads,
    InferShapes,
    MergeEqual,
    Mutator,
    Pass,
    RemoveDead,
    Rewrite,
    Tensor,
    Visitor,
)
from polyopt.graph.passes import Node as Shape


def ops(graph):
    return [node.op for node in graph.nodes]


def checked(graph, *passes):
    """The graph after passes, its numbers verified."""
    return run_passes(graph, passes, verify_numbers=True).graph


# -- batch normalisation --------------------------------------------------------------------------


def test_batch_norm_goes_into_the_convolution_before_it(stem):
    after = checked(stem, FoldBatchNorm())
    assert ops(after) == ["conv", "relu", "max_pool"]
    assert after.nodes[0].name == "b"
    assert set(after.constants) == {"w_folded", "b_bias"}


def test_batch_norm_keeps_a_bias(net):
    n = net(1, 2, 5, 5)
    n.conv("c", "x", n.const("w", 3, 2, 3, 3), n.const("bias", 3, around=2.0))
    n.norm("b", "c", 3)
    assert ops(checked(n.graph("b"), FoldBatchNorm())) == ["conv"]


def test_batch_norm_folds_into_grouped_convolutions(net):
    n = net(1, 4, 5, 5)
    n.conv("c", "x", n.const("w", 4, 1, 3, 3), group=4)
    n.norm("b", "c", 4)
    assert ops(checked(n.graph("b"), FoldBatchNorm())) == ["conv"]


@pytest.mark.parametrize("other", ["a reader", "the caller"])
def test_a_convolution_that_something_else_needs_is_not_swallowed(net, other):
    n = net(1, 2, 5, 5)
    n.conv("c", "x", n.const("w", 3, 2, 3, 3))
    n.norm("b", "c", 3)
    n.add("s", "add", "b", "c" if other == "a reader" else "b")
    graph = n.graph("s") if other == "a reader" else n.graph("s", "c")
    after = checked(graph, FoldBatchNorm())
    assert ops(after) == ["conv", "mul", "add", "add"]
    assert same_graph(checked(graph, FoldBatchNorm(split=False)), graph)


def test_batch_norm_whose_statistics_are_computed_stays(net):
    n = net(1, 2, 5, 5)
    n.conv("c", "x", n.const("w", 3, 2, 3, 3))
    n.add("mean", "reduce_mean", "c", axes=(0, 2, 3), keepdims=0)
    n.add(
        "b",
        "batch_norm",
        "c",
        n.const("s", 3),
        n.const("t", 3),
        "mean",
        n.const("v", 3, around=3.0),
        epsilon=1e-5,
    )
    graph = n.graph("b")
    assert FoldBatchNorm().run(graph) is graph


# -- pads -----------------------------------------------------------------------------------------


def padded(net, op, value=0.0, mode="constant", widths=(0, 0, 1, 2, 0, 0, 0, 1), **options):
    n = net(1, 2, 6, 6)
    n.add("f", "pad", "x", pads=widths, mode=mode, value=value)
    if op == "conv":
        n.conv("y", "f", n.const("w", 3, 2, 4, 4), pad=0)
    else:
        n.add(
            "y", op, "f", kernel=(4, 4), strides=(1, 1), pads=(0,) * 4, dilations=(1, 1), **options
        )
    return n


@pytest.mark.parametrize(
    ("op", "value", "options"),
    [
        ("conv", 0.0, {}),
        ("max_pool", float("-inf"), {}),
        ("avg_pool", 0.0, {"count_include_pad": 1}),
    ],
)
def test_a_frame_becomes_pads_of_its_reader(net, op, value, options):
    after = checked(padded(net, op, value, **options).graph("y"), FoldPads())
    assert ops(after) == [op]
    assert after.nodes[0]["pads"] == (1, 2, 0, 1)


@pytest.mark.parametrize(
    ("op", "how"),
    [
        ("conv", {"value": 1.0}),
        ("conv", {"mode": "edge"}),
        ("conv", {"widths": (0, 0, -1, 0, 0, 0, 0, 0)}),
        ("max_pool", {"value": 0.0}),
        ("max_pool", {"value": float("-inf"), "widths": (0, 0, 4, 0, 0, 0, 0, 0)}),
        ("avg_pool", {"value": 0.0}),
        ("avg_pool", {"count_include_pad": 1, "ceil_mode": 1}),
    ],
)
def test_a_frame_that_means_something_else_stays(net, op, how):
    graph = padded(net, op, **how).graph("y")
    assert FoldPads().run(graph) is graph


def test_a_frame_that_is_read_twice_stays(net):
    n = padded(net, "conv")
    n.add("z", "relu", "f")
    graph = n.graph("y", "z")
    assert FoldPads().run(graph) is graph


# -- constants, equal and dead nodes --------------------------------------------------------------


def test_what_depends_on_constants_alone_is_computed(net):
    n = net(2, 3)
    n.add("a", "add", n.const("p", 2, 3), n.const("q", 3))
    n.add("b", "relu", "a")
    n.add("y", "mul", "x", "b")
    after = checked(n.graph("y"), FoldConstants())
    assert ops(after) == ["mul"]
    assert set(after.constants) == {"b"}
    expected = np.maximum(n.constants["p"] + n.constants["q"], 0)
    np.testing.assert_array_equal(after.constants["b"], expected)


def test_large_results_are_left_to_the_network(net):
    n = net(2, 3)
    n.add("a", "relu", n.const("p", 2, 3))
    n.add("y", "mul", "x", "a")
    graph = n.graph("y")
    assert FoldConstants(most_elements=5).run(graph) is graph


def test_equal_nodes_and_constants_become_one(net):
    n = net(2, 3)
    n.const("p", 3)
    n.constants["q"] = n.constants["p"].copy()
    n.add("a", "add", "x", "p")
    n.add("b", "add", "x", "q")
    n.add("y", "mul", "a", "b")
    after = checked(n.graph("y", "b"), MergeEqual())
    assert ops(after) == ["add", "mul"]
    assert after.outputs == ("y", "a")
    assert set(after.constants) == {"p"}


def test_nodes_that_differ_in_an_attribute_stay_apart(net):
    n = net(2, 3)
    n.add("a", "leaky_relu", "x", alpha=0.1)
    n.add("b", "leaky_relu", "x", alpha=0.2)
    n.add("y", "add", "a", "b")
    graph = n.graph("y")
    assert MergeEqual().run(graph) is graph


def test_dead_nodes_and_constants_go_and_inputs_stay(net):
    n = net(2, 3)
    n.add("a", "add", "x", n.const("p", 3))
    n.add("b", "relu", "a")
    n.add("y", "neg", "x")
    after = checked(n.graph("y"), RemoveDead())
    assert (ops(after), dict(after.constants)) == (["neg"], {})
    assert RemoveDead().run(after) is after


# -- idioms ---------------------------------------------------------------------------------------


def hardswish(n):
    n.constants |= {"three": np.array(3, np.float32), "six": np.array([6], np.float32)}
    n.add("a", "add", "x", "three")
    n.add("c", "clip", "a", low=0.0, high=6.0)


def test_activations_are_found_in_what_they_are_made_of(net):
    n = net(2, 5)
    n.add("s", "sigmoid", "x")
    n.add("silu", "mul", "s", "x")
    hardswish(n)
    n.add("m", "mul", "x", "c")
    n.add("hard", "div", "m", "six")
    n.constants |= {
        "root": np.array(2**0.5, np.float32),
        "one": np.array(1, np.float32),
        "half": np.array(0.5, np.float32),
    }
    n.add("d", "div", "x", "root")
    n.add("e", "erf", "d")
    n.add("o", "add", "e", "one")
    n.add("g", "mul", "x", "o")
    n.add("gelu", "mul", "g", "half")
    after = checked(n.graph("silu", "hard", "gelu"), FoldIdioms())
    assert sorted(ops(after)) == ["gelu", "hardswish", "silu"]


def test_a_product_with_another_tensors_sigmoid_is_no_silu(net):
    n = net(2, 5)
    n.add("t", "tanh", "x")
    n.add("s", "sigmoid", "x")
    n.add("y", "mul", "t", "s")
    graph = n.graph("y")
    assert FoldIdioms().run(graph) is graph


def test_a_cut_at_other_bounds_is_no_hardswish(net):
    n = net(2, 5)
    hardswish(n)
    n.nodes[-1] = n.nodes[-1].with_attributes(high=5.0)
    n.add("m", "mul", "x", "c")
    n.add("y", "div", "m", "six")
    graph = n.graph("y")
    assert FoldIdioms().run(graph) is graph


def test_a_sigmoid_that_is_read_elsewhere_is_not_swallowed(net):
    n = net(2, 5)
    n.add("s", "sigmoid", "x")
    n.add("y", "mul", "x", "s")
    graph = n.graph("y", "s")
    assert FoldIdioms().run(graph) is graph


@dataclass(frozen=True)
class DoubleNegation(Rewrite):
    cheap: bool = False

    @property
    def pattern(self):
        return Shape("neg", (Shape("neg", (Tensor("x"),)),))

    def replace(self, match, new):
        new.node(match.root.name, "relu", [match.tensors["x"]])
        new.nodes[-1] = replace(new.nodes[-1], op="abs")  # on positive numbers, the same
        return True

    def is_cheap(self, match):
        return self.cheap


def test_a_shared_node_is_recomputed_only_where_the_pass_says_that_it_is_cheap(net):
    n = net(2, 5)
    n.add("p", "abs", "x")
    n.add("a", "neg", "p")
    n.add("b", "neg", "a")
    graph = n.graph("b", "a")
    assert DoubleNegation().run(graph) is graph
    left = run_passes(graph, [DoubleNegation()])
    assert left.steps[0].remarks == (
        "b is left as it is: it would compute again a, which is an output",
    )
    again = run_passes(graph, [DoubleNegation(cheap=True)], verify_numbers=True)
    assert ops(again.graph) == ["abs", "neg", "abs"]
    said = "b computes again a, which is an output: cheaper than to read it"
    assert str(again).splitlines()[1] == f"  {said}"


# -- the manager ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class DropStrides(Pass):
    """Wrong: a convolution with stride 2 becomes one with stride 1, its result cut."""

    def run(self, graph):
        nodes = []
        for node in graph.nodes:
            if node.op != "conv":
                nodes.append(node)
                continue
            shape = graph.values[node.name].shape
            nodes.append(replace(node.with_attributes(strides=(1, 1)), name="whole"))
            cut = replace(node, op="slice", inputs=("whole",), attributes=())
            nodes.append(cut.with_attributes(starts=(0,) * 4, steps=(1,) * 4, shape=shape))
        return graph.with_nodes(nodes)


def strided(net):
    n = net(1, 2, 9, 9)
    n.conv("c", "x", n.const("w", 3, 2, 3, 3), stride=2)
    n.add("r", "relu", "c")
    return n.graph("r")


def test_a_wrong_pass_is_caught_by_its_numbers(net):
    graph = strided(net)
    assert run_passes(graph, [DropStrides()]).steps[0].changed  # well-formed all the same
    with pytest.raises(WrongPassError, match="drop_strides changed what the network computes") as e:
        run_passes(graph, [DropStrides()], verify_numbers=True)
    assert "largest error" in e.value.diagnostic.notes[0]


@dataclass(frozen=True)
class Breaks(Pass):
    how: str

    def run(self, graph):
        first, *rest = graph.nodes
        match self.how:
            case "shape":
                return graph.with_nodes([first.with_attributes(strides=(1, 1)), *rest])
            case "order":
                return graph.with_nodes([*rest, first])
            case "inputs":
                return replace(graph, inputs=())
            case _:
                return str(graph)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("shape", r"changed the network's outputs: f32\[1, 3, 5, 5\] became f32\[1, 3, 9, 9\]"),
        ("order", "broke the graph: r reads 'c', which comes later"),
        ("inputs", "broke the graph: c reads 'x', which does not exist"),
        ("type", "returned a str, not a graph"),
    ],
)
def test_a_pass_that_breaks_the_graph_is_caught(net, how, said):
    with pytest.raises(WrongPassError, match=said):
        run_passes(strided(net), [Breaks(how)])


def test_the_report_says_what_changed_and_how_far_outputs_moved(stem):
    report = run_passes(stem, DEFAULT_PASSES, verify_numbers=True)
    changed = {step.name for step in report.steps if step.changed}
    assert changed == {"fold_batch_norm", "fuse_conv_bn_relu"}
    folded = next(step for step in report.steps if step.changed)
    assert 0 < folded.max_error < 1e-5
    assert 0 < folded.mean_squared_error < 1e-10
    assert str(report).splitlines()[0] == (
        "infer_shapes       same     4 nodes, max error 0, mean squared 0"
    )


def test_dumps_show_the_graph_before_and_after(stem, tmp_path):
    run_passes(stem, [FoldBatchNorm()], dump=tmp_path / "dump")
    names = sorted(path.name for path in (tmp_path / "dump").iterdir())
    assert names == [
        "00_before.svg",
        "00_before.txt",
        "01_fold_batch_norm.svg",
        "01_fold_batch_norm.txt",
    ]
    assert "batch_norm(" in (tmp_path / "dump" / "00_before.txt").read_text()
    assert "batch_norm(" not in (tmp_path / "dump" / "01_fold_batch_norm.txt").read_text()


def test_a_dump_into_a_file_is_refused(stem, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidOptionError, match="cannot be made"):
        run_passes(stem, [], dump=tmp_path / "file")


def test_passes_are_values():
    assert InferShapes() == InferShapes()
    assert FoldConstants(3) != FoldConstants(4)
    assert len({FoldBatchNorm(), FoldBatchNorm(split=True), FoldBatchNorm(split=False)}) == 2


# -- visitors and mutators ------------------------------------------------------------------------


def test_a_visitor_gets_each_node_by_its_operator(stem):
    class Counts(Visitor):
        def __init__(self):
            self.convolutions, self.others = [], []

        def visit_conv(self, graph, node):
            self.convolutions.append(node.name)

        def visit_node(self, graph, node):
            self.others.append(node.name)

    counts = Counts()
    counts.visit(stem)
    assert (counts.convolutions, counts.others) == (["c"], ["b", "r", "p"])


def test_a_mutator_that_changes_nothing_returns_the_graph_itself(stem):
    assert Mutator().mutate(stem) is stem


def test_a_mutator_can_rename_a_node_away(stem):
    class WithoutRelu(Mutator):
        def mutate_relu(self, graph, node):
            self.new.renamed[node.name] = node.inputs[0]

    after = WithoutRelu().mutate(stem)
    assert isinstance(after, Graph)
    assert [(n.name, n.inputs[0]) for n in after.nodes] == [("c", "x"), ("b", "c"), ("p", "b")]
