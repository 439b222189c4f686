"""A program as statements that stand in the place of the source's own loops.

The code uses the names and types of its surroundings, needs no header, and tests at run time what
the program takes for granted. Where a test fails, or memory is short, the source's own text runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary, Select, Symbol
from polyopt.codegen.ast.names import fresh
from polyopt.codegen.ast.nodes import Block, Collapsed, For, Parallel, Sequential, as_block, rebuilt
from polyopt.codegen.ast.visit import walk
from polyopt.codegen.expressions.affine import c_condition, c_extent
from polyopt.codegen.expressions.indices import index_number
from polyopt.codegen.flop_count import little_work, shared_work
from polyopt.codegen.helpers.arithmetic import HELPERS, macros
from polyopt.codegen.lower.lowering import lower
from polyopt.codegen.pipeline import generate
from polyopt.codegen.printers.c import Printer, allocated
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.codegen.printers.headers import lane_joins, vector_types
from polyopt.codegen.printers.vocabulary import Vocabulary
from polyopt.escaping import comment
from polyopt.isl import affine_constant, constant_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.codegen.ast.expr import Expr
    from polyopt.codegen.ast.nodes import Function, Node
    from polyopt.codegen.expressions.lowered import Lowered
    from polyopt.codegen.lower.host_names import HostNames
    from polyopt.isl import Set
    from polyopt.transform.schedule.program import ScheduledProgram

_INDENT = "    "
#: what headers and later standards define, in C99 itself
_BASIC = {
    "int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long",
    "uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int",
    "uint64_t": "unsigned long", "INT32_MIN": "(-2147483647 - 1)",
    "INT64_MIN": "(-9223372036854775807L - 1)", "INFINITY": "__builtin_inff()",
    "NAN": '__builtin_nanf("")', "_Alignas(64)": "__attribute__((aligned(64)))",
}  # fmt: skip

#: macros that the code defines, and takes back
_MACROS = ("apart", *HELPERS)

#: functions that the code calls
_THREAD = "omp_get_thread_num"
_FUNCTIONS = frozenset({"aligned_alloc", "free", "omp_get_max_threads", _THREAD})

_QUIET = [
    "#pragma GCC diagnostic push",
    '#pragma GCC diagnostic ignored "-Wunknown-pragmas"',
]


@dataclass(frozen=True, eq=False)
class Place:
    """Where the code is to stand, and what must hold there."""

    names: HostNames
    #: the source's own lines, for where a test fails
    original: str
    #: [N] -> { : tested before the code runs }
    needed: Set
    #: pairs of arrays that must not overlap
    apart: tuple[tuple[str, str], ...] = ()
    #: blanks before each line
    indent: str = ""
    #: macros of the file that the code takes to have these values
    macros: Mapping[str, int] = field(default_factory=dict[str, int])
    #: a fixed number of threads; none leaves it to OpenMP
    threads: int | None = None
    #: names in the file that may be variables
    variables: frozenset[str] = frozenset()


def emit_in_place(program: ScheduledProgram, place: Place, notes: Sequence[str] = ()) -> str:
    """The C block that stands for a program, with a comment of ``notes`` before it."""
    function = generate(lower(program, place.names), program, program.scop.name)
    if place.threads == 1:
        function = replace(function, body=as_block(_alone(function.body)))
    printer = _printer(place)
    tests = list(_tests(program, place, printer.words))
    before, after = _guarded(function, place, tests, printer)
    head, tail = _support(program, place, function, printer)
    start, end = "\n".join(["{", *head, *before]), "\n".join([*after, *tail, "}"])
    result = _indented("\n".join([*_comment(notes), start]), place.indent) + "\n"
    if after:
        result += place.original.rstrip("\n") + "\n"
    return result + _indented(end, place.indent) + "\n"


def _printer(place: Place) -> Printer:
    """A printer for the place: in C99, and with other names for macros of the code's own where the
    file has theirs, and for functions that variables of the surroundings hide."""
    taken = place.names.taken
    others = {name: fresh(name, taken) for name in _MACROS if name in taken}
    others |= {name: fresh(name, taken) for name in sorted(_FUNCTIONS & place.variables)}
    return Printer(
        place.names.used.union(others.values()),
        avoided=taken,
        team=fresh("threads", taken),
        words=Vocabulary({**_BASIC, **others}),
    )


def _alone(node: Node) -> Node:
    """The code without what threads share."""
    node = rebuilt(node, _alone)
    match node:
        case For(kind=Parallel() | Collapsed()):
            return replace(node, kind=Sequential())
        case Block(ordered=True):
            return replace(node, ordered=False, scoped=True)
        case _:
            return node


def _guarded(
    function: Function, place: Place, tests: list[str], printer: Printer
) -> tuple[list[str], list[str]]:
    """The lines before and after the source's own text; none after where that is not needed."""
    names = [printer.declare(symbol) for symbol in allocated(function)]
    free = [f"{printer.released(symbol, 'free')};" for symbol in allocated(function)]
    allocation = list(_allocation(function, printer))
    depth = 1 + bool(tests) + bool(names)
    body = printer.lines(function.body, depth)
    if not tests and not names:
        return body, []
    pad, inner = _INDENT, _INDENT * 2
    if not names:
        return [_if(tests, pad), *body, f"{pad}}} else {{"], [f"{pad}}}"]
    if not tests:
        start = [*(pad + line for line in allocation), _if(names, pad), *body, f"{pad}}} else {{"]
        return start, [f"{pad}}}", *(pad + line for line in free)]
    # sizes are tested before anything is allocated by them
    done = fresh("done", place.names.taken.union(names))
    start = [f"{pad}int {done} = 0;", _if(tests, pad), *(inner + line for line in allocation)]
    start += [_if(names, inner), *body, f"{inner}{_INDENT}{done} = 1;", f"{inner}}}"]
    start += [*(inner + line for line in free), f"{pad}}}", f"{pad}if (!{done}) {{"]
    return start, [f"{pad}}}"]


