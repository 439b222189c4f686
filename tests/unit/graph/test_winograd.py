"""Winograd's convolutions: the identity in exact numbers, rounding within its bound, the pass."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from polyopt.codegen.target import target
from polyopt.errors import GraphError, InvalidOptionError
from polyopt.graph import (
    Fusion,
    Value,
    choose_groups,
    compile_graph,
    compile_model,
    default_passes,
    result_of,
    run_passes,
)
from polyopt.graph.execution.run import run_plainly
from polyopt.graph.passes import NUMERICS, SelectLayout, UseWinograd
from polyopt.graph.winograd import cost, rounding
from polyopt.graph.winograd.transforms import from_points, transforms
from polyopt.ir.types import F32, F64

from .conftest import Net

#: pads: begins of rows and columns, then ends
AROUND, NONE, UNEVEN, WIDE = (1, 1, 1, 1), (0, 0, 0, 0), (0, 1, 2, 1), (2, 2, 2, 2)


def layer(shape, count, pads=AROUND, *, relu=True, bias=True, **options):
    """A convolution of ``[n][c][y][x]`` with so many results, as ONNX has it."""
    net = Net(*shape)
    w = net.const("w", count, shape[1] // options.get("group", 1), *options.pop("kernel", (3, 3)))
    more = [net.const("b", count)] if bias else []
    given = {"strides": (1, 1), "dilations": (1, 1), "group": 1, **options}
    last = net.add("y", "conv", "x", w, *more, pads=pads, **given)
    if relu:
        last = net.add("z", "relu", last)
    return net.graph(last)


def plain_convolution(x, w, bias, pads):
    """Element by element of the definition, in doubles; shares nothing with the package."""
    top, left, bottom, right = pads
    framed = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = np.lib.stride_tricks.sliding_window_view(framed, (3, 3), axis=(2, 3))
    sums = np.einsum("ncyxkl,ockl->noyx", windows, w.astype(np.float64))
    return sums if bias is None else sums + bias.astype(np.float64)[:, None, None]


def in_tiles(graph, tile, lanes=8):
    """The graph with every convolution that allows it in tiles."""
    passes = [SelectLayout(lanes=lanes), UseWinograd((tile,), always=True)]
    return run_passes(graph, passes).graph


def operators(graph):
    return [node.op for node in graph.nodes]


def image(shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# -- transformations ----------------------------------------------------------------------------


def weighted(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


@pytest.mark.parametrize(("tile", "kernel"), [(2, 3), (4, 3), (3, 2), (6, 3), (2, 5)])
def test_the_identity_holds_in_exact_numbers(tile, kernel):
    # both sides are linear in weights and in data: equal for unit vectors, they are always equal
    forms, count = transforms(tile, kernel), tile + kernel - 1
    for k, d in product(range(kernel), range(count)):
        g = weighted(forms.weights, [Fraction(i == k) for i in range(kernel)])
        data = weighted(forms.data, [Fraction(i == d) for i in range(count)])
        products = [a * b for a, b in zip(g, data, strict=True)]
        assert weighted(forms.result, products) == [int(i + k == d) for i in range(tile)]


def test_the_identity_does_not_hold_for_other_matrices():
    forms = transforms(2)
    turned = weighted(forms.data[::-1], [1, 2, 3, 5])
    products = [a * b for a, b in zip(weighted(forms.weights, [1, 1, 2]), turned, strict=True)]
    assert weighted(forms.result, products) != [1 + 2 + 6, 2 + 3 + 10]


def test_tiles_of_four_have_the_points_of_lavin_and_gray():
    # A. Lavin and S. Gray, 2016, appendix of F(4 x 4, 3 x 3): the matrix A'
    rows = [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]
    assert [list(row) for row in transforms(4).result] == rows


@pytest.mark.parametrize("points", [[0, 1], [0, 1, 1], [0, 1, 2, 3]])
def test_points_have_to_be_different_and_as_many_as_needed(points):
    with pytest.raises(ValueError, match="3 different points"):
        from_points([Fraction(p) for p in points], 2)


# -- what is computed ---------------------------------------------------------------------------

SHAPES = [
    ((1, 8, 8, 8), 8, AROUND, 2),
    ((2, 12, 7, 9), 20, AROUND, 4),  # channels that fill no block, rows that fill no tile
    ((1, 16, 13, 6), 8, NONE, 4),
    ((1, 8, 5, 11), 16, UNEVEN, 2),
    ((1, 8, 4, 6), 8, WIDE, 4),
    ((3, 9, 6, 4), 8, AROUND, 2),
]


@pytest.mark.parametrize(("shape", "count", "pads", "tile"), SHAPES)
def test_stages_compute_convolutions_within_the_bound(shape, count, pads, tile):
    graph, x = layer(shape, count, pads, relu=False), image(shape)
    changed = in_tiles(graph, tile)
    assert "winograd_conv" in operators(changed)
    (found,) = run_plainly(changed, {"x": x})
    check_errors(graph, changed, found, x, pads, tile)


def check_errors(graph, changed, found, x, pads, tile, *, relu=False):
    w, b = graph.constants["w"], graph.constants["b"]
    exact = plain_convolution(x, w, b, pads)
    exact = np.maximum(exact, 0) if relu else exact
    bound = rounding.error_bound(x, w, tile, pads, b)
    assert found.shape == exact.shape
    assert changed.values[changed.outputs[0]].shape == exact.shape
    assert (np.abs(found - exact) <= bound).all()
    stated = rounding.relative_bound(tile, x.shape[1]) * np.abs(x).max()
    sums = np.abs(w).sum((1, 2, 3)).max()
    assert (
        bound.max() <= stated * sums + np.abs(b).max() * 1e-4
    )  # which holds before there are data


@pytest.mark.parametrize(
    ("shape", "count", "pads", "tile"),
    [((1, 16, 14, 12), 16, AROUND, 4), ((2, 24, 7, 9), 20, UNEVEN, 2)],
)
def test_kernels_compute_convolutions_within_the_bound(shape, count, pads, tile):
    graph, x = layer(shape, count, pads), image(shape)
    changed = in_tiles(graph, tile, target().lanes(4))
    model = compile_graph(changed)
    check_errors(graph, changed, model(x), x, pads, tile, relu=True)


def test_bounds_grow_with_tiles_and_channels():
    assert rounding.relative_bound(4, 64) > rounding.relative_bound(2, 64)
    assert rounding.relative_bound(2, 128) > rounding.relative_bound(2, 64)
    assert rounding.relative_bound(2, 64) > rounding.direct_bound(64)
    assert rounding.gamma(1) == pytest.approx(2.0**-24)


@pytest.mark.parametrize("tile", [2, 4])
def test_growth_is_reached(tile):
    # data and weights of the magnitudes and signs at which all terms of a result add up
    forms = transforms(tile)
    a, g, b = (np.array(m, float) for m in (forms.result, forms.weights, forms.data))
    sums = [np.abs(a[i]) * np.abs(g[:, k]) @ np.abs(b) @ np.ones(len(b))
            for i in range(tile) for k in range(3)]  # fmt: skip
    assert forms.growth == pytest.approx(max(sums))


# -- the operator's rule ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "u", "b", "said"),
    [
        ((1, 2, 8, 8, 8), (4, 4, 1, 2, 8, 8), (1, 8), ""),
        ((1, 2, 8, 8, 8), (6, 6, 1, 2, 8, 8), (1, 8), "tiles of 2 by 2"),
        ((1, 3, 8, 8, 8), (4, 4, 1, 2, 8, 8), (1, 8), "do not fit"),
        ((1, 2, 8, 8, 8), (4, 4, 1, 2, 8, 8), (2, 8), "the bias"),
    ],
)
def test_weights_have_to_fit(x, u, b, said):
    values = [Value(n, s, F32) for n, s in (("x", x), ("u", u), ("b", b))]
    if not said:
        assert result_of("winograd_conv", *values, tile=2, pads=AROUND).shape == (1, 1, 8, 8, 8)
        return
    with pytest.raises(GraphError, match=said):
        result_of("winograd_conv", *values, tile=2, pads=AROUND)


# -- the pass -----------------------------------------------------------------------------------


def passed(graph, numerics):
    return run_passes(graph, default_passes("avx2", numerics=numerics))


def test_exact_numerics_never_take_it():
    graph = layer((1, 64, 56, 56), 64)
    assert "winograd_conv" in operators(passed(graph, "fast").graph)
    assert "winograd_conv" not in operators(passed(graph, "exact").graph)
    assert "winograd_conv" not in operators(run_passes(graph, default_passes("avx2")).graph)


@pytest.mark.parametrize(
    "options",
    [
        {"strides": (2, 2)},
        {"strides": (1, 2)},
        {"dilations": (2, 2)},
        {"group": 2},
        {"group": 16},
        {"group": 64},
        {"kernel": (5, 5)},
        {"kernel": (3, 1)},
    ],
)
def test_other_convolutions_stay_as_they_are(options):
    graph = layer((1, 64, 56, 56), 64, WIDE, **options)
    changed = run_passes(graph, [SelectLayout(lanes=8), UseWinograd(always=True)]).graph
    assert "winograd_conv" not in operators(changed)


def test_few_channels_and_doubles_stay_as_they_are():
    few = layer((1, 3, 56, 56), 64)
    assert "winograd_conv" not in operators(passed(few, "fast").graph)
    net = Net(1, 64, 56, 56)
    net.inputs[0] = Value("x", (1, 64, 56, 56), F64)
    net.constants["w"] = np.ones((64, 64, 3, 3))
    net.conv("y", "x", "w")
    assert "winograd_conv" not in operators(passed(net.graph("y"), "fast").graph)


def test_remarks_say_what_was_predicted_and_the_bound():
    (step,) = (s for s in passed(layer((1, 64, 56, 56), 64), "fast").steps
               if s.name == "use_winograd")  # fmt: skip
    (said,) = step.remarks
    assert "in tiles of 4 x 4" in said
    assert f"at most {rounding.relative_bound(4, 64):.2g} of max |x| sum |w|" in said


def test_layers_that_tiles_do_not_fit_stay_direct():
    # a tile of 2 x 2 computes 16 products for one result
    (step,) = (s for s in passed(layer((1, 64, 1, 1), 64), "fast").steps
               if s.name == "use_winograd")  # fmt: skip
    assert "stays direct" in step.remarks[0]
    assert not step.changed


def test_the_model_weighs_products_against_what_lies_between():
    machine = target("avx2")
    wide, deep = cost.Layer(1, 56, 56, 8, 8, 8), cost.Layer(1, 7, 7, 64, 64, 8)
    gains = [cost.direct_ns(each, machine) / cost.tiled_ns(each, 4, machine)
             for each in (wide, deep)]  # fmt: skip
    assert gains[0] > 2
    assert gains[1] < 1.5  # its weights come from memory, for four tiles alone


@pytest.mark.parametrize("tiles", [(), (3,), (2, 8)])
def test_tiles_are_those_that_there_are(tiles):
    with pytest.raises(InvalidOptionError, match="tiles are some of 4, 2"):
        UseWinograd(tiles)


@pytest.mark.parametrize("level", ["windows", "all"])
def test_only_pointwise_consumers_join_it(level):
    """Strips are of its results: with a pool behind, sums would be stored whole."""
    net = Net(1, 64, 56, 56)
    last = net.add("z", "relu", net.conv("y", "x", net.const("w", 64, 64, 3, 3)))
    graph = passed(net.graph(net.pool("p", last)), "fast").graph
    found = choose_groups(graph, Fusion(level))
    (own,) = (g for g in found.groups if any(n.op == "winograd_conv" for n in g.nodes))
    assert [node.op for node in own.nodes][-2:] == ["winograd_conv", "relu"]
    said = [d.reason for d in found.decisions if "in strips of tiles" in d.reason]
    assert len(said) == 1
    direct = choose_groups(passed(net.graph("p"), "exact").graph, Fusion(level))
    assert max(len(g.nodes) for g in direct.groups) >= 3


def test_numerics_are_exact_or_fast():
    assert NUMERICS == ("exact", "fast")
    with pytest.raises(InvalidOptionError, match="no numerics 'faster'"):
        default_passes(numerics="faster")
    with pytest.raises(InvalidOptionError, match="not for passes that are given"):
        compile_model(layer((1, 8, 4, 4), 8), passes=[], numerics="fast")


def test_a_network_with_fast_numerics_is_the_same_but_for_rounding():
    graph, x = layer((1, 64, 56, 56), 64), image((1, 64, 56, 56))
    model = compile_model(graph, numerics="fast", check=False)
    exact = plain_convolution(x, graph.constants["w"], graph.constants["b"], AROUND)
    bound = rounding.error_bound(x, graph.constants["w"], 4, AROUND, graph.constants["b"])
    found = model(x)
    assert (np.abs(found - np.maximum(exact, 0)) <= bound).all()
    assert np.abs(found - np.maximum(exact, 0)).max() > 0
