"""Layout selection: channels in blocks of a vector's lanes, from convolution to convolution.

``[n][c][y][x]`` becomes ``[n][c / b][y][x][b]`` where convolutions are, and stays so through what
works element by element or on windows of rows and columns; elsewhere tensors are brought back.
Weights are packed here, once, in the order in which the kernels read them:
``[co / b][ci / b][ky][kx][ci % b][co % b]``. Channels that do not fill a block are filled with
zeros, and their weights are zero. NHWC is the same with all channels in one block:
``[n][1][y][x][c]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from polyopt.codegen.expressions.packed_dot import HALF, LOW
from polyopt.codegen.target import target as find_target
from polyopt.errors import InvalidOptionError
from polyopt.graph.fusion.patterns import patterns
from polyopt.graph.in_blocks import SUFFIX, has_form
from polyopt.graph.operators import get_operator
from polyopt.graph.passes.base import Builder, Pass
from polyopt.graph.passes.exact_sums import paired_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.ir.graph import Array, Attribute, Graph, Node

LAYOUTS = ("nchw", "nhwc", "blocked")
#: convolutions of fewer channels read them as they come: one element serves a whole vector
_LEAST_CHANNELS = 8
#: rows of fewer vectors are better across channels, though bringing them there is work
_SHORT_ROWS = 2
#: products of more rows than this are matrices, with tiles for each cache
_MOST_ROWS = 31
#: forms of convolutions that add up all channels of a block, and of a group
_OF_ALL_CHANNELS = frozenset({"conv_blocked", "conv_integer_blocked", "conv_transpose_blocked"})
#: what these make of lanes that are filled up stays finite, and so harmless to weights of zero
_HARMLESS = frozenset({
    "add", "sub", "mul", "neg", "abs", "max", "min", "relu", "clip", "leaky_relu", "elu", "sigmoid",
    "hard_sigmoid", "tanh", "gelu", "silu", "hardswish", "erf", "cast", "dequantize", "quantize",
    "requantize",
})  # fmt: skip


@dataclass(frozen=True)
class SelectLayout(Pass):
    """Brings convolutions, and what joins them, to blocks of channels.

    ``layout`` is ``"blocked"``, ``"nhwc"`` for one block of all channels, or ``"nchw"`` for ONNX's
    own, which changes nothing; ``lanes`` are the channels of a block, 0 for those of the target's
    vectors.

    Raises ``InvalidOptionError`` for another layout, and for ``lanes`` of one without such blocks.
    """

    layout: str = "blocked"
    lanes: int = 0
    target: str = "native"

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            msg = f"there is no layout {self.layout!r}"
            raise InvalidOptionError(msg, hint=f"there are: {', '.join(LAYOUTS)}")
        if self.lanes < 0 or (self.lanes and self.layout != "blocked"):
            msg = f"the layout {self.layout!r} has no blocks of {self.lanes} channels"
            raise InvalidOptionError(msg, hint="lanes= goes with layout='blocked', from 1 up")

    def run(self, graph: Graph) -> Graph:
        """The graph with blocked convolutions; the same object where there are none."""
        lanes = self.lanes or find_target(self.target).lanes(4)
        blocker = _Blocker(graph, 0 if self.layout == "nhwc" else lanes)
        return blocker.made() if self.layout != "nchw" and blocker.gains() else graph


def _form(graph: Graph, node: Node, lanes: int) -> str:
    """The operator that a convolution becomes in blocks of ``lanes``; "" where it stays.

    Groups fill whole blocks, or blocks hold whole groups; a depthwise one has a group per channel.
    """
    if paired_weights(graph, node, lanes) is not None:
        return "conv_integer_blocked"
    if node.op not in {"conv", "conv_transpose"}:
        return ""
    value, group = graph.values[node.inputs[0]], cast("int", dict(node.attributes).get("group", 1))
    if len(value.shape) not in {3, 4} or str(value.dtype) != "f32":
        return ""
    if not all(name in graph.constants for name in node.operands[1:]):
        return ""
    if node.op == "conv_transpose":
        return "conv_transpose_blocked" if _is_phases(graph, node, lanes) else ""
    count, each = graph.constants[node.inputs[1]].shape[:2]
    if group == 1:
        return "conv_blocked"
    if count // group == each == 1:
        return "depthwise_blocked"
    if not lanes or value.shape[1] % lanes or count % lanes:
        return ""
    if each % lanes == count // group % lanes == 0:
        return "conv_blocked"
    return "grouped_blocked" if each == count // group and lanes % each == 0 else ""


def _is_phases(graph: Graph, node: Node, lanes: int) -> bool:
    """Whether a transposed convolution is some plain ones, of every so many taps of its kernel,
    whose results fill at least half of their lanes."""
    options = dict(node.attributes)
    strides, kernel = (
        cast("Sequence[int]", node["strides"]),
        graph.constants[node.inputs[1]].shape[2:],
    )
    covered = all(k >= s for k, s in zip(kernel, strides, strict=True))
    plain = options.get("group", 1) == 1 and set(cast("Sequence[int]", node["dilations"])) == {1}
    fills = 2 * graph.values[node.name].shape[1] >= lanes
    return covered and plain and fills and bool(options.get("finite", 0))


def _is_product(graph: Graph, node: Node) -> bool:
    """Whether a node multiplies a few rows by a constant matrix, as classifiers do."""
    if node.op != "gemm" or not all(name in graph.constants for name in node.operands[1:]):
        return False
    options = dict(node.attributes)
    value = graph.values[node.name]
    if str(value.dtype) != "f32" or options.get("trans_a", 0) or value.shape[0] > _MOST_ROWS:
        return False
    return len(node.operands) == 2 or graph.constants[node.operands[2]].ndim == 1


class _Blocker:
    """One walk over a graph; tensors are there in one layout or both. ``lanes`` of 0 are all
    channels of each tensor."""

    def __init__(self, graph: Graph, lanes: int) -> None:
        self.graph = graph
        self.lanes = lanes
        self.new = Builder(graph)
        #: convolutions, and what each becomes
        self.forms: dict[str, str] = {}
        #: tensor -> what it is called in blocks
        self.blocked: dict[str, str] = {}
        #: computed in blocks -> what it is called as ONNX has it; "" where nobody asked yet
        self.plain: dict[str, str] = {}

    def gains(self) -> bool:
        """Whether a node is better in the layout, whatever its operand is in."""
        return any(
            (self._form(n) and self._gains_alone(n)) or self._is_product(n)
            for n in self.graph.nodes
        )

    def made(self) -> Graph:
        """The graph in its new layout; outputs are as they were."""
        for node in self.graph.nodes:
            if self._is_product(node):
                self._product(node)
            elif self._form(node) == "conv_integer_blocked":
                self._integers(node)
            elif self._form(node) and (node.inputs[0] in self.blocked or self._gains_alone(node)):
                self._convolution(node)
            elif node.op in {"max_pool", "avg_pool"} and node.inputs[0] in self.blocked:
                inputs = [self.blocked[node.inputs[0]]]
                self._add(node, node.op, inputs, {**dict(node.attributes), "inner": 1})
            elif self._joins(node):
                self._pointwise(node)
            elif self._joins_channels(node):
                axis = 1 if self.lanes else len(self.graph.values[node.name].shape)
                self._add(node, node.op, [self.blocked[n] for n in node.inputs], {"axis": axis})
            elif blocked := self._by_channel(node):
                inputs = [self.blocked[n] if k in blocked else self._plain(n) if n else ""
                          for k, n in enumerate(node.inputs)]  # fmt: skip
                options = {**dict(node.attributes), "blocked": blocked}
                self._add(node, f"{node.op}{SUFFIX}", inputs, options)
            else:
                inputs = [self._plain(name) if name else "" for name in node.inputs]
                self.new.node(node.name, node.op, inputs, **dict(node.attributes))
        for name in self.graph.outputs:
            self._plain(name)
        return self.new.built()

    # -- nodes ----------------------------------------------------------------------------------

    def _block(self, channels: int) -> int:
        """How many of a tensor's channels lie side by side."""
        return self.lanes or channels

    def _form(self, node: Node) -> str:
        """The operator that a convolution becomes; "" where it stays."""
        if node.name not in self.forms:
            self.forms[node.name] = _form(self.graph, node, self.lanes)
        return self.forms[node.name]

    def _gains_alone(self, node: Node) -> bool:
        """Whether a convolution is better in blocks although its operand is not: one with groups
        inside of blocks has few sums over channels that would gain, but its rows may be too short
        for vectors of neighbours."""
        width = self.graph.values[node.inputs[0]].shape[-1]
        sums_blocks = self._form(node) in _OF_ALL_CHANNELS
        return not self.lanes or sums_blocks or width < _SHORT_ROWS * self.lanes

    def _is_product(self, node: Node) -> bool:
        """Whether a product of matrices is better in blocks of results."""
        return bool(self.lanes) and _is_product(self.graph, node)

    def _add(
        self, node: Node, op: str, inputs: Sequence[str], options: dict[str, Attribute]
    ) -> None:
        """A node whose result is in blocks; it keeps its name where nobody outside asks for it."""
        name = node.name
        if name in self.graph.outputs:
            name = self.new.fresh(f"{name}_blocked")
        self.plain[node.name] = ""
        self.blocked[node.name] = self.new.node(name, op, inputs, **options)

    def _convolution(self, node: Node) -> None:
        x, weights, op = node.inputs[0], self.graph.constants[node.inputs[1]], self._form(node)
        options = dict(node.attributes)
        group = cast("int", options.pop("group", 1))
        if op == "depthwise_blocked":
            given, packed = self._in_blocks(x), self._lanes(weights[:, 0])
        elif op == "grouped_blocked":
            # [c][c / group]... -> [c / b]...[c / group][b]
            given, packed = self._in_blocks(x), self._lanes(np.moveaxis(weights, 1, -1))
        else:
            if op == "conv_transpose_blocked":  # [ci][co]...
                weights = np.swapaxes(weights, 0, 1)
                options = {k: options[k] for k in ("strides", "begins", "extents")}
            if group > 1:
                options["group"] = group
            given = self._input(x) if group == 1 else self._in_blocks(x)
            each = self._block(weights.shape[1]) if given == self.blocked.get(x) else 1
            packed = _packed(weights, each, self._block(len(weights)))
        inputs = [given, self._constant(node, 1, packed)]
        if len(node.operands) > 2:
            bias = self._lanes(self.graph.constants[node.inputs[2]])
            inputs.append(self._constant(node, 2, bias))
        self._add(node, op, inputs, options)

    def _integers(self, node: Node) -> None:
        """Sums of products of bytes as dot products: channels ``c`` of two blocks are a pair."""
        weights = paired_weights(self.graph, node, self.lanes)
        assert weights is not None
        filled = _filled(weights, 1, 2 * self.lanes)
        apart = filled.reshape(len(filled), -1, 2, self.lanes, *filled.shape[2:])
        low, high = apart[:, :, 0], apart[:, :, 1]
        words = ((low & LOW) | (high << HALF)).reshape(len(filled), -1, *filled.shape[2:])
        packed = _packed(words.astype(np.int32), self.lanes, self.lanes)
        zero = [name for name in node.inputs[2:3] if name]
        inputs = [self._in_blocks(node.inputs[0]), self._constant(node, 1, packed), *zero]
        options = {k: v for k, v in dict(node.attributes).items() if k != "group"}
        self._add(node, "conv_integer_blocked", inputs, options)

    def _product(self, node: Node) -> None:
        """``x * w + b`` as a convolution of one place, whose rows of blocks are rows of results."""
        options = dict(node.attributes)
        matrix = self.graph.constants[node.inputs[1]]
        matrix = matrix if options.get("trans_b", 0) else matrix.T  # [m][k]
        scaled = matrix * np.float32(cast("float", options.get("alpha", 1.0)))
        rows, length = self.graph.values[node.inputs[0]].shape
        count = len(matrix)
        source, place = self._plain(node.inputs[0]), self.new.fresh(f"{node.name}_lanes")
        self.new.node(place, "reshape", [source], shape=(rows, length, 1, 1))
        weights = _packed(scaled[:, :, None], 1, self.lanes)
        inputs = [place, self._constant(node, 1, weights)]
        if len(node.operands) > 2:
            beta = np.float32(cast("float", options.get("beta", 1.0)))
            bias = np.broadcast_to(self.graph.constants[node.inputs[2]] * beta, (count,))
            inputs.append(self._constant(node, 2, self._lanes(bias)))
        made = self.new.node(self.new.fresh(f"{node.name}_blocked"), "gemm_blocked", inputs,
                             strides=(1,), pads=(0, 0), dilations=(1,))  # fmt: skip
        filled = count + -count % self.lanes
        last = self.new.fresh(f"{node.name}_filled") if filled != count else node.name
        self.new.node(last, "reshape", [made], shape=(rows, filled))
        if last != node.name:
            self.new.node(node.name, "slice", [last], starts=(0, 0), steps=(1, 1),
                          shape=(rows, count))  # fmt: skip

    def _constant(self, node: Node, position: int, array: Array) -> str:
        """A packed form of one of a node's constants."""
        return self.new.constant(f"{node.inputs[position]}_packed", np.ascontiguousarray(array))

    def _lanes(self, array: Array) -> Array:
        """``[c]...`` as ``[c / b]...[b]``."""
        lanes = self._block(len(array))
        filled = _filled(array, 0, lanes)
        split = filled.reshape(-1, lanes, *filled.shape[1:])
        return np.moveaxis(split, 1, -1)

    def _input(self, x: str) -> str:
        """A convolution's operand: in blocks, or with few channels as blocks of one."""
        shape = self.graph.values[x].shape
        if x in self.blocked or not self.lanes or shape[1] >= _LEAST_CHANNELS:
            return self._in_blocks(x)
        name = self.new.fresh(f"{x}_lane")
        return self.new.node(name, "reshape", [self._plain(x)], shape=(*shape, 1))

    def _joins(self, node: Node) -> bool:
        """Whether a node works element by element on tensors that are in blocks already."""
        shape = self.graph.values[node.name].shape
        whole = [n for n in node.operands if self.graph.values[n].shape == shape]
        operator = get_operator(node.op)
        if not any(n in self.blocked for n in whole) or operator.is_view:
            return False
        if not operator.is_shipped:  # it may count on its rank, or compute with its indices
            return False
        if shape[1] % self._block(shape[1]) and node.op not in _HARMLESS:
            return False
        found = patterns(self.graph, node)
        if any(found[n].kind != "pointwise" for n in whole):
            return False
        others = [n for n in node.operands if n not in whole]
        return all(n in self.graph.constants and self._fits(n, shape) for n in others)

    def _fits(self, name: str, shape: tuple[int, ...]) -> bool:
        """Whether a constant is one number, or one per channel."""
        own = self.graph.constants[name].shape
        per_channel = (shape[1], *(1,) * (len(shape) - 2))
        return self.graph.constants[name].size == 1 or own[-len(per_channel) :] == per_channel

    def _pointwise(self, node: Node) -> None:
        shape = self.graph.values[node.name].shape
        inputs: list[str] = []
        for name in node.inputs:
            if not name:
                inputs.append("")
            elif self.graph.values[name].shape == shape:
                inputs.append(self._in_blocks(name))
            elif self.graph.constants[name].size == 1:
                inputs.append(name)
            else:
                lanes = self._lanes(self.graph.constants[name].reshape(shape[1]))
                ones = (1,) * (len(shape) - 2)
                array = lanes.reshape(len(lanes), *ones, -1)
                inputs.append(self.new.constant(f"{name}_packed", np.ascontiguousarray(array)))
        self._add(node, node.op, inputs, dict(node.attributes))

    def _joins_channels(self, node: Node) -> bool:
        """Whether whole blocks are put one after the other, or all channels."""
        if node.op != "concat" or node["axis"] != 1:
            return False
        counts = [self.graph.values[n].shape[1] for n in node.inputs if n in self.blocked]
        return len(counts) == len(node.inputs) and not any(c % self._block(c) for c in counts)

    def _by_channel(self, node: Node) -> tuple[int, ...]:
        """Operands in blocks of a node that works channel by channel on whole blocks, where what
        reads it is in blocks as well; none for others."""
        values, shape = self.graph.values, self.graph.values[node.name].shape
        if len(shape) < 3 or shape[1] % self._block(shape[1]):
            return ()
        blocked = tuple(
            k
            for k, n in enumerate(node.inputs)
            if n in self.blocked
            and len(values[n].shape) == len(shape)
            and values[n].shape[:2] == shape[:2]
        )
        if not blocked or not self._leads_to_blocks(node.name):
            return ()
        given = [values[n] if n else None for n in node.inputs]
        return blocked if has_form(get_operator(node.op), given, blocked, self._block(shape[1]),
                                   dict(node.attributes)) else ()  # fmt: skip

    def _leads_to_blocks(self, name: str) -> bool:
        """Whether a convolution in blocks comes after a tensor, through others of its channels."""
        readers, channels = self.graph.readers[name], self.graph.values[name].shape[1]
        if any(self._form(reader) for reader in readers):
            return True
        shapes = ((r.name, self.graph.values[r.name].shape) for r in readers)
        return any(len(s) > 2 and s[1] == channels and self._leads_to_blocks(n) for n, s in shapes)

    # -- from one layout to the other -----------------------------------------------------------

    def _in_blocks(self, name: str) -> str:
        """The tensor in blocks."""
        if name in self.blocked:
            return self.blocked[name]
        batch, channels, *place = self.graph.values[name].shape
        rank, lanes = len(place), self._block(channels)
        rest = -channels % lanes
        source = self._plain(name)
        if rest:
            widths = (0,) * (rank + 3) + (rest,) + (0,) * rank
            source = self.new.node(self.new.fresh(f"{name}_filled"), "pad", [source], pads=widths)
        blocks = (channels + rest) // lanes
        split = self.new.node(self.new.fresh(f"{name}_split"), "reshape", [source],
                              shape=(batch, blocks, lanes, *place))  # fmt: skip
        perm = (0, 1, *range(3, 3 + rank), 2)
        made = self.new.node(self.new.fresh(f"{name}_blocked"), "transpose", [split], perm=perm)
        self.blocked[name] = made
        return made

    def _plain(self, name: str) -> str:
        """The tensor as ONNX has it."""
        known = self.plain.get(name, name)
        if known:
            return known
        batch, channels, *place = self.graph.values[name].shape
        rank, lanes = len(place), self._block(channels)
        blocks = -(-channels // lanes)
        perm = (0, 1, 2 + rank, *range(2, 2 + rank))
        apart = self.new.node(self.new.fresh(f"{name}_apart"), "transpose", [self.blocked[name]],
                              perm=perm)  # fmt: skip
        is_output = name in self.graph.outputs
        result = name if is_output else self.new.fresh(f"{name}_plain")
        filled, whole = channels % lanes, (batch, blocks * lanes, *place)
        joined = self.new.fresh(f"{name}_joined") if filled else result
        self.new.node(joined, "reshape", [apart], shape=whole)
        if filled:
            shape = (batch, channels, *place)
            self.new.node(result, "slice", [joined], starts=(0,) * len(shape),
                          steps=(1,) * len(shape), shape=shape)  # fmt: skip
        self.plain[name] = result
        return result


def _filled(array: Array, axis: int, lanes: int) -> Array:
    """The array with zeros behind an axis, up to whole blocks."""
    rest = -array.shape[axis] % lanes
    return np.pad(array, [(0, rest if d == axis else 0) for d in range(array.ndim)])


def _packed(weights: Array, each: int, lanes: int) -> Array:
    """``[co][ci]...`` as ``[co / lanes][ci / each]...[each][lanes]``."""
    filled = _filled(_filled(weights, 0, lanes), 1, each)
    count, channels, *kernel = filled.shape
    split = filled.reshape(count // lanes, lanes, channels // each, each, *kernel)
    inner = tuple(range(4, 4 + len(kernel)))
    return split.transpose((0, 2, *inner, 3, 1))
