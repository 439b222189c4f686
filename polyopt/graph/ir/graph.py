"""Networks as values: an immutable graph of nodes, each an operator applied to named tensors.

A node makes one tensor and shares its name with it, so a graph is in single-assignment form.
Shapes and types are never stored with nodes: they are inferred from inputs and constants when
first asked for, and cannot go stale.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.arguments import checks_arguments, checks_methods
from polyopt.frontend.loops.annotations import as_scalar
from polyopt.graph.ir.open import at, open_sizes
from polyopt.ir.types import ELEMENTS, ScalarType
from polyopt.oneline import one_line, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from polyopt.graph.ir.open import Open

    #: a dtype is checked where a tensor is made
    Array = np.ndarray[Any, np.dtype[Any]]

#: what a node's attribute can be
Attribute = bool | int | float | str | tuple[int, ...] | tuple[float, ...]

_BY_NUMPY = {t.numpy_name: t for t in ELEMENTS.values()}


@dataclass(frozen=True)
class Value:
    """A tensor: its name, shape and element type. ``str`` gives ``f32[1, 64, 56, 56]``.

    The type is given as ``po.f32``, ``"f32"`` or a NumPy dtype. Raises ``InvalidOptionError`` for
    anything else.
    """

    name: str
    shape: tuple[int, ...]
    dtype: ScalarType

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.dtype), ScalarType):
            object.__setattr__(self, "dtype", as_scalar(self.dtype).type)

    @property
    def size(self) -> int:
        """The number of elements."""
        result = 1
        for extent in self.shape:
            result *= extent
        return result

    @property
    def bytes(self) -> int:
        """Size in memory, in bytes."""
        return self.size * self.dtype.bytes

    def __str__(self) -> str:
        """Type and shape."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def array_dtype(kind: ScalarType) -> np.dtype[Any]:
    """The dtype of a tensor's arrays: that of ``ml_dtypes`` for bfloat16 where it is loaded, as
    reading ONNX loads it, else its bits."""
    try:
        return np.dtype(kind.numpy_name)
    except TypeError:
        return kind.dtype


def value_of(name: str, array: Array) -> Value:
    """The type of an array. Raises ``KeyError`` for a dtype that is no machine scalar."""
    return Value(name, array.shape, _BY_NUMPY[array.dtype.name])


@dataclass(frozen=True)
class Node:
    """``name = op(inputs) {attributes}``; an input ``""`` is an optional one left out."""

    name: str
    op: str
    inputs: tuple[str, ...]
    attributes: tuple[tuple[str, Attribute], ...] = ()
    #: what it was called where it came from, such as an ONNX node's own name
    origin: str = field(default="", compare=False)
    #: nodes that a pass puts together into one kernel have the same one: ``pass(last node)``
    region: str = ""

    def __getitem__(self, attribute: str) -> Attribute:
        """An attribute by name. Raises ``KeyError``."""
        return dict(self.attributes)[attribute]

    @property
    def operands(self) -> tuple[str, ...]:
        """The inputs that are there."""
        return tuple(name for name in self.inputs if name)

    def with_attributes(self, **changes: Attribute) -> Node:
        """The node with some attributes changed or added."""
        return replace(self, attributes=attributes(**{**dict(self.attributes), **changes}))

    def __str__(self) -> str:
        """``y = conv(x, w) {strides=(2, 2)}``, with ``in`` its region where it has one."""
        shown = ", ".join(f"{k}={v!r}" for k, v in self.attributes)
        listed = ", ".join(name or "-" for name in self.inputs)
        text = f"{self.name} = {self.op}({listed})" + (f" {{{shown}}}" if shown else "")
        return f"{text} in {self.region}" if self.region else text


@checks_arguments
def attributes(**values: Attribute) -> tuple[tuple[str, Attribute], ...]:
    """Attributes in the order that makes equal nodes compare equal."""
    return tuple(sorted(values.items()))


@dataclass(frozen=True)
class ValidLength:
    """Of a tensor only the first elements along an axis are valid: as many as the tensor ``count``
    of one integer says. The extent there is the most that there can be."""

    tensor: str
    axis: int
    count: str


