"""Explanations: every pair and every loop has a remark, with the numbers of the bill."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from polyopt.analysis.sets.count import _count  # pyright: ignore[reportPrivateUsage]
from polyopt.bench.suites import KERNELS, members
from polyopt.errors import (
    IllegalScheduleError,
    StorageTooSmallError,
    UnknownNameError,
)
from polyopt.explain import Explanation, bill, explain
from polyopt.explain.provenance import why
from polyopt.explain.remarks.explanation import number_text
from polyopt.frontend.c import parse_c
from polyopt.library import load_kernel, load_scop
from polyopt.scheduler import auto
from polyopt.transform.legality.proof import prove
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.program import changed_arrays
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.storage.fuse import fuse_at
from tests.remarks.check import missing

if TYPE_CHECKING:
    from collections.abc import Iterator

BN = {"N": 2, "C": 64, "H": 112, "W": 112}
SIZES = {"H": 1026, "W": 1026}
#: every other fusion of these is proven one by one: tests/unit/cli/test_every_kernel.py has them
DEEP = {"camera_pipe", "interpolate", "local_laplacian", "pyramid_blend", "stencil_chain"}


@pytest.fixture(scope="module")
def fused() -> Plan:
    plan = Plan(load_scop("blur")).tile("out", y=64, x=512).fuse("bx", into="out")
    return plan.parallelize("out.y_tile").vectorize("out.x", 16)


def only(explanation: Explanation, move: str) -> Remark:
    (row,) = explanation.where(move=move).pairs
    return row


@pytest.mark.parametrize("name", [name for name in members(KERNELS) if name not in DEEP])
def test_every_pair_and_loop_of_a_kernel_has_a_remark(name: str) -> None:
    kernel = load_kernel(name)
    plan = Plan(kernel.scop)
    assert missing(plan, explain(plan, kernel.sizes["test"])) == []


@pytest.mark.parametrize(
    "name",
    ["2mm", "bilateral_grid", "conv_bn_relu_maxpool", "correlation", "deriche", "durbin", "gesummv",
     "harris", "jacobi_2d", "nussinov", "seidel_2d", "smvp", "trmm", "unsharp"],
)  # fmt: skip
def test_automatic_plans_are_covered_too(name: str) -> None:
    """One of each kind; ``make test-remarks`` takes every kernel."""
    kernel = load_kernel(name)
    plan = auto(kernel.scop, target="avx2", sizes=kernel.sizes["bench"])
    assert missing(plan, explain(plan, kernel.sizes["test"])) == []


def test_a_missing_remark_is_found(fused: Plan) -> None:
    found = explain(fused, SIZES)
    assert missing(fused, found) == []
    assert missing(fused, found.where(subject="out")) == ["bx.y", "bx.x"]
    assert missing(fused, found.where(move="vectorize"))[0] == "bx -> out"


def test_a_buffer_that_copies_is_no_producer() -> None:
    """tmp is packed for the second product: it is not computed there."""
    kernel = load_kernel("2mm")
    sizes = kernel.sizes["bench"]
    plan = auto(kernel.scop, target="avx2", sizes=sizes)
    done = only(explain(plan, sizes, "tmp").where(subject="tmp", consumer="D"), "root")
    assert any(s.array == "tmp" for s in plan.program.scratches)
    assert done.numbers["scratch bytes"] == 0
    assert bill(plan, sizes).instances == bill(Plan(kernel.scop), sizes).instances


def test_what_rows_of_a_block_share_counts_once() -> None:
    """In blocks of r rows, three of which each row reads: (r + 2) / r times an element."""
    plan = Plan(load_scop("blur")).inline("bx")
    sizes = {"H": 66, "W": 50}
    assert bill(plan, sizes).repeated["bx"] == pytest.approx(3 * 64 / 66)
    for rows in (2, 4, 7):
        blocks = plan.unroll_and_jam("out.y", rows)
        whole, rest = divmod(64, rows)
        once = (whole * (rows + 2) + (rest + 2 if rest else 0)) / 66
        assert bill(blocks, sizes).repeated["bx"] == pytest.approx(once)
    shared = plan.unroll_and_jam("out.y", 4).why("out[7, 3]", sizes=sizes)
    # of bx[7..9] row 7 is in one block, rows 8 and 9 in two
    assert "inlined; run 5 times" in str(shared)


def test_decisions_on_whole_nests_are_told() -> None:
    sizes = {"H": 1602, "W": 2402}
    found = explain(auto(load_scop("harris"), target="avx2", sizes=sizes), sizes)
    (said,) = (row for row in found.nests if row.kind == "applied")
    assert (said.move, said.subject) == ("unroll_and_jam", "out")
    assert said.numbers["rows"] > 1
    assert "nests\n  applied, unroll_and_jam: rows of a block share" in str(found)


def test_an_automatic_plan_is_covered_and_gives_its_own_reasons() -> None:
    plan = auto(load_scop("bn_relu_maxpool"), target="generic", sizes=BN)
    found = explain(plan, BN)
    assert missing(plan, found) == []
    given = {r.reason for r in plan.remarks if r.kind == "applied" and r.move != "vectorize"}
    assert any(reason in row.reason for row in found for reason in given)


def test_producer_and_consumer_of_different_size_are_counted() -> None:
    plan = Plan(load_scop("bn_relu_maxpool")).inline("act")
    numbers = only(explain(plan, BN, "act"), "inline").numbers
    assert numbers["producer instances"] == 1_605_632
    assert numbers["consumer instances"] == 401_408
    assert numbers["bytes saved"] == 2 * 4 * 1_605_632
    text = str(explain(plan, BN))
    assert "instances: act 1,605,632, out 401,408" in text
    assert re.search(r"act -> out: computed .*; 12\.8 MB saved", text)


def test_a_fused_pair_says_where_and_what_it_repeats(fused: Plan) -> None:
    row = only(explain(fused, SIZES), "fuse")
    assert row.kind == "applied"
    assert "inside out.x_tile" in row.reason
    assert "scratch bx[66][512]" in row.reason
    assert row.numbers["computed"] == pytest.approx(16 * 66 / 1026)
    assert row.numbers["scratch bytes"] == 66 * 512 * 2


def test_the_other_choices_have_numbers(fused: Plan) -> None:
    found = explain(fused, SIZES)
    assert only(found, "inline").numbers["computed"] == pytest.approx(3 * 1024 / 1026)
    in_full = only(found, "root")
    assert in_full.kind == "refused"
    assert in_full.numbers["more bytes moved"] == 2 * 2 * 1026 * 1024
    source = explain(Plan(fused.scop), SIZES)
    offered = only(source, "fuse")
    assert offered.kind == "not considered"
    assert offered.numbers["bytes saved"] == 2 * 2 * 1026 * 1024


def test_what_cannot_be_inlined_says_why() -> None:
    found = explain(Plan(load_scop("conv_bn_relu")), subject="conv")
    row = only(found.where(consumer="out"), "inline")
    assert (row.kind, row.code) == ("refused", "not-fusable")
    assert "several instances" in row.reason


def test_loops_say_how_they_run(fused: Plan) -> None:
    found = explain(fused, SIZES)
    (tile,) = found.where(subject="out.y_tile").rows
    assert (tile.kind, tile.move) == ("applied", "parallelize")
    assert tile.numbers["iterations"] == 16
    (inner,) = found.where(subject="out.x").rows
    assert inner.numbers["width"] == 16
    (below,) = found.where(subject="out.x_tile").loops
    assert below.reason == "threads share a loop around it already: out.y_tile"


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The source can be counted, and little else."""
    monkeypatch.setattr("polyopt.analysis.sets.count.MOST_ROWS", 4)
    _count.cache_clear()
    yield
    _count.cache_clear()


