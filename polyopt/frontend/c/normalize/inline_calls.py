"""Calls of functions of the same file, replaced by what they do.

rewrite: ``scale(row, n, 2);`` -> ``{ int n_1 = n; float by_1 = 2; for (...) row[j_1] *= by_1; }``

Arguments by value become locals of the formal's type, arrays and pointers are put in place of the
formal, and locals get names that nothing else has. Functions that are one value (``returns.py``)
are left to whoever lowers expressions, but for those that read arrays or globals: they are written
where they are called. *Does not handle* functions that return from a loop, that call themselves, or
whose globals are hidden where they are called.
"""

from __future__ import annotations

import copy
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import TooLargeError, TypeMismatchError, UnsupportedError
from polyopt.frontend.c.normalize.lvalues import replaced
from polyopt.frontend.c.normalize.single_exit import at_end
from polyopt.frontend.c.syntax.nodes import cast
from polyopt.frontend.c.syntax.usage import names_in, nodes, written_name

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from polyopt.frontend.c.lower.scope import Inline
    from polyopt.frontend.c.syntax.locations import Locator

#: calls of a region that may be replaced, and nodes of the parser's trees that they may be replaced
#: by, those of calls within counted each time
MOST_CALLS, MOST_NODES = 2_000, 50_000
#: what a body that returns from several places sets; no name in C
_RESULT = "return"


def _named(root: c_ast.Node) -> set[str]:
    """The names that are used or declared below a node."""
    found = (n.name for n in nodes(root) if isinstance(n, (c_ast.ID, c_ast.Decl)))
    return {name for name in found if name}


def _formals(function: c_ast.FuncDef) -> list[c_ast.Decl]:
    listed = function.decl.type.args.params if function.decl.type.args is not None else []
    return [formal for formal in listed if isinstance(formal, c_ast.Decl)]


def _is_of_arguments(function: Inline) -> bool:
    """Whether a value is made of scalar arguments alone."""
    formals = _formals(function.decl)
    if any(isinstance(f.type, (c_ast.ArrayDecl, c_ast.PtrDecl)) for f in formals):
        return False
    called = {id(n.name) for n in nodes(function.value) if isinstance(n, c_ast.FuncCall)}
    used = {
        n.name for n in nodes(function.value) if isinstance(n, c_ast.ID) and id(n) not in called
    }
    return used <= {formal.name for formal in formals}


def _element(pointer: c_ast.Node, offset: c_ast.Node | None) -> c_ast.Node | None:
    """``pointer[offset]`` where a pointer is made of an element's address and steps from it.

    ``(&a[i])[j]`` and ``(a + i)[j]`` are ``a[i + j]``; ``None`` for other pointers.
    """
    match pointer:
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef() as element):
            return c_ast.ArrayRef(element.name, _sum(element.subscript, offset), pointer.coord)
        case c_ast.UnaryOp(op="&"):
            return pointer.expr if offset is None else None
        case c_ast.BinaryOp(op="+"):
            more = _sum(pointer.right, offset)
            if isinstance(pointer.left, (c_ast.ID, c_ast.ArrayRef)):
                return c_ast.ArrayRef(pointer.left, more, pointer.coord)
            return _element(pointer.left, more)
        case _:
            return None


def _pointed(argument: c_ast.Node) -> str:
    """The variable that a pointer leads into: ``a`` of ``&a[i]`` and of ``a[i] + 2``."""
    match argument:
        case c_ast.ID():
            return argument.name
        case c_ast.ArrayRef():
            return _pointed(argument.name)
        case c_ast.UnaryOp() | c_ast.Cast():
            return _pointed(argument.expr)
        case c_ast.BinaryOp():
            return _pointed(argument.left) or _pointed(argument.right)
        case _:
            return ""


def _moving(argument: c_ast.Node) -> set[str]:
    """The variables that decide where in its array a pointer points to."""
    match argument:
        case c_ast.ID():
            return set()
        case c_ast.ArrayRef():
            return _moving(argument.name) | names_in(argument.subscript)
        case c_ast.UnaryOp() | c_ast.Cast():
            return _moving(argument.expr)
        case c_ast.BinaryOp() if _pointed(argument.left):
            return _moving(argument.left) | names_in(argument.right)
        case c_ast.BinaryOp():
            return names_in(argument.left) | _moving(argument.right)
        case _:
            return names_in(argument)


def _sum(one: c_ast.Node, other: c_ast.Node | None) -> c_ast.Node:
    return one if other is None else c_ast.BinaryOp("+", one, other, one.coord)


