"""LoopAST: the C program as a tree, between isl's AST and text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from polyopt.ir.types import ScalarType


@dataclass(frozen=True)
class Vector:
    """The C type of so many lanes of a scalar type, which ``vectors.py`` declares."""

    element: ScalarType
    lanes: int

    @property
    def c_name(self) -> str:
        """``f32x16``."""
        return f"{self.element.name}x{self.lanes}"

    def at(self, element: str) -> str:
        """The vector that starts at an element, wherever in memory that is."""
        return f"*({self.c_name}_at *)&{element}"


@dataclass(frozen=True)
class Form:
    """The text of a subscript or a test, a name for its value, and its type in C."""

    name: str
    text: str
    type: ScalarType


@dataclass(frozen=True)
class Local:
    """``const type name = value;``: a value that the statement after it reads.

    ``stem`` is what it is called after: an array, or nothing if it is one of several. One that is
    ``fixed`` is the same in all iterations of the vector loop around. One with a ``table`` is an
    element of a row of so many, at a place that data decide.
    """

    name: str
    type: ScalarType
    value: str
    fixed: bool = False
    table: int = 0
    stem: str = ""


@dataclass(frozen=True)
class Assign:
    """``target = value;``, or ``type target = value;`` where it declares a local."""

    target: str
    value: str
    #: the buffer that the target is an element of
    buffer: str = ""
    type: ScalarType | Vector | None = None
    #: (buffer, text) of every load in the value and in ``locals``
    loads: tuple[tuple[str, str], ...] = ()
    declares: bool = False
    #: whether the local that it declares never changes
    constant: bool = False
    #: the affine subscripts and tests in it
    forms: tuple[Form, ...] = ()
    #: what the value reads, declared before it; statements after it may read them too (common.py)
    locals: tuple[Local, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """Every text that it computes, in order."""
        return (*(local.value for local in self.locals), self.value)


@dataclass(frozen=True)
class Raw:
    """Lines that code generation does not look into: they read and write what they name."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Buffer:
    """A scratch array, or a scalar where it has no dimensions of more than one element.

    ``heap`` buffers are allocated before the loop that they are private to; others are locals.
    """

    name: str
    type: ScalarType
    extents: tuple[str, ...]
    heap: bool
    bytes: int | None = None

    @property
    def pool(self) -> str:
        """The name of the allocation that holds one such buffer per thread."""
        return f"{self.name}_of"

    @property
    def is_scalar(self) -> bool:
        """Whether it is a plain variable."""
        return not self.extents


@dataclass(frozen=True)
class For:
    """``for (int64_t iterator = start; condition; iterator += step) body``."""

    iterator: str
    start: str
    condition: str
    step: int
    body: Block
    #: "", "parallel", "vector", or "single" for vectors of one lane, which are none
    mark: str = ""
    width: int = 0
    #: number of iterations, for loops that threads share
    trips: str = ""
    #: heap buffers that each thread of a parallel loop needs one of
    private: tuple[Buffer, ...] = ()
    comment: str = ""
    #: (operation, local) of sums that each lane of a vector loop has its own of
    sums: tuple[tuple[str, str], ...] = ()
    #: whether threads run part of the body in the order of the iterations
    ordered: bool = False
    #: lanes of the whole vectors that neighbours come from (``neighbours.py``), or 0
    lanes: int = 0


@dataclass(frozen=True)
class If:
    """``if (condition) then else other``."""

    condition: str
    then: Block
    other: Block | None = None


@dataclass(frozen=True)
class Block:
    """Statements in order; local buffers first."""

    body: tuple[Node, ...]
    buffers: tuple[Buffer, ...] = ()
    #: whether it declares locals, and so needs braces among other statements
    scoped: bool = False
    #: whether threads run it in the order of the iterations that they share
    ordered: bool = False


@dataclass(frozen=True)
class Call:
    """``name(arguments);``: the task of a parallel loop, or a helper that fills a buffer."""

    name: str
    arguments: tuple[str, ...]


Node = Assign | Raw | For | If | Block | Call


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below one."""
    match node:
        case Block():
            return node.body
        case For():
            return (node.body,)
        case If():
            return (node.then, node.other) if node.other is not None else (node.then,)
        case Assign() | Raw() | Call():
            return ()


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it, in textual order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))


def with_loops(block: Block, change: Callable[[For], Node | None]) -> Block:
    """The block with other nodes for its loops, from the outermost on; where ``change`` gives
    none, the loop is kept, and those inside are asked about."""

    def changed(node: Node) -> Node:
        match node:
            case Block():
                return with_loops(node, change)
            case If():
                other = None if node.other is None else with_loops(node.other, change)
                return replace(node, then=with_loops(node.then, change), other=other)
            case For():
                return change(node) or replace(node, body=with_loops(node.body, change))
            case Assign() | Raw() | Call():
                return node

    return replace(block, body=tuple(map(changed, block.body)))


def types_in(block: Block, types: Mapping[str, ScalarType]) -> dict[str, ScalarType]:
    """``types`` of names, with those of all buffers that are declared in a block."""
    blocks = (node for node in walk(block) if isinstance(node, Block))
    return {**types, **{b.name: b.type for inner in blocks for b in inner.buffers}}


def assigns_in(node: Node) -> tuple[Assign, ...]:
    """The assignments in a node."""
    return tuple(found for found in walk(node) if isinstance(found, Assign))


def loops_in(node: Node) -> tuple[For, ...]:
    """The loops in a node."""
    return tuple(found for found in walk(node) if isinstance(found, For))


@dataclass(frozen=True)
class Task:
    """What threads share iterations of, as ``static void name(parameters) body``."""

    name: str
    parameters: tuple[str, ...]
    body: Block


@dataclass(frozen=True)
class Function:
    """A whole kernel: its prototype, buffers that live for the call, and its body."""

    name: str
    prototype: str
    body: Block
    buffers: tuple[Buffer, ...]
    #: buffers of which each thread has its own
    private: tuple[Buffer, ...] = ()
    #: functions that it calls
    tasks: tuple[Task, ...] = ()
    #: statement texts for the head comment
    notes: tuple[str, ...] = ()
    #: the condition, as C over the sizes, that there is too little work to share; "" if unknown
    little_work: str = ""
    unused: tuple[str, ...] = ()
