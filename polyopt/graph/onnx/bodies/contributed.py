"""Quantised operators of the domain ``com.microsoft``, as ONNX Runtime's quantiser writes them.

Each is what its name says of dequantised operands, quantised again: its nodes of ONNX's own domain
take its place, and passes make sums of products of integers of them as of any others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polyopt.errors import GraphError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.graph.importer import Importer
    from polyopt.source import Span

#: the domain of these operators
DOMAIN = "com.microsoft"
#: the opset of the nodes that take their place; of ``Softmax`` before it worked along an axis
_OPSET, _FLAT_SOFTMAX = 21, 11


@dataclass
class _Body:
    """The nodes in the place of one, with names that are not taken."""

    onnx: Any
    importer: Importer
    node: Any
    span: Span
    title: str
    nodes: list[Any] = field(default_factory=list[Any])
    opset: int = _OPSET

    def get(self, name: str, default: object) -> Any:  # noqa: ANN401
        """An attribute, or its default."""
        given = next((a for a in self.node.attribute if a.name == name), None)
        value = default if given is None else self.onnx.helper.get_attribute_value(given)
        return value.decode(errors="replace") if isinstance(value, bytes) else value

    def rest(self, *without: str) -> dict[str, Any]:
        """All attributes but these."""
        return {a.name: self.onnx.helper.get_attribute_value(a)
                for a in self.node.attribute if a.name not in without}  # fmt: skip

    def input(self, index: int) -> str:
        """An operand's name; "" where it is left out."""
        return self.node.input[index] if index < len(self.node.input) else ""

    def op(self, kind: str, inputs: Sequence[str], result: str = "", /, **options: object) -> str:
        """Add a node; the name of its result."""
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        name = result or self.importer.fresh(f"{self.node.output[0]}_{kind}_{len(self.nodes)}")
        self.nodes.append(self.onnx.helper.make_node(kind, given, [name], **options))
        return name

    def real(self, index: int, axis: int = 1) -> str:
        """An operand as floats: its integers, scale and zero point stand one after the other."""
        given = [self.input(index + k) for k in range(3)]
        options: dict[str, int] = (
            {} if axis == 1 else {"axis": axis}
        )  # the usual; older opsets have no other
        return self.op("DequantizeLinear", given, **options)

    def quantised(self, value: str, index: int) -> None:
        """The result: floats quantised by the scale and zero point at some operands."""
        given = [value, self.input(index), self.input(index + 1)]
        self.op("QuantizeLinear", given, self.node.output[0])


def contributed(
    onnx: Any,  # noqa: ANN401
    importer: Importer,
    node: Any,  # noqa: ANN401
    span: Span,
    title: str,
) -> tuple[Any, int]:
    """A model of the nodes that take a node's place, and their opset.

    Raises ``GraphError`` for operands that are missing, ``UnsupportedError`` for an order of
    dimensions that is not ONNX's own.
    """
    made, least = CONTRIBUTED[node.op_type]
    if sum(bool(name) for name in node.input[:least]) < least or not node.output:
        raise GraphError(f"{title} needs {least} operands, it has {len(node.input)}", span=span)
    body = _Body(onnx, importer, node, span, title)
    made(body)
    graph = onnx.helper.make_graph(body.nodes, node.op_type, [], [])
    opset = onnx.helper.make_opsetid("", body.opset)
    return onnx.helper.make_model(graph, opset_imports=[opset]), body.opset


def _elements(kind: str) -> Callable[[_Body], None]:
    """An operator on one operand, with its attributes: ``x, scale, zero, scale, zero``."""

    def made(body: _Body) -> None:
        body.quantised(body.op(kind, [body.real(0)], **body.rest()), 3)

    return made


def _of_two(kind: str) -> Callable[[_Body], None]:
    """An operator on two operands."""

    def made(body: _Body) -> None:
        body.quantised(body.op(kind, [body.real(0), body.real(3)]), 6)

    return made


def _pool(kind: str) -> Callable[[_Body], None]:
    def made(body: _Body) -> None:
        if body.get("channels_last", 0):
            raise UnsupportedError(f"{body.title}: channels in the last dimension are not taken",
                                   span=body.span, hint="channels_last=0")  # fmt: skip
        body.quantised(body.op(kind, [body.real(0)], **body.rest("channels_last")), 3)

    return made


def _softmax(body: _Body) -> None:
    """Along an axis, or along all from one on, as the opset that it names had it."""
    body.opset = _OPSET if int(body.get("opset", _OPSET)) > _FLAT_SOFTMAX + 1 else _FLAT_SOFTMAX
    options = body.rest("opset")
    if body.opset == _FLAT_SOFTMAX:
        options.setdefault("axis", 1)
    body.quantised(body.op("Softmax", [body.real(0)], **options), 3)


def _where(body: _Body) -> None:
    body.quantised(body.op("Where", [body.input(0), body.real(1), body.real(4)]), 7)


def _concat(body: _Body) -> None:
    """Scale and zero point of the result come first, then three for each operand."""
    operands = [body.real(index) for index in range(2, len(body.node.input), 3)]
    body.quantised(body.op("Concat", operands, axis=int(body.get("axis", 0))), 0)


def _gemm(body: _Body) -> None:
    """The bias is of integers with the scale of sums; without a scale the result is of floats."""
    flags = {"transA": int(body.get("transA", 0)), "transB": int(body.get("transB", 0))}
    alpha = float(body.get("alpha", 1.0))
    right = body.real(3, axis=0 if flags["transB"] else 1)
    inputs = [body.real(0), right]
    if body.input(6):
        scale = body.op("Mul", [body.input(1), body.input(4)])
        if alpha != 1.0:
            factor = body.op("Constant", [], value_float=alpha)
            scale = body.op("Mul", [scale, factor])
        inputs.append(body.op("DequantizeLinear", [body.input(6), scale], axis=0))
    real = not body.input(7)
    result = body.node.output[0] if real else ""
    found = body.op("Gemm", inputs, result, alpha=alpha, **flags)
    if not real:
        body.quantised(found, 7)


#: operator -> what puts its nodes in, and the operands that it needs
CONTRIBUTED: dict[str, tuple[Callable[[_Body], None], int]] = {
    "QLinearAdd": (_of_two("Add"), 7),
    "QLinearAveragePool": (_pool("AveragePool"), 4),
    "QLinearConcat": (_concat, 5),
    "QLinearGlobalAveragePool": (_pool("GlobalAveragePool"), 4),
    "QLinearLeakyRelu": (_elements("LeakyRelu"), 4),
    "QLinearMul": (_of_two("Mul"), 7),
    "QLinearSigmoid": (_elements("Sigmoid"), 4),
    "QLinearSoftmax": (_softmax, 4),
    "QLinearWhere": (_where, 8),
    "QGemm": (_gemm, 6),
}
