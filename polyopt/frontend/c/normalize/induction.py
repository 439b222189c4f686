"""Induction variable substitution: scalars that loops step become functions of the iterators.

rewrite: ``k = 0; for (i = 0; i < n; i++) for (j = 0; j < 3; j++) { a[k] = 1; k++; }`` ->
``for (i = 0; i < n; i++) for (j = 0; j < 3; j++) a[i * 3 + j] = 1;``

rewrite: ``for (i = 0; i < n; i += 5) S; for (; i < n; i++) T`` ->
``for (i = 0; i < n; i += 5) S; for (i = n > 0 ? ((n - 1) / 5 + 1) * 5 : 0; i < n; i++) T``

A variable's value is followed through the statements as a form over names that do not change and
the iterators of the loops around (``closed_forms.py``). A loop that adds the same to it each time
has added as many times that as iterations are over. *Requires* a value in such a form wherever the
variable is read: a variable of which one is not known is left as it is. (After M. Wolfe, "Beyond
induction variables", 1992.)
"""

# The parser's trees are copied and changed by the names of their parts, which have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportArgumentType=false, reportReturnType=false

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.normalize.closed_forms import (
    Form,
    Forms,
    Header,
    added,
    header_of,
    times,
    trips_key,
)
from polyopt.frontend.c.normalize.continue_free import without_continue
from polyopt.frontend.c.syntax.desugar import stepped_name
from polyopt.frontend.c.syntax.liveness import continues
from polyopt.frontend.c.syntax.nodes import named_type, put, text_of
from polyopt.frontend.c.syntax.usage import iterator_of, names_in, nodes, written_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.frontend.c.normalize.closed_forms import Integer

#: loops that step a variable, one in the other: each body is looked at once more for its sum
_MOST_LOOPS = 8
#: nodes of the parser's tree that a value may have in C
_MOST_NODES = 200
#: of longer ones a loop's last value gets a name
_MOST_IN_PLACE = 24
#: the value before a loop's body; no name in C
_BEFORE = "<before>"
_STEPS = {"p++": 1, "++": 1, "p--": -1, "--": -1}


class Unknown(Exception):  # noqa: N818  (not an error: the variable is left as it is)
    """A variable's value is read where it has no form; the message says why."""


@dataclass(frozen=True, eq=False)
class _Loop:
    """A loop around: its iterator, if that is changed by the header alone, and a simple header."""

    iterator: str
    header: Header | None


