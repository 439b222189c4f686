"""Fusion policy: which nodes one kernel computes, by what they compute, and why.

A node joins the group of a producer when the way it reads the producer is one that the level
allows, and nothing else needs the producer's result. Inside a group ``po.auto`` decides where
each producer is computed and kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, cast

from polyopt.arguments import checks_arguments
from polyopt.errors import InvalidOptionError, shown
from polyopt.graph.fusion.lower import group_of
from polyopt.graph.fusion.patterns import Pattern, patterns
from polyopt.graph.operators import called, find_operator, get_operator, supported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from polyopt.graph.fusion.lower import Group
    from polyopt.graph.ir.graph import Graph, Node

#: level -> kinds of patterns by which a node may join its producer
LEVELS = {
    "off": frozenset[str](),
    "marked": frozenset[str](),
    "pointwise": frozenset({"pointwise"}),
    "windows": frozenset({"pointwise", "moved", "window", "reduction"}),
    "all": frozenset({"pointwise", "moved", "window", "reduction", "contraction", "broadcast"}),
}
#: readers of an element that a convolution computes, at level ``windows``
_MOST_READS = 4
#: nodes between a tensor that several read and the node where their results meet
_LARGEST_REGION = 8


@dataclass(frozen=True)
class Fusion:
    """What may be fused. Nodes are named by their tensor, their operator, or the operator that it
    is a form of: ``conv`` is ``conv_blocked`` as well.

    ``level`` is ``off``, ``marked`` (the regions that passes marked), ``pointwise`` (regions, and
    elements at the same place), ``windows`` (pooling,
    depthwise convolutions, whole reductions, and 1 x 1 convolutions of what is no convolution;
    but no windows that read an element of a convolution more than ``_MOST_READS`` times) or
    ``all``. A node in ``exclude`` is a
    group of its own; one in ``include`` may join whatever its pattern; with ``operators`` all nodes
    of a group of several are of these operators. Operators with a schedule of their own stay alone.
    ``most_scratch_bytes`` is what a group's kernel may take per thread beside its tensors; a node
    does not join where it would take more.

    Raises ``InvalidOptionError`` for another level, names that are no tuple of texts, operators
    that there are not, and a ceiling below 0.
    """

    level: str = "windows"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    operators: tuple[str, ...] | None = None
    most_scratch_bytes: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.level), str) or self.level not in LEVELS:
            msg = f"there is no fusion level {shown(self.level)}"
            raise InvalidOptionError(msg, hint=f"there are: {', '.join(LEVELS)}")
        for option in ("include", "exclude", "operators"):
            _check_texts(option, getattr(self, option))
        most = cast("object", self.most_scratch_bytes)
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 0):
            msg = f"most_scratch_bytes is a number of bytes from 0 up, not {shown(most)}"
            raise InvalidOptionError(msg)

    @staticmethod
    def of(policy: Fusion | str | None) -> Fusion:
        """A policy, that of a level, or the usual one. Raises ``InvalidOptionError``."""
        if policy is None:
            return Fusion()
        return Fusion(policy) if isinstance(policy, str) else policy


def _check_texts(option: str, given: object) -> None:
    """Raises ``InvalidOptionError`` unless an option is a tuple or list of names, or ``None``."""
    if given is None and option == "operators":
        return
    names = cast("Sequence[object]", given) if isinstance(given, tuple | list) else (None,)
    if not all(isinstance(name, str) for name in names):
        msg = f"{option} is a tuple of names, not {shown(cast('object', given))}"
        hint = f"{option}=({given!r},)" if isinstance(given, str) else ""
        raise InvalidOptionError(msg, hint=hint)


@dataclass(frozen=True)
class Decision:
    """Whether a consumer is in its producer's group, and why."""

    producer: str
    consumer: str
    fused: bool
    reason: str
    pattern: Pattern


@dataclass(frozen=True)
class Grouping:
    """The groups in an order in which they can run, and a decision for each pair of nodes."""

    groups: tuple[Group, ...]
    decisions: tuple[Decision, ...]

    def of(self, graph: Graph) -> Grouping:
        """The same for a graph of nodes of the same names."""
        return replace(self, groups=tuple(group_of(graph, g.nodes) for g in self.groups))


@checks_arguments
def choose_groups(
    graph: Graph,
    fusion: Fusion | str | None = None,
    *,
    scratch_bytes: Callable[[Group], int] | None = None,
) -> Grouping:
    """Groups and reasons, by a policy or that of a level. ``scratch_bytes`` says what a group's
    kernel takes per thread; it is asked where the policy has a ceiling.

    Raises ``InvalidOptionError`` for names that the policy gives and the graph has not, and for a
    ceiling without ``scratch_bytes``.
    """
    policy = Fusion.of(fusion)
    _check_names(graph, policy)
    if policy.most_scratch_bytes is not None and scratch_bytes is None:
        msg = "a ceiling on scratch needs scratch_bytes=, which says what a group would take"
        raise InvalidOptionError(msg, hint="compile_graph and explain_network bring it")
    chooser = _Chooser(graph, policy, scratch_bytes)
    for node in graph.nodes:
        chooser.place(node)
    return Grouping(chooser.ordered(), tuple(chooser.decisions))


