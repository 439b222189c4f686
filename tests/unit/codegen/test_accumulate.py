"""Runs of updates in a local: one load and store, and none that the program does not make."""

from __future__ import annotations

import polyopt as po
from polyopt.codegen.accumulate import accumulate
from polyopt.codegen.loops import Assign, Block, If
from polyopt.ir.types import BOOL, F32


def update(text: str, target: str = "c[j]") -> Assign:
    return Assign(target, f"{target} + {text}", "c", F32, (("c", target), ("a", text)))


def test_updates_in_a_row_load_and_store_once():
    (block,) = accumulate(Block((update("a[0]"), update("a[1]"))), {"c", "a"}).body
    assert [(a.target, a.value) for a in block.body] == [
        ("c_value", "c[j]"),
        ("c_value", "c_value + a[0]"),
        ("c_value", "c_value + a[1]"),
        ("c[j]", "c_value"),
    ]


def test_a_condition_may_skip_an_update_but_not_all():
    maybe = If("j < n", Block((update("a[1]"),)))
    (block,) = accumulate(Block((update("a[0]"), maybe)), {"c", "a"}).body
    assert isinstance(block, Block)
    assert block.body[-1].target == "c[j]"


def test_what_is_only_updated_under_conditions_is_not_touched_outside_them():
    rows = If("j < n", Block((update("a[0]"), update("a[1]"))))
    (found,) = accumulate(Block((rows,)), {"c", "a"}).body
    assert isinstance(found, If)
    (inner,) = found.then.body
    assert [a.target for a in inner.body] == ["c_value", "c_value", "c_value", "c[j]"]
    twice = accumulate(Block((rows, rows)), {"c", "a"}).body
    assert all(isinstance(node, If) for node in twice)


def test_rows_that_a_partial_block_does_not_have_stay_alone():
    text = """
    void gemm(int M, int N, int K, const float A[M][K], const float B[K][N], float C[M][N])
    {
        for (int i = 0; i < M; i++)
            for (int k = 0; k < K; k++)
                for (int j = 0; j < N; j++)
                    C[i][j] += A[i][k] * B[k][j];
    }
    """
    made = po.Plan(po.parse_c(text)).tile("C", i=4, k=2)
    made = made.reorder("C.i_tile", "C.k_tile", "C.j", "C.i", "C.k").unroll("C.i").unroll("C.k")
    lines = made.emit().source.splitlines()
    loads = [n for n, line in enumerate(lines) if "C_value = C[4 * i_tile + 3][j]" in line]
    guard = next(n for n, line in enumerate(lines) if "M >= 4 * i_tile + 4" in line)
    assert loads
    assert all(guard < n for n in loads)


def test_a_bool_is_not_read_before_its_first_value():
    """Memory that was never written may hold what is no ``_Bool``; of numbers, any bits are one."""
    first = If("j == 0", Block((Assign("c[j]", "0", "c", BOOL),)))
    update_ = Assign("c[j]", "c[j] && a[0]", "c", BOOL, (("c", "c[j]"), ("a", "a[0]")))
    assert accumulate(Block((first, update_)), {"c", "a"}).body == (first, update_)
    (block,) = accumulate(Block((update_, update_)), {"c", "a"}).body
    assert block.body[0].value == "c[j]"
