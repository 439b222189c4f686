"""Groups of nodes as Scops: the stages of each node, one after the other.

Names in the program say what is computed and not in which network: groups that do the same get
the same program, and so the same kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from polyopt.errors import GraphError, UnsupportedError
from polyopt.frontend import stages as po
from polyopt.graph.ir.graph import Value
from polyopt.graph.ir.open import probes, standing_for
from polyopt.graph.operators import Maker, Tensor, extent_of, get_operator
from polyopt.ir.same import same_scop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.graph.ir.graph import Graph, Node
    from polyopt.ir.scop import Scop


@dataclass(frozen=True)
class Group:
    """Nodes that one kernel computes: in the graph's order, with what they read and give."""

    nodes: tuple[Node, ...]
    #: tensors read from outside
    inputs: tuple[str, ...]
    #: tensors that something outside reads
    outputs: tuple[str, ...]


def group_of(graph: Graph, nodes: Sequence[Node]) -> Group:
    """The group of some nodes of a graph, in the graph's order."""
    inside = {node.name for node in nodes}
    ordered = tuple(node for node in graph.nodes if node.name in inside)
    inputs = dict.fromkeys(n for node in ordered for n in node.operands if n not in inside)
    outputs = [
        name
        for name in (node.name for node in ordered)
        if name in graph.outputs
        or not graph.readers[name]
        or any(reader.name not in inside for reader in graph.readers[name])
    ]
    return Group(ordered, tuple(inputs), tuple(outputs))


def signature(graph: Graph, group: Group) -> str:
    """What a group computes, as text without the network's names: equal texts, equal programs."""
    values = graph.values
    number = {name: f"%{k}" for k, name in enumerate(group.inputs)}
    lines = [f"{number[name]}: {values[name]}" for name in group.inputs]
    for node in group.nodes:
        given = ", ".join(number.get(name, "-") for name in node.inputs)
        number[node.name] = f"%{len(number)}"
        lines.append(f"{number[node.name]} = {node.op}({given}) {node.attributes}")
    lines.append("-> " + ", ".join(number[name] for name in group.outputs))
    lines += map(repr, graph.open.values())
    return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Lowered:
    """The program of a group, and which array is which tensor."""

    scop: Scop
    #: tensor -> array, for inputs and for every node
    arrays: Mapping[str, str]
    #: array of a step inside a node -> that node's name
    steps: Mapping[str, str]


def lower(graph: Graph, group: Group) -> Lowered:
    """The stages of a group's nodes as a Scop, whose sizes are those that the graph leaves open.

    Raises what the operators' stages raise, and ``UnsupportedError`` for stages that need the
    number of an open size.
    """
    if not graph.open:
        return _lowered(graph, group)
    one, two = (_with_numbers(graph, group, n) for n in probes(list(graph.open)))
    if not same_scop(one.scop, two.scop):
        listed = " or ".join(graph.open)
        raise UnsupportedError(
            f"{' + '.join(map(_called, group.nodes))} computes with how many {listed} there are",
            hint="compile the network for one number: sizes={...}",
        )
    return one


def _called(node: Node) -> str:
    """A node's operator, and what it was read from where that has another name."""
    is_same = node.op.replace("_", "") in node.origin.lower()
    return node.op if is_same or not node.origin else f"{node.op} of {node.origin}"


def _with_numbers(graph: Graph, group: Group, numbers: Mapping[str, int]) -> Lowered:
    """The stages, made with other numbers for open sizes."""
    other = standing_for(graph, numbers)
    return _lowered(other, group_of(other, group.nodes))


def _lowered(graph: Graph, group: Group) -> Lowered:
    values = graph.values
    names = _Names()
    tensors: dict[str, Tensor] = {}
    for name in group.inputs:
        base = names.fresh("w" if name in graph.constants else "x")
        tensors[name] = _input(base, values[name])
    owner: dict[str, str] = {}
    for node in group.nodes:

        def fresh(base: str, node: Node = node) -> str:
            name = names.fresh(base)
            owner[name] = node.name
            return name

        maker = Maker(node.op, values[node.name].dtype, fresh)
        operands = [tensors[name] if name else None for name in node.inputs]
        made = get_operator(node.op).build(maker, *operands, **dict(node.attributes))
        tensors[node.name] = _as_said(maker, node, made, values[node.name])
    outputs = [tensors[name].grid for name in group.outputs]
    title = "_".join(dict.fromkeys(node.op for node in group.nodes))
    scop = po.pipeline(outputs, name=title[:60])  # type: ignore[arg-type]
    arrays = {name: tensor.grid.name for name, tensor in tensors.items()}
    return Lowered(scop, arrays, owner)


def _as_said(maker: Maker, node: Node, made: Tensor, value: Value) -> Tensor:
    """What an operator made, in the type of its rule where that is a half.

    Raises ``GraphError`` where its rule says something else.
    """
    said = f"the rule of {node.op} says {value}"
    if not isinstance(cast("object", made), Tensor):
        raise GraphError(
            f"{node.name}: {node.op} makes no tensor", hint="it returns what make.stage gives"
        )
    shown = Value("", made.shape, made.dtype)
    if tuple(made.shape) != tuple(value.shape) or made.dtype.computed != value.dtype.computed:
        raise GraphError(f"{node.name}: {node.op} makes {shown}, and {said}",
                         hint="give it a rule: operator(..., result=...)")  # fmt: skip
    if made.dtype == value.dtype:
        return made
    return maker.stage(made.shape, lambda *i: made[i] if i else made[()])


def _input(name: str, value: Value) -> Tensor:
    extents = [extent_of(e) for e in value.shape] or [1]
    return Tensor(po.input(name, value.dtype.name, extents), value.shape, value.dtype)


class _Names:
    """Names of arrays: the first of a kind plain, the next numbered."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def fresh(self, base: str) -> str:
        """``conv``, ``conv2``, ``conv3``, ..."""
        self.counts[base] = self.counts.get(base, 0) + 1
        count = self.counts[base]
        return base if count == 1 else self.fresh(f"{base}{count}")
