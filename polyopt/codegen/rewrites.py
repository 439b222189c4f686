"""What is done to the loops of a function before they are printed, in this order.

Each rewrite is a file of its own, which says what it needs and leaves alone. Functions that some of
them call have no place among other code: C that is put into the user's goes without these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.accumulate import accumulate
from polyopt.codegen.chains import chains_apart
from polyopt.codegen.common import in_common
from polyopt.codegen.hoist import hoist
from polyopt.codegen.lookups import look_up
from polyopt.codegen.loops import loops_in
from polyopt.codegen.masked import unmasked
from polyopt.codegen.neighbours import neighbours
from polyopt.codegen.streams import stream
from polyopt.codegen.transposes import transpose
from polyopt.codegen.unused import without_unused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.loops import Block, Buffer
    from polyopt.codegen.streams import Streams
    from polyopt.ir.types import ScalarType


@dataclass(frozen=True, eq=False)
class Known:
    """What rewrites need to know of a function."""

    #: of arrays and buffers, by their names in C
    types: Mapping[str, ScalarType]
    streams: Streams
    #: buffers on the stack that live as long as the function
    buffers: tuple[Buffer, ...]
    #: locals of statements: their names may be used again by others
    locals: frozenset[str]
    #: whether the function stands by itself, and not among other code
    is_whole: bool


def rewritten(block: Block, known: Known, taken: set[str]) -> Block:
    """The block of a function as it is printed.

    ``taken`` are names that mean something else; those of new variables are added.
    """
    block = hoist(block, taken)
    if known.is_whole:
        block = look_up(block, taken)
        block = transpose(block, known.types, taken)
        block = stream(block, known.streams, taken)
    block = accumulate(block, taken)
    block = chains_apart(block, taken)
    block = without_unused(replace(block, buffers=(*known.buffers, *block.buffers)))
    # a local of one statement may be called as the iterator of another's loop
    iterators = {loop.iterator for loop in loops_in(block)}
    others = (taken - known.locals) | iterators
    block = unmasked(in_common(block, others), heard=known.is_whole)
    taken |= iterators
    return neighbours(block, known.types, taken) if known.is_whole else block
