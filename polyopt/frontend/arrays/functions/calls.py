"""Calls in functions over arrays: NumPy's functions and methods, casts, and helpers."""

from __future__ import annotations

import ast
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.errors import InvalidOptionError, UnsupportedError
from polyopt.frontend.arrays.arguments import ARRAY_TYPES, TAKEN_TYPES
from polyopt.frontend.arrays.functions import (
    einsum,
    gradients,
    makers,
    padding,
    products,
    reductions,
    reshape,
    shapes,
)
from polyopt.frontend.arrays.functions.elementary import (
    clipped,
    elementary,
    maximum,
    minimum,
    rounded,
    where,
)
from polyopt.frontend.arrays.grid import Computed, Grid, Pair, Placed, strong
from polyopt.frontend.arrays.helpers import InPlace
from polyopt.frontend.complex_values import Complex, as_element, complex_type, conjugate
from polyopt.frontend.loops.annotations import Scalar, as_scalar
from polyopt.frontend.loops.scope import Known, Shape
from polyopt.frontend.values import Compound, Number, Value, Weak, binary, is_weak, type_of, typed
from polyopt.ir.types import BOOL, F64, I8

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.frontend.arrays.expressions import ArrayExpressions
    from polyopt.frontend.arrays.operands import Method
    from polyopt.ir.types import ScalarType

    #: a function of NumPy's, given its arguments by name
    Handler = Callable[["Call"], Any]


