"""The actions of a non-affine region (``ir.Block``) as statements of the C tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Symbol, Var
from polyopt.codegen.ast.names import c_name
from polyopt.codegen.ast.nodes import Assign, Block, If, Jump, Node, Opaque, While
from polyopt.codegen.expressions.ir import lowered
from polyopt.codegen.expressions.lowered import Lowered, loaded
from polyopt.ir import block as ir
from polyopt.ir.block import actions_in
from polyopt.ir.expr import Const, Local, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.codegen.ast import expr as c
    from polyopt.ir.block import Action
    from polyopt.ir.block import Block as Region
    from polyopt.ir.expr import Affine, Expr, Inside, Load


@dataclass(frozen=True, eq=False)
class OpaqueLowering:
    """Lowers one region: ``affine`` its affine parts, ``element`` an element of a buffer."""

    region: Region
    affine: Callable[[Affine | Inside], Lowered]
    element: Callable[[str, tuple[Expr, ...], Callable[[Expr], Lowered]], c.Expr]
    buffer: str
    #: whether signed numbers wrap where it is compiled
    wrapv: bool = True

    @cached_property
    def symbols(self) -> Mapping[str, Symbol]:
        """The region's locals."""
        result: dict[str, Symbol] = {}
        for action in actions_in(self.region.body):
            if isinstance(action, ir.Let) and action.name not in result:
                result[action.name] = Symbol(c_name(action.name), action.value.type, action.name)
        return result

    @cached_property
    def _known(self) -> Mapping[int, Lowered]:
        return {
            id(node): loaded(node.type, Var(self.symbols[node.name]))
            for node in walk(self.region)
            if isinstance(node, Local)
        }

    def made(self) -> Opaque:
        """The region, in braces."""
        return Opaque(self._all(self.region.body))

    def _value(self, expr: Expr, *, stored: bool = False) -> Lowered:
        def load(node: Load) -> c.Expr:
            return self.element(node.array, node.index, self._value)

        affine, known = self.affine, self._known
        return lowered(expr, load, affine, affine, stored=stored, known=known, wrapv=self.wrapv)

    def _all(self, actions: tuple[Action, ...]) -> Block:
        return Block(tuple(map(self._action, actions)), scoped=True)

    def _action(self, action: Action) -> Node:
        match action:
            case ir.Let() | ir.Store():
                return self._assignment(action)
            case ir.If():
                other = self._all(action.other) if action.other else None
                return If(self._value(action.cond).node, self._all(action.then), other)
            case ir.While():
                return self._repeat(action)
            case ir.Jump():
                return Jump(action.word)

    def _assignment(self, action: ir.Let | ir.Store) -> Assign:
        value = self._value(action.value, stored=True).node
        if isinstance(action, ir.Store):
            return Assign(self.element(self.buffer, action.index, self._value), value)
        return Assign(Var(self.symbols[action.name]), value, declares=action.declares)

    def _repeat(self, action: ir.While) -> While:
        body = self._all(action.body)
        if action.first:
            return While(self._value(action.cond).node, body, last=True)
        step = tuple(self._assignment(s) for s in action.step if isinstance(s, (ir.Let, ir.Store)))
        is_true = isinstance(action.cond, Const) and bool(action.cond.value)
        return While(None if is_true and step else self._value(action.cond).node, body, step)
