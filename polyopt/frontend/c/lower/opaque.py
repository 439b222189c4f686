"""Code whose control data decide, as one statement with a small program of its own.

The smallest piece of the source that is not affine and writes one array becomes a ``Block``: loops
with bounds from data, ``while``, ``break`` and ``continue``, and writes to elements that data
choose. What it may read and write is known from its subscripts, else the whole extent
(docs/adr/0010).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import TypeMismatchError, UnsupportedError
from polyopt.frontend.c.lower.diagnostics import unsupported
from polyopt.frontend.c.lower.expressions import Lowering, subscript_value
from polyopt.frontend.c.lower.scope import (
    BlockLocal,
    Env,
    IteratorVar,
    Parameter,
    Pending,
    Record,
    Substituted,
    Variable,
)
from polyopt.ir import build
from polyopt.ir.block import Action, Block, If, Jump, Let, Store, While, actions_in
from polyopt.ir.expr import Affine, Const, loads, same_expr
from polyopt.ir.types import BOOL

if TYPE_CHECKING:
    from polyopt.frontend.c.lower.scope import Place, Program
    from polyopt.ir.expr import Expr
    from polyopt.ir.types import ScalarType

_STEPS = {"p++": "+", "++": "+", "p--": "-", "--": "-"}
#: statements that may become a block
BLOCKS = (
    c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.If, c_ast.Compound, c_ast.Assignment,
    c_ast.UnaryOp,
)  # fmt: skip
_CONTROL = (c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.If, c_ast.Compound)


def as_block(program: Program, node: c_ast.Node, env: Env, place: Place) -> Record | None:
    """One statement that does what a node does, or ``None`` where nothing of it is left.

    Raises the frontend's errors for what cannot be taken in this way either.
    """
    _check_leaves(program, node)
    lowering = _Opaque(program, place)
    body = tuple(lowering.statement(node, env.inner()))
    target = lowering.target
    if target is None:
        return None
    if place.guard is not None:
        body = (If(place.guard, body),)
    index = _common_index(body, len(target.private) + len(target.extents))
    value = Block(target.type, body)
    span = program.locator.span(node)
    return Record(target.array, index, value, replace(place, guard=None), span)


def _check_leaves(program: Program, node: c_ast.Node) -> None:
    """Refuse ``break`` and ``continue`` of a loop around the node."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (c_ast.Break, c_ast.Continue)):
            raise unsupported(program.locator, part)
        if not isinstance(part, (c_ast.For, c_ast.While, c_ast.DoWhile)):
            waiting += [child for _, child in part.children()]


def keeps_something(block: Block, array: str, index: tuple[Affine | None, ...]) -> bool:
    """Whether an element that a block may write could be left, or read, as it was before."""
    if any(part is None for part in index) or any(node.array == array for node in loads(block)):
        return True
    return not any(isinstance(action, Store) for action in _surely(block.body))


def _surely(body: tuple[Action, ...]) -> list[Action]:
    """The actions that run whatever the data: those before anything may be left."""
    result: list[Action] = []
    for action in body:
        if isinstance(action, Jump):
            break
        result.append(action)
    return result


def _common_index(body: tuple[Action, ...], rank: int) -> tuple[Affine | None, ...]:
    """The subscripts that all writes have in common; ``None`` where they differ or data decide."""
    puts = [action for action in actions_in(body) if isinstance(action, Store)]
    result: list[Affine | None] = []
    for position in range(rank):
        parts = [put.index[position] for put in puts]
        first = parts[0]
        same = isinstance(first, Affine) and all(same_expr(first, part) for part in parts)
        result.append(first if same and isinstance(first, Affine) else None)
    return tuple(result)