class Call:
    """A call that is being read: its arguments by the names that NumPy gives them."""

    def __init__(
        self, read: ArrayExpressions, node: ast.Call, names: str, first: object = None
    ) -> None:
        self.read = read
        self.node = node
        self._first = first
        positional = [n for n in names.split() if n not in {"ddof", "keepdims"}]
        given = positional[1:] if first is not None else positional
        if any(isinstance(a, ast.Starred) for a in node.args):
            raise UnsupportedError("arguments behind a star are not taken")
        if len(node.args) > len(given):
            raise UnsupportedError(f"too many arguments: taken are {', '.join(given)}")
        self._nodes: dict[str, ast.expr] = dict(zip(given, node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg not in names.split():
                taken = f"taken are {', '.join(names.split())}"
                raise UnsupportedError(f"the argument {keyword.arg} is not taken here", hint=taken)
            self._nodes[keyword.arg or ""] = keyword.value
        self._name = positional[0] if positional else ""

    def has(self, name: str) -> bool:
        """Whether an argument is given, and not ``None``."""
        node = self._nodes.get(name)
        is_none = isinstance(node, ast.Constant) and node.value is None
        return (node is not None and not is_none) or self._is_first(name)

    def _is_first(self, name: str) -> bool:
        return self._first is not None and name == self._name

    def operand(self, name: str) -> Any:  # noqa: ANN401
        """An argument, whatever it is. Raises ``UnsupportedError`` where it is missing."""
        if self._is_first(name):
            return self._first
        if name not in self._nodes:
            raise UnsupportedError(f"the argument {name} is missing")
        return self.read.operand(self._nodes[name])

    def node_of(self, name: str) -> ast.expr | None:
        """The node of an argument, where one is given."""
        return self._nodes.get(name)

    def numeric(self, name: str) -> Grid | Value:
        """An argument as an array or a number."""
        return self.read.numeric(self.operand(name))

    def array(self, name: str) -> Grid:
        """An argument as an array. Raises ``UnsupportedError`` for a number."""
        found = self.numeric(name)
        if not isinstance(found, Grid):
            raise UnsupportedError("an array is needed here, and this is a number")
        return found

    def integer(self, name: str, default: int) -> int:
        """A constant integer. Raises ``UnsupportedError`` for what is not known beforehand."""
        if not self.has(name):
            return default
        value = self.operand(name)
        if not isinstance(value, Number) or not isinstance(value.value, int):
            raise UnsupportedError(f"{name} has to be a constant integer")
        return int(value.value)

    def integers(self, name: str) -> tuple[int, ...]:
        """Constant integers: one, or a tuple of them. Raises ``UnsupportedError`` for others."""
        from polyopt.frontend.arrays.operands import Items

        operand = self.operand(name)
        items = operand.items if isinstance(operand, Items) else (operand,)
        if not all(isinstance(i, Number) and isinstance(i.value, int) for i in items):
            raise UnsupportedError(f"{name} has to be constant integers")
        return tuple(int(item.value) for item in items)

    def axes(self, name: str, rank: int) -> tuple[int, ...]:
        """Axes of an array: all of them where none are given."""
        from polyopt.frontend.arrays.operands import Items

        if not self.has(name):
            return tuple(range(rank))
        operand = self.operand(name)
        items = operand.items if isinstance(operand, Items) else (operand,)
        found: list[int] = []
        for item in items:
            if not isinstance(item, Number) or not isinstance(item.value, int):
                raise UnsupportedError("an axis has to be a constant integer")
            if not -rank <= item.value < rank:
                raise UnsupportedError(f"axis {item.value} of an array of {rank} dimension(s)")
            found.append(int(item.value) % rank)
        return tuple(found)

    def flag(self, name: str) -> bool:
        """A truth value that is known beforehand; false where it is not given."""
        return bool(self.integer(name, 0))

    def type(self, name: str) -> ScalarType | None:
        """A dtype, where one is given. Raises ``UnsupportedError`` for one that is not taken."""
        node = self._nodes.get(name)
        if node is None or not self.has(name):
            return None
        return dtype_of(self.read, node)


def dtype_of(read: ArrayExpressions, node: ast.expr) -> ScalarType:
    """The type that a node names. Raises ``UnsupportedError`` for one that is not taken."""
    operand = read.operand(node)
    pairs = complex_type(operand.value) if isinstance(operand, Known) else None
    if pairs is not None:
        return pairs
    try:
        found = as_scalar(operand.value if isinstance(operand, Known) else None).type
    except InvalidOptionError:
        found = None
    if found is None or found not in ARRAY_TYPES:
        raise UnsupportedError("this type is not taken", hint=f"taken are {TAKEN_TYPES}")
    return found


def call(read: ArrayExpressions, target: Known | Method, node: ast.Call) -> Any:  # noqa: ANN401
    """What a call returns. Raises ``UnsupportedError`` for a function that is not taken."""
    if not isinstance(target, Known):
        return _method(read, target, node)
    function = target.value
    helper = function.__wrapped__ if isinstance(function, InPlace) else function
    module = (getattr(helper, "__module__", None) or "").partition(".")[0]
    if isinstance(helper, FunctionType) and module != "numpy":
        return read.inline(node, helper)
    known = _handler(function)
    if known is not None:
        names, handler = known
        return handler(Call(read, node, names))
    kind = _cast(function)
    if kind is not None:
        return _converted(read, kind, Call(read, node, "x").numeric("x"), node)
    return _elementary(read, function, node)


def is_taken(function: object) -> bool:
    """Whether calls of a function are read, whatever their arguments: of one that is no helper."""
    if function in _LOOPS:
        return True
    return (
        _handler(function) is not None
        or _cast(function) is not None
        or elementary(function) is not None
    )


def _handler(function: object) -> tuple[str, Handler] | None:
    try:
        return _FUNCTIONS.get(function)
    except TypeError:
        return None


def _cast(function: object) -> ScalarType | None:
    """The type that a call converts to, where the function is a type."""
    if isinstance(function, Scalar):
        return function.type if function.type in ARRAY_TYPES else None
    if isinstance(function, type) and issubclass(function, np.generic):
        pairs = complex_type(cast("object", function))
        return pairs or as_scalar(cast("object", function)).type
    return None


def _converted(
    read: ArrayExpressions, kind: ScalarType, value: Grid | Value, node: ast.AST
) -> Grid | Value:
    return read.elementwise(partial(as_element, kind), [value], node)


def _elementary(read: ArrayExpressions, function: object, node: ast.Call) -> Any:  # noqa: ANN401
    outs = [k.value for k in node.keywords if k.arg == "out"]
    name = ast.unparse(node.func)
    compute = elementary(function)
    if compute is None:
        hint = "docs/howto/jit.md lists the functions that are taken"
        if ".random" in name or name.startswith("random"):
            hint = "draw the numbers outside of the function, and pass them"
        raise UnsupportedError(f"a call of {name} is not taken here", hint=hint)
    if len(outs) < len(node.keywords):
        raise UnsupportedError(f"keywords of {name} are not taken here, besides out=")
    found = read.elementwise(compute, [read.array_or_number(a) for a in node.args], node)
    if not outs:
        return found
    target = read.operand(outs[0])
    if not isinstance(target, Placed | Pair):
        raise UnsupportedError("out= has to be an array")
    read.statements.check_same_kind(target, found, node)
    read.statements.store(target, found, node)
    return target


def _method(read: ArrayExpressions, method: Method, node: ast.Call) -> Any:  # noqa: ANN401
    found = _METHODS.get(method.name)
    if found is None:
        raise UnsupportedError(f"the method .{method.name}() is not taken here")
    if not isinstance(method.of, Grid) and is_weak(read.as_number(method.of)):
        raise UnsupportedError(f"a Python number has no method .{method.name}() of arrays")
    names, handler = found
    return handler(Call(read, node, f"a {names}", method.of))


def _astype(call: Call) -> Grid | Value:
    kind = call.type("dtype")
    if kind is None:
        raise UnsupportedError("astype needs a type")
    return _converted(call.read, kind, call.numeric("a"), call.node)


def _copy(call: Call) -> Grid | Value:
    found = call.numeric("a")
    return Computed(found.shape, found.at) if isinstance(found, Grid) else strong(found)


def _fill(call: Call) -> Known:
    target = call.operand("a")
    if not isinstance(target, Placed | Pair):
        raise UnsupportedError("only arrays that are stored are filled")
    call.read.statements.store(target, call.numeric("value"), call.node)
    return Known(None)


def _copyto(call: Call) -> Known:
    target, value = call.operand("dst"), call.numeric("src")
    if not isinstance(target, Placed | Pair):
        raise UnsupportedError("only arrays that are stored are copied to")
    if isinstance(value, Grid):
        call.read.statements.check_same_kind(target, value, call.node)
    call.read.statements.store(target, value, call.node)
    return Known(None)


def _clip(call: Call) -> Grid | Value:
    given = value = call.numeric("a")
    for name, function in (("a_min", maximum), ("a_max", minimum)):
        if call.has(name):
            value = call.read.elementwise(function, [value, call.numeric(name)], call.node)
    return call.read.elementwise(clipped, [given, value], call.node)


def _where(call: Call) -> Any:  # noqa: ANN401
    if not call.has("x") or not call.has("y"):
        raise UnsupportedError(
            "np.where with a condition alone has a size that data decide",
            hint="give both values, np.where(c, x, y), or loop over the elements",
        )
    operands = [call.numeric(name) for name in ("condition", "x", "y")]
    return call.read.elementwise(where, operands, call.node)


def _conjugate(call: Call) -> Any:  # noqa: ANN401
    value = call.numeric("a")
    if isinstance(value, Grid) and not value.type(call.read.scope.space).is_complex:
        return value  # NumPy's method gives a real array itself, its function a copy
    return call.read.elementwise(conjugate, [value], call.node)


def _part_of(name: str, call: Call) -> Any:  # noqa: ANN401
    return call.read.part(name, call.numeric("val"), call.node)


def _complex(call: Call) -> Value:
    parts = [
        call.read.as_number(call.operand(name)) if call.has(name) else Number(0.0)
        for name in ("real", "imag")
    ]
    if any(isinstance(part, Compound) for part in parts):
        raise UnsupportedError("complex() of a complex number", hint="use it as it is")
    return Complex(*(Weak(typed(part, F64)) for part in parts))


def _round(call: Call) -> Any:  # noqa: ANN401
    if call.integer("decimals", 0):
        raise UnsupportedError("rounding to decimals is not taken", hint="scale, round, scale back")
    return call.read.elementwise(rounded, [call.numeric("a")], call.node)


def _length(call: Call) -> Any:  # noqa: ANN401
    from polyopt.frontend.arrays.operands import Items

    found = call.operand("x")
    if isinstance(found, Items | Shape):
        return Number(len(found.items if isinstance(found, Items) else found.sizes))
    from polyopt.frontend.values import Form

    return Form(call.read.lifted(call.array("x").shape[0]))


def _item(call: Call) -> Value:
    value = call.read.as_number(call.operand("a"))
    return Weak(typed(value, reductions.python_type(value)))


def _squared(x: Value) -> Value:
    if isinstance(x, Compound):
        return binary("mul", x, x)
    x = as_element(I8, x) if type_of(x) == BOOL else strong(x)  # so NumPy has it
    return binary("mul", x, x)


def _square(call: Call) -> Any:  # noqa: ANN401
    value = call.numeric("x")
    return call.read.elementwise(_squared, [value], call.node)


#: what loops go over
_LOOPS: tuple[object, ...] = (range, reversed, enumerate, zip)
#: functions, the names of their arguments, and what reads them
_FUNCTIONS: Mapping[object, tuple[str, Handler]] = {
    **makers.FUNCTIONS,
    **reductions.FUNCTIONS,
    **products.FUNCTIONS,
    **einsum.FUNCTIONS,
    **shapes.FUNCTIONS,
    **reshape.FUNCTIONS,
    **padding.FUNCTIONS,
    **gradients.FUNCTIONS,
    np.where: ("condition x y", _where),
    np.clip: ("a a_min a_max", _clip),
    np.round: ("a decimals", _round),
    np.copy: ("a", _copy),
    np.copyto: ("dst src", _copyto),
    np.square: ("x", _square),
    len: ("x", _length),
    complex: ("real imag", _complex),
    np.real: ("val", partial(_part_of, "real")),
    np.imag: ("val", partial(_part_of, "imag")),
}
#: methods, the names of their arguments after the array, and what reads them
_METHODS: Mapping[str, tuple[str, Handler]] = {
    **reductions.METHODS,
    **products.METHODS,
    **shapes.METHODS,
    **reshape.METHODS,
    "astype": ("dtype", _astype),
    "copy": ("", _copy),
    "fill": ("value", _fill),
    "clip": ("a_min a_max", _clip),
    "round": ("decimals", _round),
    "item": ("", _item),
    "conj": ("", _conjugate),
    "conjugate": ("", _conjugate),
}
