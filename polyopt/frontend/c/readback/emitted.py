"""Generated C, read back as a Scop: what polyopt writes is read by what reads its users' C.

Generated files hold a few things that programs do not: buffers from an allocator, one per thread,
vector types, tasks, lookups in registers, releases. Each is checked where it stands and put in
terms of plain C; the rest goes through the frontend as it is.

rewrite: ``float (*b)[W] = buffer(sizeof(float[H][W]));`` -> ``float b[H][W];``
rewrite: ``f32x16 v = *(f32x16_at *)&a[i][0];`` -> ``float v[16]; for (l < 16) v[l] = a[i][0 + l];``
rewrite: ``f32x16 v = {0};`` -> ``float v[16]; for (l < 16) v[l] = 0;``

With ``backwards`` the iterations of loops that threads or lanes share run in the opposite order:
what depends on their order is then seen.
"""

# The parser's trees are copied and changed by the names of their parts, which have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOptionalMemberAccess=false, reportReturnType=false, reportArgumentType=false
# pyright: reportOptionalIterable=false, reportAssignmentType=false

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import UnsupportedError
from polyopt.frontend.c.lower.entry import functions_of
from polyopt.frontend.c.lower.program import lower_function
from polyopt.frontend.c.readback.declared import (
    arrays_among,
    is_task,
    is_thread,
    names_in,
    shape_of,
)
from polyopt.frontend.c.readback.index_guards import guarded
from polyopt.frontend.c.readback.intrinsics import is_known, plain_call
from polyopt.frontend.c.readback.lanes import check_reductions, with_whole_sums
from polyopt.frontend.c.readback.math_functions import with_halves, with_library_calls
from polyopt.frontend.c.readback.min_max import helped, in_conjunctions, means
from polyopt.frontend.c.readback.nontemporal_rows import odd_pieces, unsettled
from polyopt.frontend.c.readback.parallel_loops import collapsed, in_turn, shared, turned
from polyopt.frontend.c.readback.superword_branches import with_plain_searches
from polyopt.frontend.c.readback.vectors import (
    ELEMENT,
    OF_VECTORS,
    VECTOR,
    dot_of,
    in_vectors,
    is_zeros,
    lanes_of,
    means_dot,
    one_loop,
    vector_at,
)
from polyopt.frontend.c.readback.whitelist import (
    odd_failure,
    odd_loop,
    odd_pragma,
    odd_storage,
    odd_threads,
    without_advice,
)
from polyopt.frontend.c.syntax.locations import Locator
from polyopt.frontend.c.syntax.nodes import (
    binary,
    called,
    constant,
    integer,
    named_type,
    put,
    text_of,
)
from polyopt.frontend.c.syntax.parse import parse
from polyopt.frontend.c.syntax.preprocess import preprocess
from polyopt.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from polyopt.frontend.c.readback.declared import Shape
    from polyopt.frontend.c.syntax.preprocess import Preprocessed
    from polyopt.ir.scop import Scop
    from polyopt.isl import Set

_HELPER = re.compile(r"(min|max|floordiv)_([uif]\d+)")


@dataclass(frozen=True, eq=False)
class Emitted:
    """A generated C file as a syntax tree, to be lowered in several ways: none changes the tree."""

    #: what its kernel is called in C
    name: str
    program: Preprocessed
    locator: Locator
    tree: c_ast.FileAST

    def scop(
        self,
        params: Iterable[str] = (),
        *,
        backwards: bool = False,
        marked: bool = False,
        inbounds: bool = False,
        context: Set | None = None,
    ) -> Scop:
        """The program that the file is; ``params`` are its sizes.

        With ``marked`` the iterators of loops that threads or lanes share say so in their names.
        With ``inbounds`` subscripts from data stay within their arrays, as the source has said.
        With the source's ``context`` nothing is assumed of the sizes that the source does not.

        Raises ``UnsupportedError`` where the file breaks a rule of generated code (a buffer that is
        not released, an array passed as another shape), and the frontend's errors.
        """
        name, locator = self.name, self.locator
        functions = functions_of(self.tree)
        known = {*filter(is_known, functions)}
        tasks = {key: f for key, f in functions.items() if is_task(f) and key not in known}
        gone = {*tasks, *known, *filter(OF_VECTORS.fullmatch, functions), name, "buffer", "release"}
        reader = _Reader(tasks, functions, locator, backwards, marked)
        kept = [
            node
            for node in self.tree.ext
            if not (isinstance(node, c_ast.FuncDef) and node.decl.name in gone)
            and not (isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl))
        ]
        read = [*map(reader.task, tasks.values()), reader.kernel(functions[name])]
        return lower_function(
            c_ast.FileAST([*kept, *read]), self.program, locator, name, tuple(params),
            inbounds=inbounds, context=context,
        )  # fmt: skip


