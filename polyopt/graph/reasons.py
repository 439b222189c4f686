"""Why a network's nodes are fused as they are: a row for each producer-consumer pair."""

from __future__ import annotations

import difflib
import re
import textwrap
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.errors import UserError
from polyopt.graph.fusion.in_place import in_place
from polyopt.graph.fusion.lower import group_of
from polyopt.graph.fusion.policy import choose_groups
from polyopt.graph.ir.verify import verify
from polyopt.graph.planning import Options, planned, planned_scratch, scratch_of
from polyopt.oneline import one_line, some
from polyopt.scheduler.model.cost import cost
from polyopt.scheduler.model.table import human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.graph.fusion.in_place import InPlace
    from polyopt.graph.fusion.lower import Group
    from polyopt.graph.fusion.policy import Decision, Fusion, Grouping
    from polyopt.graph.ir.graph import Graph
    from polyopt.graph.planning import Planned
    from polyopt.scheduler.model.cost import Cost

#: nodes of a kernel that a line names
_MOST_NAMES = 8
_IN_FULL = "one kernel, its array stored in full"


@dataclass(frozen=True)
class PairRemark:
    """What was decided about a producer and a consumer, and what the other choice would cost.

    ``producer_instances`` and ``consumer_instances`` count the elements that each computes. For a
    fused pair, ``recompute`` and ``bytes_saved`` are what fusing brought; ``scratch_bytes`` is what
    the kernel takes per thread beside its tensors, for whatever node, as a ceiling counts it. For
    one apart they are those of the kernel that both their kernels would become. ``where`` says how
    the producer's values are kept.
    """

    producer: str
    consumer: str
    fused: bool
    reason: str
    pattern: str
    producer_instances: int
    consumer_instances: int
    recompute: float
    bytes_saved: int
    scratch_bytes: int
    where: str
    in_place: str
    counterfactual: str

    def as_dict(self) -> dict[str, object]:
        """The remark for JSON."""
        return dict(vars(self))

    def __str__(self) -> str:
        """Decision, instances, costs, memory, the other choice: at most 80 columns."""
        verb = "fused" if self.fused else "apart"
        lines = [
            f"{verb}  {self.producer} -> {self.consumer}: {self.reason}",
            f"{self._instances()}; reads by {self.pattern}",
        ]
        if self.fused:
            lines += [self.where, _costs(self.recompute, self.bytes_saved, self.scratch_bytes)]
        lines += [f"in place: {self.in_place}", self.counterfactual]
        first, *others = lines
        return "\n".join([_wrapped(first, ""), *(_wrapped(line, " " * 7) for line in others)])

    def _instances(self) -> str:
        one, two = self.producer_instances, self.consumer_instances
        return f"{one:,} against {two:,} instances{_ratio(one, two)}"


def _wrapped(line: str, indent: str) -> str:
    return textwrap.fill(
        line, 80, initial_indent=indent, subsequent_indent=" " * 9, break_on_hyphens=False
    )


def _ratio(one: int, other: int) -> str:
    """How far two iteration spaces differ: what systems that fuse equal loops look at."""
    if one == other:
        return ""
    large, small = max(one, other), max(1, min(one, other))
    return f", {large / small:.3g} to 1: loops of equal extents are not there to be merged"


def _costs(recompute: float, saved: int, scratch: int) -> str:
    computed = "once" if recompute == 1 else f"{recompute:.3g} times"
    moved = f"{human_bytes(abs(saved))} {'fewer' if saved >= 0 else 'more'} bytes moved"
    return f"computed {computed}, {moved}, {human_bytes(scratch)} of scratch in the kernel"


def _stored_apart(touched: int, saved: int, where: str) -> str:
    """What a pair in two kernels would write and read, and how much of it beyond the caches."""
    if where.startswith(_IN_FULL):
        return "apart, its array would be written and read as well"
    text = f"apart, {human_bytes(touched)} more would be written and read"
    if saved <= 0:
        return f"{text}, within the caches"
    return text if saved >= touched else f"{text}, {human_bytes(saved)} of it in memory"


