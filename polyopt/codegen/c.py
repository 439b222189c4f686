"""LoopAST as C text: one function, named loops, and a head comment that says what it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.codegen.chelpers import helpers
from polyopt.codegen.loops import (
    Assign,
    Block,
    Buffer,
    Call,
    For,
    Function,
    If,
    Node,
    Raw,
    Task,
)
from polyopt.codegen.names import hidden_macros
from polyopt.codegen.neighbours import near_functions
from polyopt.escaping import comment

if TYPE_CHECKING:
    from collections.abc import Sequence

_INDENT = "    "
#: lists are broken into lines of this length
_COLUMNS = 100
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


def print_c(function: Function) -> str:
    """The complete translation unit of a kernel."""
    body = _function(function)
    note = "".join(f" * {comment(line)}".rstrip() + "\n" for line in function.notes)
    head = f"/*\n{note} */\n" if note else ""
    return head + before(body) + body + "\n"


def before(body: str) -> str:
    """What a translation unit has before its tasks and its kernel: all that these need."""
    support = helpers(body) + near_functions(body)
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


def _function(function: Function) -> str:
    allocation = _allocation(function)
    body = body_lines(function.body, 1)
    text = "\n".join([*allocation, *body])
    head: list[str] = []
    # compilers without OpenMP do not see what pragmas use
    if not re.search(r"\bthreads\b", re.sub(r"^#.*", "", text, flags=re.MULTILINE)):
        head.append(f"{_INDENT}(void)threads;")
    head += [f"{_INDENT}(void){name};" for name in function.unused]
    if "omp parallel" in text and function.little_work:
        head.append(f"{_INDENT}if ({function.little_work}) {{")
        head.append(f"{_INDENT * 2}threads = 1; /* too little work to share */")
        head.append(f"{_INDENT}}}")
    release = [f"{_INDENT}free({name});" for name in _allocated(function)]
    tasks = [line for task in function.tasks for line in _task(task)]
    # no declaration before it: gcc (12.2) does not survive two whose arrays have sizes as extents
    lines = [*tasks, function.prototype, "{"]
    return "\n".join([*lines, *head, *allocation, *body, *release, f"{_INDENT}return 0;", "}"])


def _task(task: Task) -> list[str]:
    body: list[str] = []
    _print_block(task.body, 1, body)
    return [*_listed(f"static void {task.name}(", task.parameters, ")", 0), "{", *body, "}", ""]


def _listed(head: str, items: Sequence[str], tail: str, depth: int) -> list[str]:
    """A list between ``head`` and ``tail``, in as many lines as it needs."""
    lines = [head if items else head + tail]
    for position, item in enumerate(items):
        text = item + (", " if position < len(items) - 1 else tail)
        if lines[-1] != head and len(lines[-1]) + len(text.rstrip()) > _COLUMNS:
            lines.append(_INDENT * (depth + 1))
        lines[-1] += text
    return [line.rstrip() for line in lines]


def _allocated(function: Function) -> list[str]:
    return [b.name for b in function.buffers] + [b.pool for b in function.private]


def _allocation(function: Function) -> list[str]:
    """Buffers that live for the call; of private ones an array, one per thread."""
    lines = [f"{_INDENT}{pointer(b)} = buffer({size_of(b)});" for b in function.buffers]
    lines += [f"{_INDENT}{pool(b)} = buffer({size_of(b, 'threads')});" for b in function.private]
    names = _allocated(function)
    if names:
        missing = " || ".join(f"!{name}" for name in names)
        release = " ".join(f"free({name});" for name in names)
        lines += [f"{_INDENT}if ({missing}) {{", f"{_INDENT * 2}{release}",
                  f"{_INDENT * 2}return 1;", f"{_INDENT}}}"]  # fmt: skip
    return lines


def pointer(buffer: Buffer) -> str:
    """The declarator of a buffer that is allocated: ``float (*restrict name)[W]``."""
    inner = "".join(f"[{extent}]" for extent in buffer.extents[1:])
    if inner:
        return f"{buffer.type.c_name} (*restrict {buffer.name}){inner}"
    return f"{buffer.type.c_name} *restrict {buffer.name}"


def pool(buffer: Buffer) -> str:
    """The declarator of an allocation that holds a buffer for each thread."""
    inner = "".join(f"[{extent}]" for extent in buffer.extents)
    return f"{buffer.type.c_name} (*{buffer.pool}){inner}"


def size_of(buffer: Buffer, count: str = "") -> str:
    """The bytes of a buffer, or of ``count`` such buffers."""
    extents = (count, *buffer.extents) if count else buffer.extents
    sizes = "".join(f"[{extent}]" for extent in extents)
    return f"sizeof({buffer.type.c_name}{sizes})"


def _declaration(buffer: Buffer) -> str:
    if buffer.heap:
        return f"{pointer(buffer)} = {buffer.pool}[omp_get_thread_num()];"
    sizes = "".join(f"[{extent}]" for extent in buffer.extents)
    aligned = "_Alignas(64) " if sizes else ""
    return f"{aligned}{buffer.type.c_name} {buffer.name}{sizes};"


def body_lines(block: Block, depth: int) -> list[str]:
    """The lines of a block without its braces, so many levels deep."""
    lines: list[str] = []
    _print_block(block, depth, lines)
    return lines


def _print_block(block: Block, depth: int, lines: list[str]) -> None:
    pad = _INDENT * depth
    lines += [f"{pad}{_declaration(b)}" for b in block.buffers]
    only = block.body[0] if len(block.body) == 1 else None
    if isinstance(only, Block) and not block.buffers and not only.ordered:
        _print_block(only, depth, lines)  # the braces around are enough
        return
    for node in block.body:
        _print(node, depth, lines)


def _print(node: Node, depth: int, lines: list[str]) -> None:
    pad = _INDENT * depth
    match node:
        case Assign():
            lines += [f"{pad}const {v.type.c_name} {v.name} = {v.value};" for v in node.locals]
            kind = f"{node.type.c_name} " if node.declares and node.type else ""
            kind = f"const {kind}" if node.constant else kind
            lines.append(f"{pad}{kind}{node.target} = {node.value};")
        case Raw():
            lines += [pad + line for line in node.lines]
        case Block():
            _print_inner(node, depth, lines)
        case If():
            lines.append(f"{pad}if ({node.condition}) {{")
            _print_block(node.then, depth + 1, lines)
            if node.other is not None:
                lines.append(f"{pad}}} else {{")
                _print_block(node.other, depth + 1, lines)
            lines.append(f"{pad}}}")
        case For():
            _print_for(node, depth, lines)
        case Call():
            lines += _listed(f"{pad}{node.name}(", node.arguments, ");", depth)


def _print_inner(block: Block, depth: int, lines: list[str]) -> None:
    """A block among other statements."""
    if not (block.buffers or block.scoped or block.ordered):
        for child in block.body:
            _print(child, depth, lines)
        return
    pad = _INDENT * depth
    if block.ordered:
        lines.append("#pragma omp ordered")
    lines.append(f"{pad}{{")
    _print_block(block, depth + 1, lines)
    lines.append(f"{pad}}}")


def _print_for(node: For, depth: int, lines: list[str]) -> None:
    pad = _INDENT * depth
    if node.comment:
        lines.append(f"{pad}/* {comment(node.comment)} */")
    if node.mark == "parallel":
        # no variable for the share: it could hide one of the program's
        # eight shares for each thread, not one less: then some thread would have one more
        share = f"dynamic, 1 + ({node.trips} - 1) / (8 * threads))"
        share = "dynamic, 1) ordered" if node.ordered else "static)" if node.width else share
        lines.append(f"#pragma omp parallel for num_threads(threads) schedule({share}")
        _print_loop(node, depth, lines)
        return
    if node.mark == "vector":
        # a width is a promise that iterations so far apart may clash: safelen says just that
        width = f" safelen({node.width})" if node.width else ""
        joined = "".join(f" reduction({op} : {name})" for op, name in node.sums)
        lines.append(f"#pragma omp simd{width}{joined}")
    if node.mark == "single":
        lines.append("#pragma omp simd safelen(1) simdlen(1)")
    _print_loop(node, depth, lines)


def _print_loop(node: For, depth: int, lines: list[str]) -> None:
    pad = _INDENT * depth
    lines.append(f"{pad}{_head(node)}")
    lines += [f"{pad}{_INDENT}{_declaration(b)}" for b in node.private]
    _print_block(node.body, depth + 1, lines)
    lines.append(f"{pad}}}")


def _head(node: For) -> str:
    step = f"{node.iterator}++" if node.step == 1 else f"{node.iterator} += {node.step}"
    return f"for (int64_t {node.iterator} = {node.start}; {node.condition}; {step}) {{"
