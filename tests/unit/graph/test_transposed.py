"""Transposed convolutions in blocks of channels: each phase is a plain one."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.graph import compile_graph, run_passes
from polyopt.graph.passes import SelectLayout

LANES = 4


def blocked(n, name):
    graph = run_passes(n.graph(name), (SelectLayout(lanes=LANES),)).graph
    return graph, [node.op for node in graph.nodes if node.op.startswith("conv")]


def transposed(n, weights, *, bias=None, stride=2, begins=(1, 1), extents=(12, 10), **more):
    options = {"dilations": (1, 1), "finite": 1, **more}
    names = ["x", weights, *([bias] if bias else [])]
    n.add("t", "conv_transpose", *names, strides=(stride, stride), begins=begins,
          extents=extents, **options)  # fmt: skip


def scattered(x, w, strides, begins, extents):
    """By the definition: each element is spread by the kernel, and what falls together is added."""
    kernel = w.shape[2:]
    whole = [max(s * (n - 1) + k, b + e) for s, n, k, b, e in
             zip(strides, x.shape[2:], kernel, begins, extents, strict=True)]  # fmt: skip
    y = np.zeros((x.shape[0], w.shape[1], *whole))
    for i, j in np.ndindex(*x.shape[2:]):
        at = (
            slice(strides[0] * i, strides[0] * i + kernel[0]),
            slice(strides[1] * j, strides[1] * j + kernel[1]),
        )
        y[:, :, at[0], at[1]] += np.einsum("nc,cokl->nokl", x[:, :, i, j], w)
    return y[:, :, begins[0] : begins[0] + extents[0], begins[1] : begins[1] + extents[1]]


@pytest.mark.parametrize(
    ("kernel", "stride", "begins", "extents"),
    [
        ((4, 4), 2, (1, 1), (12, 10)), ((2, 2), 2, (0, 0), (12, 10)), ((4, 4), 1, (0, 0), (9, 8)),
        ((3, 3), 2, (1, 1), (12, 10)), ((3, 4), 2, (0, 2), (13, 9)), ((5, 3), 3, (1, 0), (18, 14)),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("channels", "count"), [(8, 8), (3, 4), (6, 5)])
def test_results_are_those_of_the_definition(net, kernel, stride, begins, extents, channels, count):
    n = net(2, channels, 6, 5)
    w = n.const("w", channels, count, *kernel)
    transposed(n, w, bias=n.const("b", count), stride=stride, begins=begins, extents=extents)
    graph, found = blocked(n, "t")
    assert found == ["conv_transpose_blocked"]
    x = np.random.default_rng(0).standard_normal((2, channels, 6, 5)).astype(np.float32)
    w, b = (n.constants[name].astype(np.float64) for name in ("w", "b"))
    expected = scattered(x, w, (stride, stride), begins, extents) + b[:, None, None]
    np.testing.assert_allclose(compile_graph(graph)(x), expected, rtol=1e-4, atol=1e-4)


def test_nothing_is_multiplied_by_taps_that_are_not_there(net):
    """An infinity reaches what it falls on, and no element of a phase without its tap."""
    n = net(1, 4, 6, 5)
    transposed(n, n.const("w", 4, 4, 3, 3))
    graph, found = blocked(n, "t")
    assert found == ["conv_transpose_blocked"]
    x = np.zeros((1, 4, 6, 5), np.float32)
    x[0, :, 2, 2] = np.inf
    reached = ~np.isfinite(np.asarray(compile_graph(graph)(x))[0, 0])
    rows, columns = np.nonzero(reached)
    assert {*rows} == {3, 4, 5}
    assert {*columns} == {3, 4, 5}


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((8, 4, 3, 3), {"group": 2}),
        ((8, 8, 3, 3), {"dilations": (2, 1)}),
        ((8, 8, 3, 3), {"finite": 0}),
        ((8, 8, 1, 3), {}),  # gaps, where no tap falls
        ((8, 1, 3, 3), {}),  # lanes that would be empty
    ],
)
def test_others_stay_as_they_are(net, shape, options):
    n = net(1, 8, 6, 5)
    transposed(n, n.const("w", *shape), **options)
    assert blocked(n, "t")[1] == ["conv_transpose"]


def test_what_follows_stays_in_blocks(net):
    n = net(1, 8, 6, 5)
    transposed(n, n.const("w", 8, 8, 4, 4))
    n.add("r", "relu", "t")
    n.conv("c", "r", n.const("v", 8, 8, 3, 3))
    assert blocked(n, "c")[1] == ["conv_transpose_blocked", "conv_blocked"]