@dataclass(eq=False)
class _Opaque:
    """Lowers statements to actions; ``target`` is the one variable outside that they write."""

    program: Program
    place: Place
    target: Variable | None = None
    taken: set[str] = field(default_factory=set[str])

    def _lowering(self, env: Env) -> Lowering:
        return Lowering(self.program, env, self.place)

    def statement(self, node: c_ast.Node | None, env: Env) -> list[Action]:
        """The actions of one statement."""
        match node:
            case None | c_ast.EmptyStatement() | c_ast.Pragma():
                return []
            case c_ast.Compound():
                inner = env.inner()
                return [a for item in node.block_items or [] for a in self.statement(item, inner)]
            case c_ast.ExprList():
                return [a for item in node.exprs for a in self.statement(item, env)]
            case c_ast.DeclList():
                return [a for item in node.decls for a in self.statement(item, env)]
            case c_ast.Decl():
                return self._declare(node, env)
            case c_ast.Assignment() | c_ast.UnaryOp():
                return self._assign(node, env)
            case c_ast.Break():
                return [Jump("break")]
            case c_ast.Continue():
                return [Jump("continue")]
            case _ if isinstance(node, _CONTROL):
                return self._control(node, env)
            case _:
                raise unsupported(self.program.locator, node)

    # -- control -----------------------------------------------------------------------------
    def _control(self, node: c_ast.Node, env: Env) -> list[Action]:
        match node:
            case c_ast.If():
                cond = self._lowering(env).condition(node.cond)
                then = tuple(self.statement(node.iftrue, env.inner()))
                other = tuple(self.statement(node.iffalse, env.inner()))
                if isinstance(cond, Const):
                    return list(then if cond.value else other)
                return [If(cond, then, other)]
            case c_ast.While():
                return [self._repeat(node.cond, node.stmt, None, env)]
            case c_ast.DoWhile():
                self._check_continue(node)
                return [self._repeat(node.cond, node.stmt, None, env, first=True)]
            case c_ast.For():
                inner = env.inner()
                start = self.statement(node.init, inner)
                return [*start, self._repeat(node.cond, node.stmt, node.next, inner)]
            case _:
                raise unsupported(self.program.locator, node)

    def _repeat(
        self,
        cond: c_ast.Node | None,
        body: c_ast.Node,
        step: c_ast.Node | None,
        env: Env,
        *,
        first: bool = False,
    ) -> While:
        test: Expr = build.const(BOOL, 1)
        if cond is not None:
            test = self._lowering(env).condition(cond)
        inner = tuple(self.statement(body, env.inner()))
        after = tuple(self.statement(step, env))
        if not all(isinstance(action, (Let, Store)) for action in after):
            raise unsupported(self.program.locator, step or body)
        return While(test, inner, after, first)

    def _check_continue(self, node: c_ast.DoWhile) -> None:
        from polyopt.frontend.c.syntax.usage import nodes

        found = next((n for n in nodes(node.stmt) if isinstance(n, c_ast.Continue)), None)
        if found is not None:
            raise unsupported(self.program.locator, found)

    # -- variables ---------------------------------------------------------------------------
    def _declare(self, node: c_ast.Decl, env: Env) -> list[Action]:
        if {"static", "extern"} & set(node.storage or []):
            raise unsupported(self.program.locator, node)
        type_ = self.program.types.scalar(node.type)
        name = self._fresh(node.name)
        if node.init is None:
            value: Expr = build.const(type_, 0)
        else:
            lowering = self._lowering(env)
            value = build.cast(type_, lowering.cast(type_, lowering.lower(node.init)))
        env.declare(node.name, BlockLocal(name, type_))
        return [Let(name, value, declares=True)]

    def _fresh(self, name: str) -> str:
        found, number = name, 1
        while found in self.taken:
            found, number = f"{name}_{number}", number + 1
        self.taken.add(found)
        return found

    def _assign(self, node: c_ast.Assignment | c_ast.UnaryOp, env: Env) -> list[Action]:
        if isinstance(node, c_ast.UnaryOp):
            if node.op not in _STEPS:
                raise unsupported(self.program.locator, node)
            target, op = node.expr, _STEPS[node.op]
            value: c_ast.Node = c_ast.BinaryOp(
                op, target, c_ast.Constant("int", "1", node.coord), node.coord
            )
        else:
            target, value = node.lvalue, node.rvalue
            if isinstance(value, c_ast.Assignment):
                last = c_ast.Assignment(node.op, target, value.lvalue, node.coord)
                return [*self._assign(value, env), *self._assign(last, env)]
            if node.op != "=":
                value = c_ast.BinaryOp(node.op[:-1], target, value, node.coord)
        if isinstance(target, c_ast.ID):
            found = self._local(target, value, env)
            if found is not None:
                return [found]
        return [self._write(target, value, env)]

    def _local(self, target: c_ast.ID, value: c_ast.Node, env: Env) -> Let | None:
        """An assignment to a local of the block; ``None`` for a variable of the program."""
        binding = env.get(target.name)
        if isinstance(binding, Pending):
            lowered = self._value(value, binding.type, env)
            name = self._fresh(target.name)
            env.declare(target.name, BlockLocal(name, binding.type))
            return Let(name, lowered, declares=True)
        if isinstance(binding, BlockLocal):
            return Let(binding.name, self._value(value, binding.type, env))
        if isinstance(binding, (IteratorVar, Parameter, Substituted)):
            msg = f"{target.name!r} is changed by code that data decide on"
            raise self.program.locator.error(
                UnsupportedError, target, msg, hint="use another variable"
            )
        return None

    def _value(self, node: c_ast.Node, type_: ScalarType, env: Env) -> Expr:
        lowering = self._lowering(env)
        return build.cast(type_, lowering.cast(type_, lowering.lower(node)))

    def _write(self, target: c_ast.Node, value: c_ast.Node, env: Env) -> Store:
        lowering = self._lowering(env)
        variable, index = self._element(target, lowering)
        if variable.const or (variable.argument and not variable.extents and not variable.shared):
            what = "is const" if variable.const else "is an argument by value"
            msg = f"{variable.array!r} {what}"
            raise self.program.locator.error(
                TypeMismatchError, target, msg, hint="write into another variable"
            )
        if self.target is not None and self.target is not variable:
            msg = f"this code, on which data decide, writes {self.target.array!r} and this"
            hint = "let such code write one array or variable; declare the others inside of it"
            raise self.program.locator.error(UnsupportedError, target, msg, hint=hint)
        self.target = variable
        return Store(index, self._value(value, variable.type, env))

    def _element(self, target: c_ast.Node, lowering: Lowering) -> tuple[Variable, tuple[Expr, ...]]:
        if isinstance(target, c_ast.ID):
            binding = lowering.env.get(target.name)
            if isinstance(binding, Variable) and not binding.extents:
                return binding, lowering.private(binding)
            lowering.lower(target)
        if not isinstance(target, c_ast.ArrayRef):
            raise unsupported(self.program.locator, target)
        variable, subscripts = lowering.target(target)
        own = tuple(subscript_value(lowering, node) for node in subscripts)
        return variable, (*lowering.private(variable), *own)
