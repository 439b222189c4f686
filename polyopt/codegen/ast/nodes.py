"""Statements of the C tree, between isl's AST and the printers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, overload

from polyopt.codegen.ast.expr import Call, Expr, Run, Var
from polyopt.codegen.ast.visit import base_of, elements_in, substitute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polyopt.codegen.ast.expr import CType, Symbol


@dataclass(frozen=True)
class AffineExpr:
    """An affine subexpression, and what a variable with its value is called after."""

    hint: str
    value: Expr


@dataclass(frozen=True)
class Local:
    """``const type symbol = value;``: a value that the statement after it reads.

    One that is ``fixed`` is the same in all iterations of the vector loop around. One with a
    ``table`` is an element of a row of so many, at a place that data decide.
    """

    symbol: Symbol
    value: Expr
    fixed: bool = False
    table: int = 0


@dataclass(frozen=True)
class Assign:
    """``target = value;``, or ``type target = value;`` where it declares a variable."""

    target: Expr
    value: Expr
    declares: bool = False
    #: whether the variable that it declares never changes
    constant: bool = False
    #: the affine subscripts and tests in it
    forms: tuple[AffineExpr, ...] = ()
    #: what the value reads, declared before it; statements after it may read them too
    locals: tuple[Local, ...] = ()

    @property
    def buffer(self) -> Symbol | None:
        """The variable, array or buffer that is written to."""
        return base_of(self.target)

    @property
    def type(self) -> CType:
        """The type of the target."""
        return self.target.type

    @property
    def values(self) -> tuple[Expr, ...]:
        """Everything that it computes, in order."""
        return (*(local.value for local in self.locals), self.value)

    @property
    def read(self) -> tuple[Expr, ...]:
        """Everything that it reads: what it computes, and the subscripts of its target."""
        return (*self.values, *self.target.children)

    @property
    def loads(self) -> tuple[Expr, ...]:
        """The elements that it reads, each once."""
        return tuple(dict.fromkeys(e for part in self.read for e in elements_in(part)))

    @property
    def declared(self) -> Symbol | None:
        """The variable that it declares."""
        return base_of(self.target) if self.declares else None


@dataclass(frozen=True)
class Do:
    """``call;``: the task of a parallel loop, or a helper that fills a buffer."""

    call: Call | Run


@dataclass(frozen=True)
class Barrier:
    """An empty instruction, which compilers make no vectors of; with ``memory`` they take all that
    is in memory to have changed."""

    memory: bool


@dataclass(frozen=True)
class While:
    """``while (condition) body``; with a ``step``, ``for (; condition; step) body``.

    It is ``do body while (condition)`` where the test comes ``last``. No condition is always true.
    """

    condition: Expr | None
    body: Block
    step: tuple[Assign, ...] = ()
    last: bool = False


@dataclass(frozen=True)
class Jump:
    """``break;`` or ``continue;``."""

    word: str


#: what a kernel returns where an element that is a subscript is outside of what it indexes; of
#: exported libraries, ``BAD_INDEX`` is the same number
BAD_INDEX = 8


@dataclass(frozen=True)
class Return:
    """``return status;``: a kernel's end without results."""

    status: int

    @property
    def word(self) -> str:
        """It as text."""
        return f"return {self.status}"


@dataclass(frozen=True)
class Opaque:
    """A non-affine region: passes see what it names, and not into it."""

    body: Block


@dataclass(frozen=True)
class Stack:
    """Automatic storage: a local of the block that declares it, in registers where it is scalar."""


@dataclass(frozen=True)
class Heap:
    """Allocated storage, from before the loop that it is private to until after it."""

    #: the allocation that holds one such buffer per thread
    pool: Symbol


#: where a buffer lies
MemorySpace = Stack | Heap


@dataclass(frozen=True, eq=False)
class Buffer:
    """A scratch array, or a scalar where it has no dimensions of more than one element."""

    symbol: Symbol
    extents: tuple[Expr, ...]
    space: MemorySpace = field(default_factory=Stack)
    bytes: int | None = None

    @property
    def is_allocated(self) -> bool:
        """Whether it lies in the heap."""
        return isinstance(self.space, Heap)

    @property
    def is_scalar(self) -> bool:
        """Whether it is a plain variable."""
        return not self.extents


