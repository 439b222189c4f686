"""A random ONNX graph in the making: tensors to read, random attributes, nodes that are valid."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.fuzz.reference import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Shape = tuple[int, ...]

#: types of elements, and how often each is drawn
KINDS = {
    "float": 10, "double": 3, "float16": 2, "bfloat16": 1, "int8": 2, "uint8": 2, "int16": 1,
    "uint16": 1, "int32": 3, "uint32": 1, "int64": 4, "uint64": 1, "bool": 3,
}  # fmt: skip
FLOATS = ("float", "double", "float16", "bfloat16")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_NUMPY = {"float": "float32", "double": "float64"}
_MOST_ELEMENTS = 300


def dtype_of(kind: str) -> np.dtype[Any]:
    """NumPy's type of what ONNX calls ``tensor(kind)``."""
    return BFLOAT16 if kind == "bfloat16" else np.dtype(_NUMPY.get(kind, kind))


def kind_of(dtype: np.dtype[Any]) -> str:
    """What ONNX calls a type of NumPy's."""
    return {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)


@cache
def schema(op: str, opset: int) -> Any:
    """ONNX's own description of an operator."""
    return onnx.defs.get_schema(op, opset)


@cache
def kinds(op: str, opset: int, index: int) -> tuple[str, ...]:
    """Types that an operand may have, those that C has."""
    inputs = schema(op, opset).inputs
    named = {t[7:-1] for t in inputs[min(index, len(inputs) - 1)].types}
    return tuple(kind for kind in KINDS if kind in named)


class Refused(Exception):  # noqa: N818  (no error: the node is drawn again)
    """A node that ONNX does not allow, or one that makes nothing of use."""


