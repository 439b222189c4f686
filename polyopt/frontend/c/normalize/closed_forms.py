"""What loops count: iterations so far, how many there are, and sums of such terms, as C.

A form is a polynomial over factors: names that do not change, an iterator, the number of a loop's
iterations. It is congruent to the value modulo what the variable's type holds, so that unsigned
variables may wrap on the way as they do in C.
"""

# The parser's trees are made of parts that have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportArgumentType=false

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.literals import literal
from polyopt.frontend.c.syntax.nodes import binary, cast, constant, put, text_of
from polyopt.frontend.c.syntax.usage import iterator_of, names_in, nodes
from polyopt.ir.types import I32

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.ir.types import ScalarType

#: a product of factors by their texts, sorted; the empty product is 1
Monomial = tuple[str, ...]
Form = dict[Monomial, int]
#: forms of more terms are not looked at
MOST_TERMS = 16
#: what values may be made of, so that they can be worked out once more
_PLAIN = (
    c_ast.ID, c_ast.Constant, c_ast.BinaryOp, c_ast.UnaryOp, c_ast.Cast, c_ast.TernaryOp,
    c_ast.Typename, c_ast.TypeDecl, c_ast.IdentifierType,
)  # fmt: skip
_SIGNS = {"-", "+", "~", "!"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
#: by relation and direction: what is added to the bound to have the first value beyond the loop
_BEYOND = {("<", 1): 0, ("<=", 1): 1, (">", -1): 0, (">=", -1): -1}
_STEPS = {"p++": 1, "++": 1, "p--": -1, "--": -1}


@dataclass(frozen=True, eq=False)
class Integer:
    """An integer variable: its type, and how C spells that."""

    scalar: ScalarType
    kind: c_ast.Node


@dataclass(frozen=True, eq=False)
class Header:
    """A ``for`` header that goes from a start by a step while its iterator is before an end."""

    iterator: str
    start: c_ast.Node
    #: the condition with the start in place of the iterator
    entered: c_ast.Node
    #: the first value in the loop's direction that is not iterated
    end: c_ast.Node
    step: int

    @property
    def names(self) -> set[str]:
        """What decides on how often the loop runs."""
        return names_in(self.start) | names_in(self.end) | names_in(self.entered)


@dataclass(frozen=True, eq=False)
class _Factor:
    """A part of a product, and what it is where the loop that it counts is known to run."""

    node: c_ast.Node
    inside: c_ast.Node | None = None
    loop: str = ""


def is_plain(node: c_ast.Node) -> bool:
    """Whether an expression has no effects, and reads nothing but scalars."""
    return all(
        isinstance(n, _PLAIN) and (not isinstance(n, c_ast.UnaryOp) or n.op in _SIGNS)
        for n in nodes(node)
    )


def number_of(node: c_ast.Node | None) -> int | None:
    """The value of an ``int`` that literals spell."""
    match node:
        case c_ast.Constant():
            found = literal(node.value)
            return int(found.value) if found is not None and found.type == I32 else None
        case c_ast.UnaryOp(op="-"):
            value = number_of(node.expr)
            return None if value is None else -value
        case c_ast.BinaryOp(op="+" | "-" | "*"):
            left, right = number_of(node.left), number_of(node.right)
            if left is None or right is None:
                return None
            value = {"+": left + right, "-": left - right, "*": left * right}[node.op]
            return value if I32.range[0] <= value <= I32.range[1] else None
        case _:
            return None


def step_of(node: c_ast.Node | None, name: str) -> int | None:
    """The constant that a statement adds to a variable; ``None`` for other statements."""
    match node:
        case c_ast.UnaryOp(expr=c_ast.ID(name=found)) if found == name and node.op in _STEPS:
            return _STEPS[node.op]
        case c_ast.Assignment(op="+=" | "-=", lvalue=c_ast.ID(name=found)) if found == name:
            value = number_of(node.rvalue)
            return None if value is None else value if node.op == "+=" else -value
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=found)) if found == name:
            match node.rvalue:
                case c_ast.BinaryOp(op="+" | "-" as op, left=c_ast.ID(name=same)) if same == name:
                    value = number_of(node.rvalue.right)
                    return None if value is None else value if op == "+" else -value
                case c_ast.BinaryOp(op="+", right=c_ast.ID(name=same)) if same == name:
                    return number_of(node.rvalue.left)
                case _:
                    return None
        case _:
            return None


