"""Reading ONNX: files into graphs, with the node named where something is wrong.

Whatever can be computed from constants and shapes alone, as exporters write reshapes and bounds,
is computed here by ONNX's own reference evaluator.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.arguments import checks_arguments
from polyopt.errors import GraphError, MissingExtraError, UnsupportedError, UserError
from polyopt.extras import install_command
from polyopt.graph.importer import Importer
from polyopt.graph.ir.graph import Graph, Value
from polyopt.graph.ir.open import left_open
from polyopt.graph.ir.verify import verify
from polyopt.graph.onnx.bodies.contributed import CONTRIBUTED, DOMAIN, contributed
from polyopt.graph.onnx.bodies.control import CONTROL
from polyopt.graph.onnx.bodies.functions import EXPANDED, expanded, is_expanded
from polyopt.graph.onnx.context import CONVERTERS, OnnxNode
from polyopt.graph.onnx.ends import check_output, open_sizes_of, read_inputs
from polyopt.graph.onnx.folding import fold
from polyopt.graph.onnx.lengths import need_known_size, need_lengths
from polyopt.graph.onnx.missing import not_taken
from polyopt.graph.onnx.narrow import need_no_narrow, need_readers, pass_on
from polyopt.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


#: operators of which a version is taken that ONNX's checker refuses as deprecated
_DEPRECATED = frozenset({"GroupNormalization"})
#: the first opset whose operators are taken
OLDEST_OPSET = 7


@checks_arguments
def load_onnx(
    model: object,
    *,
    sizes: Mapping[str, int] | None = None,
    usual: Mapping[str, int] | None = None,
) -> Graph:
    """The graph of an ONNX model: a path, the bytes of a file, or an ``onnx.ModelProto``.

    ``sizes`` gives the dimensions that the model leaves open, by their names in it:
    ``{"batch": 1}``; one without a name is ``"input.axis"``. First dimensions of inputs need not
    be given: they stay open, and the network takes any number there. ``usual`` are those to be
    fast for, 1 unless given; another dimension that it names, such as the batch of a recurrent
    network, stays open, too.

    Raises ``MissingExtraError`` without ``onnx``; ``GraphError`` for what is no ONNX model, is
    damaged or not well-formed; ``UnsupportedError`` for operators, opsets, types and open
    dimensions that are not taken.
    """
    onnx = _onnx()
    name, proto = _proto(onnx, model)
    _check_names(proto, name)
    opset = _opset(onnx, proto, name)
    if proto.functions:
        proto = _inlined(onnx, proto, name)
        _check_names(proto, name)
    given = dict(sizes or {})
    free = open_sizes_of(proto, given, usual or {}, name)
    if not free:
        return _read(onnx, proto, given, opset, name)
    return left_open(lambda numbers: _read(onnx, proto, {**given, **numbers}, opset, name), free)


def _read(onnx: Any, proto: Any, sizes: Mapping[str, int], opset: int, name: str) -> Graph:  # noqa: ANN401
    """The graph for these numbers of open dimensions."""
    source = Source(name, "\n".join(map(_line, proto.graph.node)))
    importer = Importer(reserved=frozenset(o for n in proto.graph.node for o in n.output))
    inputs = read_inputs(onnx, proto, importer, sizes, name)
    _check_order(proto, set(importer.values), source)
    for number, node in enumerate(proto.graph.node, 1):
        span = Span(source, number, 1, len(source.line(number)))
        _convert(onnx, proto, importer, node, opset, span)
    return _finished(onnx, proto, importer, inputs, name)


@checks_arguments
def onnx_operators() -> tuple[str, ...]:
    """The ONNX operators that are taken, sorted."""
    import polyopt.graph.onnx.converters as _converters  # registers them

    _ = _converters
    return tuple(sorted({*CONVERTERS, *EXPANDED, *CONTROL}))


def _onnx() -> Any:  # noqa: ANN401
    try:
        parts = [
            import_module(f"onnx{name}")
            for name in ("", ".inliner", ".reference", ".shape_inference")
        ]
    except ImportError:
        hint = install_command("nn")
        raise MissingExtraError("reading ONNX needs onnx", hint=hint) from None
    return parts[0]


def _proto(onnx: Any, model: object) -> tuple[str, Any]:  # noqa: ANN401
    """A name for messages, and the model."""
    if isinstance(model, onnx.ModelProto):
        return model.graph.name or "model", model  # type: ignore[union-attr]
    name = str(model) if isinstance(model, (str, Path)) else "model"
    try:
        if isinstance(model, (str, Path)):
            return name, onnx.load(str(model))
        if isinstance(model, bytes):
            return name, onnx.load_from_string(model)
    except FileNotFoundError as error:
        missing = error.filename or name
        raise GraphError(f"there is no file {missing}") from None
    except OSError as error:
        raise GraphError(f"{name} cannot be read: {error.strerror or error}") from None
    except Exception as error:  # noqa: BLE001  (onnx raises what protobuf and its checker happen to raise)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise GraphError(f"{name} is no ONNX model, or a damaged one", notes=[reason]) from None
    raise GraphError(f"a model is a path, bytes or a ModelProto, not a {type(model).__name__}")


def _check_names(proto: Any, name: str) -> None:  # noqa: ANN401
    """Names are text: protobuf gives bytes where they are not. Raises ``GraphError``."""
    domains = [entry.domain for entry in proto.opset_import]
    if not all(isinstance(text, str) for text in (*domains, *_names(proto.graph))):
        raise GraphError(f"{name} is no ONNX model, or a damaged one",
                         notes=["a name in it is not text"])  # fmt: skip


def _names(graph: Any) -> Iterator[object]:  # noqa: ANN401
    """All names in a graph, and in those inside its nodes."""
    for entry in (*graph.input, *graph.output, *graph.value_info):
        yield entry.name
        yield from (dim.dim_param for dim in entry.type.tensor_type.shape.dim)
    yield from (tensor.name for tensor in graph.initializer)
    for node in graph.node:
        yield from (node.op_type, node.name, node.domain, *node.input, *node.output)
        for attribute in node.attribute:
            yield attribute.name
            for inner in (attribute.g, *attribute.graphs):
                yield from _names(inner)


def _opset(onnx: Any, proto: Any, name: str) -> int:  # noqa: ANN401
    newest = onnx.defs.onnx_opset_version()
    found = [entry.version for entry in proto.opset_import if entry.domain in {"", "ai.onnx"}]
    if not found and all(node.domain not in {"", "ai.onnx"} for node in proto.graph.node):
        found = [newest]  # nothing needs one
    if not found or not proto.graph.node:
        raise GraphError(f"{name} is no ONNX model, or a damaged one",
                         notes=["it has no opset" if not found else "it has no nodes"])  # fmt: skip
    if not OLDEST_OPSET <= found[0] <= newest:
        listed = ", ".join(sorted({node.op_type for node in proto.graph.node}))
        raise UnsupportedError(
            f"{name} uses opset {found[0]}; {OLDEST_OPSET} to {newest} are taken",
            notes=[f"its operators: {listed}"],
            hint="onnx.version_converter.convert_version makes another",
        )
    return int(found[0])


def _inlined(onnx: Any, proto: Any, name: str) -> Any:  # noqa: ANN401
    """The model with the bodies of its own functions in place. Raises ``GraphError``."""
    try:
        return onnx.inliner.inline_local_functions(proto)
    except Exception as error:  # noqa: BLE001  (bindings raise what C++ raises: cycles, bad bodies)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise GraphError(f"the functions of {name} cannot be put in place",
                         notes=[reason]) from None  # fmt: skip


def _line(node: Any) -> str:  # noqa: ANN401
    return f"{', '.join(node.output)} = {node.op_type}({', '.join(node.input)})"


def _title(node: Any) -> str:  # noqa: ANN401
    return f"{node.op_type} {node.name!r}" if node.name else node.op_type


def _check_order(proto: Any, known: set[str], source: Source) -> None:  # noqa: ANN401
    """Each node after what it reads, each tensor made once. Raises ``GraphError``."""
    made = [name for node in proto.graph.node for name in node.output if name]
    seen = set(known)
    for number, node in enumerate(proto.graph.node, 1):
        span = Span(source, number, 1, len(source.line(number)))
        for name in node.input:
            if name and name not in seen:
                later = "comes later, or depends on this node" if name in made else "does not exist"
                raise GraphError(f"{_title(node)} reads {name!r}, which {later}", span=span)
        for name in node.output:
            if name and name in seen:
                raise GraphError(f"two tensors are called {name!r}", span=span)
            seen.add(name)
    missing = next((o.name for o in proto.graph.output if o.name not in seen), None)
    if missing is not None:
        raise GraphError(f"the output {missing!r} of {source.name} is made by nothing")


# -- nodes --------------------------------------------------------------------------------------


def _convert(
    onnx: Any,  # noqa: ANN401
    proto: Any,  # noqa: ANN401
    importer: Importer,
    node: Any,  # noqa: ANN401
    opset: int,
    span: Span,
) -> None:
    for name in node.input:
        _need_tensor(importer, node, name, span)
    need_known_size(importer, node, span)
    need_readers(importer, node, span)
    known = onnx_operators()
    if fold(onnx, importer, node, opset, span, known):
        pass_on(importer, node)
        return
    if is_expanded(node):
        _check_node(onnx, proto, node, span)
        body, version = expanded(onnx, importer, node, _opset_of(proto, node, opset), span)
        for inner in body.graph.node:
            _convert(onnx, body, importer, inner, version, span)
        return
    if node.domain == DOMAIN and node.op_type in CONTRIBUTED:
        body, version = contributed(onnx, importer, node, span, _title(node))
        for inner in body.graph.node:
            _convert(onnx, body, importer, inner, version, span)
        return
    if node.op_type not in known or node.domain not in {"", "ai.onnx"}:
        computed = {n for n in importer.values if importer.resolve(n) in importer.known}
        computed |= {n for n, other in importer.aliases.items() if other in computed}
        raise not_taken(_rest(proto, node, span), known, computed, span, _title(node))
    _check_node(onnx, proto, node, span)
    values = {a.name: _decoded(onnx.helper.get_attribute_value(a)) for a in node.attribute}
    inputs = tuple(importer.resolve(name) for name in node.input)
    made = OnnxNode(importer, node.op_type, opset, inputs, tuple(node.output), values,
                    _title(node), span)  # fmt: skip
    if node.op_type in CONTROL:
        CONTROL[node.op_type](made, lambda n: _convert(onnx, proto, importer, n, opset, span))
        return
    CONVERTERS[node.op_type](made)
    need_lengths(made)
    pass_on(importer, node)


def _opset_of(proto: Any, node: Any, opset: int) -> int:  # noqa: ANN401
    """The opset of a node's domain."""
    versions = [e.version for e in proto.opset_import if e.domain == node.domain and node.domain]
    return versions[0] if versions else opset


