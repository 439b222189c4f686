"""A kernel as a C library."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from polyopt.codegen.ast.names import names_in
from polyopt.codegen.ast.visit import called_in
from polyopt.codegen.expressions.affine import c_condition, c_extent
from polyopt.codegen.helpers.arithmetic import helpers
from polyopt.codegen.helpers.math.halves import half_types
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.codegen.signature import sizes_called
from polyopt.runtime.packaging.build_files import sources
from polyopt.runtime.packaging.interface import (
    Guard,
    Interface,
    LinearExtent,
    Parameter,
    distinct_names,
)

if TYPE_CHECKING:
    from polyopt.codegen.signature import Argument
    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.packaging.build_files import Sources


def kernel_interface(kernel: Kernel) -> Interface:
    """What the library of a kernel takes."""
    arguments = kernel.arguments
    names = dict(
        zip(arguments, distinct_names(a.name for a in arguments), strict=True)
    )  # by identity
    sizes = sizes_called({a.name: names[a] for a in arguments if a.kind == "size"})
    condition = c_condition(kernel.context, sizes)
    lengths = {a: [c_extent(e, kernel.context, sizes).node for e in a.extents] for a in arguments}
    called = (called_in(e) for e in (condition, *(x for found in lengths.values() for x in found)))
    parameters = tuple(
        Parameter(
            a.name, a.kind, a.type, names[a], tuple(c_text(e, hints) for e in lengths[a]), a.role
        )
        for a in arguments
    )
    return Interface(
        kernel.program.c_name,
        parameters,
        kernel.name,
        c_text(condition, hints),
        helpers(frozenset[str]().union(*called)),
        kernel_extents(kernel),
        tuple(Guard(i.array, i.target, i.axis) for i in kernel.program.indices if i.always),
    )


def kernel_extents(kernel: Kernel) -> tuple[LinearExtent, ...]:
    """The extents that are linear in the sizes, with whole coefficients."""
    found: list[LinearExtent] = []
    for e in kernel.equations:
        numbers = [e.constant, *e.coefficients.values()]
        times = math.lcm(*(n.denominator for n in numbers))
        scaled = tuple((name, int(c * times)) for name, c in e.coefficients.items())
        found.append(LinearExtent(e.array, e.axis, scaled, int(e.constant * times), times))
    return tuple(found)


def kernel_sources(kernel: Kernel, interface: Interface) -> Sources:
    """The C of a kernel's library."""
    program, upper = kernel.program, interface.name.upper()
    function = f"{interface.name}_kernel"
    named = re.compile(rf"\b{re.escape(program.c_name)}(?=\s*\()")
    types = "".join(f"{line}\n" for line in half_types(names_in(program.prototype)))
    prototype = f"{types}{named.sub(function, program.prototype)};"
    by_name = {p.name: p for p in interface.parameters}
    arguments = [_argument(a, by_name[a.name]) for a in program.arguments]
    call = f"{function}({', '.join([*arguments, 'threads'])})"
    return sources(
        interface,
        {f"{function}.c": (named.sub(function, program.source), kernel.built.flags)},
        kernel.built.target.flags,
        f"    return {call} ? {upper}_OUT_OF_MEMORY : {upper}_OK;",
        prototype,
        {},
    )


def _argument(argument: Argument, parameter: Parameter) -> str:
    """A pointer of whatever type the generated function declares."""
    if argument.kind != "array":
        return parameter.c_name
    return f"({'' if parameter.is_written else 'const '}void *){parameter.c_name}"