@pytest.mark.usefixtures("few_rows")
def test_what_is_not_counted_is_estimated_and_marked() -> None:
    plan = Plan(load_scop("blur")).tile("out", y=64, x=512).fuse("bx", into="out")
    found = explain(plan, SIZES)
    text = str(found)
    assert "computed ~1.03 times" in text
    assert "bx.y ~66" in text
    assert "instances: bx 1,050,624, out 1,048,576" in text
    listed = json.loads(json.dumps(found.as_dict()))["remarks"]
    assert [row["estimated"] for row in listed if row["move"] == "fuse"] == [["computed"]]

    cost = bill(plan, SIZES)
    assert (cost.is_exact, cost.source_estimated) == (False, frozenset())
    assert f"~{cost.operations:,}" in str(cost)
    assert f" {cost.source_operations:,}" in str(cost)
    assert "~ estimated" in str(cost)

    table = str(plan.alternatives("bx", sizes=SIZES))
    assert "~1.03x" in table
    assert " 1x " in table


@pytest.mark.usefixtures("few_rows")
def test_of_one_element_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyopt.analysis.sets.count.MOST_ROWS", 0)
    found = why(Plan(load_scop("blur")), "out[70, 600]", SIZES)
    (pixels,) = found.inputs
    assert (pixels.count, pixels.estimated) == (9, ("count",))
    assert re.search(r"img +~9  within img\[70..72, 600..602\]", str(found))


