"""Control flow of ONNX: loops of known numbers of steps, beside the reference evaluator; and ends of
models that have no elements."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph import compile_graph, load_onnx

HEAD = '<ir_version: 8, opset_import: ["" : 18]>'


def agree(text, **fed):
    """The results of a model, which are those of the evaluator."""
    proto = onnx.parser.parse_model(f"{HEAD} m {text}")
    expected = ReferenceEvaluator(proto).run(None, fed)
    found = compile_graph(load_onnx(proto)).run(fed)
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    return found


def refused(text, match, kind=UnsupportedError):
    with pytest.raises(kind, match=match):
        load_onnx(onnx.parser.parse_model(f"{HEAD} m {text}"))


LOOP = """(float[3] x) => (float[3] y, float[n, 3] rows)
    <int64 trips = {{{trips}}}, bool go = {{1}}, int64 last = {{{last}}}, float[3] w = {{1, 2, 3}}> {{
    y, rows = Loop (trips, go, x) <body = step (int64 i, bool c, float[3] a)
        => (bool d, float[3] b, float[3] row) {{
        part = Mul (a, w)
        row = Add (part, x)
        b = Sub (row, a)
        d = Less (i, last)
    }}>
}}"""


@pytest.mark.parametrize(("trips", "last", "count"), [(4, 9, 4), (9, 2, 3), (1, 9, 1)])
def test_a_loop_has_its_trips_or_ends_by_a_known_condition(trips, last, count):
    x = np.array([1.0, -2.0, 0.5], np.float32)
    _, rows = agree(LOOP.format(trips=trips, last=last), x=x)
    assert rows.shape == (count, 3)


def test_a_loop_of_data_is_refused_with_what_is_data():
    data = LOOP.replace("(float[3] x)", "(float[3] x, int64 trips)").replace(
        "int64 trips = {{{trips}}}, ", ""
    )
    refused(data.format(last=9), "Loop: its input 'trips' has to be a constant")
    data = LOOP.replace("d = Less (i, last)", "s = ReduceSum <keepdims = 0> (b)  d = Less (s, s)")
    refused(data.format(trips=4, last=9), "Loop: its condition after each step has to be")


def test_loops_that_would_be_many_nodes_are_refused():
    refused(LOOP.format(trips=10**6, last=10**7), "Loop: its steps are more than 4096 nodes")
    refused(LOOP.format(trips=0, last=9), "Loop: it has no steps")


SCAN = """(float[2] s, float[3, 4] p, float[2, 3] q) => (float[2] z, float[{rows}] rows) {{
    z, rows = Scan (s, p, q) <num_scan_inputs = 2, {options}, body = step
        (float[2] a, float[4] u, float[2] v) => (float[2] b, float[4, 2] row) {{
        sum = ReduceSum <keepdims = 1> (u)
        half = Mul (a, v)
        b = Add (half, sum)
        shape = Constant <value_ints = [4, 1]> ()
        tall = Reshape (u, shape)
        row = Mul (tall, b)
    }}>
}}"""


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ("3, 4, 2", "scan_input_axes = [0, 1]"),
        ("4, 3, 2", "scan_input_axes = [0, -1], scan_output_axes = [1]"),
        ("4, 2, 3", "scan_input_axes = [0, 1], scan_output_axes = [-1], scan_input_directions = [1, 0], scan_output_directions = [1]"),
    ],
)  # fmt: skip
def test_scans_along_axes_in_both_directions(rows, options):
    rng = np.random.default_rng(3)
    s, p, q = (rng.standard_normal(shape).astype(np.float32) for shape in (2, (3, 4), (2, 3)))
    proto = onnx.parser.parse_model(f"{HEAD} m {SCAN.format(rows=rows, options=options)}")
    z, found = compile_graph(load_onnx(proto)).run({"s": s, "p": p, "q": q})
    back, out = "directions = [1, 0]" in options, "output_directions = [1]" in options
    state, expected = s, []
    for t in range(3):
        u = p[2 - t if back else t]
        state = state * q[:, t] + u.sum()
        expected.append(u[:, None] * state)
    axis = {"3, 4, 2": 0, "4, 3, 2": 1, "4, 2, 3": 2}[rows]
    np.testing.assert_allclose(z, state, rtol=1e-5)
    np.testing.assert_allclose(
        found, np.stack(expected[::-1] if out else expected, axis), rtol=1e-5
    )


def test_a_loop_inside_a_loop_reads_what_is_around():
    agree(
        """(float[2] x) => (float[2] y) <int64 two = {2}, int64 three = {3}, bool go = {1}> {
        y = Loop (two, go, x) <body = outer (int64 i, bool c, float[2] a) => (bool c2, float[2] b) {
            c2 = Identity (c)
            b = Loop (three, c, a) <body = inner (int64 j, bool e, float[2] f)
                => (bool e2, float[2] g) {
                e2 = Identity (e)
                k = Cast <to = 1> (i)
                h = Add (f, k)
                g = Mul (h, x)
            }>
        }>
    }""",
        x=np.array([1.5, -0.5], np.float32),
    )


def test_scans_of_different_lengths_are_wrong():
    text = SCAN.format(rows="3, 4, 2", options="scan_input_axes = [1, 1]")
    refused(text, "do not have as many slices each", GraphError)


def test_inputs_and_results_of_no_elements_are_there():
    x = np.array([[1.0, 2.0]], np.float32)
    _, none = agree(
        """(float[1, 2] x, float[0, 2] e) => (float[1, 2] y, float[0, 2] z)
        { y = Concat <axis = 0> (x, e)  z = Neg (e) }""",
        x=x, e=np.empty((0, 2), np.float32),
    )  # fmt: skip
    assert none.shape == (0, 2)
    (total,) = agree(
        "(float[2, 0] e) => (float[2, 1] y) <int64[1] a = {1}> { y = ReduceSum (e, a) }",
        e=np.empty((2, 0), np.float32),
    )
    assert total.tolist() == [[0.0], [0.0]]
    half = np.empty((2, 0), ml_dtypes.bfloat16)
    proto = onnx.parser.parse_model(
        f"{HEAD} m (bfloat16[2, 0] e) => (bfloat16[2, 0] y) {{ y = Neg (e) }}"
    )
    (none,) = compile_graph(load_onnx(proto)).run({"e": half})
    assert (none.dtype, none.shape) == (half.dtype, half.shape)


def test_what_is_no_tensor_is_refused_with_what_reads_it():
    refused("(seq(float[2]) s) => (int64 y) { y = SequenceLength (s) }",
            "the input 's' of m is a sequence, which is not taken")  # fmt: skip
    refused("(float[2] x) => (seq(float[2]) s) { s = SequenceConstruct (x) }",
            "the operator SequenceConstruct is not taken")  # fmt: skip


def test_names_in_bodies_that_are_no_text_are_damage():
    whole = onnx.parser.parse_model(f"{HEAD} m {LOOP.format(trips=2, last=9)}").SerializeToString()
    for name in (b"part", b"row", b"Sub"):
        assert name in whole
        with pytest.raises(GraphError, match="no ONNX model, or a damaged one"):
            load_onnx(whole.replace(name, b"\xff" * len(name)))