@checks_methods
@dataclass(frozen=True, eq=False)
class Graph:
    """Inputs, constants, and nodes in an order in which each follows what it reads.

    ``outputs`` are names of tensors; ``Graph`` itself checks nothing: ``verify`` does. ``lengths``
    are of outputs whose size depends on data: models give their valid part. The counts are outputs
    as well, the last ones.
    """

    name: str
    inputs: tuple[Value, ...]
    constants: Mapping[str, Array]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    lengths: tuple[ValidLength, ...] = ()

    @cached_property
    def values(self) -> Mapping[str, Value]:
        """Every tensor by name, in the order of definition. Raises what ``infer`` raises."""
        from polyopt.graph.ir.infer import infer

        return infer(self)

    @cached_property
    def makers(self) -> Mapping[str, Node]:
        """The node of every computed tensor."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def readers(self) -> Mapping[str, tuple[Node, ...]]:
        """The nodes that read each tensor, each once per reading; none for unread ones."""
        found: dict[str, list[Node]] = {name: [] for name in self.names}
        for node in self.nodes:
            for name in node.operands:
                found.setdefault(name, []).append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """All tensors: inputs, constants, then computed ones."""
        computed = (node.name for node in self.nodes)
        return (*(v.name for v in self.inputs), *self.constants, *computed)

    @cached_property
    def open(self) -> Mapping[str, Open]:
        """The sizes of inputs that are left open, by name. Raises ``UnsupportedError``."""
        return open_sizes(self.inputs)

    @cached_property
    def usual(self) -> Graph:
        """The graph with the usual numbers for what it leaves open; itself where nothing is."""
        return at(self, {name: int(size) for name, size in self.open.items()})

    def at(self, **sizes: int) -> Graph:
        """The graph with a number for each size that it leaves open.

        Raises ``GraphError`` for sizes that are missing, not its own, or below 1.
        """
        return at(self, sizes)

    def uses(self, name: str) -> int:
        """How often a tensor is needed: by nodes, and by the caller."""
        return len(self.readers.get(name, ())) + self.outputs.count(name)

    def with_nodes(self, nodes: Iterable[Node]) -> Graph:
        """The graph with other nodes; constants that nothing reads any more are dropped."""
        kept = tuple(nodes)
        used = {name for node in kept for name in node.inputs} | set(self.outputs)
        constants = {k: v for k, v in self.constants.items() if k in used}
        return replace(self, nodes=kept, constants=constants)

    def with_constants(self, **arrays: Array) -> Graph:
        """The graph with more constants, or other values of them."""
        return replace(self, constants={**self.constants, **arrays})

    def fresh(self, base: str) -> str:
        """A name that no tensor has yet: ``base``, else ``base_2``, ..."""
        taken, name, number = set(self.names), base, 2
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        return name

    def __repr__(self) -> str:
        """Its name, and how much it has."""
        sizes = len(self.inputs), len(self.constants), len(self.nodes), len(self.outputs)
        words = "input", "constant", "node", "output"
        return one_line(self, self.name, *map(some, sizes, words))

    def __str__(self) -> str:
        """The graph as text, one line per tensor."""
        from polyopt.graph.ir.show import show_graph

        return show_graph(self)

    def _repr_html_(self) -> str:
        from polyopt.graph.notebook import graph_html

        return graph_html(self)


@checks_arguments
def same_graph(one: Graph, other: Graph) -> bool:
    """Whether two graphs have the same inputs, nodes, outputs, and bits in their constants."""
    return (one.inputs, one.nodes, one.outputs, one.lengths) == (
        other.inputs,
        other.nodes,
        other.outputs,
        other.lengths,
    ) and same_arrays(one.constants, other.constants)


def same_arrays(one: Mapping[str, Array], other: Mapping[str, Array]) -> bool:
    """Whether both have the same names, with arrays of the same type, shape and bits."""
    return one.keys() == other.keys() and all(
        _same_bits(array, other[name]) for name, array in one.items()
    )


def _same_bits(one: Array, other: Array) -> bool:
    return one is other or (
        one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()
    )