@dataclass(frozen=True)
class Sequential:
    """A loop as it stands; ``unroll`` iterations are for compilers to write out, if not 0."""

    unroll: int = 0


@dataclass(frozen=True)
class Parallel:
    """A loop that threads share: static chunks, dynamic ones, or in the order of ``ordered`` parts.

    ``trips`` is about how many iterations it has.
    """

    trips: Expr
    static: bool = False
    ordered: bool = False


@dataclass(frozen=True)
class Simd:
    """A vector loop. ``width`` is its safe length, or 0; ``lanes`` those of aligned loads, or 0;
    ``sums`` are (operation, local) of which each lane has its own."""

    width: int = 0
    lanes: int = 0
    sums: tuple[tuple[str, Symbol], ...] = ()


@dataclass(frozen=True)
class Scalar:
    """A loop that compilers are asked not to make vectors of."""


LoopKind = Sequential | Parallel | Simd | Scalar


@dataclass(frozen=True)
class For:
    """``for (int64_t iterator = start; condition; iterator += step) body``."""

    iterator: Symbol
    start: Expr
    condition: Expr
    step: int
    body: Block
    kind: LoopKind = field(default_factory=Sequential)
    #: heap buffers that each thread of a parallel loop needs one of
    private: tuple[Buffer, ...] = ()

    def test_at(self, value: Expr) -> Expr:
        """The loop's condition for a value of its iterator; for its start, whether it runs."""
        return substitute(self.condition, {Var(self.iterator): value})

    @property
    def is_sequential(self) -> bool:
        """Whether nothing is asked of it."""
        return isinstance(self.kind, Sequential)


@dataclass(frozen=True)
class If:
    """``if (condition) then else other``."""

    condition: Expr
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


Node = Assign | Do | Barrier | While | Jump | Return | Opaque | For | If | Block


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below one; of an opaque region none."""
    match node:
        case Block():
            return node.body
        case For():
            return (node.body,)
        case If():
            return (node.then, node.other) if node.other is not None else (node.then,)
        case While():
            return (*node.step, node.body)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it, in textual order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))


def rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with other ones directly below it."""
    match node:
        case Block():
            return replace(node, body=tuple(map(change, node.body)))
        case For():
            return replace(node, body=as_block(change(node.body)))
        case If():
            other = None if node.other is None else as_block(change(node.other))
            return replace(node, then=as_block(change(node.then)), other=other)
        case _:
            return node


def as_block(node: Node) -> Block:
    """A node as a block."""
    return node if isinstance(node, Block) else Block((node,))


def with_loops(block: Block, change: Callable[[For], Node | None]) -> Block:
    """The block with other nodes for its loops, from the outermost on; where ``change`` gives
    none, the loop is kept, and those inside are asked about."""

    def changed(node: Node) -> Node:
        made = change(node) if isinstance(node, For) else None
        return rebuilt(node, changed) if made is None else made

    return as_block(rebuilt(block, changed))


def assigns_in(node: Node) -> tuple[Assign, ...]:
    """The assignments in a node."""
    return tuple(found for found in walk(node) if isinstance(found, Assign))


def loops_in(node: Node) -> tuple[For, ...]:
    """The loops in a node."""
    return tuple(found for found in walk(node) if isinstance(found, For))


def unscoped(node: Node) -> tuple[Node, ...]:
    """What a node holds if it is a block that is no scope, or the node itself."""
    if isinstance(node, Block) and not (node.scoped or node.buffers or node.ordered):
        return tuple(part for inner in node.body for part in unscoped(inner))
    return (node,)


def plain(block: Block) -> tuple[Assign, ...] | None:
    """What a body assigns, where it does nothing else."""
    found: list[Assign] = []
    for node in (part for inner in block.body for part in unscoped(inner)):
        if not isinstance(node, Assign) or node.declares:
            return None
        found.append(node)
    return None if block.buffers else tuple(found)