@dataclass
class Drawing:
    """Tensors and nodes so far; ``arrays`` has each tensor's elements by its name."""

    draw: np.random.Generator
    opset: int
    #: extent of the first dimension that inputs leave open; 0 where none is
    batch: int = 0
    #: whether tensors have the greatest and least numbers, and such that are none
    specials: float = 0.0
    extremes: float = 0.0
    arrays: dict[str, Any] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)
    count: int = 0

    # -- choices --------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        """True in so many of 1."""
        return bool(self.draw.random() < share)

    def number(self, low: int, high: int) -> int:
        """An integer of ``low .. high``."""
        return int(self.draw.integers(low, high + 1))

    def one(self, options: Sequence[Any]) -> Any:
        """One of the options."""
        return options[self.number(0, len(options) - 1)]

    def kind(self, options: Sequence[str]) -> str:
        """One of some types."""
        shares = np.array([KINDS[kind] for kind in options], float)
        return options[int(self.draw.choice(len(options), p=shares / shares.sum()))]

    def shape(self, low: int = 0, high: int = 4) -> Shape:
        """A shape of so many dimensions."""
        rank = self.number(low, high)
        extents = [self.one((1, 2, 3, 4, 5, 1, 2, 3)) for _ in range(rank)]
        if rank and self.chance(0.01):
            extents[self.number(0, rank - 1)] = 0
        if rank and self.batch and self.chance(0.7):
            extents[0] = self.batch
        return tuple(extents)

    def axis(self, rank: int) -> int:
        """An axis, from the front or from the back."""
        return self.number(-rank, rank - 1)

    def axes(self, rank: int, least: int = 0) -> list[int]:
        """Some axes, each once, in any order."""
        chosen = self.draw.permutation(rank)[: self.number(min(least, rank), rank)]
        return [int(d) - rank * self.number(0, 1) for d in chosen]

    # -- tensors --------------------------------------------------------------------------------

    def elements(self, shape: Shape, dtype: np.dtype[Any]) -> Any:
        """Quarters or small integers; some are special."""
        if dtype == np.bool_:
            return self.draw.random(shape) < 0.5
        if dtype.kind in "iu":
            low = 0 if dtype.kind == "u" else -5
            found = np.asarray(self.draw.integers(low, 8, size=shape)).astype(dtype)
            info = np.iinfo(dtype)
            return self._some(found, self.extremes, [info.min, info.max, info.max - 1])
        found = np.asarray(self.draw.integers(-12, 13, size=shape) / 4.0).astype(dtype)
        special = self._some(found, self.specials, [np.nan, np.inf, -np.inf, -0.0])
        limits = ml_dtypes.finfo(dtype)
        wide = [limits.max, limits.min, limits.tiny, limits.smallest_subnormal, 1e-3, 1e3]
        return self._some(special, self.extremes, wide)

    def _some(self, found: Any, share: float, other: Sequence[Any]) -> Any:
        if not share:
            return found
        chosen = np.asarray([np.asarray(o).astype(found.dtype) for o in other])
        drawn = chosen[self.draw.integers(len(other), size=found.shape)]
        return np.where(self.draw.random(found.shape) < share, drawn, found).astype(found.dtype)

    def fresh(self, array: Any, *, constant: bool | None = None) -> str:
        """A tensor that is new, of these elements: an input, or a constant."""
        self.count += 1
        name = f"x{self.count}"
        self.arrays[name] = np.asarray(array)
        is_weight = self.chance(0.3) if constant is None else constant
        (self.weights if is_weight else self.inputs).append(name)
        return name

    def operand(
        self,
        op: str,
        index: int = 0,
        *,
        rank: tuple[int, int] = (0, 4),
        shape: Shape | None = None,
        among: Sequence[str] | None = None,
        fits: Callable[[Shape], bool] = lambda _: True,
        constant: bool | None = None,
    ) -> str:
        """An operand of a rank, or a shape: a tensor that is there, or a new one."""
        allowed = [k for k in kinds(op, self.opset, index) if among is None or k in among]
        if not allowed:
            raise Refused(f"{op} takes none of {among}")
        found = [
            name for name, a in self.arrays.items()
            if kind_of(a.dtype) in allowed and rank[0] <= a.ndim <= rank[1] and fits(a.shape)
            and (shape is None or a.shape == shape)
            and (constant is None or constant == (name in self.weights))
        ]  # fmt: skip
        if found and self.chance(0.75):
            return found[-1] if self.chance(0.5) else self.one(found)
        kind = self.kind(allowed)
        wanted = self.shape(*rank) if shape is None else shape
        if not fits(wanted):
            raise Refused("no shape that fits")
        return self.fresh(self.elements(wanted, dtype_of(kind)), constant=constant)

    def like(self, name: str, op: str, index: int, shape: Shape, **given: Any) -> str:
        """An operand of the type of another tensor."""
        among = (kind_of(self.arrays[name].dtype),)
        return self.operand(op, index, shape=shape, among=among, **given)

    def broadcastable(self, name: str, op: str, index: int) -> str:
        """An operand of a tensor's type that broadcasts with it."""
        array = self.arrays[name]
        among = (kind_of(array.dtype),)
        if self.chance(0.5):
            return self.operand(op, index, among=among, fits=lambda s: fit(s, array.shape))
        shape = [e if self.chance(0.6) else 1 for e in array.shape]
        shape = shape[self.number(0, len(shape)) :] if self.chance(0.4) else shape
        if self.chance(0.2) and len(shape) < 5:
            shape = [self.number(1, 3), *([1] * (array.ndim - len(shape))), *shape]
        return self.operand(op, index, among=among, shape=tuple(shape))

    def ints(self, values: Any, dtype: Any = np.int64) -> str:
        """Integers that say how to compute: constants, seldom data."""
        return self.fresh(np.asarray(values, dtype), constant=not self.chance(0.04))

    # -- nodes ----------------------------------------------------------------------------------

    def rank(self, name: str) -> int:
        """Dimensions of a tensor."""
        return self.arrays[name].ndim

    def shape_of(self, name: str) -> Shape:
        """The shape of a tensor."""
        return self.arrays[name].shape

    def add(
        self, op: str, inputs: Sequence[str], outputs: int | Sequence[bool] = 1, **attributes: Any
    ) -> str:
        """One more node. Raises ``Refused`` where ONNX, or its reference, takes none like it."""
        wanted = [True] * outputs if isinstance(outputs, int) else outputs
        kept = {k: v for k, v in attributes.items() if v is not None}
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        numbers = range(self.count + 1, self.count + 1 + len(wanted))
        names = [f"y{k}" if is_made else "" for k, is_made in zip(numbers, wanted, strict=True)]
        node = helper.make_node(op, given, names)
        node.attribute.extend(helper.make_attribute(k, v, attr_type=_type(op, k, self.opset))
                              for k, v in kept.items())  # fmt: skip
        return self.accept(node)

    def accept(self, node: Any) -> str:
        """Put a node in that is made. Raises ``Refused``."""
        known = inferred(node, self.opset, self.arrays, self.weights)
        fed = {name: self.arrays[name] for name in read_by(node)}
        try:
            results = evaluate(node, self.opset, fed, types_of(known))
        except Exception as error:  # noqa: BLE001  (the reference raises what NumPy does)
            raise Refused(str(error)) from None
        if not results or max(a.size for a in results) > _MOST_ELEMENTS:
            raise Refused("too many elements")
        if not all(fits_inferred(k, a) for k, a in zip(known, results, strict=True)):
            raise Refused("ONNX's inference and its reference do not agree")
        names = [name for name in node.output if name]
        self.count += len(node.output)
        self.arrays.update(zip(names, results, strict=True))
        self.nodes.append(node)
        return names[0]


