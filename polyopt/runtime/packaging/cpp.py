"""The header for C++ of an exported library: spans and exceptions around the C functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.codegen.ast.names import hidden_macros
from polyopt.escaping import comment
from polyopt.runtime.packaging.header import template
from polyopt.runtime.packaging.interface import distinct_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyopt.runtime.packaging.interface import Interface


def cpp_header(interface: Interface) -> str:
    """``NAME.hpp``."""
    name = interface.name
    names = dict(zip(interface.parameters, _names(interface), strict=True))
    given = ["handle"] if interface.has_weights else []
    declared: list[str] = []
    for p in interface.parameters:
        here = names[p]
        if p.kind == "array":
            given += [f"{here}.data()", f"{here}.size()"]
            declared.append(f"std::span<{'' if p.is_written else 'const '}{p.c_type}> {here}")
        else:
            given.append(here)
            declared.append(f"{'std::int64_t' if p.kind == 'size' else p.c_type} {here}")
    parameters = ", ".join([*declared, "int threads = 0"])
    arguments = ", ".join([*given, "threads"])
    if interface.has_weights:
        body = template("model.hpp").substitute(
            name=name, parameters=parameters, arguments=arguments
        )
    else:
        body = f"\ninline void run({parameters}) {{ check({name}_run({arguments})); }}\n"
    (space,) = distinct_names([name])
    return template("library.hpp").substitute(
        name=name,
        guard=name.upper(),
        space=space,
        title=comment(interface.title),
        body=body.rstrip(),
    )


def _names(interface: Interface) -> Iterable[str]:
    """What parameters are called beside headers that have macros, and the class's own names."""
    shown = [p.c_name for p in interface.parameters]
    taken = {*hidden_macros(shown), "handle", "check"}
    return (f"{name}_of_caller" if name in taken else name for name in shown)
