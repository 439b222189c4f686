"""Calls of functions of the same file, replaced by what they do.

rewrite: ``scale(row, n, 2);`` -> ``{ int n_1 = n; float by_1 = 2; for (...) row[j_1] *= by_1; }``

Arguments by value become locals of the formal's type, arrays and pointers are put in place of the
formal, and locals get names that nothing else has. *Does not handle* functions that return from
their middle, that call themselves, or whose globals are hidden where they are called.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import TypeMismatchError, UnsupportedError
from polyopt.frontend.c.lvalues import replaced
from polyopt.frontend.c.usage import names_in, nodes, written_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.frontend.c.locate import Locator


def _named(root: c_ast.Node) -> set[str]:
    """The names that are used or declared below a node."""
    found = (n.name for n in nodes(root) if isinstance(n, (c_ast.ID, c_ast.Decl)))
    return {name for name in found if name}


@dataclass(eq=False)
class Inliner:
    """Inlines calls in statements; ``skipped`` are functions that expressions deal with.

    ``local`` are the names of the variables around that belong to the calling function.
    """

    functions: Mapping[str, c_ast.FuncDef]
    skipped: frozenset[str]
    locator: Locator
    local: frozenset[str] = frozenset()
    taken: set[str] = field(default_factory=set[str])
    _open: list[str] = field(default_factory=list[str])

    def all(self, items: list[c_ast.Node]) -> list[c_ast.Node]:
        """The statements without calls that can be replaced."""
        self.taken |= {name for item in items for name in _named(item)}
        for name in self.taken & self.functions.keys():
            self._take(name)
        self.local |= {n.name for i in items for n in nodes(i) if isinstance(n, c_ast.Decl)}
        return [new for item in items for new in self._statement(item)]

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
        name = c_ast.ID(self._fresh(node.name.name), node.coord)
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
        return None if name in self.skipped else self.functions.get(name)

    def _expanded(self, call: c_ast.FuncCall, target: tuple[str, c_ast.Node] | None) -> c_ast.Node:
        function = self._called(call)
        assert function is not None
        name = function.decl.name
        if name in self._open:
            msg = f"{name!r} calls itself"
            raise self.locator.error(
                UnsupportedError, call.name, msg, hint="write the recursion as a loop"
            )
        self._open.append(name)
        try:
            return self._body(function, call, target)
        finally:
            self._open.pop()

    def _body(
        self, function: c_ast.FuncDef, call: c_ast.FuncCall, target: tuple[str, c_ast.Node] | None
    ) -> c_ast.Node:
        items = list(function.body.block_items or [])
        result: c_ast.Node | None = None
        last = items[-1] if items else None
        if isinstance(last, c_ast.Return):
            result = last.expr
            items = items[:-1]
        middle = next((n for i in items for n in nodes(i) if isinstance(n, c_ast.Return)), None)
        if middle is not None or (target is not None and result is None):
            msg = f"{function.decl.name!r} does not return at its end alone"
            raise self.locator.error(
                UnsupportedError, call, msg, hint="let it end with its only return"
            )
        self._check_names(function, call)
        names, locals_ = self._bound(function, call)
        inside = [self._renamed(item, names) for item in items]
        inner = [new for item in inside for new in self._statement(item)]
        if target is not None and result is not None:
            value = c_ast.Cast(
                c_ast.Typename(None, [], None, function.decl.type.type, call.coord),
                self._renamed(result, names), call.coord,
            )  # fmt: skip
            op, place = target
            inner += self._statement(c_ast.Assignment(op, place, value, call.coord))
        return c_ast.Compound([*locals_, *inner], call.coord)

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
        if call.args is not None:
            self._check_arguments(function, call)

    def _check_arguments(self, function: c_ast.FuncDef, call: c_ast.FuncCall) -> None:
        """Refuse pointers into places that the function changes its mind about."""
        written = {name for n in nodes(function.body) if (name := written_name(n)) is not None}
        for argument in call.args.exprs:
            moving = {
                name
                for n in nodes(argument)
                if isinstance(n, (c_ast.ArrayRef, c_ast.BinaryOp))
                for name in names_in(n.subscript if isinstance(n, c_ast.ArrayRef) else n)
            }
            changed = sorted(moving & written)
            if changed:
                msg = f"{function.decl.name!r} changes {changed[0]!r}, by which this is found"
                hint = f"keep {changed[0]!r} in a variable of its own"
                raise self.locator.error(UnsupportedError, argument, msg, hint=hint)

    def _bound(
        self, function: c_ast.FuncDef, call: c_ast.FuncCall
    ) -> tuple[dict[str, c_ast.Node], list[c_ast.Node]]:
        """What each formal and local stands for, and the locals that hold arguments by value."""
        listed = function.decl.type.args.params if function.decl.type.args is not None else []
        formals = [formal for formal in listed if isinstance(formal, c_ast.Decl)]
        given = list(call.args.exprs) if call.args is not None else []
        if len(formals) != len(given):
            msg = f"{function.decl.name!r} takes {len(formals)} argument(s), not {len(given)}"
            raise self.locator.error(TypeMismatchError, call, msg, hint="see its definition")
        names: dict[str, c_ast.Node] = {
            node.name: c_ast.ID(self._fresh(node.name), node.coord)
            for node in nodes(function.body)
            if isinstance(node, c_ast.Decl) and node.name
        }
        locals_: list[c_ast.Node] = []
        for formal, argument in zip(formals, given, strict=True):
            if isinstance(formal.type, (c_ast.ArrayDecl, c_ast.PtrDecl)):
                names[formal.name] = argument
                continue
            fresh = self._fresh(formal.name)
            names[formal.name] = c_ast.ID(fresh, call.coord)
            decl = copy.copy(formal)
            decl.name, decl.init = fresh, argument
            locals_.append(decl)
        return names, locals_

    def _fresh(self, name: str) -> str:
        number = 1
        while f"{name}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{name}_{number}")
        return f"{name}_{number}"

    def _renamed(self, node: c_ast.Node, names: Mapping[str, c_ast.Node]) -> c_ast.Node:
        """The node with names replaced, members and called functions left alone."""
        if isinstance(node, c_ast.ID):
            return names.get(node.name, node)
        if isinstance(node, c_ast.UnaryOp) and node.op == "*":
            inner = self._renamed(node.expr, names)
            if isinstance(inner, c_ast.UnaryOp) and inner.op == "&":
                return inner.expr
            return c_ast.UnaryOp("*", inner, node.coord)
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
