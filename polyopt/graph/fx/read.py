"""Reading PyTorch: what ``torch.export`` makes of a module, as a graph."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.arguments import checks_arguments
from polyopt.errors import GraphError, MissingExtraError, UnsupportedError
from polyopt.extras import install_command
from polyopt.graph.fx.call import CONVERTERS, Arguments, Call, Ref, part_of
from polyopt.graph.fx.functional import forms_of, mutations, need_pure, text_of
from polyopt.graph.fx.halves import Mark, has_halves, in_single, rounds_once
from polyopt.graph.importer import Importer
from polyopt.graph.ir.graph import Graph, Value, array_dtype, value_of
from polyopt.graph.ir.open import left_open
from polyopt.graph.ir.verify import verify
from polyopt.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.graph.fx.functional import Mutation
    from polyopt.graph.ir.graph import Array
    from polyopt.ir.types import ScalarType


@checks_arguments
def from_torch(module: object, arguments: Sequence[object], *, open_batch: str = "") -> Graph:
    """The graph of a module in inference, for arguments of these shapes and types.

    ``module`` is an ``nn.Module``, or an ``ExportedProgram``, which needs no arguments. Weights
    are copied: they are those of now. ``open_batch="batch"`` leaves the first dimension of all
    arguments open, under that name: the network takes any number there, and is to be fast for that
    of the arguments.

    Raises ``MissingExtraError`` without PyTorch, ``GraphError`` where it cannot export the module,
    ``UnsupportedError`` for operators and types that are not taken, for modules that change their
    inputs or buffers, for open dimensions of an ``ExportedProgram``, and for what depends otherwise
    on a dimension that is to stay open.
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
    return exported_graph(export(torch, module, arguments))


def export(torch: Any, module: Any, arguments: Sequence[object]) -> Any:  # noqa: ANN401
    """A module in inference as an ``ExportedProgram``. Raises ``GraphError``."""
    parts = list(module.modules())
    modes = [part.training for part in parts]
    try:
        with warnings.catch_warnings():
            # PyTorch's own recurrent layers do so
            warnings.filterwarnings("ignore", r".*\n?.*were assigned during export")
            return torch.export.export(module.eval(), tuple(arguments))
    except Exception as error:  # noqa: BLE001  (whatever tracing other people's code raises)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        name = type(module).__name__
        raise GraphError(f"torch.export does not take {name}", notes=[reason]) from None
    finally:
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode


def load_torch() -> Any:  # noqa: ANN401
    """PyTorch. Raises ``MissingExtraError``."""
    try:
        return import_module("torch")
    except ImportError:
        hint = "pip install torch"
        raise MissingExtraError("reading modules needs PyTorch", hint=hint) from None


def torch_operators() -> tuple[str, ...]:
    """The ATen operators that are taken, sorted."""
    from polyopt.graph.fx import (
        arithmetic,
        attention,
        elements,
        indexing,
        layers,
        recurrent,
        scatters,
    )

    _ = arithmetic, attention, elements, indexing, layers, recurrent, scatters  # they register
    return tuple(sorted(CONVERTERS))


@dataclass(frozen=True, eq=False)
class Reading:
    """A program as a graph; its first outputs are new values of what the program changes."""

    graph: Graph
    mutations: tuple[Mutation, ...]


def exported_graph(program: Any) -> Graph:  # noqa: ANN401
    """The graph of an ``ExportedProgram``.

    Raises ``UnsupportedError`` for operators that are not taken, and for programs that change
    inputs or buffers.
    """
    reading = read_program(program)
    need_pure(program, reading.mutations)
    return reading.graph


def read_program(program: Any, frozen: Mapping[str, object] | None = None) -> Reading:  # noqa: ANN401
    """An ``ExportedProgram``, without its operations in place.

    ``frozen`` gives inputs that are constants where the program does not change them. Where an
    operator is not taken, what it decomposes into is tried. Raises ``UnsupportedError``.
    """
    refused: list[UnsupportedError] = []
    for form in forms_of(program, torch_operators()):
        try:
            return _read(form, frozen or {})
        except UnsupportedError as error:
            refused.append(error)
    raise refused[1]  # of operators that are not taken there is what they are made of


def _read(program: Any, frozen: Mapping[str, object]) -> Reading:  # noqa: ANN401
    changed = mutations(program)
    arrays = constants_of(program, changed, frozen)
    return Reading(read_nodes(list(program.graph.nodes), arrays), changed)


