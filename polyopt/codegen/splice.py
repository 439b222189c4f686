"""A program as statements that stand in the place of the source's own loops.

The code uses the names and types of its surroundings, needs no header, and tests at run time what
the program takes for granted. Where a test fails, or memory is short, the source's own text runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Symbol
from polyopt.codegen.ast.names import fresh, names_in
from polyopt.codegen.expressions.affine import c_condition, c_extent
from polyopt.codegen.expressions.indices import index_number
from polyopt.codegen.flop_count import little_work, shared_work
from polyopt.codegen.helpers.arithmetic import HELPERS, macros
from polyopt.codegen.lower.lowering import lower
from polyopt.codegen.pipeline import generate
from polyopt.codegen.printers.c import Printer, allocated
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.codegen.printers.headers import vector_types
from polyopt.codegen.printers.vocabulary import uses_in
from polyopt.escaping import comment
from polyopt.isl import affine_constant, constant_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.codegen.ast.nodes import Function
    from polyopt.codegen.expressions.lowered import Lowered
    from polyopt.codegen.lower.host_names import HostNames
    from polyopt.isl import Set
    from polyopt.transform.schedule.program import ScheduledProgram

_INDENT = "    "
#: C's own names of the types that headers define
_BASIC = {
    "int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long",
    "uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int",
    "uint64_t": "unsigned long", "INT32_MIN": "(-2147483647 - 1)",
    "INT64_MIN": "(-9223372036854775807L - 1)", "INFINITY": "__builtin_inff()",
    "NAN": '__builtin_nanf("")',
}  # fmt: skip
_WORD = re.compile(rf"\b({'|'.join(_BASIC)})\b")

#: a macro of the code's own, where it is defined and where it is taken back
_OWN_MACRO = re.compile(rf"^#(?:define|undef) (apart|{'|'.join(HELPERS)})\b", re.MULTILINE)

#: functions that the code calls
_FUNCTIONS = frozenset({"aligned_alloc", "free", "omp_get_max_threads", "omp_get_thread_num"})

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
    #: names that the file declares, and not its headers
    own: frozenset[str] = frozenset()


def emit_in_place(program: ScheduledProgram, place: Place, notes: Sequence[str] = ()) -> str:
    """The C block that stands for a program, with a comment of ``notes`` before it."""
    own = place.own | place.macros.keys()
    hidden = {name: fresh(name, place.names.taken) for name in sorted(_BASIC.keys() & own)}
    if hidden:
        place = _without(place, hidden)
    function = generate(lower(program, place.names), program, program.scop.name)
    team = fresh("threads", place.names.taken)
    tests = list(_tests(program, place))
    before, after = _guarded(function, place, tests, team)
    text = "\n".join([*before, *after])
    # names that the file has, and those that were chosen for the code
    taken = place.names.taken.union(names_in(text))
    head, tail = _support(program, place, text, team, taken)
    start, end = "\n".join(["{", *head, *before]), "\n".join([*after, *tail, "}"])
    start, end = (_renamed(part, place.names.taken, taken) for part in (start, end))
    start, end = (_called(part, place, taken) for part in (start, end))
    start, end = (_shown(_basic(part), hidden) for part in (start, end))
    result = _indented("\n".join([*_comment(notes), start]), place.indent) + "\n"
    if after:
        result += place.original.rstrip("\n") + "\n"
    return result + _indented(end, place.indent) + "\n"


def _without(place: Place, hidden: Mapping[str, str]) -> Place:
    """The place with other names for those of the file that headers have, too."""
    macros = {hidden.get(name, name): value for name, value in place.macros.items()}
    return replace(place, names=place.names.renamed(hidden), macros=macros)


def _shown(text: str, hidden: Mapping[str, str]) -> str:
    """The text with the file's names that it was made without, in the place of theirs."""
    for name, other in hidden.items():
        text = re.sub(rf"\b{other}\b", name, text)
    return text


def _renamed(text: str, hosts: frozenset[str], taken: frozenset[str]) -> str:
    """The text with other names for its own macros where the file has theirs."""
    for name in sorted({found.group(1) for found in _OWN_MACRO.finditer(text)} & hosts):
        other = fresh(name, taken)
        text = re.sub(rf"\b{name}(?=\(|$)", other, text, flags=re.MULTILINE)
    return text


def _called(text: str, place: Place, taken: frozenset[str]) -> str:
    """The text with other names, for the linker's of the same functions, where variables of the
    surroundings hide those."""
    for name in sorted(_FUNCTIONS & place.variables):
        other = fresh(name, taken)
        text = re.sub(rf"\b{name}(?=\(|$)", other, text, flags=re.MULTILINE)
        declared = re.compile(rf"(extern .*\b{other}\(.*\));$", re.MULTILINE)
        text = declared.sub(rf'\1 __asm__("{name}");', text)
    return text


