"""The header for C++ of an exported library: spans, ``std::mdspan`` and exceptions around the C
functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.codegen.ast.names import hidden_macros
from polyopt.escaping import comment
from polyopt.runtime.packaging.header import template
from polyopt.runtime.packaging.interface import distinct_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from polyopt.runtime.packaging.interface import Interface, Parameter

#: names of C++'s that parameters do not hide
_TAKEN = {"handle", "check", "check_shape", "run", "polyopt_sizes"}


def cpp_header(interface: Interface) -> str:
    """``NAME.hpp``."""
    name = interface.name
    names = dict(zip(interface.parameters, _names(interface), strict=True))
    given = ["handle"] if interface.has_weights else []
    for p in interface.parameters:
        here = names[p]
        given += [f"{here}.data()", f"{here}.size()"] if p.kind == "array" else [here]
    parameters = ", ".join([*(_declared(p, names[p]) for p in names), "int threads = 0"])
    arguments = ", ".join([*given, "threads"])
    shaped = _with_shapes(interface, names)
    if interface.has_weights:
        body = template("model.hpp").substitute(
            name=name, parameters=parameters, arguments=arguments, shaped=shaped
        )
    else:
        body = f"\ninline void run({parameters}) {{ check({name}_run({arguments})); }}\n"
        body += f"\n{shaped}" if shaped else ""
    (space,) = distinct_names([name])
    return template("library.hpp").substitute(
        name=name,
        guard=name.upper(),
        space=space,
        title=comment(interface.title),
        body=body.rstrip(),
    )


def _declared(parameter: Parameter, name: str) -> str:
    if parameter.kind != "array":
        return f"{_number(parameter)} {name}"
    return f"std::span<{_element(parameter)}> {name}"


def _number(parameter: Parameter) -> str:
    return "std::int64_t" if parameter.kind == "size" else parameter.c_type


def _element(array: Parameter) -> str:
    return f"{'' if array.is_written else 'const '}{array.c_type}"


def _with_shapes(interface: Interface, names: Mapping[Parameter, str]) -> str:
    """``run`` on arrays with shapes: a size that is an extent is no parameter; nothing without
    extents."""
    if not any(a.extents for a in interface.arrays):
        return ""
    known = _sizes(interface, names)
    declared = [
        f"std::mdspan<{_element(p)}, std::dextents<std::size_t, {len(p.extents)}>> {names[p]}"
        if p.extents
        else _declared(p, names[p])
        for p in interface.parameters
        if p not in known
    ]
    lines = [f"const std::int64_t {names[p]} = {text};" for p, text in known.items()]
    sizes = ", ".join(names[s] for s in interface.sizes) or "0"
    lines.append(f"const std::int64_t polyopt_sizes[] = {{{sizes}}};")
    lines += [
        f"check_shape({number}, polyopt_sizes, {names[a]});"
        for number, a in enumerate(interface.arrays)
        if a.extents
    ]
    given = (_span(p, names[p]) for p in interface.parameters)
    lines.append(f"run({', '.join([*given, 'threads'])});")
    return template("shaped.hpp").substitute(
        inline="" if interface.has_weights else "inline ",
        parameters=", ".join([*declared, "int threads = 0"]),
        body="\n".join(f"    {line}" for line in lines),
    )


def _sizes(interface: Interface, names: Mapping[Parameter, str]) -> dict[Parameter, str]:
    """The sizes that are extents of arrays, as the first one that is."""
    found: dict[Parameter, str] = {}
    for size in interface.sizes:
        places = (
            f"static_cast<std::int64_t>({names[array]}.extent({axis}))"
            for array in interface.arrays
            for axis, extent in enumerate(array.extents)
            if extent == size.c_name
        )
        place = next(places, None)
        if place is not None:
            found[size] = place
    return found


def _span(parameter: Parameter, name: str) -> str:
    if parameter.kind != "array" or not parameter.extents:
        return name
    return f"std::span<{_element(parameter)}>({name}.data_handle(), {name}.size())"


def _names(interface: Interface) -> Iterable[str]:
    """What parameters are called beside headers that have macros, and the class's own names."""
    shown = [p.c_name for p in interface.parameters]
    taken = {*hidden_macros(shown), *_TAKEN}
    return (f"{name}_of_caller" if name in taken else name for name in shown)
