"""Patterns, groups, in-place answers and remarks: by what nodes compute."""

import re
from dataclasses import replace

import numpy as np
import pytest

from polyopt.errors import InvalidOptionError
from polyopt.graph import DEFAULT_PASSES, Fusion, choose_groups, explain_network, run_passes
from polyopt.graph.execution.run import run_plainly
from polyopt.graph.fusion.in_place import in_place
from polyopt.graph.fusion.lower import group_of
from polyopt.graph.fusion.patterns import patterns
from polyopt.graph.fusion.policy import Grouping
from polyopt.graph.passes import AnalyseInPlace
from polyopt.graph.planning import Options
from polyopt.graph.reasons import explain_grouping


def groups(graph, *args, **options):
    fusion = Fusion(*args, **options)
    return [[node.name for node in group.nodes] for group in choose_groups(graph, fusion).groups]


def pattern(graph, name, operand):
    return patterns(graph, graph.makers[name])[operand]


# -- patterns -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "options", "kind", "reads"),
    [
        ("relu", {}, "pointwise", 1),
        ("transpose", {"perm": (0, 1, 3, 2)}, "moved", 1),
        ("pad", {"pads": (0, 0, 1, 1, 0, 0, 1, 1), "mode": "constant", "value": 0.0}, "moved", 1),
        (
            "pad",
            {"pads": (0, 0, 1, 1, 0, 0, 1, 1), "mode": "edge", "value": 0.0},
            "broadcast",
            1.78,
        ),
        ("reduce_mean", {"axes": (2, 3), "keepdims": 1}, "reduction 1x1x6x6", 1),
        ("softmax", {"axis": 1}, "contraction 1x4x1x1", 4),
    ],
)
def test_patterns_follow_from_the_stages(net, op, options, kind, reads):
    n = net(1, 4, 6, 6)
    n.add("y", op, "x", **options)
    found = pattern(n.graph("y"), "y", "x")
    assert str(found) == kind
    assert found.reads == pytest.approx(reads, abs=0.01)


def test_a_depthwise_convolution_is_a_window_and_a_full_one_a_contraction(net):
    n = net(1, 4, 6, 6)
    n.conv("d", "x", n.const("v", 4, 1, 3, 3), group=4)
    n.conv("c", "d", n.const("w", 8, 4, 1, 1), pad=0)
    graph = n.graph("c")
    assert str(pattern(graph, "d", "x")) == "window 1x1x3x3"
    assert str(pattern(graph, "c", "d")) == "contraction 1x4x1x1"
    assert pattern(graph, "c", "d").reads == 8


def test_pooling_reads_windows_of_a_quarter_as_many_results(stem):
    found = pattern(stem, "p", "r")
    assert str(found) == "window 1x1x3x3"
    assert (found.elements, found.results) == (4 * found.results, 4 * 36)


# -- groups ---------------------------------------------------------------------------------------


def test_levels_join_more_and_more(stem):
    assert groups(stem, "off") == [["c"], ["b"], ["r"], ["p"]]
    assert groups(stem, "pointwise") == [["c", "b", "r"], ["p"]]
    assert groups(stem, "windows") == [["c", "b", "r", "p"]]


def test_a_pointwise_convolution_joins_a_depthwise_one(net):
    n = net(1, 4, 6, 6)
    n.conv("d", "x", n.const("v", 4, 1, 3, 3), group=4)
    n.conv("c", "d", n.const("w", 8, 4, 1, 1), pad=0)
    assert groups(n.graph("c"), "windows") == [["d", "c"]]
    assert groups(n.graph("c"), "pointwise") == [["d"], ["c"]]


def test_only_level_all_joins_convolutions_of_convolutions(net):
    n = net(1, 4, 6, 6)
    n.conv("b", "x", n.const("u", 4, 4, 3, 3))
    n.conv("c", "b", n.const("v", 8, 4, 1, 1), pad=0)
    graph = n.graph("c")
    assert groups(graph, "windows") == [["b"], ["c"]]
    assert groups(graph, "all") == [["b", "c"]]
    assert groups(graph, "windows", include=("c",)) == [["b", "c"]]


