"""Whether vector loops need more values at once than there are vector registers.

Values that are loaded for one use are operands of it, straight from memory. Those that several uses
share are kept, and beyond the registers they go to the stack: what a C compiler thinks that costs
decides about the loop.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from polyopt.codegen.ast.nodes import For, Node, Simd, assigns_in, walk
from polyopt.codegen.ast.visit import elements_in

if TYPE_CHECKING:
    from collections.abc import Iterable

#: vector registers of the processors whose vectors have 512 bits
REGISTERS = 32


def is_crowded(nodes: Iterable[Node]) -> bool:
    """Whether a vector loop loads more elements for several uses than there are registers."""
    vectors = (
        loop
        for node in nodes
        for loop in walk(node)
        if isinstance(loop, For) and isinstance(loop.kind, Simd)
    )
    return any(_shared(loop) > REGISTERS for loop in vectors)


def _shared(loop: For) -> int:
    """The elements that the values of a loop's body name more than once."""
    values = (value for assign in assigns_in(loop.body) for value in assign.values)
    times = Counter(element for value in values for element in elements_in(value))
    return sum(number > 1 for number in times.values())
