"""From a plan's program to the C tree: isl generates the loops, we name and annotate them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Deref, Index, Symbol, Var, number, number_of
from polyopt.codegen.ast.names import buffer_names, c_name, c_names
from polyopt.codegen.ast.nodes import (
    AffineExpr,
    Assign,
    Block,
    Buffer,
    For,
    If,
    Node,
    Opaque,
    Parallel,
    Sequential,
    Simd,
    as_block,
)
from polyopt.codegen.expressions.affine import c_affine, c_trips
from polyopt.codegen.expressions.indices import index_variable
from polyopt.codegen.expressions.ir import lowered
from polyopt.codegen.helpers.permute import is_short
from polyopt.codegen.lower.bounds import limits
from polyopt.codegen.lower.cse import repeated, with_locals
from polyopt.codegen.lower.frames import buffers_of, c_extents, stored_temps
from polyopt.codegen.lower.host_names import HostNames
from polyopt.codegen.lower.isl_ast import Leaf, all_users, children, is_loop, isl_tree, users
from polyopt.codegen.lower.opaque import OpaqueLowering
from polyopt.codegen.lower.privatize import ORDERED, is_ordered, with_partials
from polyopt.codegen.lower.register_tile_body import (
    accumulators,
    block_body,
    copied,
    in_registers,
    places,
)
from polyopt.codegen.lower.register_tile_nests import with_blocks
from polyopt.codegen.lower.register_tile_rests import with_rests
from polyopt.codegen.lower.simd_reductions import in_lanes
from polyopt.codegen.schedule.tree import materialize
from polyopt.codegen.signature import signature_of
from polyopt.codegen.threads.collapse import alone
from polyopt.codegen.workarounds.simd_aliasing import looks_apart
from polyopt.errors import InternalError
from polyopt.ir.block import Block as Region
from polyopt.ir.expr import Affine, Expr, Inside, Load, loads
from polyopt.ir.types import I64
from polyopt.isl import AstNode, IslError, ast_node_type
from polyopt.transform.schedule.query import path_to, shared_from
from polyopt.transform.schedule.tree import PlanLoop, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.codegen.ast import expr as c
    from polyopt.codegen.expressions.lowered import Lowered
    from polyopt.codegen.lower.register_tile import RegisterBlock
    from polyopt.codegen.lower.register_tile_body import Registers
    from polyopt.codegen.lower.register_tile_nests import Blocked
    from polyopt.codegen.signature import Argument
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.storage import Scratch

#: what variables for subscripts are called after, from the last on
SUBSCRIPTS = ("column", "row")


@dataclass(frozen=True, eq=False)
class Tree:
    """A program's loops as a C tree, before the passes."""

    body: Block
    #: the function's parameters; what stands for them among other code
    arguments: tuple[Argument, ...]
    #: arrays and buffers by their names in the program
    symbols: Mapping[str, Symbol]
    #: buffers that live as long as the function: on the stack, allocated, one for each thread
    local: tuple[Buffer, ...]
    heap: tuple[Buffer, ...]
    private: tuple[Buffer, ...]
    #: whether it is a function by itself, and not among other code
    is_whole: bool


def lower(program: ScheduledProgram, hosts: HostNames | None = None) -> Tree:
    """The C tree of a program; with ``hosts``, for code that stands among other code."""
    leaves: dict[str, Leaf] = {}
    apart = with_partials(program)
    program = with_rests(apart.program)
    blocked = with_blocks(program, apart.joins)
    run = blocked.program
    try:
        tree = isl_tree(blocked, materialize(run, planned=program), leaves)
    except IslError:
        # what isl cannot do is find where an unrolled loop starts; its message may be lost
        if not any(loop.mark == "unroll" for loop in loops_of(run.tree)):
            raise
        leaves.clear()
        tree = isl_tree(blocked, materialize(run, planned=program, spelled=True), leaves)
    return _Lowering(program, blocked, leaves, hosts or HostNames()).tree(tree)


