"""Common-subexpression elimination in a statement: what it needs more than once has a name.

Inlining puts a producer's expression in place of every load, so a value may occur dozens of
times. People read it once, and compilers do not find all of them again: to them a choice is
control flow.

rewrite: ``b[i] = sqrtf(a[i] + c) / (a[i] + c);`` -> ``const float v1 = a[i] + c;
b[i] = sqrtf(v1) / v1;``

A local is called after the array whose inlined element it is. Leaves and loads at affine places
are as short as a name, and stay.

A value with a branch in it that all iterations of a vector loop have in common is a local too,
to be worked out before the loop: compilers move its parts there, and then find no vector form
for a choice whose condition is a scalar. So is a size that becomes a float, and what a vector loop
looks up in a short table (``passes/table_permute.py``).

*Requires* that the statement computes the value whatever its conditions say: what only a branch
of a choice asks for may load outside of an array there, or divide by zero. The right operand of
``&&`` and ``||`` is such a branch.

*Does not handle* values that occur in one branch only. Those that several statements need are
named here where ``repeated`` says so, and become one local in ``passes/cse_across.py``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from polyopt.codegen.ast import expr as c
from polyopt.codegen.ast import visit
from polyopt.codegen.ast.names import c_name
from polyopt.codegen.ast.nodes import Local
from polyopt.codegen.expressions.lowered import Lowered, is_simple
from polyopt.ir.expr import (
    INSTRUCTIONS,
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
from polyopt.ir.intervals import is_inside, whole
from polyopt.ir.types import BOOL, I32, I64, ScalarType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from polyopt.codegen.lower.isl_ast import Leaf


class Lower(Protocol):
    """Lowers an expression, where ``known`` holds what stands for some nodes by their id."""

    def __call__(self, expr: Expr, known: Mapping[int, Lowered], *, stored: bool) -> Lowered:
        """``stored`` as for ``lowered``."""
        ...


def with_locals(
    value: Expr,
    lower: Lower,
    inlined: Iterable[tuple[Expr, str]],
    is_fixed: Callable[[Expr], bool] | None = None,
    table: Callable[[Load], int] | None = None,
    common: Collection[int] = (),
) -> tuple[c.Expr, tuple[Local, ...]]:
    """C of a value to be stored, and the locals that it reads, in order.

    ``inlined`` are parts of the value and the arrays that they are elements of. ``is_fixed`` says,
    of a leaf or an element at a given place, whether all iterations of the vector loop around see
    the same; ``None`` without such a loop. ``table`` gives the elements of the short table that a
    load looks up, or 0. ``common`` are ids of the inlined parts that other statements need too
    (``repeated``).
    """
    merged = _Merged(lower, {id(part): array for part, array in inlined}, common)
    root = merged.of(value)
    fixed = _fixed(root, is_fixed) if is_fixed is not None else set[int]()
    tables = _tables(root, table) if table is not None else dict[int, int]()
    once = fixed | tables.keys() | merged.common
    nodes = _named(root, fixed, tables.keys() | merged.common)
    while True:
        found, made = _locals(root, nodes, lower, merged.arrays)
        uses = Counter(_variables([found, *(local.value for local in made.values())]))
        # lowering left an operand out where bounds decide; what is read once needs no name
        made = {
            n: replace(local, fixed=n in fixed, table=tables.get(n, 0)) for n, local in made.items()
        }
        kept = [
            n for n in nodes if id(n) in made and uses[made[id(n)].symbol] > (id(n) not in once)
        ]
        if len(kept) == len(made):
            return found, tuple(made.values())
        nodes = kept


def _variables(values: Iterable[c.Expr]) -> Iterable[c.Symbol]:
    for value in values:
        for node in visit.walk(value):
            yield from node.own_symbols


def _locals(
    root: Expr, nodes: Iterable[Expr], lower: Lower, arrays: Mapping[int, str]
) -> tuple[c.Expr, dict[int, Local]]:
    """C of the root, and locals by the id of their node."""
    known: dict[int, Lowered] = {}
    made: dict[int, Local] = {}
    for node in nodes:
        value = lower(node, known, stored=True)
        is_name = is_simple(value.node) and not _converts(node)
        if is_name or (value.type.is_integer and _is_step(value.node)):
            continue
        stem = c_name(arrays[id(node)]) if id(node) in arrays else ""
        local = Local(c.Symbol(stem, _local_type(value)), value.node)
        made[id(node)] = local
        known[id(node)] = _read(local, value)
    return lower(root, known, stored=True).node, made


def _is_step(node: c.Expr) -> bool:
    """A neighbour of something named says more than a name of its own."""
    match node:
        case c.Binary(sign="+" | "-", left=left, right=right):
            by = c.number_of(right)
            return is_simple(left) and not c.is_negative(left) and by is not None and by >= 0
        case _:
            return False


def _local_type(value: Lowered) -> ScalarType:
    """What C computes anyway, so that signed sums of it overflow no sooner than without a local.

    A short integer is cut to its IR type: C widens it again where it is used.
    """
    short = value.type.bits < I32.bits and value.type.bits <= value.ctype.bits
    return value.type if value.type.is_float or short else value.ctype


def _read(local: Local, value: Lowered) -> Lowered:
    type_ = c.scalar(local.symbol.type)
    bounds = value.bounds if is_inside(value.bounds, type_) else whole(type_)
    return Lowered(c.Var(local.symbol), value.type, bounds, value.wraps)


class _Merged:
    """One object per distinct value, without branches that are never taken."""

    def __init__(self, lower: Lower, inlined: Mapping[int, str], common: Collection[int]) -> None:
        self.lower = lower
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
        low, high = self.lower(expr.cond, {}, stored=False).bounds
        return self.of(expr.then if low else expr.other) if low == high else None

    def _operation(self, expr: Expr) -> Expr:
        children = tuple(map(self.of, expr.children))
        key = (type(expr), expr.type, content(expr, self._leaf), *map(id, children))
        if key not in self.nodes:
            self.nodes[key] = expr.with_children(children) if children else expr
        node = self.nodes[key]
        if isinstance(expr, Cast) and id(children[0]) in self.arrays:
            self.arrays.setdefault(id(node), self.arrays[id(children[0])])
        return node

    def _leaf(self, leaf: Expr) -> c.Expr:
        return self.lower(leaf, {}, stored=False).node


def content(expr: Expr, leaf: Callable[[Expr], c.Expr]) -> object:
    """What tells a node from others of its kind over the same operands."""
    match expr:
        case Const():
            return repr(expr.value)
        case Affine() | Inside():
            return leaf(expr)
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
        if id(node) not in always:
            return False
        if id(node) in largest and any(map(_converts, walk(node))):
            return True
        if _is_plain(node):
            return False
        if id(node) in asked:
            return True
        return uses[id(node)] > 1 or (id(node) in largest and any(map(_branches, walk(node))))

    return [node for node in order if is_worth(node)]


def _converts(node: Expr) -> bool:
    """Whether it makes a float of an integer of 64 bits: processors have no vector form of that
    before AVX-512, and a loop that holds it, although it is the same throughout, no vectors."""
    if not isinstance(node, Cast) or not node.type.is_float:
        return False
    return node.operand.type.is_integer and node.operand.type.bits == I64.bits


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
    """Whether compilers see control flow in an operation: math functions are choices, too."""
    match expr:
        case Select():
            return True
        case Binary():
            return expr.op in {"min", "max"}
        case Call():
            return expr.function not in INSTRUCTIONS
        case _:
            return False


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


# -- across statements -----------------------------------------------------------------------------


def repeated(
    statements: Iterable[tuple[Leaf, Callable[[Expr], c.Expr]]],
) -> dict[Leaf, frozenset[int]]:
    """Ids of the inlined parts of each statement that are to have a name.

    Each statement comes with what lowers its affine parts.
    """
    numbers: dict[tuple[object, ...], int] = {}
    values: dict[Leaf, dict[int, int]] = {}
    for leaf, node in statements:
        number = _numbering(numbers, node)
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
    numbers: dict[tuple[object, ...], int], leaf_node: Callable[[Expr], c.Expr]
) -> Callable[[Expr], int]:
    """Numbers for the values of one statement, equal where ``numbers`` has them already."""
    seen: dict[int, int] = {}

    def number(expr: Expr) -> int:
        if id(expr) not in seen:
            operands = tuple(map(number, expr.children))
            key = (type(expr), expr.type, content(expr, leaf_node), *operands)
            seen[id(expr)] = numbers.setdefault(key, len(numbers))
        return seen[id(expr)]

    return number
