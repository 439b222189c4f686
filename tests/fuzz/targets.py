"""What is fuzzed: bytes in, nothing out; anything but an error for users is a defect.

Bytes are read as they are, or as choices among what makes sense: so a fuzzer that sees which code
runs gets past the parser, and what it found runs again without it.
"""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.errors import InternalError, PolyoptError
from polyopt.frontend.c import parse_c
from polyopt.graph.onnx import load_onnx, onnx_operators
from polyopt.isl import budget
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.registry import TRANSFORMATIONS
from tests.property.plans import _LEAKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.ir.scop import Scop

#: isl operations for one input: a few tenths of a second
_BUDGET = 1_000_000
_PROGRAM = """
void pair(int N, int M, const float in[restrict N + 2][M], float out[restrict N][M])
{
    float mid[N + 1][M];
    for (int i = 0; i < N + 1; i++)
        for (int j = 0; j < M; j++)
            mid[i][j] = in[i][j] + in[i + 1][j];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            out[i][j] = mid[i][j] * mid[i + 1][j];
}
"""


class Choices:
    """Bytes as a series of choices; zero when they end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, below: int) -> int:
        """A number below a limit."""
        self._at += 1
        return self._data[self._at - 1] % below if self._at <= len(self._data) else 0

    def one(self, options: Sequence[Any]) -> Any:
        """One of the options."""
        return options[self.number(len(options))]


def _told(action: Callable[[], object]) -> None:
    """Run what a user may run; raise unless it works or is refused in the user's words."""
    try:
        with budget(_BUDGET, "the input"):
            action()
    except PolyoptError as error:
        if isinstance(error, InternalError) or _LEAKS.search(str(error)):
            raise


# -- C --------------------------------------------------------------------------------------------

_PIECES = (
    "for (int i = 0; i < N; i++) ", "for (int j = N - 1; j >= 0; j -= 2) ", "{ ", "} ", "if (i ",
    "else ", "a[i] ", "b[i][j] ", "= ", "+= ", "i ", "j ", "N ", "0 ", "1 ", "2147483647 ", "-",
    "+ ", "* ", "/ ", "% ", "< ", ">= ", "== ", "&& ", "|| ", "? ", ": ", ") ", "( ", "; ", ", ",
    "[", "]", "float ", "int ", "unsigned char ", "x ", "x", "1.5f ", "min(", "fmaxf(", "!", "~",
    "<< ", ">> ", "while (", "do ", "break; ", "continue; ", "return; ", "\n#pragma scop\n",
    "\n#pragma endscop\n", "\n#define Q 3\n", "Q ", "'c' ", '"s" ', "struct s ", ".y ", "->y ", "&",
    "0x7fffffffffffffff ", "0u ", "(float)", "switch (i) ", "goto l; ", "sizeof ", "/* ", "*/ ",
    "static ", "const ", "restrict ", "void ", "f(i) ", "++", "--",
)  # fmt: skip


def c(data: bytes) -> None:
    """A C file, as it is or made of pieces inside a function."""
    if data[:1] == b"\0":
        choices = Choices(data[1:])
        body = "".join(choices.one(_PIECES) for _ in range(min(len(data), 200)))
        text = f"void f(int N, float a[N], float b[N][N]) {{\n{body}\n}}\n"
    else:
        text = data.decode("utf-8", errors="replace") + "\n"
    _told(lambda: Plan(parse_c(text)))


# -- saved plans ----------------------------------------------------------------------------------

_NAMES = (
    "mid", "out", "in", "mid.i", "mid.j", "out.i", "out.j", "out.i_tile", "out.j_tile", "i", "j",
    "mid@out.i_tile", "", "full", "scratch", "sliding", "register", "inline", "0", "nothing", "é",
)  # fmt: skip
_VALUES = (
    0, 1, 2, 3, 8, -1, 64, 1 << 31, 1 << 63, 1 << 70, 1.5, float("inf"), True, False, None, [], {},
    [0], ["out"], {"i": 2}, {"j": 0}, {"0": 3}, {"out": "out"}, "1",
)  # fmt: skip
_OPTIONS = (
    "i", "j", "by", "factor", "depth", "shift", "at", "into", "storage", "keep", "fold", "extents",
    "width", "read", "order", "scaled", "fusion", "nothing",
)  # fmt: skip