def _rest(proto: Any, node: Any, span: Span) -> list[Any]:  # noqa: ANN401
    """A node and those that come after it; of a node inside another one, itself alone."""
    is_own = span.source.line(span.line) == _line(node)
    return list(proto.graph.node)[span.line - 1 :] if is_own else [node]


def _need_tensor(importer: Importer, node: Any, name: str, span: Span) -> None:  # noqa: ANN401
    """Raises ``GraphError`` for a name in a branch that nothing makes."""
    if name and importer.resolve(name) not in importer.values:
        raise GraphError(f"{_title(node)} reads {name!r}, which does not exist", span=span)


def _check_node(onnx: Any, proto: Any, node: Any, span: Span) -> None:  # noqa: ANN401
    """Attributes and counts of operands by ONNX's own schema. Raises ``GraphError``."""
    if node.op_type in _DEPRECATED:
        return
    context = onnx.checker.C.CheckerContext()
    context.ir_version = proto.ir_version
    context.opset_imports = {entry.domain: entry.version for entry in proto.opset_import}
    try:
        onnx.checker.check_node(_without_bodies(onnx, node), context)
    except (onnx.checker.ValidationError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise GraphError(f"{_title(node)} is not what ONNX allows", span=span,
                         notes=[reason]) from None  # fmt: skip


def _without_bodies(onnx: Any, node: Any) -> Any:  # noqa: ANN401
    """A node with empty graphs inside: the checker does not know what bodies may read."""
    if not any(attribute.HasField("g") for attribute in node.attribute):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for attribute in copy.attribute:
        if attribute.HasField("g"):
            attribute.g.CopyFrom(onnx.GraphProto(name=attribute.g.name or "body"))
    return copy


def _decoded(value: object) -> object:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


# -- outputs ------------------------------------------------------------------------------------


def _finished(
    onnx: Any,  # noqa: ANN401
    proto: Any,  # noqa: ANN401
    importer: Importer,
    inputs: tuple[Value, ...],
    name: str,
) -> Graph:
    results = tuple(importer.resolve(entry.name) for entry in proto.graph.output)
    need_no_narrow(importer, results, name)
    lengths = tuple(importer.lengths[n] for n in dict.fromkeys(results) if n in importer.lengths)
    counts = [length.count for length in lengths]
    outputs = (*results, *dict.fromkeys(counts))
    used = {n for node in importer.nodes for n in node.inputs} | set(outputs)
    given = {value.name for value in inputs}
    constants = {n: a for n, a in importer.known.items() if n in used and n not in given}
    graph = Graph(Path(name).stem, inputs, constants, tuple(importer.nodes), outputs, lengths)
    try:
        verify(graph)
    except UserError as error:
        raise GraphError(f"{name}: {error.diagnostic.message}",
                         notes=error.diagnostic.notes) from None  # fmt: skip
    for entry, output in zip(proto.graph.output, results, strict=True):
        length = importer.lengths.get(output)
        check_output(proto, entry, graph.values[output], name, length and length.axis)
    _ = onnx
    return graph
