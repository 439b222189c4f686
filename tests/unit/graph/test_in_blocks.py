"""Operators of one's own in blocks of channels: what they compute there is what they say."""

import numpy as np
import pytest

import polyopt as po
from polyopt.graph import compile_graph, operator, run_passes
from polyopt.graph.execution.run import run_plainly
from polyopt.graph.passes import SelectLayout


def between(net, op, *weights, channels=16, **options):
    """Two convolutions of 1 x 1 that copy their channels, and an operator between them."""
    n = net(2, channels, 5, 6)
    n.constants["one"] = np.eye(channels, dtype=np.float32)[:, :, None, None]
    n.conv("a", "x", "one", pad=0)
    given = [n.const(f"w{k}", *shape) for k, shape in enumerate(weights)]
    n.add("s", op, "a", *given, **options)
    n.conv("y", "s", "one", pad=0)
    return n.graph("y")


def ops(graph):
    return [node.op for node in graph.nodes]


def changed(graph, layout="blocked", lanes=8):
    return run_passes(graph, [SelectLayout(layout, lanes)], verify_numbers=True).graph


def image(channels=16):
    return np.random.default_rng(5).standard_normal((2, channels, 5, 6)).astype(np.float32)


@pytest.mark.parametrize(("layout", "lanes"), [("blocked", 8), ("blocked", 4), ("nhwc", 0)])
def test_windows_of_rows_stay_in_blocks(net, layout, lanes):
    @operator("smooth")
    def smooth(make, x):
        edge = po.clamped(x.grid)
        return make.stage(
            x.shape, lambda n, c, y, x: (edge[n, c, y - 1, x] + edge[n, c, y, x]) * 0.5
        )

    graph = between(net, "smooth")
    made = changed(graph, layout, lanes)
    assert ops(made).count("smooth_in_blocks") == 1
    assert ops(made).count("transpose") == 2  # into blocks, and out of them
    x = image()
    above = np.concatenate([x[:, :, :1], x[:, :, :-1]], 2)
    (found,) = compile_graph(made).run({"x": x})
    np.testing.assert_allclose(found, (above + x) / 2, rtol=1e-5, atol=1e-6)


def test_steps_sums_and_weights_of_channels_stay_in_blocks(net):
    """Sums over rows in a stage of their own, a weight for each channel, and one for all."""

    @operator("calm")
    def calm(make, x, w, shift):
        sums = make.stage(
            x.shape[:2], lambda n, c: po.sum(lambda y, x_: x[n, c, y, x_], y=5, x_=6), part="sums"
        )
        framed = x.padded(1.5)
        return make.stage(
            x.shape,
            lambda n, c, y, x: framed[n, c, y + 1, x] * w[c] + shift[0] - sums[n, c] / 30.0 * c,
        )

    graph = between(net, "calm", (16,), (1,))
    made = changed(graph)
    assert "calm_in_blocks" in ops(made)
    x, w, shift = image(), graph.constants["w0"], graph.constants["w1"]
    below = np.concatenate([x[:, :, 1:], np.full_like(x[:, :, :1], 1.5)], 2)
    own = np.arange(16)[None, :, None, None]
    wanted = below * w[:, None, None] + shift[0] - x.mean((2, 3), keepdims=True) * own
    for graph_made in (made, graph):
        (found,) = run_plainly(graph_made, {"x": x})
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
def test_what_is_computed_from_indices_is_not_that_of_blocks(net, layout):
    """Pointwise by what it reads, of one rank by its function, and its value depends on where."""

    @operator("ramp")
    def ramp(make, x):
        return make.stage(x.shape, lambda n, c, y, column: x[n, c, y, column] * (c + 10 * column))

    graph = between(net, "ramp")
    made = changed(graph, layout, 8 if layout == "blocked" else 0)
    assert "ramp_in_blocks" in ops(made)
    (found,) = run_plainly(made, {"x": image()})
    factor = np.arange(16)[:, None, None] + 10 * np.arange(6)
    np.testing.assert_allclose(found, image() * factor, rtol=1e-6)


def test_rows_of_polyopt_s_own_stay_in_blocks(net):
    graph = between(net, "reduce_max", axes=(3,), keepdims=1)
    made = changed(graph)
    assert "reduce_max_in_blocks" in ops(made)
    x = image()
    (found,) = run_plainly(made, {"x": x})
    assert (found == x.max(3, keepdims=True)).all()


@pytest.mark.parametrize("why", ["neighbour", "turned", "rest", "schedule", "last"])
def test_what_is_not_by_channel_is_brought_back(net, why):
    """Other channels, channels that do not fill blocks, and operators with a plan of their own."""
    own = {"schedule": lambda plan: plan} if why == "schedule" else {}

    @operator("other", **own)
    def other(make, x):
        edge = po.clamped(x.grid)
        count = x.shape[1]

        def element(n, c, y, x):
            channel = {"neighbour": c + 1, "turned": count - 1 - c}.get(why, c)
            return edge[n, channel, y, x] * 2.0

        return make.stage(x.shape, element)

    channels = 12 if why == "rest" else 16
    graph = between(net, "other", channels=channels)
    if why == "last":
        graph = run_passes(graph, []).graph
        nodes = [node for node in graph.nodes if node.name != "y"]
        graph = type(graph)(graph.name, graph.inputs, graph.constants, tuple(nodes), ("s",))
    made = changed(graph)
    assert "other" in ops(made)
    x = image(channels)
    order = {"neighbour": [*range(1, 16), 15], "turned": [*range(16)][::-1]}
    (found,) = run_plainly(made, {"x": x})
    np.testing.assert_allclose(found, x[:, order.get(why, range(channels))] * 2, rtol=1e-6)


def test_an_operator_that_is_replaced_is_derived_anew(net):
    @operator("times")
    def times(make, x):
        return make.stage(x.shape, lambda *i: x[i] * 2.0)

    graph = between(net, "times")
    (first,) = run_plainly(changed(graph), {"x": image()})

    @operator("times", replace=True)
    def again(make, x):
        edge = po.clamped(x.grid)
        return make.stage(x.shape, lambda n, c, y, x: edge[n, c, y + 1, x] * 3.0)

    (second,) = run_plainly(changed(graph), {"x": image()})
    np.testing.assert_allclose(first, image() * 2, rtol=1e-6)
    below = np.concatenate([image()[:, :, 1:], image()[:, :, -1:]], 2)
    np.testing.assert_allclose(second, below * 3, rtol=1e-6)
