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
    #: the position among the user's inputs of the one whose memory it is, where it is one's
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
    given. Raises ``GraphError`` where PyTorch cannot, and ``UnsupportedError`` where elements that
    lie in one place are written to: PyTorch adds them up then.
    """
    _need_places_of_their_own(program)
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

    Raises ``UnsupportedError`` for a result that is no tensor, or whose memory the program keeps.
    """
    nodes = list(program.graph.nodes)
    sources: dict[int, list[tuple[int | None, int]]] = {}
    # what the program keeps, such as a tensor written in the module, stands among the placeholders
    positions = {str(n): k for k, n in enumerate(program.graph_signature.user_inputs)}
    for node in nodes:
        value: Any = node.meta.get("val") if node.op == "placeholder" else None
        if hasattr(value, "untyped_storage"):
            found = sources.setdefault(storage_of(value), [])
            found.append((positions.get(node.name), int(value.storage_offset())))
    return tuple(_layout(node, sources) for node in nodes[-1].args[0])


def _layout(node: Any, sources: Mapping[int, Sequence[tuple[int | None, int]]]) -> Layout:  # noqa: ANN401
    value: Any = getattr(node, "meta", {}).get("val")
    if not hasattr(value, "untyped_storage"):
        raise UnsupportedError(f"the output {node!r} is no tensor")
    storage = storage_of(value)
    found = sources.get(storage, ())
    if len(found) > 1:
        raise UnsupportedError(f"the output {node!r} is of memory that inputs share")
    source, start = found[0] if found else (None, 0)
    if found and source is None:
        raise UnsupportedError(f"the output {node!r} is of memory that the module keeps")
    return Layout(
        storage,
        int(value.untyped_storage().nbytes()),
        tuple(map(int, value.shape)),
        tuple(map(int, value.stride())),
        int(value.storage_offset()) - start,
        source,
        bool(value.is_contiguous()),
    )


def storage_of(value: Any) -> int:  # noqa: ANN401
    """A number that tensors with the same memory have in common."""
    return int(value.untyped_storage()._cdata)  # noqa: SLF001  (all there is, for fake tensors)


def _mutating_line(nodes: Sequence[Any], placeholder: str) -> int:
    """The line, from 1, of the first operation that writes to a placeholder's memory."""
    wanted = next((n.meta.get("val") for n in nodes if n.name == placeholder), None)
    for number, node in enumerate(nodes, 1):
        if wanted is not None and any(storage_of(v) == storage_of(wanted) for v in _written(node)):
            return number
    return len(nodes)


def _written(node: Any) -> Iterator[Any]:  # noqa: ANN401
    """The tensors that an operation changes."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return
    for k, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        given = node.args[k] if k < len(node.args) else node.kwargs.get(argument.name)
        for one in given if isinstance(given, list | tuple) else [given]:  # type: ignore[misc]
            value: Any = getattr(one, "meta", {}).get("val")  # type: ignore[arg-type]
            if hasattr(value, "untyped_storage"):
                yield value


def _need_places_of_their_own(program: Any) -> None:  # noqa: ANN401
    """Raises ``UnsupportedError`` where memory is written to in which a tensor has elements twice.

    The write may go through another view of it: what PyTorch computes the changed tensor from is
    the whole chain of views. Views that are taken after the write are of what it left.
    """
    folded: set[int] = set()
    nodes = list(program.graph.nodes)
    for number, node in enumerate(nodes, 1):
        value = node.meta.get("val")
        if hasattr(value, "untyped_storage") and _has_elements_twice(value):
            folded.add(storage_of(value))
        if any(storage_of(value) in folded for value in _written(node)):
            source = text_of(nodes)
            raise UnsupportedError(
                "memory is changed in place of which a view has elements several times",
                span=Span(source, number, 1, len(source.line(number))),
                hint="clone what is expanded or unfolded before it is changed",
            )


def _has_elements_twice(value: Any) -> bool:  # noqa: ANN401
    """Whether two elements may lie in one place: an axis is not wider than all that is inside."""
    inside = 0
    pairs = zip(value.stride(), value.shape, strict=True)
    for stride, count in sorted((int(s), n) for s, n in pairs if isinstance(n, int) and n > 1):
        if stride <= inside:
            return True
        inside += stride * (count - 1)
    return False
