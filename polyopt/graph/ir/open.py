"""Sizes that are left open, such as how many images a network is given at once.

A dimension or attribute of a graph may be ``Open``: it has a name, and a number to be fast for.
Nothing computes with such sizes. What has to be known of them is found out with two numbers each
that no network has: what is one of them with the first, and the other with the second, is the
size; what is the same with both does not depend on it; anything else is refused. Rules of
operators, importers and stages see plain numbers, and need to know nothing of this.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, Self

from polyopt.errors import GraphError, UnsupportedError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.graph.ir.graph import Array, Attribute, Graph, Node, Value

    #: by the name of an open size, a number for it
    Numbers = Mapping[str, int]

#: numbers that stand for the first open size, the second, ...: no dimension of a network by chance
_PROBES = ((211, 419), (223, 431), (227, 433), (229, 439))


class Open(int):
    """A size that is left open. As a number it is ``usual``, the one to be fast for."""

    name: str

    def __new__(cls, name: str, usual: int = 1) -> Self:
        """The size of that name."""
        made = super().__new__(cls, usual)
        made.name = name
        return made

    @property
    def symbol(self) -> str:
        """Its name in programs: an identifier, in capitals as sizes are."""
        plain = re.sub(r"\W", "_", self.name).upper()
        return plain if plain.isidentifier() else f"N_{plain}"

    def with_number(self, number: int) -> Open:
        """The same size with another number."""
        return Open(self.name, number)

    def __add__(self, other: int) -> int:
        """Nothing more leaves it open; else a number, as from all arithmetic."""
        return int(self) + other if other else self

    __radd__ = __add__

    def __mul__(self, other: int) -> int:
        """Once as many leaves it open; else a number."""
        return self if other == 1 else int(self) * other

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[type[Open], tuple[str, int]]:
        return Open, (self.name, int(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Open) and self.name == other.name

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        """Its name."""
        return self.name

    def __repr__(self) -> str:
        """Name, and the number to be fast for: programs of other numbers have other plans."""
        return f"{self.name}~{int(self)}"


def open_sizes(inputs: Sequence[Value]) -> dict[str, Open]:
    """The open sizes of tensors, by name. Raises ``UnsupportedError`` for more than can be told
    apart."""
    found = {e.name: e for value in inputs for e in value.shape if isinstance(e, Open)}
    if len(found) > len(_PROBES) or len({e.symbol for e in found.values()}) < len(found):
        raise UnsupportedError(
            f"the sizes {', '.join(found)} are left open: too many, or too much alike",
            hint="give some of them: sizes={...}",
        )
    return found


def probes(names: Sequence[str]) -> tuple[Numbers, Numbers]:
    """Two numbers for each size."""
    pairs = dict(zip(names, _PROBES, strict=False))
    return {n: p[0] for n, p in pairs.items()}, {n: p[1] for n, p in pairs.items()}


def at(graph: Graph, numbers: Numbers) -> Graph:
    """The graph with a number for each open size.

    Raises ``GraphError`` for sizes that are missing, that the graph has not, or below 1.
    """
    known = graph.open
    if not known and not numbers:
        return graph
    for name in (*known, *numbers):
        if name not in known or numbers.get(name, 0) < 1:
            listed = ", ".join(known) or "none"
            said = f"{name} = {numbers[name]}" if name in numbers else f"nothing for {name!r}"
            raise GraphError(f"{graph.name} is given {said}", hint=f"open sizes: {listed}")
    return _with(graph, lambda size: int(numbers[size.name]))


def standing_for(graph: Graph, numbers: Numbers) -> Graph:
    """The graph with its sizes still open, but other numbers for them."""
    return _with(graph, lambda size: size.with_number(numbers[size.name]))


def _with(graph: Graph, number: Callable[[Open], int]) -> Graph:
    def changed(extent: int) -> int:
        return number(extent) if isinstance(extent, Open) else extent

    def attribute(value: Attribute) -> Attribute:
        if isinstance(value, tuple):
            return tuple(changed(v) if isinstance(v, Open) else v for v in value)  # type: ignore[return-value]
        return changed(value) if isinstance(value, Open) else value

    inputs = tuple(replace(v, shape=tuple(map(changed, v.shape))) for v in graph.inputs)
    nodes = tuple(
        replace(n, attributes=tuple((k, attribute(v)) for k, v in n.attributes))
        for n in graph.nodes
    )
    return replace(graph, inputs=inputs, nodes=nodes)


# -- what depends on a size ---------------------------------------------------------------------


def left_open(read: Callable[[Numbers], Graph], usual: Numbers) -> Graph:
    """The graph that ``read`` makes for numbers of some sizes, with these sizes open.

    Raises what ``read`` raises; ``UnsupportedError`` where what it makes depends on the numbers
    otherwise than as a dimension that is one of them.
    """
    pair = probes(list(usual))
    try:
        one, two = map(read, pair)
        graph = _merged(one, two, _Merge(usual, pair))
    except UserError as error:
        read(usual)  # what is wrong with the usual numbers too is said with them
        _depends(list(usual), error)
    _need_shapes(graph, read, dict.fromkeys(usual, 1))
    return graph


def _need_shapes(graph: Graph, read: Callable[[Numbers], Graph], few: Numbers) -> None:
    """Raises ``UnsupportedError`` where a graph read for few has tensors of other shapes.

    What reads up to four elements of any number of them is the same for all large numbers, and is
    another for one. Where nothing can be read for so few, a call for so few will say so.
    """
    shapes = {name: value.shape for name, value in graph.values.items()}
    try:
        found = read(few).values
    except UserError:
        return
    small = at(graph, few).values
    for name in shapes.keys() & found.keys():
        if small[name].shape != found[name].shape:
            counts = ", ".join(f"{size} = {number}" for size, number in few.items())
            have, wanted = (list(v[name].shape) for v in (small, found))
            raise UnsupportedError(
                f"the network cannot be one for every {' and '.join(few)}: the shape of {name!r}"
                f" is {wanted} for {counts}, and not {have}"
            )


def merged_values(
    known: Mapping[str, Open], infer: Callable[[Numbers], Mapping[str, Value]]
) -> Mapping[str, Value]:
    """Tensors with these sizes open, from what they are with numbers.

    Raises what ``infer`` raises, and ``UnsupportedError`` as ``left_open`` does.
    """
    usual = {name: int(size) for name, size in known.items()}
    infer(usual)
    pair = probes(list(usual))
    merge = _Merge(usual, pair)
    try:
        one, two = map(infer, pair)
        return {name: merge.value(value, two[name]) for name, value in one.items()}
    except UserError as error:
        _depends(list(usual), error)


def _depends(names: Sequence[str], error: UserError) -> NoReturn:
    listed, shown = " and ".join(names), error.diagnostic
    sizes = ", ".join(f"{name!r}: 1" for name in names)
    raise UnsupportedError(
        f"the network cannot be one for every {listed}: {shown.message}",
        span=shown.span,
        notes=shown.notes,
        hint=f"compile it for one: sizes={{{sizes}}}",
    ) from None


class _Merge:
    """What two readings have in common, and the open sizes in which they differ."""

    def __init__(self, usual: Numbers, pair: tuple[Numbers, Numbers]) -> None:
        one, two = pair
        self.sizes = {(one[n], two[n]): Open(n, number) for n, number in usual.items()}

    def number(self, one: int, two: int, where: str) -> int:
        """The number in both, or the size. Raises ``UnsupportedError``."""
        if one == two:
            return one
        if (one, two) in self.sizes:
            return self.sizes[one, two]
        raise UnsupportedError(f"{where} depends on it otherwise than as one of its dimensions")

    def value(self, one: Value, two: Value) -> Value:
        """The tensor of both."""
        if len(one.shape) != len(two.shape):
            raise UnsupportedError(f"the rank of {one.name!r} depends on it")
        pairs = zip(one.shape, two.shape, strict=True)
        return replace(one, shape=tuple(self.number(a, b, f"the shape of {one.name!r}")
                                        for a, b in pairs))  # fmt: skip

    def node(self, one: Node, two: Node) -> Node:
        """The node of both."""
        if (one.name, one.op, one.inputs) != (two.name, two.op, two.inputs):
            raise UnsupportedError(f"there is another {one.name!r} for each of them")
        given = dict(two.attributes)
        if given.keys() != dict(one.attributes).keys():
            raise UnsupportedError(f"{one.name!r} has other attributes for each of them")
        return replace(one, attributes=tuple(
            (key, self._attribute(value, given[key], f"{key} of {one.name!r}"))
            for key, value in one.attributes
        ))  # fmt: skip

    def _attribute(self, one: Attribute, two: Attribute, where: str) -> Attribute:
        if one == two:
            return one
        if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
            pairs = zip(one, two, strict=True)
            return tuple(self.number(a, b, where) for a, b in pairs)  # type: ignore[arg-type]
        if isinstance(one, int) and isinstance(two, int):
            return self.number(one, two, where)
        raise UnsupportedError(f"{where} depends on it")


def _merged(one: Graph, two: Graph, merge: _Merge) -> Graph:
    from polyopt.graph.ir.graph import same_arrays

    if len(one.nodes) != len(two.nodes) or one.outputs != two.outputs:
        raise UnsupportedError("its nodes depend on it")
    if not same_arrays(one.constants, two.constants):
        names = [n for n in (*one.constants, *two.constants)
                 if not same_arrays(_only(one, n), _only(two, n))]  # fmt: skip
        raise UnsupportedError(f"the constant {names[0]!r} of it depends on it")
    inputs = tuple(map(merge.value, one.inputs, two.inputs))
    nodes = tuple(map(merge.node, one.nodes, two.nodes))
    return replace(one, inputs=inputs, nodes=nodes)


def _only(graph: Graph, name: str) -> dict[str, Array]:
    """One of a graph's constants, if it has it."""
    return {n: a for n, a in graph.constants.items() if n == name}