def _check_names(graph: Graph, policy: Fusion) -> None:
    known = {name for node in graph.nodes for name in called(node)}
    for name in (*policy.include, *policy.exclude):
        if name not in known:
            msg = f"{graph.name} has no node and no operator {name!r}"
            raise InvalidOptionError(msg, hint="nodes are named as print(graph) shows them")
    # a list of operators may serve many networks: one that this network lacks is no mistake
    for name in policy.operators or ():
        if name not in known and find_operator(name) is None:
            near = get_close_matches(name, {*known, *supported()}, n=3)
            msg = f"there is no operator {name!r} to list"
            raise InvalidOptionError(msg, hint=f"did you mean {' or '.join(near)}?" if near else "")


@dataclass
class _Chooser:
    """The search over a graph's nodes, in their order."""

    graph: Graph
    policy: Fusion
    scratch_bytes: Callable[[Group], int] | None
    #: node -> the group it is in; groups are known by their first node
    home: dict[str, str] = field(default_factory=dict[str, str])
    members: dict[str, list[Node]] = field(default_factory=dict[str, "list[Node]"])
    decisions: list[Decision] = field(default_factory=list[Decision])
    #: tensor -> its place in the order of definition
    places: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        self.places = {name: place for place, name in enumerate(self.graph.names)}

    def place(self, node: Node) -> None:
        """Put one node into a group of its own or into that of a producer."""
        if get_operator(node.op).is_view:
            return
        self.home[node.name], self.members[node.name] = node.name, [node]
        found = patterns(self.graph, node)
        producers = [name for name in dict.fromkeys(node.operands) if name in self.home]
        for name in sorted(producers, key=partial(self._first, node), reverse=True):
            reason = self._refusal(name, node, found[name])
            if not reason:
                reason = self._joined(name, node)
            fused = self.home[name] == self.home[node.name]
            if fused:
                reason = f"each result reads {_amount(found[name])} of it"
                if self._is_region(name, node):
                    reason += f"; marked by {node.region.partition('(')[0]}"
            self.decisions.append(Decision(name, node.name, fused, reason, found[name]))

    def _first(self, node: Node, producer: str) -> tuple[bool, int]:
        """Of several producers, a node joins that of its region, or else the latest."""
        return self._is_region(producer, node), self._position(producer)

    def _is_region(self, producer: str, node: Node) -> bool:
        """Whether a pass put both together, and the level lets it."""
        is_one = bool(node.region) and self.graph.makers[producer].region == node.region
        return is_one and self.policy.level != "off"

    def _position(self, name: str) -> int:
        return self.places[name]

    def _refusal(self, producer: str, node: Node, pattern: Pattern) -> str:
        """Why a node may not join its producer; "" where it may."""
        policy = self.policy
        for name in (node.name, producer):
            if called(self.graph.makers[name]) & set(policy.exclude):
                return f"{name} is excluded by the policy"
            if get_operator(self.graph.makers[name].op).schedule is not None:
                op = self.graph.makers[name].op
                return f"{op} brings a schedule of its own, which is for it alone"
        if self.home[node.name] != node.name:
            return "the node joined another producer"
        included = called(node) & set(policy.include) or self._is_region(producer, node)
        for each in (node, self.graph.makers[producer]):
            if not self._is_listed(each):
                return f"the policy does not list {each.op}"
        if not included and (reason := self._by_pattern(producer, pattern)):
            return reason
        return self._other_readers(producer, node)

    def _is_listed(self, node: Node) -> bool:
        """Whether the policy lets nodes of this operator share a kernel."""
        listed = self.policy.operators
        return listed is None or not called(node).isdisjoint(listed)

    def _by_pattern(self, producer: str, pattern: Pattern) -> str:
        """Why the level keeps a consumer apart that reads like this; "" where it does not."""
        level = self.policy.level
        if pattern.kind != "pointwise" and self._is_in_strips(producer):
            return (
                "it is computed in strips of tiles of its results, which a consumer that reads by"
                f" {pattern} does not have"
            )
        if level == "windows" and self._contracts(producer):
            if pattern.kind == "window" and pattern.reads > _MOST_READS:
                return (
                    f"each element is read {pattern.reads:.3g} times, and computed from whole"
                    " axes: repeating it would cost more than storing it"
                )
        elif level == "windows" and pattern.kind == "contraction" and not pattern.has_halo:
            return ""
        if pattern.kind in LEVELS[level]:
            return ""
        return f"at level {level}, a consumer that reads by {pattern} stays apart"

    def _contracts(self, producer: str) -> bool:
        """Whether a member of the producer's group sums over whole axes, as convolutions do."""
        return any(
            found.kind == "contraction"
            for member in self._beside(producer)
            for name, found in patterns(self.graph, member).items()
            if name not in self.graph.constants
        )

    def _is_in_strips(self, producer: str) -> bool:
        """Whether a member of the producer's group is computed in strips of its results."""
        return any(get_operator(member.op).in_strips for member in self._beside(producer))

    def _beside(self, producer: str) -> Sequence[Node]:
        """The members of a producer's group; it alone where it is in none yet."""
        alone = [self.graph.makers[producer]]
        return self.members.get(self.home.get(producer, ""), alone)

    def _other_readers(self, producer: str, node: Node) -> str:
        """Why what else reads a producer forbids to swallow it; "" where nothing does."""
        group = {n.name for n in self.members[self.home[producer]]}
        if producer in self.graph.outputs:
            return "it is an output of the network: its array is stored anyway"
        others = [r.name for r in self.graph.readers[producer]
                  if r.name not in group and r.name != node.name]  # fmt: skip
        if not others or self._meets(producer):
            return ""
        return f"{others[0]} reads it too: its array is stored anyway"

    def _meets(self, producer: str) -> bool:
        """Whether all that reads a tensor ends, through nodes that may join, in one node."""
        inside, start = {producer}, self._position(producer)
        last = producer
        for node in self.graph.nodes:
            if self._position(node.name) <= start or not inside & set(node.operands):
                continue
            if len(inside) > _LARGEST_REGION or not self._may_join(node, inside):
                return False
            inside.add(node.name)
            last = node.name
            if not any(self._leaves(name, inside) for name in inside - {last}):
                return True
        return False

    def _may_join(self, node: Node, inside: set[str]) -> bool:
        """Whether policy and level would let a node into a group with those that it reads."""
        policy, own = self.policy, called(node)
        operator = get_operator(node.op)
        if operator.is_view or operator.schedule is not None or own & set(policy.exclude):
            return False
        if not self._is_listed(node):
            return False
        found = patterns(self.graph, node)
        included = bool(own & set(policy.include))
        return included or not any(
            self._by_pattern(name, found[name]) for name in inside & set(node.operands)
        )

    def _leaves(self, name: str, inside: set[str]) -> bool:
        """Whether something outside a set of nodes needs one of them."""
        readers = {r.name for r in self.graph.readers[name]}
        return name in self.graph.outputs or not readers <= inside

    def _joined(self, producer: str, node: Node) -> str:
        """Put a node into its producer's group; why not, where that cannot be."""
        home = self.home[producer]
        if self._makes_cycle(home, node):
            return "the kernel would need its own result: another operand depends on the group"
        larger = [*self.members[home], node]
        most = self.policy.most_scratch_bytes
        if most is not None and self.scratch_bytes is not None:
            needed = self.scratch_bytes(group_of(self.graph, larger))
            if needed > most:
                alone = self.scratch_bytes(group_of(self.graph, self.members[home]))
                own = f"; {alone:,} of them without {node.name}" if alone > most else ""
                return (
                    f"the kernel would take {needed:,} bytes of scratch, {most:,} are allowed{own}"
                )
        del self.members[node.name]
        self.members[home], self.home[node.name] = larger, home
        return ""

    def _makes_cycle(self, home: str, node: Node) -> bool:
        """Whether an operand from outside the group is computed from the group's results."""
        inside = {n.name for n in self.members[home]}
        outside = [name for name in node.operands if name not in inside]
        seen: set[str] = set()
        while outside:
            name = outside.pop()
            if name in seen or name not in self.graph.makers:
                continue
            seen.add(name)
            if name in inside:
                return True
            # a group runs as one: what any of its members needs, all need
            whole = self.members.get(self.home.get(name, ""), [self.graph.makers[name]])
            outside += [operand for member in whole for operand in member.operands]
        return False

    def ordered(self) -> tuple[Group, ...]:
        """The groups, each after those whose results it reads."""
        waiting = [group_of(self.graph, nodes) for nodes in self.members.values()]
        ready = _available(
            self.graph, [*(v.name for v in self.graph.inputs), *self.graph.constants]
        )
        done: list[Group] = []
        while waiting:
            group = next(g for g in waiting if ready.issuperset(g.inputs))
            waiting.remove(group)
            done.append(group)
            ready = _available(self.graph, [*ready, *group.outputs])
        return tuple(done)


def _available(graph: Graph, names: Iterable[str]) -> set[str]:
    """Tensors that are there, with the views of them."""
    found = set(names)
    for node in graph.nodes:
        if get_operator(node.op).is_view and node.inputs[0] in found:
            found.add(node.name)
    return found


def _amount(pattern: Pattern) -> str:
    if pattern.kind in {"pointwise", "moved", "broadcast"}:
        return "one element"
    return f"{'x'.join(map(str, pattern.spans))} elements"
