"""A program as a Python function of loops, as a user of Numba writes them.

``for`` loops over ``range`` in the plan's order, ``prange`` for loops that the plan shares between
threads, NumPy's arrays. It stands for itself: other marks of the plan are left out.
"""

from __future__ import annotations

import ast
from keyword import kwlist
from typing import TYPE_CHECKING

from polyopt.codegen.ast.names import buffer_names, fresh
from polyopt.codegen.lower.bounds import limits
from polyopt.codegen.lower.isl_ast import Leaf, children, is_loop, isl_tree
from polyopt.codegen.lower.register_tile_nests import with_blocks
from polyopt.codegen.lower.register_tile_rests import with_rests
from polyopt.codegen.python.expressions import (
    call,
    element,
    is_atom,
    name_of,
    negated,
    number,
    number_of,
    operation,
    py_affine,
    py_expression,
)
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
    from collections.abc import Iterable, Iterator, Mapping

    from polyopt.ir.expr import Affine, Expr, Inside, Load
    from polyopt.ir.scop import Array
    from polyopt.isl import PwAff
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.storage import Scratch
    from polyopt.transform.schedule.tree import PlanLoop

    #: isl's iterators -> their values
    Names = Mapping[str, ast.expr]

#: what the text takes from its surroundings
GLOBALS = ("np", "prange")
_BUILTIN = (*GLOBALS, "range", "min", "max", "abs", "float", *kwlist)


def python_text(program: ScheduledProgram, name: str) -> str:
    """The function's text; its arguments are those of the program's signature, in that order.

    Scalars that it writes are arrays of no dimensions. Raises ``UnsupportedError`` where data
    control what runs.
    """
    leaves: dict[str, Leaf] = {}
    program = with_rests(program)
    tree = isl_tree(with_blocks(program, {}), materialize(program), leaves)
    builder = _Builder(program, leaves)
    body = _body([*builder.allocations(), *builder.node(tree, {}, "")])
    given = [ast.arg(builder.names[n]) for n in program.scop.signature]
    arguments = ast.arguments(
        posonlyargs=[], args=given, kwonlyargs=[], kw_defaults=[], defaults=[]
    )  # fmt: skip
    function = ast.FunctionDef(name=name, args=arguments, body=body, decorator_list=[])
    return ast.unparse(ast.fix_missing_locations(function))