@dataclass(eq=False)
class Substitution:
    """Follows one variable through the items of a block and puts its values in its place.

    ``is_fixed`` says which names keep their value wherever they are seen, ``kind_of`` the type of a
    declaration, and ``fresh`` makes names. ``own`` makes a loop over the variable one over another
    name, where the variable itself has to keep its value.
    """

    name: str
    own_type: Integer
    integer: Callable[[str], Integer | None]
    kind_of: Callable[[c_ast.Decl], Integer | None]
    is_fixed: Callable[[str], bool]
    fresh: Callable[[str], str]
    own: Callable[[c_ast.For], c_ast.For] | None = None
    value: Form | None = None
    #: why the value is not known
    reason: str = "it has no value yet"
    #: iterators of the loops around, and which loops are running
    _open: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    #: types of the iterators that loops around declare, and of names for long values
    _kinds: dict[str, Integer | None] = field(default_factory=dict[str, "Integer | None"])
    _named: dict[str, Form] = field(default_factory=dict[str, Form])

    def __post_init__(self) -> None:
        self.forms = Forms(self.own_type, self._integer)

    def _integer(self, name: str) -> Integer | None:
        return self._kinds[name] if name in self._kinds else self.integer(name)

    def _is_known(self, name: str) -> bool:
        """Whether a name has the same value wherever it is in scope, or in the loop around."""
        return name in self._named or name in self._iterators() or self.is_fixed(name)

    # -- expressions -------------------------------------------------------------------------
    def read(self, coord: object) -> c_ast.Node:
        """The variable's value in C. Raises ``Unknown``."""
        if self.value is None:
            raise Unknown(self.reason)
        made = self.forms.printed(self.value, coord, {key for _, key in self._open if key})
        if sum(1 for _ in nodes(made)) > _MOST_NODES:
            raise Unknown("its value is too long an expression")
        return made

    def last(self, coord: object) -> c_ast.Node:
        """The variable's value at the end, in full. Raises ``Unknown``."""
        for name, value in self._named.items():
            if self.value == self.forms.leaf(c_ast.ID(name)):
                self.value = value
        return self.read(coord)

    @property
    def names(self) -> set[str]:
        """The names that were made for values."""
        return set(self._named)

    def _unset(self, reason: str) -> None:
        self.value, self.reason = None, reason

    def expression(self, node: c_ast.Node) -> c_ast.Node:
        """An expression with the variable's values; a step in it is taken note of."""
        if self.name not in names_in(node):
            return node
        steps = [n for n in nodes(node) if _is_step(n, self.name)]
        if not steps:
            return self._with_values(node, None)
        uses = sum(isinstance(n, c_ast.ID) and n.name == self.name for n in nodes(node))
        step = steps[0]
        if uses != 1 or not isinstance(step, c_ast.UnaryOp) or not _is_certain(node, step):
            raise Unknown("it is changed within an expression")
        by: Form = {(): _STEPS[step.op]}
        if not step.op.startswith("p"):
            self._add(by)
        changed = self._with_values(node, step)
        if step.op.startswith("p"):
            self._add(by)
        return changed

    def _add(self, by: Form) -> None:
        self.value = None if self.value is None else added(self.value, by)

    def _with_values(self, node: c_ast.Node, step: c_ast.Node | None) -> c_ast.Node:
        if node is step or (isinstance(node, c_ast.ID) and node.name == self.name):
            return self.read(node.coord)
        changed = copy.copy(node)
        for place, child in node.children():
            if place != "field" and not (isinstance(node, c_ast.FuncCall) and place == "name"):
                put(changed, place, self._with_values(child, step))
        return changed

    # -- statements --------------------------------------------------------------------------
    def block(self, items: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        """The items without the variable. Raises ``Unknown``."""
        result = [made for item in items for made in self.statement(item)]
        self._close({item.name for item in result if isinstance(item, c_ast.Decl) and item.name})
        return result

    def _close(self, names: set[str]) -> None:
        """Names go out of scope: what is made of them is not known any more."""
        if self.name in names:
            self._unset("it has no value yet")
        elif self.value is not None and self.forms.names(self.value) & names:
            self._unset(f"its value depends on {min(self.forms.names(self.value) & names)!r}")

    def statement(self, node: c_ast.Node) -> list[c_ast.Node]:
        """What a statement becomes."""
        if self.name not in _mentioned(node):
            return [node]
        match node:
            case c_ast.Decl() | c_ast.Assignment() | c_ast.UnaryOp():
                return self._simple(node)
            case c_ast.ExprList():
                return [made for one in node.exprs for made in self.statement(one)]
            case c_ast.Compound():
                return [c_ast.Compound(self.block(node.block_items or []), node.coord)]
            case c_ast.If():
                return [self._if(node)]
            case c_ast.For():
                return self._for(node)
            case c_ast.While() | c_ast.DoWhile() | c_ast.Switch():
                if self.name in written_names([node]):
                    raise Unknown("it is changed in a loop that is no for loop")
                return [self._with_values(node, None)]
            case _:
                return [self.expression(node)]

    def _simple(self, node: c_ast.Decl | c_ast.Assignment | c_ast.UnaryOp) -> list[c_ast.Node]:
        """What a statement becomes that may set the variable itself."""
        match node:
            case c_ast.Decl(name=found) if found == self.name:
                return self._declared(node)
            case c_ast.Assignment(rvalue=c_ast.Assignment() as inner, op="="):
                target = inner.lvalue
                if any(_is_step(n, self.name) for n in nodes(target)):
                    raise Unknown("it is changed within an expression")
                last = c_ast.Assignment("=", node.lvalue, target, node.coord)
                return [*self.statement(inner), *self.statement(last)]
            case c_ast.Assignment(lvalue=c_ast.ID(name=found)) if found == self.name:
                return self._assigned(node)
            case c_ast.UnaryOp(expr=c_ast.ID()) if _is_step(node, self.name):
                self._add({(): _STEPS[node.op]})
                return []
            case _:
                return [self.expression(node)]

    def _declared(self, node: c_ast.Decl) -> list[c_ast.Node]:
        self._unset("it has no value yet")
        if node.init is not None:
            self._set(node.init)
        bare = copy.copy(node)
        bare.init = None
        return [bare]

    def _assigned(self, node: c_ast.Assignment) -> list[c_ast.Node]:
        if node.op == "=":
            self._set(node.rvalue)
        elif node.op in {"+=", "-="} and self.value is not None and self._is_held(node.rvalue):
            self._check_effects(node.rvalue)
            by = self._parsed(node.rvalue)
            sign = 1 if node.op == "+=" else -1
            self.value = None if by is None else added(self.value, by, sign)
            self.reason = f"it is changed by {text_of(node.rvalue)}"
        else:
            self._check_effects(node.rvalue)
            self._unset(f"it is changed by {node.op}")
        return []

    def _check_effects(self, node: c_ast.Node) -> None:
        """Refuse a value that does more than to be one: its statement is dropped."""
        if any(
            isinstance(n, (c_ast.FuncCall, c_ast.Assignment))
            or (isinstance(n, c_ast.UnaryOp) and n.op in _STEPS)
            for n in nodes(node)
        ):
            raise Unknown("its value comes from an expression with effects")

    def _set(self, node: c_ast.Node) -> None:
        self._check_effects(node)
        self.value = self._parsed(node)
        self.reason = f"its value is {text_of(node)}"

    def _parsed(self, node: c_ast.Node) -> Form | None:
        """An expression of names that keep their values, as a form."""
        names = names_in(node) - {self.name}
        if not all(map(self._is_known, names)):
            return None
        return self.forms.parsed(node, self.name, self.value)

    def _is_held(self, node: c_ast.Node) -> bool:
        """Whether what is added is of a type that the variable's own takes in."""
        kinds = [self._integer(name) for name in names_in(node)]
        own = self.forms.own.scalar
        return all(k is not None and k.scalar.bits <= own.bits for k in kinds)

    def _iterators(self) -> set[str]:
        return {name for name, _ in self._open}

    def _if(self, node: c_ast.If) -> c_ast.If:
        cond = self.expression(node.cond)
        before = self.value
        then = self._branch(node.iftrue)
        after, reason = self.value, self.reason
        self.value = before
        other = self._branch(node.iffalse)
        if self.value is None or after is None:
            self._unset(reason if after is None else self.reason)
        elif self.value != after:
            self._unset("it is changed under a condition")
        return c_ast.If(cond, then, other, node.coord)

    def _branch(self, node: c_ast.Node | None) -> c_ast.Node | None:
        if node is None:
            return None
        made = self.statement(node)
        if len(made) == 1:
            return made[0]
        self._close({item.name for item in made if isinstance(item, c_ast.Decl)})
        return c_ast.Compound(made, node.coord)

    # -- loops -------------------------------------------------------------------------------
    def _for(self, node: c_ast.For) -> list[c_ast.Node]:
        iterator = iterator_of(node)
        if isinstance(node.init, c_ast.DeclList) and iterator == self.name:
            raise Unknown("another variable has its name")
        if iterator == self.name or (node.init is None and stepped_name(node) == self.name):
            return self._own_loop(node)
        result = copy.copy(node)
        if any(
            self.name in written_names([part]) for part in (node.init, node.cond, node.next) if part
        ):
            raise Unknown("it is changed in a loop's header")
        changes = self.name in written_names([node.stmt])
        if changes and self.name in names_in(node.cond) | names_in(node.next):
            raise Unknown("it decides on how often the loop that changes it runs")
        for place in ("init", "cond", "next"):
            part = getattr(node, place)
            setattr(result, place, None if part is None else self._with_values(part, None))
        if iterator is None or iterator in self._iterators() or len(self._open) >= _MOST_LOOPS:
            raise Unknown("it is used in a loop of another form")
        if isinstance(node.init, c_ast.DeclList):
            self._kinds[iterator] = self.kind_of(node.init.decls[0])
        known = self._integer(iterator) is not None and iterator not in written_names([node.stmt])
        loop = _Loop(iterator if known else "", self._header(result) if known else None)
        result.stmt = self._stepped(node.stmt, loop) if changes else self._body(node.stmt, loop)
        self._kinds.pop(iterator, None)
        return [result]

    def _header(self, loop: c_ast.For) -> Header | None:
        """A loop's header, where what it is made of keeps its value while the loop runs."""
        found = header_of(loop, self._integer)
        return found if found is not None and all(map(self._is_known, found.names)) else None

    def _body(self, node: c_ast.Node, loop: _Loop) -> c_ast.Node:
        """A loop's body, in which the loop is known to run."""
        self._open.append((loop.iterator, "" if loop.header is None else trips_key(loop.header)))
        try:
            made = self._branch(node)
        finally:
            self._open.pop()
        assert made is not None
        return made

    def _stepped(self, node: c_ast.Node, loop: _Loop) -> c_ast.Node:
        """A loop's body that changes the variable, and the value after the loop."""
        header = loop.header
        before, reason = self.value, self.reason
        body = without_continue(node)
        if continues(body):
            raise Unknown("continue leaves out a step")
        if header is None:
            self._unset("it is changed in a loop of another form")
            made = self._body(body, loop)
            self._unset("it is changed in a loop of another form")
            return made
        mark = self.forms.leaf(c_ast.ID(_BEFORE))
        self.value = mark
        self._body(body, loop)
        delta, why = self._gained(mark, header), self.reason
        entry = after = None
        if delta is not None and before is not None:
            passed, gained = (
                self.forms.passed(delta, header),
                times(delta, self.forms.trips(header)),
            )
            entry = None if passed is None else added(before, passed)
            after = None if gained is None or _breaks(body) else added(before, gained)
        self.value, self.reason = entry, why if delta is None else reason
        made = self._body(body, loop)
        self.value = after
        self.reason = "its loop may end early" if _breaks(body) else self.reason
        self._close({header.iterator})
        return made

    def _gained(self, mark: Form, header: Header) -> Form | None:
        """What a body adds each time, from the value after it; ``None`` where that differs."""
        if self.value is None:
            return None
        if self.value == mark:
            return {}
        delta = added(self.value, mark, -1)
        names = self.forms.names(delta)
        if _BEFORE in names:
            self.reason = "it is set anew in each iteration"
            return None
        if header.iterator in names:
            self.reason = f"what each iteration adds to it depends on {header.iterator!r}"
            return None
        return delta

    def _own_loop(self, node: c_ast.For) -> list[c_ast.Node]:
        """A loop over the variable itself, with a name for the value that it leaves if need be."""
        if self.name in written_names([node.stmt]):
            raise Unknown("its own loop changes it in its body")
        start = self.read(node.coord) if node.init is None else self.expression(node.init.rvalue)
        target = c_ast.ID(self.name, node.coord)
        loop = copy.copy(node)
        loop.init = c_ast.Assignment("=", target, start, node.coord)
        header = self._header(loop)
        self._unset("the loop over it has another form")
        made: list[c_ast.Node] = [loop if self.own is None else self.own(loop)]
        if header is not None and not _breaks(node.stmt):
            self.value = self.forms.final(header)
            final = self.forms.printed(self.value, node.coord, set())
            if sum(1 for _ in nodes(final)) > _MOST_IN_PLACE:
                made.append(self._name_for(final))
        return made

    def _name_for(self, value: c_ast.Node) -> c_ast.Decl:
        """A local that holds the variable's value, which is too long to be written everywhere."""
        name = self.fresh(self.name)
        assert self.value is not None
        self._named[name] = self.value
        self._kinds[name] = self.own_type
        kind = named_type(self.own_type.kind, name)
        self.value = self.forms.leaf(c_ast.ID(name))
        return c_ast.Decl(name, [], [], [], [], kind, value, None, value.coord)


def _is_step(node: c_ast.Node, name: str) -> bool:
    """Whether a node itself changes a variable."""
    target = None
    if isinstance(node, c_ast.Assignment):
        target = node.lvalue
    elif isinstance(node, c_ast.UnaryOp) and node.op in _STEPS:
        target = node.expr
    return isinstance(target, c_ast.ID) and target.name == name


def _is_certain(node: c_ast.Node, part: c_ast.Node) -> bool:
    """Whether a part of an expression is evaluated once whenever the expression is."""
    if node is part:
        return True
    for place, child in node.children():
        if any(n is part for n in nodes(child)):
            match node:
                case c_ast.TernaryOp() if place != "cond":
                    return False
                case c_ast.BinaryOp(op="&&" | "||") if place != "left":
                    return False
                case c_ast.UnaryOp(op="sizeof"):
                    return False
                case _:
                    return _is_certain(child, part)
    return False


def _breaks(node: c_ast.Node) -> bool:
    """Whether a loop's body may leave the loop."""
    if isinstance(node, (c_ast.Break, c_ast.Return, c_ast.Goto)):
        return True
    if isinstance(node, (c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.Switch)):
        return any(isinstance(n, (c_ast.Return, c_ast.Goto)) for n in nodes(node))
    return any(_breaks(child) for _, child in node.children())


def _mentioned(node: c_ast.Node) -> set[str]:
    return names_in(node) | {n.name for n in nodes(node) if isinstance(n, c_ast.Decl)}
