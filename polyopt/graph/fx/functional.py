"""Functionalization: exported programs without in-place operations, and what they do in place.

PyTorch itself rewrites a program so that each operation makes a new tensor, and views that share
memory with what is changed are computed from the changed one. What a caller sees of it all the
same are inputs and buffers that are changed, and results that share memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from polyopt.errors import GraphError, UnsupportedError
from polyopt.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

#: by the kind of an output, what it is the new value of
_CHANGED = {
    "BUFFER_MUTATION": "buffer", "PARAMETER_MUTATION": "parameter", "USER_INPUT_MUTATION": "input",
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """An input, buffer or parameter that a program changes in place."""

    kind: str
    #: what the module calls it
    target: str
    placeholder: str

    def __str__(self) -> str:
        """``its buffer 'count'``."""
        return f"its {self.kind} {self.target!r}"


@dataclass(frozen=True)
class Layout:
    """Where the elements of a result are in the memory that it shares."""

    #: results with the same memory have the same one
    storage: int
    #: the size of that memory
    storage_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    #: from the start of the memory, or of ``source``
    offset: int
    #: the position of the input whose memory it is, where it is one's
    source: int | None
    is_contiguous: bool


def forms_of(program: Any, taken: Container[str]) -> Iterator[Any]:  # noqa: ANN401
    """Functional forms of an ``ExportedProgram``: with its own operators, with those decomposed
    that are not taken, and with the core operators alone. Raises ``GraphError``."""
    yield functional(program, {})
    usual = import_module("torch.export").default_decompositions()
    rest = {op: rule for op, rule in usual.items() if _name_of(op) not in taken}
    yield functional(program, rest)
    yield functional(program, None)


def _name_of(op: Any) -> str:  # noqa: ANN401
    """``add`` of ``aten.add.Tensor``."""
    return str(op._schema.name).rpartition("::")[2]  # noqa: SLF001  (all there is)


def functional(program: Any, decompositions: Mapping[Any, Any] | None) -> Any:  # noqa: ANN401
    """An ``ExportedProgram`` without operations that change their operands.

    ``decompositions`` are what operators are made of; PyTorch's for the core operators unless
    given. Raises ``GraphError``.
    """
    try:
        if decompositions is None:
            return program.run_decompositions()
        return program.run_decompositions(dict(decompositions))
    except Exception as error:  # noqa: BLE001  (whatever other people's operators raise)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise GraphError("PyTorch cannot functionalize the module", notes=[reason]) from None


def mutations(program: Any) -> tuple[Mutation, ...]:  # noqa: ANN401
    """What a functional program gives new values, which are its first outputs.

    Raises ``UnsupportedError`` for outputs of other kinds, as of training.
    """
    signature = program.graph_signature
    stored = {**signature.inputs_to_buffers, **signature.inputs_to_parameters}
    placeholders = {target: name for name, target in stored.items()}
    found: list[Mutation] = []
    for spec in signature.output_specs:
        kind = spec.kind.name
        if kind in _CHANGED:
            target = str(spec.target)
            name = placeholders.get(target, target) if kind != "USER_INPUT_MUTATION" else target
            found.append(Mutation(_CHANGED[kind], target, name))
        elif kind != "USER_OUTPUT":
            raise UnsupportedError(f"an output of kind {kind.lower()} is not taken")
    return tuple(found)


def need_pure(program: Any, changed: Sequence[Mutation]) -> None:  # noqa: ANN401
    """Raises ``UnsupportedError`` for a program that changes something, with the place."""
    if not changed:
        return
    nodes = list(program.graph.nodes)
    source = text_of(nodes)
    number = _mutating_line(nodes, changed[0].placeholder)
    listed = " and ".join(map(str, changed))
    raise UnsupportedError(
        f"the module changes {listed} in place, and a graph only computes",
        span=Span(source, number, 1, len(source.line(number))),
        hint="return the new values in place of storing them, or run it by"
        " torch.compile(module, backend='polyopt'), which writes them back",
    )


def text_of(nodes: Sequence[Any]) -> Source:
    """A program's nodes as text, a line each."""
    return Source("torch", "\n".join(str(node.format_node() or "output") for node in nodes))


def layouts(program: Any) -> tuple[Layout, ...]:  # noqa: ANN401
    """How results lie in memory when PyTorch runs a program that is not functional yet.

    Raises ``UnsupportedError`` for a result that is no tensor.
    """
    nodes = list(program.graph.nodes)
    sources: dict[int, list[tuple[int, int]]] = {}
    given = [node.meta.get("val") for node in nodes if node.op == "placeholder"]
    for position, value in enumerate(given):
        if hasattr(value, "untyped_storage"):
            found = sources.setdefault(_storage(value), [])
            found.append((position, int(value.storage_offset())))
    return tuple(_layout(node, sources) for node in nodes[-1].args[0])


def _layout(node: Any, sources: Mapping[int, Sequence[tuple[int, int]]]) -> Layout:  # noqa: ANN401
    value: Any = getattr(node, "meta", {}).get("val")
    if not hasattr(value, "untyped_storage"):
        raise UnsupportedError(f"the output {node!r} is no tensor")
    storage = _storage(value)
    found = sources.get(storage, ())
    if len(found) > 1:
        raise UnsupportedError(f"the output {node!r} is of memory that inputs share")
    source, start = found[0] if found else (None, 0)
    return Layout(
        storage,
        int(value.untyped_storage().nbytes()),
        tuple(map(int, value.shape)),
        tuple(map(int, value.stride())),
        int(value.storage_offset()) - start,
        source,
        bool(value.is_contiguous()),
    )


def _storage(value: Any) -> int:  # noqa: ANN401
    """A number that tensors with the same memory have in common."""
    return int(value.untyped_storage()._cdata)  # noqa: SLF001  (all there is, for fake tensors)


def _mutating_line(nodes: Sequence[Any], placeholder: str) -> int:
    """The line, from 1, of the first operation that writes to a placeholder's memory."""
    values = {node.name: node.meta.get("val") for node in nodes}
    wanted = values.get(placeholder)
    for number, node in enumerate(nodes, 1):
        schema = getattr(node.target, "_schema", None)
        if wanted is None or schema is None or not schema.is_mutable:
            continue
        pairs = zip(schema.arguments, node.args, strict=False)
        written = [one for a, one in pairs if a.alias_info is not None and a.alias_info.is_write]
        found = [values.get(getattr(one, "name", "")) for one in written]
        if any(hasattr(v, "untyped_storage") and _storage(v) == _storage(wanted) for v in found):
            return number
    return len(nodes)
