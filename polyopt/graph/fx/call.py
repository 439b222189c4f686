"""One call of an ATen operator on its way into a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polyopt.errors import PolyoptError, UnsupportedError
from polyopt.graph.ir.graph import Node, attributes
from polyopt.ir.types import BOOL, F32, I64

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.graph.importer import Importer
    from polyopt.graph.ir.graph import Array, Attribute, Value
    from polyopt.ir.types import ScalarType
    from polyopt.source import Span

    Converter = Callable[["Call"], None]


#: arguments that change no value of inference on a CPU: how tensors lie in memory and where, what
#: training keeps, and what a library may choose
_WITHOUT_EFFECT = frozenset({
    "memory_format", "device", "layout", "pin_memory", "non_blocking", "momentum", "cudnn_enable",
    "cudnn_enabled", "benchmark", "deterministic", "allow_tf32",
})  # fmt: skip


@dataclass(frozen=True)
class Ref:
    """A tensor as an argument: its name in the graph."""

    name: str


@dataclass(frozen=True)
class Arguments(Mapping[str, Any]):
    """Arguments by the names in the operator's schema, which remember what was asked for."""

    values_: Mapping[str, Any]
    defaults: Mapping[str, Any]
    seen: set[str] = field(default_factory=set[str])

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        self.seen.add(name)
        return self.values_[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    def passed_over(self) -> str:
        """An argument that changes the result and was not asked for; "" where there is none."""
        rest = (n for n in self.values_ if n not in self.seen and n not in _WITHOUT_EFFECT)
        return next((n for n in rest if not self._is_default(n)), "")

    def _is_default(self, name: str) -> bool:
        return name in self.defaults and self.values_[name] == self.defaults[name]


@dataclass(frozen=True)
class Call:
    """A call: its arguments, defaults filled in, and the shape and type that PyTorch gives it."""

    importer: Importer
    op: str
    name: str
    arguments: Arguments
    span: Span
    result: Value

    def check(self) -> None:
        """Raises ``UnsupportedError`` where what was made is not what PyTorch makes."""
        if name := self.arguments.passed_over():
            raise self.unsupported(f"{name}={self.arguments[name]!r} is not taken")
        made = self.importer.values[self.importer.resolve(self.name)]
        if (made.shape, made.dtype) != (self.result.shape, self.result.dtype):
            raise self.unsupported(f"the result would be {made}, and PyTorch's is {self.result}")

    def unsupported(self, what: str) -> UnsupportedError:
        """The error for a form of the operator that is not taken."""
        return UnsupportedError(f"{self.op} {self.name!r}: {what}", span=self.span)

    def __getitem__(self, argument: str) -> Any:  # noqa: ANN401
        """An argument that is no tensor."""
        return self.arguments[argument]

    def tensor(self, argument: str) -> str:
        """The name of a tensor argument; a number becomes a constant of the first one's type."""
        given = self.arguments[argument]
        if isinstance(given, Ref):
            return given.name
        return self.number(given)

    def optional(self, argument: str) -> str:
        """The name of a tensor argument, "" where it is left out."""
        return "" if self.arguments[argument] is None else self.tensor(argument)

    def number(self, given: float) -> str:
        """A constant of the type of the first tensor argument. Raises ``UnsupportedError``."""
        if not isinstance(given, int | float) or isinstance(given, bool):
            raise self.unsupported(f"{given!r} is not taken as an operand")
        kinds = [self.importer.values[a.name].dtype
                 for a in self.arguments.values_.values() if isinstance(a, Ref)]  # fmt: skip
        if not kinds or (isinstance(given, float) and not kinds[0].is_float):
            raise self.unsupported("its result would have another type than its operand")
        return self.constant(self._number_of(given, kinds[0]))

    def value(self, argument: str) -> Value:
        """Shape and type of a tensor argument."""
        return self.importer.values[self.tensor(argument)]

    def converted(self, argument: str, kind: ScalarType) -> str:
        """The name of a tensor argument of this type: it, it converted, or a number as constant.

        Raises ``UnsupportedError``.
        """
        given = self.arguments[argument]
        if isinstance(given, Ref):
            if self.importer.values[given.name].dtype == kind:
                return given.name
            return self.step("cast", [given.name], to=kind.name)
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise self.unsupported(f"{argument}={given!r} is not taken as an operand")
        return self.constant(self._number_of(given, kind))

    def number_like(self, name: str, given: float) -> str:
        """A number as a constant of a tensor's type. Raises ``UnsupportedError``."""
        return self.constant(self._number_of(given, self.importer.values[name].dtype))

    def _number_of(self, given: float, kind: ScalarType) -> Array:
        """A number as an array without dimensions; an integer type has to hold it exactly."""
        import numpy as np

        try:
            made = np.array(given, kind.numpy_name)
        except (OverflowError, ValueError):
            raise self.unsupported(f"{given!r} does not fit into {kind}") from None
        if not kind.is_float and made.item() != given:
            raise self.unsupported(f"{given!r} does not fit into {kind}")
        return made

    def constant(self, array: Array) -> str:
        """An array as a tensor; its name."""
        name = self.importer.fresh(f"{self.name}_constant")
        self.importer.constant(name, array, self.span)
        return name

    def define(self, op: str, inputs: Sequence[str], /, **options: Attribute) -> None:
        """The call's result is this operator."""
        self._add(self.name, op, inputs, options)

    def step(self, op: str, inputs: Sequence[str], /, **options: Attribute) -> str:
        """An operator on the way to the result; its name."""
        name = self.importer.fresh(f"{self.name}_{op}")
        self._add(name, op, inputs, options)
        return name

    def alias(self, name: str) -> None:
        """The call's result is another tensor."""
        self.importer.aliases[self.name] = name

    def several(self, names: Sequence[str]) -> None:
        """The call's results are these tensors, which others take out one by one."""
        self.alias(names[0])
        for number, name in enumerate(names):
            self.importer.aliases[part_of(self.name, number)] = name

    def operand_type(self, *names: str) -> ScalarType:
        """The type in which PyTorch compares operands. Raises ``UnsupportedError``."""
        given = [self.arguments[name] for name in names]
        values = [self.importer.values[g.name] for g in given if isinstance(g, Ref)]
        numbers = [g for g in given if not isinstance(g, Ref)]
        kinds = {value.dtype for value in values}
        ranks = {len(value.shape) > 0 for value in values}
        if len(kinds) > 1 and len(ranks) > 1:
            raise self.unsupported("operands of two types, one of them without dimensions")
        floats = [kind for kind in kinds if kind.is_float]
        if len([kind for kind in floats if kind.is_half]) > 1:  # neither holds the other
            floats = [*floats, F32]
        kind = max(floats or kinds, key=lambda k: k.bits)
        if any(isinstance(n, float) for n in numbers) and not kind.is_float:
            return F32
        return I64 if numbers and kind == BOOL else kind

    def _add(
        self, name: str, op: str, inputs: Sequence[str], options: dict[str, Attribute]
    ) -> None:
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        node = Node(name, op, tuple(given), attributes(**options), f"{self.op} {self.name}")
        try:
            self.importer.add(node)
        except PolyoptError as error:
            shown = error.diagnostic
            raise type(error)(f"{self.op} {self.name!r}: {shown.message}", span=self.span,
                              notes=shown.notes, hint=shown.hint) from None  # fmt: skip


def part_of(name: str, number: int) -> str:
    """What one of several results of a call is known by."""
    return f"{name}[{number}]"


CONVERTERS: dict[str, Converter] = {}


def converts(*names: str) -> Callable[[Converter], Converter]:
    """Register what turns ATen operators of these names into nodes."""

    def register(converter: Converter) -> Converter:
        CONVERTERS.update(dict.fromkeys(names, converter))
        return converter

    return register