def test_overlapping_windows_of_a_convolution_are_stored(net):
    """A depthwise convolution reads each element nine times, pooling with stride 2 twice."""
    n = net(1, 4, 12, 12)
    n.conv("b", "x", n.const("u", 4, 4, 1, 1), pad=0)
    n.conv("d", "b", n.const("v", 4, 1, 3, 3), group=4)
    decision = choose_groups(n.graph("d")).decisions[-1]
    assert not decision.fused
    assert decision.reason.startswith("each element is read 8.03 times, and computed from whole")
    n.nodes.pop()
    n.pool("p", "b")
    assert groups(n.graph("p")) == [["b", "p"]]


def test_excluded_nodes_and_operators_stay_apart(stem):
    assert groups(stem, exclude=("r",)) == [["c", "b"], ["r"], ["p"]]
    assert groups(stem, exclude=("max_pool",)) == [["c", "b", "r"], ["p"]]
    assert groups(stem, operators=("conv", "batch_norm")) == [["c", "b"], ["r"], ["p"]]
    assert groups(stem, operators=("batch_norm",)) == [["c"], ["b"], ["r"], ["p"]]


def test_a_list_of_operators_is_of_all_that_share_a_kernel(net):
    """``relu`` alone joins nothing that is not listed, whichever of a pair is asked."""
    n = net(1, 4, 6, 6)
    n.add("s", "add", "x", "x")
    n.add("r", "relu", "s")
    n.add("q", "relu", "r")
    n.add("y", "neg", "q")
    graph = n.graph("y")
    assert groups(graph, operators=("relu",)) == [["s"], ["r", "q"], ["y"]]
    assert groups(graph, operators=("relu", "add")) == [["s", "r", "q"], ["y"]]
    assert groups(graph, operators=()) == [["s"], ["r"], ["q"], ["y"]]
    reasons = {
        d.consumer: d.reason for d in choose_groups(graph, Fusion(operators=("relu",))).decisions
    }
    assert reasons["r"] == "the policy does not list add"
    assert reasons["y"] == "the policy does not list neg"


@pytest.mark.parametrize(
    ("options", "said", "hint"),
    [
        ({"operators": "relu"}, "operators is a tuple of names, not 'relu'", "('relu',)"),
        ({"include": "c"}, "include is a tuple of names", "('c',)"),
        ({"exclude": (3,)}, "exclude is a tuple of names", ""),
        ({"most_scratch_bytes": -1}, "a number of bytes from 0 up, not -1", ""),
        ({"most_scratch_bytes": "1k"}, "a number of bytes from 0 up, not '1k'", ""),
        ({"operators": ("Relu",)}, "there is no operator 'Relu' to list", "relu"),
    ],
)
def test_options_of_the_wrong_kind_are_refused(stem, options, said, hint):
    with pytest.raises(InvalidOptionError, match=re.escape(said)) as caught:
        choose_groups(stem, Fusion(**options), scratch_bytes=lambda _: 0)
    assert hint in caught.value.diagnostic.hint


def test_a_level_is_a_policy(stem):
    assert choose_groups(stem, "off") == choose_groups(stem, Fusion("off"))
    assert len(explain_network(stem, "off", counterfactuals=False).grouping.groups) == 4


def test_unknown_names_and_levels_are_refused(stem):
    with pytest.raises(InvalidOptionError, match="no node and no operator 'fc'"):
        choose_groups(stem, Fusion(exclude=("fc",)))
    with pytest.raises(InvalidOptionError, match="no fusion level 'most'"):
        Fusion("most")


def residual(net):
    """conv + relu, whose result goes through another convolution and around it."""
    n = net(1, 4, 6, 6)
    n.conv("c1", "x", n.const("v", 4, 4, 3, 3))
    n.add("r1", "relu", "c1")
    n.conv("c2", "r1", n.const("w", 4, 4, 3, 3))
    n.add("s", "add", "c2", "r1")
    n.add("r2", "relu", "s")
    return n.graph("r2")