class _Lowering:
    """Walks isl's AST with the loops' marks and iterators in scope."""

    def __init__(
        self,
        program: ScheduledProgram,
        blocked: Blocked,
        leaves: Mapping[str, Leaf],
        hosts: HostNames,
    ) -> None:
        self.program = program
        self.blocked = blocked
        self.blocks = blocked.blocks
        self.hosts = hosts
        self.leaves = leaves
        self.arguments = signature_of(program.scop)
        self.arrays = {a.name: a for a in program.scop.arrays}
        self.loops = {loop.name: loop for loop in loops_of(blocked.program.tree)}
        self.symbols = self._symbols()
        sizes = {a.name: a.symbol for a in self.arguments if a.kind == "size"}
        self.params = hosts.params(program.scop, sizes)
        self.temps, self.buffers = buffers_of(program, self.symbols, self.params)
        self.registers: dict[str, Registers] = {}
        self._add_blocks()
        #: the iterator of the innermost loop, where it is a vector loop, and what it writes
        self.vector: tuple[Symbol, frozenset[str]] | None = None
        #: ids of the inlined parts that other statements around a place need too
        self.common: dict[Leaf, frozenset[int]] = {}

    def tree(self, tree: AstNode) -> Tree:
        """The whole program."""
        temps = tuple(self.temps.values())
        top = [self.buffers[s.name] for s in self.program.scratches if self._home(s) == ""]
        body = as_block(self._below(tree, dict(self.params)))
        private = tuple(
            self.buffers[s.name]
            for s in self.program.scratches
            if self._home(s) and self.buffers[s.name].is_allocated
        )
        return Tree(
            body,
            self.arguments,
            self.symbols,
            tuple(b for b in (*temps, *top) if not b.is_allocated),
            tuple(b for b in (*temps, *top) if b.is_allocated),
            private,
            not self.hosts.is_given,
        )

    # -- storage ----------------------------------------------------------------------------

    def _symbols(self) -> dict[str, Symbol]:
        """Arrays and buffers by their names in the program."""
        known = {a.name: a.symbol for a in self.arguments}
        for name, base in self.hosts.bases.items():
            known[name] = Symbol(base, self.arrays[name].type, name)
        temps = [s.name for s in stored_temps(self.program)]
        scratches = {s.name: s.array for s in self.program.scratches}
        used = [*(s.hint for s in known.values()), *map(c_name, temps)]
        # pools are called <buffer>_of
        stems = [name.removesuffix("_of") for name in used if name.endswith("_of")]
        taken = [*used[: len(known)], *self.hosts.sizes.values(), "threads", *stems]
        own = c_names([*temps, *buffer_names(scratches)], taken=[*taken, *self.hosts.taken])
        for temp in temps:
            known[temp] = Symbol(own[temp], self.arrays[temp].type, temp)
        for name, key in zip(scratches, buffer_names(scratches), strict=True):
            known[name] = Symbol(own[key], self.arrays[scratches[name]].type, name)
        return known

    def _home(self, scratch: Scratch) -> str:
        """The loop at which a buffer is declared: its own, or for the heap the parallel one."""
        if not self.buffers[scratch.name].is_allocated:
            return scratch.at
        path = path_to(self.program, scratch.at) if scratch.at else ()
        return next((loop.name for loop in path if loop.mark == "parallel"), "")

    def _buffers_at(self, loop: str, *, allocated: bool) -> tuple[Buffer, ...]:
        found = tuple(
            self.buffers[s.name]
            for s in self.program.scratches
            if self._home(s) == loop and self.buffers[s.name].is_allocated == allocated
        )
        return found if allocated else (*found, *self._block_buffers(loop))

    def _declared_at(self, loop: str) -> tuple[Buffer, ...]:
        """Buffers of a loop that is not written as one: also those of each thread."""
        return (*self._buffers_at(loop, allocated=False), *self._buffers_at(loop, allocated=True))

    def _add_blocks(self) -> None:
        """Symbols and buffers of register tiles."""
        for block in self.blocks.values():
            array = self.program.copies[block.copy].statement.array
            made = Symbol(f"{c_name(array)}_block", block.assignment.type, block.buffer)
            self.symbols[block.buffer] = made
            self.registers[block.buffer] = accumulators(block, made.hint)
            if block.whole is None:
                extents = tuple(map(number, block.extents))
                self.buffers[block.buffer] = Buffer(made, extents)

    def _block_buffers(self, loop: str) -> tuple[Buffer, ...]:
        """Register tiles whose nests stand in a loop."""
        return tuple(
            self.buffers[block.buffer]
            for block in self.blocks.values()
            if block.whole is None and path_to(self.program, block.loop)[-2].name == loop
        )

    # -- loops ------------------------------------------------------------------------------

    def _node(self, node: AstNode, names: dict[str, Lowered], marks: tuple[PlanLoop, ...]) -> Node:
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

    def _mark(self, node: AstNode, names: dict[str, Lowered], marks: tuple[PlanLoop, ...]) -> Node:
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
        self, block: RegisterBlock, node: AstNode, names: dict[str, Lowered], inner: Node
    ) -> Block:
        """The loop of a register tile between loading and storing what it updates."""
        registers = self.registers[block.buffer]
        if block.whole is None:
            place = copied(block, self.symbols[block.buffer])
            return in_registers(block, registers, inner, place)
        rows = self.leaves[all_users(node)[0].get_annotation().get_name()].rows
        return in_registers(block, registers, inner, places(block, rows, self._named, names))

    def _sequence(
        self, nodes: list[AstNode], names: dict[str, Lowered], marks: tuple[PlanLoop, ...]
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

    def _scoped(self, node: Node, loops: tuple[PlanLoop, ...]) -> Node:
        buffers = tuple(b for loop in loops for b in self._declared_at(loop.name))
        return Block((node,), buffers) if buffers else node

    def _if(self, node: AstNode, names: dict[str, Lowered], marks: tuple[PlanLoop, ...]) -> If:
        condition = c_affine(node.if_get_cond(), names).node
        then = as_block(self._node(node.if_get_then_node(), names, marks))
        if not node.if_has_else_node():
            return If(condition, then)
        other = self._node(node.if_get_else_node(), names, marks)
        return If(condition, then, as_block(other))

    def _for(self, node: AstNode, names: dict[str, Lowered], marks: tuple[PlanLoop, ...]) -> Node:
        if not marks:
            message = "a generated loop has no name"
            raise InternalError(message)
        loop = marks[-1]
        isl_name = node.for_get_iterator().get_id().get_name()
        if node.for_is_degenerate():
            inner = {**names, isl_name: c_affine(node.for_get_init(), names)}
            body = as_block(self._below(node.for_get_body(), inner))
            if self._buffers_at(loop.name, allocated=True):
                body = as_block(alone(body))  # they would share what is allocated for it
            return replace(body, buffers=(*body.buffers, *self._declared_at(loop.name)))
        run = limits(node)
        iterator = Symbol(c_name(loop.iterator), I64, loop.name)
        inner = {**names, isl_name: index_variable(Var(iterator))}
        around = self.vector
        self.vector = (iterator, self._written(loop)) if loop.mark == "vector" else None
        body = as_block(self._below(node.for_get_body(), inner))
        self.vector = around
        step = number_of(c_affine(node.for_get_inc(), inner).node) or 0
        start, end = (c_affine(bound, names) for bound in (run.start, run.end))
        for test in run.tests:
            body = Block((If(c_affine(test, inner).node, body),))
        mark = self._mark_of(loop, node)
        plain = For(
            iterator,
            start.node,
            c_affine(run.condition, inner).node,
            step,
            replace(body, buffers=(*body.buffers, *self._buffers_at(loop.name, allocated=False))),
            self._kind(loop, mark, step, c_trips(start, end) if mark == "parallel" else None),
            self._buffers_at(loop.name, allocated=True),
        )
        wrapv = not self.hosts.is_given
        return in_lanes(plain, self.program, loop, self.symbols, wrapv=wrapv)

    def _kind(
        self, loop: PlanLoop, mark: str, step: int, trips: c.Expr | None
    ) -> Parallel | Simd | Sequential:
        if trips is not None:
            return Parallel(trips, static=bool(loop.width), ordered=is_ordered(loop))
        if mark == "vector":
            # a width counts values of the loop, a pragma iterations
            return Simd(-(-loop.width // step), loop.lanes)
        return Sequential()

    def _below(self, node: AstNode, names: dict[str, Lowered]) -> Node:
        """What stands in a loop, or in none."""
        around = self.common
        leaves = [self.leaves.get(user.get_annotation().get_name()) for user in users(node)]
        # blocks in registers load each operand once, whatever it is computed from
        statements = [
            leaf
            for leaf in leaves
            if leaf is not None and leaf.assignment.inlined and leaf.block is None
        ]
        self.common = repeated(
            (leaf, lambda e, leaf=leaf: c_affine(leaf.affine[id(e)], names).node)
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

    def _mark_of(self, loop: PlanLoop, node: AstNode) -> str:
        """The mark that C shows: one level of threads, none among lanes, no heap buffer shared by
        lanes, and no element of an iteration that looks like two."""
        path = path_to(self.program, loop.name)
        if loop.mark == "parallel":
            return "parallel" if path[-1] in shared_from(path) else ""
        if loop.mark != "vector":
            return ""
        inside = {loop.name, *(inner.name for inner in loops_of(loop.body))}
        shared = any(
            s.at in inside and self.buffers[s.name].is_allocated for s in self.program.scratches
        )
        leaves = (self.leaves.get(user.get_annotation().get_name()) for user in all_users(node))
        return "" if shared or looks_apart(filter(None, leaves), self.program, path) else "vector"

    # -- statements -------------------------------------------------------------------------

    def _user(self, node: AstNode, names: dict[str, Lowered]) -> Node:
        leaf = self.leaves.get(node.get_annotation().get_name())
        if leaf is None:
            return Block(())
        if (block := leaf.block) is not None:
            registers = self.registers[block.buffer]
            return block_body(block, registers, leaf.rows, self._named, names)
        if isinstance(leaf.assignment.value, Region):
            return self._opaque(leaf.assignment.value, leaf, names)
        return self._assign(leaf, names)

    def _assign(self, leaf: Leaf, names: dict[str, Lowered]) -> Assign:
        forms: dict[c.Expr, AffineExpr] = {}
        #: by the id of isl's expression, of which many nodes have the same
        known_forms: dict[int, Lowered] = {}

        def affine(expr: Affine | Inside) -> Lowered:
            found = leaf.affine[id(expr)]
            if id(found) not in known_forms:
                known_forms[id(found)] = c_affine(found, names)
            made = known_forms[id(found)]
            hint = "inside" if isinstance(expr, Inside) else "plane"
            forms.setdefault(made.node, AffineExpr(hint, made.node))
            return made

        def lower_part(
            expr: Expr, known: Mapping[int, Lowered], *, stored: bool = False
        ) -> Lowered:
            def load(expr: Load) -> c.Expr:
                for hint, subscript in zip(SUBSCRIPTS, reversed(expr.index), strict=False):
                    if isinstance(subscript, Affine):
                        node = affine(subscript).node
                        forms[node] = AffineExpr(hint, node)
                return self._element(expr.array, expr.index, lambda e: lower_part(e, known))

            wrapv = not self.hosts.is_given
            return lowered(expr, load, affine, affine, stored=stored, known=known, wrapv=wrapv)

        assignment = leaf.assignment
        # a target without locals, so that updates of one element look alike
        target = self._element(assignment.buffer, assignment.index, lambda e: lower_part(e, {}))

        def is_fixed(expr: Expr) -> bool:
            assert self.vector is not None
            iterator, written = self.vector
            if isinstance(expr, Load):
                return expr.array not in written
            return iterator not in lower_part(expr, {}).node.symbols

        value, locals_ = with_locals(
            assignment.value,
            lower_part,
            assignment.inlined,
            is_fixed if self.vector else None,
            self._table if self.vector else None,
            self.common.get(leaf, ()),
        )
        return Assign(target, value, forms=tuple(forms.values()), locals=locals_)

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
        return (number_of(extents[-1]) or 0) if extents else 0

    def _opaque(self, region: Region, leaf: Leaf, names: dict[str, Lowered]) -> Opaque:
        forms = {key: c_affine(form, names) for key, form in leaf.affine.items()}
        buffer, wrapv = leaf.assignment.buffer, not self.hosts.is_given
        return OpaqueLowering(
            region, lambda e: forms[id(e)], self._element, buffer, wrapv=wrapv
        ).made()

    def _named(self, buffer: str, index: Sequence[Lowered]) -> c.Expr:
        """An element of an array or buffer by its subscripts."""
        if buffer in self.hosts.elements:
            return self.hosts.element(self.symbols[buffer], index, self.params)
        return Index(self.symbols[buffer], tuple(subscript.node for subscript in index))

    def _element(
        self, buffer: str, index: tuple[Expr, ...], lower_subscript: Callable[[Expr], Lowered]
    ) -> c.Expr:
        symbol = self.symbols[buffer]
        if buffer in self.buffers and self.buffers[buffer].is_scalar:
            return Var(symbol)
        array = self.arrays.get(buffer)
        if array is not None and array.rank == 0 and buffer not in self.hosts.elements:
            return Deref(symbol) if array.is_live_out else Var(symbol)
        return self._named(buffer, list(map(lower_subscript, index)))
