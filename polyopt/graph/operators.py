"""Operators: what each computes, as stages, and the rule for its result's shape and type.

Whatever is known of an operator beyond that (how it reads its inputs, what fusing it costs,
whether it may overwrite an input) is found out from its stages, never declared. A user's operator
is as good as one that comes with polyopt::

    @po.graph.operator("hardswish")
    def hardswish(make: Maker, x: Tensor) -> Tensor:
        return make.stage(x.shape, lambda *i: x[i] * po.clamp(x[i] + 3.0, 0.0, 6.0) / 6.0)
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from math import isnan
from typing import TYPE_CHECKING, Any, cast

from polyopt.arguments import checks_arguments
from polyopt.errors import GraphError, InvalidOptionError
from polyopt.frontend import stages as po
from polyopt.graph.ir.graph import Value
from polyopt.graph.ir.open import Open

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.frontend.stages import Border, Input, Stage, Steps, Term
    from polyopt.graph.ir.graph import Attribute, Node
    from polyopt.ir.types import ScalarType
    from polyopt.transform.plan import Plan

    Build = Callable[..., "Tensor"]
    Rule = Callable[..., "Result"]
    Schedule = Callable[[Plan], Plan]

#: loops of tensors by rank: batch, channels, rows, columns
_INDICES = {1: "c", 2: "nc", 3: "ncx", 4: "ncyx", 5: "nczyx"}


@dataclass(frozen=True)
class Result:
    """What a rule returns: shape and element type."""

    shape: tuple[int, ...]
    dtype: ScalarType


@dataclass(frozen=True, eq=False)
class Tensor:
    """An operand, or a step of an operator's computation: indexed like an array.

    A tensor without dimensions is kept as an array of one element.
    """

    grid: Input | Stage
    shape: tuple[int, ...]
    dtype: ScalarType

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __getitem__(self, index: object) -> Term:
        """The element at an index."""
        return self.grid[index if self.shape else 0]

    def padded(self, value: object = 0) -> Border:
        """The tensor with ``value`` outside its shape."""
        return po.padded(self.grid, value)


@dataclass(frozen=True, eq=False)
class Maker:
    """Makes the stages of one node; the names are unique in the program of its group."""

    base: str
    dtype: ScalarType
    #: names the next stage: base of the name -> a name not used yet
    fresh: Callable[[str], str]

    def stage(
        self,
        shape: Sequence[int],
        function: Callable[..., object],
        *,
        part: str = "",
        dtype: ScalarType | None = None,
    ) -> Tensor:
        """An array of the node: ``function`` gives the element at each index.

        ``part`` names a step on the way to the result, such as ``"sums"``. Elements have the type
        of the node's result, and parts that in which it is computed, unless ``dtype`` says
        otherwise.
        """
        name = self.fresh(f"{self.base}_{part}" if part else self.base)
        rank = len(shape)
        names = tuple(_INDICES.get(rank, "")) or tuple(f"i{d}" for d in range(rank))
        # what is rounded to a half is the node's result, not each step on the way to it
        kind = dtype or (self.dtype.computed if part else self.dtype)
        if rank:
            extents = [extent_of(e) for e in shape]
            made = po.stage(name, extents, function, type=kind.name, indices=names)
        else:
            made = po.stage(name, [1], lambda *_: function(), type=kind.name)
        return Tensor(made, tuple(shape), kind)

    def apply(self, op: str, *operands: Tensor | None, **attributes: Attribute) -> Tensor:
        """The result of another operator, as a step on the way to this node's.

        Of halves it is in the type that they are computed in. Raises ``InvalidOptionError`` for an
        operator that there is not, ``GraphError`` for operands or attributes that do not fit.
        """
        used = get_operator(op)
        found = result_of(op, *(_value_of(each) for each in operands), **attributes)
        inner = replace(self, base=f"{self.base}_{op}", dtype=found.dtype.computed)
        return used.build(inner, *operands, **attributes)

    def steps(self, count: int) -> Recurrence:
        """So many steps one after the other, each from what those before it left."""
        return Recurrence(self, po.steps(extent_of(count)), count)


@dataclass(frozen=True, eq=False)
class Recurrence:
    """Arrays of a node that are computed step by step, as ``po.steps`` makes them.

    Their first axis is the step: row ``t`` of a state is what it is before step ``t``.
    """

    make: Maker
    made: Steps
    count: int

    def state(
        self,
        shape: Sequence[int],
        first: Callable[..., object],
        part: str,
        dtype: ScalarType | None = None,
    ) -> Tensor:
        """An array that steps update; ``first`` gives its elements before the first step."""
        name, extents, kind = self._named(shape, part)
        kind = dtype or kind
        grid = self.made.state(name, extents, first, type=kind.name)
        return Tensor(grid, (self.count + 1, *shape), kind)

    def stage(
        self,
        shape: Sequence[int],
        function: Callable[..., object],
        part: str,
        dtype: ScalarType | None = None,
    ) -> Tensor:
        """An array of which each step computes a row, on the way to its states."""
        name, extents, kind = self._named(shape, part)
        kind = dtype or kind
        grid = self.made.stage(name, extents, function, type=kind.name)
        return Tensor(grid, (self.count, *shape), kind)

    def next(self, state: Tensor, function: Callable[..., object]) -> None:
        """What a step makes of a state."""
        self.made.next(cast("Stage", state.grid), function)

    def _named(self, shape: Sequence[int], part: str) -> tuple[str, list[Any], ScalarType]:
        name = self.make.fresh(f"{self.make.base}_{part}")
        return name, [extent_of(e) for e in shape], self.make.dtype


def extent_of(extent: int) -> int | Term:
    """A dimension as an extent of stages: its number, or the size that is left open."""
    return po.size(extent.symbol) if isinstance(extent, Open) else extent


@cache
def _parameters(build: Build) -> tuple[inspect.Parameter, ...]:
    """Of a function that was registered; each node of a graph asks whenever shapes are found."""
    return tuple(inspect.signature(build).parameters.values())


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator: its name, stages, rule, and maybe a schedule of its own.

    ``is_view`` says that the result holds the first operand's elements in the same order, so
    that no kernel has to run. ``form_of`` is the operator that this is a form of, such as its
    computation in another layout: who names that one means this one as well. ``in_strips`` says
    that its sums are between transformations of tiles, as Winograd's are: they are computed in
    strips of results (``contractions/strips.py``), which only what reads them place by place joins.
    """

    name: str
    build: Build
    rule: Rule
    schedule: Schedule | None = None
    is_view: bool = False
    form_of: str = ""
    in_strips: bool = False

    @property
    def signature(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of operands and of attributes."""
        parameters = _parameters(self.build)[1:]
        operands = tuple(p.name for p in parameters if p.kind != p.KEYWORD_ONLY)
        return operands, tuple(p.name for p in parameters if p.kind == p.KEYWORD_ONLY)

    @property
    def is_shipped(self) -> bool:
        """Whether it comes with polyopt: pointwise ones of these are written for any rank."""
        return self.build.__module__.partition(".")[0] == __name__.partition(".")[0]

    @property
    def defaults(self) -> dict[str, Attribute]:
        """Attributes that a node may leave out, with what they are then."""
        parameters = _parameters(self.build)
        return {p.name: p.default for p in parameters
                if p.kind == p.KEYWORD_ONLY and p.default not in {p.empty, None}}  # fmt: skip

    def infer(self, inputs: Sequence[Value | None], attributes: Mapping[str, Attribute]) -> Result:
        """Shape and type of the result.

        Raises ``GraphError`` for operands or attributes that do not fit.
        """
        self._check(inputs, attributes)
        return self.rule(*inputs, **attributes)

    def _check(self, inputs: Sequence[Value | None], attributes: Mapping[str, Attribute]) -> None:
        parameters = _parameters(self.build)[1:]
        _, known = self.signature
        unknown = next((name for name in attributes if name not in known), None)
        if unknown is not None:
            listed = ", ".join(known) or "none"
            raise GraphError(f"{self.name} has no attribute {unknown!r}; it has: {listed}")
        nan = next((k for k, v in attributes.items() if isinstance(v, float) and isnan(v)), None)
        if nan is not None:
            raise GraphError(f"the attribute {nan!r} of {self.name} is NaN")
        needed = [p.name for p in parameters
                  if p.kind == p.KEYWORD_ONLY and p.default is p.empty]  # fmt: skip
        missing = next((name for name in needed if name not in attributes), None)
        if missing is not None:
            raise GraphError(f"{self.name} needs the attribute {missing!r}")
        places = [p for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]
        least = sum(p.default is p.empty for p in places)
        most = None if any(p.kind == p.VAR_POSITIONAL for p in parameters) else len(places)
        least = max(least, most is None)  # any number of operands are at least one
        if len(inputs) < least or (most is not None and len(inputs) > most):
            takes = f"{least}" if most == least else f"{least} to {most or 'any number of'}"
            raise GraphError(f"{self.name} takes {takes} operand(s), not {len(inputs)}")
        needed_inputs = inputs if most is None else inputs[:least]
        if any(value is None for value in needed_inputs):
            raise GraphError(f"{self.name} needs its operand {[*inputs].index(None)}")


_OPERATORS: dict[str, Operator] = {}


@checks_arguments
def operator(
    name: str,
    *,
    result: Rule | None = None,
    schedule: Schedule | None = None,
    is_view: bool = False,
    form_of: str = "",
    in_strips: bool = False,
    replace: bool = False,
) -> Callable[[Build], Operator]:
    """Register a function as an operator: ``(make, *operands, **attributes) -> Tensor``.

    ``result`` gets the operands' ``Value`` and the attributes, and gives the result's shape and
    type; without it they are those of the first operand. ``schedule`` takes the unfused ``Plan``
    of the operator's program and returns another; without it ``po.auto`` chooses. ``form_of`` is
    an operator whose computation this is in another form, ``in_strips`` whether it is computed in
    strips of its results, so that only pointwise consumers join it.

    Raises ``InvalidOptionError`` where the name is taken, unless ``replace`` is set.
    """
    if name in _OPERATORS and not replace:
        msg = f"there is an operator {name!r} already"
        raise InvalidOptionError(msg, hint="give it another name, or replace=True")
    if not name.isidentifier():
        msg = f"an operator's name is an identifier, not {name!r}"
        raise InvalidOptionError(msg)

    def register(build: Build) -> Operator:
        made = Operator(name, build, result or like_first, schedule, is_view, form_of, in_strips)
        _OPERATORS[name] = made
        return made

    return register


def find_operator(name: str) -> Operator | None:
    """The operator of that name; those of polyopt are loaded when first asked for."""
    import polyopt.graph.ops as _ops  # registers them

    _ = _ops
    return _OPERATORS.get(name) or _form_in_blocks(name)


#: name of a form in blocks -> the operator that it was derived from, and itself
_FORMS: dict[str, tuple[Operator, Operator]] = {}


def _form_in_blocks(name: str) -> Operator | None:
    """The form of an operator on blocks of channels, where that is what the name says."""
    from polyopt.graph.in_blocks import SUFFIX, in_blocks  # it needs this module

    plain = _OPERATORS.get(name.removesuffix(SUFFIX)) if name.endswith(SUFFIX) else None
    if plain is None:
        return None
    if name not in _FORMS or _FORMS[name][0] is not plain:
        _FORMS[name] = plain, in_blocks(plain)
    return _FORMS[name][1]


def get_operator(name: str) -> Operator:
    """The operator of that name. Raises ``InvalidOptionError``."""
    found = find_operator(name)
    if found is None:
        near = get_close_matches(name, _OPERATORS, n=3)
        msg = f"there is no operator {name!r}"
        raise InvalidOptionError(msg, hint=f"did you mean {' or '.join(near)}?" if near else "")
    return found


@checks_arguments
def result_of(op: str, *operands: Value | None, **attributes: Attribute) -> Result:
    """Shape and type of what an operator makes: for the rule of one that applies it.

    Raises ``InvalidOptionError`` for an operator that there is not, ``GraphError`` for operands or
    attributes that do not fit.
    """
    return get_operator(op).infer(operands, attributes)


def _value_of(tensor: Tensor | None) -> Value | None:
    return tensor and Value(tensor.grid.name, tensor.shape, tensor.dtype)


def called(node: Node) -> frozenset[str]:
    """All that a node is called: its tensor, its operator, and what that is a form of."""
    return frozenset({node.name, node.op, get_operator(node.op).form_of}) - {""}


@checks_arguments
def supported() -> tuple[str, ...]:
    """Names of all operators, sorted."""
    _ = find_operator("")
    return tuple(sorted(_OPERATORS))


@checks_arguments
def forget(name: str) -> None:
    """Take an operator out of the registry again."""
    _OPERATORS.pop(name, None)


# -- rules --------------------------------------------------------------------------------------


def like_first(first: Value, *_others: Value | None, **_attributes: object) -> Result:
    """The shape and type of the first operand."""
    return Result(first.shape, first.dtype)


def need_float(*values: Value | None) -> None:
    """Raises ``GraphError`` unless all operands have one floating-point type."""
    kinds = {v.dtype for v in values if v is not None}
    if len(kinds) > 1 or not next(iter(kinds)).is_float:
        listed = " and ".join(sorted(map(str, kinds)))
        raise GraphError(f"operands of one floating-point type are needed, not {listed}")


def need_rank(value: Value, least: int, most: int | None = None) -> None:
    """Raises ``GraphError`` for an operand with fewer or more dimensions."""
    rank = len(value.shape)
    if rank < least or (most is not None and rank > most):
        wanted = (
            f"{least}" if most == least else f"{least} to {most}" if most else f"{least} or more"
        )
        raise GraphError(f"{value.name} has {rank} dimension(s), not {wanted}")


def normal_axis(axis: int, rank: int) -> int:
    """An axis counted from the front. Raises ``GraphError`` outside ``-rank .. rank - 1``."""
    if not -rank <= axis < rank:
        raise GraphError(f"there is no axis {axis} in {rank} dimension(s)")
    return axis % rank


def broadcast(*values: Value) -> tuple[int, ...]:
    """The shape that NumPy broadcasts to. Raises ``GraphError`` where shapes do not fit."""
    rank = max(len(v.shape) for v in values)
    result: list[int] = []
    for d in range(rank):
        found = {v.shape[d - rank] for v in values if len(v.shape) >= rank - d}
        wide = found - {1}
        if len(wide) > 1:
            shapes = " and ".join(str(list(v.shape)) for v in values)
            raise GraphError(f"shapes {shapes} do not broadcast")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def broadcast_index(tensor: Tensor, index: Sequence[Term]) -> tuple[Any, ...]:
    """The subscripts of a broadcast operand for an index of the result."""
    own = index[len(index) - tensor.rank :]
    return tuple(
        cast("Any", 0) if extent == 1 else i for i, extent in zip(own, tensor.shape, strict=True)
    )