def parse_emitted(text: str, name: str) -> Emitted:
    """The syntax tree of a generated C file; ``name`` is its kernel's.

    Raises the frontend's errors.
    """
    known_macros = {"_OPENMP": 1, "__GNUC__": 12, "__SIZE_TYPE__": "unsigned long"}
    program = preprocess(Source(f"{name}.c", text), known_macros)
    locator = Locator(program)
    tree = with_halves(with_library_calls(without_advice(parse(program, locator))))
    return Emitted(name, program, locator, tree)


@dataclass(eq=False)
class _Reader:
    """Rewrites functions; raises where one breaks the rules of generated code."""

    tasks: Mapping[str, c_ast.FuncDef]
    helpers: Mapping[str, c_ast.FuncDef]
    locator: Locator
    backwards: bool
    marked: bool
    #: arrays in scope by name
    shapes: dict[str, Shape] = field(default_factory=dict[str, "Shape"])
    #: allocations that hold a buffer per thread: the type of one
    pools: dict[str, c_ast.Node] = field(default_factory=dict[str, "c_ast.Node"])
    allocated: list[str] = field(default_factory=list[str])
    tested: set[str] = field(default_factory=set[str])
    released: list[str] = field(default_factory=list[str])
    #: vectors in scope by name, with their lanes
    vectors: dict[str, int] = field(default_factory=dict[str, int])
    numbers: int = 0

    def _refuse(self, node: c_ast.Node, message: str) -> Exception:
        return self.locator.error(UnsupportedError, node, message)

    # -- functions --------------------------------------------------------------------------

    def kernel(self, function: c_ast.FuncDef) -> c_ast.FuncDef:
        """The kernel without its threads, and with its allocations as arrays."""
        self._mannered(*odd_pieces(function.body, self.helpers))
        self.shapes = arrays_among(function)
        kept, self.released = self._ending(function)
        whole = c_ast.Compound(kept, function.body.coord)
        self._settled(whole)
        body = self._compound(whole)
        for names, what in ((self.tested, "tested"), (self.released, "released")):
            if sorted(names) != sorted(self.allocated):
                odd = ", ".join(sorted({*names} ^ {*self.allocated})) or "a buffer"
                raise self._refuse(function.decl, f"{odd} is not {what} once")
        changed = copy.copy(function)
        changed.body = body
        return self._without_pointers(changed)

    def _ending(self, function: c_ast.FuncDef) -> tuple[list[c_ast.Node], list[str]]:
        """A kernel's statements before its end, which are releases and a success, and what it
        releases: after these nothing runs, and nothing ends before."""
        *items, last = function.body.block_items or [function.decl]
        if not isinstance(last, c_ast.Return) or text_of(last) != "return 0;":
            raise self._refuse(last, "a kernel does not end with its success")
        released: list[str] = []
        while items and isinstance(items[-1], c_ast.FuncCall) and called(items[-1]) == "release":
            released += names_in(items.pop().args)
        return items, released

    def task(self, function: c_ast.FuncDef) -> c_ast.FuncDef:
        """A task's body in plain C."""
        self._mannered(*odd_pieces(function.body, self.helpers))
        self.shapes = arrays_among(function)
        changed = copy.copy(function)
        changed.body = self._compound(function.body)
        return changed

    def _without_pointers(self, function: c_ast.FuncDef) -> c_ast.FuncDef:
        """``float *x`` as ``float x[1]``: what a kernel writes may be a single element."""
        decl, kind = copy.copy(function.decl), copy.copy(function.decl.type)
        kind.args, decl.type = copy.copy(kind.args), kind
        listed: list[c_ast.Node] = []
        for node in kind.args.params:
            if node.name == "threads":
                continue
            new = copy.copy(node)
            if isinstance(node.type, c_ast.PtrDecl):
                new.type = c_ast.ArrayDecl(node.type.type, constant(1), [], node.coord)
            listed.append(new)
        kind.args.params = listed
        changed = copy.copy(function)
        changed.decl = decl
        return changed

    # -- statements -------------------------------------------------------------------------

    def _compound(self, node: c_ast.Node) -> c_ast.Compound:
        items = node.block_items or [] if isinstance(node, c_ast.Compound) else [node]
        shapes, vectors = dict(self.shapes), dict(self.vectors)
        result: list[c_ast.Node] = []
        pragma = ""
        items = with_whole_sums(with_plain_searches(items))
        check_reductions(items, self.locator)
        for item in items:
            if isinstance(item, c_ast.Pragma):
                pragma = item.string
                self._mannered(item, odd_pragma(pragma))
                continue
            made = self._statement(item, pragma)
            alone = self.marked and pragma == "omp ordered"
            result += [in_turn(made, self._fresh)] if alone else made
            pragma = ""
        self.shapes, self.vectors = shapes, vectors
        return c_ast.Compound(result, node.coord)

    def _statement(self, node: c_ast.Node, pragma: str) -> list[c_ast.Node]:
        match node:
            case c_ast.Compound():
                return [self._compound(node)]
            case c_ast.For():
                return [self._for(node, pragma)]
            case c_ast.If():
                return [self._in_vectors(node)] if in_vectors(node) else self._if(node)
            case c_ast.Decl():
                return self._decl(node)
            case c_ast.Assignment():
                return self._assign(node)
            case c_ast.FuncCall() if called(node) == "release":
                raise self._refuse(node, "a buffer is released before the end")
            case c_ast.FuncCall() if called(node) in self.tasks:
                return self._call(node)
            case c_ast.FuncCall() if is_known(called(node)):
                return self._known(node)
            case c_ast.Return():
                raise self._refuse(node, "emitted C does not end before its end")
            case _:
                return [self._plain(node)]

    def _if(self, node: c_ast.If) -> list[c_ast.Node]:
        if guarded(node) is not None:
            return []
        body = node.iftrue.block_items or [] if isinstance(node.iftrue, c_ast.Compound) else []
        if any(isinstance(item, c_ast.Return) for item in body):
            self._mannered(node, odd_failure(node, self.allocated))
            self.tested |= set(names_in(node.cond))
            return []
        if len(body) == 1 and isinstance(body[0], c_ast.Assignment):
            target = body[0].lvalue
            if isinstance(target, c_ast.ID) and target.name == "threads":
                self._mannered(node, odd_threads(body[0]))
                return []
        changed = copy.copy(node)
        changed.cond = self._plain(node.cond)
        changed.iftrue = self._compound(node.iftrue)
        changed.iffalse = None if node.iffalse is None else self._compound(node.iffalse)
        return [changed]

    def _mannered(self, node: c_ast.Node, odd: str) -> None:
        if odd:
            raise self._refuse(node, f"emitted C has no {odd}")

    def _settled(self, body: c_ast.Node) -> None:
        """What a thread stores past the caches it waits for, before others may read it."""
        if name := unsettled(body, self.tasks):
            raise self._refuse(body, f"nothing waits for {name} here")

    def _for(self, node: c_ast.For, pragma: str) -> c_ast.Node:
        self._mannered(node, odd_loop(node, pragma))
        inner, rest = collapsed(node, pragma)
        if pragma.startswith("omp parallel") and inner is None:
            self._settled(node.stmt)
        # a loop that is turned round has one start and one end
        changed = copy.copy(node) if self.backwards else in_conjunctions(node, self._is_extremum)
        changed.init, changed.cond = self._plain(changed.init), self._plain(changed.cond)
        own = self._compound(changed.stmt) if inner is None else None
        changed.stmt = own or c_ast.Compound([self._for(inner, rest)])
        if self.marked and pragma.startswith("omp") and "simdlen(1)" not in pragma:
            return shared(changed, pragma, self._fresh)
        # one lane, and lanes that join their sums in any order: that is rounding's matter
        one_order = "simdlen(1)" in pragma or "reduction" in pragma
        if not self.backwards or not pragma.startswith("omp") or one_order:
            return changed
        return turned(changed, pragma, self._fresh)

    # -- buffers ----------------------------------------------------------------------------

    def _decl(self, node: c_ast.Decl) -> list[c_ast.Node]:
        init = node.init
        self._mannered(node, odd_storage(node))
        if isinstance(init, c_ast.FuncCall) and called(init) == "buffer":
            return self._allocation(node, init)
        if isinstance(init, c_ast.ArrayRef) and is_thread(init.subscript):
            return [self._private(node, init.name.name)]
        lanes = lanes_of(node.type)
        if lanes:
            return self._vector(node, lanes)
        if isinstance(node.type, c_ast.ArrayDecl):
            self.shapes[node.name] = shape_of(node.type)
            node = copy.copy(node)
            node.align = []
            return [node]
        return [self._plain(node)]

    def _allocation(self, node: c_ast.Decl, call: c_ast.FuncCall) -> list[c_ast.Node]:
        """A pointer to memory of some size, as an array; a pool has no array of its own."""
        size = call.args.exprs[0]
        if not (isinstance(size, c_ast.UnaryOp) and size.op == "sizeof"):
            raise self._refuse(node, f"{node.name} is allocated without its type")
        whole, inner = size.expr.type, node.type.type
        if not isinstance(whole, c_ast.ArrayDecl) or shape_of(inner) != shape_of(whole.type):
            raise self._refuse(node, f"{node.name} is allocated as another type than its own")
        self.allocated.append(node.name)
        if text_of(whole.dim) == "threads":
            self.pools[node.name] = whole.type
            return []
        return [self._array(node.name, whole, node)]

    def _private(self, node: c_ast.Decl, pool: str) -> c_ast.Node:
        """A thread's buffer, fresh in each iteration."""
        kind = self._pool(pool, node)
        pointed = node.type.type
        if not isinstance(kind, c_ast.ArrayDecl) or shape_of(pointed) != shape_of(kind.type):
            raise self._refuse(node, f"{node.name} is not what {pool} holds")
        return self._array(node.name, kind, node)

    def _pool(self, name: str, place: c_ast.Node) -> c_ast.Node:
        """The type of what each thread has one of."""
        if name not in self.pools:
            raise self._refuse(place, f"{name} holds no buffer for each thread")
        return self.pools[name]

    def _array(self, name: str, kind: c_ast.Node, place: c_ast.Node) -> c_ast.Decl:
        self.shapes[name] = shape_of(kind)
        return c_ast.Decl(name, [], [], [], [], named_type(kind, name), None, None, place.coord)

    # -- tasks ------------------------------------------------------------------------------

    def _call(self, call: c_ast.FuncCall) -> list[c_ast.Node]:
        """A task's call, checked: arrays keep their shapes, and none is passed twice."""
        task = self.tasks[called(call)]
        formals = task.decl.type.args.params
        actuals = call.args.exprs
        wanted = arrays_among(task)
        before: list[c_ast.Node] = []
        passed: list[c_ast.Node] = []
        given: dict[str, str] = {}
        for formal, actual in zip(formals, actuals, strict=True):
            if isinstance(actual, c_ast.ArrayRef) and is_thread(actual.subscript):
                name = self._fresh(formal.name)
                before.append(self._array(name, self._pool(actual.name.name, call), call))
                passed.append(c_ast.ID(name, call.coord))
            else:
                passed.append(actual)
            given[formal.name] = text_of(passed[-1])
        arrays = [given[name] for name in wanted]
        if len(set(arrays)) < len(arrays):
            raise self._refuse(call, f"{task.decl.name} gets one array twice")
        for name, shape in wanted.items():
            sizes = {word for extent in shape[1] for word in re.findall(r"[A-Za-z_]\w*", extent)}
            other = [size for size in sizes if given.get(size, size) != size]
            if self.shapes.get(given[name]) != shape or other:
                raise self._refuse(call, f"{name} is passed as another shape than its own")
        changed = copy.copy(call)
        changed.args = c_ast.ExprList(passed, call.args.coord)
        return [*before, changed]

    def _known(self, call: c_ast.FuncCall) -> list[c_ast.Node]:
        try:
            return plain_call(call, self.helpers[called(call)], self.shapes, self._fresh)
        except ValueError as error:
            raise self._refuse(call, str(error)) from None

    # -- vectors ----------------------------------------------------------------------------

    def _vector(self, node: c_ast.Decl, lanes: int) -> list[c_ast.Node]:
        """A vector as an array of its lanes."""
        element = ELEMENT[VECTOR.fullmatch(node.type.type.names[0])[1]]  # type: ignore[index]
        kind = c_ast.TypeDecl(node.name, [], None, c_ast.IdentifierType([element]))
        array = c_ast.ArrayDecl(kind, constant(lanes), [], node.coord)
        self.vectors[node.name] = lanes
        declared = c_ast.Decl(node.name, [], [], [], [], array, None, None, node.coord)
        if node.init is None:
            return [declared]
        target = c_ast.ID(node.name, node.coord)
        first = constant(0) if is_zeros(node.init) else node.init
        return [declared, self._each_lane(target, first, lanes, node)]

    def _assign(self, node: c_ast.Assignment) -> list[c_ast.Node]:
        lanes = self._lanes_of(node.lvalue)
        if lanes:
            return [self._each_lane(node.lvalue, node.rvalue, lanes, node)]
        return [self._plain(node)]

    def _lanes_of(self, target: c_ast.Node) -> int:
        if isinstance(target, c_ast.ID):
            return self.vectors.get(target.name, 0)
        return (vector_at(target) or (None, 0))[1]

    def _in_vectors(self, node: c_ast.If) -> c_ast.Node:
        try:
            return self._for(one_loop(node, self.helpers), "omp simd")
        except ValueError as error:
            raise self._refuse(node, str(error)) from None

    def _each_lane(
        self, target: c_ast.Node, value: c_ast.Node, lanes: int, place: c_ast.Node
    ) -> c_ast.Node:
        lane = self._fresh("lane")
        one = c_ast.Assignment("=", self._plain(target, lane), self._plain(value, lane))
        one.coord = place.coord
        condition = binary("<", c_ast.ID(lane), constant(lanes))
        step = c_ast.UnaryOp("p++", c_ast.ID(lane))
        init = c_ast.DeclList([integer(lane, constant(0))])
        return c_ast.For(init, condition, step, c_ast.Compound([one]), place.coord)

    def _plain(self, node: c_ast.Node, lane: str = "") -> c_ast.Node:
        """An expression without vectors: its value in one lane."""
        found = vector_at(node)
        if found:
            if not lane:
                raise self._refuse(node, "a vector where a number is needed")
            element = copy.copy(self._plain(found[0]))
            element.subscript = binary("+", element.subscript, c_ast.ID(lane))
            return element
        if isinstance(node, c_ast.ID) and node.name in self.vectors:
            if not lane:
                raise self._refuse(node, "a vector where a number is needed")
            return c_ast.ArrayRef(node, c_ast.ID(lane), node.coord)
        if isinstance(node, c_ast.FuncCall) and (helper := _HELPER.fullmatch(called(node))):
            values = [self._plain(a, lane) for a in node.args.exprs]
            return helped(self.helpers.get(called(node)), helper[1], helper[2], values, node)
        if isinstance(node, c_ast.FuncCall) and means_dot(self.helpers.get(called(node))):
            return dot_of(*(self._plain(a, lane) for a in node.args.exprs))
        if isinstance(node, c_ast.UnaryOp) and node.op == "*":
            return c_ast.ArrayRef(self._plain(node.expr), constant(0), node.coord)
        changed = copy.copy(node)
        for name, child in node.children():
            new = self._plain(child, lane)
            if new is not child:
                put(changed, name, new)
        return changed

    def _is_extremum(self, node: c_ast.Node, operation: str) -> bool:
        if not isinstance(node, c_ast.FuncCall) or called(node) != f"{operation}_i64":
            return False
        helper = self.helpers.get(called(node))
        return helper is not None and means(helper, operation, "i64")

    def _fresh(self, stem: str) -> str:
        self.numbers += 1
        return f"{stem}__{self.numbers}"
