"""Operation counts as text that C and Python read alike."""

from __future__ import annotations

from polyopt.codegen.expressions.indices import index_variable
from polyopt.codegen.flop_count import flops_text, little_work
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.codegen.signature import sizes_called
from polyopt.frontend.c import parse_c
from polyopt.ir.scop import Loop
from polyopt.ir.types import I32
from polyopt.transform.plan import Plan
from tests.unit.codegen.reader import Reader

read = Reader(t=I32)


def guard(program, work, sizes=None, **options):
    sizes = sizes or sizes_called({name: name for name in program.scop.params})
    return c_text(little_work(program, read(work), sizes, **options), hints)


def test_counts_every_box_once(blur, conv) -> None:
    assert flops_text(blur) == "2 * H * (W - 2) + 2 * (H - 2) * (W - 2)"
    assert flops_text(conv) == "2 * (H - 2) * (W - 2) * 3 * 3"


def test_a_triangle_has_no_text(triangular) -> None:
    assert flops_text(triangular) == ""


def test_what_never_runs_counts_for_nothing(program) -> None:
    p = program("N")
    p.array("a", "N")
    p.array("c", "N", role="out")
    p.statement("S", "i", "0 <= i < N", "c: i", lambda b: b.sum("a: i", "a: i"))
    p.statement("T", "i", "0 <= i < N and i > N", "c: i", lambda b: b.sum("a: i", "a: i"))
    assert flops_text(p.scop(Loop("i", ("S", "T")), context="N >= 1")) == "1 * N"


STEPS = """
void steps(int T, int N, float a[N], float b[N])
{
    for (int t = 0; t < T; t += 2) {
        for (int i = 1; i < N - 1; i++)
            b[i] = a[i - 1] + a[i + 1];
        for (int i = 1; i < N - 1; i++)
            a[i] = b[i];
    }
}
"""


def test_threads_that_start_in_each_step_need_enough_work_in_each():
    plan = Plan(parse_c(STEPS)).parallelize("b.i")
    work = flops_text(plan.scop)
    assert work == ""  # a loop in steps of two is no box
    assert guard(plan.program, "T * N") == "T * N < 100000 * ((T + 1) / 2)"
    both = plan.parallelize("a.i").program
    assert guard(both, "T * N") == "T * N < 100000 * 2 * ((T + 1) / 2)"
    sizes = {"T": index_variable(read("t")), "N": index_variable(read("n"))}
    in_double = guard(both, "T * N", sizes, real=True)
    assert in_double == "T * N < 100000.0 * 2 * (((int64_t)t + 1) / 2)"


def test_threads_that_start_once_share_all_of_the_work(blur):
    outer = Plan(blur).parallelize("bx.i").program
    assert guard(outer, "H * W") == "H * W < 100000"
    assert little_work(outer, None, {}) is None