def constants_of(
    program: Any,  # noqa: ANN401
    changed: Sequence[Mutation],
    frozen: Mapping[str, object],
) -> dict[str, object]:
    """The tensors of a program's inputs that are constants: weights, and what is frozen and not
    changed, by the names of placeholders."""
    written = {one.placeholder for one in changed}
    return {**_weights(program), **{n: a for n, a in frozen.items() if n not in written}}


def read_nodes(nodes: Sequence[Any], arrays: Mapping[str, object]) -> Graph:
    """The graph of functional nodes; ``arrays`` are the tensors of placeholders that are constants.

    Raises ``UnsupportedError`` for operators that are not taken, all at once, and for forms of them
    that are not.
    """
    source = text_of(nodes)
    _need_known(nodes, source)
    importer = Importer()
    inputs: list[Value] = []
    outputs: tuple[str, ...] = ()
    for number, node in enumerate(nodes, 1):
        span = Span(source, number, 1, len(source.line(number)))
        if node.op == "placeholder":
            _placeholder(importer, node, arrays, inputs, span)
        elif node.op == "output":
            outputs = _outputs(importer, node.args[0], span)
        elif node.users:  # else it is an assertion, or dead
            _call(importer, node, span)
    used = {n for node in importer.nodes for n in node.inputs} | set(outputs)
    constants = {n: a for n, a in importer.known.items() if n in used}
    return verify(Graph("module", tuple(inputs), constants, tuple(importer.nodes), outputs))


def try_node(node: Any) -> None:  # noqa: ANN401
    """Convert a node alone, and what takes its result apart. Raises ``UnsupportedError``."""
    importer = Importer()
    span = Span(text_of([node]), 1)
    for given in node.all_input_nodes:
        value = given.meta.get("val")
        if hasattr(value, "dtype"):
            importer.values[given.name] = tensor_value(given.name, value, f"{given.name!r}", span)
    if op_name(node) == "getitem":
        tensor_value(node.name, node.meta.get("val"), f"{node.name!r}", span)
        return
    for one in (node, *(user for user in node.users if op_name(user) == "getitem")):
        _call(importer, one, span)


def op_name(node: Any) -> str:  # noqa: ANN401
    """``add`` of ``aten.add.Tensor``."""
    schema = getattr(node.target, "_schema", None)
    name = getattr(node.target, "__name__", str(node.target))
    if schema is None:
        return name
    library, _, short = str(schema.name).rpartition("::")
    return short if library == "aten" else str(schema.name)  # prims have other arguments


def _need_known(nodes: Sequence[Any], source: Source) -> None:
    """Raises ``UnsupportedError`` with all operators that are not taken, and the first place of
    each."""
    known = torch_operators()
    missing: dict[str, list[int]] = {}
    for number, node in enumerate(nodes, 1):
        if node.op == "call_function" and node.users and op_name(node) not in known:
            missing.setdefault(str(node.target), []).append(number)
    if not missing:
        return
    first = next(iter(missing.values()))[0]
    what = f"the operator {next(iter(missing))} is not taken"
    if len(missing) > 1:
        listed = ", ".join(f"{op} ({len(places)})" for op, places in missing.items())
        what = f"{len(missing)} operators are not taken: {listed}"
    notes = [f"{op} first in line {places[0]}: {source.line(places[0]).strip()}"
             for op, places in missing.items()] if len(missing) > 1 else []  # fmt: skip
    raise UnsupportedError(what, span=Span(source, first, 1, len(source.line(first))), notes=notes,
                           hint="taken are: " + ", ".join(known))  # fmt: skip


def _outputs(importer: Importer, given: Any, span: Span) -> tuple[str, ...]:  # noqa: ANN401
    """The tensors of several results, or of one."""
    resolved = _resolved(importer, given)
    found = cast("list[Any]", resolved) if isinstance(resolved, list) else [resolved]
    other = next((part for part in found if not isinstance(part, Ref)), None)
    if other is not None or not found:
        said = f"an output is {other!r}, which is no tensor" if found else "there is no output"
        raise UnsupportedError(said, span=span)
    return tuple(part.name for part in found)


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
            array = as_array(arrays[node.name], node.name, span)
            importer.constant(node.name, array.copy(), span)  # the module's may change
        return
    value = tensor_value(node.name, node.meta.get("val"), f"the input {node.name!r}", span)
    importer.values[node.name] = value
    inputs.append(value)