def _type(op: str, name: str, opset: int) -> Any:
    """The type of an attribute: an empty list has none of its own."""
    found = schema(op, opset).attributes.get(name)
    if found is None:
        raise Refused(f"{op} has no {name} in opset {opset}")
    return int(found.type.value)


def fit(one: Shape, other: Shape) -> bool:
    """Whether shapes broadcast, to no more elements than are kept."""
    try:
        return prod(np.broadcast_shapes(one, other)) <= _MOST_ELEMENTS
    except ValueError:
        return False


def read_by(node: Any) -> list[str]:
    """All that a node reads, in graphs inside it as well."""
    found = [name for name in node.input if name]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            made = {n for inner in attribute.g.node for n in inner.output}
            found += [n for inner in attribute.g.node for n in read_by(inner) if n not in made]
            found += [o.name for o in attribute.g.output if o.name not in made]
    return list(dict.fromkeys(found))


def info(name: str, array: Any, batch: int = 0) -> Any:
    """What a model says of an input; its first dimension may be open."""
    shape: list[Any] = list(array.shape)
    if batch and shape and shape[0] == batch:
        shape[0] = "N"
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, kind, shape)


def inferred(node: Any, opset: int, arrays: Any, weights: Any) -> list[Any]:
    """Types and shapes of a node's results, checked by ONNX. Raises ``Refused``."""
    names = read_by(node)
    graph = helper.make_graph(
        [node], "one", [info(n, arrays[n]) for n in names if n not in weights],
        [helper.make_value_info(n, onnx.TypeProto()) for n in node.output if n],
        [numpy_helper.from_array(arrays[n], n) for n in names if n in weights],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    try:
        if not any(a.HasField("g") for a in node.attribute):
            onnx.checker.check_node(node, _context(opset))
        found = onnx.shape_inference.infer_shapes(
            model, check_type=True, strict_mode=True, data_prop=True
        )
    except Exception as error:  # noqa: BLE001  (bindings raise what C++ raises)
        raise Refused(str(error)) from None
    if not all(o.type.tensor_type.elem_type for o in found.graph.output):
        raise Refused("no type is known of its results")
    return list(found.graph.output)


def types_of(known: Sequence[Any]) -> dict[str, Any]:
    """Types of elements by name."""
    return {
        o.name: np.dtype(helper.tensor_dtype_to_np_dtype(o.type.tensor_type.elem_type))
        for o in known
    }


def fits_inferred(known: Any, array: Any) -> bool:
    """Whether an array has the shape that is known of it, as far as it is."""
    kind = known.type.tensor_type
    if not kind.HasField("shape"):
        return True
    said = [d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim]
    return len(said) == array.ndim and all(
        s is None or s == e for s, e in zip(said, array.shape, strict=True)
    )


@cache
def _context(opset: int) -> Any:
    context = onnx.checker.C.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = {"": opset}
    return context
