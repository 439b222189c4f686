"""Compiled networks: results, memory, calls, profiles."""

import json

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from polyopt.bench.networks import network
from polyopt.errors import AliasError, ArgumentError, InvalidOptionError, UnknownNameError
from polyopt.graph import compile_graph, compile_model, operator
from polyopt.graph.execution.memory import Lifetime, plan_memory
from polyopt.graph.execution.run import random_inputs, run_plainly

#: networks are planned once: see ``compiled_network``
pytestmark = pytest.mark.xdist_group("networks")

SMALL = {
    "resnet50": {"size": 32, "width": 4, "classes": 10},
    "mobilenet": {"size": 32, "width": 8, "classes": 10},
    "unet": {"size": 32, "width": 4},
}


@pytest.mark.parametrize("name", SMALL)
def test_networks_agree_with_onnx(name, compiled_network):
    model = network(name, **SMALL[name])
    size = SMALL[name]["size"]
    x = np.random.default_rng(3).standard_normal((1, 3, size, size)).astype(np.float32)
    (expected,) = ReferenceEvaluator(model).run(None, {"input": x})
    compiled = compiled_network(name, **SMALL[name])
    for threads in (1, 2):
        found = compiled(x, threads=threads)
        assert np.abs(found - expected).max() <= 1e-3 * np.abs(expected).max()
    assert len({id(step.kernel) for step in compiled.steps}) < len(compiled.steps)
    assert compiled.arena.bytes < compiled.arena.unshared_bytes


