"""Source, loop nest and C as lines, each with the statements and the loop that it is about."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

from polyopt.transform.schedule.printer import describe
from polyopt.transform.schedule.tree import PlanLoop

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.codegen.signature import CProgram
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import Tree

    #: text, and what it is about: ``statements``, and for lines of loops ``loop``
    Line = dict[str, Any]

#: lines of C that are shown at most
MOST_LINES = 400


def source_lines(plan: Plan) -> list[Line]:
    """The program's source, each line with the statements that stand there."""
    source = plan.source
    at: dict[int, list[str]] = {}
    text = source.source.text if source.source is not None else ""
    for statement in source.statements:
        span = statement.span
        if span is not None and span.source.text == text:
            at.setdefault(span.line, []).append(statement.name)
    lines = text.rstrip().split("\n")
    first, last = _around(lines, min(at, default=1), max(at, default=len(lines)))
    return [
        {"text": line, "statements": at.get(number, [])}
        for number, line in enumerate(lines[first - 1 : last], first)
    ]


def _around(lines: list[str], first: int, last: int) -> tuple[int, int]:
    """The first and the last line of the function around lines: in a notebook, a cell has more.

    It begins with the last text before them that is not indented, up to an empty line.
    """
    while first > 1 and not _is_head(lines[first - 1]):
        first -= 1
    while first > 1 and lines[first - 2].strip():
        first -= 1
    while last < len(lines) and not _is_head(lines[last]):
        last += 1
    if last < len(lines) and lines[last].startswith("}"):
        last += 1
    return first, last - sum(1 for _ in takewhile(lambda x: not x.strip(), reversed(lines[:last])))


def _is_head(line: str) -> bool:
    return bool(line.strip()) and not line[0].isspace()


def nest_lines(program: ScheduledProgram) -> list[Line]:
    """The loop nest, as a plan prints it."""
    lines: list[Line] = [
        {"text": f"inline {array}", "statements": _writers(program, array), "kind": "inline"}
        for array in sorted(program.inlined)
    ]
    lines += [
        {"text": f"store_nontemporal {array}", "statements": _writers(program, array)}
        for array in sorted(program.nontemporal)
    ]
    return [*lines, *_buffers(program, "", 0), *_nest(program, program.tree, 0)]


def _nest(program: ScheduledProgram, tree: Tree, depth: int) -> Iterator[Line]:
    for node in tree:
        if not isinstance(node, PlanLoop):
            copy = program.copies[node]
            statement, again = copy.statement, "   (per tile)" if copy.outer else ""
            text = f"{'  ' * depth}{statement.name}: {statement.array}[...] = ...{again}"
            yield {"text": text, "statements": [statement.name], "kind": "statement"}
            continue
        mark = f"{node.mark} {node.width}" if node.mark and node.width > 1 else node.mark
        yield {
            "text": f"{'  ' * depth}for {node.name}", "mark": mark, "loop": node.name,
            "statements": _statements(program, node), "kind": "loop",
            "block": node.blocks_of is not None,
        }  # fmt: skip
        yield from _buffers(program, node.name, depth + 1)
        yield from _nest(program, node.body, depth + 1)


def _statements(program: ScheduledProgram, loop: PlanLoop) -> list[str]:
    return list(dict.fromkeys(program.copies[name].statement.name for name in loop.copies))


def _buffers(program: ScheduledProgram, loop: str, depth: int) -> Iterator[Line]:
    for scratch in program.scratches:
        if scratch.at == loop:
            statements = _writers(program, scratch.array)
            text = f"{'  ' * depth}{describe(scratch)}"
            yield {"text": text, "statements": statements, "kind": "buffer"}


def _writers(program: ScheduledProgram, array: str) -> list[str]:
    return [s.name for s in program.scop.statements if s.array == array]


def c_lines(plan: Plan, code: CProgram) -> list[Line]:
    """The C, each line that begins a loop or assigns with what it comes from."""
    program = plan.program
    loops = {
        n.name: _statements(program, n)
        for place in program.places.values()
        for n in place.loops
    }  # fmt: skip
    lines: list[Line] = []
    texts = code.source.rstrip().split("\n")
    # the head comment is the loop nest, which stands beside it
    first = next((n for n, line in enumerate(texts) if line.strip() == "*/"), -1) + 1
    for number, text in enumerate(texts[first : first + MOST_LINES], first + 1):
        origin = code.origins.get(number, "")
        line: Line = {"text": text, "statements": []}
        if origin in loops:
            line |= {"loop": origin, "statements": loops[origin]}
        elif origin:
            line["statements"] = _stored(program, origin)
        lines.append(line)
    if len(texts) > first + MOST_LINES:
        more = len(texts) - first - MOST_LINES
        lines.append({"text": f"... {more:,} more lines: plan.emit().source", "statements": []})
    return lines


def _stored(program: ScheduledProgram, origin: str) -> list[str]:
    """The statements that write to an array or a buffer, and those inlined into them."""
    arrays: Mapping[str, str] = {s.name: s.array for s in program.scratches}
    return _writers(program, arrays.get(origin, origin))