def _if(tests: Sequence[str], pad: str) -> str:
    joined = f"\n{pad}{_INDENT}&& ".join(tests)
    return f"{pad}if ({joined}) {{"


def _support(
    program: ScheduledProgram, place: Place, function: Function, printer: Printer
) -> tuple[list[str], list[str]]:
    """What the code declares and defines for itself, and what takes it back."""
    words = printer.words
    own_thread = _THREAD in words.called
    # names that the file has, and those that were chosen for the code
    taken = place.names.taken | words.names
    found = macros(words.called, words.word, *(fresh(name, taken) for name in ("a__", "b__")))
    head = list(_same_macros(place))
    if "parallel" in words.pragmas or function.private:
        head += _threads(program, place, printer, own=own_thread)
    if allocated(function):
        head.append(_extern("void *", "aligned_alloc", "__SIZE_TYPE__, __SIZE_TYPE__", words))
        head.append(_extern("void ", "free", "void *", words))
    head += [_INDENT + line for line in vector_types(words.vectors)]
    head += lane_joins(words.names)
    head += [line for _, line in found]
    tail = [f"#undef {name}" for name, _ in found]
    if own_thread:
        tail += ["#ifndef _OPENMP", f"#undef {words.word(_THREAD)}", "#endif"]
    if place.apart:
        name = words.word("apart")
        head += [f"#define {name}(a, last_a, b, last_b) \\", _APART]
        tail.append(f"#undef {name}")
    if words.pragmas:  # a compiler that is not asked for OpenMP need not say so
        head += _QUIET
        tail.append("#pragma GCC diagnostic pop")
    return head, tail


def _extern(result: str, name: str, parameters: str, words: Vocabulary) -> str:
    """The declaration of a function of the linker's; under another name where that is hidden."""
    other = words.word(name)
    linked = "" if other == name else f' __asm__("{name}")'
    return f"{_INDENT}extern {result}{other}({parameters}){linked};"