def test_a_residual_sum_joins_its_convolution(net):
    graph = residual(net)
    assert groups(graph) == [["c1", "r1"], ["c2", "s", "r2"]]
    reasons = {(d.producer, d.consumer): d.reason for d in choose_groups(graph).decisions}
    assert reasons["r1", "s"] == "the node joined another producer"
    assert "contraction 1x4x3x3 stays apart" in reasons["r1", "c2"]


def test_a_producer_that_others_read_is_stored(net):
    n = net(1, 4, 6, 6)
    n.conv("c", "x", n.const("v", 4, 4, 3, 3))
    n.add("r", "relu", "c")
    n.conv("d", "c", n.const("w", 4, 4, 3, 3))
    n.add("y", "add", "r", "d")
    decisions = choose_groups(n.graph("y")).decisions
    first = next(d for d in decisions if (d.producer, d.consumer) == ("c", "r"))
    assert (first.fused, first.reason) == (False, "d reads it too: its array is stored anyway")


@pytest.mark.parametrize("other", ["excluded", "view"])
def test_readers_do_not_meet_through_what_cannot_join(net, other):
    n = net(1, 4, 6, 6)
    n.add("r", "relu", "x")
    n.add("a", "tanh", "r")
    if other == "view":
        n.add("b", "reshape", "r", shape=(1, 4, 6, 6))
    else:
        n.add("b", "sigmoid", "r")
    n.add("m", "add", "a", "b")
    decided = choose_groups(n.graph("m"), Fusion(exclude=() if other == "view" else ("b",)))
    found = next(d for d in decided.decisions if (d.producer, d.consumer) == ("r", "a"))
    assert not found.fused
    assert found.reason == "b reads it too: its array is stored anyway"


def test_a_producer_whose_readers_meet_is_swallowed_whole(net):
    n = net(1, 4, 6, 6)
    n.conv("c", "x", n.const("v", 4, 4, 3, 3))
    n.add("s", "sigmoid", "c")
    n.add("y", "mul", "c", "s")
    assert groups(n.graph("y")) == [["c", "s", "y"]]


def test_an_output_of_the_network_is_stored(net):
    n = net(1, 4, 6, 6)
    n.add("a", "neg", "x")
    n.add("y", "relu", "a")
    assert groups(n.graph("y")) == [["a", "y"]]
    assert groups(n.graph("y", "a")) == [["a"], ["y"]]


def test_groups_never_wait_for_themselves(net):
    """``y`` reads ``a``'s group and what is computed from it outside."""
    n = net(1, 4, 6, 6)
    n.add("a", "neg", "x")
    n.conv("c", "a", n.const("v", 4, 4, 3, 3))
    n.add("b", "relu", "a")
    n.add("y", "add", "b", "c")
    for level in ("pointwise", "windows", "all"):
        found = choose_groups(n.graph("y"), Fusion(level)).groups
        done = {"x", "v"}
        for group in found:
            assert done.issuperset(group.inputs)
            done |= set(group.outputs)


def test_a_ceiling_on_scratch_is_never_ignored(stem):
    with pytest.raises(InvalidOptionError, match="a ceiling on scratch needs scratch_bytes="):
        choose_groups(stem, Fusion(most_scratch_bytes=1))
    found = explain_network(stem, Fusion(most_scratch_bytes=1), counterfactuals=False)
    reason = next(row.reason for row in found if row.consumer == "p")
    assert reason.endswith("bytes of scratch, 1 are allowed")


def test_a_ceiling_on_scratch_cuts_groups(stem):
    asked = []

    def scratch(group):
        asked.append([node.name for node in group.nodes])
        return 1000 * len(group.nodes)

    found = choose_groups(stem, Fusion(most_scratch_bytes=2500), scratch_bytes=scratch)
    assert [[n.name for n in g.nodes] for g in found.groups] == [["c", "b"], ["r", "p"]]
    assert asked[1] == ["c", "b", "r"]
    reason = next(d.reason for d in found.decisions if d.consumer == "r")
    assert reason == "the kernel would take 3,000 bytes of scratch, 2,500 are allowed"