@dataclass(eq=False)
class Inliner:
    """Inlines calls in statements; ``values`` are functions that expressions deal with.

    ``local`` are the names of the variables around that belong to the calling function.
    """

    functions: Mapping[str, c_ast.FuncDef]
    values: Mapping[str, Inline]
    locator: Locator
    local: frozenset[str] = frozenset()
    taken: set[str] = field(default_factory=set[str])
    _open: list[str] = field(default_factory=list[str])
    _calls: int = 0
    _made: int = 0
    #: the last number that a name was made with
    _numbers: dict[str, int] = field(default_factory=dict[str, int])

    def all(self, items: list[c_ast.Node]) -> list[c_ast.Node]:
        """The statements without calls that can be replaced."""
        self.taken |= {name for item in items for name in _named(item)}
        for name in self.taken & self.functions.keys():
            self._take(name)
        self.local |= {n.name for i in items for n in nodes(i) if isinstance(n, c_ast.Decl)}
        plain = map(self._with_values, items)
        return [new for item in plain for new in self._statement(item)]

    def _with_values(self, node: c_ast.Node) -> c_ast.Node:
        """The node with functions that are a value of more than their arguments in their place."""
        changed = {
            name: new
            for name, child in node.children()
            if (new := self._with_values(child)) is not child
        }
        node = replaced(node, changed) if changed else node
        if not isinstance(node, c_ast.FuncCall) or not isinstance(node.name, c_ast.ID):
            return node
        found = self.values.get(node.name.name)
        if found is None or _is_of_arguments(found):
            return node
        function = found.decl
        with self._opened(function, node):
            self._check_names(function, node)
            names = {
                formal.name: argument
                if isinstance(formal.type, (c_ast.ArrayDecl, c_ast.PtrDecl))
                else cast(argument, formal.type)
                for formal, argument in self._pairs(function, node)
            }
            value = self._with_values(self._renamed(found.value, names))
        return cast(value, function.decl.type.type)

    def _take(self, function: str) -> None:
        """Keep the names of a function, and of those that it calls, from being made anew."""
        new = _named(self.functions[function].body) - self.taken
        self.taken |= new
        for name in new & self.functions.keys():
            self._take(name)

    def _statement(self, node: c_ast.Node) -> list[c_ast.Node]:
        match node:
            case c_ast.FuncCall() if self._called(node) is not None:
                return [self._expanded(node, None)]
            case c_ast.Assignment(rvalue=c_ast.FuncCall() as call) if (
                self._called(call) is not None
            ):
                return [self._expanded(call, (node.op, node.lvalue))]
            case c_ast.Decl(init=c_ast.FuncCall() as call) if self._called(call) is not None:
                bare = copy.copy(node)
                bare.init = None
                target = c_ast.ID(node.name, node.coord)
                return [bare, self._expanded(call, ("=", target))]
            case c_ast.Compound():
                return [c_ast.Compound(
                    [new for item in node.block_items or [] for new in self._statement(item)],
                    node.coord,
                )]  # fmt: skip
            case c_ast.For() | c_ast.While() | c_ast.DoWhile() | c_ast.If():
                return [self._nested(node)]
            case c_ast.Assignment() | c_ast.Decl():
                return self._hoisted(node)
            case _:
                return [node]

    def _hoisted(self, node: c_ast.Assignment | c_ast.Decl) -> list[c_ast.Node]:
        """``x = 1 + f(a);`` as ``T f_1 = f(a); x = 1 + f_1;``, where it is evaluated anyway."""
        value = node.rvalue if isinstance(node, c_ast.Assignment) else node.init
        calls: list[tuple[c_ast.FuncCall, c_ast.ID]] = []
        new = None if value is None else self._without_calls(value, calls)
        if not calls or new is None:
            return [node]
        before: list[c_ast.Node] = []
        for call, name in calls:
            function = self._called(call)
            assert function is not None
            type_ = function.decl.type.type
            decl = c_ast.Decl(name.name, [], [], [], [], type_, call, None, call.coord)
            before += self._statement(decl)
        changed = replaced(node, {"rvalue" if isinstance(node, c_ast.Assignment) else "init": new})
        return [*before, changed]

    def _without_calls(
        self, node: c_ast.Node, calls: list[tuple[c_ast.FuncCall, c_ast.ID]]
    ) -> c_ast.Node:
        """An expression with names in place of calls; ``calls`` gets both."""
        if isinstance(node, c_ast.TernaryOp):
            return node
        if isinstance(node, c_ast.BinaryOp) and node.op in {"&&", "||"}:
            return node
        changed = {
            name: new
            for name, child in node.children()
            if (new := self._without_calls(child, calls)) is not child
        }
        node = replaced(node, changed) if changed else node
        if not isinstance(node, c_ast.FuncCall) or self._called(node) is None:
            return node
        assert isinstance(node.name, c_ast.ID)
        name = c_ast.ID(self.fresh(node.name.name), node.coord)
        calls.append((node, name))
        return name

    def _nested(self, node: c_ast.Node) -> c_ast.Node:
        changed: dict[str, c_ast.Node] = {}
        for name, child in node.children():
            if name in {"stmt", "iftrue", "iffalse"}:
                made = self._statement(child)
                new = made[0] if len(made) == 1 else c_ast.Compound(made, child.coord)
                if new is not child:
                    changed[name] = new
        return replaced(node, changed) if changed else node

    def _called(self, call: c_ast.FuncCall) -> c_ast.FuncDef | None:
        name = call.name.name if isinstance(call.name, c_ast.ID) else ""
        return None if name in self.values else self.functions.get(name)

    def _expanded(self, call: c_ast.FuncCall, target: tuple[str, c_ast.Node] | None) -> c_ast.Node:
        function = self._called(call)
        assert function is not None
        with self._opened(function, call):
            return self._body(function, call, target)

    @contextmanager
    def _opened(self, function: c_ast.FuncDef, call: c_ast.FuncCall) -> Generator[None]:
        """Refuse a function inside itself."""
        name = function.decl.name
        if name in self._open:
            msg = f"{name!r} calls itself"
            raise self.locator.error(
                UnsupportedError, call.name, msg, hint="write the recursion as a loop"
            )
        self._calls += 1
        self._made += sum(1 for _ in nodes(function.body))
        if self._calls > MOST_CALLS or self._made > MOST_NODES:
            msg = f"more than {MOST_CALLS:,} calls, or {MOST_NODES:,} operations, to be inlined"
            hint = "call in a loop, or mark a smaller part"
            raise self.locator.error(TooLargeError, call, msg, hint=hint)
        self._open.append(name)
        try:
            yield
        finally:
            self._open.pop()

    def _body(
        self, function: c_ast.FuncDef, call: c_ast.FuncCall, target: tuple[str, c_ast.Node] | None
    ) -> c_ast.Node:
        type_ = function.decl.type.type
        items, result = self._single(function, call)
        if target is not None and result is None:
            raise self._middle(function, call)
        self._check_names(function, call)
        names, locals_ = self._bound(function, call)
        if isinstance(result, c_ast.ID) and result.name == _RESULT:
            own = self.fresh(function.decl.name)
            names[_RESULT] = c_ast.ID(own, call.coord)
            # a value for the analysis, which follows no branches: each of them sets another one
            zero = c_ast.Constant("int", "0", call.coord)
            locals_.append(c_ast.Decl(own, [], [], [], [], type_, zero, None, call.coord))
        inside = [self._with_values(self._renamed(item, names)) for item in items]
        inner = [new for item in inside for new in self._statement(item)]
        if target is not None and result is not None:
            value = cast(self._with_values(self._renamed(result, names)), type_)
            op, place = target
            inner += self._statement(c_ast.Assignment(op, place, value, call.coord))
        return c_ast.Compound([*locals_, *inner], call.coord)

    def _single(
        self, function: c_ast.FuncDef, call: c_ast.FuncCall
    ) -> tuple[list[c_ast.Node], c_ast.Node | None]:
        """A body that returns nowhere, and the value that its function has after it."""
        items = list(function.body.block_items or [])
        last = items[-1] if items else None
        before = items[:-1] if isinstance(last, c_ast.Return) else items
        if not any(isinstance(n, c_ast.Return) for i in before for n in nodes(i)):
            return before, last.expr if isinstance(last, c_ast.Return) else None
        made = at_end(items, _RESULT, function.decl.type.type)
        if made is None:
            raise self._middle(function, call)
        has_value = any(
            n.name == _RESULT for i in made for n in nodes(i) if isinstance(n, c_ast.ID)
        )
        return made, c_ast.ID(_RESULT, call.coord) if has_value else None

    def _middle(self, function: c_ast.FuncDef, call: c_ast.FuncCall) -> Exception:
        msg = f"{function.decl.name!r} does not return at its end alone"
        hint = "let it end with its only return, or return from branches of if"
        return self.locator.error(UnsupportedError, call, msg, hint=hint)

    def _check_names(self, function: c_ast.FuncDef, call: c_ast.FuncCall) -> None:
        """Refuse a function whose names would mean something else where it is called."""
        listed = function.decl.type.args.params if function.decl.type.args is not None else []
        decls = [n for n in nodes(function.body) if isinstance(n, c_ast.Decl)]
        own = {decl.name for decl in (*listed, *decls) if isinstance(decl, c_ast.Decl)}
        hidden = sorted((_named(function.body) - own) & self.local)
        if hidden:
            msg = f"{function.decl.name!r} uses a global {hidden[0]!r}, which is another one here"
            hint = f"call the variable here something else than {hidden[0]!r}"
            raise self.locator.error(UnsupportedError, call, msg, hint=hint)
        kept = next((decl for decl in decls if "static" in decl.storage), None)
        if kept is not None:
            msg = f"{function.decl.name!r} keeps {kept.name!r} from one call to the next"
            hint = "make it a variable of the file"
            raise self.locator.error(UnsupportedError, call, msg, hint=hint)
        self._check_arguments(function, call)

    def _check_arguments(self, function: c_ast.FuncDef, call: c_ast.FuncCall) -> None:
        """Refuse pointers into places that the function changes its mind about."""
        changed = self._changed_by(function, call)
        for formal, argument in self._pairs(function, call):
            if not isinstance(formal.type, (c_ast.ArrayDecl, c_ast.PtrDecl)):
                continue
            found = sorted(_moving(argument) & changed)
            if found:
                msg = f"{function.decl.name!r} changes {found[0]!r}, by which this is found"
                hint = f"keep {found[0]!r} in a variable of its own"
                raise self.locator.error(UnsupportedError, argument, msg, hint=hint)

    def _changed_by(self, function: c_ast.FuncDef, call: c_ast.FuncCall) -> set[str]:
        """The caller's variables that a call writes: globals, and what its pointers point into."""
        written = {name for n in nodes(function.body) if (name := written_name(n)) is not None}
        formals = {formal.name for formal in _formals(function)}
        own = {n.name for n in nodes(function.body) if isinstance(n, c_ast.Decl)} | formals
        pointed = {
            _pointed(argument)
            for formal, argument in self._pairs(function, call)
            if formal.name in written and isinstance(formal.type, (c_ast.ArrayDecl, c_ast.PtrDecl))
        }
        return (written - own) | pointed

    def _bound(
        self, function: c_ast.FuncDef, call: c_ast.FuncCall
    ) -> tuple[dict[str, c_ast.Node], list[c_ast.Node]]:
        """What each formal and local stands for, and the locals that hold arguments by value."""
        names: dict[str, c_ast.Node] = {
            node.name: c_ast.ID(self.fresh(node.name), node.coord)
            for node in nodes(function.body)
            if isinstance(node, c_ast.Decl) and node.name
        }
        locals_: list[c_ast.Node] = []
        for formal, argument in self._pairs(function, call):
            if isinstance(formal.type, (c_ast.ArrayDecl, c_ast.PtrDecl)):
                names[formal.name] = argument
                continue
            fresh = self.fresh(formal.name)
            names[formal.name] = c_ast.ID(fresh, call.coord)
            decl = copy.copy(formal)
            decl.name, decl.init = fresh, argument
            locals_.append(decl)
        return names, locals_

    def _pairs(
        self, function: c_ast.FuncDef, call: c_ast.FuncCall
    ) -> list[tuple[c_ast.Decl, c_ast.Node]]:
        """Each formal with the argument that is given for it."""
        formals = _formals(function)
        given = list(call.args.exprs) if call.args is not None else []
        if len(formals) != len(given):
            msg = f"{function.decl.name!r} takes {len(formals)} argument(s), not {len(given)}"
            raise self.locator.error(TypeMismatchError, call, msg, hint="see its definition")
        return list(zip(formals, given, strict=True))

    def fresh(self, name: str) -> str:
        """A name made from another that nothing has yet."""
        number = self._numbers.get(name, 0) + 1
        while f"{name}_{number}" in self.taken:
            number += 1
        self._numbers[name] = number
        self.taken.add(f"{name}_{number}")
        return f"{name}_{number}"

    def _renamed(self, node: c_ast.Node, names: Mapping[str, c_ast.Node]) -> c_ast.Node:
        """The node with names replaced, members and called functions left alone."""
        if isinstance(node, c_ast.ID):
            return names.get(node.name, node)
        if isinstance(node, c_ast.UnaryOp) and node.op == "*":
            inner = self._renamed(node.expr, names)
            if inner is node.expr:
                return node
            return _element(inner, None) or c_ast.UnaryOp("*", inner, node.coord)
        if isinstance(node, c_ast.ArrayRef):
            base = self._renamed(node.name, names)
            subscript = self._renamed(node.subscript, names)
            moved = None if base is node.name else _element(base, subscript)
            return moved or c_ast.ArrayRef(base, subscript, node.coord)
        changed = {
            name: new
            for name, child in node.children()
            if name != "field"
            and not (isinstance(node, c_ast.FuncCall) and name == "name")
            and (new := self._renamed(child, names)) is not child
        }
        result = replaced(node, changed) if changed else node
        new = names.get(node.name) if isinstance(node, c_ast.Decl) and node.name else None
        if isinstance(new, c_ast.ID) and isinstance(result, c_ast.Decl):
            result = copy.copy(result)
            result.name = new.name
        return result
