"""Packed weights: products by constant matrices in panels of columns."""

import numpy as np
import pytest

from polyopt.codegen.target import target
from polyopt.errors import GraphError, InvalidOptionError
from polyopt.graph import Graph, Node, Value, attributes, compile_graph, compile_model, run_passes
from polyopt.graph.execution.run import random_inputs, run_plainly
from polyopt.graph.ir.open import Open
from polyopt.graph.passes import PackWeights, default_passes
from polyopt.graph.planning import Options
from polyopt.ir.types import F32, F64

LANES = target().lanes(4)


def product(shape, matrix, *, op="matmul", bias=None, dtype=F32, **options):
    """A product by a constant matrix."""
    rng = np.random.default_rng(0)
    constants = {"w": rng.standard_normal(matrix).astype(dtype.numpy_name)}
    if bias is not None:
        constants["c"] = rng.standard_normal(bias).astype(dtype.numpy_name)
    node = Node("y", op, ("x", *constants), attributes(**options))
    return Graph("g", (Value("x", shape, dtype),), constants, (node,), ("y",))


def packed(graph, lanes=4):
    return run_passes(graph, [PackWeights(lanes=lanes)], verify_numbers=True).graph


@pytest.mark.parametrize(
    "graph",
    [
        product((40, 33), (33, 50)),
        product((2, 3, 40, 33), (33, 64)),
        product(
            (40, 33), (50, 33), op="gemm", bias=(50,), alpha=1.0, beta=1.0, trans_a=0, trans_b=1
        ),
        product(
            (40, 33), (33, 50), op="gemm", bias=(40, 1), alpha=1.0, beta=1.0, trans_a=0, trans_b=0
        ),
        product((40, 33), (33, 50), dtype=F64),
    ],
    ids=["matmul", "batches", "linear", "column", "doubles"],
)
def test_products_by_panels_are_those_by_the_matrix(graph):
    made = packed(graph)
    assert made.nodes[0].op == "matmul_panels"
    panels = made.constants["w_panels"]
    assert panels.shape == (-(-made.values["y"].shape[-1] // panels.shape[2]), 33, panels.shape[2])
    assert panels.shape[2] == (4 if graph.constants["w"].dtype == np.float64 else 8)
    x = random_inputs(graph)
    given = graph.constants
    matrix = given["w"].T if dict(graph.nodes[0].attributes).get("trans_b") else given["w"]
    expected = x["x"].astype(np.float64) @ matrix + given.get("c", 0)
    (found,) = compile_graph(made).run(x)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(run_plainly(made, x)[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "graph",
    [
        product((8, 33), (33, 50)),  # few rows
        product((40, 16), (16, 50)),  # a short sum
        product((40, 33), (33, 20)),  # few columns
        product((33,), (33, 50)),
        product((2, 40, 33), (2, 33, 50)),
        product((33, 40), (33, 50), op="gemm", alpha=1.0, beta=1.0, trans_a=1, trans_b=0),
        product((40, 33), (33, 50), op="gemm", alpha=2.0, beta=1.0, trans_a=0, trans_b=0),
    ],
    ids=["rows", "sum", "columns", "vector", "matrices", "turned", "scaled"],
)
def test_other_products_are_left_alone(graph):
    assert packed(graph) is graph


def test_a_matrix_is_packed_once_for_all_products():
    first = product((40, 40), (40, 40))
    second = Node("z", "matmul", ("y", "w"))
    graph = Graph("g", first.inputs, first.constants, (*first.nodes, second), ("z",))
    made = packed(graph)
    assert list(made.constants) == ["w_panels"]
    assert {node.inputs[1] for node in made.nodes} == {"w_panels"}


def test_no_call_packs_what_lies_in_panels():
    """Beside the rows' operand, which is packed for the second-level cache."""
    graph = product((64, 96), (96, 128))
    (plain,), (panels,) = (
        compile_model(graph, passes=passes).steps for passes in ((), default_passes())
    )
    assert "w@" in str(plain.kernel.planned.plan)
    assert "w@" not in str(panels.kernel.planned.plan)
    assert "register_tile" in str(panels.kernel.planned.plan)


def test_the_c_of_panels_is_shown(tmp_path):
    graph = packed(product((64, 96), (96, 128)), LANES)
    model = compile_graph(graph, options=Options(cache=str(tmp_path), check=True))
    (kernel,) = model.proof.kernels
    assert "has the source's values, for all sizes" in kernel.code


def test_any_number_of_rows_may_be_open():
    graph = product((Open("batch", 64), 96), (96, 128))
    model = compile_model(graph)
    assert [n.op for n in model.graph.nodes] == ["matmul_panels"]
    for count in (1, 64, 77):
        x = np.random.default_rng(1).standard_normal((count, 96)).astype(np.float32)
        np.testing.assert_allclose(model(x), x @ graph.constants["w"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("shape", "columns", "said"),
    [((5, 33, 8), 32, "5 panels of 8 columns are not 32 columns"),
     ((5, 33, 8), 41, "5 panels of 8 columns are not 41 columns"),
     ((5, 32, 8), 40, "33 columns do not meet 32 rows")],
)  # fmt: skip
def test_panels_that_do_not_fit_are_refused(shape, columns, said):
    constants = {"w": np.zeros(shape, np.float32)}
    node = Node("y", "matmul_panels", ("x", "w"), attributes(columns=columns))
    with pytest.raises(GraphError, match=said):
        compile_graph(Graph("g", (Value("x", (40, 33), F32),), constants, (node,), ("y",)))


def test_lanes_are_not_negative():
    with pytest.raises(InvalidOptionError, match="vectors have no -1 lanes"):
        PackWeights(lanes=-1)
