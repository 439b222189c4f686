"""Where vector loops are in printed C: what reports of compilers are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.codegen.ast.nodes import assigns_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from polyopt.codegen.ast.nodes import For


@dataclass(frozen=True)
class VectorLoop:
    """A loop of a translation unit that is marked as a vector loop (``#pragma omp simd``).

    ``name`` is the plan's loop, such as ``out.x``; several loops of the C may be of one. ``first``
    and ``last`` are the lines of its head and its end, counted from 1.
    """

    name: str
    first: int
    last: int
    #: the C function that it is in
    function: str
    #: the arrays of the program that it writes to, or to buffers of
    writes: tuple[str, ...]

    @property
    def lines(self) -> range:
        """Those that a report may name: from its ``#pragma omp simd``, as clang does before LLVM
        15, to its end.
        """
        return range(self.first - 1, self.last + 1)


class Head(str):
    """The line with which a vector loop begins, and the loop.

    Printers put lines together without knowing how many come before: so the lines themselves say
    what they are.
    """

    __slots__ = ("length", "loop")
    loop: For
    #: the lines of the loop
    length: int

    @classmethod
    def of(cls, text: str, loop: For, body: Iterable[str]) -> Head:
        """The head of a loop that has these lines after it."""
        made = cls(text)
        made.loop, made.length = loop, 1 + sum(map(height, body))
        return made


class Opening(str):
    """The line with which a function begins, and its name."""

    __slots__ = ("name",)
    name: str

    @classmethod
    def of(cls, text: str, name: str) -> Opening:
        """The first line of a function of that name."""
        made = cls(text)
        made.name = name
        return made


def vector_loops(lines: Iterable[str], before: int) -> Iterator[VectorLoop]:
    """The vector loops in lines that so many come before, in their order."""
    function = ""
    for number, line in numbered(lines, before):
        if isinstance(line, Opening):
            function = line.name
        if isinstance(line, Head):
            last = number + line.length - 1
            name = line.loop.iterator.origin
            yield VectorLoop(name, number, last, function, _writes(line.loop))


def numbered(lines: Iterable[str], before: int) -> Iterator[tuple[int, str]]:
    """Printed lines with their numbers in the file, of which so many come before the first."""
    number = before + 1
    for line in lines:
        yield number, line
        number += height(line)


def height(line: str) -> int:
    """The lines that a text takes when it is written as one."""
    return 1 + line.count("\n")


def _writes(loop: For) -> tuple[str, ...]:
    stores = (a.buffer for a in assigns_in(loop.body) if not a.declares)
    names = (b.origin.partition("@")[0] for b in stores if b is not None)
    return tuple(dict.fromkeys(filter(None, names)))
