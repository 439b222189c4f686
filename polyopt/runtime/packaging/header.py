"""The header of an exported library, and its C that checks what it is given."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from polyopt.escaping import c_string, comment
from polyopt.runtime.packaging.status import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyopt.runtime.packaging.interface import Guard, Interface, Parameter

_TEMPLATES = Path(__file__).parent / "templates"


def template(name: str) -> Template:
    """One of the templates of exported libraries."""
    return Template((_TEMPLATES / name).read_text(encoding="utf-8"))


def header(interface: Interface) -> str:
    """``NAME.h``."""
    upper = interface.name.upper()
    statuses = ",\n".join(
        f"    {upper}_{name} = {number}"
        for number, (name, of_weights, _) in enumerate(STATUSES)
        if interface.has_weights or not of_weights
    )
    models = template("models.h").substitute(_names(interface)) if interface.has_weights else ""
    return template("library.h").substitute(
        _names(interface),
        title=comment(interface.title),
        statuses=statuses,
        models=models,
        described="\n".join(f" * {comment(line)}" for line in _described(interface)),
        run=run_prototype(interface),
    )


def checks(interface: Interface, calls: str, prototypes: str) -> str:
    """``NAME.c``: what was given is checked, then comes ``calls``, which computes."""
    arrays = interface.arrays
    rows = [
        f"        {{{a.c_name}, {a.count_name}, {a.type.bytes}, {int(a.is_written)}}},"
        for a in arrays
    ]
    guards = [line for guard in interface.guards for line in _guard(interface, guard)]
    return template("library.c").substitute(
        _names(interface),
        messages="\n".join(f"        {c_string(text)}," for _, _, text in STATUSES),
        helpers=interface.helpers,
        locals=_locals(interface.sizes),
        condition=interface.condition,
        ranks=", ".join(str(len(a.extents)) for a in arrays) or "0",
        names=", ".join(c_string(a.name) for a in arrays) or '""',
        shapes="\n".join(_shape(k, a) for k, a in enumerate(arrays)),
        prototypes=prototypes,
        run=run_prototype(interface),
        size_values=", ".join(s.c_name for s in interface.sizes) or "0",
        rows="\n".join(rows),
        guards="\n".join(guards),
        calls=calls,
    )


def run_prototype(interface: Interface) -> str:
    """The declarator of ``NAME_run``."""
    shown = ", ".join([*_parameters(interface), "int threads"])
    return f"int {interface.name}_run({shown})"


def _names(interface: Interface) -> dict[str, object]:
    return {
        "name": interface.name,
        "guard": interface.name.upper(),
        "n_sizes": len(interface.sizes),
        "n_arrays": len(interface.arrays),
        "most_rank": interface.most_rank,
        "model_include": f'#include "{interface.name}_model.h"\n' if interface.has_weights else "",
    }


def _parameters(interface: Interface) -> Iterable[str]:
    if interface.has_weights:
        yield f"{interface.name}_model *model"
    for p in interface.parameters:
        if p.kind == "array":
            yield f"{'' if p.is_written else 'const '}{p.c_type} *{p.c_name}"
            yield f"size_t {p.count_name}"
        else:
            yield f"{'int64_t' if p.kind == 'size' else p.c_type} {p.c_name}"


def _described(interface: Interface) -> Iterable[str]:
    """What each parameter is, in its user's words."""
    for p in interface.parameters:
        if p.kind != "array":
            yield f"{p.c_name}: the {p.kind} {p.name}"
            continue
        does = {"in": "read", "out": "written", "inout": "read and written"}[p.role]
        yield f"{p.c_name}: {p.name}, {p.type}[{', '.join(p.extents)}], {does}"


def _locals(sizes: Iterable[Parameter]) -> str:
    lines = [
        f"    const int64_t {s.c_name} = polyopt_size[{k}];\n    (void){s.c_name};"
        for k, s in enumerate(sizes)
    ]
    return "\n".join(lines) or "    (void)polyopt_size;"


def _shape(number: int, array: Parameter) -> str:
    extents = "".join(
        f" polyopt_extent[{axis}] = {extent};" for axis, extent in enumerate(array.extents)
    )
    return f"    case {number}:{extents} break;"


def _guard(interface: Interface, guard: Guard) -> Iterable[str]:
    """A loop over elements that have to be subscripts."""
    arrays = {a.name: a for a in interface.arrays}
    positions = {a.name: k for k, a in enumerate(interface.arrays)}
    index = arrays[guard.array]
    extent = f"polyopt_extents[{positions[guard.target]}][{guard.axis}]"
    below = "" if index.type.kind == "uint" else f"{index.c_name}[polyopt_at] < 0 || "
    above = f"(uint64_t){index.c_name}[polyopt_at] >= (uint64_t){extent}"
    yield f"    for (size_t polyopt_at = 0; polyopt_at < {index.count_name}; polyopt_at++) {{"
    yield f"        if ({below}{above}) return {interface.name.upper()}_BAD_INDEX;"
    yield "    }"