def test_what_is_counted_is_not_marked(fused: Plan) -> None:
    assert "~" not in str(explain(fused, SIZES)) + str(bill(fused, SIZES))
    remarks = json.loads(json.dumps(explain(fused, SIZES).as_dict()))["remarks"]
    assert {tuple(row["estimated"]) for row in remarks} == {()}


def test_a_carried_dependence_is_shown_by_two_instances() -> None:
    found = explain(Plan(load_scop("jacobi_2d")), {"T": 5, "N": 20})
    steps = found.where(kind="refused", move="parallelize")
    (row,) = [r for r in steps if r.subject.endswith(".t")]
    assert row.code == "parallel-carried"
    (witness,) = row.witnesses
    assert witness.source[1][0] != witness.sink[1][0]
    assert f"witness: {witness}"[:40] in str(steps)


def test_a_reduction_is_called_one() -> None:
    found = explain(Plan(load_scop("gemm")), {"M": 8, "N": 8, "K": 8})
    (row,) = found.where(subject="C.k", move="parallelize").rows
    assert row.kind == "refused"
    assert "reduction" in row.hint


def test_filters_combine_and_unknown_subjects_are_named(fused: Plan) -> None:
    found = explain(fused, SIZES)
    assert {r.kind for r in found.where(kind="applied")} == {"applied"}
    assert not found.where(kind="applied", move="inline").rows
    assert all(r.subject.startswith("bx") for r in explain(fused, SIZES, "bx"))
    with pytest.raises(UnknownNameError, match="'bz'"):
        explain(fused, SIZES, "bz")


def test_explanations_are_json(fused: Plan) -> None:
    found = explain(fused, SIZES)
    document = json.loads(json.dumps(found.as_dict()))
    assert document["sizes"] == SIZES
    assert len(document["remarks"]) == len(found)


def test_plans_explain_and_cost_themselves(fused: Plan) -> None:
    assert str(fused.explain("bx", sizes=SIZES)) == str(explain(fused, SIZES, "bx"))
    assert fused.cost(SIZES).bytes_saved == bill(fused, SIZES).bytes_saved > 0
    # without sizes, usual ones
    assert fused.cost().sizes.keys() == {"H", "W"}


def test_numbers_carry_their_units() -> None:
    assert number_text("scratch bytes", 67_584) == "scratch bytes 67.6 KB"
    assert number_text("computed", 1.0308) == "computed 1.03 times"
    assert number_text("producer instances", 1_605_632) == "producer instances 1,605,632"
    assert number_text("iterations", 2.982) == "iterations 2.98"


def test_long_remarks_wrap() -> None:
    row = Remark("refused", "fuse", "bx", "because " * 30, "out", hint="do not " * 20)
    text = str(Explanation("blur", SIZES, (row,)))
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("because") == 30
    assert text.count("do not") == 20


