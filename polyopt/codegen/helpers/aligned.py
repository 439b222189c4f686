"""C functions that give vectors in a row of memory: aligned ones, and what lies between two.

``before1_f32x16(&a[x])`` is the vector that starts one element before ``a[x]``, put together from
two whole ones; ``ahead_f32x16(&a[x])`` how many elements the next cache line is ahead.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING

from polyopt.ir.types import F32, F64

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyopt.ir.types import ScalarType

_KINDS = ("ahead", "before", "behind")
_ELEMENTS = {element.name: element for element in (F32, F64)}
_AHEAD = Template("""\
static inline int64_t $name(const $type *at) {
    return (int64_t)(-(uintptr_t)at % $bytes / sizeof($type));
}
""")
_MOVED = Template("""\
static inline $vector $name(const $type *at) {
#if defined __clang__ || __GNUC__ >= 12
    return __builtin_shufflevector(*(const ${vector}_at *)$one, *(const ${vector}_at *)$two,
        $places);
#else
    return *(const ${vector}_at *)(at $sign $by);
#endif
}
""")


@dataclass(frozen=True)
class Near:
    """One of these functions, and how many elements away its vector starts."""

    kind: str
    by: int
    element: ScalarType
    lanes: int

    @property
    def vector(self) -> str:
        """The type of the vector: ``f32x16``."""
        return f"{self.element.name}x{self.lanes}"


def near(name: str) -> Near | None:
    """The function of that name: ``before1_f32x16`` is one element before, of 16 floats."""
    head, _, vector = name.partition("_")
    element, _, lanes = vector.partition("x")
    kind = head.rstrip("0123456789")
    if kind not in _KINDS or element not in _ELEMENTS or not lanes.isdecimal():
        return None
    return Near(kind, int(head[len(kind) :] or 0), _ELEMENTS[element], int(lanes))


def joins_vectors(name: str) -> bool:
    """Whether a function is one of these, and gives a vector."""
    found = near(name)
    return found is not None and found.kind != "ahead"


def near_functions(called: Iterable[str]) -> str:
    """Definitions of those of these functions that are called, in a fixed order; may be empty."""
    used = {name: found for name in called if (found := near(name)) is not None}
    order = sorted(used, key=lambda n: (used[n].vector, used[n].kind, used[n].by))
    return "".join(_definition(name, used[name]) + "\n" for name in order)


def _definition(name: str, near: Near) -> str:
    element, lanes = near.element, near.lanes
    if near.kind == "ahead":
        return _AHEAD.substitute(name=name, type=element.c_name, bytes=lanes * element.bytes)
    before = near.kind == "before"
    first = lanes - near.by if before else near.by
    return _MOVED.substitute(
        vector=near.vector,
        name=name,
        type=element.c_name,
        one=f"(at - {lanes})" if before else "at",
        two="at" if before else f"(at + {lanes})",
        places=", ".join(str(first + k) for k in range(lanes)),
        sign="-" if before else "+",
        by=near.by,
    )