@cache
def _scop() -> Scop:
    return parse_c(_PROGRAM)


def plan(data: bytes) -> None:
    """A saved plan: any bytes, or JSON with moves drawn from what moves take."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plan.json")
        path.write_bytes(_document(Choices(data[1:])) if data[:1] == b"\0" else data)
        _told(lambda: Plan.load(path, _scop()))


def _document(choices: Choices) -> bytes:
    def value() -> Any:
        return choices.one(_NAMES if choices.number(2) else _VALUES)

    moves = [
        {
            "move": choices.one(sorted(TRANSFORMATIONS)),
            "args": [value() for _ in range(choices.number(4))],
            "options": {choices.one(_OPTIONS): value() for _ in range(choices.number(4))},
        }
        for _ in range(1 + choices.number(4))
    ]
    return json.dumps({"format": 2, "scop": "pair", "moves": moves}).encode()


# -- ONNX -----------------------------------------------------------------------------------------

_ATTRIBUTES = (
    "axis", "axes", "kernel_shape", "pads", "strides", "dilations", "group", "perm", "alpha",
    "epsilon", "keepdims", "mode", "to", "auto_pad", "ceil_mode", "transA", "value", "split",
)  # fmt: skip
_CONTENTS = (
    0, 1, -1, 2, 7, 1 << 40, [], [0], [1, 1], [2, 2], [-1, 3], [1, 1, 1, 1], [0, 2, 3, 1], 0.5, 1e-5,
    "SAME_UPPER", "VALID", "NOTSET", "constant", "é", [0.5], [1 << 33, 2],
)  # fmt: skip
_SHAPES = (
    [1, 2, 5, 5], [2, 3], [3], [], [1, 2, 1, 1], [2, 2, 3, 3], [0, 2], ["n", 2], [4, 2, 3], [5, 5],
)  # fmt: skip


def onnx(data: bytes) -> None:
    """An ONNX file: any bytes, or a model of a few nodes drawn from what nodes take."""
    _told(lambda: load_onnx(_model(Choices(data[1:])) if data[:1] == b"\0" else data))


def _model(choices: Choices) -> bytes:
    from onnx import TensorProto, helper

    kinds = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE, TensorProto.UINT8)
    names = [f"x{n}" for n in range(1 + choices.number(3))]
    inputs = [
        helper.make_tensor_value_info(name, choices.one(kinds), choices.one(_SHAPES))
        for name in names
    ]
    constants = [
        helper.make_tensor(f"c{n}", TensorProto.INT64, [len(values)], values)
        for n, values in enumerate(choices.one(([], [1], [0, 1], [1, -1, 2])) for _ in range(2))
    ]
    known = [*names, "c0", "c1", ""]
    nodes: list[Any] = []
    operators = onnx_operators()
    for number in range(1 + choices.number(3)):
        given = [choices.one(known) for _ in range(choices.number(4))]
        attributes = {
            choices.one(_ATTRIBUTES): choices.one(_CONTENTS) for _ in range(choices.number(4))
        }
        made = [f"y{number}"] if choices.number(5) else [f"y{number}", f"z{number}"]
        nodes.append(_node(choices.one(operators), given, made, attributes))
        known += made
    last = helper.make_tensor_value_info(known[-1], choices.one(kinds), choices.one(_SHAPES))
    graph = helper.make_graph(nodes, "net", inputs, [last], initializer=constants)
    opset = helper.make_opsetid("", choices.one((13, 17, 9, 21, 1)))
    return helper.make_model(graph, opset_imports=[opset]).SerializeToString()


def _node(operator: str, given: list[str], made: list[str], attributes: dict[str, Any]) -> Any:
    """A node; an empty list as an attribute has no type, and is left out."""
    from onnx import helper

    kept = {name: value for name, value in attributes.items() if value != []}
    return helper.make_node(operator, given, made, **kept)


TARGETS: dict[str, Callable[[bytes], None]] = {"c": c, "onnx": onnx, "plan": plan}
