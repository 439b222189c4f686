"""Sums of products of integers as floats: the same integers, at their ends too."""

import numpy as np
import pytest

import polyopt as po
from polyopt.graph import Graph, Node, Value, attributes, compile_graph, run_passes
from polyopt.graph.passes import ExactSums, default_passes
from polyopt.graph.planning import Options

RANDOM = np.random.default_rng(9)
CONV = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1)}


def convolution(x, w, constants=(), zeros=(), **options):
    node = Node("y", "conv_integer", ("x", "w", *zeros), attributes(**CONV, **options))
    given = (Value("x", x.shape, po.u8),)
    return Graph("net", given, {"w": w, **dict(constants)}, (node,), ("y",))


def exact(x, w, x_zero=0, w_zero=0, group=1):
    """NumPy's sums of 64 bits."""
    wide = np.pad(x.astype(np.int64) - x_zero, ((0, 0), (0, 0), (1, 1), (1, 1)))
    weights = w.astype(np.int64) - w_zero
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
    each, per = len(w) // group, w.shape[1]
    return np.concatenate([
        np.einsum("ncyxij,ocij->noyx", windows[:, g * per : (g + 1) * per],
                  weights[g * each : (g + 1) * each])
        for g in range(group)
    ], 1)  # fmt: skip


def operators(graph):
    return [node.op for node in graph.nodes]


@pytest.mark.parametrize(("channels", "parts"), [(32, 1), (64, 2), (200, 4)])
def test_the_largest_sums_are_exact(channels, parts):
    x = np.full((1, channels, 5, 5), 255, np.uint8)
    x[..., 2, 2] = 254  # sums are odd, and no multiples of powers of two
    w = np.full((3, channels, 3, 3), -127, np.int8)
    w[1] = 127
    w[2] = RANDOM.integers(120, 128, w[2].shape)
    graph = run_passes(convolution(x, w), [ExactSums()]).graph
    assert operators(graph).count("conv") == parts
    assert "conv_integer" not in operators(graph)
    (found,) = compile_graph(graph).run({"x": x})
    assert (found == exact(x, w)).all()


