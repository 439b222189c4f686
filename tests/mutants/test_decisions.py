"""Faults in what decides, rather than in what is made of it: each fails a test that is there for it.

A plan that is proved and C that is shown say nothing of whether an algorithm may be used at all, of
what a network's operator is made of, or of when threads are worth it.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from polyopt.codegen import flop_count
from polyopt.codegen.printers import c as printer
from polyopt.codegen.threads import collapse
from polyopt.errors import PolyoptError
from polyopt.frontend.c.readback import emitted, parallel_loops, whitelist
from polyopt.graph import planning
from polyopt.graph.ops import attention
from polyopt.graph.passes import attention as fusing
from polyopt.graph.winograd import select
from polyopt.scheduler.strategies.contractions import strips
from polyopt.transform.annotations import loop_kinds
from polyopt.transform.schedule import rectangular
from tests.unit.codegen import test_collapse, test_operations
from tests.unit.graph import test_attention, test_winograd
from tests.unit.scheduler import test_contraction_strips, test_strip_mine
from tests.unit.transform import test_loop_kinds

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


@dataclass(frozen=True)
class Fault:
    """Text of a function or class of a module, what is there instead, and the test that fails."""

    module: ModuleType
    name: str
    right: str
    wrong: str
    test: Callable[[], object]
    #: where else it is known by name
    others: tuple[ModuleType, ...] = ()


ITSELF = "for (int t = 0; t < 3; t++) P[i] = P[i] * 0.5f + S[i];"

FAULTS = {
    "Winograd's tiles for groups": Fault(
        select, "_fits", "plain and one_group", "plain",
        lambda: test_winograd.test_other_convolutions_stay_as_they_are({"group": 2}),
    ),
    "Winograd's tiles for strides": Fault(
        select, "_fits", '("strides", "dilations")', '("dilations",)',
        lambda: test_winograd.test_other_convolutions_stay_as_they_are({"strides": (2, 2)}),
    ),
    "strips of what is computed from itself": Fault(
        strips, "strips_of", "if _is_cyclic(scop, total.array):", "if False:",
        lambda: test_contraction_strips.test_arrays_that_are_computed_from_themselves_are_left(ITSELF),
    ),
    "a diagonal one less": Fault(
        fusing, "_causal", "(columns - rows).max()", "(columns - rows).max() - 1",
        lambda: test_attention.test_the_diagonal_of_a_mask_is_the_last_key_that_is_seen("added", 128, 70, 3, 3),
    ),
    "a mask that adds as well is left out": Fault(
        fusing, "_adds_nothing", "not mask[seen].any()", "True",
        test_attention.test_a_mask_that_adds_to_what_it_does_not_hide_is_read,
    ),
    "a key less before the diagonal": Fault(
        attention, "_Keys", "BLOCK + self.diagonal", "BLOCK + self.diagonal - 1",
        lambda: test_attention.test_keys_that_a_causal_mask_hides_are_left_out("added", 96, 96, 0, 0),
    ),
    "a key more behind the diagonal": Fault(
        attention, "_Keys", "BLOCK + self.diagonal", "BLOCK + self.diagonal + 1",
        lambda: test_attention.test_keys_that_a_causal_mask_hides_are_left_out("added", 64, 128, 0, 0),
    ),
    "scores as they are, not less the greatest": Fault(
        attention, "_powers", "scores[i] - greatest[(*i[:-2], i[-1])]", "scores[i]",
        test_attention.test_large_scores_do_not_overflow,
    ),
    "threads where there is little work": Fault(
        flop_count, "little_work", '"<", work', '">", work',
        test_operations.test_threads_that_start_in_each_step_need_enough_work_in_each,
        (test_operations,),
    ),
    "as much work for many starts as for one": Fault(
        flop_count, "little_work", "product((least, *starts))", "least",
        test_operations.test_threads_that_start_in_each_step_need_enough_work_in_each,
        (test_operations,),
    ),
    "loops collapsed whose bounds change": Fault(
        rectangular, "is_rectangular", "first.is_equal(pairs) and ", "",
        test_loop_kinds.test_loops_are_collapsed_where_their_bounds_do_not_change,
        (loop_kinds,),
    ),
    "a perfect nest of bounds that change": Fault(
        collapse, "_is_rectangular", "around.isdisjoint", "frozenset().isdisjoint",
        test_collapse.test_bounds_that_depend_on_the_outer_loop_are_left_to_it,
    ),
    "emitted bounds that change": Fault(
        whitelist, "_odd_nest", "not outer.isdisjoint(", "not set().isdisjoint(",
        test_collapse.test_code_whose_inner_bounds_change_is_not_read,
    ),
    "one level of collapsed loops checked": Fault(
        parallel_loops, "collapsed", "return inner, COLLAPSE.sub(fewer, pragma)", 'return inner, ""',
        test_collapse.test_the_code_is_checked_at_every_level,
        (emitted,),
    ),
    "no test of the work": Fault(
        printer, "_in_function", "if shares and function.little_work is not None:", "if False:",
        lambda: test_strip_mine.test_each_call_decides_where_nobody_gave_the_size("double"),
    ),
}  # fmt: skip


def plant(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    text = dedent(inspect.getsource(getattr(fault.module, fault.name)))
    assert text.count(fault.right) == 1
    names = dict(vars(fault.module))
    exec(compile(text.replace(fault.right, fault.wrong), fault.name, "exec"), names)  # noqa: S102
    for module in (fault.module, *fault.others):
        monkeypatch.setattr(module, fault.name, names[fault.name])


@pytest.mark.parametrize("name", FAULTS)
def test_a_wrong_decision_fails_the_test_of_it(name, monkeypatch):
    monkeypatch.setattr(planning, "_PLANNED", {})  # what was planned without it, or with another
    plant(FAULTS[name], monkeypatch)
    with pytest.raises((AssertionError, PolyoptError, RecursionError, pytest.fail.Exception)):
        FAULTS[name].test()
