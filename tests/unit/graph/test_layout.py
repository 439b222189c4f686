"""Layout selection: what comes into blocks of channels, what does not, and that numbers stay."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import InvalidOptionError, WrongPassError
from polyopt.graph import compile_graph, run_passes
from polyopt.graph.passes import SelectLayout

LAYOUT = SelectLayout(lanes=4)


def ops(graph):
    return [node.op for node in graph.nodes]


def checked(graph, *passes):
    """The graph after passes, its numbers verified."""
    return run_passes(graph, passes or (LAYOUT,), verify_numbers=True).graph


@pytest.fixture
def block(net):
    """Two convolutions with pooling and a sum between them; 8 channels."""
    n = net(1, 8, 6, 6)
    n.conv("c", "x", n.const("w", 8, 8, 3, 3), n.const("b", 8))
    n.add("r", "relu", "c")
    n.add("s", "add", "r", "x")
    n.pool("p", "s")
    n.conv("d", "p", n.const("v", 4, 8, 1, 1), pad=0)
    return n


def test_what_joins_convolutions_stays_in_blocks_between_them(block):
    after = checked(block.graph("d"))
    assert ops(after) == [
        "reshape", "transpose", "conv_blocked", "relu", "add", "max_pool", "conv_blocked",
        "transpose", "reshape",
    ]  # fmt: skip
    assert after.values["p"].shape == (1, 2, 3, 3, 4)
    assert after.values["d"].shape == (1, 4, 3, 3)


def test_weights_are_packed_in_the_order_in_which_they_are_read(block):
    after = checked(block.graph("d"))
    packed, w = after.constants["w_packed"], block.constants["w"]
    assert packed.shape == (2, 2, 3, 3, 4, 4)
    assert packed[1, 0, 2, 1, 3, 2] == w[6, 3, 2, 1]
    assert packed.flags.c_contiguous


def test_what_something_else_reads_too_is_there_in_both_layouts(block):
    block.add("m", "reduce_mean", "r", axes=(2, 3), keepdims=1)
    after = checked(block.graph("d", "m", "r"))
    assert after.outputs == ("d", "m", "r")
    assert after.values["r"].shape == (1, 8, 6, 6)


def test_channels_that_fill_no_block_are_filled_with_zeros(net):
    n = net(2, 9, 5, 5)
    n.conv("c", "x", n.const("w", 6, 9, 3, 3), n.const("b", 6))
    n.add("s", "sigmoid", "c")
    n.conv("d", "s", n.const("v", 3, 6, 3, 3))
    after = checked(n.graph("d"))
    assert ops(after).count("conv_blocked") == 2
    assert after.values["s"].shape == (2, 2, 5, 5, 4)
    assert not after.constants["w_packed"][1, :, :, :, :, 2:].any()


def test_what_may_make_infinities_of_filled_lanes_stays_out(net):
    n = net(1, 9, 4, 4)
    n.conv("c", "x", n.const("w", 6, 9, 3, 3))
    n.add("q", "div", "c", "c")
    n.conv("d", "q", n.const("v", 4, 6, 1, 1), pad=0)
    after = run_passes(n.graph("d"), [LAYOUT]).graph
    assert after.values["q"].shape == (1, 6, 4, 4)


def test_few_channels_are_read_as_they_come(stem):
    after = checked(stem)
    assert ops(after)[:2] == ["reshape", "conv_blocked"]
    assert after.values[after.nodes[0].name].shape == (1, 3, 12, 12, 1)


@pytest.mark.parametrize(
    ("channels", "count", "group", "op"),
    [
        (16, 8, 2, "conv_blocked"),  # of groups that fill whole blocks, more channels than results
        (8, 8, 4, "grouped_blocked"),  # two groups in each block
        (8, 8, 8, "depthwise_blocked"),
        (12, 12, 2, "conv"),  # a block with channels of both groups
        (8, 4, 4, "conv"),  # fewer results than channels in a group
    ],
)
@pytest.mark.parametrize("stride", [1, 2])
def test_groups_that_fill_blocks_or_are_filled_by_them(net, channels, count, group, op, stride):
    n = net(2, channels, 7, 6)
    n.conv("a", "x", n.const("u", channels, channels, 1, 1), pad=0)
    weights = n.const("w", count, channels // group, 3, 3)
    n.conv("c", "a", weights, n.const("b", count), group=group, stride=stride)
    assert op in ops(checked(n.graph("c")))


def test_channels_of_another_group_are_not_multiplied(net):
    """Neither by zeros: an infinity stays in its group."""
    n = net(1, 8, 6, 6)
    n.conv("c", "x", n.const("w", 8, 2, 3, 3), group=4)
    after = checked(n.graph("c"))
    assert "grouped_blocked" in ops(after)
    x = np.ones((1, 8, 6, 6), np.float32)
    x[0, 3, 2, 2] = np.inf
    found = np.asarray(compile_graph(after)(x))
    reached = np.isfinite(found).all(axis=(0, 2, 3))
    assert reached.tolist() == [True, True, False, False, True, True, True, True]
    assert np.isfinite(found[0, :, 4:]).all()


def test_depthwise_convolutions_join_blocks_and_other_groups_do_not(net):
    n = net(1, 8, 6, 6)
    n.conv("a", "x", n.const("u", 8, 8, 1, 1), pad=0)
    n.conv("c", "a", n.const("w", 8, 1, 3, 3), n.const("b", 8), group=8, stride=2)
    assert "depthwise_blocked" in ops(checked(n.graph("c")))
    n.conv("g", "c", n.const("v", 6, 4, 3, 3), group=2)
    after = checked(n.graph("g"))
    assert "conv" in ops(after)
    assert after.values["g"].shape == (1, 6, 3, 3)


def test_a_depthwise_convolution_stays_in_the_layout_of_its_operand(net):
    n = net(1, 8, 6, 8)
    n.conv("c", "x", n.const("w", 8, 1, 3, 3), group=8)
    alone = n.graph("c")
    assert LAYOUT.run(alone) is alone
    n.conv("d", "c", n.const("v", 8, 8, 1, 1), pad=0)
    after = checked(n.graph("d"))
    assert ops(after)[0] == "conv"
    assert "conv_blocked" in ops(after)


def test_a_depthwise_convolution_with_rows_shorter_than_two_vectors_goes_into_blocks(net):
    lanes = SelectLayout(lanes=8)
    for size, expected in ((16, "conv"), (15, "depthwise_blocked")):
        n = net(1, 16, size, size)
        n.conv("c", "x", n.const("w", 16, 1, 3, 3), group=16)
        assert expected in ops(checked(n.graph("c"), lanes))


def test_constants_per_channel_come_along_and_others_do_not(net):
    n = net(1, 8, 3, 8)
    n.conv("c", "x", n.const("w", 8, 8, 1, 1), pad=0)
    n.add("m", "mul", "c", n.const("f", 8, 1, 1))
    n.add("a", "add", "m", n.const("row", 8))
    after = checked(n.graph("a"))
    assert after.values["m"].shape == (1, 2, 3, 8, 4)
    assert after.values["a"].shape == (1, 8, 3, 8)


def test_whole_blocks_are_concatenated_in_blocks(net):
    n = net(1, 8, 5, 5)
    n.conv("c", "x", n.const("w", 4, 8, 1, 1), pad=0)
    n.conv("d", "x", n.const("v", 8, 8, 1, 1), pad=0)
    n.add("j", "concat", "c", "d", axis=1)
    n.conv("e", "j", n.const("u", 4, 12, 1, 1), pad=0)
    after = run_passes(n.graph("e"), [LAYOUT]).graph
    assert after.values["j"].shape == (1, 3, 5, 5, 4)
    x = np.random.default_rng(4).standard_normal((1, 8, 5, 5)).astype(np.float32)
    joined = np.concatenate([n.constants["w"], n.constants["v"]])[:, :, 0, 0]
    expected = np.einsum("ej,jc,ncyx->neyx", n.constants["u"][:, :, 0, 0], joined, x)
    np.testing.assert_allclose(compile_graph(after)(x), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("transposed", [0, 1])
def test_products_with_constants_are_packed(net, transposed):
    n = net(3, 7)
    shape = (10, 7) if transposed else (7, 10)
    n.add("y", "gemm", "x", n.const("w", *shape), n.const("b", 10), alpha=0.5, beta=2.0,
          trans_b=transposed)  # fmt: skip
    after = checked(n.graph("y"))
    assert ops(after) == ["reshape", "gemm_blocked", "reshape", "slice"]


def test_products_of_many_rows_stay_matrices(net):
    n = net(40, 7)
    n.add("y", "gemm", "x", n.const("w", 7, 10))
    graph = n.graph("y")
    assert LAYOUT.run(graph) is graph


def test_nchw_changes_nothing_and_other_layouts_are_refused(block):
    graph = block.graph("d")
    assert SelectLayout("nchw").run(graph) is graph
    with pytest.raises(InvalidOptionError, match="there is no layout 'nhcw'"):
        SelectLayout("nhcw")
    with pytest.raises(InvalidOptionError, match="'nhwc' has no blocks of 8 channels"):
        SelectLayout("nhwc", lanes=8)


def test_nhwc_is_one_block_of_all_channels(net):
    n = net(2, 3, 8, 8)
    n.conv("c", "x", n.const("w", 6, 3, 3, 3), n.const("b", 6))
    n.add("m", "mul", "c", n.const("f", 6, 1, 1))
    n.conv("d", "m", n.const("v", 6, 1, 3, 3), group=6)
    n.pool("p", "d")
    n.pool("q", "m")
    n.add("j", "concat", "p", "q", axis=1)
    n.conv("e", "j", n.const("u", 5, 12, 1, 1), pad=0)
    n.add("g", "reduce_mean", "e", axes=(2, 3), keepdims=0)
    n.add("y", "gemm", "g", n.const("t", 5, 7))
    after = checked(n.graph("y"), SelectLayout("nhwc"))
    shapes = {name: after.values[name].shape for name in "cdpje"}
    assert shapes["c"] == shapes["d"] == (2, 1, 8, 8, 6)
    assert (shapes["p"], shapes["j"]) == ((2, 1, 4, 4, 6), (2, 1, 4, 4, 12))
    assert after.constants["w_packed"].shape == (1, 1, 3, 3, 3, 6)
    assert after.constants["w_packed"][0, 0, 2, 1, 1, 4] == n.constants["w"][4, 1, 2, 1]
    # products of matrices are left as they are
    assert ops(after)[-1] == "gemm"


def test_a_compiled_network_in_nhwc_is_the_one_in_nchw(block):
    graph = block.graph("d")
    x = np.random.default_rng(3).standard_normal((1, 8, 6, 6)).astype(np.float32)
    model = compile_graph(run_passes(graph, [SelectLayout("nhwc")]).graph)
    np.testing.assert_allclose(model(x), compile_graph(graph)(x), rtol=1e-4, atol=1e-4)


def test_wrong_weights_are_caught(block):
    class Swapped(SelectLayout):
        def run(self, graph):
            after = super().run(graph)
            return after.with_constants(w_packed=after.constants["w_packed"].swapaxes(2, 3).copy())

    with pytest.raises(WrongPassError, match="changed what the network computes"):
        checked(block.graph("d"), Swapped(lanes=4))


def test_the_compiled_network_is_the_one_in_planes(block):
    graph = block.graph("d")
    x = np.random.default_rng(3).standard_normal((1, 8, 6, 6)).astype(np.float32)
    plain = compile_graph(graph)(x)
    np.testing.assert_allclose(
        compile_graph(run_passes(graph, [SelectLayout()]).graph)(x), plain, rtol=1e-4, atol=1e-4
    )