@pytest.mark.parametrize("level", ["off", "pointwise", "windows", "all"])
def test_every_level_computes_the_same(stem, level):
    given = random_inputs(stem)
    (expected,) = run_plainly(stem, given)
    np.testing.assert_allclose(
        compile_graph(stem, fusion=level)(**given), expected, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    ("op", "options"),
    [
        ("relu", {}), ("leaky_relu", {"alpha": 0.1}), ("clip", {"low": 0.0, "high": 6.0}),
        ("hardswish", {}), ("hard_sigmoid", {}), ("sigmoid", {}), ("softplus", {}), ("gelu", {}),
        ("maximum", {}), ("minimum", {}), ("prelu", {}), ("softmax", {"axis": 1}),
        ("reduce_mean", {"axes": (2, 3), "keepdims": 1}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("swapped", [False, True])
def test_nan_stays_where_it_is(net, op, options, swapped):
    """No activation makes a number of it: a wrong input shows in the result."""
    n = net(1, 3, 5, 7)
    binary = op in {"maximum", "minimum", "prelu"}
    operands = ["x", n.const("k", 3, 1, 1)] if binary else ["x"]
    if swapped and op in {"maximum", "minimum"}:
        operands.reverse()
    n.add("y", op, *operands, **options)
    graph = n.graph("y")
    x = np.random.default_rng(0).standard_normal((1, 3, 5, 7)).astype(np.float32)
    reached = {"softmax": np.s_[0, :, 2, 3], "reduce_mean": np.s_[0, 1]}.get(op, np.s_[0, 1, 2, 3])
    x[0, 1, 2, 3] = np.nan
    found = compile_graph(graph)(x)
    assert np.isnan(found[reached]).all()
    assert np.isnan(found).sum() == found[reached].size


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "pads", "dilation"),
    [(40, 3, 2, (1, 1), 1), (37, 3, 2, (0, 1), 1), (35, 5, 3, (2, 2), 1), (36, 3, 2, (2, 2), 2)],
)
def test_depthwise_convolutions_of_every_other_element(net, size, kernel, stride, pads, dilation):
    """Rows are taken apart by remainders: each is contiguous where it is read."""
    n = net(2, 3, 6, size)
    w = n.const("w", 3, 1, kernel, kernel)
    options = {"strides": (1, stride), "pads": (2, pads[0], 2, pads[1]), "group": 3}
    n.add("c", "conv", "x", w, dilations=(1, dilation), **options)
    graph = n.graph("c")
    given = random_inputs(graph)
    node = onnx.helper.make_node(
        "Conv", ["x", "w"], ["c"], strides=[1, stride], dilations=[1, dilation],
        pads=list(options["pads"]), group=3,
    )  # fmt: skip
    (expected,) = ReferenceEvaluator(node).run(None, {**given, "w": graph.constants["w"]})
    np.testing.assert_allclose(compile_graph(graph)(**given), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run_plainly(graph, given)[0], expected, rtol=1e-4, atol=1e-5)


def test_a_file_becomes_a_function(one_layer):
    model = compile_model(one_layer)
    assert model(np.zeros((1, 3, 16, 16), np.float32)).shape == (1, 2, 16, 16)
    assert "Model net(input: f32[1, 3, 16, 16])" in repr(model)


def test_results_are_new_arrays(stem):
    model = compile_graph(stem)
    given = random_inputs(stem, seed=1)
    first = model(**given)
    copy = first.copy()
    model(np.zeros_like(given["x"]))
    np.testing.assert_array_equal(first, copy)


def test_inputs_in_any_layout_are_taken(stem):
    model = compile_graph(stem)
    x = random_inputs(stem)["x"]
    expected = model(x)
    np.testing.assert_array_equal(model(np.asfortranarray(x)), expected)
    wide = np.zeros((1, 3, 12, 24), np.float32)
    wide[..., ::2] = x
    np.testing.assert_array_equal(model(wide[..., ::2]), expected)


def test_views_inputs_and_constants_may_be_outputs(net):
    n = net(2, 6)
    n.add("v", "reshape", "x", shape=(3, 4))
    n.add("y", "neg", "v")
    n.add("w", "reshape", "y", shape=(12,))
    graph = n.graph("w", "v", "x", n.const("k", 3))
    x = random_inputs(graph)["x"]
    w, v, same, k = compile_graph(graph)(x)
    np.testing.assert_array_equal(w, -x.ravel())
    np.testing.assert_array_equal(v, x.reshape(3, 4))
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(k, n.constants["k"])
    assert not np.shares_memory(v, x)


@pytest.mark.parametrize(
    ("args", "named", "said"),
    [
        ((), {}, "net needs x"),
        ((1, 2), {}, "net takes 1 input"),
        ((np.zeros((1, 3, 12, 12), np.float32),), {"x": 0}, "x is given twice"),
        ((), {"y": 0}, "net has no input 'y'"),
        (([1.0],), {}, "x is a list, not a NumPy array"),
        ((np.zeros((1, 3, 12, 12)),), {}, "x has the type float64, not float32"),
        ((np.zeros((1, 3, 12, 11), np.float32),), {}, r"x has the shape \[1, 3, 12, 11\]"),
    ],
)
def test_wrong_arguments_are_refused(stem, args, named, said):
    with pytest.raises(ArgumentError, match=said):
        compile_graph(stem)(*args, **named)


def test_an_operators_own_schedule_is_used(net):
    used = []

    def schedule(plan):
        used.append(plan.scop.name)
        return plan.interchange("twice.n", "twice.c")

    @operator("twice", schedule=schedule)
    def twice(make, x):
        """Doubles."""
        return make.stage(x.shape, lambda *i: x[i] + x[i])

    n = net(5, 7)
    n.add("y", "twice", "x")
    model = compile_graph(n.graph("y"))
    x = random_inputs(n.graph("y"))["x"]
    np.testing.assert_array_equal(model(x), 2 * x)
    assert used == ["twice"]
    assert str(model.steps[0].kernel.planned.plan).splitlines()[0].startswith("for twice.c")


def test_a_schedule_that_returns_nothing_is_refused(net):
    operator("lost", schedule=lambda plan: None)(
        lambda make, x: make.stage(x.shape, lambda *i: x[i])
    )
    n = net(5, 7)
    n.add("y", "lost", "x")
    with pytest.raises(InvalidOptionError, match="the schedule of lost returned no plan"):
        compile_graph(n.graph("y"))


# -- profiles -------------------------------------------------------------------------------------


def test_a_profile_names_every_kernel_with_its_work(stem, tmp_path):
    model = compile_graph(stem, fusion="pointwise")
    found = model.profile(threads=1, runs=2, limit_ms=lambda moved, flops, threads: 1e-9)
    assert [row.operators for row in found] == ["conv + batch_norm + relu", "max_pool"]
    assert found.rows[1].bytes == 4 * (4 * 144 + 4 * 36)
    # each of 4 x 144 results: 27 products and sums
    assert found.rows[0].operations >= 2 * 27 * 4 * 144
    assert all(0 < row.fraction < 1 for row in found)
    assert "conv + batch_norm + relu -> f32[1, 4, 12, 12]" in str(found)
    document = json.loads(json.dumps(found.as_dict()))
    assert document["threads"] == 1
    trace = json.loads(found.chrome_trace(tmp_path / "t.json").read_text())
    assert [event["name"] for event in trace["traceEvents"]] == [r.operators for r in found]
    for event, row in zip(trace["traceEvents"], document["rows"], strict=True):
        told = {name: row[name] for name in ("gflops", "gbs", "fraction")}
        assert event["args"].items() >= told.items()


def test_a_profile_needs_runs_and_a_place_for_its_trace(stem, tmp_path):
    model = compile_graph(stem)
    with pytest.raises(InvalidOptionError, match="runs=0"):
        model.profile(runs=0)
    with pytest.raises(InvalidOptionError, match="cannot be written"):
        model.profile(runs=1).chrome_trace(tmp_path / "no" / "t.json")


# -- memory ---------------------------------------------------------------------------------------


def test_tensors_that_never_live_together_share_memory():
    arena = plan_memory(
        [Lifetime("a", 100, 0, 1), Lifetime("b", 60, 1, 2), Lifetime("c", 100, 2, 3)]
    )
    assert arena.offsets == {"a": 0, "c": 0, "b": 128}
    assert (arena.bytes, arena.unshared_bytes) == (192, 320)


def test_no_two_living_tensors_overlap():
    rng = np.random.default_rng(0)
    for _ in range(50):
        lives = []
        for k in range(12):
            first = int(rng.integers(0, 8))
            last = first + int(rng.integers(0, 4))
            lives.append(Lifetime(str(k), int(rng.integers(1, 500)), first, last))
        arena = plan_memory(lives)
        for a in lives:
            for b in lives:
                if a is not b and a.first <= b.last and b.first <= a.last:
                    one, two = arena.offsets[a.name], arena.offsets[b.name]
                    assert one + a.bytes <= two or two + b.bytes <= one
        assert arena.bytes <= arena.unshared_bytes


def test_bound_kernels_keep_the_checks_of_a_call(stem):
    kernel = compile_graph(stem, fusion="off").steps[2].kernel.kernel
    x = np.zeros((1, 4, 12, 12), np.float32)
    with pytest.raises(AliasError):
        kernel.bind(x, relu=x)


def test_unknown_networks_are_refused():
    with pytest.raises(UnknownNameError, match="no network is called 'vgg'"):
        network("vgg")
