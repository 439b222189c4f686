"""From a plan's program to LoopAST: isl generates the loops, we name and annotate them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from polyopt.codegen.accumulate import accumulate
from polyopt.codegen.cblock import BlockPrinter
from polyopt.codegen.cexpr import c_expression
from polyopt.codegen.hoist import hoist
from polyopt.codegen.hosted import Hosted, hosted
from polyopt.codegen.loops import (
    Assign,
    Block,
    Buffer,
    For,
    Form,
    Function,
    If,
    Node,
    Raw,
    loops_in,
)
from polyopt.codegen.materialize import materialize
from polyopt.codegen.names import c_name, c_names, fresh, names_in, operand
from polyopt.codegen.outline import outline
from polyopt.codegen.program import (
    c_affine,
    c_extent,
    c_prototype,
    signature_of,
)
from polyopt.codegen.shared import shared
from polyopt.codegen.spelling import Spelling
from polyopt.codegen.unused import without_unused
from polyopt.errors import InternalError
from polyopt.ir.block import Block as IrBlock
from polyopt.ir.expr import Affine, Expr, Inside, Load, walk
from polyopt.isl import (
    AstBuild,
    AstExpr,
    AstNode,
    Id,
    IslError,
    Map,
    PwAff,
    PwMultiAff,
    Schedule,
    Set,
    affine_constant,
    ast_node_type,
    ast_options,
    constant_value,
    context,
    tuple_name,
)
from polyopt.transform.find import path_to
from polyopt.transform.tree import PlanLoop, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.codegen.ctext import CText
    from polyopt.ir.scop import Array
    from polyopt.transform.program import Program
    from polyopt.transform.storage import Scratch

#: what subscripts are called, from the last on
SUBSCRIPTS = ("column", "row")
#: larger buffers, and those of parametric size, are allocated instead of put on the stack
STACK_BYTES = 32 * 1024


@dataclass(frozen=True, eq=False)
class _Leaf:
    """What one generated statement needs: its assignment, and C for its affine parts."""

    assignment: Hosted
    #: id of an affine or condition node -> isl's expression in the generated iterators
    affine: Mapping[int, AstExpr]


def generate(program: Program, name: str, spelling: Spelling | None = None) -> Function:
    """The LoopAST of a program, as a C function called ``name``.

    With a ``spelling`` it is for code that stands among other code, and uses its names.
    """
    leaves: dict[str, _Leaf] = {}
    try:
        tree = _isl_tree(program, materialize(program), leaves)
    except IslError:
        # what isl cannot do is find where an unrolled loop starts; its message may be lost
        if not any(loop.mark == "unroll" for loop in loops_of(program.tree)):
            raise
        leaves.clear()
        tree = _isl_tree(program, materialize(program, spelled=True), leaves)
    return _Generator(program, leaves, name, spelling).function(tree)


def _isl_tree(program: Program, schedule: Schedule, leaves: dict[str, _Leaf]) -> AstNode:
    """isl's AST of a schedule; ``leaves`` gets what its statements need."""
    assignments = {copy: hosted(program, copy) for copy in program.places}

    def each(node: AstNode, build: AstBuild) -> AstNode:
        key = f"leaf{len(leaves)}"
        leaves[key] = _leaf(build, assignments)
        return node.set_annotation(Id(key, context=context()))

    with ast_options():
        # islpy hands back the callback's handle too: it has to outlive the generation
        build, _handle = AstBuild.from_context(program.scop.context).set_at_each_domain(each)
        return build.node_from_schedule(schedule)


def _leaf(build: AstBuild, assignments: Mapping[str, Hosted]) -> _Leaf:
    schedule = Map.from_union_map(build.get_schedule())
    assignment = assignments[tuple_name(schedule.domain())]
    to_copy = schedule.reverse().as_pw_multi_aff()  # { [c] -> C[d] }
    affine: dict[int, AstExpr] = {}
    for expr in (*assignment.index, assignment.value):
        for node in walk(expr):
            found = _in_loops(build, node, to_copy)
            if found is not None:
                affine[id(node)] = found
    return _Leaf(assignment, affine)


