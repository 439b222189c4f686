"""C declarations to scalar types and array shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import TooDeepError, TypeMismatchError, UnsupportedError
from polyopt.ir.types import BOOL, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, ScalarType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.frontend.c.locate import Locator

#: Most dimensions of an array.
MAX_RANK = 32

_SIGNED = {"char": I8, "short": I16, "int": I32, "long": I64}
_UNSIGNED = {"char": U8, "short": U16, "int": U32, "long": U64}


@dataclass(frozen=True)
class CType:
    """A declared type: a scalar, or an array of scalars.

    ``extents`` are the declared sizes from the outside in; ``None`` is one that the
    declaration does not tell (``float *a``, ``float a[]``).
    """

    scalar: ScalarType | None
    extents: tuple[c_ast.Node | None, ...] = ()
    const: bool = False

    @property
    def is_array(self) -> bool:
        """Whether there is anything to subscript."""
        return bool(self.extents)


class Types:
    """The types of one file: C's own and its typedefs."""

    def __init__(self, locator: Locator, typedefs: Mapping[str, c_ast.Node]) -> None:
        self._locator = locator
        self.typedefs = typedefs

    def of(self, node: c_ast.Node) -> CType:
        """The type that a declarator or type name spells.

        Raises ``UnsupportedError`` or ``TypeMismatchError``.
        """
        extents: list[c_ast.Node | None] = []
        const = False
        while True:
            match node:
                case c_ast.ArrayDecl() if len(extents) < MAX_RANK:
                    extents.append(node.dim)
                    node = node.type
                case c_ast.ArrayDecl():
                    msg = f"an array of more than {MAX_RANK} dimensions"
                    raise self._locator.error(
                        TooDeepError, node, msg, hint="fold some dimensions into one"
                    )
                case c_ast.PtrDecl():
                    if extents:
                        raise self._pointers(node)
                    extents.append(None)
                    node = node.type
                case c_ast.TypeDecl():
                    const = const or "const" in (node.quals or [])
                    node = node.type
                case c_ast.Typename():
                    node = node.type
                case c_ast.IdentifierType() if node.names[0] in self.typedefs:
                    node = self.typedefs[node.names[0]]
                case c_ast.IdentifierType():
                    return CType(self._scalar(node), tuple(extents), const)
                case _:
                    raise self._unsupported(node)

    def _pointers(self, node: c_ast.Node) -> Exception:
        msg = "an array of pointers is not taken"
        hint = "pass one array with all its extents, such as float a[H][W]"
        return self._locator.error(UnsupportedError, node, msg, hint=hint)

    def _unsupported(self, node: c_ast.Node) -> Exception:
        kinds = {"Struct": "a struct", "Union": "a union", "Enum": "an enum"}
        kinds["FuncDecl"] = "a function"
        what = kinds.get(type(node).__name__, "this type")
        hint = "use one array per field" if what in {"a struct", "a union"} else "use plain scalars"
        return self._locator.error(
            UnsupportedError, node, f"{what} is not taken as a type", hint=hint
        )

    def _scalar(self, node: c_ast.IdentifierType) -> ScalarType | None:
        names = sorted(name for name in node.names if name not in {"const", "volatile"})
        kind = _basic(names)
        if kind is not None or names == ["void"]:
            return kind
        hint = "types are char to long (and their fixed-width names), float, double and bool"
        msg = f"type {' '.join(node.names)!r} is not taken"
        raise self._locator.error(UnsupportedError, node, msg, hint=hint)

    def scalar(self, node: c_ast.Node) -> ScalarType:
        """The type of a cast or scalar. Raises ``TypeMismatchError`` for arrays and void."""
        found = self.of(node)
        if found.scalar is None or found.extents:
            msg = "a scalar type is needed here"
            raise self._locator.error(TypeMismatchError, node, msg, hint="cast to a number's type")
        return found.scalar


def _basic(names: list[str]) -> ScalarType | None:
    single = {"float": F32, "double": F64, "_Bool": BOOL, "bool": BOOL}
    if len(names) == 1 and names[0] in single:
        return single[names[0]]
    table = _UNSIGNED if "unsigned" in names else _SIGNED
    rest = [name for name in names if name not in {"signed", "unsigned"}]
    if rest in (["int", "long"], ["long", "long"], ["int", "long", "long"]):
        return table["long"]
    if rest == ["int", "short"]:
        return table["short"]
    if not rest and names:
        return table["int"]
    return table.get(rest[0]) if len(rest) == 1 else None
