"""What names mean while a loop function is read: iterators, sizes, arrays, local variables."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from polyopt.errors import UnknownNameError
from polyopt.frontend.values import Form, Value, lift
from polyopt.ir.expr import Affine, index_of
from polyopt.isl import Set, affine_constant, affine_var, instance_space, lift_form

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.frontend.loops.text import FunctionText
    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Array
    from polyopt.isl import PwAff, Space
    from polyopt.source import Span


@dataclass(frozen=True, eq=False)
class Known:
    """A Python object known beforehand: a module, a function, a dtype, a table of constants."""

    value: Any


@dataclass(frozen=True, eq=False)
class Shape:
    """The value of ``a.shape``."""

    sizes: tuple[Form, ...]


@dataclass(frozen=True, eq=False)
class View:
    """An array with some or all leading subscripts given: ``a``, ``a[y]``, ``a[y, x]``."""

    array: Array
    index: tuple[Expr, ...]
    span: Span | None = None

    @property
    def rank(self) -> int:
        """Subscripts still missing."""
        return self.array.rank - len(self.index)


Operand = Value | Known | Shape | View


@dataclass(frozen=True, eq=False)
class Alias:
    """A name for an operand that needs no storage: sizes, affine integers, constants.

    Readers of more than loop functions have operands of more kinds.
    """

    operand: Any


@dataclass(frozen=True, eq=False)
class Variable:
    """An array or scalar with storage; ``weak`` scalars hold Python numbers."""

    array: Array
    weak: bool = False
    argument: bool = False

    @property
    def is_scalar(self) -> bool:
        """Whether it has no subscripts of its own."""
        return self.array.rank == self.array.private


Binding = Alias | Variable


@dataclass(eq=False)
class Frame:
    """One loop (or, outermost, the function): its iterators so far, domain and local names."""

    iterators: tuple[str, ...]
    #: { [i] : ... } at the entry of the loop's body
    domain: Set
    #: how often each name is assigned in the body
    stores: Counter[str]
    names: dict[str, Binding] = field(default_factory=dict[str, Binding])

    @property
    def space(self) -> Space:
        """``{ [i] }``."""
        return self.domain.get_space()


class Scope:
    """The frames around the statement being read, and the Python names outside the function."""

    def __init__(
        self, text: FunctionText, function: Callable[..., object], params: Sequence[str]
    ) -> None:
        self.text = text
        self.function = function
        self.params = tuple(params)
        self.locals = frozenset(stores(text.tree.body))
        universe = Set.universe(instance_space(self.params, "", ()))
        self.frames = [Frame((), universe, stores(text.tree.body))]

    @cached_property
    def _names(self) -> dict[str, object]:
        return python_names(self.function)

    def inside(self, text: FunctionText, function: Callable[..., object]) -> Scope:
        """The scope of a helper function's expression, read in these same loops."""
        inner = Scope(text, function, self.params)
        inner.frames = [replace(frame, names={}) for frame in self.frames]
        return inner

    @property
    def space(self) -> Space:
        """``{ [i] }`` of all loops around."""
        return self.frames[-1].space

    @property
    def depth(self) -> int:
        """Number of loops around."""
        return len(self.frames) - 1

    def form(self, position: int) -> PwAff:
        """``{ [i] -> [i_position] }``."""
        return affine_var(self.space, position)

    def constant(self, value: int) -> PwAff:
        """``{ [i] -> [value] }``."""
        return affine_constant(self.space, value)

    def binding(self, name: str) -> Binding | None:
        """What a name is bound to inside the function, innermost loop first."""
        for frame in reversed(self.frames):
            if name in frame.names:
                return frame.names[name]
        return None

    def lookup(self, name: str, span: Span) -> Operand | Variable:
        """What a name means here. Raises ``UnknownNameError``."""
        found = self.binding(name)
        if isinstance(found, Variable):
            return found
        if found is not None:
            return self._lift(found.operand)
        if name in self.locals:
            raise UnknownNameError(
                f"{name!r} has no value here",
                span=span,
                hint="a variable first assigned inside a loop lives in one iteration of it;"
                " assign it before the loop to use it after",
            )
        return Known(self._python(name, span))

    def _lift(self, operand: Operand) -> Operand:
        match operand:
            case View():
                forms = [e.form for e in operand.index if isinstance(e, Affine)]
                index = tuple(index_of(lift_form(f, self.space)) for f in forms)
                return replace(operand, index=index)
            case Shape():
                sizes = (Form(lift_form(s.form, self.space)) for s in operand.sizes)
                return Shape(tuple(sizes))
            case Known():
                return operand
            case _:
                return lift(operand, self.space)

    def _python(self, name: str, span: Span) -> object:
        if name in self._names:
            return self._names[name]
        if name in self.params:
            hint = f"plain Python does not know it either: write `{self._from_shape(name)}` first"
        else:
            visible = {n for frame in self.frames for n in frame.names}
            hint = "in scope: " + ", ".join(sorted(visible))
        raise UnknownNameError(f"{name!r} is not defined", span=span, hint=hint)

    def _from_shape(self, name: str) -> str:
        """``n = a.shape[0]``: how the function can learn a size."""
        arguments = self.text.tree.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            if not isinstance(argument.annotation, ast.Subscript):
                continue
            sizes = argument.annotation.slice
            texts = [
                part.value if isinstance(part, ast.Constant) else ""
                for part in (sizes.elts if isinstance(sizes, ast.Tuple) else [sizes])
            ]
            if name in texts:
                return f"{name} = {argument.arg}.shape[{texts.index(name)}]"
        return f"{name}, ... = array.shape"

    def private_index(self, array: Array) -> tuple[Affine, ...]:
        """The leading subscripts of a local array: the loops around its declaration."""
        return tuple(index_of(self.form(k)) for k in range(array.private))


def stores(body: Sequence[ast.stmt]) -> Counter[str]:
    """How often each name is assigned in some statements."""
    return Counter(
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


def python_names(function: Callable[..., object]) -> dict[str, object]:
    """The names a function sees outside itself: builtins, globals, closure."""
    names: dict[str, object] = dict(vars(builtins))
    names.update(getattr(function, "__globals__", {}))
    free = getattr(getattr(function, "__code__", None), "co_freevars", ())
    for name, cell in zip(free, getattr(function, "__closure__", None) or (), strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue  # not assigned yet
    return names
