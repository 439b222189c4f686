"""Partitions of a program: what is taken runs compiled, the rest on PyTorch, and both are listed.

The program is functional: no piece changes what another one reads. Whether a node is taken is found
out by converting it alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from polyopt.errors import PolyoptError, UnsupportedError
from polyopt.graph.compiling import compile_model
from polyopt.graph.fx.functional import functional, mutations
from polyopt.graph.fx.read import (
    as_array,
    constants_of,
    load_torch,
    op_name,
    read_nodes,
    try_node,
)
from polyopt.graph.ir.graph import Graph
from polyopt.graph.ir.ranges import index_checks
from polyopt.oneline import some

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.graph.execution.model import Model
    from polyopt.graph.ir.graph import Array

#: operators that move nothing: a piece of these alone is not worth a kernel
_VIEWS = frozenset({
    "alias", "detach", "expand", "getitem", "permute", "select", "slice", "squeeze", "t",
    "transpose", "unsqueeze", "view",
})  # fmt: skip

#: operators whose result hangs on where elements lie, also outside of their operand
_BY_MEMORY = frozenset({"as_strided", "as_strided_scatter"})


@dataclass(frozen=True)
class Piece:
    """Neighbouring operators that run together: compiled, or on PyTorch and why."""

    compiled: bool
    #: what is computed, each operator with how often
    operators: tuple[tuple[str, int], ...]
    #: why it is not compiled; "" where it is
    reason: str = ""

    def __str__(self) -> str:
        """``polyopt  12 operators (conv 4, ...)``."""
        count = some(sum(number for _, number in self.operators), "operator")
        listed = ", ".join(f"{op} {n}" if n > 1 else op for op, n in self.operators)
        why = f": {self.reason}" if self.reason else ""
        return f"{'polyopt' if self.compiled else 'PyTorch'}  {count}{why} ({listed})"


def table(pieces: Sequence[Piece]) -> str:
    """The pieces in their order, a line each."""
    return "\n".join(map(str, pieces))


@dataclass(frozen=True, eq=False)
class Partition:
    """A program in pieces, in the order in which they run. ``str`` is a table of them."""

    pieces: tuple[Piece, ...]
    #: the program with each piece as a module of its own
    module: Any
    #: those that are compiled, by name
    graphs: Mapping[str, Graph]
    #: the functional program that was cut
    program: Any
    #: its inputs that are constants, by name
    stored: Mapping[str, Any]

    def __str__(self) -> str:
        """A line for each piece."""
        return table(self.pieces)


def partition(program: Any, frozen: Mapping[str, object] | None = None) -> Partition:  # noqa: ANN401
    """An ``ExportedProgram`` in pieces: neighbours that are taken together, as many as can be.

    ``frozen`` gives inputs that are constants where the program does not change them. Raises
    ``GraphError`` where PyTorch cannot make a functional program of it.
    """
    passes = import_module("torch.fx.passes.infra.partitioner")
    support = import_module("torch.fx.passes.operator_support")
    form, refusals = _best_form(program)

    def is_taken(_: object, node: Any) -> bool:  # noqa: ANN401
        return node.op == "call_function" and node not in refusals

    partitioner = passes.CapabilityBasedPartitioner(
        form.graph_module, support.create_op_support(is_taken), allows_single_node_partition=True
    )
    worth = [p for p in partitioner.propose_partitions() if any(map(_works, p.nodes))]
    module: Any = partitioner.fuse_partitions(worth)
    parts = {name: part for name, part in module.named_children() if name.startswith("fused_")}
    stored = constants_of(form, mutations(form), frozen or {})
    graphs, refused = dict[str, Graph](), dict[str, str]()
    for name, part in parts.items():
        try:
            graphs[name] = _graph_of(part, stored)
        except PolyoptError as error:
            refused[name] = error.diagnostic.message
    pieces = tuple(_pieces(module, parts, refusals, refused))
    return Partition(pieces, module, graphs, form, stored)


class Pieces:
    """A partition as a function on the tensors of a program's user inputs.

    ``frozen`` gives inputs that are constants where the program does not change them. Raises
    ``UnsupportedError`` where nothing is worth compiling, and what compiling raises.
    """

    def __init__(self, program: Any, frozen: Mapping[str, Any]) -> None:  # noqa: ANN401
        cut = partition(program, frozen)
        if not cut.graphs:
            reasons = [piece.reason for piece in cut.pieces if piece.reason]
            raise UnsupportedError(reasons[0] if reasons else "nothing in it computes")
        self.pieces, self._module = cut.pieces, cut.module
        self.mutations = mutations(cut.program)
        #: tensors of inputs that are constants, by name
        self.stored = cut.stored
        self._names = [str(name) for name in cut.program.graph_signature.user_inputs]
        nodes = cut.program.graph.nodes
        self._inputs = [node.name for node in nodes if node.op == "placeholder"]
        for name, graph in cut.graphs.items():
            compiled = _Compiled(getattr(self._module, name), graph)
            setattr(self._module, name, compiled.as_module())

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        """The program's results, changed values of inputs first."""
        named = {**self.stored, **dict(zip(self._names, given, strict=True))}
        with load_torch().no_grad():
            return list(self._module(*(named[name] for name in self._inputs)))