class _Builder:
    """Makes Python's tree of isl's AST of a program."""

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
        self.known = {key: name_of(name) for key, name in self.names.items()}

    def allocations(self) -> Iterator[ast.stmt]:
        """Local arrays that are used as a whole."""
        own = {
            t.access.array
            for t in (*self.program.reads, *self.program.writes)
            if t.scratch is None and self.arrays[t.access.array].role == "temp"
        }
        for name in (n for n in self.arrays if n in own):
            yield from self._allocated(name, self.arrays[name], self.arrays[name].extents)

    def _allocated(self, name: str, array: Array, extents: tuple[PwAff, ...]) -> Iterator[ast.stmt]:
        if extents:
            build = AstBuild.from_context(self.program.scop.context)
            sizes = [py_affine(build.expr_from_pw_aff(e), self.known) for e in extents]
            kind = f"np.{array.type.dtype}" + ("_" if array.type.kind == "bool" else "")
            made = call("np.empty", ast.Tuple(sizes), name_of(kind))
            yield ast.Assign([name_of(self.names[name])], made)

    # -- loops ------------------------------------------------------------------------------

    def node(self, node: AstNode, names: Names, loop: str) -> list[ast.stmt]:
        """The statements of a node; ``loop`` is the mark above it."""
        kind = node.get_type()
        if kind == ast_node_type.mark:
            return self._mark(node, names)
        if kind == ast_node_type.block:
            return [made for n in children(node) for made in self.node(n, names, loop)]
        if kind == ast_node_type["if_"]:
            return [self._if(node, names, loop)]
        if kind == ast_node_type["for_"]:
            return self._for(node, names, loop)
        return [self._statement(node, names)]

    def _mark(self, node: AstNode, names: Names) -> list[ast.stmt]:
        """The loop below a mark. Where isl left it out, because it runs once, its buffers stay."""
        name, below = node.mark_get_id().get_name(), node.mark_get_node()
        parts = children(below) if below.get_type() == ast_node_type.block else [below]
        first = () if all(map(is_loop, parts)) else self._buffers(name)
        return [*first, *self.node(below, names, name)]

    def _if(self, node: AstNode, names: Names, loop: str) -> ast.stmt:
        condition = py_affine(node.if_get_cond(), {**self.known, **names})
        then, other = self.node(node.if_get_then_node(), names, loop), []
        if node.if_has_else_node():
            other = _body(self.node(node.if_get_else_node(), names, loop))
        return ast.If(condition, _body(then), other)

    def _for(self, node: AstNode, names: Names, name: str) -> list[ast.stmt]:
        around = {**self.known, **names}
        isl_name = node.for_get_iterator().get_id().get_name()
        if node.for_is_degenerate():
            inner = {**names, isl_name: py_affine(node.for_get_init(), around)}
            return [*self._buffers(name), *self.node(node.for_get_body(), inner, "")]
        iterator = fresh(self.loops[name].iterator, {*_BUILTIN, *_names_in(around.values())})
        run = limits(node)
        start, end = py_affine(run.start, around), py_affine(run.end, around)
        step = int(node.for_get_inc().get_val().to_python())
        if run.closed:
            last = number_of(end)
            end = operation("+", end, number(1)) if last is None else number(last + 1)
        value = name_of(iterator)
        if self._descends(self.loops[name]):  # isl counts up to what the source starts from
            value, start, end, step = negated(value), _negated(start), _negated(end), -step
        kind = "prange" if self._is_shared(name) else "range"
        bounds = [end] if (number_of(start), step) == (0, 1) else [start, end]
        bounds += [number(step)] * (step != 1)
        inner = {**names, isl_name: value}
        below: list[ast.stmt] = self.node(node.for_get_body(), inner, "")
        for test in run.tests:
            condition = py_affine(test, {**self.known, **inner})
            below = [ast.If(condition, _body(below), [])]
        body = _body([*self._buffers(name), *below])
        return [ast.For(name_of(iterator), call(kind, *bounds), body, [])]

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

    def _buffers(self, loop: str) -> Iterator[ast.stmt]:
        for scratch in self.scratches.values():
            if scratch.at == loop and not _is_scalar(scratch):
                extents = scratch.ordered(scratch.extents)
                yield from self._allocated(scratch.name, self.arrays[scratch.array], extents)

    # -- statements -------------------------------------------------------------------------

    def _statement(self, node: AstNode, names: Names) -> ast.stmt:
        leaf = self.leaves[node.get_annotation().get_name()]
        known = {**self.known, **names}

        def affine(expr: Affine | Inside) -> ast.expr:
            return py_affine(leaf.affine[id(expr)], known)

        def load(expr: Load) -> ast.expr:
            return self._element(expr.array, list(map(made, expr.index)))

        def made(expr: Expr) -> ast.expr:
            return py_expression(expr, load, affine)

        assignment = leaf.assignment
        target = self._element(assignment.buffer, list(map(made, assignment.index)))
        return ast.Assign([target], made(assignment.value))

    def _element(self, buffer: str, index: list[ast.expr]) -> ast.expr:
        name, scratch = self.names[buffer], self.scratches.get(buffer)
        if scratch is not None:
            return name_of(name) if _is_scalar(scratch) else element(name, index)
        array = self.arrays[buffer]
        if array.rank:
            return element(name, index)
        return element(name, []) if array.is_live_out else name_of(name)


def _is_scalar(scratch: Scratch) -> bool:
    return all(constant_value(e) == 1 for e in scratch.extents)


def _negated(expr: ast.expr) -> ast.expr:
    """``a - b`` for ``-a + b``: as written by hand."""
    match expr:
        case ast.BinOp(
            left=ast.UnaryOp(op=ast.USub(), operand=left), op=ast.Add(), right=right
        ) if is_atom(left) and is_atom(right):
            return operation("-", left, right)
        case _:
            known = number_of(expr)
            return negated(expr) if known is None else number(-known)


def _names_in(values: Iterable[ast.expr]) -> Iterator[str]:
    return (n.id for value in values for n in ast.walk(value) if isinstance(n, ast.Name))


def _body(statements: list[ast.stmt]) -> list[ast.stmt]:
    return statements or [ast.Pass()]
