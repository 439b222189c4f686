"""Operators on blocks of channels, derived from their stages on channels one after the other.

``[n][c]...`` is kept as ``[n][c / b]...[b]``. A stage with a row for each channel is given the
loops of blocks and lanes in place of that of channels; where it reads a tensor at its own channel,
it reads that block and lane. An operator that reads another channel anywhere has no such form.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from polyopt.frontend import stages as po
from polyopt.frontend.stages.grids import Border, Grid, Input, Stage
from polyopt.frontend.stages.term import Term
from polyopt.graph.operators import Maker, Operator, Result, Tensor, extent_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.frontend.stages.reductions import Reduction
    from polyopt.graph.ir.graph import Attribute, Value

    Options = dict[str, Attribute]

#: what the name of an operator's form in blocks ends with
SUFFIX = "_in_blocks"


class NotByChannelError(Exception):
    """A stage reads other channels than its own: the operator has no form in blocks."""


def in_blocks(plain: Operator) -> Operator:
    """The form of an operator on blocks of channels; ``blocked`` are the operands that are.

    Its ``build`` raises ``NotByChannelError`` where stages read other channels than their own.
    """

    def build(
        make: Maker, *operands: Tensor | None, blocked: Sequence[int], **options: Attribute
    ) -> Tensor:
        return _built(plain, make, operands, blocked, options)

    def rule(*operands: Value | None, blocked: Sequence[int], **options: Attribute) -> Result:
        lanes = [operands[k].shape[-1] for k in blocked]  # type: ignore[union-attr]
        given = [
            replace(each, shape=_joined(each.shape)) if each and k in blocked else each
            for k, each in enumerate(operands)
        ]
        said = plain.infer(given, options)
        return Result(_split(said.shape, lanes[0]), said.dtype)

    own = inspect.signature(plain.build)
    extra = inspect.Parameter("blocked", inspect.Parameter.KEYWORD_ONLY)
    build.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*own.parameters.values(), extra]
    )
    return Operator(f"{plain.name}{SUFFIX}", build, rule, form_of=plain.form_of or plain.name)


def _joined(shape: tuple[int, ...]) -> tuple[int, ...]:
    """``[n][c / b]...[b]`` as ``[n][c]...``."""
    return (shape[0], shape[1] * shape[-1], *shape[2:-1])


def _split(shape: tuple[int, ...], lanes: int) -> tuple[int, ...]:
    """``[n][c]...`` as ``[n][c / b]...[b]``."""
    return (shape[0], shape[1] // lanes, *shape[2:], lanes)


def _built(
    plain: Operator,
    make: Maker,
    operands: Sequence[Tensor | None],
    blocked: Sequence[int],
    options: Options,
) -> Tensor:
    made: list[Tensor] = []
    grids: dict[int, Grid] = {}
    given = list(operands)
    lanes = 0
    for k in blocked:
        tensor = operands[k]
        assert tensor is not None
        lanes, shape = tensor.shape[-1], _joined(tensor.shape)
        stand = po.input(tensor.grid.name, tensor.dtype.name, [extent_of(e) for e in shape])
        grids[id(stand)] = tensor.grid
        given[k] = Tensor(stand, shape, tensor.dtype)
    first = given[blocked[0]]
    assert first is not None
    blocks = _Blocks(first.shape[1], lanes, grids)
    result = plain.build(_Recorder(make.base, make.dtype, make.fresh, made), *given, **options)
    for tensor in made:
        blocks.add(tensor)
        if blocks.others:
            raise NotByChannelError
    grid = blocks.grids.get(id(result.grid))
    if not isinstance(grid, Input | Stage) or result.rank != first.rank:
        raise NotByChannelError
    return Tensor(grid, _split(result.shape, lanes), result.dtype)


@dataclass(frozen=True, eq=False)
class _Recorder(Maker):
    """A maker that keeps what it made, in order."""

    made: list[Tensor] = field(default_factory=list[Tensor])

    def stage(self, *args: Any, **options: Any) -> Tensor:  # noqa: ANN401
        """As of ``Maker``."""
        tensor = super().stage(*args, **options)
        self.made.append(tensor)
        return tensor

    def steps(self, count: int) -> Any:  # noqa: ANN401, ARG002
        """Recurrences stay as they are."""
        raise NotByChannelError


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Stages of channels as stages of blocks: grids by the identity of what they stand for."""

    channels: int
    lanes: int
    grids: dict[int, Grid]
    #: grids that have blocks and lanes
    split: set[int] = field(default_factory=set[int])
    #: reads of other channels than a stage's own
    others: list[Term] = field(default_factory=list[Term])

    def __post_init__(self) -> None:
        self.split.update(self.grids)

    def add(self, tensor: Tensor) -> None:
        """One more stage, rewritten."""
        stage = tensor.grid
        assert isinstance(stage, Stage)
        is_split = tensor.rank > 1 and tensor.shape[1] == self.channels
        names = [str(index.payload) for index in stage.indices]
        shape = tensor.shape

        def element(*new: Term) -> Term:
            at: dict[int, Term] = {}
            own = None
            if is_split:
                own = _Channel(stage.indices[1], new[1], new[-1])
                new = (new[0], new[1] * self.lanes + new[-1], *new[2:-1])
            at.update((id(old), term) for old, term in zip(stage.indices, new, strict=True))
            return _Rewriting(self, at, own).of(stage.expression)

        if is_split:
            shape = _split(shape, self.lanes)
            names.append(next(n for n in ("lane", "lane_", "lane__") if n not in names))
            self.split.add(id(stage))
        extents = [extent_of(e) for e in shape] or [1]
        self.grids[id(stage)] = po.stage(
            stage.name, extents, element, type=tensor.dtype.name, indices=names
        )