@dataclass(frozen=True, eq=False)
class NetworkExplanation:
    """The groups of a network, and a remark for every pair of nodes."""

    graph: Graph
    grouping: Grouping
    rows: tuple[PairRemark, ...]

    def __repr__(self) -> str:
        """The network's name, and how many kernels and remarks there are."""
        kernels = some(len(self.grouping.groups), "kernel")
        return one_line(self, self.graph.name, kernels, some(len(self.rows), "remark"))

    def __iter__(self) -> Iterator[PairRemark]:
        """The remarks, in the order of the consumers."""
        return iter(self.rows)

    def __len__(self) -> int:
        """The number of remarks."""
        return len(self.rows)

    def about(self, name: str) -> NetworkExplanation:
        """Only what concerns a node."""
        kept = tuple(row for row in self.rows if name in {row.producer, row.consumer})
        return NetworkExplanation(self.graph, self.grouping, kept)

    def groups_text(self) -> str:
        """One line per kernel: its nodes, and what it gives."""
        nodes, kernels = len(self.graph.nodes), len(self.grouping.groups)
        lines = [f"{self.graph.name}: {nodes} nodes in {kernels} kernels"]
        for number, group in enumerate(self.grouping.groups, 1):
            ops = " + ".join(node.op for node in group.nodes)
            given = ", ".join(f"{name}: {self.graph.values[name]}" for name in group.outputs)
            lines.append(f"  #{number:<3} {ops} -> {given}")
        return "\n".join(lines)

    def diff(self) -> str:
        """The network before and after grouping, as a unified diff."""
        before = [str(node) for node in self.graph.nodes]
        last = {group.nodes[-1].name: group for group in self.grouping.groups}
        inner = {n.name for group in self.grouping.groups for n in group.nodes} - last.keys()
        after = [
            _kernel_line(last[node.name]) if node.name in last else str(node)
            for node in self.graph.nodes
            if node.name not in inner
        ]
        return "\n".join(difflib.unified_diff(before, after, "unfused", "fused", lineterm="", n=0))

    def as_dict(self) -> dict[str, object]:
        """Groups and remarks for JSON."""
        return {
            "network": self.graph.name,
            "groups": [
                {"nodes": [n.name for n in g.nodes], "inputs": list(g.inputs),
                 "outputs": list(g.outputs)}
                for g in self.grouping.groups
            ],
            "remarks": [row.as_dict() for row in self.rows],
        }  # fmt: skip

    def __str__(self) -> str:
        """The groups, then the remarks; of pairs that say the same the first has it in full."""
        counted: dict[PairRemark, list[PairRemark]] = {}
        for row in self.rows:
            counted.setdefault(_nameless(row), []).append(row)
        parts = [self.groups_text()]
        for rows in counted.values():
            others = ", ".join(f"{row.producer} -> {row.consumer}" for row in rows[1:])
            more = f"\n{_wrapped(f'the same: {others}', ' ' * 7)}" if others else ""
            parts.append(f"{rows[0]}{more}")
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        from polyopt.graph.notebook import explanation_html

        return explanation_html(self)


def _nameless(row: PairRemark) -> PairRemark:
    """What a remark says of any pair."""

    def said(text: str) -> str:
        for name, stands in ((row.producer, "{p}"), (row.consumer, "{c}")):
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", stands, text)
        return text

    return replace(
        row, producer="", consumer="", reason=said(row.reason), where=said(row.where),
        in_place=said(row.in_place), counterfactual=said(row.counterfactual),
    )  # fmt: skip


def _kernel_line(group: Group) -> str:
    """A group as one line; of one node, the node itself."""
    if len(group.nodes) == 1:
        return str(group.nodes[0])
    ops = " + ".join(node.op for node in group.nodes)
    return f"{', '.join(group.outputs)} = [{ops}]({', '.join(group.inputs)})"


@checks_arguments
def explain_network(
    graph: Graph,
    fusion: Fusion | str | None = None,
    *,
    options: Options | None = None,
    counterfactuals: bool = True,
) -> NetworkExplanation:
    """Why the nodes of a graph are fused as they are, by a policy or that of a level.

    ``counterfactuals=False`` does not plan what was not chosen: faster for large networks. What the
    graph leaves open is taken to have its usual number. Raises what ``verify`` and
    ``choose_groups`` raise.
    """
    chosen = options or Options()
    graph = verify(graph).usual
    grouping = choose_groups(
        graph, fusion, scratch_bytes=lambda group: planned_scratch(graph, group, chosen)
    )
    return explain_grouping(graph, grouping, chosen, counterfactuals=counterfactuals)


def explain_grouping(
    graph: Graph, grouping: Grouping, options: Options, *, counterfactuals: bool = True
) -> NetworkExplanation:
    """Why the nodes of a graph stand in these groups."""
    explainer = _Explainer(graph, grouping, options, counterfactuals=counterfactuals)
    return NetworkExplanation(graph, grouping, tuple(map(explainer.row, grouping.decisions)))


