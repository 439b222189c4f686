"""LoopAST as C text: one function, named loops, and a head comment that says what it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.codegen.chelpers import helpers
from polyopt.codegen.loops import Assign, Block, Buffer, For, Function, If, Node

if TYPE_CHECKING:
    from collections.abc import Sequence

_INDENT = "    "
_MATH = re.compile(
    r"\b(sqrt|exp2?|log2?|sin|cos|tanh?|erf|fabs|floor|ceil|trunc|round|pow|fmod|atan2|copysign)"
    r"f?\("
)


def print_c(function: Function) -> str:
    """The complete translation unit of a kernel."""
    body = _function(function)
    support = helpers(body)
    heads = ["#include <stdint.h>"]
    if "malloc(" in body or "abs(" in body:
        heads.append("#include <stdlib.h>")
    if _MATH.search(body + support):
        heads.append("#include <math.h>")
    if "INFINITY" in body or "NAN" in body:
        heads.append("#include <math.h>")
    note = "".join(f" * {line}".rstrip() + "\n" for line in function.notes)
    comment = f"/*\n{note} */\n" if note else ""
    parts = [comment + "\n".join(dict.fromkeys(heads)), support.rstrip(), body]
    return "\n\n".join(part for part in parts if part) + "\n"


def _function(function: Function) -> str:
    allocation = _allocation(function.buffers, 1, "return 1;")
    body: list[str] = []
    _print_block(function.body, 1, body)
    text = "\n".join(body)
    head: list[str] = []
    if "threads)" not in text:
        head.append(f"{_INDENT}(void)threads;")
    head += [f"{_INDENT}(void){name};" for name in function.unused]
    fails = "failed" in text
    if fails:
        head.append(f"{_INDENT}int failed = 0;")
    release = [f"{_INDENT}free({b.name});" for b in function.buffers]
    result = f"{_INDENT}return {'failed' if fails else '0'};"
    lines = [f"{function.prototype};", "", function.prototype, "{"]
    return "\n".join([*lines, *head, *allocation, *body, *release, result, "}"])


def _allocation(buffers: Sequence[Buffer], depth: int, refusal: str) -> list[str]:
    pad = _INDENT * depth
    lines = [f"{pad}{_pointer(b)} = malloc({_size(b)});" for b in buffers]
    if buffers:
        missing = " || ".join(f"!{b.name}" for b in buffers)
        release = " ".join(f"free({b.name});" for b in buffers)
        lines += [f"{pad}if ({missing}) {{", f"{pad}{_INDENT}{release}",
                  f"{pad}{_INDENT}{refusal}", f"{pad}}}"]  # fmt: skip
    return lines


def _pointer(buffer: Buffer) -> str:
    inner = "".join(f"[{extent}]" for extent in buffer.extents[1:])
    return f"{buffer.type.c_name} (*restrict {buffer.name}){inner}" if inner else (
        f"{buffer.type.c_name} *restrict {buffer.name}"
    )


def _size(buffer: Buffer) -> str:
    sizes = "".join(f"[{extent}]" for extent in buffer.extents)
    return f"sizeof({buffer.type.c_name}{sizes})"


def _declaration(buffer: Buffer) -> str:
    sizes = "".join(f"[{extent}]" for extent in buffer.extents)
    aligned = "_Alignas(64) " if sizes else ""
    return f"{aligned}{buffer.type.c_name} {buffer.name}{sizes};"


def _print_block(block: Block, depth: int, lines: list[str]) -> None:
    pad = _INDENT * depth
    lines += [f"{pad}{_declaration(b)}" for b in block.buffers]
    if len(block.body) == 1 and isinstance(block.body[0], Block) and not block.buffers:
        _print_block(block.body[0], depth, lines)  # the braces around are enough
        return
    for node in block.body:
        _print(node, depth, lines)


def _print(node: Node, depth: int, lines: list[str]) -> None:
    pad = _INDENT * depth
    match node:
        case Assign():
            kind = f"{node.type.c_name} " if node.declares and node.type else ""
            lines.append(f"{pad}{kind}{node.target} = {node.value};")
        case Block():
            scoped = bool(node.buffers) or node.scoped
            if scoped:
                lines.append(f"{pad}{{")
            _print_block(node, depth + scoped, lines)
            if scoped:
                lines.append(f"{pad}}}")
        case If():
            lines.append(f"{pad}if ({node.condition}) {{")
            _print_block(node.then, depth + 1, lines)
            if node.other is not None:
                lines.append(f"{pad}}} else {{")
                _print_block(node.other, depth + 1, lines)
            lines.append(f"{pad}}}")
        case For():
            _print_for(node, depth, lines)


def _print_for(node: For, depth: int, lines: list[str]) -> None:
    pad = _INDENT * depth
    if node.comment:
        lines.append(f"{pad}/* {node.comment} */")
    if node.mark == "parallel" and node.private:
        _print_region(node, depth, lines)
        return
    if node.mark == "parallel":
        lines.append("#pragma omp parallel for num_threads(threads) schedule(static)")
    if node.mark == "vector":
        width = f" simdlen({node.width})" if node.width > 1 and _power(node.width) else ""
        lines.append(f"#pragma omp simd{width}")
    lines.append(f"{pad}{_head(node)}")
    _print_block(node.body, depth + 1, lines)
    lines.append(f"{pad}}}")


def _power(width: int) -> bool:
    return width & (width - 1) == 0


def _head(node: For) -> str:
    step = f"{node.iterator}++" if node.step == 1 else f"{node.iterator} += {node.step}"
    return f"for (int64_t {node.iterator} = {node.start}; {node.condition}; {step}) {{"


def _print_region(node: For, depth: int, lines: list[str]) -> None:
    """A parallel loop whose threads allocate their own buffers first."""
    pad = _INDENT * depth
    lines.append("#pragma omp parallel num_threads(threads) reduction(| : failed)")
    lines.append(f"{pad}{{")
    inner = pad + _INDENT
    lines += [f"{inner}{_pointer(b)} = malloc({_size(b)});" for b in node.private]
    lines.append(f"{inner}failed |= {' || '.join(f'!{b.name}' for b in node.private)};")
    lines.append("#pragma omp for schedule(static)")
    lines.append(f"{inner}{_head(node)}")
    lines += [f"{inner}{_INDENT}if (failed) {{", f"{inner}{_INDENT * 2}continue;",
              f"{inner}{_INDENT}}}"]  # fmt: skip
    _print_block(node.body, depth + 2, lines)
    lines.append(f"{inner}}}")
    lines += [f"{inner}free({b.name});" for b in node.private]
    lines.append(f"{pad}}}")
