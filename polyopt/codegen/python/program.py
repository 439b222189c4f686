"""A program as a Python function of loops, as a user of Numba writes them.

``for`` loops over ``range`` in the plan's order, ``prange`` for loops that the plan shares between
threads, NumPy's arrays. It stands for itself: other marks of the plan are left out.
"""

from __future__ import annotations

import ast
import re
from keyword import kwlist
from typing import TYPE_CHECKING

from polyopt.codegen.ast.names import buffer_names, fresh
from polyopt.codegen.lower.bounds import limits
from polyopt.codegen.lower.isl_ast import Leaf, children, is_loop, isl_tree
from polyopt.codegen.lower.register_tile_nests import with_blocks
from polyopt.codegen.python.expressions import py_affine, py_expression
from polyopt.codegen.schedule.tree import materialize
from polyopt.isl import (
    AstBuild,
    AstNode,
    affine_var,
    ast_node_type,
    constant_value,
    dim_type,
)
from polyopt.transform.schedule.query import path_to
from polyopt.transform.schedule.tree import loops_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.ir.expr import Affine, Expr, Inside, Load
    from polyopt.ir.scop import Array
    from polyopt.isl import PwAff
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.storage import Scratch
    from polyopt.transform.schedule.tree import PlanLoop

#: what the text takes from its surroundings
GLOBALS = ("np", "prange")
_BUILTIN = (*GLOBALS, "range", "min", "max", "abs", "float", *kwlist)
_INDENT = "    "


def python_text(program: ScheduledProgram, name: str) -> str:
    """The function's text; its arguments are those of the program's signature, in that order.

    Scalars that it writes are arrays of no dimensions. Raises ``UnsupportedError`` where data
    control what runs.
    """
    leaves: dict[str, Leaf] = {}
    tree = isl_tree(with_blocks(program, {}), materialize(program), leaves)
    printer = _Printer(program, leaves)
    body = [*printer.allocations(), *printer.node(tree, {}, "")] or ["pass"]
    lines = [f"def {name}({', '.join(map(printer.named, program.scop.signature))}):"]
    lines += [_INDENT + line for line in body]
    return ast.unparse(ast.parse("\n".join(lines)))  # without the parentheses that nobody needs