def _same_macros(place: Place) -> Iterator[str]:
    """A test by the compiler that it sees the values which the code was made for."""
    if place.macros:
        yield "#if " + " || ".join(f"{name} != {value}" for name, value in place.macros.items())
        told = ", ".join(f"{name} = {value}" for name, value in place.macros.items())
        yield f"#error this code was made for {told}"
        yield "#endif"


def _comment(notes: Sequence[str]) -> list[str]:
    if not notes:
        return []
    first, *rest = map(comment, notes)
    if not rest:
        return [f"/* {first} */"]
    return [f"/* {first}", *(f" * {line}".rstrip() for line in rest), " */"]


def _indented(text: str, indent: str) -> str:
    return "\n".join(
        line if line.startswith("#") or not line else indent + line for line in text.split("\n")
    )


def _allocation(function: Function, printer: Printer) -> Iterator[str]:
    for pointer, size in printer.allocations(function):
        call = printer.words.function("aligned_alloc")
        yield f"{pointer} = {call}(64, ({size} + 63) / 64 * 64);"


def _threads(
    program: ScheduledProgram, place: Place, printer: Printer, *, own: bool
) -> Iterator[str]:
    """What parallel loops ask of OpenMP, for compilers with and without it; ``own`` says that
    threads ask for their numbers."""
    words, team = printer.words, printer.team
    yield "#ifdef _OPENMP"
    limit = str(place.threads)
    if place.threads is None:
        yield _extern("int ", "omp_get_max_threads", "void", words)
        limit = f"{words.word('omp_get_max_threads')}()"
    if own:
        yield _extern("int ", _THREAD, "void", words)
    if place.threads != 1:
        sizes = place.names.untested()
        work = shared_work(program.scop, sizes, real=True)
        little = little_work(program, work, sizes, real=True)
        limit = f"{c_text(little, hints, words)} ? 1 : {limit}" if little is not None else limit
    yield f"{_INDENT}const int {team} = {limit};"
    yield "#else"
    yield f"{_INDENT}const int {team} = 1;"
    if own:
        yield f"#define {words.word(_THREAD)}() 0"
    yield "#endif"
    yield f"{_INDENT}(void){team};"


def _tests(program: ScheduledProgram, place: Place, words: Vocabulary) -> Iterator[str]:
    """What has to hold, as C conditions joined by ``&&``."""
    needed = place.needed.coalesce()
    if not needed.plain_is_universe():
        condition = c_condition(needed, place.names.untested())
        text = c_text(condition, hints, words)
        yield f"({text})" if any(map(_is_choice, walk(condition))) else text
    for one, two in place.apart:
        first, second = (_span(name, program, place, words) for name in (one, two))
        yield f"{words.word('apart')}({', '.join((*first, *second))})"


def _is_choice(node: Expr) -> bool:
    return isinstance(node, Select) or (isinstance(node, Binary) and node.sign == "||")


#: whether what lies from ``a`` to ``last_a`` and from ``b`` to ``last_b`` has no byte in common
_APART = "    ((char *)(&(last_a) + 1) <= (char *)&(b) || (char *)(&(last_b) + 1) <= (char *)&(a))"


def _span(name: str, program: ScheduledProgram, place: Place, words: Vocabulary) -> tuple[str, str]:
    """The first and the last element of an array; a size is one element."""
    if name in program.scop.params:
        text = place.names.sizes[name].removeprefix("(long)")
        return text, text
    array = program.scop.array(name)
    context, sizes = program.scop.context, place.names.params(program.scop, {})
    last: list[Lowered] = []
    for extent in array.extents:
        one = affine_constant(extent.get_domain_space(), 1)
        value = constant_value(extent)
        last.append(
            index_number(value - 1)
            if value is not None
            else c_extent(extent.sub(one), context, sizes)
        )
    symbol = Symbol(name, array.type, name)
    start = place.names.element(symbol, [index_number(0)] * array.rank, sizes)
    end = place.names.element(symbol, last, sizes)
    return c_text(start, hints, words), c_text(end, hints, words)
