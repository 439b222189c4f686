"""Sums along rows and down columns of one array: one walk through it, in blocks on a diagonal."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.codegen.printers.c import BARRIER
from polyopt.codegen.target import target
from polyopt.codegen.validate.translation import check_code
from polyopt.errors import InternalError
from polyopt.scheduler.finishing.row_column_blocks import read_once
from polyopt.scheduler.queries import is_proven
from polyopt.scheduler.search import isl_schedule

BOTH = """
void both(int M, int N, const double A[restrict M][N], const double p[restrict N],
          const double r[restrict M], double q[restrict M], double s[restrict N])
{
    for (int j = 0; j < N; j++)
        s[j] = 0;
    for (int i = 0; i < M; i++) {
        q[i] = 0;
        for (int j = 0; j < N; j++) {
            s[j] += r[i] * A[i][j];
            q[i] += A[i][j] * p[j];
        }
        q[i] *= 2;
    }
}
"""
ROWS_ALONE = BOTH.replace("s[j] += r[i] * A[i][j];", "")
#: large for the machine below
SIZES = {"M": 8192, "N": 1024}


def machine(cores=2):
    """A small one: what takes more than 64 KiB comes from memory."""
    return replace(target("generic"), l1_bytes=8192, l2_bytes=32768, last_bytes=65536, cores=cores)


def plan_of(text=BOTH, cores=2, **sizes):
    return po.auto(po.parse_c(text), target=machine(cores), sizes={**SIZES, **sizes})


def remarks_of(plan):
    return [r for r in plan.remarks if r.move == "tile"]


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("shape", [(1, 1), (1, 70), (9, 1), (8, 64), (17, 130), (260, 1030)])
def test_blocks_give_the_sums_of_the_source_whatever_the_sizes(cores, shape):
    plan, rng = plan_of(cores=cores), np.random.default_rng(0)
    rows, columns = shape
    args = {
        "A": rng.standard_normal(shape),
        "p": rng.standard_normal(columns),
        "r": rng.standard_normal(rows),
    }
    kernel, plain = (made.compile(contract=False) for made in (plan, po.Plan(po.parse_c(BOTH))))
    found = kernel(M=rows, N=columns, **args, threads=cores)
    wanted = plain(M=rows, N=columns, **args)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_array_is_read_in_one_nest_whose_diagonals_are_shared():
    plan = plan_of()
    (said,) = remarks_of(plan)
    assert (said.kind, said.numbers["bytes"]) == ("applied", 8.0 * 8192 * 1024)
    first, second = (plan.loops(name) for name in ("s_1", "q_1"))
    shared = [a for a, b in zip(first, second, strict=False) if a == b]
    # diagonals, blocks on one, blocks of eight rows, strips of columns
    assert len(shared) == 4
    assert ("parallelize", (shared[1],)) in [(m.name, m.args) for m in plan.moves]


def test_one_thread_needs_no_diagonals():
    plan = plan_of(cores=1)
    assert "skew" not in {m.name for m in plan.moves}
    assert "vectorize" in {m.name for m in plan.moves}
    assert len(plan.loops("s_1")) == 4


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [({"M": 64, "N": 64}, "keeps A"), ({"M": 100}, "too few"), ({"N": 63}, "too few")],
)
def test_what_the_cache_keeps_or_threads_cannot_share_is_taken_apart(sizes, reason, monkeypatch):
    monkeypatch.setattr(isl_schedule, "TRIED", ())
    plan = plan_of(**sizes)
    (said,) = remarks_of(plan)
    assert said.kind == "refused"
    assert reason in said.reason
    assert "skew" not in {m.name for m in plan.moves}


def test_one_kind_of_sum_is_not_considered():
    assert not remarks_of(plan_of(ROWS_ALONE))


def test_sums_that_are_no_chains_of_rows_of_one_array_are_left_alone():
    apart = BOTH.replace("A[i][j] * p[j]", "p[j] * p[j]")
    assert not remarks_of(plan_of(apart))
    shared = BOTH.replace("q[i] += A[i][j] * p[j];", "q[i] += A[i][j] * s[j];")
    assert not [r for r in remarks_of(plan_of(shared)) if r.kind == "applied"]


def test_threads_that_would_have_no_block_of_their_own_are_not_asked_for(monkeypatch):
    monkeypatch.setattr(isl_schedule, "TRIED", ())
    assert "skew" not in {m.name for m in plan_of(cores=8, M=32768).moves}
    assert [r.kind for r in remarks_of(plan_of(cores=8, M=32768, N=4096))] == ["applied"]


def test_another_loop_of_the_same_rows_hides_nothing():
    text = BOTH.replace("        q[i] = 0;\n", "        for (int k = 0; k < 4; k++) q[i] = 0;\n")
    assert [r.kind for r in remarks_of(plan_of(text))] == ["applied"]


def test_an_array_that_one_sum_walks_across_is_not_read_once():
    text = BOTH.replace("[restrict M][N]", "[restrict M + N][M + N]").replace(
        "r[i] * A[i][j]", "r[i] * A[j][i]"
    )
    assert not remarks_of(plan_of(text))


def with_first(update):
    head = "        for (int j = 0; j < N; j++) {\n"
    assert head in BOTH
    return BOTH.replace(head, head + f"            {update}\n")


def test_several_nests_of_several_sums():
    text = with_first("s[j] += 2 * A[i][j];")
    first, last = text.index("    for (int i"), text.rindex("}")
    nest = text[first:last]
    again = nest.replace("i", "k").replace("knt", "int")
    plan = plan_of(text[:first] + nest + again + "}\n")
    assert [r.kind for r in remarks_of(plan)] == ["applied", "applied"]


def test_strips_that_would_change_the_order_of_a_sum_are_refused():
    plan = auto_in_order(with_first("q[i] += 3 * A[i][j] * p[j];"))
    (said,) = remarks_of(plan)
    assert (said.kind, "q would run before" in said.reason) == ("refused", True)


def auto_in_order(text):
    """The plan in the source's order alone."""
    plan, remarks = read_once(po.Plan(po.parse_c(text)), machine(), SIZES, is_proven)
    return replace(plan, remarks=remarks)


def test_sums_of_rows_are_stored_one_by_one():
    source = emit(plan_of().program).source
    assert source.count(BARRIER) == 7
    lines = [line.strip() for line in source.splitlines()]
    at = [k for k, line in enumerate(lines) if line == BARRIER]
    assert [b - a for a, b in pairwise(at)] == [2] * 6


def test_a_sum_that_is_stored_to_another_row_is_refused():
    plan = plan_of(cores=1)
    program = emit(plan.program)
    wrong = program.source.replace("= q_sum2;", "= q_sum3;")
    assert wrong != program.source
    with pytest.raises(InternalError):
        check_code(plan.scop, replace(program, source=wrong), operations=100_000)