def test_what_holds_for_several_is_said_once() -> None:
    def refused(producer: str, consumer: str, times: float) -> Remark:
        numbers = {"computed": times, "bytes saved": 1e6, "scratch bytes": 0.0}
        return Remark("refused", "inline", producer, "it costs more", consumer, numbers)

    rows = refused("a", "b", 2), refused("a", "c", 2), refused("d", "e", 9)
    text = str(Explanation("chain", {}, rows))
    assert text.splitlines()[-2:] == [
        "  refused, inline: it costs more",
        "    a 2 times, d 9 times",
    ]


def test_a_stage_may_be_called_like_a_word_of_the_explanation() -> None:
    """``a`` is a common name: ``a nest of its own`` is no sentence about it."""
    rows = [
        Remark("applied", "root", "a", "a nest of its own", "out"),
        Remark("refused", "inline", "a", "a is live-out: it has to be stored", "out"),
        Remark("refused", "fuse", "all loops", "all loops cannot be skewed"),
    ]
    lines = str(Explanation("chain", {}, tuple(rows))).splitlines()
    said = [line for line in lines if "," in line]
    assert said == [
        "  applied, root: a nest of its own",
        "  refused, inline: it is live-out",
        "  refused, fuse: it cannot be skewed",
    ]


def test_deep_programs_are_explained_by_what_each_alternative_changes() -> None:
    kernel = load_kernel("pyramid_blend")
    plan = auto(kernel.scop, target="avx2", sizes=kernel.sizes["bench"])
    found = explain(plan, kernel.sizes["bench"])
    assert missing(plan, found) == []
    lines = str(found).splitlines()
    assert len(lines) < len(found)
    assert max(map(len, lines)) <= 80
    # a line may name several consumers, but no producer twice under one heading
    assert len([n for n in lines if n.startswith("  refused, inline: repeating")]) == 1


def test_numbers_of_inlining_are_those_of_a_plan_that_inlines() -> None:
    for name, array in (("harris", "Ixx"), ("local_laplacian", "in1"), ("camera_pipe", "g_r")):
        kernel = load_kernel(name)
        sizes = kernel.sizes["demo"]
        rows = explain(Plan(kernel.scop), sizes, array).where(move="inline", subject=array).pairs
        inlined = bill(Plan(kernel.scop).inline(array), sizes)
        for row in (r for r in rows if r.subject == array):
            assert row.numbers["computed"] == pytest.approx(inlined.repeated[array])
            saved = inlined.source_moved["memory"].get(array, 0)
            assert row.numbers["bytes saved"] == saved - inlined.moved["memory"].get(array, 0)


def test_a_fusion_over_some_arrays_is_refused_as_over_all() -> None:
    """What a proof that watches the changed arrays says is what a whole one says."""
    scop = load_scop("harris")
    before = Plan(scop).tile("out", y=64, x=256)
    program = fuse_at(before.program, "det", "out.x_tile")
    watched = changed_arrays(before.program, program)
    assert watched >= {"det", "Sxx", "Syy", "Sxy"}
    assert "img" not in watched
    prove(replace(program, watched=watched), before.original)
    # kept too small, or moved after its reader: found in the arrays that changed
    (store,) = program.stores
    small = replace(program, stores=(replace(store, extents=(1, 1)),))
    with pytest.raises(StorageTooSmallError):
        prove(replace(small, watched=changed_arrays(before.program, small)), before.original)
    (loop,) = program.tree[-1:]
    late = replace(program, tree=(loop, *program.tree[:-1]))
    with pytest.raises(IllegalScheduleError):
        prove(late, before.original)


SUM = "void f(int N, const double x[N], double s[1]) { for (int i = 0; i < N; i++) s[0] += x[i]; }"
SEIDEL = """
void f(int N, double s[N][N])
{
    for (int i = 1; i < N; i++)
        for (int j = 1; j < N; j++)
            s[i][j] += 0.5 * s[i - 1][j] + 0.5 * s[i][j - 1];
}
"""


def test_an_update_whose_operands_read_its_array_is_no_reduction() -> None:
    told = {name: str(explain(Plan(parse_c(text)))) for name, text in [("sum", SUM), ("s", SEIDEL)]}
    assert "it is a reduction" in told["sum"]
    assert "it cannot run in parallel" in told["s"]
    assert "it is a reduction" not in told["s"]
