"""The C tree as a translation unit: one function, named loops, and a head comment.

Names are given here, scope by scope: each symbol gets the one that it hints at, or the next that
nothing in sight has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary, Foreign, Run, Symbol, Var, number, plus
from polyopt.codegen.ast.names import function_name, hidden_macros, local_name, names_in
from polyopt.codegen.ast.nodes import (
    Assign,
    Barrier,
    Block,
    Buffer,
    Do,
    For,
    Function,
    Heap,
    If,
    Jump,
    Node,
    Opaque,
    Parallel,
    Scalar,
    Simd,
    Task,
    While,
    symbols_in,
)
from polyopt.codegen.helpers.aligned import near_functions
from polyopt.codegen.helpers.arithmetic import helpers
from polyopt.codegen.printers.c_expr import PRIMARY, c_text, declared
from polyopt.codegen.printers.vector_loops import Head, Opening, VectorLoop, vector_loops
from polyopt.errors import InternalError
from polyopt.escaping import comment
from polyopt.frontend.c.readback.intrinsics import BARRIER
from polyopt.ir.types import I32

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polyopt.codegen.ast.expr import Expr

_INDENT = "    "
#: lists are broken into lines of this length
_COLUMNS = 100
#: none at all, as far as the processor sees; loops with instructions of their own are no vectors
_INSTRUCTION = '__asm__ volatile ("");'
_THREADS = """#ifdef _OPENMP
int omp_get_thread_num(void);
#else
#define omp_get_thread_num() 0
#endif"""
#: a compiler that is not asked for OpenMP passes over its pragmas, and need not say so
_UNKNOWN = """#ifndef _OPENMP
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif"""
#: clang warns of loops that it could have made vectors of, and did not
_NOT_VECTORS = """#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#endif"""
#: gcc (12.2) loses what a loop stores down a row once it has rewritten its addresses, takes the
#: function around it for one that stores nothing, and leaves out the calls
_STORES = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-ipa-pure-const")
#if __GNUC__ > 10
#pragma GCC optimize("no-ipa-modref")
#endif
#endif"""
#: where vectors are no registers, functions give them otherwise: only those of other files care
_BY_VALUE = """#pragma GCC diagnostic ignored "-Wpsabi\""""
#: What ``<stdlib.h>`` has besides are functions that programs may have, so it is not included.
#: Large buffers start at a cache line. Fresh memory costs a fault per page, in every call: where
#: Linux has large pages for those who ask, 512 faults are one. Its header defines many more names,
#: which programs may have.
_BUFFER = """void *aligned_alloc(__SIZE_TYPE__ alignment, __SIZE_TYPE__ bytes);
void free(void *memory);
#ifdef __linux__
int madvise(void *start, __SIZE_TYPE__ bytes, int advice);
#endif

static void *buffer(__SIZE_TYPE__ bytes) {
    void *found = aligned_alloc(64, (bytes + 63) / 64 * 64);
#ifdef __linux__
    if (found && bytes >> 22) { /* MADV_HUGEPAGE, from the start of a page: a wish, no more */
        madvise((void *)(((uintptr_t)found | 65535) + 1), bytes - 65536, 14);
    }
#endif
    return found;
}

"""
_MATH = re.compile(
    r"\b(sqrt|exp2?|log2?|sin|cos|tanh?|erf|fabs|floor|ceil|trunc|round|pow|fmod|atan2|copysign)"
    r"f?\("
)


#: a function of the file that stores
_TASK = re.compile(r"^static void \w+\(", re.MULTILINE)
#: vector types, and their values wherever they are in memory
_VECTOR = re.compile(r"\b((f(?:32|64))x(\d+))(?:_at)?\b")
_ELEMENTS = {"f32": ("float", 4), "f64": ("double", 8)}


def vector_types(body: str) -> str:
    """Definitions of the vector types that a piece of C names."""
    lines: list[str] = []
    for name, element, lanes in sorted(set(_VECTOR.findall(body))):
        type_, size = _ELEMENTS[element]
        wide = f"vector_size({size * int(lanes)})"
        lines.append(f"typedef {type_} {name} __attribute__(({wide}));")
        lines.append(
            f"typedef {type_} {name}_at __attribute__(({wide}, aligned({size}), may_alias));"
        )
    return "\n".join(lines)


@dataclass(frozen=True)
class Printed:
    """A translation unit, and where its vector loops are."""

    text: str
    vector_loops: tuple[VectorLoop, ...]


def print_c(function: Function) -> Printed:
    """The complete translation unit of a kernel."""
    lines = _function(function)
    body = "\n".join(lines)
    note = "".join(f" * {comment(line)}".rstrip() + "\n" for line in function.notes)
    head = (f"/*\n{note} */\n" if note else "") + before(body)
    return Printed(head + body + "\n", tuple(vector_loops(lines, head.count("\n"))))


