"""Attention: the operator beside NumPy, and the pass that finds it in what it is written out as."""

from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from polyopt.analysis.sets.count import count
from polyopt.errors import GraphError
from polyopt.graph import compile_graph, load_onnx, result_of
from polyopt.graph.ir.graph import Value
from polyopt.graph.passes import FuseAttention, RemoveDead, default_passes, run_passes
from polyopt.ir.types import BOOL, F32, F64

INF = float("inf")


def attention(q, k, v, mask=None, scale=1.0):
    scores = scale * q.astype(np.float64) @ np.swapaxes(k, -1, -2)
    if mask is not None:
        scores = np.where(mask, scores, -INF) if mask.dtype == bool else scores + mask
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v.astype(np.float64)


def written_out(
    shape, keys, *, mask="", scale="", view=False, extra="", ahead=0, kind=TensorProto.FLOAT
):
    """A model of what exporters write: ``q [b][h][m][k]``, ``k`` and ``v [b][h][n][k]``."""
    b, h, m, d = shape
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    nodes, constants, shapes = [], {}, {"q": (m, d), "k": (keys, d), "v": (keys, d)}
    inputs = [helper.make_tensor_value_info(n, kind, [b, h, *s]) for n, s in shapes.items()]

    def node(op, *names, **options):
        nodes.append(helper.make_node(op, names[:-1], [names[-1]], **options))
        return names[-1]

    turned, query = "k", "q"
    if view:
        constants |= {"flat": np.array([b * h, keys, d]), "back": np.array([b, h, d, keys])}
        turned = node("Reshape", "k", "flat", "k1")
        turned = node("Transpose", turned, "k2", perm=[0, 2, 1])
        turned = node("Reshape", turned, "back", "k3")
    else:
        turned = node("Transpose", "k", "k1", perm=[0, 1, 3, 2])
    constants["s"] = np.array(0.25, dtype)
    if scale == "both":
        query, turned = node("Mul", "q", "s", "q1"), node("Mul", "s", turned, "k4")
    scores = node("MatMul", query, turned, "products")
    if scale == "scores":
        constants["four"] = np.array(4, dtype)
        scores = node("Div", scores, "four", "scaled")
    if mask == "added":
        constants["mask"] = np.where(np.tri(m, keys, ahead, dtype=bool), 0, -INF).astype(dtype)
        scores = node("Add", scores, "mask", "masked")
    if mask == "least":
        seen = np.tri(m, keys, ahead, dtype=bool)
        constants["mask"] = np.where(seen, 0, np.finfo(dtype).min).astype(dtype)[None]
        scores = node("Add", "mask", scores, "masked")
    if mask == "known":
        constants["mask"] = np.tri(m, keys, ahead, dtype=bool)
        constants["hidden"] = np.array(-INF, dtype)
        scores = node("Where", "mask", scores, "hidden", "masked")
    if mask == "chosen":
        inputs.append(helper.make_tensor_value_info("seen", TensorProto.BOOL, [b, 1, 1, keys]))
        constants["hidden"] = np.array(-INF, dtype)
        scores = node("Where", "seen", scores, "hidden", "masked")
    weights = node("Softmax", scores, "weights", axis=-1)
    node("MatMul", weights, "v", "y")
    outputs = ["y", *([extra] if extra else [])]
    graph = helper.make_graph(
        nodes, "m", inputs, [helper.make_tensor_value_info(n, kind, None) for n in outputs],
        [numpy_helper.from_array(a, n) for n, a in constants.items()],
    )  # fmt: skip
    return load_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))


def given(graph, seed=0):
    rng = np.random.default_rng(seed)
    found = {}
    for value in graph.inputs:
        drawn = rng.standard_normal(value.shape)
        if value.dtype == BOOL:
            drawn = drawn < 0.5
            drawn[..., 0] = True
        found[value.name] = drawn.astype(value.dtype.numpy_name)
    return found


def operators(graph):
    return [node.op for node in graph.nodes]


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("scale", ["", "both", "scores"])
@pytest.mark.parametrize("mask", ["", "added", "chosen"])
def test_what_exporters_write_becomes_the_operator(mask, scale, view):
    graph = written_out((2, 3, 40, 32), 50, mask=mask, scale=scale, view=view)
    found = run_passes(graph, default_passes()).graph
    assert operators(found).count("attention") == 1
    assert not {"matmul", "softmax", "transpose", "mul", "div"} & set(operators(found))
    inputs = given(graph)
    factor = {"": 1.0, "both": 0.0625, "scores": 0.25}[scale]
    seen = {"": None, "added": graph.constants.get("mask"), "chosen": inputs.get("seen")}[mask]
    (ours,) = compile_graph(found).run(inputs)
    wanted = attention(inputs["q"], inputs["k"], inputs["v"], seen, factor)
    np.testing.assert_allclose(ours, wanted, rtol=2e-5, atol=5e-6)


def diagonal(graph):
    (node,) = (n for n in graph.nodes if n.op == "attention")
    return dict(node.attributes)["diagonal"]


