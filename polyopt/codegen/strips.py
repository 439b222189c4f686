"""Vector loops in strips, each with buffers of its values between one loop and the next."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.chelpers import helper_name
from polyopt.codegen.loops import Assign, Block, Buffer, For, Node
from polyopt.codegen.names import fresh, operand
from polyopt.ir.types import I64

if TYPE_CHECKING:
    from polyopt.ir.types import ScalarType


@dataclass(frozen=True)
class Strips:
    """A loop over ``start <= x < end``, for strips of so many iterations of a vector loop."""

    loop: For
    length: int
    start: str
    end: str
    #: the first value of the iterator that is not run
    past: str

    def place(self, behind: int = 0) -> str:
        """The subscript of an iteration in a buffer of the strip, ``behind`` other elements."""
        first = f" + {behind}" if behind else ""
        return f"[{self.loop.iterator} - {self.start}{first}]"

    @property
    def is_first(self) -> str:
        """Whether a strip is the first of the loop."""
        return f"{self.start} == {operand(self.loop.start)}"

    @property
    def is_last(self) -> str:
        """Whether a strip is the last of the loop."""
        return f"{self.end} == {operand(self.past)}"

    @property
    def count(self) -> str:
        """The iterations of a strip."""
        return f"{self.end} - {self.start}"

    def buffer(self, name: str, type_: ScalarType, before: int = 0) -> Buffer:
        """One element for each iteration of a strip, and so many ``before``."""
        return Buffer(name, type_, (str(before + self.length),), heap=False)

    def vector(self, *body: Node) -> For:
        """A vector loop over one strip."""
        condition = f"{self.loop.iterator} < {self.end}"
        inside = replace(self.loop, start=self.start, condition=condition, body=Block(body))
        return replace(inside, lanes=0)  # strips are too short for loads of whole vectors alone

    def around(self, *body: Node, buffers: tuple[Buffer, ...]) -> For:
        """The loop over strips."""
        past = f"{helper_name('min', I64)}({self.start} + {self.length}, {self.past})"
        end = Assign(self.end, past, type=I64, declares=True, constant=True)
        pattern = rf"\b{self.loop.iterator}\b"
        condition = re.sub(pattern, self.start, self.loop.condition)
        whole = Block((end, *body), buffers)
        return For(self.start, self.loop.start, condition, self.length, whole)


def strips_of(loop: For, length: int, taken: set[str]) -> Strips | None:
    """Strips of a vector loop; ``None`` where it is none, or its iterations depend on others.

    ``taken`` are names that mean something else; those of the strips are added.
    """
    x = loop.iterator
    bound = re.fullmatch(rf"{x} (<=?) (.*)", loop.condition)
    if loop.mark != "vector" or loop.width or loop.step != 1 or bound is None:
        return None
    past = bound[2] if bound[1] == "<" else f"{operand(bound[2])} + 1"
    start, end = (named(f"{x}_{name}", taken) for name in ("strip", "end"))
    return Strips(loop, length, start, end, past)


def named(name: str, taken: set[str]) -> str:
    """A name that is not taken, which is taken then."""
    found = fresh(name, taken)
    taken.add(found)
    return found


def plain(block: Block) -> tuple[Assign, ...] | None:
    """What a body assigns, where it does nothing else."""
    found: list[Assign] = []
    for node in block.body:
        inner = plain(node) if isinstance(node, Block) and not node.scoped else (node,)
        if inner is None or not all(isinstance(n, Assign) and not n.declares for n in inner):
            return None
        found += [n for n in inner if isinstance(n, Assign)]
    return None if block.buffers else tuple(found)