def _guarded(
    function: Function, place: Place, tests: list[str], team: str
) -> tuple[list[str], list[str]]:
    """The lines before and after the source's own text; none after where that is not needed."""
    printer = Printer(place.names.used, avoided=place.names.taken, team=team)
    names = [printer.declare(symbol) for symbol in allocated(function)]
    free = [f"free({name});" for name in names]
    allocation = list(_allocation(function, printer))
    depth = 1 + bool(tests) + bool(names)
    body = printer.lines(function.body, depth)
    if place.threads == 1:
        threaded = ("#pragma omp parallel", "#pragma omp ordered")
        body = [line for line in body if not line.startswith(threaded)]
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
    program: ScheduledProgram, place: Place, text: str, team: str, taken: frozenset[str]
) -> tuple[list[str], list[str]]:
    """What the code declares and defines for itself, and what takes it back."""
    found = macros(frozenset(names_in(text)), *(fresh(name, taken) for name in ("a__", "b__")))
    head = [*_same_macros(place), *_threads(program, text, place, team)]
    if "aligned_alloc(" in text:
        head.append(f"{_INDENT}extern void *aligned_alloc(__SIZE_TYPE__, __SIZE_TYPE__);")
        head.append(f"{_INDENT}extern void free(void *);")
    head += [_INDENT + line for line in vector_types(uses_in(text).vectors)]
    head += [line for _, line in found]
    tail = [f"#undef {name}" for name, _ in found]
    if "omp_get_thread_num(" in text:
        tail += ["#ifndef _OPENMP", "#undef omp_get_thread_num", "#endif"]
    if place.apart:
        head += _APART
        tail.append("#undef apart")
    if "#pragma omp" in text:  # a compiler that is not asked for OpenMP need not say so
        head += _QUIET
        tail.append("#pragma GCC diagnostic pop")
    return head, tail


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


def _basic(text: str) -> str:
    """The text in C99, without what headers or later standards have."""
    text = text.replace("_Alignas(64)", "__attribute__((aligned(64)))")
    return _WORD.sub(lambda found: _BASIC[found.group()], text)


def _allocation(function: Function, printer: Printer) -> Iterator[str]:
    for buffer in function.buffers:
        yield f"{printer.pointer(buffer)} = {_aligned(printer.size_of(buffer))};"
    for buffer in function.private:
        yield f"{printer.pool(buffer)} = {_aligned(printer.size_of(buffer, printer.team))};"


def _aligned(size: str) -> str:
    return f"aligned_alloc(64, ({size} + 63) / 64 * 64)"


def _threads(program: ScheduledProgram, text: str, place: Place, team: str) -> Iterator[str]:
    """What parallel loops ask of OpenMP, for compilers with and without it."""
    if not re.search(rf"\b{team}\b", text):
        return
    own = "omp_get_thread_num(" in text
    limit = "omp_get_max_threads()" if place.threads is None else str(place.threads)
    yield "#ifdef _OPENMP"
    if place.threads is None:
        yield f"{_INDENT}extern int omp_get_max_threads(void);"
    if own:
        yield f"{_INDENT}extern int omp_get_thread_num(void);"
    if place.threads != 1:
        sizes = place.names.untested()
        work = shared_work(program.scop, sizes, real=True)
        little = little_work(program, work, sizes, real=True)
        limit = f"{c_text(little, hints)} ? 1 : {limit}" if little is not None else limit
    yield f"{_INDENT}const int {team} = {limit};"
    yield "#else"
    yield f"{_INDENT}const int {team} = 1;"
    if own:
        yield "#define omp_get_thread_num() 0"
    yield "#endif"
    yield f"{_INDENT}(void){team};"


def _tests(program: ScheduledProgram, place: Place) -> Iterator[str]:
    """What has to hold, as C conditions joined by ``&&``."""
    needed = place.needed.coalesce()
    if not needed.plain_is_universe():
        condition = c_condition(needed, place.names.untested())
        text = c_text(condition, hints)
        yield f"({text})" if "||" in text or "?" in text else text
    for one, two in place.apart:
        first, second = (_span(name, program, place) for name in (one, two))
        yield f"apart({', '.join((*first, *second))})"


#: whether what lies from ``a`` to ``last_a`` and from ``b`` to ``last_b`` has no byte in common
_APART = (
    "#define apart(a, last_a, b, last_b) \\",
    "    ((char *)(&(last_a) + 1) <= (char *)&(b) || (char *)(&(last_b) + 1) <= (char *)&(a))",
)


def _span(name: str, program: ScheduledProgram, place: Place) -> tuple[str, str]:
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
    return c_text(start, hints), c_text(end, hints)
