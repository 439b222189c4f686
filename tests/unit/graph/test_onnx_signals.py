"""Fourier transforms, cumulative products, sequences the other way round and caches, beside NumPy."""

import numpy as np
import onnx
import pytest

from polyopt.errors import ArgumentError, GraphError, UnsupportedError
from polyopt.graph import compile_graph, load_onnx


def run(text, opset=20, **fed):
    """The results of a model's text on these inputs."""
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> m {text}')
    return compile_graph(load_onnx(proto)).run(fed)


def complexes(found):
    return found[..., 0] + 1j * found[..., 1]


@pytest.mark.parametrize(("size", "length"), [(7, 7), (8, 8), (6, 9), (9, 4)])
def test_transforms_of_odd_padded_and_cut_off_lengths(size, length):
    x = np.random.default_rng(size).standard_normal((2, size, 3, 2)).astype(np.float32)
    known = f"<int64 n = {{{length}}}, int64 axis = {{1}}>"
    for inverse, numpy in ((0, np.fft.fft), (1, np.fft.ifft)):
        (found,) = run(f"(float[2, {size}, 3, 2] x) => (float[2, {length}, 3, 2] y) {known}"
                       f" {{ y = DFT <inverse = {inverse}> (x, n, axis) }}", x=x)  # fmt: skip
        np.testing.assert_allclose(complexes(found), numpy(complexes(x), length, axis=1), atol=1e-5)


@pytest.mark.parametrize(("length", "bins"), [(7, 4), (8, 5)])
def test_onesided_transforms_there_and_back(length, bins):
    x = np.random.default_rng(length).standard_normal((2, length, 1)).astype(np.float32)
    known = f"<int64 n = {{{length}}}>"
    (found,) = run(f"(float[2, {length}, 1] x) => (float[2, {bins}, 2] y)"
                   " { y = DFT <onesided = 1> (x) }", x=x)  # fmt: skip
    np.testing.assert_allclose(complexes(found), np.fft.rfft(x[..., 0]), atol=1e-5)
    (back,) = run(f"(float[2, {bins}, 2] x) => (float[2, {length}, 1] y) {known}"
                  " { y = DFT <onesided = 1, inverse = 1> (x, n) }", x=found)  # fmt: skip
    np.testing.assert_allclose(back, x, atol=1e-5)


def test_transforms_that_make_no_sense_or_are_too_large():
    with pytest.raises(GraphError, match="onesided is for real signals"):
        run("(float[2, 8, 2] x) => (float[2, 5, 2] y) { y = DFT <onesided = 1> (x) }")
    with pytest.raises(GraphError, match="no axis 2 of numbers"):
        run("(float[2, 8, 1] x) => (float[2, 8, 2] y) <int64 n = {8}, int64 a = {2}>"
            " { y = DFT (x, n, a) }")  # fmt: skip
    with pytest.raises(UnsupportedError, match="a matrix of too many"):
        run("(float[1, 9000, 1] x) => (float[1, 9000, 2] y) { y = DFT (x) }")


def test_frames_of_signals_with_a_window():
    x = np.random.default_rng(0).standard_normal((2, 20, 1)).astype(np.float32)
    w = np.hanning(6).astype(np.float32)
    (found,) = run("(float[2, 20, 1] x, float[6] w) => (float[2, 5, 4, 2] y) <int64 s = {3}>"
                   " { y = STFT (x, s, w) }", x=x, w=w)  # fmt: skip
    frames = np.lib.stride_tricks.sliding_window_view(x[..., 0], 6, axis=1)[:, ::3]
    np.testing.assert_allclose(complexes(found), np.fft.rfft(frames * w), atol=1e-5)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_cumulative_products(exclusive, reverse):
    x = np.random.default_rng(1).integers(-3, 4, (3, 4, 2)).astype(np.int64)
    (found,) = run("(int64[3, 4, 2] x) => (int64[3, 4, 2] y) <int64 a = {-2}>"
                   f" {{ y = CumProd <exclusive = {exclusive}, reverse = {reverse}> (x, a) }}",
                   opset=26, x=x)  # fmt: skip
    ordered = x[:, ::-1] if reverse else x
    products = np.cumprod(ordered, axis=1)
    if exclusive:
        products = np.concatenate([np.ones((3, 1, 2), np.int64), products[:, :-1]], axis=1)
    np.testing.assert_array_equal(found, products[:, ::-1] if reverse else products)


