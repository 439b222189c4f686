"""Operators of one's own: built of others, checked against their rules."""

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import GraphError, InvalidOptionError
from polyopt.graph import (
    Graph,
    Node,
    Result,
    Value,
    attributes,
    compile_model,
    operator,
    result_of,
)
from polyopt.graph.execution.run import run_plainly
from polyopt.ir.types import F32

WINDOW = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1)}


def convolved(x, w):
    """The convolution of one image with a frame of zeros, in doubles."""
    framed = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(framed, (3, 3), (2, 3))
    return np.einsum("ncyxij,ocij->noyx", windows, w)


def test_an_operator_is_built_of_others(net):
    """A convolution with a gate: two built-in convolutions inside a user's operator."""

    def rule(x, w, v):
        result_of("conv", x, v, **WINDOW)
        return result_of("conv", x, w, **WINDOW)

    @operator("gated_conv", result=rule)
    def gated_conv(make, x, w, v):
        value = make.apply("conv", x, w, **WINDOW)
        gate = make.apply("sigmoid", make.apply("conv", x, v, **WINDOW))
        return make.stage(value.shape, lambda *i: value[i] * gate[i])

    n = net(2, 3, 5, 6)
    n.add("y", "gated_conv", "x", n.const("w", 4, 3, 3, 3), n.const("v", 4, 3, 3, 3))
    graph = n.graph("y")
    x = np.random.default_rng(0).standard_normal((2, 3, 5, 6)).astype(np.float32)
    value, gate = (convolved(x, graph.constants[name]) for name in "wv")
    (found,) = run_plainly(graph, {"x": x})
    np.testing.assert_allclose(found, value / (1 + np.exp(-gate)), rtol=1e-5, atol=1e-6)


def test_what_is_applied_may_be_the_result(net):
    @operator("twice", result=lambda x: result_of("concat", x, x, axis=1))
    def twice(make, x):
        return make.apply("concat", x, x, axis=1)

    n = net(1, 2, 3)
    n.add("y", "twice", "x")
    x = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    (found,) = run_plainly(n.graph("y"), {"x": x})
    assert (found == np.concatenate([x, x], 1)).all()


def test_halves_are_rounded_once(net):
    """``exp(x) - 1``: rounded in between, little would be left of it."""

    @operator("growth")
    def growth(make, x):
        power = make.apply("exp", x)
        return make.stage(x.shape, lambda *i: power[i] - 1.0)

    @operator("plain_growth")
    def plain_growth(make, x):
        return make.apply("expm1", x)

    n = net(1, 4)
    n.inputs[0] = Value("x", (1, 4), po.f16)
    n.add("y", "growth", "x")
    n.add("z", "plain_growth", "x")
    x = np.array([[1e-3, 2e-3, 0.01, 0.3]], np.float16)
    for found in run_plainly(n.graph("y", "z"), {"x": x}):
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, np.expm1(x.astype(np.float64)), rtol=1e-3)


def test_operands_that_do_not_fit_are_refused(net):
    @operator("wrong_conv")
    def wrong_conv(make, x):
        return make.apply("conv", x, x, **{**WINDOW, "strides": (1,)})

    n = net(1, 2, 3, 3)
    n.add("y", "wrong_conv", "x")
    with pytest.raises(GraphError, match=r"strides is 2 number\(s\) from 1 up"):
        run_plainly(n.graph("y"), {"x": np.ones((1, 2, 3, 3), np.float32)})
    with pytest.raises(InvalidOptionError, match="there is no operator 'convolve'"):
        result_of("convolve", Value("x", (1, 2), F32))


@pytest.mark.parametrize("kind", ["shape", "type", "nothing"])
def test_a_result_that_its_rule_does_not_say_is_refused(net, kind):
    rules = {"shape": lambda x: Result((*x.shape, 1), x.dtype), "type": None, "nothing": None}

    @operator("other", result=rules[kind])
    def other(make, x):
        if kind == "nothing":
            return None
        return make.stage(
            x.shape, lambda *i: x[i] * 2, dtype=po.f64.type if kind == "type" else None
        )

    n = net(2, 3)
    n.add("y", "other", "x")
    said = {"shape": r"other makes f32\[2, 3\], and the rule of other says f32\[2, 3, 1\]",
            "type": r"other makes f64\[2, 3\], and", "nothing": "other makes no tensor"}  # fmt: skip
    with pytest.raises(GraphError, match=said[kind]):
        run_plainly(n.graph("y"), {"x": np.ones((2, 3), np.float32)})


def test_an_operator_without_operands():
    @operator("ramp", result=lambda *, n: Result((n,), F32))
    def ramp(make, *, n):
        return make.stage((n,), lambda i: po.cast("f32", i))

    nodes = (Node("r", "ramp", (), attributes(n=4)), Node("y", "add", ("x", "r")))
    model = compile_model(Graph("g", (Value("x", (4,), F32),), {}, nodes, ("y",)))
    np.testing.assert_array_equal(model(np.ones(4, np.float32)), [1, 2, 3, 4])
