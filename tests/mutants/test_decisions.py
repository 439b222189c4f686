"""Faults in what decides, rather than in what is made of it: each fails a test that is there for it.

A plan that is proved and C that is shown say nothing of whether an algorithm may be used at all, of
what a network's operator is made of, or of when threads are worth it.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from polyopt.codegen import flop_count
from polyopt.codegen.ast.expr import Binary, Var, number
from polyopt.codegen.expressions import packed_dot
from polyopt.codegen.passes import distribute_conversions
from polyopt.codegen.printers import c as printer
from polyopt.codegen.threads import collapse
from polyopt.codegen.validate import races
from polyopt.errors import PolyoptError
from polyopt.frontend.c.readback import emitted, lanes, parallel_loops, whitelist
from polyopt.graph import planning
from polyopt.graph.fusion import policy
from polyopt.graph.ops import attention
from polyopt.graph.passes import attention as fusing
from polyopt.graph.passes import exact_sums, layout
from polyopt.graph.winograd import select
from polyopt.scheduler import queries
from polyopt.scheduler.finishing import interleave_recurrences, simd_reductions
from polyopt.scheduler.search import finish
from polyopt.scheduler.strategies.contractions import strips
from polyopt.scheduler.threads import parallel_reductions
from polyopt.transform.annotations import loop_kinds, reassociate
from polyopt.transform.legality import equivalence, parallel, proof
from polyopt.transform.schedule import rectangular
from polyopt.transform.storage import fuse
from tests.unit.codegen import (
    test_collapse,
    test_distribute_conversions,
    test_operations,
    test_packed_dots,
    test_reduction_clauses,
)
from tests.unit.graph import test_attention, test_exact_sums, test_winograd
from tests.unit.scheduler import test_column_strips, test_contraction_strips, test_strip_mine
from tests.unit.transform import test_loop_kinds, test_reassociate

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


#: the test of a file that nothing is written to: it fails before
NOWHERE = Path()
#: who asks which reductions need no leave
SEARCHES = (simd_reductions, parallel_reductions)
SUMS = (test_reduction_clauses.SUM, "double", test_reduction_clauses.STORED)
OF_LANES = Binary(">", Var(test_distribute_conversions.LANE), number(3))
ITSELF = "for (int t = 0; t < 3; t++) P[i] = P[i] * 0.5f + S[i];"


def _clause(before: str, after: str, said: str) -> None:
    test_reduction_clauses.test_an_update_by_another_operation_than_its_clause_s_is_wrong(
        *SUMS[:2], before, after, said
    )


def _beside(after: str, said: str) -> None:
    test_reduction_clauses.test_what_else_a_loop_does_with_what_lanes_have_of_their_own_is_wrong(
        after, said
    )


def _converted(type_: str, source: str, other: str) -> None:
    test_distribute_conversions.test_a_wider_integer_on_the_way_is_the_same_where_the_source_has_a_value(
        type_, source, other, is_same=False
    )


def _no_dot(right: str, wrong: str) -> None:
    test_packed_dots.test_what_is_no_dot_product_is_left_as_it_stands(
        test_packed_dots.DOT.replace(right, wrong)
    )


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
    "leave taken for sums of floats": Fault(
        queries, "free_reductions", "(model.reassociate or not is_rounded(s))", "True",
        test_reassociate.test_the_search_changes_an_order_only_where_it_may,
        SEARCHES,
    ),
    "leave asked for sums of integers in lanes": Fault(
        queries, "free_reductions", "(model.reassociate or not is_rounded(s))", "model.reassociate",
        lambda: test_reassociate.test_reductions_of_integers_need_nobodys_leave("+", 9, NOWHERE),
        SEARCHES,
    ),
    "leave asked for sums of integers of threads": Fault(
        queries, "free_reductions", "(model.reassociate or not is_rounded(s))", "model.reassociate",
        test_reassociate.test_the_search_shares_sums_of_integers,
        SEARCHES,
    ),
    "nothing is rounded": Fault(
        reassociate, "is_rounded", "statement.value.type.is_float", "False",
        test_reassociate.test_the_search_changes_an_order_only_where_it_may,
        (queries, parallel),
    ),
    "all is rounded": Fault(
        reassociate, "is_rounded", "statement.value.type.is_float", "True",
        lambda: test_reassociate.test_reductions_of_integers_need_nobodys_leave("+", 9, NOWHERE),
        (queries, parallel),
    ),
    "a proof of floats that is of integers": Fault(
        parallel, "check_marks", "if not is_rounded(", "if is_rounded(",
        test_reassociate.test_a_sum_is_no_vector_loop_unless_its_order_is_free,
        (proof,),
    ),
    "two operations on an array joined by one": Fault(
        reassociate, "_joined_alike", ") == 1}", ") >= 1}",
        lambda: test_reassociate.test_two_operations_on_one_array_are_no_lanes(NOWHERE),
    ),
    "a clause of another operation": Fault(
        lanes, "_differ", 'one.partition("_")[0] != other.partition("_")[0]', "False",
        lambda: _clause("reduction(+", "reduction(*", "updated by + and joined by *"),
    ),
    "a clause of nothing": Fault(
        lanes, "_wrong_use", "if not uses:", "if False:",
        lambda: _beside("a[i][j] = 2.0;", "nothing updates y_sum, which is joined by +"),
    ),
    "a part of a sum that is read": Fault(
        lanes, "_wrong_use", "if elsewhere and", "if False and",
        lambda: _beside("y_sum = y_sum + a[i][j]; a[i][j] = y_sum;", "y_sum, of which each"),
    ),
    "a part of a sum that is set": Fault(
        lanes, "_wrong_use", "if not elsewhere and", "if False and",
        lambda: _beside("y_sum = a[i][j];", "y_sum is set to"),
    ),
    "an element of all lanes in no clause": Fault(
        lanes, "_written_by_all", "not in joined", "in ()",
        lambda: _beside("y_sum = y_sum + a[i][j]; y[i] = y[i] + 1.0;", "all of them write y[i]"),
    ),
    "an update through a local taken for wrong": Fault(
        lanes, "_wrong_use", "elsewhere and not others", "elsewhere",
        lambda: test_reduction_clauses.test_updates_that_may_fit_their_clause_are_not_said_to_be_wrong(
            *SUMS, "double t = y_sum + a[i][j]; y_sum = t;"
        ),
    ),
    "a choice of integers taken for one of floats": Fault(
        lanes, "_differ", 'one.partition("_")[0] != other.partition("_")[0]', "one != other",
        lambda: test_reduction_clauses.test_updates_that_may_fit_their_clause_are_not_said_to_be_wrong(
            test_reduction_clauses.LEAST, "int", test_reduction_clauses.KEPT, test_reduction_clauses.CHOICE
        ),
    ),
    "rows of lanes taken for their sums": Fault(
        races, "_is_joined", "if not relation", "if False and not relation",
        lambda: test_reduction_clauses.test_rows_that_lanes_update_are_in_no_clause("double u[8];\n"),
    ),
    "a greatest key that no block sees": Fault(
        fuse, "_with_bounds", "if greatest.n_piece() == 1 and", "if False and",
        test_attention.test_powers_of_keys_that_a_block_does_not_see_are_not_computed,
    ),
    "a last element less": Fault(
        fuse, "_with_bounds", "Map.lex_ge", "Map.lex_gt",
        test_attention.test_powers_of_keys_that_a_block_does_not_see_are_not_computed,
    ),
    "a bound by a tile where the box moves with it": Fault(
        fuse, "_with_bounds", "if offset.involves_dims(", "if not offset.involves_dims(",
        test_attention.test_powers_of_keys_that_a_block_does_not_see_are_not_computed,
    ),
    "strips of columns for one core": Fault(
        interleave_recurrences, "strips", "if target.cores < 2:", "if False:",
        lambda: test_column_strips.test_one_core_and_few_columns_have_none(4000, 1),
        (finish,),
    ),
    "strips of less than a vector": Fault(
        interleave_recurrences, "strips", "2 * target.cores * lanes:", "0:",
        lambda: test_column_strips.test_one_core_and_few_columns_have_none(15, 2),
        (finish,),
    ),
    "strips of parts of vectors": Fault(
        interleave_recurrences, "strips", "/ lanes) * lanes", ")",
        lambda: test_column_strips.test_there_are_two_strips_of_whole_vectors_for_each_core(20, 8),
        (finish,),
    ),
    "strips where rows are independent": Fault(
        interleave_recurrences, "_has_parallel", "return True", "return False",
        test_column_strips.test_rows_that_are_independent_are_shared_themselves,
    ),
    "a pool in a kernel with strips of tiles": Fault(
        policy, "_Chooser", 'if pattern.kind != "pointwise" and self._is_in_strips(', "if False and (",
        lambda: test_winograd.test_only_pointwise_consumers_join_it("windows"),
    ),
    "a float through a narrower integer": Fault(
        equivalence, "_unconverted", "contains(theirs.type, type_)", "True",
        lambda: _converted("unsigned char", "(unsigned char)x[i]", "(unsigned char)(signed char)x[i]"),
    ),
    "a float through another integer than its own": Fault(
        equivalence, "_as_narrow", "or not contains(wide.type, narrow.type)", "",
        lambda: _converted("float", "(float)(unsigned char)x[i]", "(float)(signed char)x[i]"),
    ),
    "elements before the test of them": Fault(
        distribute_conversions, "_Conversions", "return (*under, (test, holds))", "return ()",
        lambda: test_distribute_conversions.test_elements_under_conditions_are_loaded_under_them(True),
    ),
    "elements under tests of lanes before the loop": Fault(
        distribute_conversions, "_Conversions", "not bases.isdisjoint({*self.varying, *self.written})", "False",
        lambda: test_distribute_conversions.test_elements_that_lanes_or_results_choose_stay_where_they_are(OF_LANES),
    ),
    "bytes in subscripts before they are stored": Fault(
        distribute_conversions, "_reads_bytes_that_it_writes", "not read.isdisjoint(narrow)", "False",
        lambda: test_distribute_conversions.test_subscripts_read_what_the_loop_wrote("unsigned char", "f[at[i][c]]"),
    ),
    "elements at places that are written later": Fault(
        distribute_conversions, "_Conversions", "not needed.isdisjoint(self.written)", "base_of(load) in self.written",
        lambda: test_distribute_conversions.test_subscripts_read_what_the_loop_wrote("int", "t[at[i][c] & 255]"),
    ),
    "extremes of sums of their own": Fault(
        lanes, "is_extreme", r'name in re.findall(r"\w+", value)', "False",
        lambda: test_reduction_clauses.test_an_extreme_is_of_a_value_without_the_variable("s + a", False),
        (test_reduction_clauses,),
    ),
    "words shifted otherwise": Fault(
        packed_dot, "_high", " and by.value == HALF", "",
        lambda: _no_dot(">> 16", ">> 15"),
    ),
    "low halves without their sign": Fault(
        packed_dot, "_low", "is_low and isinstance", "isinstance",
        lambda: _no_dot("(int16_t)w", "(uint16_t)w"),
    ),
    "halves of other words": Fault(
        packed_dot, "packed_dot", "b is not None and same_expr(a, b)", "b is not None",
        lambda: _no_dot("(w[k][j] >> 16)", "(x[i][k] >> 16)"),
        (packed_dot,),
    ),
    "sums of pairs beyond 32 bits": Fault(
        exact_sums, "paired_weights", "<= I32.range[1]", ">= 0",
        test_exact_sums.test_sums_beyond_32_bits_are_no_pairs, (layout,),
    ),
    "pairs of channels of several groups": Fault(
        exact_sums, "paired_weights", 'or dict(node.attributes).get("group", 1) != 1', "",
        lambda: test_exact_sums.test_few_channels_and_groups_are_sums_of_floats(32, 2, 127), (layout,),
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
