"""What lines of printed C come from: loops of the plan, and the arrays and buffers written to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.codegen.printers.vector_loops import Head, numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Line(str):
    """A line of C, and the name that its plan has for the loop it begins or the storage it writes.

    Printers put lines together without knowing how many come before: so the lines themselves say
    what they are.
    """

    __slots__ = ("origin",)
    origin: str

    @classmethod
    def of(cls, text: str, origin: str) -> Line:
        """A line with its origin, which is empty where it has none."""
        made = cls(text)
        made.origin = origin
        return made


def origins(lines: Iterable[str], before: int) -> Iterator[tuple[int, str]]:
    """The number and the origin of each line that has one; so many lines come before the first."""
    for number, line in numbered(lines, before):
        origin = line.origin if isinstance(line, Line) else ""
        if isinstance(line, Head):
            origin = line.loop.iterator.origin
        if origin:
            yield number, origin