@pytest.mark.parametrize(("time", "batch"), [(0, 1), (1, 0)])
def test_sequences_the_other_way_round(time, batch):
    x = np.arange(40.0, dtype=np.float32).reshape(4, 5, 2)
    lengths = np.array([4, 0, 1, 3, 2][: x.shape[batch]])
    (found,) = run(f"(float[4, 5, 2] x, int64[{x.shape[batch]}] n) => (float[4, 5, 2] y)"
                   f" {{ y = ReverseSequence <time_axis = {time}, batch_axis = {batch}> (x, n) }}",
                   x=x, n=lengths)  # fmt: skip
    expected = np.moveaxis(x, batch, 0).copy()
    for row, length in zip(expected, lengths, strict=True):
        row[:length] = row[:length][::-1].copy()
    np.testing.assert_array_equal(found, np.moveaxis(expected, 0, batch))


@pytest.mark.parametrize(("mode", "starts"), [("linear", [0, 4]), ("circular", [5, 3])])
def test_caches_are_written_from_a_place_on(mode, starts):
    rng = np.random.default_rng(2)
    x, u = (rng.standard_normal((2, 3, n, 2)).astype(np.float32) for n in (6, 2))
    (found,) = run("(float[2, 3, 6, 2] x, float[2, 3, 2, 2] u, int64[2] s) => (float[2, 3, 6, 2] y)"
                   f' {{ y = TensorScatter <mode = "{mode}"> (x, u, s) }}',
                   opset=24, x=x, u=u, s=np.array(starts))  # fmt: skip
    expected = x.copy()
    for row, start in enumerate(starts):
        for k in range(2):
            expected[row, :, (start + k) % 6] = u[row, :, k]
    np.testing.assert_array_equal(found, expected)


def test_elements_that_a_constant_chooses():
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    text = "(float[3, 4] x) => (float[3, 2] y) <bool[3] c = {0, 1, 1}>"
    (found,) = run(f"{text} {{ y = Compress <axis = -1> (x, c) }}", x=x)
    np.testing.assert_array_equal(found, x[:, 1:3])
    text = "(float[3, 4] x, bool[3] c) => (float[n] y) { y = Compress (x, c) }"
    (found,) = run(text, x=x, c=np.array([True, False, True]))
    np.testing.assert_array_equal(found, x.ravel()[[0, 2]])


def test_swish_with_a_factor():
    x = np.linspace(-4, 4, 9, dtype=np.float32)
    (found,) = run("(float[9] x) => (float[9] y) { y = Swish <alpha = 0.5> (x) }", opset=24, x=x)
    np.testing.assert_allclose(found, x / (1 + np.exp(-0.5 * x)), rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "text", "good", "bad"),
    [
        ("int32", "y = ReverseSequence <time_axis = 2, batch_axis = 0> (x, n)", [3, 0], [4, 0]),
        ("int32", "y = TensorScatter <axis = 2> (x, u, n)", [1, 0], [0, 2]),
        ("float", "y = ReverseSequence <time_axis = 2, batch_axis = 0> (x, n)", [3, 0], [2, -1]),
        ("float", "y = TensorScatter <axis = 2> (x, u, n)", [1, 0], [1, -1]),
    ],
)
def test_lengths_and_places_of_data_that_are_none(kind, text, good, bad):
    head = f"({kind}[2, 1, 3] x, {kind}[2, 1, 2] u, int64[2] n) => ({kind}[2, 1, 3] y)"
    proto = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 24]> m {head} {{ {text} }}'
    )
    model = compile_graph(load_onnx(proto))
    name = {"int32": np.int32, "float": np.float32}[kind]
    x, u = np.arange(6).reshape(2, 1, 3).astype(name), np.ones((2, 1, 2), name)
    assert np.isfinite(model.run({"x": x, "u": u, "n": np.array(good)})[0]).all()
    if kind == "int32":
        with pytest.raises(ArgumentError, match="n"):
            model.run({"x": x, "u": u, "n": np.array(bad)})
        return
    (found,) = model.run({"x": x, "u": u, "n": np.array(bad)})
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()
