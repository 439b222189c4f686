"""Which arrays of a region its caller could have made overlap: those are tested at run time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.liveness import escapes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.frontend.c.normalize.lvalues import Member
    from polyopt.frontend.c.regions.pragmas import Marked
    from polyopt.ir.scop import Scop
    from polyopt.ir.types import ScalarType


@dataclass(frozen=True, eq=False)
class Pointers:
    """What the declarations of a region's arrays say of where they point."""

    region: Marked
    members: Mapping[str, Member]
    #: types of the sizes: they, too, could be what a pointer points to
    sizes: Mapping[str, ScalarType]
    #: types that the file names
    typedefs: Mapping[str, c_ast.Node]

    def pairs(self, scop: Scop) -> tuple[tuple[str, str], ...]:
        """Pairs of arrays and sizes of which one is written, and that may overlap.

        Arrays of different types do not, unless one is of bytes (ISO C17, 6.5, paragraph 7);
        neither do distinct variables, nor what a ``restrict`` pointer points to.
        """
        written = {s.array for s in scop.statements}
        known = self.region.visible.keys() | self.members.keys()
        arrays = {a.name: a.type for a in scop.arrays if a.role != "temp" and a.name in known}
        types = {**arrays, **{name: self.sizes[name] for name in scop.params}}
        return tuple(
            (one, two)
            for one, two in combinations(types, 2)
            if {one, two} & written
            and _may_share(types[one], types[two])
            and self._may_overlap(one, two)
        )

    def _may_overlap(self, one: str, two: str) -> bool:
        if one in self.members and two in self.members:
            first, second = self.members[one], self.members[two]
            if first.base == second.base and first.pointer == second.pointer:
                return False  # different members of one struct, or of the elements of one array
        pointers = [name for name in (one, two) if self._is_pointer(name)]
        if not pointers or any(self._is_restrict(name) for name in pointers):
            return False
        if len(pointers) == 2:
            return True
        # an argument cannot point to what its function declares
        other = two if pointers[0] == one else one
        inside = self._is_inside(other) or self._is_inside(self._base(other))
        return not (self._is_argument(pointers[0]) and inside)

    def _is_inside(self, name: str) -> bool:
        """Whether a variable is the function's own; a static one, while nobody else knows it."""
        if name not in self.region.local:
            return False
        decl = self.region.visible[name]
        return "static" not in decl.storage or not escapes(self.region.function.body, decl)

    def _base(self, name: str) -> str:
        return self.members[name].base if name in self.members else name

    def _declarator(self, name: str) -> c_ast.Node:
        """The variable's declarator as the file has it, behind names of types."""
        node = self.region.visible[name].type
        while isinstance(node, c_ast.TypeDecl) and isinstance(node.type, c_ast.IdentifierType):
            found = self.typedefs.get(node.type.names[0])
            if found is None:
                return node
            node = found
        return node

    def _is_pointer(self, name: str) -> bool:
        if name in self.members:
            return bool(self.members[name].pointer)
        node = self._declarator(name)
        return isinstance(node, c_ast.PtrDecl) or (
            isinstance(node, c_ast.ArrayDecl) and self._is_argument(name)
        )

    def _is_argument(self, name: str) -> bool:
        listed = self.region.function.decl.type.args
        known = self.region.visible[self._base(name)]
        return any(known is a for a in (listed.params if listed else []))

    def _is_restrict(self, name: str) -> bool:
        if name in self.members:
            return False
        node = self._declarator(name)
        if isinstance(node, c_ast.PtrDecl):
            return "restrict" in (node.quals or [])
        return isinstance(node, c_ast.ArrayDecl) and "restrict" in (node.dim_quals or [])


def _may_share(one: ScalarType, two: ScalarType) -> bool:
    """Whether C allows objects of both types at one address; signedness does not count."""
    alike = one.is_float == two.is_float and one.bits == two.bits
    return alike or 8 in {one.bits, two.bits}