def before(body: str) -> str:
    """What a translation unit has before its tasks and its kernel: all that these need."""
    called = frozenset(names_in(body))
    support = helpers(called) + near_functions(called)
    heads = _heads(body, support)
    if " buffer(" in body:
        support = _BUFFER + support
    parts = ["\n".join(heads), vector_types(body), support.rstrip()]
    if "#include" in "".join(heads[1:]) + support:
        # headers may have macros of the names that the program has
        parts.append("\n".join(f"#undef {name}" for name in hidden_macros(body)))
    return "".join(f"{part}\n\n" for part in parts if part)


def _heads(body: str, support: str) -> list[str]:
    """Headers, and what compilers are told of the whole file."""
    heads = ["#include <stdint.h>"]
    if "omp_get_thread_num(" in body:
        heads.append(_THREADS)
    if "#pragma omp" in body:
        heads.append(_UNKNOWN)
    if _TASK.search(body):
        heads.append(_STORES)
    if "#pragma omp simd" in body:
        heads.append(_NOT_VECTORS)
    if "__builtin_shufflevector" in support:
        heads.append(_BY_VALUE)
    if _MATH.search(body + support) or "INFINITY" in body or "NAN" in body:
        heads.append("#include <math.h>")
    return heads


def _function(function: Function) -> list[str]:
    own = ["threads", function_name(function.name)]
    printer = Printer(own)
    for symbol in (p.symbol for p in function.arguments):
        printer.give(symbol, symbol.hint)
    given = [declared(p, printer.name) for p in function.arguments]
    prototype = f"int {function_name(function.name)}({', '.join([*given, 'int threads'])})"
    for symbol in allocated(function):
        printer.declare(symbol)
    names = {task.name: printer.declare(task.name) for task in function.tasks}
    # no declaration before it: gcc (12.2) does not survive two whose arrays have sizes as extents
    file = Printer([*own, *names.values()], names)
    tasks = [line for task in function.tasks for line in _task(task, file.inner())]
    opening = Opening.of(prototype, function_name(function.name))
    return [*tasks, opening, "{", *_in_function(function, printer), "}"]


def _task(task: Task, printer: Printer) -> list[str]:
    """A function of the file, which threads run."""
    for parameter in task.parameters:
        printer.declare(parameter.symbol)
    given = [declared(p, printer.name) for p in task.parameters]
    name = printer.name(task.name)
    first, *more = _listed(f"static void {name}(", given, ")", 0)
    return [Opening.of(first, name), *more, "{", *printer.lines(task.body, 1), "}", ""]


def _in_function(function: Function, printer: Printer) -> list[str]:
    # compilers without OpenMP do not see what pragmas use
    lines = [] if function.private else [f"{_INDENT}(void)threads;"]
    lines += [f"{_INDENT}(void){printer.name(symbol)};" for symbol in _unused(function)]
    body = printer.lines(function.body, 1)
    shares = any("#pragma omp parallel" in line for line in body)
    if shares and function.little_work is not None:
        lines.append(f"{_INDENT}if ({printer.text(function.little_work)}) {{")
        lines.append(f"{_INDENT * 2}threads = 1; /* too little work to share */")
        lines.append(f"{_INDENT}}}")
    release = [f"{_INDENT}free({printer.name(s)});" for s in allocated(function)]
    return [*lines, *_allocation(function, printer), *body, *release, f"{_INDENT}return 0;"]


def _unused(function: Function) -> list[Symbol]:
    """Arguments that nothing names."""
    extents = [e for p in function.arguments for e in p.extents or ()]
    extents += [e for b in (*function.buffers, *function.private) for e in b.extents]
    work = () if function.little_work is None else (function.little_work,)
    used = symbols_in(function.body).union(*(e.symbols for e in (*extents, *work)))
    return [p.symbol for p in function.arguments if p.symbol not in used]


def allocated(function: Function) -> list[Symbol]:
    """What a call allocates: buffers, and for private ones an array of them, one per thread."""
    spaces = (b.space for b in function.private)
    pools = [space.pool for space in spaces if isinstance(space, Heap)]
    return [b.symbol for b in function.buffers] + pools


def _allocation(function: Function, printer: Printer) -> list[str]:
    lines = [
        f"{_INDENT}{printer.pointer(b)} = buffer({printer.size_of(b)});" for b in function.buffers
    ]
    lines += [
        f"{_INDENT}{printer.pool(b)} = buffer({printer.size_of(b, 'threads')});"
        for b in function.private
    ]
    names = list(map(printer.name, allocated(function)))
    if names:
        missing = " || ".join(f"!{name}" for name in names)
        release = " ".join(f"free({name});" for name in names)
        lines += [f"{_INDENT}if ({missing}) {{", f"{_INDENT * 2}{release}",
                  f"{_INDENT * 2}return 1;", f"{_INDENT}}}"]  # fmt: skip
    return lines


