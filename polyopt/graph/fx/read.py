"""Reading PyTorch: what ``torch.export`` makes of a module, as a graph."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polyopt.errors import GraphError, MissingExtraError, UnsupportedError
from polyopt.graph.fx.call import CONVERTERS, Call, Ref
from polyopt.graph.importer import Importer
from polyopt.graph.ir import Graph, Value, value_of
from polyopt.graph.open import left_open
from polyopt.graph.verify import verify
from polyopt.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.graph.ir import Array


def from_torch(module: object, arguments: Sequence[object], *, open_batch: str = "") -> Graph:
    """The graph of a module in inference, for arguments of these shapes and types.

    ``module`` is an ``nn.Module``, or an ``ExportedProgram``, which needs no arguments. Weights
    are copied: they are those of now. ``open_batch="batch"`` leaves the first dimension of all
    arguments open, under that name: the network takes any number there, and is to be fast for that
    of the arguments.

    Raises ``MissingExtraError`` without PyTorch, ``GraphError`` where it cannot export the module,
    ``UnsupportedError`` for operators and types that are not taken, for open dimensions of an
    ``ExportedProgram``, and for what depends otherwise on a dimension that is to stay open.
    """
    torch = load_torch()
    if open_batch:
        return _with_open_batch(module, arguments, open_batch)
    if isinstance(module, torch.export.ExportedProgram):
        return exported_graph(module)
    return _exported(torch, module, arguments)


def _with_open_batch(module: Any, arguments: Sequence[Any], name: str) -> Graph:  # noqa: ANN401
    """The module for any first dimension: exported for several, which have to agree."""
    torch = load_torch()
    if isinstance(module, torch.export.ExportedProgram):
        raise UnsupportedError("an exported program has its number of images already",
                               hint="give the module, or leave open_batch out")  # fmt: skip
    firsts = {tuple(getattr(a, "shape", ()))[:1] for a in arguments}
    first = firsts.pop() if len(firsts) == 1 else ()
    if not first:
        raise GraphError("open_batch needs tensors with one first dimension")

    def read(numbers: Mapping[str, int]) -> Graph:
        given = [a[:1].expand(numbers[name], *a.shape[1:]) for a in arguments]
        return _exported(torch, module, given)

    return left_open(read, {name: int(first[0])})


def _exported(torch: Any, module: Any, arguments: Sequence[object]) -> Graph:  # noqa: ANN401
    try:
        program = torch.export.export(module.eval(), tuple(arguments))
    except Exception as error:  # noqa: BLE001  (whatever tracing other people's code raises)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        name = type(module).__name__
        raise GraphError(f"torch.export does not take {name}", notes=[reason]) from None
    return exported_graph(program)


def load_torch() -> Any:  # noqa: ANN401
    """PyTorch. Raises ``MissingExtraError``."""
    try:
        return import_module("torch")
    except ImportError:
        hint = "pip install torch"
        raise MissingExtraError("reading modules needs PyTorch", hint=hint) from None


def torch_operators() -> tuple[str, ...]:
    """The ATen operators that are taken, sorted."""
    from polyopt.graph.fx import elements, layers

    _ = elements, layers  # they register
    return tuple(sorted(CONVERTERS))


def exported_graph(program: Any, *, frozen: Mapping[str, object] | None = None) -> Graph:  # noqa: ANN401
    """The graph of an ``ExportedProgram``.

    ``frozen`` gives inputs that are to be constants. Where an operator is not taken, what it
    decomposes into is tried. Raises ``UnsupportedError``.
    """
    try:
        return _read(program, frozen or {})
    except UnsupportedError as error:
        try:
            return _read(program.run_decompositions(), frozen or {})
        except UnsupportedError:
            raise error from None


def _read(program: Any, frozen: Mapping[str, object]) -> Graph:  # noqa: ANN401
    nodes = list(program.graph.nodes)
    source = Source("torch", "\n".join(str(node.format_node() or "output") for node in nodes))
    importer = Importer()
    inputs: list[Value] = []
    outputs: tuple[str, ...] = ()
    arrays = {**_weights(program), **frozen}
    for number, node in enumerate(nodes, 1):
        span = Span(source, number, 1, len(source.line(number)))
        if node.op == "placeholder":
            _placeholder(importer, node, arrays, inputs, span)
        elif node.op == "output":
            outputs = tuple(_resolved(importer, a).name for a in node.args[0])
        else:
            _call(importer, node, span)
    used = {n for node in importer.nodes for n in node.inputs} | set(outputs)
    constants = {n: a for n, a in importer.known.items() if n in used}
    return verify(Graph("module", tuple(inputs), constants, tuple(importer.nodes), outputs))


def _weights(program: Any) -> dict[str, object]:  # noqa: ANN401
    """Parameters, buffers and constants by the names of their placeholders."""
    signature = program.graph_signature
    stored = {**program.state_dict, **program.constants}
    named = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
             **signature.inputs_to_lifted_tensor_constants}  # fmt: skip
    return {placeholder: stored[name] for placeholder, name in named.items()}


def _placeholder(
    importer: Importer,
    node: Any,  # noqa: ANN401
    arrays: Mapping[str, object],
    inputs: list[Value],
    span: Span,
) -> None:
    if node.name in arrays:
        if node.users:
            importer.constant(node.name, as_array(arrays[node.name]), span)
        return
    given = node.meta.get("val")
    shape = getattr(given, "shape", None)
    if shape is None or not all(isinstance(n, int) for n in shape):
        raise UnsupportedError(f"the input {node.name!r} is no tensor of a known shape", span=span)
    torch = load_torch()
    try:
        value = value_of(node.name, torch.empty(0, dtype=given.dtype).numpy())
    except (KeyError, TypeError):
        raise UnsupportedError(f"the input {node.name!r} is of type {given.dtype}",
                               span=span) from None  # fmt: skip
    value = Value(node.name, tuple(shape), value.dtype)
    importer.values[node.name] = value
    inputs.append(value)


def as_array(tensor: Any) -> Array:  # noqa: ANN401
    """A tensor's elements as a NumPy array, contiguous."""
    return tensor.detach().cpu().contiguous().numpy()


def _resolved(importer: Importer, given: object) -> Any:  # noqa: ANN401
    """An argument with nodes replaced by references."""
    if isinstance(given, list | tuple):
        return [_resolved(importer, part) for part in given]  # type: ignore[misc]
    if type(given).__name__ == "Node":
        return Ref(importer.resolve(given.name))  # type: ignore[attr-defined]
    return given


def _call(importer: Importer, node: Any, span: Span) -> None:  # noqa: ANN401
    schema = getattr(node.target, "_schema", None)
    given = [_resolved(importer, a) for a in node.args]
    if schema is None:
        op = getattr(node.target, "__name__", str(node.target))
        arguments: dict[str, Any] = dict(zip(["self", "index"], given, strict=False))
    else:
        op = schema.name.rpartition("::")[2]
        named = {k: _resolved(importer, v) for k, v in node.kwargs.items()}
        arguments = {
            a.name: given[k] if k < len(given) else named.get(a.name, a.default_value)
            for k, a in enumerate(schema.arguments)
        }
    known = torch_operators()
    if op not in known:
        raise UnsupportedError(f"the operator {node.target} is not taken", span=span,
                               hint="taken are: " + ", ".join(known))  # fmt: skip
    CONVERTERS[op](Call(importer, op, node.name, arguments, span))
