"""A few mutants of many kinds: wrong ones are stopped. ``make mutations`` judges them all."""

from __future__ import annotations

import pytest

from polyopt.codegen.emit import emit
from polyopt.codegen.validate.translation import ReadBack, check_code

from .judge import judged
from .subjects import SUBJECTS
from .table import KINDS

#: fault -> the plan that shows it, where it is not equivalent
CHOSEN = {
    "a store left out": "dead stores",
    "a statement's first or last instance left out": "dead stores",
    "nests in another order": "dead stores",
    "the last instance left out": "fused tiles",
    "instances beyond the domain": "fused tiles",
    "another operation": "inlined and jammed",
    "operands exchanged": "sliding window",
    "a body backwards": "fused tiles",
    "a vector mark": "shared sums",
    "a vector mark of 4": "shared sums",
    "an extent one less": "fused tiles",
    "a smaller fold": "sliding window",
    "two buffers of one name": "packed registers",
    "more operations in a pack": "fused tiles",
    "a sequence backwards": "fused tiles",
    "a loop starts one later": "inlined and jammed",
    "a loop ends one later": "inlined and jammed",
    "a test left out": "inlined and jammed",
    "a statement left out": "fused tiles",
    "a number of a test one less": "computed twice",
    "minus for plus": "fused tiles",
    "another element read": "sliding window",
    "a test for part of another": "tests hoisted",
    "a load before its test": "loads before choices",
    "the next element loaded before": "loads before choices",
    "a local for another": "loads before choices",
    "a type's largest number for a loop's end": "loads before choices",
    "a type's least number for a loop's start": "loads before choices",
    "a local called like an iterator": "loads before choices",
    "a buffer with a row less": "sliding window",
    "a buffer with a column less": "fused tiles",
    "threads where there are none": "diamonds",
    "lanes where there are none": "sliding window",
    "threads in no order": "shared sums",
    "no order asked of threads": "shared sums",
    "more lanes than may run together": "few lanes",
    "as many lanes as there are iterations": "few lanes",
    "a buffer that all iterations share": "shared sums",
    "sums joined by another operation": "sums in lanes",
    "numbers of their own width": "single trips",
    "numbers of half the width": "single trips",
    "numbers without a sign": "single trips",
    "a success at the start": "fused tiles",
    "a buffer that is released early": "sliding window",
    "memory of half its size": "sliding window",
    "results with longer rows": "fused tiles",
    "stores that are not waited for": "past the caches",
    "rows that all begin with a line": "past the caches",
    "nothing kept of a piece": "past the caches",
    "a strip for each piece": "past the caches",
    "lanes in another order": "whole vectors",
    "a first or last vector one later": "whole vectors",
    "a second vector left out": "whole vectors",
    "a last but one vector left out": "whole vectors",
}


def test_there_are_kinds_enough():
    assert len({(kind.layer, kind.name) for kind in KINDS}) == len(KINDS) >= 30
    assert {kind.layer for kind in KINDS} == {"source", "plan", "storage", "tree", "code", "text"}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_wrong_one_is_stopped(name, tmp_path):
    kind = next(k for k in KINDS if k.name == name)
    subject = next(s for s in SUBJECTS if s.name == CHOSEN[name])
    (verdict,) = judged(kind, [subject], tmp_path, 1)
    assert verdict.outcome in {"disproved", "refused"}, verdict.detail


def test_no_c_comes_of_a_name_before_its_declaration(tmp_path):
    kind = next(k for k in KINDS if k.name == "neighbours exchanged")
    subject = next(s for s in SUBJECTS if s.name == "sums in lanes")
    outcomes = {verdict.outcome for verdict in judged(kind, [subject], tmp_path, 3)}
    assert "refused" in outcomes
    assert "survived" not in outcomes


def test_no_two_buffers_that_live_at_once_have_one_name(tmp_path):
    """Scalars of one loop: none is too small for another's element."""
    kind = next(k for k in KINDS if k.name == "two buffers of one name")
    subject = next(s for s in SUBJECTS if s.name == "strips tested")
    outcomes = {verdict.outcome for verdict in judged(kind, [subject], tmp_path, 12)}
    assert outcomes == {"disproved"}


def test_a_local_may_be_called_like_the_iterator_of_another_loop(tmp_path):
    kind = next(k for k in KINDS if k.name == "a local called like an iterator")
    subject = next(s for s in SUBJECTS if s.name == "loads before choices")
    outcomes = [verdict.outcome for verdict in judged(kind, [subject], tmp_path, 8)]
    assert outcomes == ["disproved", "equivalent"] * 2 + ["equivalent", "disproved"] * 2


#: shown by runs: orders of floats in parts, loops under conditions, and tables of the plan's that
#: data choose an element of
BY_RUNS = {"skewed tiles", "shared sums", "tests hoisted", "looked up"}


@pytest.mark.parametrize(
    "subject", [s for s in SUBJECTS if s.name not in BY_RUNS], ids=lambda s: s.name
)
def test_the_right_code_is_shown_for_all_sizes(subject):
    plan = subject.plan
    claims = ReadBack(plan.scop, emit(plan.program)).claims()
    assert (claims == 0) == (subject.name == "single lanes")  # which only chooses and copies


def test_what_is_not_shown_for_all_sizes_is_run_at_small_ones():
    plan = SUBJECTS[3].plan
    found = check_code(plan.scop, emit(plan.program), operations=1)
    assert "not shown" in found.detail
    assert "runs" in found.detail