def tensor_value(name: str, given: Any, what: str, span: Span) -> Value:  # noqa: ANN401
    """Shape and type of a tensor of PyTorch's.

    Raises ``UnsupportedError`` for one of no known shape, and for types that C has not.
    """
    shape = getattr(given, "shape", None)
    if shape is None or not all(isinstance(n, int) for n in shape):
        raise UnsupportedError(f"{what} is no tensor of a known shape", span=span)
    return Value(name, tuple(shape), _type_of(given, what, span))


def _type_of(given: Any, what: str, span: Span) -> ScalarType:  # noqa: ANN401
    """The type of a tensor's elements. Raises ``UnsupportedError``."""
    try:
        return value_of("", as_array(load_torch().empty(0, dtype=given.dtype))).dtype
    except (KeyError, UnsupportedError):
        raise UnsupportedError(f"{what} is of type {given.dtype}", span=span,
                               hint="floats of 16 to 64 bits are taken, and integers: convert by"
                               " .float()") from None  # fmt: skip


def as_array(tensor: Any, name: str = "", span: Span | None = None) -> Array:  # noqa: ANN401
    """A tensor's elements as a NumPy array, contiguous; of bfloat16, of the type of ``ml_dtypes``.

    Raises ``UnsupportedError`` for types that NumPy has not, ``MissingExtraError`` without
    ``ml_dtypes`` for bfloat16.
    """
    torch, plain = load_torch(), tensor.detach().cpu().contiguous()
    if plain.dtype == torch.bfloat16:
        return plain.view(torch.uint16).numpy().view(_bfloat16())
    try:
        return plain.numpy()
    except TypeError:
        raise UnsupportedError(f"{name!r} is of type {tensor.dtype}", span=span,
                               hint="convert the module by .float()") from None  # fmt: skip


def as_tensor(array: Array) -> Any:  # noqa: ANN401
    """An array as a tensor on the same memory."""
    torch = load_torch()
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _bfloat16() -> np.dtype[Any]:
    """NumPy's type of bfloat16. Raises ``MissingExtraError``."""
    try:
        return np.dtype(import_module("ml_dtypes").bfloat16)
    except ImportError:
        hint = install_command("nn")
        raise MissingExtraError("arrays of bfloat16 need ml_dtypes", hint=hint) from None


def _resolved(importer: Importer, given: object) -> Any:  # noqa: ANN401
    """An argument with nodes replaced by references."""
    if isinstance(given, list | tuple):
        return [_resolved(importer, part) for part in given]  # type: ignore[misc]
    if type(given).__name__ == "Node":
        return Ref(importer.resolve(given.name))  # type: ignore[attr-defined]
    return given


def _call(importer: Importer, node: Any, span: Span) -> None:  # noqa: ANN401
    op, arguments = _arguments(importer, node)
    known = torch_operators()
    if op not in known:
        raise UnsupportedError(f"the operator {node.target} is not taken", span=span,
                               hint="taken are: " + ", ".join(known))  # fmt: skip
    given = node.meta.get("val")
    first = given if hasattr(given, "dtype") or not given else given[0]
    result = tensor_value(node.name, first, f"the result of {op} {node.name!r}", span)
    if hasattr(given, "dtype") and not result.size:  # nothing has to be computed of nothing
        importer.constant(node.name, np.empty(result.shape, array_dtype(result.dtype)), span)
        return
    call, mark = Call(importer, op, node.name, arguments, span, result), Mark.of(importer)
    CONVERTERS[op](call)
    call.check()
    if has_halves(call) and not rounds_once(importer, mark):
        mark.take_back(importer)
        kinds = (
            [result.dtype]
            if hasattr(given, "dtype")
            else [_type_of(part, f"a result of {op} {node.name!r}", span) for part in given]
        )
        in_single(call, CONVERTERS[op], kinds)


def _arguments(importer: Importer, node: Any) -> tuple[str, Arguments]:  # noqa: ANN401
    """The operator's name and its arguments, by the names in its schema."""
    schema, op = getattr(node.target, "_schema", None), op_name(node)
    given = [_resolved(importer, a) for a in node.args]
    if schema is None:
        part = part_of(node.args[0].name, node.args[1])
        if part in importer.aliases:
            given = [Ref(importer.aliases[part]), 0]
        return op, Arguments(dict(zip(["self", "index"], given, strict=False)), {})
    named = {k: _resolved(importer, v) for k, v in node.kwargs.items()}
    defaults = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    values = {
        a.name: given[k] if k < len(given) else named.get(a.name, defaults.get(a.name))
        for k, a in enumerate(schema.arguments)
    }
    return op, Arguments(values, defaults)