def only(block: Block) -> Node | None:
    """The one node in a block that declares nothing."""
    if block.buffers or len(block.body) != 1:
        return None
    (node,) = block.body
    return only(node) if isinstance(node, Block) else node


def expressions(node: Node) -> Iterator[Expr]:
    """The expressions of a node itself, without those of the nodes below it."""
    match node:
        case Assign():
            yield from (node.target, *node.values)
            yield from (Var(local.symbol) for local in node.locals)
        case Do():
            yield node.call
        case For():
            yield from (Var(node.iterator), node.start, node.condition)
            yield from (extent for b in node.private for extent in b.extents)
            yield from (node.kind.trips,) if isinstance(node.kind, Parallel) else ()
        case If():
            yield node.condition
        case While(condition=condition):
            yield from () if condition is None else (condition,)
        case Block():
            yield from (extent for b in node.buffers for extent in b.extents)
        case Opaque():
            yield from (e for inner in walk(node.body) for e in expressions(inner))
        case Barrier() | Jump() | Return():
            return


@overload
def with_expressions(node: Assign, change: Callable[[Expr], Expr]) -> Assign: ...
@overload
def with_expressions(node: Node, change: Callable[[Expr], Expr]) -> Node: ...
def with_expressions(node: Node, change: Callable[[Expr], Expr]) -> Node:
    """The node with what ``change`` makes of each of its own expressions, as ``rebuilt`` is with
    other nodes below it. Buffers, what it declares, and opaque regions stay."""
    match node:
        case Assign():
            target = node.target if node.declares else change(node.target)
            locals_ = tuple(replace(v, value=change(v.value)) for v in node.locals)
            return replace(node, target=target, value=change(node.value), locals=locals_)
        case Do():
            call = node.call.with_children(tuple(map(change, node.call.children)))
            assert isinstance(call, (Call, Run))
            return Do(call)
        case For():
            kind = node.kind
            kind = replace(kind, trips=change(kind.trips)) if isinstance(kind, Parallel) else kind
            start, condition = change(node.start), change(node.condition)
            return replace(node, start=start, condition=condition, kind=kind)
        case If():
            return replace(node, condition=change(node.condition))
        case While(condition=Expr() as condition):
            return replace(node, condition=change(condition))
        case _:
            return node


def symbols_in(node: Node) -> frozenset[Symbol]:
    """Every symbol in a node and below it."""
    found: set[Symbol] = set()
    for inner in walk(node):
        for expr in expressions(inner):
            found |= expr.symbols
    return frozenset(found)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a task: a scalar, or an array (``type name[restrict first][...]``)."""

    symbol: Symbol
    extents: tuple[Expr, ...] | None = None
    constant: bool = False
    #: a pointer to one element
    pointer: bool = False


@dataclass(frozen=True)
class Task:
    """What threads share iterations of, as ``static void name(parameters) body``."""

    name: Symbol
    parameters: tuple[Parameter, ...]
    body: Block


@dataclass(frozen=True)
class Function:
    """A whole kernel: its arguments, buffers that live for the call, and its body."""

    name: str
    #: the parameters in C, but for the number of threads; none of code among other code
    arguments: tuple[Parameter, ...]
    body: Block
    buffers: tuple[Buffer, ...]
    #: buffers of which each thread has its own
    private: tuple[Buffer, ...] = ()
    #: functions that it calls
    tasks: tuple[Task, ...] = ()
    #: statement texts for the head comment
    notes: tuple[str, ...] = ()
    #: the condition, over the sizes, that there is too little work to share; none if unknown
    little_work: Expr | None = None

    def with_bodies(self, change: Callable[[Block], Block]) -> Function:
        """The function with what ``change`` makes of its body, and of those of its tasks."""
        tasks = tuple(replace(task, body=change(task.body)) for task in self.tasks)
        return replace(self, body=change(self.body), tasks=tasks)
