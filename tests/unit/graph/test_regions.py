"""Regions that passes mark: what is marked, what is not, and what the policy makes of them."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.graph import Fusion, choose_groups, compile_graph, compile_model, run_passes
from polyopt.graph.passes import (
    DEFAULT_PASSES,
    FoldBatchNorm,
    FuseConvBnRelu,
    FuseResidualAdd,
    SelectLayout,
)

BLOCKS = SelectLayout(lanes=4)


def regions(graph, *passes):
    """The names of each region's nodes, by the region, after passes whose numbers are verified."""
    found = {}
    for node in run_passes(graph, passes, verify_numbers=True).graph.nodes:
        if node.region:
            found.setdefault(node.region, []).append(node.name)
    return found


def left_alone(graph, each):
    """The remarks of a pass that changes nothing."""
    report = run_passes(graph, [each])
    assert report.graph is graph
    return report.steps[0].remarks


def groups(graph, level):
    return [[n.name for n in g.nodes] for g in choose_groups(graph, Fusion(level)).groups]


def residual(net, *, activation="relu", swapped=False):
    """relu(bn(conv(relu(x))) + relu(x)), its parts named r, c, b, s, y."""
    n = net(1, 4, 6, 6)
    n.add("r", "relu", "x")
    n.conv("c", "r", n.const("w", 4, 4, 3, 3))
    n.norm("b", "c", 4)
    n.add("s", "add", *(("r", "b") if swapped else ("b", "r")))
    if activation:
        n.add("y", activation, "s")
    return n


# -- convolution + batch normalisation + ReLU -----------------------------------------------------


@pytest.mark.parametrize(
    ("before", "members"),
    [
        ((), ["c", "b", "r"]),
        ((FoldBatchNorm(),), ["b", "r"]),
        ((FoldBatchNorm(), BLOCKS), ["b", "r"]),
    ],
    ids=["as it is", "folded", "in blocks"],
)
def test_conv_bn_relu_is_one_region(stem, before, members):
    assert regions(stem, *before, FuseConvBnRelu()) == {"fuse_conv_bn_relu(r)": members}


def test_a_normalisation_as_product_and_sum_belongs_to_it(net):
    n = net(1, 4, 6, 6)
    n.conv("c", "x", n.const("w", 4, 4, 3, 3))
    n.add("m", "mul", "c", n.const("f", 4, 1, 1))
    n.add("a", "add", "m", n.const("g", 4, 1, 1))
    n.add("y", "clip", "a", low=0.0, high=6.0)
    assert list(regions(n.graph("y"), FuseConvBnRelu()).values()) == [["c", "m", "a", "y"]]


def test_a_normalisation_without_activation_is_a_region_too(net):
    n = net(1, 4, 6, 6)
    n.conv("c", "x", n.const("w", 4, 4, 3, 3))
    n.norm("b", "c", 4)
    assert list(regions(n.graph("b"), FuseConvBnRelu()).values()) == [["c", "b"]]


@pytest.mark.parametrize(
    ("op", "options"), [("relu", {}), ("softmax", {"axis": 1})], ids=["no convolution", "softmax"]
)
def test_other_pairs_are_no_region(net, op, options):
    n = net(1, 4, 6, 6)
    if op == "softmax":
        n.conv("c", "x", n.const("w", 4, 4, 3, 3))
    else:
        n.add("c", "neg", "x")
    n.add("y", op, "c", **options)
    assert left_alone(n.graph("y"), FuseConvBnRelu()) == ()


def test_only_the_activations_that_are_listed_end_a_region(net):
    n = net(1, 4, 6, 6)
    n.conv("c", "x", n.const("w", 4, 4, 3, 3))
    n.add("y", "tanh", "c")
    graph = n.graph("y")
    assert left_alone(graph, FuseConvBnRelu(activations=("relu",))) == ()
    assert regions(graph, FuseConvBnRelu())


@pytest.mark.parametrize(
    ("outputs", "said"),
    [(("p",), "c, which p reads too"), (("y", "c"), "c, which is an output")],
    ids=["a reader", "the caller"],
)
def test_a_convolution_that_something_else_needs_is_in_no_region(net, outputs, said):
    n = net(1, 4, 6, 6)
    n.conv("c", "x", n.const("w", 4, 4, 3, 3))
    n.add("y", "relu", "c")
    if outputs == ("p",):
        n.add("p", "mul", "c", "y")
    assert left_alone(n.graph(*outputs), FuseConvBnRelu()) == (f"y is no region with {said}",)


