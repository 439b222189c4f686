"""How code that stands among other code names the arrays, scalars and sizes of its surroundings."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Foreign, Symbol, Var, scalar
from polyopt.codegen.ast.names import names_in
from polyopt.codegen.expressions.indices import (
    folded_start,
    index_number,
    index_operation,
    index_variable,
)
from polyopt.codegen.printers.c_expr import PRIMARY, UNARY
from polyopt.ir.types import I64
from polyopt.isl import param_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.codegen.ast.expr import Expr
    from polyopt.codegen.expressions.lowered import Lowered
    from polyopt.ir.scop import Scop
    from polyopt.ir.types import ScalarType
    from polyopt.isl import Set


@dataclass(frozen=True)
class HostNames:
    """C texts for what the surroundings declare."""

    #: array -> text of an element: ``A[{0}][{1}]``; ``{(0)}`` is an operand of an operator
    elements: Mapping[str, str] = field(default_factory=dict[str, str])
    #: parameter -> text
    sizes: Mapping[str, str] = field(default_factory=dict[str, str])
    #: parameter -> the type of its text, where that is not ``int64_t``
    types: Mapping[str, ScalarType] = field(default_factory=dict[str, "ScalarType"])
    #: array that is folded -> per inner dimension the parameters, and numbers added to them, whose
    #: product is its extent
    folded: Mapping[str, tuple[tuple[tuple[str, int], ...], ...]] = field(
        default_factory=dict[str, tuple[tuple[tuple[str, int], ...], ...]]
    )
    #: identifiers of the file: new names differ from them
    taken: frozenset[str] = frozenset()

    @cached_property
    def is_given(self) -> bool:
        """Whether there are surroundings."""
        return bool(self.taken)

    @cached_property
    def bases(self) -> Mapping[str, str]:
        """The name that an array's elements begin with."""
        return {array: names_in(text)[0] for array, text in self.elements.items()}

    @cached_property
    def used(self) -> frozenset[str]:
        """The identifiers in all texts: what an iterator must not hide."""
        texts = (*self.elements.values(), *self.sizes.values())
        return frozenset(name for text in texts for name in names_in(text))

    def params(self, scop: Scop, symbols: Mapping[str, Symbol]) -> dict[str, Lowered]:
        """The sizes of a program, where its context holds; those without a text by ``symbols``."""
        nodes = {name: Var(symbol) for name, symbol in symbols.items()}
        nodes |= {name: self._size(name) for name in self.sizes}
        return {
            name: index_variable(
                nodes[name], _bounds(scop.context, name, self.types.get(name, I64))
            )
            for name in scop.params
            if name in nodes
        }

    def untested(self) -> dict[str, Lowered]:
        """The surroundings' sizes, where they may have any value."""
        return {name: index_variable(self._size(name)) for name in self.sizes}

    def _size(self, name: str) -> Expr:
        text = self.sizes[name]
        level = UNARY if text.startswith("(") else PRIMARY
        return Foreign(text, self.types.get(name, I64), level)

    def element(
        self, array: Symbol, index: Sequence[Lowered], sizes: Mapping[str, Lowered]
    ) -> Foreign:
        """One element by its subscripts; ``sizes`` are those of the program."""
        name = array.origin
        if name in self.folded:
            extents = [
                [
                    index_operation("+", sizes[n], index_number(by)) if by else sizes[n]
                    for n, by in names
                ]
                for names in self.folded[name]
            ]
            first, *inner = index
            index = (folded_start(first, inner, extents), *inner)
        text = self.elements[name]
        level = UNARY if text.startswith("*") else PRIMARY
        nodes = tuple(subscript.node for subscript in index)
        return Foreign(text, scalar(array.type), level, nodes, array)


def _bounds(context: Set, name: str, type_: ScalarType) -> tuple[int, int]:
    """What a size of a type can be in the context."""
    low, high = type_.range
    if type_ == I64 or context.plain_is_universe():
        return low, high
    least, most = param_bounds(context, name)
    return max(low, low if least is None else least), min(high, high if most is None else most)
