"""Runs of updates in a local: one load and store, and none that the program does not make."""

from __future__ import annotations

import polyopt as po
from polyopt.codegen.ast.nodes import Block, If
from polyopt.codegen.passes.scalar_replacement import scalar_replacement
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.ir.types import BOOL
from tests.unit.codegen.reader import Reader

read = Reader()


def update(text, target="c[j]"):
    return read.assign(target, f"{target} + {text}")


def texts(nodes):
    return [(c_text(a.target, hints), c_text(a.value, hints)) for a in nodes]


def test_updates_in_a_row_load_and_store_once():
    (block,) = scalar_replacement(Block((update("a[0]"), update("a[1]")))).body
    assert texts(block.body) == [
        ("c_value", "c[j]"),
        ("c_value", "c_value + a[0]"),
        ("c_value", "c_value + a[1]"),
        ("c[j]", "c_value"),
    ]
    assert [a.declares for a in block.body] == [True, False, False, False]


def test_a_name_that_ends_like_the_target_s_is_another_one():
    """``rc[j]`` holds the text ``c[j]``, but is no element of ``c``."""
    (block,) = scalar_replacement(Block((update("rc[j]"), update("c2[j]")))).body
    assert [value for _, value in texts(block.body)][1:3] == ["c_value + rc[j]", "c_value + c2[j]"]


def test_another_element_of_the_buffer_keeps_it_in_memory():
    updates = (update("c[k]"), update("a[1]"))
    assert scalar_replacement(Block(updates)).body == updates


def test_a_condition_may_skip_an_update_but_not_all():
    maybe = If(read("j < n"), Block((update("a[1]"),)))
    (block,) = scalar_replacement(Block((update("a[0]"), maybe))).body
    assert isinstance(block, Block)
    assert texts(block.body[-1:]) == [("c[j]", "c_value")]


def test_what_is_only_updated_under_conditions_is_not_touched_outside_them():
    rows = If(read("j < n"), Block((update("a[0]"), update("a[1]"))))
    (found,) = scalar_replacement(Block((rows,))).body
    assert isinstance(found, If)
    (inner,) = found.then.body
    assert [target for target, _ in texts(inner.body)] == ["c_value", "c_value", "c_value", "c[j]"]
    twice = scalar_replacement(Block((rows, rows))).body
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
    flags = Reader(c=BOOL)
    first = If(flags("j == 0"), Block((flags.assign("c[j]", "0"),)))
    update_ = flags.assign("c[j]", "c[j] && a[0]")
    assert scalar_replacement(Block((first, update_))).body == (first, update_)
    (block,) = scalar_replacement(Block((update_, update_))).body
    assert texts(block.body)[0][1] == "c[j]"