CAUSAL = [(96, 96, 0, 0), (64, 128, 0, 0), (40, 150, 61, 61), (128, 70, 3, 3)]
#: nothing is left out, or a query sees no key
OTHERS = [(64, 64, 40, -1), (50, 90, -3, -1)]


@pytest.mark.parametrize("mask", ["added", "least", "known"])
@pytest.mark.parametrize(("queries", "keys", "ahead", "found"), [*CAUSAL, *OTHERS])
def test_the_diagonal_of_a_mask_is_the_last_key_that_is_seen(mask, queries, keys, ahead, found):
    graph = written_out((1, 2, queries, 32), keys, mask=mask, ahead=ahead)
    assert diagonal(run_passes(graph, default_passes()).graph) == found


@pytest.mark.parametrize(
    ("mask", "queries", "keys", "ahead", "found"),
    [
        *((mask, *sizes) for mask in ("added", "least", "known") for sizes in CAUSAL),
        # without a diagonal a mask is one as any other: one of each kind
        ("added", *OTHERS[0]),
        ("least", *OTHERS[1]),
        ("known", *OTHERS[1]),
    ],
)
def test_keys_that_a_causal_mask_hides_are_left_out(mask, queries, keys, ahead, found):
    """In blocks of queries: infinities that no query of a block sees do not come through."""
    graph = written_out((1, 2, queries, 32), keys, mask=mask, ahead=ahead)
    fused = run_passes(graph, default_passes()).graph
    inputs = given(graph, 5)
    seen = np.tri(queries, keys, ahead, dtype=bool)
    last = -(-queries // 32) * 32 + max(ahead, 0)
    if found >= 0:
        inputs["k"][:, :, last:] = inputs["v"][:, :, last:] = np.nan
    (ours,) = compile_graph(fused).run(inputs)
    k, v = (np.nan_to_num(inputs[name]) for name in "kv")
    with np.errstate(invalid="ignore"):
        wanted = attention(inputs["q"], k, v, seen)
    if mask == "least":  # a query that sees no key sees all of them alike
        hidden = ~seen.any(axis=-1)
        wanted[:, :, hidden] = v.mean(axis=-2, keepdims=True)
    np.testing.assert_allclose(ours, wanted, rtol=2e-5, atol=5e-6)


@pytest.mark.parametrize(("mask", "kept"), [("added", 3), ("least", 3), ("known", 4)])
def test_a_mask_that_hides_later_keys_alone_is_not_read(mask, kept):
    """One of booleans hides infinities, too: it stays."""
    graph = written_out((1, 2, 96, 32), 96, mask=mask)
    (node,) = run_passes(graph, default_passes()).graph.nodes
    assert len(node.inputs) == kept


def test_a_mask_that_adds_to_what_it_does_not_hide_is_read():
    graph = written_out((1, 2, 96, 32), 96, mask="added")
    mask = graph.constants["mask"].copy()
    mask[50, 7] = 0.5
    graph = replace(graph, constants={**graph.constants, "mask": mask})
    found = run_passes(graph, default_passes()).graph
    (node,) = found.nodes
    assert (len(node.inputs), diagonal(found)) == (4, 0)
    inputs = given(graph)
    (ours,) = compile_graph(found).run(inputs)
    wanted = attention(inputs["q"], inputs["k"], inputs["v"], mask)
    np.testing.assert_allclose(ours, wanted, rtol=2e-5, atol=5e-6)


def test_powers_of_keys_that_a_block_does_not_see_are_not_computed():
    """A bound by the block, where the box around what all blocks read has all keys."""
    graph = run_passes(written_out((1, 1, 128, 32), 128, mask="added"), default_passes()).graph
    (step,) = compile_graph(graph).steps
    copies = step.kernel.planned.plan.program.copies.values()
    (powers,) = (copy for copy in copies if copy.statement.name == "attention_powers")
    assert count(powers.domain, {}) == 32 * (32 + 64 + 96 + 128)


def test_large_scores_do_not_overflow():
    """Their powers would: of the greatest of a row it is 1."""
    graph = written_out((1, 1, 40, 32), 40)
    inputs = given(graph)
    inputs["q"] *= 100
    (ours,) = compile_graph(run_passes(graph, default_passes()).graph).run(inputs)
    wanted = attention(inputs["q"], inputs["k"], inputs["v"])
    np.testing.assert_allclose(ours, wanted, rtol=2e-3, atol=2e-3)


def test_it_is_one_kernel():
    graph = run_passes(written_out((1, 2, 64, 64), 64, mask="added"), default_passes()).graph
    model = compile_graph(graph)
    assert len(model.steps) == 1
    kernel = model.steps[0].kernel
    assert "attention_products_block_0_0" in kernel.planned.program.source
    assert kernel.proof is not None


@pytest.mark.parametrize("keys", [37, 48])
def test_heads_beside_elements_are_read_as_they_lie(keys):
    """Transpositions around it are computed in its statements, also where blocks are not whole."""
    kind, shapes = TensorProto.FLOAT, {"q": 40, "k": keys, "v": keys}
    nodes = [helper.make_node("Transpose", [n], [f"{n}1"], perm=[0, 2, 1, 3]) for n in "qv"]
    nodes += [
        helper.make_node("Transpose", ["k"], ["k1"], perm=[0, 2, 3, 1]),
        helper.make_node("MatMul", ["q1", "k1"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "v1"], ["mixed"]),
        helper.make_node("Transpose", ["mixed"], ["y"], perm=[0, 2, 1, 3]),
    ]
    inputs = [helper.make_tensor_value_info(n, kind, [1, m, 3, 32]) for n, m in shapes.items()]
    graph = helper.make_graph(
        nodes, "m", inputs, [helper.make_tensor_value_info("y", kind, None)]
    )  # fmt: skip
    read = load_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    model = compile_graph(run_passes(read, default_passes()).graph)
    (source,) = (
        s.kernel.planned.program.source for s in model.steps if "attention" in s.operators
    )  # fmt: skip
    assert {f"attention_{part}_block_0_0" in source for part in ("products", "mixed")} == {True}
    given_ = given(read)
    (ours,) = model.run(given_)
    q, k, v = (np.swapaxes(given_[n], 1, 2) for n in "qkv")
    np.testing.assert_allclose(np.swapaxes(ours, 1, 2), attention(q, k, v), rtol=2e-5, atol=5e-6)


@pytest.mark.parametrize("factor", [1.0, 1 / 7])
def test_doubles_are_taken(factor):
    """Scaled in double precision."""
    graph = written_out((1, 1, 33, 32), 35, kind=TensorProto.DOUBLE, scale="scores")
    divisor = np.array(1 / factor)
    graph = replace(graph, constants={**graph.constants, "four": divisor})
    inputs = given(graph)
    (ours,) = compile_graph(run_passes(graph, default_passes()).graph).run(inputs)
    wanted = attention(inputs["q"], inputs["k"], inputs["v"], scale=1 / divisor)
    np.testing.assert_allclose(ours, wanted, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    ("shape", "keys", "extra"),
    [((1, 1, 40, 16), 40, ""), ((1, 1, 8, 32), 40, ""), ((1, 1, 40, 32), 9, ""),
     ((1, 1, 40, 32), 40, "weights"), ((1, 1, 40, 32), 40, "products")],
)  # fmt: skip
def test_what_is_short_or_needed_elsewhere_is_left(shape, keys, extra):
    graph = written_out(shape, keys, extra=extra)
    assert FuseAttention().run(graph) is graph


@pytest.mark.parametrize("divisor", [0.0, 1e-39, 3e38])
def test_scales_that_the_type_does_not_hold_are_left(divisor):
    graph = written_out((1, 1, 40, 32), 40, scale="scores")
    constants = {**graph.constants, "four": np.array(divisor, np.float32)}
    graph = replace(graph, constants=constants)
    assert "attention" not in operators(FuseAttention().run(graph))


def test_minus_infinities_that_stretch_the_scores_are_left():
    graph = written_out((1, 1, 40, 32), 40, mask="known")
    (where,) = (node for node in graph.nodes if node.op == "where")
    hidden = np.full((3, 1, 1, 1), -INF, np.float32)
    graph = replace(graph, constants={**graph.constants, where.inputs[2]: hidden})
    assert FuseAttention().run(graph) is graph


def test_the_pass_is_checked_as_others_are():
    graph = written_out((1, 2, 40, 32), 40, mask="added", scale="both")
    report = run_passes(graph, [FuseAttention(), RemoveDead()], verify_numbers=True)
    assert report.steps[0].changed
    assert report.steps[0].max_error < 1e-6


def test_a_mask_that_hides_all_of_a_row_gives_nan_as_softmax_does():
    graph = written_out((1, 1, 40, 32), 40, mask="chosen")
    inputs = given(graph)
    inputs["seen"][:] = False
    (ours,) = compile_graph(run_passes(graph, default_passes()).graph).run(inputs)
    assert np.isnan(ours).all()


def value(name, *shape, dtype=F32):
    return Value(name, shape, dtype)


@pytest.mark.parametrize(
    ("operands", "said"),
    [
        ((value("q", 4, 8), value("k", 5, 9), value("v", 5, 8)), "do not meet"),
        ((value("q", 2, 4, 8), value("k", 3, 5, 8), value("v", 3, 5, 8)), "do not meet"),
        ((value("q", 4, 8), value("k", 5, 8), value("v", 6, 8)), "do not meet"),
        ((value("q", 8), value("k", 5, 8), value("v", 5, 8)), "rank|dimension"),
        ((value("q", 4, 8), value("k", 5, 8), value("v", 5, 8), value("m", 5, 4)), "broadcast"),
        ((value("q", 4, 8), value("k", 5, 8), value("v", 5, 8), value("m", 4, 5, dtype=F64)),
         "mask of f64"),
    ],
)  # fmt: skip
def test_operands_that_do_not_meet_are_errors(operands, said):
    with pytest.raises(GraphError, match=said):
        result_of("attention", *operands)