def _in_loops(build: AstBuild, node: Expr, to_copy: PwMultiAff) -> AstExpr | None:
    if isinstance(node, Affine):
        form = node.form.pullback_pw_multi_aff(to_copy)
        if form.domain().is_empty():
            # in a branch that is never taken, where a buffer has no element to name
            form = affine_constant(form.get_space().domain(), 0)
        return build.expr_from_pw_aff(form)
    if isinstance(node, Inside):
        return build.expr_from_set(node.where.preimage_pw_multi_aff(to_copy))
    return None


class _Generator:
    """Walks isl's AST with the loops' marks and C names in scope."""

    def __init__(
        self,
        program: Program,
        leaves: Mapping[str, _Leaf],
        name: str,
        spelling: Spelling | None = None,
    ) -> None:
        self.program = program
        self.spelling = spelling or Spelling()
        self.leaves = leaves
        self.name = name
        self.arguments = signature_of(program.scop)
        self.arrays = {a.name: a for a in program.scop.arrays}
        self.loops = {loop.name: loop for loop in loops_of(program.tree)}
        argument_names = {a.name: a.c_name for a in self.arguments} | dict(self.spelling.names)
        temps = [s.name for s in self._stored_temps()]
        scratches = {s.name: s.array for s in program.scratches}
        used = [*argument_names.values(), *map(c_name, temps)]
        stems = [name.removesuffix("_of") for name in used if name.endswith("_of")]
        own = c_names(
            [*temps, *_buffer_names(scratches)],
            # pools are called <buffer>_of
            taken=[*argument_names.values(), "threads", *stems, *self.spelling.taken],
        )
        self.buffer_names = {**argument_names, **{t: own[t] for t in temps}}
        for scratch, key in zip(scratches, _buffer_names(scratches), strict=True):
            self.buffer_names[scratch] = own[key]
        self.params = {p: argument_names.get(p, c_name(p)) for p in program.scop.params}
        self.buffers = {s.name: self._buffer(s) for s in program.scratches}
        #: the iterator of the innermost loop, where it is a vector loop, and what it writes
        self.vector: tuple[str, frozenset[str]] | None = None
        #: names of locals declared so far around a place, and anywhere
        self.locals: set[str] = set()
        self.all_locals: set[str] = set()

    def function(self, tree: AstNode) -> Function:
        """The whole kernel."""
        temps = tuple(self._temp(array) for array in self._stored_temps())
        top = [self.buffers[s.name] for s in self.program.scratches if self._home(s) == ""]
        body = self._node(tree, dict(self.params), ())
        block = body if isinstance(body, Block) else Block((body,))
        local = tuple(b for b in (*temps, *top) if not b.heap)
        heap = tuple(b for b in (*temps, *top) if b.heap)
        prototype = c_prototype(self.name, self.arguments)
        taken = {*self.buffer_names.values(), *self.params.values(), *self.all_locals}
        taken |= {buffer.pool for buffer in self.buffers.values()} | self.spelling.taken
        block = accumulate(hoist(block, taken), taken)
        private = tuple(
            self.buffers[s.name]
            for s in self.program.scratches
            if self._home(s) and self.buffers[s.name].heap
        )
        block = without_unused(replace(block, buffers=(*local, *block.buffers)))
        taken |= {c_name(self.name), *(loop.iterator for loop in loops_in(block))}
        function = Function(self.name, prototype, block, heap, private)
        if self.spelling.taken:  # among other code there is no place for functions
            return function
        return outline(function, self.arguments, taken)

    # -- storage ----------------------------------------------------------------------------

    def _stored_temps(self) -> list[Array]:
        """Local arrays that some copy still accesses as a whole."""
        used = {
            t.access.array for t in (*self.program.reads, *self.program.writes) if t.scratch is None
        }
        return [a for a in self.program.scop.arrays if a.role == "temp" and a.name in used]

    def _temp(self, array: Array) -> Buffer:
        texts = self._extents(array.extents)
        bytes_ = _bytes(array.extents, array.type.bytes)
        heap = bool(texts) and (bytes_ is None or bytes_ > STACK_BYTES)
        return Buffer(self.buffer_names[array.name], array.type, texts, heap, bytes_)

    def _buffer(self, scratch: Scratch) -> Buffer:
        type_ = self.arrays[scratch.array].type
        bytes_ = _bytes(scratch.extents, type_.bytes)
        single = all(constant_value(e) == 1 for e in scratch.extents)
        texts = () if single else self._extents(scratch.extents)
        heap = not single and (bytes_ is None or bytes_ > STACK_BYTES)
        return Buffer(self.buffer_names[scratch.name], type_, texts, heap, bytes_)

    def _extents(self, extents: tuple[object, ...]) -> tuple[str, ...]:
        scop = self.program.scop
        return tuple(
            c_extent(_at_least_one(e, scop.context), scop.context, self.params)  # type: ignore[arg-type]
            for e in extents
        )

    def _home(self, scratch: Scratch) -> str:
        """The loop at which a buffer is declared: its own, or for the heap the parallel one."""
        if not self.buffers[scratch.name].heap:
            return scratch.at
        path = path_to(self.program, scratch.at) if scratch.at else ()
        parallel = [loop.name for loop in path if loop.mark == "parallel"]
        return parallel[0] if parallel else ""

    def _buffers_at(self, loop: str, *, heap: bool) -> tuple[Buffer, ...]:
        return tuple(
            self.buffers[s.name]
            for s in self.program.scratches
            if self._home(s) == loop and self.buffers[s.name].heap == heap
        )

    def _declared_at(self, loop: str) -> tuple[Buffer, ...]:
        """Buffers of a loop that is not written as one: also those of each thread."""
        return (*self._buffers_at(loop, heap=False), *self._buffers_at(loop, heap=True))

    # -- loops ------------------------------------------------------------------------------

    def _node(self, node: AstNode, names: dict[str, str], marks: tuple[PlanLoop, ...]) -> Node:
        kind = node.get_type()
        if kind == ast_node_type.mark:
            return self._mark(node, names, marks)
        if kind == ast_node_type.block:
            return self._sequence(_children(node), names, marks)
        if kind == ast_node_type["if_"]:
            return self._if(node, names, marks)
        if kind == ast_node_type["for_"]:
            return self._for(node, names, marks)
        return self._scoped(self._user(node, names), marks)

    def _mark(self, node: AstNode, names: dict[str, str], marks: tuple[PlanLoop, ...]) -> Node:
        """The loop below a mark has its name. A mark still waiting is of a loop that isl left
        out because it runs once: only its buffers remain."""
        loop = self.loops[node.mark_get_id().get_name()]
        inner = self._node(node.mark_get_node(), names, (loop,))
        return self._scoped(inner, marks)

    def _sequence(
        self, nodes: list[AstNode], names: dict[str, str], marks: tuple[PlanLoop, ...]
    ) -> Block:
        """Nodes after each other. Where isl left out the loop whose mark waits, because it runs
        once or is unrolled, they share its buffers: an iteration may be several of them."""
        result: list[Node] = []
        for is_loop, group in groupby(nodes, lambda n: _is_loop(n) or not marks):
            inner = [self._node(child, names, marks if is_loop else ()) for child in group]
            if is_loop:
                result += inner
            else:
                result.append(self._scoped(Block(tuple(inner)), marks))
        return Block(tuple(result))

    def _scoped(self, node: Node, loops: tuple[PlanLoop, ...]) -> Node:
        buffers = tuple(b for loop in loops for b in self._declared_at(loop.name))
        return Block((node,), buffers) if buffers else node

    def _if(self, node: AstNode, names: dict[str, str], marks: tuple[PlanLoop, ...]) -> If:
        condition = c_affine(node.if_get_cond(), names)[0]
        then = _block(self._node(node.if_get_then_node(), names, marks))
        if not node.if_has_else_node():
            return If(condition, then)
        return If(condition, then, _block(self._node(node.if_get_else_node(), names, marks)))

    def _for(self, node: AstNode, names: dict[str, str], marks: tuple[PlanLoop, ...]) -> Node:
        if not marks:
            message = "a generated loop has no name"
            raise InternalError(message)
        loop = marks[-1]
        isl_name = node.for_get_iterator().get_id().get_name()
        start = c_affine(node.for_get_init(), names)[0]
        local = self._buffers_at(loop.name, heap=False)
        if node.for_is_degenerate():
            inner = {**names, isl_name: operand(start)}
            body = _block(self._node(node.for_get_body(), inner, ()))
            return replace(body, buffers=(*body.buffers, *self._declared_at(loop.name)))
        taken = self._taken(names)
        iterator = fresh(c_name(loop.iterator), taken)
        inner = {**names, isl_name: iterator}
        around = set(self.locals), self.vector
        self.vector = (iterator, self._written(loop)) if loop.mark == "vector" else None
        body = _block(self._node(node.for_get_body(), inner, ()))
        self.locals, self.vector = around
        mark = self._pragma(loop)
        step = int(c_affine(node.for_get_inc(), inner)[0])
        return For(
            iterator,
            start,
            c_affine(node.for_get_cond(), inner)[0],
            step,
            replace(body, buffers=(*body.buffers, *local)),
            mark,
            -(-loop.width // step),  # a width counts values of the loop, a pragma iterations
            _trips(node, start, inner) if mark == "parallel" else "",
            self._buffers_at(loop.name, heap=True),
        )

    def _written(self, loop: PlanLoop) -> frozenset[str]:
        """The arrays and buffers that a loop writes to."""
        arrays = {name: self.program.copies[name].statement.array for name in loop.copies}
        stores = [(a, self.program.scratch(n, a, reading=False)) for n, a in arrays.items()]
        return frozenset(scratch.name if scratch else array for array, scratch in stores)

    def _pragma(self, loop: PlanLoop) -> str:
        """The mark that C shows: one level of threads, none among lanes, and no heap buffer
        shared by lanes."""
        if loop.mark == "parallel":
            around = path_to(self.program, loop.name)[:-1]
            return "" if any(n.mark in {"parallel", "vector"} for n in around) else "parallel"
        if loop.mark != "vector":
            return ""
        inside = {loop.name, *(inner.name for inner in loops_of(loop.body))}
        shared = any(s.at in inside and self.buffers[s.name].heap for s in self.program.scratches)
        return "" if shared else "vector"

    def _user(self, node: AstNode, names: dict[str, str]) -> Assign | Raw:
        leaf = self.leaves[node.get_annotation().get_name()]
        if isinstance(leaf.assignment.value, IrBlock):
            return self._block_lines(leaf.assignment.value, leaf, names)
        loaded: dict[tuple[str, str], None] = {}
        forms: dict[str, Form] = {}

        def affine(expr: Affine | Inside) -> str:
            text = c_affine(leaf.affine[id(expr)], names)[0]
            forms.setdefault(text, Form("inside" if isinstance(expr, Inside) else "plane", text))
            return text

        def printed(expr: Expr, known: Mapping[int, CText], *, stored: bool = False) -> CText:
            def load(expr: Load) -> str:
                text = self._element(expr.array, expr.index, lambda e: printed(e, known).text)
                loaded[self.buffer_names[expr.array], text] = None
                for name, subscript in zip(SUBSCRIPTS, reversed(expr.index), strict=False):
                    if isinstance(subscript, Affine):
                        form = affine(subscript)
                        forms[form] = Form(name, form)
                return text

            return c_expression(expr, load, affine, affine, stored=stored, known=known)

        assignment = leaf.assignment
        # a target without locals, so that updates of one element look alike
        target = self._element(assignment.buffer, assignment.index, lambda e: printed(e, {}).text)

        def is_fixed(expr: Expr) -> bool:
            iterator, written = self.vector or ("", frozenset[str]())
            if isinstance(expr, Load):
                return expr.array not in written
            return iterator not in names_in(printed(expr, {}).text)

        value, locals_ = shared(
            assignment.value,
            printed,
            assignment.inlined,
            self._taken(names),
            is_fixed if self.vector else None,
        )
        self.locals.update(local.name for local in locals_)
        self.all_locals |= self.locals
        buffer = self.buffer_names[assignment.buffer]
        return Assign(
            target,
            value,
            buffer,
            assignment.type,
            tuple(loaded),
            locals=locals_,
            forms=tuple(forms.values()),
        )

    def _block_lines(self, block: IrBlock, leaf: _Leaf, names: dict[str, str]) -> Raw:
        def affine(expr: Affine | Inside) -> str:
            return c_affine(leaf.affine[id(expr)], names)[0]

        taken = self._taken(names)
        printer = BlockPrinter(block, affine, self._element, leaf.assignment.buffer, taken)
        self.all_locals.update(printer.names.values())
        return Raw(tuple(printer.lines()))

    def _taken(self, names: Mapping[str, str]) -> set[str]:
        """What a new iterator or local cannot be called, under the iterators ``names``."""
        pools = {buffer.pool for buffer in self.buffers.values()}
        arguments = {*self.buffer_names.values(), *self.params.values()}
        around = {c_name(self.name)} if not self.spelling.taken else self.spelling.used
        return {*names.values(), *arguments, *pools, *self.locals, *around}

    def _element(self, buffer: str, index: tuple[Expr, ...], printer: Callable[[Expr], str]) -> str:
        text = self.buffer_names[buffer]
        if buffer in self.buffers and self.buffers[buffer].is_scalar:
            return text
        if buffer in self.spelling.elements:
            return self.spelling.element(buffer, [printer(e) for e in index])
        array = self.arrays.get(buffer)
        if array is not None and array.rank == 0:
            return f"*{text}" if array.is_live_out else text
        return text + "".join(f"[{printer(e)}]" for e in index)


def _children(node: AstNode) -> list[AstNode]:
    children = node.block_get_children()
    return [children.get_at(i) for i in range(children.n_ast_node())]


def _is_loop(node: AstNode) -> bool:
    """Whether a node is, or holds, iterations of the loop whose mark is above it."""
    kind = node.get_type()
    if kind == ast_node_type.block:
        return any(map(_is_loop, _children(node)))
    if kind == ast_node_type["if_"]:
        branches = [node.if_get_then_node()]
        if node.if_has_else_node():
            branches.append(node.if_get_else_node())
        return any(map(_is_loop, branches))
    return kind == ast_node_type["for_"]


def _at_least_one(extent: PwAff, context: Set) -> PwAff:
    """C has no arrays without elements, or with fewer, for sizes at which nothing is stored."""
    one = affine_constant(extent.get_domain_space(), 1)
    return extent if context.is_subset(extent.ge_set(one)) else extent.union_max(one)


def _trips(node: AstNode, start: str, names: Mapping[str, str]) -> str:
    """About how many iterations a loop runs: its bound less its start."""
    bound = c_affine(node.for_get_cond().get_op_arg(1), names)[0]
    return bound if start == "0" else f"{bound} - {operand(start)}"


def _block(node: Node) -> Block:
    return node if isinstance(node, Block) else Block((node,))


def _buffer_names(scratches: Mapping[str, str]) -> list[str]:
    """A distinct, short name per buffer: its array's, numbered where there are several."""
    seen: dict[str, int] = {}
    result: list[str] = []
    for array in scratches.values():
        seen[array] = seen.get(array, 0) + 1
        result.append(f"{array}_tile" if seen[array] == 1 else f"{array}_tile{seen[array]}")
    return result


def _bytes(extents: tuple[object, ...], element: int) -> int | None:
    total = element
    for extent in extents:
        number = constant_value(extent)  # type: ignore[arg-type]
        if number is None:
            return None
        total *= max(number, 1)
    return total
