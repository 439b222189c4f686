"""Printing a plan: the loop nest in the user's names, and the script that makes it."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from polyopt.ir.show import statement_text
from polyopt.ir.text import affine_text
from polyopt.isl import exclusive
from polyopt.transform.schedule.tree import PlanLoop, Tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyopt.isl import PwAff
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.storage import Scratch

#: so many columns a statement may take; longer ones go on in further lines
_WIDTH = 100


def show_plan(program: ScheduledProgram) -> str:
    """One line per loop and buffer, and each statement with what it computes, of its own
    iterators: long ones are wrapped."""
    with exclusive():
        lines = [line for array in sorted(program.inlined) for line in _inlined(program, array)]
        lines += [f"store_nontemporal {array}" for array in sorted(program.nontemporal)]
        _buffers(program, "", 0, lines)
        _nest(program, program.tree, 0, lines)
    return "\n".join(lines)


def _inlined(program: ScheduledProgram, array: str) -> list[str]:
    """An array that is computed where it is read, and how."""
    writers = (s for s in program.scop.statements if s.array == array)
    return [line for writer in writers for line in _wrapped(f"inline {statement_text(writer)}", "")]


def _nest(program: ScheduledProgram, tree: Tree, depth: int, lines: list[str]) -> None:
    pad = "  " * depth
    for node in tree:
        if isinstance(node, PlanLoop):
            lines.append(f"{pad}for {node.name}:{_mark(node)}")
            _buffers(program, node.name, depth + 1, lines)
            _nest(program, node.body, depth + 1, lines)
        else:
            lines += _wrapped(_statement(program, node), pad)


def _mark(loop: PlanLoop) -> str:
    if loop.mark == "parallel":
        return "  # parallel, static" if loop.width else "  # parallel"
    if loop.lanes:
        return f"  # {loop.mark} {loop.lanes}, aligned"
    width = f" {loop.width}" if loop.width else ""
    return f"  # {loop.mark}{width}" if loop.mark else ""


def _buffers(program: ScheduledProgram, loop: str, depth: int, lines: list[str]) -> None:
    pad = "  " * depth
    lines += [f"{pad}{describe(s)}" for s in program.scratches if s.at == loop]


def describe(scratch: Scratch) -> str:
    """``scratch bx[66][W - 2]``; a folded dimension prints as ``[3 rolling]``.

    What has one element is no array: ``register bx``.
    """
    if all(_size(extent) == "1" for extent in scratch.extents):
        return f"register {scratch.array}"
    parts = [
        f"[{_size(extent)}{' rolling' if scratch.fold(d) else ''}]"
        for d, extent in enumerate(scratch.extents)
    ]
    return f"scratch {scratch.array}{''.join(scratch.ordered(parts))}"


def _size(extent: PwAff) -> str:
    return affine_text(extent)


def _statement(program: ScheduledProgram, name: str) -> str:
    copy = program.copies[name]
    again = "" if not copy.outer else "   (per tile)"
    return f"{copy.statement.name}: {statement_text(copy.statement)}{again}"


def _wrapped(text: str, pad: str) -> list[str]:
    """A line, or several, indented, where it is long."""
    if len(pad) + len(text) <= _WIDTH:
        return [pad + text]
    inner = f"{pad}    "
    return wrap(
        text, max(_WIDTH, len(inner) + _WIDTH // 2), initial_indent=pad, subsequent_indent=inner,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def show_script(moves: Iterable[object]) -> str:
    """``po.Plan(scop).tile(...)...``, one call a line."""
    calls = [str(move) for move in moves]
    if not calls:
        return "po.Plan(scop)"
    return "(\n    po.Plan(scop)\n" + "".join(f"    {call}\n" for call in calls) + ")"
