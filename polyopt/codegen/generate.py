"""From a plan's program to LoopAST: isl generates the loops, we name and annotate them."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from polyopt.codegen.apart import looks_apart
from polyopt.codegen.blocks import with_blocks
from polyopt.codegen.cblock import BlockPrinter
from polyopt.codegen.cexpr import c_expression
from polyopt.codegen.common import repeated
from polyopt.codegen.frames import buffers_of, c_extents, stored_temps
from polyopt.codegen.indices import index_operand, index_variable, texts_of
from polyopt.codegen.lanes import in_lanes
from polyopt.codegen.leaves import Leaf, all_users, children, is_loop, isl_tree, users
from polyopt.codegen.limits import limits
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
)
from polyopt.codegen.materialize import materialize
from polyopt.codegen.names import (
    buffer_names,
    c_name,
    c_names,
    fresh,
    function_name,
    names_in,
)
from polyopt.codegen.outline import outline
from polyopt.codegen.partials import ORDERED, is_ordered, with_partials
from polyopt.codegen.permutes import is_short
from polyopt.codegen.program import (
    c_affine,
    c_prototype,
    c_trips,
    signature_of,
)
from polyopt.codegen.rewrites import Known, rewritten
from polyopt.codegen.shared import shared
from polyopt.codegen.spelling import Spelling
from polyopt.codegen.streams import Streams
from polyopt.codegen.vectors import block_body, block_name, copied, in_registers, places
from polyopt.errors import InternalError
from polyopt.ir.block import Block as IrBlock
from polyopt.ir.expr import Affine, Expr, Inside, Load, loads
from polyopt.ir.types import BOOL
from polyopt.isl import (
    AstNode,
    IslError,
    ast_node_type,
)
from polyopt.transform.find import path_to
from polyopt.transform.tree import PlanLoop, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.codegen.blocks import Blocked
    from polyopt.codegen.ctext import CText
    from polyopt.codegen.registers import RegisterBlock
    from polyopt.ir.types import ScalarType
    from polyopt.transform.program import Program
    from polyopt.transform.storage import Scratch

#: what subscripts are called, from the last on
SUBSCRIPTS = ("column", "row")


def generate(program: Program, name: str, spelling: Spelling | None = None) -> Function:
    """The LoopAST of a program, as a C function called ``name``.

    With a ``spelling`` it is for code that stands among other code, and uses its names.
    """
    leaves: dict[str, Leaf] = {}
    apart = with_partials(program)
    program, blocked = apart.program, with_blocks(apart.program, apart.joins)
    run = blocked.program
    try:
        tree = isl_tree(blocked, materialize(run, planned=program), leaves)
    except IslError:
        # what isl cannot do is find where an unrolled loop starts; its message may be lost
        if not any(loop.mark == "unroll" for loop in loops_of(run.tree)):
            raise
        leaves.clear()
        tree = isl_tree(blocked, materialize(run, planned=program, spelled=True), leaves)
    return _Generator(program, blocked, leaves, name, spelling or Spelling()).function(tree)


class _Generator:
    """Walks isl's AST with the loops' marks and C names in scope."""

    def __init__(
        self,
        program: Program,
        blocked: Blocked,
        leaves: Mapping[str, Leaf],
        name: str,
        spelling: Spelling,
    ) -> None:
        self.program = program
        self.blocked = blocked
        self.blocks = blocked.blocks
        self.spelling = spelling
        self.leaves = leaves
        self.name = name
        self.arguments = signature_of(program.scop)
        self.arrays = {a.name: a for a in program.scop.arrays}
        self.loops = {loop.name: loop for loop in loops_of(blocked.program.tree)}
        argument_names = {a.name: a.c_name for a in self.arguments} | dict(self.spelling.names)
        temps = [s.name for s in stored_temps(program)]
        scratches = {s.name: s.array for s in program.scratches}
        used = [*argument_names.values(), *map(c_name, temps)]
        stems = [name.removesuffix("_of") for name in used if name.endswith("_of")]
        own = c_names(
            [*temps, *buffer_names(scratches)],
            # pools are called <buffer>_of
            taken=[*argument_names.values(), "threads", *stems, *self.spelling.taken],
        )
        self.buffer_names = {**argument_names, **{t: own[t] for t in temps}}
        for scratch, key in zip(scratches, buffer_names(scratches), strict=True):
            self.buffer_names[scratch] = own[key]
        self.params = self.spelling.params(program.scop, argument_names)
        self.temps, self.buffers = buffers_of(program, self.buffer_names, self.params)
        self._name_blocks()
        #: the iterator of the innermost loop, where it is a vector loop, and what it writes
        self.vector: tuple[str, frozenset[str]] | None = None
        #: names of locals declared around a place so far, and by statements and blocks anywhere
        self.locals: set[str] = set()
        self.statement_locals: set[str] = set()
        self.block_locals: set[str] = set()
        #: ids of the inlined parts that other statements around a place need too
        self.common: dict[Leaf, frozenset[int]] = {}

    def function(self, tree: AstNode) -> Function:
        """The whole kernel."""
        temps = tuple(self.temps.values())
        top = [self.buffers[s.name] for s in self.program.scratches if self._home(s) == ""]
        body = self._below(tree, dict(self.params))
        block = body if isinstance(body, Block) else Block((body,))
        local = tuple(b for b in (*temps, *top) if not b.heap)
        heap = tuple(b for b in (*temps, *top) if b.heap)
        prototype = c_prototype(self.name, self.arguments)
        taken = {*self.buffer_names.values(), *texts_of(self.params), *self.block_locals}
        taken |= {*self.statement_locals, function_name(self.name)}
        taken |= {buffer.pool for buffer in self.buffers.values()} | self.spelling.taken
        private = tuple(
            self.buffers[s.name]
            for s in self.program.scratches
            if self._home(s) and self.buffers[s.name].heap
        )
        whole = not self.spelling.taken
        known = Known(
            self._types(), self._streams(), local, frozenset(self.statement_locals), whole
        )
        function = Function(self.name, prototype, rewritten(block, known, taken), heap, private)
        return outline(function, self.arguments, taken) if whole else function

    def _streams(self) -> Streams:
        past = {self.buffer_names[a]: size for a, size in self.program.nontemporal.items()}
        return Streams(past, {a.c_name: a for a in self.arguments})

    def _types(self) -> dict[str, ScalarType]:
        """Of arrays and buffers, by their names in C."""
        kinds = {**self.arrays, **self.buffers}
        return {n: kinds[k].type for k, n in self.buffer_names.items() if k in kinds}

    # -- storage ----------------------------------------------------------------------------

    def _home(self, scratch: Scratch) -> str:
        """The loop at which a buffer is declared: its own, or for the heap the parallel one."""
        if not self.buffers[scratch.name].heap:
            return scratch.at
        path = path_to(self.program, scratch.at) if scratch.at else ()
        parallel = [loop.name for loop in path if loop.mark == "parallel"]
        return parallel[0] if parallel else ""

    def _buffers_at(self, loop: str, *, heap: bool) -> tuple[Buffer, ...]:
        found = tuple(
            self.buffers[s.name]
            for s in self.program.scratches
            if self._home(s) == loop and self.buffers[s.name].heap == heap
        )
        return found if heap else (*found, *self._block_buffers(loop))

    def _declared_at(self, loop: str) -> tuple[Buffer, ...]:
        """Buffers of a loop that is not written as one: also those of each thread."""
        return (*self._buffers_at(loop, heap=False), *self._buffers_at(loop, heap=True))

    # -- loops ------------------------------------------------------------------------------

    def _node(self, node: AstNode, names: dict[str, CText], marks: tuple[PlanLoop, ...]) -> Node:
        kind = node.get_type()
        if kind == ast_node_type.mark:
            return self._mark(node, names, marks)
        if kind == ast_node_type.block:
            return self._sequence(children(node), names, marks)
        if kind == ast_node_type["if_"]:
            return self._if(node, names, marks)
        if kind == ast_node_type["for_"]:
            return self._for(node, names, marks)
        return self._scoped(self._user(node, names), marks)

    def _mark(self, node: AstNode, names: dict[str, CText], marks: tuple[PlanLoop, ...]) -> Node:
        """The loop below a mark has its name. A mark still waiting is of a loop that isl left
        out because it runs once: only its buffers remain."""
        loop = self.loops[node.mark_get_id().get_name()]
        inner = self._node(node.mark_get_node(), names, (loop,))
        block = self.blocks.get(loop.name)
        if block is not None:
            inner = self._in_registers(block, node, names, inner)
        if loop.mark == ORDERED:
            inner = Block((inner,), ordered=True)
        return self._scoped(inner, marks)

    def _in_registers(
        self, block: RegisterBlock, node: AstNode, names: dict[str, CText], inner: Node
    ) -> Block:
        """The loop of a block between loading and storing what it updates."""
        stem = self.buffer_names[block.buffer]
        if block.whole is None:
            return in_registers(block, stem, inner, stem, copied(block, stem))
        rows = self.leaves[all_users(node)[0].get_annotation().get_name()].rows
        stored = self.buffer_names[block.assignment.buffer]
        return in_registers(block, stem, inner, stored, places(block, rows, self._named, names))

    def _sequence(
        self, nodes: list[AstNode], names: dict[str, CText], marks: tuple[PlanLoop, ...]
    ) -> Block:
        """Nodes after each other. Where isl left out the loop whose mark waits, because it runs
        once or is unrolled, they share its buffers: an iteration may be several of them."""
        result: list[Node] = []
        for below_mark, group in groupby(nodes, lambda n: is_loop(n) or not marks):
            inner = [self._node(child, names, marks if below_mark else ()) for child in group]
            if below_mark:
                result += inner
            else:
                result.append(self._scoped(Block(tuple(inner)), marks))
        return Block(tuple(result))

    def _name_blocks(self) -> None:
        for block in self.blocks.values():
            taken = {*self.buffer_names.values(), *texts_of(self.params)}
            taken |= {c_name(loop.iterator) for loop in self.loops.values()}
            array = self.program.copies[block.copy].statement.array
            name = block_name(array, taken)
            extents = tuple(map(str, block.extents))
            self.buffer_names[block.buffer] = name
            if block.whole is not None:
                continue
            self.buffers[block.buffer] = Buffer(name, block.assignment.type, extents, heap=False)

    def _block_buffers(self, loop: str) -> tuple[Buffer, ...]:
        """Blocks whose nests stand in a loop."""
        return tuple(
            self.buffers[block.buffer]
            for block in self.blocks.values()
            if block.whole is None and path_to(self.program, block.loop)[-2].name == loop
        )

    def _scoped(self, node: Node, loops: tuple[PlanLoop, ...]) -> Node:
        buffers = tuple(b for loop in loops for b in self._declared_at(loop.name))
        return Block((node,), buffers) if buffers else node

    def _if(self, node: AstNode, names: dict[str, CText], marks: tuple[PlanLoop, ...]) -> If:
        condition = c_affine(node.if_get_cond(), names).text
        then = _block(self._node(node.if_get_then_node(), names, marks))
        if not node.if_has_else_node():
            return If(condition, then)
        return If(condition, then, _block(self._node(node.if_get_else_node(), names, marks)))

    def _for(self, node: AstNode, names: dict[str, CText], marks: tuple[PlanLoop, ...]) -> Node:
        if not marks:
            message = "a generated loop has no name"
            raise InternalError(message)
        loop = marks[-1]
        isl_name = node.for_get_iterator().get_id().get_name()
        if node.for_is_degenerate():
            start = c_affine(node.for_get_init(), names)
            inner = {**names, isl_name: index_operand(start)}
            body = _block(self._below(node.for_get_body(), inner))
            return replace(body, buffers=(*body.buffers, *self._declared_at(loop.name)))
        run = limits(node)
        iterator = fresh(c_name(loop.iterator), self._taken(names))
        inner = {**names, isl_name: index_variable(iterator)}
        around = set(self.locals), self.vector
        self.vector = (iterator, self._written(loop)) if loop.mark == "vector" else None
        body = _block(self._below(node.for_get_body(), inner))
        self.locals, self.vector = around
        mark = self._pragma(loop, node)
        step = int(c_affine(node.for_get_inc(), inner).text)
        start, end = (c_affine(bound, names) for bound in (run.start, run.end))
        for test in run.tests:
            body = Block((If(c_affine(test, inner).text, body),))
        plain = For(
            iterator, start.text,
            c_affine(run.condition, inner).text, step,
            replace(body, buffers=(*body.buffers, *self._buffers_at(loop.name, heap=False))),
            mark, -(-loop.width // step),  # a width counts values of the loop, a pragma iterations
            c_trips(start, end) if mark == "parallel" else "",
            self._buffers_at(loop.name, heap=True), ordered=mark == "parallel" and is_ordered(loop),
            lanes=loop.lanes if mark else 0,
        )  # fmt: skip
        made, sums = in_lanes(plain, self.program, loop, self.buffer_names, self._taken(inner))
        self.block_locals |= sums
        return made

    def _below(self, node: AstNode, names: dict[str, CText]) -> Node:
        """What stands in a loop, or in none."""
        around = self.common
        leaves = [self.leaves.get(user.get_annotation().get_name()) for user in users(node)]
        statements = [leaf for leaf in leaves if leaf is not None and leaf.assignment.inlined]
        self.common = repeated(
            (leaf, lambda e, leaf=leaf: c_affine(leaf.affine[id(e)], names).text)
            for leaf in statements
        )
        found = self._node(node, names, ())
        self.common = around
        return found

    def _written(self, loop: PlanLoop) -> frozenset[str]:
        """The arrays and buffers that a loop writes to."""
        made = self.blocked.assignments
        own = [name for name in loop.copies if name not in made]
        arrays = {name: self.program.copies[name].statement.array for name in own}
        stores = [(a, self.program.scratch(n, a, reading=False)) for n, a in arrays.items()]
        written = {scratch.name if scratch else array for array, scratch in stores}
        return frozenset(written | {made[name].buffer for name in loop.copies if name in made})

    def _pragma(self, loop: PlanLoop, node: AstNode) -> str:
        """The mark that C shows: one level of threads, none among lanes, no heap buffer shared by
        lanes, and no element of an iteration that looks like two."""
        path = path_to(self.program, loop.name)
        if loop.mark == "parallel":
            return "" if any(n.mark in {"parallel", "vector"} for n in path[:-1]) else "parallel"
        if loop.mark != "vector":
            return ""
        inside = {loop.name, *(inner.name for inner in loops_of(loop.body))}
        shared = any(s.at in inside and self.buffers[s.name].heap for s in self.program.scratches)
        leaves = (self.leaves.get(user.get_annotation().get_name()) for user in all_users(node))
        return "" if shared or looks_apart(filter(None, leaves), self.program, path) else "vector"

    def _user(self, node: AstNode, names: dict[str, CText]) -> Node:
        leaf = self.leaves.get(node.get_annotation().get_name())
        if leaf is None:
            return Block(())
        if (block := leaf.block) is not None:
            buffer = self.buffer_names[block.buffer]
            return block_body(block, buffer, leaf.rows, self._named, names, self._taken(names))
        if isinstance(leaf.assignment.value, IrBlock):
            return self._block_lines(leaf.assignment.value, leaf, names)
        return self._assign(leaf, names)

    def _assign(self, leaf: Leaf, names: dict[str, CText]) -> Assign:
        loaded: dict[tuple[str, str], None] = {}
        forms: dict[str, Form] = {}

        #: by the id of isl's expression, of which many nodes have the same
        texts: dict[int, CText] = {}

        def affine(expr: Affine | Inside) -> CText:
            found = leaf.affine[id(expr)]
            made = texts.get(id(found)) or c_affine(found, names)
            texts[id(found)] = made
            name, type_ = ("inside", BOOL) if isinstance(expr, Inside) else ("plane", made.ctype)
            forms.setdefault(made.text, Form(name, made.text, type_))
            return made

        def printed(expr: Expr, known: Mapping[int, CText], *, stored: bool = False) -> CText:
            def load(expr: Load) -> str:
                text = self._element(expr.array, expr.index, lambda e: printed(e, known))
                loaded[self.buffer_names[expr.array], text] = None
                for name, subscript in zip(SUBSCRIPTS, reversed(expr.index), strict=False):
                    if isinstance(subscript, Affine):
                        form = affine(subscript)
                        forms[form.text] = Form(name, form.text, form.ctype)
                return text

            wrapv = not self.spelling.taken
            return c_expression(expr, load, affine, affine, stored=stored, known=known, wrapv=wrapv)

        assignment = leaf.assignment
        # a target without locals, so that updates of one element look alike
        target = self._element(assignment.buffer, assignment.index, lambda e: printed(e, {}))

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
            self._table if self.vector else None,
            self.common.get(leaf, ()),
        )
        self.locals.update(local.name for local in locals_)
        self.statement_locals |= self.locals
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

    def _table(self, load: Load) -> int:
        """The elements of the row that a load looks up in registers, or 0."""
        decided = [bool(loads(subscript)) for subscript in load.index]
        if not any(decided) or any(decided[:-1]):
            return 0
        length = self._row_length(load.array)
        return length if is_short(load.type, length) else 0

    def _row_length(self, name: str) -> int:
        """The last extent of an array or a buffer; 0 where sizes decide."""
        buffer = self.buffers.get(name)
        if buffer is None:
            extents = c_extents(self.arrays[name].extents, self.program, self.params)
        else:
            extents = buffer.extents
        return int(extents[-1]) if extents and extents[-1].isdigit() else 0

    def _block_lines(self, block: IrBlock, leaf: Leaf, names: dict[str, CText]) -> Raw:
        taken = self._taken(names)
        buffer, wrapv = leaf.assignment.buffer, not self.spelling.taken
        forms = {key: c_affine(form, names) for key, form in leaf.affine.items()}
        printer = BlockPrinter(block, lambda e: forms[id(e)], self._element, buffer, taken, wrapv)
        self.block_locals.update(printer.names.values())
        return Raw(tuple(printer.lines()))

    def _taken(self, names: Mapping[str, CText]) -> set[str]:
        """What a new iterator or local cannot be called, under the iterators ``names``."""
        pools = {buffer.pool for buffer in self.buffers.values()}
        arguments = {*self.buffer_names.values(), *texts_of(self.params)}
        around = {function_name(self.name)} if not self.spelling.taken else self.spelling.used
        return {*texts_of(names), *arguments, *pools, *self.locals, *around}

    def _named(self, buffer: str, index: Sequence[CText]) -> str:
        """An element of an array or buffer by the texts of its subscripts."""
        if buffer in self.spelling.elements:
            return self.spelling.element(buffer, index, self.params)
        return self.buffer_names[buffer] + "".join(f"[{subscript}]" for subscript in index)

    def _element(
        self, buffer: str, index: tuple[Expr, ...], printer: Callable[[Expr], CText]
    ) -> str:
        text = self.buffer_names[buffer]
        if buffer in self.buffers and self.buffers[buffer].is_scalar:
            return text
        array = self.arrays.get(buffer)
        if array is not None and array.rank == 0 and buffer not in self.spelling.elements:
            return f"*{text}" if array.is_live_out else text
        return self._named(buffer, list(map(printer, index)))


def _block(node: Node) -> Block:
    return node if isinstance(node, Block) else Block((node,))
