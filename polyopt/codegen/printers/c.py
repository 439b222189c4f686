"""The C tree as a translation unit: one function, named loops, and a head comment.

Names are given here, scope by scope: each symbol gets the one that it hints at, or the next that
nothing in sight has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary, Foreign, Run, Symbol, Var, number, plus, scalar
from polyopt.codegen.ast.names import function_name, local_name
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
    Parameter,
    Return,
    Scalar,
    Sequential,
    Simd,
    Task,
    While,
    loops_in,
    symbols_in,
)
from polyopt.codegen.printers.c_expr import PRIMARY, c_text, declared
from polyopt.codegen.printers.headers import LANES, before
from polyopt.codegen.printers.origins import Line, origins
from polyopt.codegen.printers.vector_loops import Head, Opening, VectorLoop, vector_loops
from polyopt.codegen.printers.vocabulary import Vocabulary
from polyopt.errors import InternalError
from polyopt.escaping import comment
from polyopt.ir.types import I32, I64

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polyopt.codegen.ast.expr import Expr

_INDENT = "    "
#: lists are broken into lines of this length
_COLUMNS = 100
#: an empty instruction: compilers take memory for changed, and nothing runs
BARRIER = '__asm__ volatile ("" ::: "memory");'
#: none at all, as far as the processor sees; loops with instructions of their own are no vectors
_INSTRUCTION = '__asm__ volatile ("");'


@dataclass(frozen=True)
class Printed:
    """A translation unit, where its vector loops are, and what its lines come from."""

    text: str
    vector_loops: tuple[VectorLoop, ...]
    #: line, counted from 1 -> the plan's loop that it begins, or the array or buffer it writes to
    origins: Mapping[int, str]


def print_c(function: Function, *, weighs: bool = False) -> Printed:
    """The complete translation unit of a kernel; ``weighs`` asks compilers to weigh its vector
    loops."""
    words = Vocabulary()
    lines = _function(function, words)
    note = "".join(f" * {comment(line)}".rstrip() + "\n" for line in function.notes)
    brought = before(words.uses(tasks=bool(function.tasks)), weighs=weighs)
    head = (f"/*\n{note} */\n" if note else "") + brought
    text = head + "\n".join(lines) + "\n"
    above = head.count("\n")
    return Printed(text, tuple(vector_loops(lines, above)), dict(origins(lines, above)))


def _function(function: Function, words: Vocabulary) -> list[str]:
    own = ["threads", words.word(function_name(function.name))]
    printer = Printer(own, words=words)
    for symbol in (p.symbol for p in function.arguments):
        printer.give(symbol, symbol.hint)
    given = list(map(printer.parameter, function.arguments))
    prototype = f"int {function_name(function.name)}({', '.join([*given, 'int threads'])})"
    for symbol in allocated(function):
        printer.declare(symbol)
    names = {task.name: printer.declare(task.name) for task in function.tasks}
    # no declaration before it: gcc (12.2) does not survive two whose arrays have sizes as extents
    file = Printer([*own, *names.values()], names, words=words)
    tasks = [line for task in function.tasks for line in _task(task, file.inner())]
    opening = Opening.of(prototype, function_name(function.name))
    return [*tasks, opening, "{", *_in_function(function, printer), "}"]


def _task(task: Task, printer: Printer) -> list[str]:
    """A function of the file, which threads run."""
    for parameter in task.parameters:
        printer.declare(parameter.symbol)
    given = list(map(printer.parameter, task.parameters))
    name = printer.name(task.name)
    first, *more = _listed(f"static void {name}(", given, ")", 0)
    return [Opening.of(first, name), *more, "{", *printer.lines(task.body, 1), "}", ""]


def _in_function(function: Function, printer: Printer) -> list[str]:
    # compilers without OpenMP do not see what pragmas use
    lines = [] if function.private else [f"{_INDENT}(void)threads;"]
    lines += [f"{_INDENT}(void){printer.name(symbol)};" for symbol in _unused(function)]
    body = printer.lines(function.body, 1)
    shares = any(isinstance(loop.kind, Parallel) for loop in loops_in(function.body))
    if shares and function.little_work is not None:
        lines.append(f"{_INDENT}if ({printer.text(function.little_work)}) {{")
        lines.append(f"{_INDENT * 2}threads = 1; /* too little work to share */")
        lines.append(f"{_INDENT}}}")
    release = [f"{_INDENT}{printer.released(s)};" for s in allocated(function)]
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
    made = printer.allocations(function)
    if not made:
        return []
    call = printer.words.function("buffer")
    missing = " || ".join(f"!{printer.name(symbol)}" for symbol in allocated(function))
    release = " ".join(f"{printer.released(symbol)};" for symbol in allocated(function))
    return [
        *(f"{_INDENT}{pointer} = {call}({size});" for pointer, size in made),
        f"{_INDENT}if ({missing}) {{",
        f"{_INDENT * 2}{release}",
        f"{_INDENT * 2}return 1;",
        f"{_INDENT}}}",
    ]


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
        words: Vocabulary | None = None,
    ) -> None:
        self._taken = set(taken)
        self._names = dict(names or {})
        self._avoided = avoided
        self.team = team
        self.words = Vocabulary() if words is None else words

    # -- names --------------------------------------------------------------------------------

    def inner(self) -> Printer:
        """The printer of a scope inside."""
        return Printer(
            self._taken, self._names, avoided=self._avoided, team=self.team, words=self.words
        )

    def declare(self, symbol: Symbol) -> str:
        """A name for a symbol from here on."""
        return self.give(symbol, local_name(symbol.hint, self._taken | self._avoided))

    def iterate(self, symbol: Symbol) -> str:
        """A name for an iterator: one that the file has elsewhere does no harm."""
        return self.give(symbol, local_name(symbol.hint, self._taken))

    def give(self, symbol: Symbol, name: str) -> str:
        """That name for a symbol from here on."""
        self._taken.add(name)
        self.words.names.add(name)
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
        return c_text(expr, self.name, self.words)

    def parameter(self, parameter: Parameter) -> str:
        """A parameter of a function."""
        return declared(parameter, self.name, self.words)

    # -- declarations -------------------------------------------------------------------------

    def pointer(self, buffer: Buffer) -> str:
        """The declarator of a buffer that is allocated: ``float (*restrict name)[W]``."""
        type_, name = self._type(buffer.symbol), self.name(buffer.symbol)
        inner = self._brackets(buffer.extents[1:])
        return f"{type_} (*restrict {name}){inner}" if inner else f"{type_} *restrict {name}"

    def pool(self, buffer: Buffer) -> str:
        """The declarator of an allocation that holds a buffer for each thread."""
        name = self._pool(buffer)
        return f"{self._type(buffer.symbol)} (*{name}){self._brackets(buffer.extents)}"

    def size_of(self, buffer: Buffer, count: str = "") -> str:
        """The bytes of a buffer, or of ``count`` such buffers."""
        first = f"[{count}]" if count else ""
        return f"sizeof({self._type(buffer.symbol)}{first}{self._brackets(buffer.extents)})"

    def allocations(self, function: Function) -> list[tuple[str, str]]:
        """The declarator and the bytes of each allocation of a function."""
        made = [(self.pointer(b), self.size_of(b)) for b in function.buffers]
        return made + [(self.pool(b), self.size_of(b, self.team)) for b in function.private]

    def released(self, symbol: Symbol, by: str = "release") -> str:
        """The release of what was allocated."""
        return f"{self.words.function(by)}({self.name(symbol)})"

    def _type(self, symbol: Symbol) -> str:
        return self.words.type(symbol.type)

    def _pool(self, buffer: Buffer) -> str:
        assert isinstance(buffer.space, Heap)
        return self.name(buffer.space.pool)

    def _brackets(self, extents: Iterable[Expr]) -> str:
        return "".join(f"[{self.text(extent)}]" for extent in extents)

    def _declaration(self, buffer: Buffer) -> str:
        name = self.declare(buffer.symbol)
        if buffer.is_allocated:
            thread = self.words.function("omp_get_thread_num")
            return f"{self.pointer(buffer)} = {self._pool(buffer)}[{thread}()];"
        sizes = self._brackets(buffer.extents)
        aligned = f"{self.words.word('_Alignas(64)')} " if sizes else ""
        return f"{aligned}{self._type(buffer.symbol)} {name}{sizes};"

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
                origin = node.buffer.origin if node.buffer is not None else ""
                return [Line.of(f"{pad}{line};", origin) for line in self._assign(node)]
            case Block():
                return self._block(node, depth)
            case If():
                return self._if(node, depth)
            case For():
                return self._for(node, depth)
            case Do():
                call = node.call
                is_task = isinstance(call, Run)
                head = self.name(call.task) if is_task else self.words.function(call.function)
                return _listed(f"{pad}{head}(", list(map(self.text, call.children)), ");", depth)
            case Barrier():
                return [pad + (BARRIER if node.memory else _INSTRUCTION)]
            case While():
                return self._while(node, depth)
            case Jump() | Return():
                return [f"{pad}{node.word};"]
            case Opaque():
                return [f"{pad}{{", *self.inner().lines(node.body, depth + 1), f"{pad}}}"]

    def _assign(self, node: Assign) -> list[str]:
        lines: list[str] = []
        for local in node.locals:
            value = self.text(local.value)
            name = self.declare(local.symbol)
            lines.append(f"const {self._type(local.symbol)} {name} = {value}")
        value = self.text(node.value)
        if not node.declares:
            return [*lines, f"{self.text(node.target)} = {value}"]
        assert isinstance(node.target, Var)
        kind = f"{'const ' * node.constant}{self.words.type(node.type)}"
        return [*lines, f"{kind} {self.declare(node.target.symbol)} = {value}"]

    def _block(self, block: Block, depth: int) -> list[str]:
        """A block among other statements."""
        if not (block.buffers or block.scoped or block.ordered):
            return [line for child in block.body for line in self._node(child, depth)]
        pad = _INDENT * depth
        ordered = [self.words.pragma("ordered")] if block.ordered else []
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

    def _for(self, node: For, depth: int, private: tuple[Buffer, ...] = ()) -> list[str]:
        """A loop; ``private`` are the buffers of loops that it is collapsed with."""
        pad, inside = _INDENT * depth, self.inner()
        private = (*private, *node.private)
        start = self.text(node.start)
        lines = self._pragma(node)
        name = inside.iterate(node.iterator)
        step = f"{name}++" if node.step == 1 else f"{name} += {node.step}"
        counter = f"{self.words.type(I64)} {name}"
        head = f"{pad}for ({counter} = {start}; {inside.text(node.condition)}; {step}) {{"
        body = [*inside._inside(node, depth + 1, private), f"{pad}}}"]  # noqa: SLF001
        is_vector = isinstance(node.kind, Simd)
        named = Line.of(head, node.iterator.origin)
        lines.append(Head.of(head, node, body) if is_vector else named)
        return [*lines, *body]

    def _inside(self, node: For, depth: int, private: tuple[Buffer, ...]) -> list[str]:
        """The lines of a loop's body, in its scope. Nothing stands between collapsed loops."""
        if node.collapsed is not None:
            return self._for(node.collapsed, depth, private)
        own = [f"{_INDENT * depth}{self._declaration(b)}" for b in private]
        return [*own, *self.lines(node.body, depth)]

    def _pragma(self, node: For) -> list[str]:
        match node.kind:
            case Parallel() as kind:
                together = f" collapse({node.levels})" if node.levels > 1 else ""
                team = f"num_threads({self.team})"
                clauses = f" for{together} {team} schedule({self._share(kind)}"
                return [self.words.pragma("parallel", clauses)]
            case Simd() as kind:
                # a width is a promise that iterations so far apart may clash: safelen says that
                width = f" safelen({kind.width})" if kind.width else ""
                return [self.words.pragma("simd", width + "".join(map(self._lanes, kind.sums)))]
            case Sequential(unroll=times) if times:
                return [f"#pragma GCC unroll {times}"]
            case Scalar():
                return [self.words.pragma("simd", " safelen(1) simdlen(1)")]
            case _:
                return []

    def _lanes(self, reduction: tuple[str, Symbol]) -> str:
        """The clause for what each lane has its own of; OpenMP's name for how they are joined."""
        operation, local = reduction
        hands_on_nan = operation in LANES and scalar(local.type).is_float
        join = self.words.word(LANES[operation]) if hands_on_nan else operation
        return f" reduction({join} : {self.name(local)})"

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
