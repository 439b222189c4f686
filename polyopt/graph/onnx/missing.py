"""Operators of a model that are not taken, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyopt.errors import UnsupportedError
from polyopt.graph.onnx.bodies.contributed import CONTRIBUTED, DOMAIN
from polyopt.graph.onnx.folding import RANDOM

if TYPE_CHECKING:
    from collections.abc import Collection

    from polyopt.source import Span

#: operators whose results have a size that depends on data
_OF_DATA = frozenset({"Unique"})

#: beginnings of names of operators on other things than tensors of numbers
_OF_KINDS = {
    "sequences": ("ConcatFromSequence", "Sequence", "SplitToSequence"),
    "optionals": ("Optional",),
    "strings": ("RegexFullMatch", "String"),
    "encoded images": ("ImageDecoder",),
}


def not_taken(
    nodes: Any,  # noqa: ANN401
    known: Collection[str],
    constants: Collection[str],
    span: Span,
    title: str,
) -> UnsupportedError:
    """The error for the first of these nodes, which names all other operators not taken as well.

    ``constants`` are names of tensors that are known: what is computed from them alone is
    computed while reading, whatever its operator.
    """
    computed, missing = {"", *constants}, dict[str, list[int]]()
    for number, node in enumerate(nodes, span.line):
        is_folded = number > span.line and all(name in computed for name in node.input)
        if (is_folded and not node.op_type.startswith(RANDOM)) or node.op_type in {"Shape", "Size"}:
            computed.update(node.output)
        elif not _is_taken(node, known):
            missing.setdefault(_name(node), []).append(number)
    if len(missing) <= 1:
        what = f"the operator {title}{_domain(nodes[0])} is not taken{_reason(nodes[0].op_type)}"
        return UnsupportedError(what, span=span, hint="taken are: " + ", ".join(known))
    listed = ", ".join(f"{name} ({len(places)})" for name, places in missing.items())
    notes = [
        f"{name}, first in line {places[0]}: {span.source.line(places[0])}{_reason(name)}"
        for name, places in missing.items()
    ]
    return UnsupportedError(f"{len(missing)} operators are not taken: {listed}", span=span,
                            notes=notes, hint="taken are: " + ", ".join(known))  # fmt: skip


def _is_taken(node: Any, known: Collection[str]) -> bool:  # noqa: ANN401
    """Whether an operator of a node's domain and name comes in."""
    if node.domain == DOMAIN:
        return node.op_type in CONTRIBUTED
    return node.op_type in known and node.domain in {"", "ai.onnx"}


def _name(node: Any) -> str:  # noqa: ANN401
    return f"{node.op_type}{_domain(node)}"


def _domain(node: Any) -> str:  # noqa: ANN401
    return f" of {node.domain}" if node.domain not in {"", "ai.onnx"} else ""


def _reason(name: str) -> str:
    """Why an operator cannot be taken, where that is in what it does."""
    if name in _OF_DATA:
        return ": the size of its result depends on data"
    if name.startswith(RANDOM):
        return ": its results are random"
    kinds = (kind for kind, names in _OF_KINDS.items() if name.startswith(names))
    return "".join(f": it is of {kind}, not of tensors of numbers" for kind in kinds)
