"""Printing a plan: the loop nest in the user's names, and the script that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.isl import constant_value
from polyopt.transform.schedule.tree import PlanLoop, Tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyopt.isl import PwAff
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.storage import Scratch


def show_plan(program: ScheduledProgram) -> str:
    """One line per loop, buffer and statement."""
    lines = [f"inline {array}" for array in sorted(program.inlined)]
    lines += [f"store_nontemporal {array}" for array in sorted(program.nontemporal)]
    _buffers(program, "", 0, lines)
    _nest(program, program.tree, 0, lines)
    return "\n".join(lines)


def _nest(program: ScheduledProgram, tree: Tree, depth: int, lines: list[str]) -> None:
    pad = "  " * depth
    for node in tree:
        if isinstance(node, PlanLoop):
            lines.append(f"{pad}for {node.name}:{_mark(node)}")
            _buffers(program, node.name, depth + 1, lines)
            _nest(program, node.body, depth + 1, lines)
        else:
            lines.append(f"{pad}{_statement(program, node)}")


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
    number = constant_value(extent)
    if number is not None:
        return str(number)
    text = str(extent)
    return text[text.rindex("[(") + 2 : text.rindex(")]")] if "[(" in text else text


def _statement(program: ScheduledProgram, name: str) -> str:
    copy = program.copies[name]
    again = "" if not copy.outer else "   (per tile)"
    return f"{copy.statement.name}: {copy.statement.array}[...] = ...{again}"


def show_script(moves: Iterable[object]) -> str:
    """``po.Plan(scop).tile(...)...``, one call a line."""
    calls = [str(move) for move in moves]
    if not calls:
        return "po.Plan(scop)"
    return "(\n    po.Plan(scop)\n" + "".join(f"    {call}\n" for call in calls) + ")"