class _Explainer:
    """Rows for decisions; plans of groups are made once per program."""

    def __init__(
        self,
        graph: Graph,
        grouping: Grouping,
        options: Options,
        *,
        counterfactuals: bool,
    ) -> None:
        self.graph = graph
        self.options = options
        self.counterfactuals = counterfactuals
        self.homes = {n.name: group for group in grouping.groups for n in group.nodes}
        self.answers = {(a.node, a.operand): a for a in in_place(graph)}
        self.bills: dict[str, tuple[Planned, Cost]] = {}

    def row(self, decision: Decision) -> PairRemark:
        """The remark on one pair."""
        values = self.graph.values
        numbers = (1.0, 0, 0, "")
        other = ""
        if decision.fused:
            numbers = self._numbers(self.homes[decision.consumer], decision.producer)
            _, saved, _, where = numbers
            other = _stored_apart(2 * values[decision.producer].bytes, saved, where)
        elif self.counterfactuals:
            numbers, other = self._apart(decision)
        else:
            other = "what fusing would cost was not asked"
        recompute, saved, scratch, where = numbers
        return PairRemark(
            decision.producer, decision.consumer, decision.fused, decision.reason,
            str(decision.pattern), values[decision.producer].size, values[decision.consumer].size,
            recompute, saved, scratch, where, self._in_place(decision), other,
        )  # fmt: skip

    def _in_place(self, decision: Decision) -> str:
        answer: InPlace | None = self.answers.get((decision.consumer, decision.producer))
        if answer is None:
            return "no"
        return f"{'yes' if answer.allowed else 'no'}, {answer.reason}"

    def _numbers(self, group: Group, producer: str) -> tuple[float, int, int, str]:
        """Recompute factor, bytes saved, scratch bytes and place of a producer in a group."""
        known, bill = self._bill(group)
        position = [node.name for node in group.nodes].index(producer)
        array = known.arrays[position]
        recompute = round(bill.repeated.get(array, 1.0), 4)
        saved = bill.source_moved["memory"].get(array, 0) - bill.moved["memory"].get(array, 0)
        buffers = [s for s in bill.scratch if s.array == array]
        if array in known.outputs:
            where = _IN_FULL
            if array in known.plan.program.inlined:
                where += ", and computed again at its reads"
        elif array in known.plan.program.inlined:
            where = "computed at its reads, never stored"
        elif buffers:
            extents = "".join(f"[{e}]" for e in buffers[0].extents)
            where = f"kept in {buffers[0].name}{extents} per {buffers[0].at or 'call'}"
        else:
            where = _IN_FULL
        return recompute, saved, scratch_of(bill), where

    def _bill(self, group: Group) -> tuple[Planned, Cost]:
        known = planned(self.graph, group, self.options)
        if known.signature not in self.bills:
            self.bills[known.signature] = known, cost(known.plan.program, {}, self.options.target)
        return self.bills[known.signature]

    def _apart(self, decision: Decision) -> tuple[tuple[float, int, int, str], str]:
        """What fusing a pair would bring, by planning their kernels as one."""
        homes = [self.homes[decision.producer], self.homes[decision.consumer]]
        together = group_of(self.graph, [node for home in homes for node in home.nodes])
        if _needs_itself(self.graph, together):
            return (1.0, 0, 0, ""), "fused, the kernel would need its own result"
        try:
            numbers = self._numbers(together, decision.producer)
        except UserError as error:
            return (1.0, 0, 0, ""), f"fused, {error.diagnostic.message}"
        recompute, saved, scratch, where = numbers
        costs = f"fused would cost: {where}; {_costs(recompute, saved, scratch)}"
        return numbers, costs + _of_more(together)


def _of_more(group: Group) -> str:
    """Which nodes a kernel would compute, where they are more than a pair."""
    names = [node.name for node in group.nodes]
    if len(names) == 2:
        return ""
    shown = names if len(names) <= _MOST_NAMES else [*names[:_MOST_NAMES], "..."]
    return f" of {' + '.join(shown)}"


def _needs_itself(graph: Graph, group: Group) -> bool:
    """Whether an operand from outside a group is computed from the group's results."""
    inside = {node.name for node in group.nodes}
    later: set[str] = set()
    for node in graph.nodes:
        if node.name in inside:
            if not later.isdisjoint(node.operands):
                return True
        elif not (inside | later).isdisjoint(node.operands):
            later.add(node.name)
    return False
