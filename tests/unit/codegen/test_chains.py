"""Sums of several rows in locals, stored one by one; what else looks like them is left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.codegen.ast.nodes import Barrier, Block, For, If, Sequential, Simd
from polyopt.codegen.printers.c import BARRIER
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.codegen.workarounds.gcc_slp import chains_apart
from polyopt.ir.types import F32, F64
from tests.unit.codegen.reader import Reader

read = Reader(w=F64, B=F64, q0=F32, q1=F32, q2=F32, q3=F32)

#: whose rows may be the same ones
SAME_ROWS = """
void same(int M, int N, const double A[restrict M][N], double q[restrict M])
{
    for (int i = 0; i < M - 1; i++)
        for (int k = 0; k < M - 1; k++)
            for (int j = 0; j < N; j++) {
                q[i] += A[i][j];
                q[k] += A[k][j];
                q[i + 1] += A[i + 1][j];
                q[k + 1] += A[k + 1][j];
            }
}
"""
ROWS = """
void rows(int M, int N, const TYPE A[restrict M][N], const TYPE p[restrict N], TYPE q[restrict M])
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            q[i] += A[i][j] * p[j];
}
"""


def update(row: int, *others: str, target: str = ""):
    target = target or f"q[8 * t + {row}]"
    operands = others or (f"A[8 * t + {row}][j]", "p[j]")
    return read.assign(target, f"{target} + {' * '.join(operands)}")


def changed(*body, kind=None):
    """What becomes of a loop; ``None`` where it stays as it is."""
    whole = Block(tuple(body))
    before = For(read.symbol("j"), read("n"), read("j <= m - 1"), 1, whole, kind or Sequential())
    (found,) = chains_apart(Block((before,))).body
    return None if found == before else found


def texts(assigns):
    return [(c_text(a.target, hints), c_text(a.value, hints)) for a in assigns]


def test_sums_are_locals_and_stores_have_something_between_them():
    found = changed(*map(update, range(4)))
    assert isinstance(found, If)
    assert c_text(found.condition, hints) == "n <= m - 1"
    *before, run, first, gap, second, _, _, _, _ = found.then.body
    assert texts(before) == [("q_sum", f"q[8 * t + {k}]") for k in range(4)]
    assert len({a.declared for a in before}) == 4
    sums = run.body.body
    assert texts(sums)[1] == ("q_sum", "q_sum + A[8 * t + 1][j] * p[j]")
    assert [a.target for a in sums] == [a.target for a in before]
    assert texts((first, second)) == [("q[8 * t + 0]", "q_sum"), ("q[8 * t + 1]", "q_sum")]
    assert second.value == before[1].target
    assert gap == Barrier(memory=True)


def test_two_groups_of_sums_keep_their_types():
    sums = [update(k) for k in range(4)]
    sums += [update(k, f"B[8 * t + {k}][j]", target=f"w[{k}]") for k in range(4)]
    found = changed(*sums)
    assert isinstance(found, If)
    assert [a.type for a in found.then.body[:8]] == [F32] * 4 + [F64] * 4


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([update(k) for k in range(3)], id="few"),
        pytest.param([update(k, f"A[j][8 * t + {k}]") for k in range(4)], id="neighbours"),
        pytest.param([update(k, "p[j]") for k in range(4)], id="one operand"),
        pytest.param([update(k, f"A[{k}][i]") for k in range(4)], id="another column"),
        pytest.param([update(k, f"A[{k}][j]", "q[0]") for k in range(4)], id="read"),
        pytest.param([update(k, target=f"q[{n}]") for k, n in enumerate("abcd")], id="same?"),
        pytest.param([update(k, target=f"q[j + {k}]") for k in range(4)], id="moving"),
        pytest.param([update(k, target=f"q[c ? 0 : 0 + {k}]") for k in range(4)], id="tested"),
        pytest.param([update(k, target="q[0]") for k in range(4)], id="one sum"),
        pytest.param([update(k, target=f"q{k}") for k in range(4)], id="scalars"),
        pytest.param([update(0), *map(update, range(3)), If(read("c"), Block(()))], id="tests"),
    ],
)
def test_what_is_left_alone(body):
    assert changed(*body) is None


def test_vectors_are_left_alone():
    assert changed(*map(update, range(4)), kind=Simd()) is None
    declared = [replace(update(k), declares=True) for k in range(4)]
    assert changed(*declared) is None


@pytest.mark.parametrize("shape", [(2, 1), (5, 3), (9, 4)])
def test_sums_that_may_be_one_element_stay_in_it(shape):
    matrix = np.arange(np.prod(shape), dtype=np.float64).reshape(shape) + 1
    scop = po.parse_c(SAME_ROWS)
    sizes = dict(zip("MN", shape, strict=True))
    args = {"A": matrix, "q": np.zeros(shape[0])}
    wanted = interpret(scop, sizes, args)["q"]
    po.Plan(scop).compile(contract=False)(**sizes, **args)
    np.testing.assert_array_equal(args["q"], wanted)


@pytest.mark.parametrize("type_", ["float", "double", "int8_t", "int32_t"])
def test_sums_of_any_type_are_the_sources(type_):
    scop = po.parse_c("#include <stdint.h>\n" + ROWS.replace("TYPE", type_))
    plan = po.Plan(scop).unroll_and_jam("q.i", 4).separate_full_tiles("q.i_jam")
    assert BARRIER in plan.emit().source
    dtype = np.dtype(scop.array("A").type.numpy_name)
    rng = np.random.default_rng(0)
    for rows, columns in ((1, 1), (4, 3), (11, 9)):
        args = {"A": rng.integers(-3, 4, (rows, columns)).astype(dtype),
                "p": rng.integers(-3, 4, columns).astype(dtype),
                "q": rng.integers(-3, 4, rows).astype(dtype)}  # fmt: skip
        sizes = {"M": rows, "N": columns}
        wanted = interpret(scop, sizes, args)["q"]
        plan.compile(contract=False)(**sizes, **args)
        np.testing.assert_array_equal(args["q"], wanted)


def test_a_loop_that_threads_share_is_a_task_whatever_sums_it_holds():
    plan = po.Plan(po.parse_c(ROWS.replace("TYPE", "double")))
    plan = plan.unroll_and_jam("q.i", 4).separate_full_tiles("q.i_jam").parallelize("q.i_jam")
    assert "static void rows_i_jam(" in plan.emit().source


def test_what_stands_in_generated_c_is_read_again():
    text = ROWS.replace("TYPE", "double").replace("q[i] +=", f"{BARRIER} q[i] +=")
    text = text.replace("for (int j = 0; j < N; j++)", "for (int j = 0; j < N; j++) {")
    text = text.replace("* p[j];", "* p[j]; }")
    assert [s.name for s in po.parse_c(text).statements] == ["q"]
