"""What a library's functions take: sizes, scalars and arrays, with names that C and C++ allow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.codegen.ast.names import c_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polyopt.ir.types import ScalarType

#: Words of C++ that C has not, and names of ``<stddef.h>``: headers are read by both languages.
_OF_CPP = frozenset(
    re.findall(
        r"\w+",
        """
alignas alignof and and_eq asm bitand bitor catch char8_t char16_t char32_t class co_await co_return
co_yield compl concept const_cast consteval constinit decltype delete dynamic_cast explicit export
friend mutable namespace new noexcept not not_eq operator or or_eq private protected public
reinterpret_cast requires static_cast template this throw try typeid typename using virtual wchar_t
xor xor_eq NULL offsetof size_t ptrdiff_t max_align_t nullptr_t model
""",
    )
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a library's ``run``: ``size``, ``scalar`` or ``array``.

    Extents of arrays are C over the sizes' C names.
    """

    name: str
    kind: str
    type: ScalarType
    c_name: str
    extents: tuple[str, ...] = ()
    role: str = "in"

    @property
    def count_name(self) -> str:
        """The parameter that gives an array's number of elements."""
        return f"{self.c_name}_count"

    @property
    def is_read(self) -> bool:
        """Whether its contents are the caller's."""
        return self.role != "out"

    @property
    def is_written(self) -> bool:
        """Whether the caller sees what it holds afterwards."""
        return self.role != "in"

    @property
    def c_type(self) -> str:
        """The type of an element in C and C++: bytes for truth values, bits of halves."""
        if self.type.kind == "bool":
            return "uint8_t"
        return "uint16_t" if self.type.is_half else self.type.c_name


@dataclass(frozen=True)
class LinearExtent:
    """``sum(coefficients[size] * size) + constant = times * extent`` of one axis of an array."""

    array: str
    axis: int
    coefficients: tuple[tuple[str, int], ...]
    constant: int
    times: int


@dataclass(frozen=True)
class Guard:
    """Elements of ``array`` have to be subscripts of ``target`` along ``axis``."""

    array: str
    target: str
    axis: int


@dataclass(frozen=True)
class Interface:
    """What a library offers: ``NAME_run`` and its parameters.

    ``condition`` is C over the sizes; ``helpers`` are definitions that it and extents need.
    """

    name: str
    parameters: tuple[Parameter, ...]
    #: what the library was made of, as its first comment says it
    title: str
    condition: str = "1"
    helpers: str = ""
    extents: tuple[LinearExtent, ...] = ()
    guards: tuple[Guard, ...] = ()
    #: whether there are weights, and so models that are opened
    has_weights: bool = False

    @cached_property
    def sizes(self) -> tuple[Parameter, ...]:
        """The parameters that are sizes."""
        return self._of("size")

    @cached_property
    def scalars(self) -> tuple[Parameter, ...]:
        """The parameters that are numbers to compute with."""
        return self._of("scalar")

    @cached_property
    def arrays(self) -> tuple[Parameter, ...]:
        """The parameters that are arrays."""
        return self._of("array")

    @property
    def most_rank(self) -> int:
        """The most dimensions that an array has, at least one."""
        return max((1, *(len(a.extents) for a in self.arrays)))

    def _of(self, kind: str) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.kind == kind)


def distinct_names(names: Iterable[str]) -> Sequence[str]:
    """C identifiers for parameters, in order: of no two are names or names of counts the same."""
    taken: set[str] = set()
    found: list[str] = []
    for name in names:
        text = c_name(re.sub(r"\W", "_", name, flags=re.ASCII))
        while text in _OF_CPP or {text, f"{text}_count"} & taken:
            text += "_"
        taken |= {text, f"{text}_count"}
        found.append(text)
    return found