@dataclass(frozen=True, eq=False)
class _Channel:
    """The index of a stage's channel, and the block and lane that it is."""

    index: Term
    block: Term
    lane: Term


@dataclass(frozen=True, eq=False)
class _Rewriting:
    """A walk over one stage's expression."""

    blocks: _Blocks
    #: by the identity of an index, what it is now
    at: dict[int, Term]
    own: _Channel | None
    known: dict[int, Term] = field(default_factory=dict[int, Term])

    def of(self, node: Term) -> Term:
        """The term with new indices; a shared one stays shared."""
        if id(node) not in self.known:
            self.known[id(node)] = self._made(node)
        return self.known[id(node)]

    def _made(self, node: Term) -> Term:
        match node.op:
            case "index":
                return self.at.get(id(node), node)
            case "load":
                return self._load(node)
            case "reduce":
                return replace(node, payload=self._reduction(node.payload))
            case _:
                return replace(node, args=tuple(map(self.of, node.args)))

    def _load(self, node: Term) -> Term:
        grid: Grid = node.payload
        inner = grid.grid if isinstance(grid, Border) else grid
        now = self.blocks.grids.get(id(inner), inner)
        args = list(map(self.of, node.args))
        if id(inner) in self.blocks.split:
            if self.own is None or node.args[1] is not self.own.index:
                self.blocks.others.append(node)  # what runs now may raise errors of users alone
                return node
            args = [args[0], self.own.block, *args[2:], self.own.lane]
        if isinstance(grid, Border):
            value = None if grid.value is None else self.of(grid.value)
            assert isinstance(now, Input | Stage)
            now = Border(now.name, now.ranges, grid.origin, now, grid.kind, value)
        return replace(node, args=tuple(args), payload=now)

    def _reduction(self, given: Reduction) -> Reduction:
        ranges = tuple((self.of(low), self.of(high)) for low, high in given.ranges)
        return replace(given, ranges=ranges, body=self.of(given.body))


def has_form(
    plain: Operator,
    operands: Sequence[Value | None],
    blocked: Sequence[int],
    lanes: int,
    options: Options,
) -> bool:
    """Whether an operator has a form for these operands, of which some would be in blocks."""
    if plain.is_view or plain.schedule is not None:
        return False
    names = count()

    def fresh(base: str) -> str:
        return f"{base}_{next(names)}"

    given = [replace(v, shape=_split(v.shape, lanes)) if v and k in blocked else v
             for k, v in enumerate(operands)]  # fmt: skip
    dtype = plain.infer(operands, options).dtype
    try:
        _built(plain, Maker(plain.name, dtype, fresh), [_stand(v, fresh) for v in given],
               blocked, options)  # fmt: skip
    except NotByChannelError:
        return False
    return True


def _stand(value: Value | None, fresh: Callable[[str], str]) -> Tensor | None:
    """An operand of that shape and type."""
    if value is None:
        return None
    extents = [extent_of(e) for e in value.shape] or [1]
    return Tensor(po.input(fresh("x"), value.dtype.name, extents), value.shape, value.dtype)
