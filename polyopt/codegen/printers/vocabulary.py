"""Words of C that no program declares: what they are called where it is printed, and which it uses.

Types, functions of the C library and of code generation's own, macros and pragmas. What a file has
before its functions follows from what these use (``headers.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Vector
from polyopt.codegen.ast.names import tokens, vector_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.ast.expr import CType


@dataclass(frozen=True)
class Uses:
    """What functions take from what stands before them."""

    #: the functions that they call
    called: frozenset[str]
    #: the types of vectors that they name
    vectors: frozenset[Vector]
    #: the pragmas of OpenMP's: ``parallel``, ``simd``, ``ordered``
    pragmas: frozenset[str]
    #: all their identifiers
    names: frozenset[str]
    #: whether some are called by others
    tasks: bool


def uses_in(text: str) -> Uses:
    """What printed functions use."""
    words = tokens(text)
    names = frozenset(
        word
        for before, word in pairwise(("", *words))
        if word.isidentifier() and before != "pragma"
    )
    return Uses(
        frozenset(name for name, after in pairwise(words) if after == "(") & names,
        frozenset(vector for name in names if (vector := vector_type(name)) is not None),
        frozenset(word for before, word in pairwise(words) if before == "omp"),
        names,
        ("static", "void") in pairwise(words),
    )


@dataclass(eq=False)
class Vocabulary:
    """Says what is called how, and takes note of it."""

    #: names that are something else here -> what is printed for them
    others: Mapping[str, str] = field(default_factory=dict[str, str])
    called: set[str] = field(default_factory=set[str])
    vectors: set[Vector] = field(default_factory=set[Vector])
    pragmas: set[str] = field(default_factory=set[str])
    names: set[str] = field(default_factory=set[str])

    def word(self, name: str) -> str:
        """What a name is here."""
        self.names.add(name)
        return self.others.get(name, name)

    def type(self, kind: CType) -> str:
        """A type."""
        if isinstance(kind, Vector):
            self.vectors.add(kind)
        return self.word(kind.c_name)

    def function(self, name: str) -> str:
        """A function that is called."""
        self.called.add(name)
        return self.word(name)

    def pragma(self, kind: str, clauses: str = "") -> str:
        """A pragma of OpenMP's."""
        self.pragmas.add(kind)
        return f"#pragma omp {kind}{clauses}"

    def uses(self, *, tasks: bool) -> Uses:
        """All that was printed by now."""
        return Uses(
            frozenset(self.called),
            frozenset(self.vectors),
            frozenset(self.pragmas),
            frozenset(self.names),
            tasks,
        )