# -- residual sums --------------------------------------------------------------------------------


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("activation", ["relu", ""])
def test_a_residual_sum_is_one_region_with_its_convolution(net, activation, swapped):
    n = residual(net, activation=activation, swapped=swapped)
    last = n.nodes[-1].name
    n.add("z", "reduce_mean", last, axes=(2, 3), keepdims=0)
    graph = n.graph("z")
    members = ["s", "y"] if activation else ["s"]
    assert list(regions(graph, FuseResidualAdd()).values()) == [["c", "b", *members]]
    # after folding the convolution has the normalisation's name
    folded = regions(graph, FoldBatchNorm(), BLOCKS, FuseResidualAdd())
    assert list(folded.values()) == [["b", *members]]


def test_of_two_convolutions_the_later_joins_the_sum(net):
    n = net(1, 4, 6, 6)
    n.conv("c", "x", n.const("w", 4, 4, 3, 3))
    n.conv("d", "x", n.const("v", 4, 4, 1, 1), pad=0)
    n.add("s", "add", "d", "c")
    graph = run_passes(n.graph("s"), [FuseResidualAdd()]).graph
    assert groups(graph, "marked") == [["c"], ["d", "s"]]


def test_sums_with_constants_and_broadcast_sums_are_not_residual(net):
    n = net(1, 4, 6, 6)
    n.conv("c", "x", n.const("w", 4, 4, 3, 3))
    n.add("s", "add", "c", n.const("k", 1, 4, 6, 6))
    n.conv("d", "s", n.const("v", 4, 4, 3, 3))
    n.add("m", "reduce_mean", "x", axes=(2, 3), keepdims=1)
    n.add("y", "add", "d", "m")
    assert left_alone(n.graph("y"), FuseResidualAdd()) == ()


def test_a_sum_that_something_else_reads_ends_the_region(net):
    n = residual(net)
    n.add("z", "softmax", "s", axis=1)
    report = run_passes(n.graph("y", "z"), [FuseResidualAdd()])
    assert report.steps[0].remarks == ("y is no region with s, which z reads too",)
    assert [n.name for n in report.graph.nodes if n.region] == ["c", "b", "s"]


def test_a_convolution_that_is_read_beside_the_sum_is_not_swallowed(net):
    n = residual(net, activation="")
    n.add("z", "tanh", "b")
    (said,) = left_alone(n.graph("s", "z"), FuseResidualAdd())
    assert said == "s is no region with b, which z reads too"


def test_regions_that_are_there_stay(net):
    n = residual(net)
    once = run_passes(n.graph("y"), [FuseResidualAdd()]).graph
    assert run_passes(once, [FuseConvBnRelu(), FuseResidualAdd()]).graph is once


# -- what becomes of them -------------------------------------------------------------------------


def test_level_marked_fuses_regions_alone_and_off_nothing(net):
    n = residual(net)
    n.pool("p", "y")
    n.add("t", "tanh", "p")
    graph = run_passes(n.graph("t"), DEFAULT_PASSES).graph
    assert groups(graph, "off") == [["r"], ["b"], ["s"], ["y"], ["p"], ["t"]]
    assert groups(graph, "marked") == [["r"], ["b", "s", "y"], ["p"], ["t"]]
    assert groups(graph, "pointwise") == [["r"], ["b", "s", "y"], ["p", "t"]]


def test_the_policy_says_which_pass_put_a_pair_together(net):
    graph = run_passes(residual(net).graph("y"), DEFAULT_PASSES).graph
    reasons = {(d.producer, d.consumer): d.reason for d in choose_groups(graph).decisions}
    assert reasons["b", "s"].endswith("; marked by fuse_residual_add")
    assert "marked" not in reasons["r", "b"]


def test_what_the_policy_excludes_leaves_its_region(net):
    graph = run_passes(residual(net).graph("y"), DEFAULT_PASSES).graph
    found = choose_groups(graph, Fusion("marked", exclude=("y",))).groups
    assert [[n.name for n in g.nodes] for g in found] == [["r"], ["b", "s"], ["y"]]


@pytest.mark.parametrize("level", ["marked", "windows"])
def test_regions_compute_what_their_nodes_do_one_by_one(net, level):
    graph = residual(net).graph("y")
    x = np.random.default_rng(5).standard_normal((1, 4, 6, 6)).astype(np.float32)
    alone = compile_graph(graph, fusion="off")(x)
    np.testing.assert_allclose(compile_model(graph, fusion=level)(x), alone, rtol=1e-4, atol=1e-5)


def test_marks_are_shown_with_their_nodes(net):
    graph = run_passes(residual(net).graph("y"), [FuseResidualAdd()]).graph
    assert "y = relu(s) in fuse_residual_add(y)" in str(graph)