def header_of(loop: c_ast.For, integer: Callable[[str], Integer | None]) -> Header | None:
    """A loop's header, where its start, end and step are simple; ``None`` for others."""
    name = iterator_of(loop)
    own = None if name is None else integer(name)
    step = step_of(loop.next, name or "")
    start = loop.init.decls[0].init if isinstance(loop.init, c_ast.DeclList) else None
    if isinstance(loop.init, c_ast.Assignment) and loop.init.op == "=":
        start = loop.init.rvalue
    if name is None or own is None or not step or start is None:
        return None
    if not isinstance(loop.cond, c_ast.BinaryOp) or not is_plain(start):
        return None
    start = _of_type(start, own, integer)
    for one, other, op in (
        (loop.cond.left, loop.cond.right, loop.cond.op),
        (loop.cond.right, loop.cond.left, _MIRRORED.get(loop.cond.op, "")),
    ):
        more = _beside(one, name, names_in(other), integer)
        if more is None or not is_plain(other) or name in names_in(other):
            continue
        beyond = _beyond(op, step)
        if beyond is None:
            return None
        entered = _put_for(loop.cond, name, start)
        return Header(name, start, entered, _plus(other, beyond - more), step)
    return None


def _beyond(relation: str, step: int) -> int | None:
    if relation == "!=" and abs(step) == 1:
        return 0
    return _BEYOND.get((relation, 1 if step > 0 else -1))


def _beside(
    side: c_ast.Node, name: str, others: set[str], integer: Callable[[str], Integer | None]
) -> int | None:
    """What a side of a test adds to the iterator; only signed integers may be moved across."""
    match side:
        case c_ast.ID(name=found) if found == name:
            return 0
        case c_ast.BinaryOp(op="+" | "-", left=c_ast.ID(name=found)) if found == name:
            more = number_of(side.right)
            kinds = [integer(one) for one in {*others, name}]
            if more is None or not all(k is not None and k.scalar.kind == "int" for k in kinds):
                return None
            return more if side.op == "+" else -more
        case _:
            return None


def _plus(value: c_ast.Node, more: int) -> c_ast.Node:
    if not more:
        return value
    known = number_of(value)
    if known is not None:
        return _number(known + more)
    return binary("+" if more > 0 else "-", value, constant(abs(more)))


def _of_type(
    value: c_ast.Node, own: Integer, integer: Callable[[str], Integer | None]
) -> c_ast.Node:
    """A value as it is once it is assigned to a variable."""
    known = number_of(value)
    if known is not None and own.scalar.range[0] <= known <= own.scalar.range[1]:
        return value
    kinds = [integer(name) for name in names_in(value)]
    if own.scalar.kind == "int" and own.scalar.bits >= I32.bits:
        fits = all(
            k is not None and k.scalar.kind == "int" and k.scalar.bits <= own.scalar.bits
            for k in kinds
        )
        sums = (c_ast.ID, c_ast.Constant, c_ast.BinaryOp)
        if kinds and fits and all(isinstance(n, sums) for n in nodes(value)):
            return value
    if isinstance(value, c_ast.ID) and kinds[0] is not None and kinds[0].scalar == own.scalar:
        return value
    return cast(value, own.kind)