def test_a_ceiling_counts_what_remarks_show(stem):
    """The number of a refusal is the one that a remark of the same kernel has."""
    graph = run_passes(stem, DEFAULT_PASSES).graph
    whole = {row.consumer: row for row in explain_network(graph)}["p"]
    assert whole.fused
    most = whole.scratch_bytes
    assert most > 0
    kept = explain_network(graph, Fusion(most_scratch_bytes=most), counterfactuals=False)
    assert all(row.fused for row in kept)
    cut = {r.consumer: r for r in explain_network(graph, Fusion(most_scratch_bytes=most - 1))}
    apart = next(row for row in cut.values() if not row.fused)
    assert f"would take {most:,} bytes of scratch, {most - 1:,} are allowed" in apart.reason
    assert apart.scratch_bytes == most


def test_a_refusal_says_where_a_ceiling_cannot_be_met(stem):
    found = choose_groups(stem, Fusion(most_scratch_bytes=5), scratch_bytes=lambda _: 9)
    (first, *_) = found.decisions
    assert first.reason.endswith("9 bytes of scratch, 5 are allowed; 9 of them without b")


# -- in place -------------------------------------------------------------------------------------


def answers(graph):
    return {(a.node, a.operand): (a.allowed, a.reason) for a in in_place(graph)}


def test_pointwise_results_may_overwrite_and_windows_must_not(stem):
    found = answers(stem)
    assert found["r", "b"][0]
    assert found["p", "r"] == (
        False, "f32[1, 4, 6, 6] does not have the layout of f32[1, 4, 12, 12]",
    )  # fmt: skip
    assert found["c", "x"] == (False, "it is the caller's array")


def test_a_clash_is_shown_by_two_elements(net):
    n = net(1, 4, 6, 6)
    n.add("a", "neg", "x")
    n.conv("c", "a", n.const("v", 4, 4, 3, 3))
    allowed, reason = answers(n.graph("c"))["c", "a"]
    assert not allowed
    assert reason == "c[0, 0, 0, 0] reads a[0, 0, 0, 1], where c[0, 0, 0, 1] would stand"


def test_what_is_needed_later_must_not_be_overwritten(net):
    found = answers(residual(net))
    assert found["s", "c2"][0]
    assert found["s", "r1"][0]  # its last reader: after the convolution
    n = net(2, 3)
    n.add("a", "neg", "x")
    n.add("b", "relu", "a")
    n.add("v", "reshape", "a", shape=(6,))
    n.add("c", "exp", "v")
    assert answers(n.graph("b", "c"))["b", "a"] == (False, "c needs it afterwards")
    assert answers(n.graph("b", "a"))["b", "a"] == (False, "the caller needs it afterwards")


def test_the_pass_remarks_each_answer_and_changes_nothing(net):
    graph = residual(net)
    report = run_passes(graph, [AnalyseInPlace()])
    assert report.graph is graph
    assert report.steps[0].remarks == tuple(map(str, in_place(graph)))
    assert any(said.startswith("s may overwrite c2: ") for said in report.steps[0].remarks)


@pytest.mark.parametrize("op", ["relu", "conv"])
def test_what_may_be_overwritten_is_read_at_its_own_place_alone(net, op):
    """The answer against numbers: which results move when one element of the operand does."""
    n = net(1, 2, 4, 4)
    n.add("a", "neg", "x")
    if op == "conv":
        n.conv("y", "a", n.const("w", 2, 2, 3, 3))
    else:
        n.add("y", op, "a")
    graph = n.graph("y")
    x = -np.ones((1, 2, 4, 4), np.float32)
    moved = x.copy()
    moved[0, 1, 2, 1] -= 1
    (before,), (after,) = (run_plainly(graph, {"x": array}) for array in (x, moved))
    places = np.argwhere(before != after).tolist()
    assert answers(graph)["y", "a"][0] == (places == [[0, 1, 2, 1]])
    assert [0, 1, 2, 1] in places


# -- remarks --------------------------------------------------------------------------------------