def _best_form(program: Any) -> tuple[Any, dict[Any, str]]:  # noqa: ANN401
    """The program without operations in place, in the form of which more is taken: with its own
    operators, or with what they decompose into."""
    forms = (functional(program, {}), functional(program, None))
    return min(((form, _refusals(form.graph_module)) for form in forms), key=lambda f: len(f[1]))


def _works(node: Any) -> bool:  # noqa: ANN401
    return op_name(node) not in _VIEWS


def _calls(module: Any) -> Iterator[Any]:  # noqa: ANN401
    return (node for node in module.graph.nodes if node.op == "call_function")


def _refusals(module: Any) -> dict[Any, str]:  # noqa: ANN401
    """The nodes that are not taken, and why. What takes a result apart goes with what makes it."""
    found: dict[Any, str] = {}
    for node in _calls(module):
        if not node.users:  # an assertion
            continue
        if op_name(node) == "getitem" and node.args[0] in found:
            found[node] = found[node.args[0]]
            continue
        try:
            try_node(node)
        except PolyoptError as error:
            found[node] = error.diagnostic.message
    for node in _calls(module):
        if op_name(node) in _BY_MEMORY:
            reason = f"{op_name(node)} reads memory as PyTorch lays it out"
            found |= {other: found.get(other, reason) for other in _before(node)}
    return found


def _before(node: Any) -> set[Any]:  # noqa: ANN401
    """The calls that a node's operands come from."""
    found, waiting = set[Any](), list(node.all_input_nodes)
    while waiting:
        one = waiting.pop()
        if one.op == "call_function" and one not in found:
            found.add(one)
            waiting += one.all_input_nodes
    return found


def _graph_of(part: Any, arrays: Mapping[str, Any]) -> Graph:  # noqa: ANN401
    """A piece as a graph.

    Raises ``UnsupportedError`` where operators that are taken each alone are not together.
    """
    graph = read_nodes(list(part.graph.nodes), arrays)
    index_checks(graph)
    return graph


def _pieces(
    module: Any,  # noqa: ANN401
    parts: Mapping[str, Any],
    refusals: Mapping[Any, str],
    refused: Mapping[str, str],
) -> Iterator[Piece]:
    """The pieces in the order in which they run."""
    eager: list[Any] = []
    for node in module.graph.nodes:
        if node.op == "call_module" and node.target in parts:
            yield from _on_pytorch(eager, refusals)
            eager = []
            why = refused.get(node.target, "")
            yield Piece(not why, _counted(_calls(parts[node.target])), why)
        elif node.op == "call_function" and op_name(node) != "getitem":
            eager.append(node)
    yield from _on_pytorch(eager, refusals)


def _on_pytorch(nodes: Sequence[Any], refusals: Mapping[Any, str]) -> Iterator[Piece]:
    if nodes:
        names = {node.name: why for node, why in refusals.items()}
        reasons = dict.fromkeys(names[n.name] for n in nodes if n.name in names)
        reason = "; ".join(reasons) or "too little to compile"
        yield Piece(False, _counted(iter(nodes)), reason)


def _counted(nodes: Iterator[Any]) -> tuple[tuple[str, int], ...]:
    names = [op for node in nodes if (op := op_name(node)) != "getitem"]
    return tuple(Counter(names).most_common())


class _Compiled:
    """A part of the program on kernels of ours."""

    def __init__(self, part: Any, graph: Graph) -> None:  # noqa: ANN401
        nodes = list(part.graph.nodes)
        self._inputs = [n.name for n in nodes if n.op == "placeholder"]
        self._taken = {value.name for value in graph.inputs}
        self._single = not isinstance(nodes[-1].args[0], tuple | list)
        self._model: Model = compile_model(graph)

    def __call__(self, *given: Any) -> Any:  # noqa: ANN401
        named = dict(zip(self._inputs, given, strict=True))
        arrays: dict[str, Array] = {n: as_array(named[n], n) for n in self._taken}
        results = [load_torch().from_numpy(array) for array in self._model.run(arrays)]
        return results[0] if self._single else tuple(results)

    def as_module(self) -> Any:  # noqa: ANN401
        """It as a module, as graphs of PyTorch call it."""

        def forward(_: object, *given: Any) -> Any:  # noqa: ANN401
            return self(*given)

        return type("Compiled", (load_torch().nn.Module,), {"forward": forward})()
