"""The body of a loop that threads share, as a function of its own.

rewrite: ``for (t) { body }`` with ``#pragma omp parallel for`` ->
``for (t) { f_t(H, W, img, out, t); }``, and before it
``static void f_t(int64_t H, int64_t W, const float img[restrict H][W], ..., int64_t t) { body }``

Compilers make such a function of the loop themselves, but theirs gets its arrays through a
structure, where ``restrict`` says nothing any more: each store may then change what is loaded
next. As parameters the arrays stay apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.codegen.loops import (
    Assign,
    Block,
    Buffer,
    Call,
    For,
    Function,
    If,
    Node,
    Raw,
    Task,
    assigns_in,
    loops_in,
    walk,
)
from polyopt.codegen.names import fresh, function_name, names_in
from polyopt.codegen.program import declared
from polyopt.frontend.c.known import BARRIER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.codegen.program import Argument


def outline(function: Function, arguments: Sequence[Argument], taken: set[str]) -> Function:
    """The function with a task for every parallel loop that holds loops.

    ``taken`` are names that mean something else; those of the tasks are added.
    """
    known = {a.c_name: declared(a) for a in arguments}
    known |= {b.name: _parameter(b) for b in function.buffers}
    outliner = _Outliner(function.name, taken)
    body = outliner.block(function.body, known)
    return replace(function, body=body, tasks=tuple(outliner.tasks))


@dataclass
class _Outliner:
    """Replaces loop bodies by calls, and collects the functions called."""

    name: str
    taken: set[str]
    tasks: list[Task] = field(default_factory=list[Task])

    def block(self, block: Block, known: Mapping[str, str]) -> Block:
        """``known`` declares, as parameters, what the block may name: a name has its
        declaration."""
        known = {**known, **{b.name: _parameter(b) for b in block.buffers}}
        body: list[Node] = []
        for node in block.body:
            body.append(self._node(node, known))
            if isinstance(node, Assign) and node.declares and node.type is not None:
                known[node.target] = f"{node.type.c_name} {node.target}"
        return replace(block, body=tuple(body))

    def _node(self, node: Node, known: Mapping[str, str]) -> Node:
        match node:
            case Block():
                return self.block(node, known)
            case If():
                other = self.block(node.other, known) if node.other is not None else None
                return replace(node, then=self.block(node.then, known), other=other)
            case For():
                inner = {**known, node.iterator: f"int64_t {node.iterator}"}
                task = self._task(node, inner) if node.mark == "parallel" else None
                return task or replace(node, body=self.block(node.body, inner))
            case Assign() | Raw() | Call():
                return node

    def _task(self, loop: For, known: Mapping[str, str]) -> For | None:
        """The loop with a call for its body; ``None`` where the body is better left there."""
        written = {a.target for a in assigns_in(loop.body)}
        opaque = any(isinstance(n, Raw) and n.lines != (BARRIER,) for n in walk(loop.body))
        if opaque or not loops_in(loop.body) or written & known.keys():
            return None
        known = {**known, **{b.name: _parameter(b) for b in loop.private}}
        used = set(_names(loop.body))
        while more := {n for name in used & known.keys() for n in names_in(known[name])} - used:
            used |= more  # what extents name
        passed = [name for name in known if name in used]
        private = {b.name: f"{b.pool}[omp_get_thread_num()]" for b in loop.private}
        name = fresh(function_name(f"{self.name}_{loop.iterator}"), self.taken)
        self.taken.add(name)
        self.tasks.append(Task(name, tuple(known[n] for n in passed), loop.body))
        call = Call(name, tuple(private.get(n, n) for n in passed))
        return replace(loop, body=Block((call,)), private=())


def _parameter(buffer: Buffer) -> str:
    """A buffer as a parameter: an array by reference, one element by value."""
    first, *rest = buffer.extents or ("",)
    sizes = f"[restrict {first}]" + "".join(f"[{extent}]" for extent in rest)
    return f"{buffer.type.c_name} {buffer.name}{sizes if buffer.extents else ''}"


def _names(node: Node) -> Iterator[str]:
    """Every identifier in the text of a node."""
    for found in walk(node):
        match found:
            case Assign():
                texts = (found.target, *found.values)
            case For():
                texts = (found.start, found.condition, found.trips)
                texts += tuple(extent for b in found.private for extent in b.extents)
            case If():
                texts = (found.condition,)
            case Block():
                texts = tuple(extent for b in found.buffers for extent in b.extents)
            case Call():
                texts = found.arguments
            case Raw():
                texts = found.lines
        for text in texts:
            yield from names_in(text)
