"""isl values as keys of caches: by their text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyopt.isl.api import Set


@dataclass(frozen=True)
class TextKeyed:
    """A set that is equal to another where both are written alike.

    isl brings both of two sets into a normal form to compare them, in place, and what is made of
    them later can come out in another form for it. How often a dict compares depends on hashes,
    and those on addresses (of ``None``, say): with sets as keys, plans differed by process.
    """

    value: Set = field(compare=False)
    text: str

    @staticmethod
    def of(value: Set) -> TextKeyed:
        """The set with its text."""
        return TextKeyed(value, str(value))