class _Printer:
    """Prints isl's AST of a program."""

    def __init__(self, program: ScheduledProgram, leaves: Mapping[str, Leaf]) -> None:
        self.program, self.leaves = program, leaves
        self.arrays = {a.name: a for a in program.scop.arrays}
        self.scratches = {s.name: s for s in program.scratches}
        self.loops = {loop.name: loop for loop in loops_of(program.tree)}
        self.names: dict[str, str] = {}
        given = {*program.scop.params, *self.arrays}
        stems = buffer_names({s.name: s.array for s in program.scratches})
        for key, stem in (
            *((n, n) for n in sorted(given)),
            *zip(self.scratches, stems, strict=True),
        ):
            self.names[key] = fresh(stem, {*_BUILTIN, *self.names.values()})

    def named(self, name: str) -> str:
        """What a size, an array or a buffer is called."""
        return self.names[name]

    def allocations(self) -> Iterator[str]:
        """Local arrays that are used as a whole."""
        own = {
            t.access.array
            for t in (*self.program.reads, *self.program.writes)
            if t.scratch is None and self.arrays[t.access.array].role == "temp"
        }
        for name in (n for n in self.arrays if n in own):
            yield from self._allocated(name, self.arrays[name], self.arrays[name].extents)

    def _allocated(self, name: str, array: Array, extents: tuple[PwAff, ...]) -> Iterator[str]:
        if extents:
            build = AstBuild.from_context(self.program.scop.context)
            sizes = [py_affine(build.expr_from_pw_aff(e), self.names) for e in extents]
            kind = f"np.{array.type.numpy_name}" + ("_" if array.type.kind == "bool" else "")
            yield f"{self.names[name]} = np.empty(({', '.join(sizes)},), {kind})"

    # -- loops ------------------------------------------------------------------------------

    def node(self, node: AstNode, names: dict[str, str], loop: str) -> list[str]:
        """The lines of a node; ``loop`` is the mark above it."""
        kind = node.get_type()
        if kind == ast_node_type.mark:
            return self._mark(node, names)
        if kind == ast_node_type.block:
            return [line for n in children(node) for line in self.node(n, names, loop)]
        if kind == ast_node_type["if_"]:
            return self._if(node, names, loop)
        if kind == ast_node_type["for_"]:
            return self._for(node, names, loop)
        return [self._statement(node, names)]

    def _mark(self, node: AstNode, names: dict[str, str]) -> list[str]:
        """The loop below a mark. Where isl left it out, because it runs once, its buffers stay."""
        name, below = node.mark_get_id().get_name(), node.mark_get_node()
        parts = children(below) if below.get_type() == ast_node_type.block else [below]
        first = () if all(map(is_loop, parts)) else self._buffers(name)
        return [*first, *self.node(below, names, name)]

    def _if(self, node: AstNode, names: dict[str, str], loop: str) -> list[str]:
        condition = py_affine(node.if_get_cond(), {**self.names, **names})
        lines = [f"if {condition}:", *_in(self.node(node.if_get_then_node(), names, loop))]
        if node.if_has_else_node():
            lines += ["else:", *_in(self.node(node.if_get_else_node(), names, loop))]
        return lines

    def _for(self, node: AstNode, names: dict[str, str], name: str) -> list[str]:
        around = {**self.names, **names}
        isl_name = node.for_get_iterator().get_id().get_name()
        if node.for_is_degenerate():
            start = py_affine(node.for_get_init(), around)
            inner = {**names, isl_name: f"({start})"}
            return [*self._buffers(name), *self.node(node.for_get_body(), inner, "")]
        iterator = fresh(self.loops[name].iterator, {*_BUILTIN, *around.values()})
        run = limits(node)
        start, end = py_affine(run.start, around), py_affine(run.end, around)
        step = int(py_affine(node.for_get_inc(), around))
        if run.closed:
            end = str(int(end) + 1) if end.isdigit() else f"({end} + 1)"
        value = iterator
        if self._descends(self.loops[name]):  # isl counts up to what the source starts from
            value, start, end, step = f"(-{iterator})", _negated(start), _negated(end), -step
        kind = "prange" if self._is_shared(name) else "range"
        bounds = [end] if (start, step) == ("0", 1) else [start, end, *([str(step)] * (step != 1))]
        inner = {**names, isl_name: value}
        below = self.node(node.for_get_body(), inner, "")
        for test in run.tests:
            below = [f"if {py_affine(test, {**self.names, **inner})}:", *_in(below)]
        head = f"for {iterator} in {kind}({', '.join(bounds)}):"
        return [head, *_in([*self._buffers(name), *below])]

    def _descends(self, loop: PlanLoop) -> bool:
        """Whether a loop's values are its iterator's, negated."""
        level = len(path_to(self.program, loop.name)) - 1
        sums = (
            value.add(affine_var(value.get_domain_space(), level))
            for value in loop.values.values()
            if level < value.dim(dim_type.in_)
        )
        return [constant_value(part) for part in sums] == [0] * len(loop.values)

    def _is_shared(self, name: str) -> bool:
        """Whether threads share a loop, and none around it."""
        path = path_to(self.program, name)
        return [n.name for n in path if n.mark == "parallel"][:1] == [name]

    def _buffers(self, loop: str) -> Iterator[str]:
        for scratch in self.scratches.values():
            if scratch.at == loop and not _is_scalar(scratch):
                extents = scratch.ordered(scratch.extents)
                yield from self._allocated(scratch.name, self.arrays[scratch.array], extents)

    # -- statements -------------------------------------------------------------------------

    def _statement(self, node: AstNode, names: dict[str, str]) -> str:
        leaf = self.leaves[node.get_annotation().get_name()]
        known = {**self.names, **names}

        def affine(expr: Affine | Inside) -> str:
            return py_affine(leaf.affine[id(expr)], known)

        def load(expr: Load) -> str:
            return self._element(expr.array, [printed(e) for e in expr.index])

        def printed(expr: Expr) -> str:
            return py_expression(expr, load, affine)

        made = leaf.assignment
        return (
            f"{self._element(made.buffer, list(map(printed, made.index)))} = {printed(made.value)}"
        )

    def _element(self, buffer: str, index: list[str]) -> str:
        name, scratch = self.names[buffer], self.scratches.get(buffer)
        if scratch is not None:
            return name if _is_scalar(scratch) else f"{name}[{', '.join(index)}]"
        array = self.arrays[buffer]
        if array.rank:
            return f"{name}[{', '.join(index)}]"
        return f"{name}[()]" if array.is_live_out else name


def _is_scalar(scratch: Scratch) -> bool:
    return all(constant_value(e) == 1 for e in scratch.extents)


def _negated(text: str) -> str:
    less = re.fullmatch(r"\(\(-(\w+)\) \+ (\w+)\)", text)
    if less is not None:
        return f"({less[1]} - {less[2]})"
    return str(-int(text)) if text.isdigit() else f"(-{text})"


def _in(lines: list[str]) -> list[str]:
    return [_INDENT + line for line in lines or ["pass"]]