@pytest.mark.parametrize("group", [1, 2, 8])
def test_zero_points_are_taken_off_and_frames_are_zero(group):
    x = RANDOM.integers(0, 256, (2, 8, 6, 7)).astype(np.uint8)
    w = RANDOM.integers(-128, 128, (8, 8 // group, 3, 3)).astype(np.int8)
    points = RANDOM.integers(-9, 10, (8, 1, 1, 1)).astype(np.int8)
    constants = {"x_zero": np.array(77, np.uint8), "w_zero": points}
    graph = convolution(x, w, constants, ("x_zero", "w_zero"), group=group)
    report = run_passes(graph, default_passes(), verify_numbers=True)
    (found,) = compile_graph(report.graph).run({"x": x})
    assert (found == exact(x, w, 77, points, group)).all()


def test_products_of_matrices_with_a_zero_point_of_data():
    a = RANDOM.integers(0, 256, (4, 1400)).astype(np.uint8)
    b = RANDOM.integers(-128, 128, (1400, 5)).astype(np.int8)
    inputs = (Value("a", a.shape, po.u8), Value("zero", (), po.u8))
    node = Node("y", "matmul_integer", ("a", "b", "zero"))
    graph = run_passes(Graph("net", inputs, {"b": b}, (node,), ("y",)), [ExactSums()]).graph
    assert operators(graph).count("matmul") > 1
    (found,) = compile_graph(graph).run({"a": a, "zero": np.array(131, np.uint8)})
    assert (found == (a.astype(np.int64) - 131) @ b.astype(np.int64)).all()


@pytest.mark.parametrize(("rows", "columns"), [((), ()), ((3,), ()), ((), (4,)), ((2, 3), (4,))])
def test_products_with_vectors_and_batches(rows, columns):
    a = RANDOM.integers(-128, 128, (*rows, 30)).astype(np.int8)
    b = RANDOM.integers(-128, 128, (30, *columns)).astype(np.int8)
    node = Node("y", "matmul_integer", ("a", "b"))
    graph = Graph("net", (Value("a", a.shape, po.i8),), {"b": b}, (node,), ("y",))
    made = run_passes(graph, [ExactSums()]).graph
    assert "matmul_integer" not in operators(made)
    (found,) = compile_graph(made).run({"a": a})
    assert (found == a.astype(np.int64) @ b.astype(np.int64)).all()


def test_what_is_left_to_integers_is_said():
    a, b = Value("a", (2, 9), po.u8), Value("b", (9, 3), po.i8)
    node = Node("y", "matmul_integer", ("a", "b"))
    report = run_passes(Graph("net", (a, b), {}, (node,), ("y",)), [ExactSums()])
    assert operators(report.graph) == ["matmul_integer"]
    assert "y is left to integers: its weights are data" in str(report)
    w = np.full((2, 600, 3, 3), 127, np.int8)
    x = np.zeros((1, 600, 4, 4), np.uint8)
    report = run_passes(convolution(x, w), [ExactSums()])
    assert operators(report.graph) == ["conv_integer"]
    assert "y is left to integers: its sums may be too large" in str(report)


def test_a_quantised_block_stays_in_blocks_of_channels():
    x = RANDOM.integers(0, 256, (1, 16, 9, 9)).astype(np.uint8)
    constants = {
        "w": RANDOM.integers(-99, 100, (16, 16, 3, 3)).astype(np.int8),
        "v": RANDOM.integers(-99, 100, (16, 16, 3, 3)).astype(np.int8),
        "share": RANDOM.uniform(0.0002, 0.0009, (16, 1, 1)).astype(np.float32),
        "zero": np.array(100, np.uint8),
    }
    nodes = (
        Node("a", "conv_integer", ("x", "w", "zero"), attributes(**CONV)),
        Node("b", "requantize", ("a", "share", "zero"), attributes(to="u8")),
        Node("c", "conv_integer", ("b", "v", "zero"), attributes(**CONV)),
        Node("y", "requantize", ("c", "share", "zero"), attributes(to="u8")),
    )
    graph = Graph("net", (Value("x", x.shape, po.u8),), constants, nodes, ("y",))
    made = run_passes(graph, default_passes("avx512")).graph
    assert operators(made).count("conv_blocked") == 2
    assert operators(made).count("transpose") == 2  # into blocks and out of them, once each
    (found,), (plain,) = (compile_graph(g).run({"x": x}) for g in (made, graph))
    assert len(np.unique(plain)) > 20
    assert (found == plain).all()


def paired(graph):
    """The graph for vectors with dot products of pairs, eight words each."""
    return run_passes(graph, default_passes("avx2")).graph


@pytest.mark.parametrize("channels", [16, 24, 64, 520])
@pytest.mark.parametrize("zero", [0, 77])
def test_the_largest_sums_are_exact_in_pairs(channels, zero):
    x = RANDOM.choice(np.array([0, 255, 254], np.uint8), (2, channels, 5, 6))
    w = RANDOM.choice(np.array([-128, 127], np.int8), (20, channels, 3, 3))
    w[0], w[1] = -128, 127
    points = RANDOM.integers(-128, 128, (20, 1, 1, 1)).astype(np.int8)
    constants = {"x_zero": np.array(zero, np.uint8), "w_zero": points}
    graph = paired(convolution(x, w, constants, ("x_zero", "w_zero")))
    assert operators(graph).count("conv_integer_blocked") == 1
    assert "conv" not in operators(graph)
    (found,) = compile_graph(graph).run({"x": x})
    assert (found == exact(x, w, zero, points)).all()


@pytest.mark.parametrize(
    ("channels", "group", "largest"),
    [(8, 1, 127), (20, 1, 127), (32, 2, 127), (16, 1, 127)],
)
def test_few_channels_and_groups_are_sums_of_floats(channels, group, largest):
    x = np.full((1, channels, 4, 4), 255, np.uint8)
    w = np.full((16, channels // group, 3, 3), largest, np.int8)
    names = operators(paired(convolution(x, w, group=group)))
    assert ("conv_integer_blocked" in names) == (channels == 16)


def test_sums_beyond_32_bits_are_no_pairs():
    x = np.full((1, 3680, 3, 3), 255, np.uint8)
    w = np.full((8, 3680, 3, 3), -128, np.int8)
    assert "conv_integer_blocked" in operators(paired(convolution(x, w)))
    constants, zeros = {"w_zero": np.array(127, np.int8)}, ("", "w_zero")
    assert "conv_integer_blocked" not in operators(paired(convolution(x, w, constants, zeros)))


@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (2, 0, 1, 3)])
@pytest.mark.parametrize("dilations", [(1, 1), (2, 1)])
def test_windows_of_pairs_are_those_of_integers(strides, pads, dilations):
    x = RANDOM.integers(-128, 128, (1, 32, 9, 10)).astype(np.int8)
    w = RANDOM.integers(-128, 128, (9, 32, 3, 2)).astype(np.int8)
    options = attributes(strides=strides, pads=pads, dilations=dilations)
    node = Node("y", "conv_integer", ("x", "w", "zero"), options)
    constants = {"w": w, "zero": np.array(-5, np.int8)}
    graph = Graph("net", (Value("x", x.shape, po.i8),), constants, (node,), ("y",))
    made = paired(graph)
    assert "conv_integer_blocked" in operators(made)
    (found,) = compile_graph(made).run({"x": x})
    (wanted,) = compile_graph(graph).run({"x": x})
    assert np.array_equal(found, wanted)


def test_pairs_of_a_row_are_exact_too():
    x = RANDOM.integers(0, 256, (1, 48, 30)).astype(np.uint8)
    w = RANDOM.integers(-128, 128, (16, 48, 5)).astype(np.int8)
    options = attributes(strides=(1,), pads=(2, 2), dilations=(1,))
    node = Node("y", "conv_integer", ("x", "w"), options)
    graph = Graph("net", (Value("x", x.shape, po.u8),), {"w": w}, (node,), ("y",))
    assert "conv_integer_blocked" in operators(paired(graph))
    (found,) = compile_graph(paired(graph)).run({"x": x})
    wide = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (2, 2)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, 5, 2)
    assert np.array_equal(found, np.einsum("ncxi,oci->nox", windows, w.astype(np.int64)))


def test_kernels_of_pairs_call_the_function_and_are_shown():
    x = RANDOM.integers(0, 256, (1, 32, 8, 8)).astype(np.uint8)
    w = RANDOM.integers(-128, 128, (16, 32, 3, 3)).astype(np.int8)
    model = compile_graph(paired(convolution(x, w)), options=Options(check=True))
    (step,) = [step for step in model.steps if "conv_integer_blocked" in step.operators]
    assert "dot_2x16packed_i32x8" in step.kernel.kernel.source
    (code,) = [one for one in step.kernel.proof.obligations if one.name == "code"]
    assert "for all sizes" in code.detail