def test_bn_relu_into_pooling_is_explained_with_its_numbers(net):
    """What PyTorch Inductor refuses, on the sizes of the first ResNet block, batch 2."""
    n = net(2, 64, 112, 112)
    n.norm("b", "x", 64)
    n.add("r", "relu", "b")
    n.pool("p", "r")
    graph = run_passes(n.graph("p"), DEFAULT_PASSES).graph
    fused = {(row.producer, row.consumer): row for row in explain_network(graph)}["r", "p"]
    assert fused.fused
    assert (fused.producer_instances, fused.consumer_instances) == (1_605_632, 401_408)
    assert fused.pattern == "window 1x1x3x3"
    assert fused.bytes_saved == 2 * 4 * 1_605_632
    text = str(fused)
    assert "1,605,632 against 401,408 instances, 4 to 1" in text
    assert "in place: no" in text
    apart = explain_network(graph, Fusion("pointwise"))
    row = {(r.producer, r.consumer): r for r in apart}["r", "p"]
    assert not row.fused
    assert row.bytes_saved == fused.bytes_saved
    assert "fused would cost: " in row.counterfactual


def test_what_fusing_saves_and_what_apart_would_cost_do_not_contradict_each_other(net):
    n = net(1, 8, 20, 20)
    n.add("r", "relu", "x")
    n.pool("p", "r")
    (fused,) = explain_network(n.graph("p"))
    assert (fused.fused, fused.bytes_saved) == (True, 0)
    assert "25.6 KB more would be written and read, within the caches" in str(fused).replace(
        "\n         ", " "
    )


@pytest.mark.parametrize("level", ["off", "pointwise", "windows"])
def test_what_fusing_would_cost_is_what_it_costs(net, level):
    """Each pair apart, made one kernel with all else as it was: the same numbers."""
    n = net(1, 8, 14, 14)
    n.add("a", "neg", "x")
    n.conv("d", "a", n.const("v", 8, 1, 3, 3), group=8)
    n.add("r", "relu", "d")
    n.pool("p", "r")
    n.add("y", "tanh", "p")
    graph = n.graph("y")
    found = explain_network(graph, level)
    homes = {m.name: group for group in found.grouping.groups for m in group.nodes}
    for row in found:
        if row.fused:
            continue
        both = (homes[row.producer], homes[row.consumer])
        joined = group_of(graph, [node for group in both for node in group.nodes])
        others = [group for group in found.grouping.groups if group not in both]
        made = Grouping(
            (*others, joined),
            tuple(
                replace(
                    d, fused=d.fused or (d.producer, d.consumer) == (row.producer, row.consumer)
                )
                for d in found.grouping.decisions
            ),
        )
        told = {(r.producer, r.consumer): r for r in explain_grouping(graph, made, Options())}
        other = told[row.producer, row.consumer]
        for name in ("recompute", "bytes_saved", "scratch_bytes", "where"):
            assert getattr(row, name) == getattr(other, name)


def test_a_pair_that_cannot_share_a_kernel_has_no_costs(net):
    n = net(1, 4, 6, 6)
    n.add("a", "neg", "x")
    n.conv("c", "a", n.const("v", 4, 4, 3, 3))
    n.add("y", "add", "a", "c")
    rows = {(r.producer, r.consumer): r for r in explain_network(n.graph("y"), "off")}
    assert rows["a", "y"].counterfactual == "fused, the kernel would need its own result"
    assert rows["a", "y"].bytes_saved == 0


def test_explanations_show_groups_and_their_difference(stem):
    graph = run_passes(stem, DEFAULT_PASSES).graph
    found = explain_network(graph, counterfactuals=False)
    assert found.groups_text().splitlines()[0] == "net: 3 nodes in 1 kernels"
    assert "+p = [conv + relu + max_pool](x, w_folded, b_bias)" in found.diff().splitlines()
    assert len(found.about("p")) == 1
    assert found.as_dict()["groups"][0]["outputs"] == ["p"]
    assert {r["consumer"] for r in found.as_dict()["remarks"]} == {"r", "p"}


def test_pairs_that_say_the_same_are_all_named(net):
    n = net(1, 4, 6, 6)
    n.add("one", "relu", "x")
    n.add("two", "relu", "one")
    n.add("three", "relu", "two")
    text = str(explain_network(n.graph("three"), Fusion("off")))
    assert text.count("instances; reads by pointwise") == 1
    assert text.endswith("the same: two -> three")