def _put_for(node: c_ast.Node, name: str, value: c_ast.Node) -> c_ast.Node:
    if isinstance(node, c_ast.ID):
        return value if node.name == name else node
    changed = copy.copy(node)
    for place, child in node.children():
        put(changed, place, _put_for(child, name, value))
    return changed


@dataclass(eq=False)
class Forms:
    """Forms of one variable's values; ``integer`` tells the types of names."""

    own: Integer
    integer: Callable[[str], Integer | None]

    def __post_init__(self) -> None:
        self._factors: dict[str, _Factor] = {}

    def names(self, form: Form) -> set[str]:
        """The names that a form is made of."""
        return {n for m in form for text in m for n in names_in(self._factors[text].node)}

    def leaf(self, node: c_ast.Node, inside: c_ast.Node | None = None, loop: str = "") -> Form:
        """An expression as a factor of its own."""
        node = self._typed(node)
        inside = None if inside is None else self._typed(inside)
        text = text_of(node)
        self._factors.setdefault(text, _Factor(node, inside, loop))
        return {(text,): 1}

    def _typed(self, node: c_ast.Node) -> c_ast.Node:
        """An expression of the variable's own type."""
        kinds = [self.integer(name) for name in names_in(node)]
        same = all(k is not None and k.scalar == self.own.scalar for k in kinds)
        kept = (c_ast.ID, c_ast.Constant, c_ast.BinaryOp, c_ast.UnaryOp, c_ast.TernaryOp)
        sums = all(isinstance(n, kept) for n in nodes(node))
        plain = sums and same and (isinstance(node, c_ast.ID) or self.own.scalar == I32)
        literals = all(literal_fits(n) for n in nodes(node) if isinstance(n, c_ast.Constant))
        return node if plain and literals else cast(node, self.own.kind)

    def _is_exact(self, name: str) -> bool:
        """Whether sums of a variable are congruent to those of the type: they do not wrap first."""
        kind = self.integer(name)
        if kind is None:
            return False
        scalar, own = kind.scalar, self.own.scalar
        promoted = scalar.kind == "int" or scalar.bits < I32.bits
        return scalar == own or (promoted and scalar.bits <= own.bits)

    def parsed(self, node: c_ast.Node, name: str = "", value: Form | None = None) -> Form | None:
        """An expression as a form; ``value`` is that of the variable itself, if it may occur."""
        known = number_of(node)
        if known is not None:
            return {(): known} if known else {}
        if isinstance(node, c_ast.ID) and node.name == name:
            return value
        exact = all(n == name or self._is_exact(n) for n in names_in(node))
        match node:
            case c_ast.BinaryOp(op="+" | "-" | "*") if exact:
                left = self.parsed(node.left, name, value)
                right = self.parsed(node.right, name, value)
                if left is None or right is None:
                    return None
                if node.op == "*":
                    return times(left, right)
                return added(left, right, 1 if node.op == "+" else -1)
            case c_ast.UnaryOp(op="-") if exact:
                inner = self.parsed(node.expr, name, value)
                return None if inner is None else added({}, inner, -1)
            case _ if not name or name not in names_in(node):
                return self.leaf(node) if is_plain(node) else None
            case _:
                return None

    def passed(self, delta: Form, header: Header) -> Form | None:
        """What iterations have added that are over when an iteration of a loop begins."""
        start = self.parsed(header.start)
        if start is None:
            return None
        iterator = c_ast.ID(header.iterator)
        up = header.step > 0
        if all(count % header.step == 0 for count in delta.values()):
            moved = added(self.leaf(iterator), start, -1)
            return times({m: count // header.step for m, count in delta.items()}, moved)
        gone = binary("-", iterator, header.start) if up else binary("-", header.start, iterator)
        if number_of(header.start) == 0 and up:
            gone = iterator
        count = self.leaf(binary("/", gone, constant(abs(header.step))))
        return times(delta, count)

    def trips(self, header: Header) -> Form:
        """How often a loop runs."""
        start, end, step = header.start, header.end, abs(header.step)
        first, last = number_of(start), number_of(end)
        if first is not None and last is not None:
            distance = (last - first) * (1 if header.step > 0 else -1)
            number = max(0, -(-distance // step))
            return {(): number} if number else {}
        count = _counted(header)
        return self.leaf(
            c_ast.TernaryOp(header.entered, count, constant(0)), count, trips_key(header)
        )

    def final(self, header: Header) -> Form:
        """The value of a loop's own iterator after it."""
        number = number_of(header.start)
        constant_trips = self.trips(header)
        if number is not None and constant_trips.keys() <= {()}:
            value = number + constant_trips.get((), 0) * header.step
            return {(): value} if value else {}
        end = header.end
        if abs(header.step) > 1:
            gone = binary("*", _counted(header), constant(abs(header.step)))
            end = gone
            if number != 0 or header.step < 0:
                end = binary("+" if header.step > 0 else "-", header.start, gone)
        return self.leaf(c_ast.TernaryOp(header.entered, end, header.start))

    def printed(self, form: Form, coord: object, running: set[str]) -> c_ast.Node:
        """The form in C, where some loops are known to run, all of it at one place."""
        value: c_ast.Node | None = None
        ordered = sorted(form.items(), key=lambda item: (not item[0], item[1] < 0, -len(item[0])))
        for monomial, count in ordered:
            parts = [self._factors[text] for text in monomial]
            product = [f.inside if f.inside and f.loop in running else f.node for f in parts]
            term: c_ast.Node | None = None
            for part in product:
                term = part if term is None else binary("*", term, part)
            negative = value is not None and count < 0
            factor = _number(-count if negative else count)
            if term is None:
                term = factor
            elif abs(count) != 1 or (count < 0 and not negative):
                term = binary("*", term, factor)
            value = term if value is None else binary("-" if negative else "+", value, term)
        value = constant(0) if value is None else value
        if self.own.scalar != I32:
            value = cast(value, self.own.kind)
        return _placed(value, coord)


def trips_key(header: Header) -> str:
    """What tells loops apart that run the same number of times, if they run at all."""
    return f"{text_of(header.start)};{text_of(header.end)};{header.step}"


def _number(value: int) -> c_ast.Node:
    """An integer, which C spells with an operator where it is below zero."""
    return constant(value) if value >= 0 else c_ast.UnaryOp("-", constant(-value))


def literal_fits(node: c_ast.Constant) -> bool:
    """Whether a literal is an ``int``."""
    found = literal(node.value)
    return found is not None and found.type == I32


def _counted(header: Header) -> c_ast.Node:
    """How often a loop runs that is entered."""
    start, end, step = header.start, header.end, abs(header.step)
    if header.step < 0:
        distance = binary("-", start, end)
    else:
        distance = end if number_of(start) == 0 else binary("-", end, start)
    if step == 1:
        return distance
    return binary("+", binary("/", _plus(distance, -1), constant(step)), constant(1))


def _placed(node: c_ast.Node, coord: object) -> c_ast.Node:
    """A copy of the tree that stands at one place."""
    changed = copy.copy(node)
    changed.coord = coord
    for place, child in node.children():
        put(changed, place, _placed(child, coord))
    return changed


def added(one: Mapping[Monomial, int], other: Mapping[Monomial, int], sign: int = 1) -> Form:
    """The sum, or difference."""
    result = Counter(one)
    for monomial, count in other.items():
        result[monomial] += sign * count
    return {m: c for m, c in result.items() if c}


def times(one: Form, other: Form) -> Form | None:
    """The product; ``None`` where it has too many terms."""
    if len(one) * len(other) > MOST_TERMS:
        return None
    result: Counter[Monomial] = Counter()
    for left, a in one.items():
        for right, b in other.items():
            result[tuple(sorted((*left, *right)))] += a * b
    return {m: c for m, c in result.items() if c}
