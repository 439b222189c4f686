"""How code that stands among other code names the arrays, scalars and sizes of its surroundings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.codegen.names import names_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SLOT = re.compile(r"\{(\d+)\}|\{\((\d+)\)\}")


@dataclass(frozen=True)
class Spelling:
    """C texts for what the surroundings declare."""

    #: array -> text of an element: ``A[{0}][{1}]``; ``{(0)}`` is an operand of an operator
    elements: Mapping[str, str] = field(default_factory=dict[str, str])
    #: parameter -> text
    sizes: Mapping[str, str] = field(default_factory=dict[str, str])
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

    def element(self, array: str, index: Sequence[str]) -> str:
        """The text of one element for the texts of its subscripts."""

        def filled(slot: re.Match[str]) -> str:
            if slot.group(1) is not None:
                return index[int(slot.group(1))]
            text = index[int(slot.group(2))]
            return text if re.fullmatch(r"\w+", text) else f"({text})"

        return _SLOT.sub(filled, self.elements[array])