def _listed(head: str, items: Sequence[str], tail: str, depth: int) -> list[str]:
    """A list between ``head`` and ``tail``, in as many lines as it needs."""
    lines = [head if items else head + tail]
    for position, item in enumerate(items):
        text = item + (", " if position < len(items) - 1 else tail)
        if lines[-1] != head and len(lines[-1]) + len(text.rstrip()) > _COLUMNS:
            lines.append(_INDENT * (depth + 1))
        lines[-1] += text
    return [line.rstrip() for line in lines]


class Printer:
    """Prints statements of one scope; those of braces inside have a printer of their own.

    ``taken`` are names that mean something else, and ``avoided`` those that only iterators may
    have. ``team`` is the number of threads.
    """

    def __init__(
        self,
        taken: Iterable[str],
        names: Mapping[Symbol, str] | None = None,
        *,
        avoided: frozenset[str] = frozenset(),
        team: str = "threads",
    ) -> None:
        self._taken = set(taken)
        self._names = dict(names or {})
        self._avoided = avoided
        self.team = team

    # -- names --------------------------------------------------------------------------------

    def inner(self) -> Printer:
        """The printer of a scope inside."""
        return Printer(self._taken, self._names, avoided=self._avoided, team=self.team)

    def declare(self, symbol: Symbol) -> str:
        """A name for a symbol from here on."""
        return self.give(symbol, local_name(symbol.hint, self._taken | self._avoided))

    def iterate(self, symbol: Symbol) -> str:
        """A name for an iterator: one that the file has elsewhere does no harm."""
        return self.give(symbol, local_name(symbol.hint, self._taken))

    def give(self, symbol: Symbol, name: str) -> str:
        """That name for a symbol from here on."""
        self._taken.add(name)
        self._names[symbol] = name
        return name

    def name(self, symbol: Symbol) -> str:
        """What a symbol is called here. Raises ``InternalError`` where it is not declared."""
        if symbol not in self._names:
            message = f"{symbol.hint or 'a local'} is not declared where it is used"
            raise InternalError(message)
        return self._names[symbol]

    def text(self, expr: Expr) -> str:
        """An expression."""
        return c_text(expr, self.name)

    # -- declarations -------------------------------------------------------------------------

    def pointer(self, buffer: Buffer) -> str:
        """The declarator of a buffer that is allocated: ``float (*restrict name)[W]``."""
        type_, name = buffer.symbol.type.c_name, self.name(buffer.symbol)
        inner = self._brackets(buffer.extents[1:])
        return f"{type_} (*restrict {name}){inner}" if inner else f"{type_} *restrict {name}"

    def pool(self, buffer: Buffer) -> str:
        """The declarator of an allocation that holds a buffer for each thread."""
        name = self._pool(buffer)
        return f"{buffer.symbol.type.c_name} (*{name}){self._brackets(buffer.extents)}"

    def size_of(self, buffer: Buffer, count: str = "") -> str:
        """The bytes of a buffer, or of ``count`` such buffers."""
        first = f"[{count}]" if count else ""
        return f"sizeof({buffer.symbol.type.c_name}{first}{self._brackets(buffer.extents)})"

    def _pool(self, buffer: Buffer) -> str:
        assert isinstance(buffer.space, Heap)
        return self.name(buffer.space.pool)

    def _brackets(self, extents: Iterable[Expr]) -> str:
        return "".join(f"[{self.text(extent)}]" for extent in extents)

    def _declaration(self, buffer: Buffer) -> str:
        name = self.declare(buffer.symbol)
        if buffer.is_allocated:
            return f"{self.pointer(buffer)} = {self._pool(buffer)}[omp_get_thread_num()];"
        sizes = self._brackets(buffer.extents)
        aligned = "_Alignas(64) " if sizes else ""
        return f"{aligned}{buffer.symbol.type.c_name} {name}{sizes};"

    # -- statements ---------------------------------------------------------------------------

    def lines(self, block: Block, depth: int) -> list[str]:
        """The lines of a block without its braces, so many levels deep; what it declares is in
        this scope."""
        pad = _INDENT * depth
        lines = [f"{pad}{self._declaration(b)}" for b in block.buffers]
        only = block.body[0] if len(block.body) == 1 else None
        if isinstance(only, Block) and not block.buffers and not only.ordered:
            return self.lines(only, depth)  # the braces around are enough
        for node in block.body:
            lines += self._node(node, depth)
        return lines

    def _node(self, node: Node, depth: int) -> list[str]:
        pad = _INDENT * depth
        match node:
            case Assign():
                return [f"{pad}{line};" for line in self._assign(node)]
            case Block():
                return self._block(node, depth)
            case If():
                return self._if(node, depth)
            case For():
                return self._for(node, depth)
            case Do():
                call = node.call
                head = self.name(call.task) if isinstance(call, Run) else call.function
                return _listed(f"{pad}{head}(", list(map(self.text, call.children)), ");", depth)
            case Barrier():
                return [pad + (BARRIER if node.memory else _INSTRUCTION)]
            case While():
                return self._while(node, depth)
            case Jump():
                return [f"{pad}{node.word};"]
            case Opaque():
                return [f"{pad}{{", *self.inner().lines(node.body, depth + 1), f"{pad}}}"]

    def _assign(self, node: Assign) -> list[str]:
        lines: list[str] = []
        for local in node.locals:
            value = self.text(local.value)
            name = self.declare(local.symbol)
            lines.append(f"const {local.symbol.type.c_name} {name} = {value}")
        value = self.text(node.value)
        if not node.declares:
            return [*lines, f"{self.text(node.target)} = {value}"]
        assert isinstance(node.target, Var)
        kind = f"{'const ' * node.constant}{node.type.c_name}"
        return [*lines, f"{kind} {self.declare(node.target.symbol)} = {value}"]

    def _block(self, block: Block, depth: int) -> list[str]:
        """A block among other statements."""
        if not (block.buffers or block.scoped or block.ordered):
            return [line for child in block.body for line in self._node(child, depth)]
        pad = _INDENT * depth
        ordered = ["#pragma omp ordered"] if block.ordered else []
        return [*ordered, f"{pad}{{", *self.inner().lines(block, depth + 1), f"{pad}}}"]

    def _if(self, node: If, depth: int) -> list[str]:
        pad = _INDENT * depth
        lines = [f"{pad}if ({self.text(node.condition)}) {{"]
        lines += self.inner().lines(node.then, depth + 1)
        if node.other is not None:
            lines.append(f"{pad}}} else {{")
            lines += self.inner().lines(node.other, depth + 1)
        return [*lines, f"{pad}}}"]

    def _while(self, node: While, depth: int) -> list[str]:
        pad, body = _INDENT * depth, self.inner().lines(node.body, depth + 1)
        test = "" if node.condition is None else self.text(node.condition)
        if node.last:
            return [f"{pad}do {{", *body, f"{pad}}} while ({test});"]
        step = ", ".join(line for assign in node.step for line in self._assign(assign))
        head = f"for (; {test}; {step})" if step else f"while ({test})"
        return [f"{pad}{head} {{", *body, f"{pad}}}"]

    def _for(self, node: For, depth: int) -> list[str]:
        pad, inside = _INDENT * depth, self.inner()
        start = self.text(node.start)
        lines = [f"{pad}/* {comment(node.comment)} */"] if node.comment else []
        lines += self._pragma(node)
        name = inside.iterate(node.iterator)
        step = f"{name}++" if node.step == 1 else f"{name} += {node.step}"
        head = f"{pad}for (int64_t {name} = {start}; {inside.text(node.condition)}; {step}) {{"
        body = [f"{pad}{_INDENT}{inside._declaration(b)}" for b in node.private]  # noqa: SLF001
        body += [*inside.lines(node.body, depth + 1), f"{pad}}}"]
        lines.append(Head.of(head, node, body) if isinstance(node.kind, Simd) else head)
        return [*lines, *body]

    def _pragma(self, node: For) -> list[str]:
        match node.kind:
            case Parallel() as kind:
                team = f"num_threads({self.team})"
                return [f"#pragma omp parallel for {team} schedule({self._share(kind)}"]
            case Simd() as kind:
                # a width is a promise that iterations so far apart may clash: safelen says that
                width = f" safelen({kind.width})" if kind.width else ""
                sums = "".join(f" reduction({op} : {self.name(s)})" for op, s in kind.sums)
                return [f"#pragma omp simd{width}{sums}"]
            case Scalar():
                return ["#pragma omp simd safelen(1) simdlen(1)"]
            case _:
                return []

    def _share(self, kind: Parallel) -> str:
        if kind.ordered:
            return "dynamic, 1) ordered"
        if kind.static:
            return "static)"
        # no variable for the share: it could hide one of the program's
        # eight shares for each thread, not one less: then some thread would have one more
        shares = Binary("*", number(8), Foreign(self.team, I32, PRIMARY))
        share = Binary("+", number(1), Binary("/", plus(kind.trips, -1), shares))
        return f"dynamic, {self.text(share)})"
