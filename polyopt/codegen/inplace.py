"""A program as statements that stand in the place of the source's own loops.

The code uses the names and types of its surroundings, needs no header, and tests at run time what
the program takes for granted. Where a test fails, or memory is short, the source's own text runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.codegen.c import LEAST_WORK, body_lines, pointer, pool, size_of
from polyopt.codegen.chelpers import macros
from polyopt.codegen.generate import generate
from polyopt.codegen.operations import flops_text
from polyopt.codegen.program import c_condition, c_extent
from polyopt.isl import affine_constant, constant_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyopt.codegen.loops import Function
    from polyopt.codegen.spelling import Spelling
    from polyopt.ir.scop import Array
    from polyopt.isl import Set
    from polyopt.transform.program import Program

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

_QUIET = [
    "#pragma GCC diagnostic push",
    '#pragma GCC diagnostic ignored "-Wunknown-pragmas"',
]


@dataclass(frozen=True, eq=False)
class Place:
    """Where the code is to stand, and what must hold there."""

    spelling: Spelling
    #: the source's own lines, for where a test fails
    original: str
    #: [N] -> { : tested before the code runs }
    needed: Set
    #: pairs of arrays that must not overlap
    apart: tuple[tuple[str, str], ...] = ()
    #: blanks before each line
    indent: str = ""
    #: a fixed number of threads; none leaves it to OpenMP
    threads: int | None = None


def emit_in_place(program: Program, place: Place, notes: Sequence[str] = ()) -> str:
    """The C block that stands for a program, with a comment of ``notes`` before it."""
    function = generate(program, program.scop.name, place.spelling)
    body = body_lines(function.body, 2)
    if place.threads == 1:
        body = [line for line in body if not line.startswith("#pragma omp parallel")]
    tests = list(_tests(program, place))
    heap = [*function.buffers, *function.private]
    names = [b.name for b in function.buffers] + [b.pool for b in function.private]
    lines = [*_allocation(function)]
    tests += names
    if tests:
        joined = f"\n{_INDENT * 2}&& ".join(tests)
        lines += [f"{_INDENT}if ({joined}) {{", *body, f"{_INDENT}}} else {{"]
    else:
        lines += [line.removeprefix(_INDENT) for line in body]
    text = "\n".join(lines)
    head = [*_threads(program, text, place), *_externs(bool(heap))]
    tail = [f"{_INDENT}free({name});" for name in names]
    support = macros("\n".join(body), "\n".join(tests))
    defines = [line for _, line in support]
    undefines = [f"#undef {name}" for name, _ in support]
    if "omp_get_thread_num(" in text:
        undefines += ["#ifndef _OPENMP", "#undef omp_get_thread_num", "#endif"]
    if place.apart:
        defines += _APART
        undefines.append("#undef apart")
    if "#pragma omp" in text:  # a compiler that is not asked for OpenMP need not say so
        defines += _QUIET
        undefines.append("#pragma GCC diagnostic pop")
    comment = _comment(notes)
    before = _basic("\n".join([*comment, "{", *head, *defines, *lines]))
    after = "\n".join([*tail, *undefines, "}"])
    result = _indented(before, place.indent) + "\n"
    if tests:
        result += place.original.rstrip("\n") + "\n" + f"{place.indent}{_INDENT}}}\n"
    return result + _indented(after, place.indent) + "\n"


def _comment(notes: Sequence[str]) -> list[str]:
    if not notes:
        return []
    first, *rest = (note.replace("*/", "* /") for note in notes)
    if not rest:
        return [f"/* {first} */"]
    return [f"/* {first}", *(f" * {line}".rstrip() for line in rest), " */"]


def _indented(text: str, indent: str) -> str:
    return "\n".join(
        line if line.startswith("#") or not line else indent + line for line in text.split("\n")
    )


def _basic(text: str) -> str:
    return _WORD.sub(lambda found: _BASIC[found.group()], text)


def _externs(heap: bool) -> Iterator[str]:  # noqa: FBT001
    if heap:
        yield f"{_INDENT}extern void *aligned_alloc(__SIZE_TYPE__, __SIZE_TYPE__);"
        yield f"{_INDENT}extern void free(void *);"


def _allocation(function: Function) -> Iterator[str]:
    for buffer in function.buffers:
        yield f"{_INDENT}{pointer(buffer)} = {_aligned(size_of(buffer))};"
    for buffer in function.private:
        yield f"{_INDENT}{pool(buffer)} = {_aligned(size_of(buffer, 'threads'))};"


def _aligned(size: str) -> str:
    return f"aligned_alloc(64, ({size} + 63) / 64 * 64)"


def _threads(program: Program, text: str, place: Place) -> Iterator[str]:
    """What parallel loops ask of OpenMP, for compilers with and without it."""
    if not re.search(r"\bthreads\b", text):
        return
    own = "omp_get_thread_num(" in text
    limit = "omp_get_max_threads()" if place.threads is None else str(place.threads)
    yield "#ifdef _OPENMP"
    if place.threads is None:
        yield f"{_INDENT}extern int omp_get_max_threads(void);"
    if own:
        yield f"{_INDENT}extern int omp_get_thread_num(void);"
    work = flops_text(program.scop)
    if work and place.threads != 1:
        for name, spelled in place.spelling.sizes.items():
            work = re.sub(rf"\b{re.escape(name)}\b", spelled, work)
        work = re.sub(r"^\d+", lambda found: f"{found.group()}.0", work)
        limit = f"{work} < {LEAST_WORK} ? 1 : {limit}"
    yield f"{_INDENT}const int threads = {limit};"
    yield "#else"
    yield f"{_INDENT}const int threads = 1;"
    if own:
        yield "#define omp_get_thread_num() 0"
    yield "#endif"
    yield f"{_INDENT}(void)threads;"


def _tests(program: Program, place: Place) -> Iterator[str]:
    """What has to hold, as C conditions joined by ``&&``."""
    needed = place.needed.coalesce()
    if not needed.plain_is_universe():
        text = c_condition(needed, dict(place.spelling.sizes))
        yield f"({text})" if "||" in text or "?" in text else text
    for one, two in place.apart:
        first, second = (_span(program.scop.array(name), program, place) for name in (one, two))
        yield f"apart({', '.join((*first, *second))})"


#: whether what lies from ``a`` to ``last_a`` and from ``b`` to ``last_b`` has no byte in common
_APART = (
    "#define apart(a, last_a, b, last_b) \\",
    "    ((char *)(&(last_a) + 1) <= (char *)&(b) || (char *)(&(last_b) + 1) <= (char *)&(a))",
)


def _span(array: Array, program: Program, place: Place) -> tuple[str, str]:
    """The first and the last element of an array."""
    context, names = program.scop.context, dict(place.spelling.sizes)
    last: list[str] = []
    for extent in array.extents:
        one = affine_constant(extent.get_domain_space(), 1)
        number = constant_value(extent)
        last.append(
            str(number - 1) if number is not None else c_extent(extent.sub(one), context, names)
        )
    start = place.spelling.element(array.name, ["0"] * array.rank)
    end = place.spelling.element(array.name, last)
    return start, end
