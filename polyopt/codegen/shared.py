"""Values that a statement needs more than once are computed once, in a local with a name.

Inlining puts a producer's expression in place of every load, so a value may occur dozens of
times. People read it once, and compilers do not find all of them again: to them a choice is
control flow.

rewrite: ``b[i] = sqrtf(a[i] + c) / (a[i] + c);`` -> ``const float v1 = a[i] + c;
b[i] = sqrtf(v1) / v1;``

A local is called after the array whose inlined element it is. Leaves and loads at affine places
are as short as a name, and stay.

A value with a branch in it that all iterations of a vector loop have in common is a local too,
to be worked out before the loop: compilers move its parts there, and then find no vector form
for a choice whose condition is a scalar. So is what a vector loop looks up in a short table
(``lookups.py``).

*Requires* that the statement computes the value whatever its conditions say: what only a branch
of a choice asks for may load outside of an array there, or divide by zero. The right operand of
``&&`` and ``||`` is such a branch.

*Does not handle* values that occur in one branch only. Those that several statements need are
named here where ``common.py`` says so, and become one local there.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from polyopt.codegen.ctext import PRIMARY, CText, is_inside, is_simple, whole
from polyopt.codegen.loops import Local
from polyopt.codegen.names import c_name, local_name, names_in
from polyopt.ir.expr import (
    Affine,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Inside,
    Load,
    Select,
    Unary,
    loads,
    walk,
)
from polyopt.ir.types import BOOL, I32, ScalarType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

#: a neighbour of something named says more than a name of its own
_STEP = re.compile(r"\w+ [+-] \d+")


class Printed(Protocol):
    """An expression as C, where ``known`` holds texts for some nodes by their id."""

    def __call__(self, expr: Expr, known: Mapping[int, CText], *, stored: bool) -> CText:
        """``stored`` as for ``c_expression``."""
        ...


def shared(
    value: Expr,
    printed: Printed,
    inlined: Iterable[tuple[Expr, str]],
    taken: Collection[str],
    is_fixed: Callable[[Expr], bool] | None = None,
    table: Callable[[Load], int] | None = None,
    common: Collection[int] = (),
) -> tuple[str, tuple[Local, ...]]:
    """C of a value to be stored, and the locals that it reads, in order.

    ``inlined`` are parts of the value and the arrays that they are elements of; ``taken`` are
    names that locals cannot have. ``is_fixed`` says, of a leaf or an element at a given place,
    whether all iterations of the vector loop around see the same; ``None`` without such a loop.
    ``table`` gives the elements of the short table that a load looks up, or 0. ``common`` are ids
    of the inlined parts that other statements need too (``common.py``).
    """
    merged = _Merged(printed, {id(part): array for part, array in inlined}, common)
    root = merged.of(value)
    fixed = _fixed(root, is_fixed) if is_fixed is not None else set[int]()
    tables = _tables(root, table) if table is not None else dict[int, int]()
    once = fixed | tables.keys() | merged.common
    nodes = _named(root, fixed, tables.keys() | merged.common)
    while True:
        text, made = _print(root, nodes, printed, merged.arrays, taken)
        words = Counter(_words([text, *(local.value for local in made.values())]))
        # printing left an operand out where bounds decide; what is read once needs no name
        made = {
            n: replace(local, fixed=n in fixed, table=tables.get(n, 0)) for n, local in made.items()
        }
        kept = [n for n in nodes if id(n) in made and words[made[id(n)].name] > (id(n) not in once)]
        if len(kept) == len(made):
            return text, tuple(made.values())
        nodes = kept


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from names_in(text)


def _print(
    root: Expr,
    nodes: Iterable[Expr],
    printed: Printed,
    arrays: Mapping[int, str],
    taken: Collection[str],
) -> tuple[str, dict[int, Local]]:
    """The text of the root, and locals by the id of their node."""
    known: dict[int, CText] = {}
    made: dict[int, Local] = {}
    used = set(taken)
    for node in nodes:
        text = printed(node, known, stored=True)
        if is_simple(text) or (text.type.is_integer and _STEP.fullmatch(text.text)):
            continue
        stem = c_name(arrays[id(node)]) if id(node) in arrays else ""
        local = Local(local_name(stem, used), _local_type(text), text.text, stem=stem)
        used.add(local.name)
        made[id(node)] = local
        known[id(node)] = _read(local, text)
    return printed(root, known, stored=True).text, made


def _local_type(text: CText) -> ScalarType:
    """What C computes anyway, so that signed sums of it overflow no sooner than without a local.

    A short integer is cut to its IR type: C widens it again where it is used.
    """
    short = text.type.bits < I32.bits and text.type.bits <= text.ctype.bits
    return text.type if text.type.is_float or short else text.ctype


def _read(local: Local, text: CText) -> CText:
    bounds = text.bounds if is_inside(text.bounds, local.type) else whole(local.type)
    return CText(local.name, PRIMARY, text.type, local.type, bounds, text.wraps)


class _Merged:
    """One object per distinct value, without branches that are never taken."""

    def __init__(
        self, printed: Printed, inlined: Mapping[int, str], common: Collection[int]
    ) -> None:
        self.printed = printed
        self.inlined = inlined
        self.parts_in_common = common
        self.nodes: dict[tuple[object, ...], Expr] = {}
        #: the array whose element a value is, by the value's id
        self.arrays: dict[int, str] = {}
        #: ids of the values that other statements need too
        self.common: set[int] = set()

    def of(self, expr: Expr) -> Expr:
        """The one object with the value of ``expr``."""
        node = self._branch(expr) or self._operation(expr)
        array = self.inlined.get(id(expr))
        if array is not None:
            self.arrays.setdefault(id(node), array)
        if id(expr) in self.parts_in_common:
            self.common.add(id(node))
        return node

    def _branch(self, expr: Expr) -> Expr | None:
        """The branch that a choice always takes in these loops."""
        if not isinstance(expr, Select):
            return None
        low, high = self.printed(expr.cond, {}, stored=False).bounds
        return self.of(expr.then if low else expr.other) if low == high else None

    def _operation(self, expr: Expr) -> Expr:
        children = tuple(map(self.of, expr.children))
        key = (type(expr), expr.type, content(expr, self._leaf_text), *map(id, children))
        if key not in self.nodes:
            self.nodes[key] = expr.with_children(children) if children else expr
        node = self.nodes[key]
        if isinstance(expr, Cast) and id(children[0]) in self.arrays:
            self.arrays.setdefault(id(node), self.arrays[id(children[0])])
        return node

    def _leaf_text(self, leaf: Expr) -> str:
        return self.printed(leaf, {}, stored=False).text


def content(expr: Expr, leaf_text: Callable[[Expr], str]) -> str:
    """What tells a node from others of its kind over the same operands."""
    match expr:
        case Const():
            return repr(expr.value)
        case Affine() | Inside():
            return leaf_text(expr)
        case Load():
            return expr.array
        case Unary() | Binary() | Compare():
            return expr.op
        case Call():
            return expr.function
        case _:
            return ""


def _tables(root: Expr, table: Callable[[Load], int]) -> dict[int, int]:
    """Elements of the tables that a value looks up, by the ids of loads."""
    found = {id(node): table(node) for node in _in_order(root) if isinstance(node, Load)}
    return {node: length for node, length in found.items() if length}


def _named(root: Expr, fixed: set[int], asked: Collection[int]) -> list[Expr]:
    """Values worth a name, of those always computed: used at several places, ``asked`` for, or
    fixed with a branch in them and part of nothing else that is. Operands come first."""
    uses: Counter[int] = Counter()
    largest: set[int] = set()
    order = _in_order(root)
    for node in order:
        uses.update(map(id, node.children))
        if id(node) not in fixed:
            largest |= {id(child) for child in node.children if id(child) in fixed}
    always = _always(root, set())

    def is_worth(node: Expr) -> bool:
        if id(node) not in always or _is_plain(node):
            return False
        if id(node) in asked:
            return True
        return uses[id(node)] > 1 or (id(node) in largest and any(map(_branches, walk(node))))

    return [node for node in order if is_worth(node)]


def _in_order(root: Expr) -> list[Expr]:
    """Every node once, operands first."""
    order: dict[int, Expr] = {}

    def visit(node: Expr) -> None:
        if id(node) not in order:
            for child in node.children:
                visit(child)
            order[id(node)] = node

    visit(root)
    return list(order.values())


def _fixed(root: Expr, is_fixed: Callable[[Expr], bool]) -> set[int]:
    """Ids of the values below the root, itself apart, that are the same in all iterations."""
    found: set[int] = set()
    for node in _in_order(root):
        leaf = isinstance(node, (Affine, Inside, Load))
        if found.issuperset(map(id, node.children)) and (not leaf or is_fixed(node)):
            found.add(id(node))
    return found - {id(root)}


def _branches(expr: Expr) -> bool:
    """Whether compilers see control flow in an operation."""
    return isinstance(expr, Select) or (isinstance(expr, Binary) and expr.op in {"min", "max"})


def _always(expr: Expr, found: set[int]) -> set[int]:
    """Ids of what is computed whatever the conditions in ``expr`` say, added to ``found``."""
    if id(expr) not in found:
        found.add(id(expr))
        lazy = isinstance(expr, Select) or (isinstance(expr, Binary) and expr.type == BOOL)
        for child in expr.children[:1] if lazy else expr.children:
            _always(child, found)
    return found


def _is_plain(expr: Expr) -> bool:
    """Whether it reads as well as a name: a leaf or an element, and one step of a subscript."""
    match expr:
        case Const() | Affine() | Inside():
            return True
        case Load():
            return not any(map(loads, expr.index))
        case Cast() | Unary():
            return _is_plain(expr.operand)
        case Binary():
            operands = all(isinstance(child, (Affine, Const)) for child in expr.children)
            return expr.type.is_integer and operands
        case _:
            return False
