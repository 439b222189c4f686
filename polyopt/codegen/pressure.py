"""Whether vector loops need more values at once than there are vector registers.

Values that are loaded for one use are operands of it, straight from memory. Those that several uses
share are kept, and beyond the registers they go to the stack: what a C compiler thinks that costs
decides about the loop.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.codegen.loops import Assign, For, Node, walk

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
        if isinstance(loop, For) and loop.mark == "vector"
    )
    return any(_shared(loop) > REGISTERS for loop in vectors)


def _shared(loop: For) -> int:
    """The elements that the values of a loop's body name more than once."""
    assigns = [node for node in walk(loop.body) if isinstance(node, Assign)]
    loads = {text for assign in assigns for _, text in assign.loads}
    if len(loads) <= REGISTERS:
        return 0
    values = "\n".join(value for assign in assigns for value in assign.values)
    return sum(_is_twice(text, values) for text in loads)


def _is_twice(text: str, values: str) -> bool:
    """Whether an element is named twice: its text may be the end of a longer name's."""
    if values.count(text) < 2:  # soon told, and true of most
        return False
    return len(re.findall(rf"(?<!\w){re.escape(text)}", values)) > 1
