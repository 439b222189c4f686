"""The Python module of a wheel: a few functions over ctypes and NumPy, without polyopt."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING

from polyopt.escaping import printable
from polyopt.runtime.packaging.header import template

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polyopt.runtime.packaging.interface import Interface, Parameter

#: what parameters of the functions are called beside those of the program
_OWN = frozenset({"self", "out"})


def module_text(interface: Interface, version: str) -> str:
    """``__init__.py`` of a wheel."""
    arrays = [(a.name, a.type.numpy_name, a.role, len(a.extents)) for a in interface.arrays]
    numbers = {a.name: k for k, a in enumerate(interface.arrays)}
    extents = [(numbers[e.array], e.axis, e.coefficients, e.constant, e.times)
               for e in interface.extents]  # fmt: skip
    scalars = [f"({_literal(s.name)}, ctypes.c_{_ctype(s)})" for s in interface.scalars]
    public = ["Model", "run"] if interface.has_weights else ["run"]
    return template("module.py.in").substitute(
        doc=docstring_text(interface.title),
        public=", ".join(f'"{name}"' for name in public),
        release=_literal(version),
        name=_literal(interface.name),
        arrays=_listed(map(_literal, arrays)),
        sizes=_listed(_literal(s.name) for s in interface.sizes),
        scalars=_listed(scalars),
        order=_listed(map(_literal, _order(interface))),
        extents=_listed(map(_literal, extents)),
        has_weights=interface.has_weights,
        functions=_functions(interface).rstrip() + "\n",
    ).rstrip() + "\n"  # fmt: skip


def python_signature(
    interface: Interface,
) -> tuple[dict[Parameter, str], list[Parameter], list[Parameter]]:
    """What parameters are called in Python, those that are given, and sizes that may be."""
    names = dict(zip(interface.parameters, _python_names(interface), strict=True))
    derived = _derived(interface)
    front = [p for p in interface.parameters if p.is_read and p not in derived]
    return names, front, [p for p in interface.parameters if p in derived]


def _functions(interface: Interface) -> str:
    names, front, optional = python_signature(interface)
    keywords = [*(f"{names[p]}=None" for p in optional), "out=None", "threads=0"]
    parameters = ", ".join([*(names[p] for p in front), "*", *keywords])
    numbers = {p: k for kind in _KINDS for k, p in enumerate(getattr(interface, f"{kind}s"))}
    inputs = ", ".join(f"{numbers[p]}: {names[p]}" for p in interface.arrays if p.is_read)
    sizes = ", ".join(f"{_literal(p.name)}: {names[p]}" for p in interface.sizes)
    scalars = ", ".join(f"{numbers[p]}: {names[p]}" for p in interface.scalars)
    forwarded = [names[p] for p in front]
    forwarded += [f"{names[p]}={names[p]}" for p in optional]
    kind = "model.py.in" if interface.has_weights else "function.py.in"
    return template(kind).substitute(
        parameters=parameters,
        arguments=f"{{{inputs}}}, {{{sizes}}}, {{{scalars}}}, out, threads",
        forwarded=", ".join([*forwarded, "out=out", "threads=threads"]),
        call_doc=docstring_text(_documented(interface)),
    )


_KINDS: tuple[str, ...] = ("size", "scalar", "array")


def _order(interface: Interface) -> Iterable[tuple[str, int]]:
    counts: dict[str, int] = dict.fromkeys(_KINDS, 0)
    for p in interface.parameters:
        yield p.kind, counts[p.kind]
        counts[p.kind] += 1


def _derived(interface: Interface) -> set[Parameter]:
    """The sizes that follow from the shapes of what is read."""
    read = {a.name for a in interface.arrays if a.is_read}
    usable = [[n for n, _ in e.coefficients] for e in interface.extents if e.array in read]
    known: set[str] = set()
    while True:
        new = {u[0] for names in usable if len(u := [n for n in names if n not in known]) == 1}
        if not new:
            return {s for s in interface.sizes if s.name in known}
        known |= new


def _python_names(interface: Interface) -> Sequence[str]:
    taken = set(_OWN)
    found: list[str] = []
    for p in interface.parameters:
        name = p.c_name
        while name in taken or keyword.iskeyword(name) or name.startswith("__"):
            name = f"{name}_" if not name.startswith("__") else f"n{name}"
        taken.add(name)
        found.append(name)
    return found


def _documented(interface: Interface) -> str:
    shown = [f"{a.name}: {a.type.numpy_name}[{', '.join(a.extents)}]" for a in interface.arrays]
    return f"Compute. Arrays: {'; '.join(shown)}."


def _ctype(scalar: Parameter) -> str:
    if scalar.type.kind == "bool":
        return "uint8"
    return {"f32": "float", "f64": "double"}.get(scalar.type.name, scalar.type.numpy_name)


def _listed(items: Iterable[str]) -> str:
    return "".join(f"{item}, " for item in items).strip()


def _literal(value: object) -> str:
    """A value as Python spells it in ASCII."""
    return ascii(value)


def docstring_text(text: str) -> str:
    """Text inside of a docstring."""
    return printable(text).replace("\\", "/").replace('"', "'")
