"""Wrong schedule trees: faults between a proven plan and the loops that isl makes of it."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polyopt.isl import IslError, Schedule, UnionMap, UnionSet, context, dim_type
from polyopt.transform.schedule.tree import rename_copies

from .kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polyopt.transform.schedule.program import ScheduledProgram

Tree = dict[str, Any]


def readable(program: ScheduledProgram) -> ScheduledProgram:
    """The program with names of copies that isl reads back from text: without ``@`` and ``#``."""
    names = {name: re.sub(r"[@#]", "_", name) for name in program.copies}
    copies = {
        new: replace(
            program.copies[old], name=new, domain=program.copies[old].domain.set_tuple_name(new)
        )
        for old, new in names.items()
    }
    tree = rename_copies(
        program.tree,
        names,
        lambda old, v: v.set_tuple_id(dim_type.in_, copies[names[old]].domain.get_tuple_id()),
        lambda loop: loop,
    )
    return replace(program, copies=copies, tree=tree)


def parsed(schedule: Schedule) -> Tree:
    """isl's text of a schedule as a value."""
    return json.loads(re.sub(r"([{,]\s*)(\w+):", r'\1"\2":', str(schedule)))


def written(tree: Tree) -> Schedule:
    """A schedule from its value."""
    return Schedule.read_from_str(context(), _text(tree))


def _text(value: Any) -> str:
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda item: item[0] in {"child", "sequence"})
        return "{ " + ", ".join(f"{k}: {_text(v)}" for k, v in ordered) + " }"
    if isinstance(value, list):
        return "[ " + ", ".join(map(_text, value)) + " ]"
    return json.dumps(value)


def _nodes(tree: Tree) -> Iterator[Tree]:
    yield tree
    for child in [tree["child"]] if "child" in tree else []:
        yield from _nodes(child)
    for child in tree.get("sequence", []):
        yield from _nodes(child)


def _each(change: Callable[[Tree], bool | None]) -> Callable[[Schedule], Iterator[Tree]]:
    """The schedule with one node changed, for every node that ``change`` does not refuse."""

    def make(schedule: Schedule) -> Iterator[Tree]:
        tree = parsed(schedule)
        for number in range(sum(1 for _ in _nodes(tree))):
            changed = deepcopy(tree)
            node = list(_nodes(changed))[number]
            if change(node) is not False:
                yield changed

    return make


def _turned(node: Tree) -> bool | None:
    if "sequence" not in node:
        return False
    node["sequence"].reverse()
    return None


def _child_left_out(number: int):
    def change(node: Tree) -> bool | None:
        if "sequence" not in node:
            return False
        # isl wants the filters to cover the domain: what is left out runs at the end, unscheduled
        child = node["sequence"][number]
        child.pop("child", None)
        return None

    return change


def _band(change: Callable[[str], str]):
    def at(node: Tree) -> bool | None:
        if "schedule" not in node:
            return False
        new = re.sub(r"-> \[\((.*?)\)\]( :|;| })", lambda m: f"-> [({change(m[1])})]{m[2]}",
                     node["schedule"])  # fmt: skip
        if new == node["schedule"]:
            return False
        node["schedule"] = new
        return None

    return at


def _first_of_band(change: Callable[[str], str]):
    def at(node: Tree) -> bool | None:
        if "schedule" not in node or node["schedule"].count("-> [(") < 2:
            return False
        node["schedule"] = re.sub(
            r"-> \[\((.*?)\)\]( :|;| })",
            lambda m: f"-> [({change(m[1])})]{m[2]}",
            node["schedule"],
            count=1,
        )
        return None

    return at


def _without_band(node: Tree) -> bool | None:
    if "schedule" not in node:
        return False
    child = node.get("child", {})
    node.clear()
    node.update(child)
    return None


def _exchanged(node: Tree) -> bool | None:
    inner = node.get("child", {}).get("child", {})
    if "schedule" not in node or "schedule" not in inner:
        return False
    for key in ("schedule", "options"):
        one, other = node.pop(key, None), inner.pop(key, None)
        if other is not None:
            node[key] = other
        if one is not None:
            inner[key] = one
    return None


def _smaller(extreme: str):
    def change(node: Tree) -> bool | None:
        key = "domain" if "domain" in node else ""
        if not key:
            return False
        try:
            domain = UnionSet.read_from_str(context(), node[key])
        except IslError:  # a wavefront's set has a name that isl does not read
            return False
        node[key] = str(domain.subtract(getattr(domain, extreme)()))
        return None

    return change


def _without_options(node: Tree) -> bool | None:
    return None if node.pop("options", None) is not None else False


def _names_exchanged(node: Tree) -> bool | None:
    inner = node.get("child", {}).get("child", {})
    if "mark" not in node or "mark" not in inner:
        return False
    node["mark"], inner["mark"] = inner["mark"], node["mark"]
    return None


def _shifted_extension(node: Tree) -> bool | None:
    if "extension" not in node:
        return False
    found = UnionMap.read_from_str(context(), node["extension"])
    node["extension"] = str(found.subtract(found.lexmax()))
    return None


KINDS = (
    Kind("tree", "a sequence backwards", _each(_turned)),
    Kind("tree", "the first of a sequence without its loops", _each(_child_left_out(0))),
    Kind("tree", "the last of a sequence without its loops", _each(_child_left_out(-1))),
    Kind("tree", "a loop backwards", _each(_band(lambda v: f"-({v})"))),
    Kind("tree", "one statement later in a loop", _each(_first_of_band(lambda v: f"({v}) + 1"))),
    Kind("tree", "one statement earlier in a loop", _each(_first_of_band(lambda v: f"({v}) - 1"))),
    Kind("tree", "iterations in groups", _each(_band(lambda v: f"floor(({v})/2)"))),
    Kind("tree", "a loop left out", _each(_without_band)),
    Kind("tree", "neighbouring loops exchanged", _each(_exchanged)),
    Kind("tree", "the first instances left out", _each(_smaller("lexmin"))),
    Kind("tree", "the last instances left out", _each(_smaller("lexmax"))),
    Kind("tree", "the last of an extension left out", _each(_shifted_extension)),
    Kind("tree", "options of a loop left out", _each(_without_options)),
    Kind("tree", "names of loops exchanged", _each(_names_exchanged)),
)
