"""Values that several statements in a row need are computed once, before the first of them.

The rows of a block read the same rows of an inlined producer, and people the same expression once
per row. Compilers find it again, but for values with a choice in them.

rewrite: ``b[i] = (a[i] + a[i + 1]) / 2 + (a[i + 1] + a[i + 2]) / 2; b[i + 1] = (a[i + 1] + ...``
-> ``const float s = (a[i] + a[i + 1]) / 2; const float s2 = (a[i + 1] + a[i + 2]) / 2;
b[i] = s + s2; const float s3 = ...; b[i + 1] = s2 + s3;``

``repeated`` says before statements are printed which parts are to have a name (``shared.py``), and
``in_common`` leaves the first of the locals whose values are equal.

*Requires* that nothing between two statements writes what the value reads: by names of arrays,
which C keeps apart.

*Does not handle* values inside branches of choices, and values across loops.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.codegen.loops import Assign, Block, Call, For, If, Local, Node, Raw
from polyopt.codegen.loops import walk as nodes_in
from polyopt.codegen.names import local_name, names_in, renamed
from polyopt.codegen.shared import content

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from polyopt.codegen.leaves import Leaf
    from polyopt.ir.expr import Expr
    from polyopt.ir.types import ScalarType


def repeated(
    statements: Iterable[tuple[Leaf, Callable[[Expr], str]]],
) -> dict[Leaf, frozenset[int]]:
    """Ids of the inlined parts of each statement that are to have a name.

    Each statement comes with what prints its affine parts.
    """
    numbers: dict[tuple[object, ...], int] = {}
    values: dict[Leaf, dict[int, int]] = {}
    for leaf, text in statements:
        number = _numbering(numbers, text)
        values[leaf] = {id(part): number(part) for part, _array in leaf.assignment.inlined}
    computing = Counter(number for own in values.values() for number in set(own.values()))
    return {leaf: _parts_in_common(leaf, own, computing) for leaf, own in values.items()}


def _parts_in_common(
    leaf: Leaf, values: Mapping[int, int], computing: Mapping[int, int]
) -> frozenset[int]:
    """Parts of the arrays of which another statement needs an element too: an edge of the rows
    reads like the others."""
    inlined = leaf.assignment.inlined
    arrays = {array for part, array in inlined if computing[values[id(part)]] > 1}
    return frozenset(id(part) for part, array in inlined if array in arrays)


def _numbering(
    numbers: dict[tuple[object, ...], int], leaf_text: Callable[[Expr], str]
) -> Callable[[Expr], int]:
    """Numbers for the values of one statement, equal where ``numbers`` has them already."""
    seen: dict[int, int] = {}

    def number(expr: Expr) -> int:
        if id(expr) not in seen:
            operands = tuple(map(number, expr.children))
            key = (type(expr), expr.type, content(expr, leaf_text), *operands)
            seen[id(expr)] = numbers.setdefault(key, len(numbers))
        return seen[id(expr)]

    return number


@dataclass
class _Scope:
    """What a place in C sees: locals by type and value, and what each value reads."""

    used: set[str]
    names: dict[tuple[ScalarType, str], str] = field(
        default_factory=dict["tuple[ScalarType, str]", str]
    )
    reads: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def inner(self) -> _Scope:
        """The scope of braces inside."""
        return _Scope(set(self.used), dict(self.names), self.reads)

    def written(self, nodes: Iterable[Node]) -> None:
        """Forgets the values that these nodes may change."""
        within = [node for top in nodes for node in nodes_in(top)]
        if any(isinstance(node, (Raw, Call)) for node in within):
            self.names.clear()
        stores = {name for node in within if isinstance(node, Assign) for name in _stored(node)}
        self.names = {
            key: name for key, name in self.names.items() if not self.reads[name] & stores
        }


def in_common(block: Block, taken: Collection[str]) -> Block:
    """The block, where a local with the value of another in sight is that one.

    Locals are named anew, apart from the names ``taken``.
    """
    return _block(block, _Scope(set(taken)))


def _block(block: Block, scope: _Scope) -> Block:
    return replace(block, body=tuple(_node(node, scope) for node in block.body))


def _node(node: Node, scope: _Scope) -> Node:
    match node:
        case Assign():
            return _assign(node, scope)
        case Block():
            return _block(node, scope.inner() if node.buffers or node.scoped else scope)
        case If():
            then = _block(node.then, scope.inner())
            other = _block(node.other, scope.inner()) if node.other is not None else None
            scope.written((node.then, *([node.other] if node.other else [])))
            return replace(node, then=then, other=other)
        case For():
            body = _block(node.body, _Scope(set(scope.used)))
            scope.written((node.body,))
            return replace(node, body=body)
        case Raw() | Call():
            scope.written((node,))
            return node


def _assign(node: Assign, scope: _Scope) -> Assign:
    names: dict[str, str] = {}
    kept: list[Local] = []
    for local in node.locals:
        value = renamed(local.value, names)
        key = local.type, value
        if key not in scope.names:
            name = local_name(local.stem, scope.used)
            scope.used.add(name)
            read = names_in(value)
            inner = (scope.reads.get(one, frozenset[str]()) for one in read)
            scope.reads[name] = frozenset(read).union(*inner)
            scope.names[key] = name
            kept.append(replace(local, name=name, value=value))
        names[local.name] = scope.names[key]
    scope.written((node,))
    return replace(
        node,
        value=renamed(node.value, names),
        loads=tuple((buffer, renamed(text, names)) for buffer, text in node.loads),
        locals=tuple(kept),
    )


def _stored(assign: Assign) -> set[str]:
    """What an assignment changes, among the names that values read."""
    words = names_in(assign.target)
    return {assign.buffer, *(words if assign.target.startswith("*(") else words[:1])}
