"""How code that stands among other code names the arrays, scalars and sizes of its surroundings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.codegen.ctext import UNARY
from polyopt.codegen.indices import folded_start, index_number, index_operation, index_variable
from polyopt.codegen.names import c_name, names_in
from polyopt.ir.types import I64
from polyopt.isl import param_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.codegen.ctext import CText
    from polyopt.ir.scop import Scop
    from polyopt.ir.types import ScalarType
    from polyopt.isl import Set

_SLOT = re.compile(r"\{(\d+)\}|\{\((\d+)\)\}")


@dataclass(frozen=True)
class Spelling:
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
    def names(self) -> Mapping[str, str]:
        """The texts of sizes, and of arrays the name that their elements begin with."""
        bases = {array: names_in(text)[0] for array, text in self.elements.items()}
        return {**self.sizes, **bases}

    @cached_property
    def used(self) -> frozenset[str]:
        """The identifiers in all texts: what an iterator must not hide."""
        texts = (*self.elements.values(), *self.sizes.values())
        return frozenset(name for text in texts for name in names_in(text))

    def renamed(self, names: Mapping[str, str]) -> Spelling:
        """The same with other names in all texts, which are then taken."""
        word = re.compile(rf"\b(?:{'|'.join(names)})\b")

        def changed(texts: Mapping[str, str]) -> dict[str, str]:
            return {k: word.sub(lambda w: names[w.group()], text) for k, text in texts.items()}

        return replace(
            self,
            elements=changed(self.elements),
            sizes=changed(self.sizes),
            taken=self.taken | set(names.values()),
        )

    def params(self, scop: Scop, texts: Mapping[str, str]) -> dict[str, CText]:
        """The sizes of a program, by their ``texts``, where its context holds."""
        types = {name: self.types.get(name, I64) for name in scop.params}
        return {
            name: index_variable(
                texts.get(name, c_name(name)), type_, _bounds(scop.context, name, type_)
            )
            for name, type_ in types.items()
        }

    def untested(self) -> dict[str, CText]:
        """The surroundings' sizes, where they may have any value."""
        return {n: index_variable(t, self.types.get(n, I64)) for n, t in self.sizes.items()}

    def element(self, array: str, index: Sequence[CText], sizes: Mapping[str, CText]) -> str:
        """The text of one element for its subscripts; ``sizes`` are those of the program."""
        if array in self.folded:
            extents = [
                [
                    index_operation("+", sizes[n], index_number(by)) if by else sizes[n]
                    for n, by in names
                ]
                for names in self.folded[array]
            ]
            first, *inner = index
            index = (folded_start(first, inner, extents), *inner)

        def filled(slot: re.Match[str]) -> str:
            if slot.group(1) is not None:
                return index[int(slot.group(1))].text
            return index[int(slot.group(2))].at(UNARY)

        return _SLOT.sub(filled, self.elements[array])


def _bounds(context: Set, name: str, type_: ScalarType) -> tuple[int, int]:
    """What a size of a type can be in the context."""
    low, high = type_.range
    if type_ == I64 or context.plain_is_universe():
        return low, high
    least, most = param_bounds(context, name)
    return max(low, low if least is None else least), min(high, high if most is None else most)
