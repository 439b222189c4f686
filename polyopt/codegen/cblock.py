"""The actions of a ``Block`` as lines of C."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.codegen.cexpr import c_expression
from polyopt.codegen.names import c_name, fresh
from polyopt.codegen.wrapping import c_local
from polyopt.ir.block import Leave, Let, Put, Repeat, When, actions_in
from polyopt.ir.expr import Const, Local, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from polyopt.codegen.ctext import CText
    from polyopt.ir.block import Action, Block
    from polyopt.ir.expr import Affine, Expr, Inside, Load

_INDENT = "    "


@dataclass(frozen=True, eq=False)
class BlockPrinter:
    """Prints one block: ``affine`` its affine parts, ``element`` an element of a buffer."""

    block: Block
    affine: Callable[[Affine | Inside], CText]
    element: Callable[[str, tuple[Expr, ...], Callable[[Expr], CText]], str]
    buffer: str
    taken: set[str]
    #: whether signed numbers wrap where it is compiled
    wrapv: bool = True

    @cached_property
    def names(self) -> Mapping[str, str]:
        """C names of the locals."""
        result: dict[str, str] = {}
        for action in actions_in(self.block.body):
            if isinstance(action, Let) and action.name not in result:
                used = {*self.taken, *result.values()}
                result[action.name] = fresh(c_name(action.name), used)
        return result

    @cached_property
    def _known(self) -> Mapping[int, CText]:
        return {
            id(node): c_local(self.names[node.name], node.type)
            for node in walk(self.block)
            if isinstance(node, Local)
        }

    def lines(self) -> Iterator[str]:
        """The lines, in braces."""
        yield "{"
        yield from self._all(self.block.body, 1)
        yield "}"

    def _text(self, expr: Expr, *, stored: bool = False) -> CText:
        def load(node: Load) -> str:
            return self.element(node.array, node.index, self._text)

        affine, known = self.affine, self._known
        return c_expression(
            expr, load, affine, affine, stored=stored, known=known, wrapv=self.wrapv
        )

    def _all(self, actions: tuple[Action, ...], depth: int) -> Iterator[str]:
        for action in actions:
            yield from self._action(action, depth)

    def _action(self, action: Action, depth: int) -> Iterator[str]:
        pad = _INDENT * depth
        match action:
            case Let() | Put():
                yield f"{pad}{self._assignment(action)};"
            case When():
                yield f"{pad}if ({self._text(action.cond)}) {{"
                yield from self._all(action.then, depth + 1)
                if action.other:
                    yield f"{pad}}} else {{"
                    yield from self._all(action.other, depth + 1)
                yield f"{pad}}}"
            case Repeat():
                yield from self._repeat(action, depth)
            case Leave():
                yield f"{pad}{action.word};"

    def _assignment(self, action: Let | Put) -> str:
        value = self._text(action.value, stored=True)
        if isinstance(action, Put):
            return f"{self.element(self.buffer, action.index, self._text)} = {value}"
        kind = f"{action.value.type.c_name} " if action.declares else ""
        return f"{kind}{self.names[action.name]} = {value}"

    def _repeat(self, action: Repeat, depth: int) -> Iterator[str]:
        pad, cond = _INDENT * depth, self._text(action.cond)
        if action.first:
            yield f"{pad}do {{"
            yield from self._all(action.body, depth + 1)
            yield f"{pad}}} while ({cond});"
            return
        step = ", ".join(self._assignment(s) for s in action.step if isinstance(s, (Let, Put)))
        is_true = isinstance(action.cond, Const) and action.cond.value
        if step:
            yield f"{pad}for (; {'' if is_true else cond}; {step}) {{"
        else:
            yield f"{pad}while ({cond}) {{"
        yield from self._all(action.body, depth + 1)
        yield f"{pad}}}"
