"""C declarations to scalar types and array shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import TooDeepError, TypeMismatchError, UnsupportedError
from polyopt.frontend.c.syntax.usage import nodes
from polyopt.ir.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    ScalarType,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.frontend.c.syntax.locations import Locator

#: Most dimensions of an array.
MAX_RANK = 32
#: bits that enumerators may be shifted by
_BITS = 31

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
    """The types of one file: C's own, its typedefs and its enumerations."""

    def __init__(self, locator: Locator, tree: c_ast.FileAST) -> None:
        self._locator = locator
        self.typedefs = {n.name: n.type for n in tree.ext if isinstance(n, c_ast.Typedef)}
        self._enums = {n.name: n for n in nodes(tree) if isinstance(n, c_ast.Enum) and n.values}

    def of(self, node: c_ast.Node) -> CType:
        """The type that a declarator or type name spells.

        Raises ``UnsupportedError`` or ``TypeMismatchError``.
        """
        extents: list[c_ast.Node | None] = []
        const = False
        start, name = node, ""
        while True:
            self._refuse_volatile(node)
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
                    name = name or node.names[0]
                    node = self.typedefs[node.names[0]]
                case c_ast.IdentifierType() | c_ast.Enum():
                    return CType(self._scalar(node), tuple(extents), const)
                case _:
                    raise self._unsupported(node, start, name)

    def _enum(self, node: c_ast.Enum) -> ScalarType:
        """The integers that gcc and clang take for an enumeration: unsigned where none is less
        than zero."""
        found = node if node.values is not None else self._enums.get(node.name or "")
        if found is None:
            msg = f"nothing says what the enumerators of {node.name!r} are"
            raise self._locator.error(
                UnsupportedError, node, msg, hint="define the enum before its use"
            )
        known = _enumerators(found)
        if known is None or not -(2**31) <= min(known) <= max(known) < 2**31:
            msg = "an enumerator whose value is not worked out"
            raise self._locator.error(
                UnsupportedError, node, msg, hint="give enumerators plain integers of 32 bits"
            )
        return U32 if min(known) >= 0 else I32

    def _refuse_volatile(self, node: c_ast.Node) -> None:
        if not {"volatile", "_Atomic"} & {*(getattr(node, "quals", None) or ())}:
            return
        msg = "a volatile or atomic variable is not taken: every access has to stay where it is"
        hint = "copy it into a plain variable before the loops"
        raise self._locator.error(UnsupportedError, node, msg, hint=hint)

    def _pointers(self, node: c_ast.Node) -> Exception:
        msg = "an array of pointers is not taken"
        hint = "pass one array with all its extents, such as float a[H][W]"
        return self._locator.error(UnsupportedError, node, msg, hint=hint)

    def _unsupported(self, node: c_ast.Node, start: c_ast.Node, name: str) -> Exception:
        """The error for a declarator or type name; ``name`` is the typedef that it goes through."""
        kinds = {"Struct": "a struct", "Union": "a union", "FuncDecl": "a function"}
        what = kinds.get(type(node).__name__, "this type")
        hint = "use plain scalars"
        if what in {"a struct", "a union"}:
            hint = "use its members, or one array per field; or declare it outside of the region"
        msg = (
            f"{name!r} is {what}, which is not taken" if name else f"{what} is not taken as a type"
        )
        place = start if name else node
        return self._locator.error(UnsupportedError, place, msg, hint=hint)

    def _scalar(self, node: c_ast.IdentifierType | c_ast.Enum) -> ScalarType | None:
        if isinstance(node, c_ast.Enum):
            return self._enum(node)
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


def _enumerators(enum: c_ast.Enum) -> list[int] | None:
    """The values of an enumeration; ``None`` where one is not a sum, shift or such."""
    known: dict[str, int] = {}
    following = 0
    for one in enum.values.enumerators if enum.values is not None else ():
        value = following if one.value is None else _number(one.value, known)
        if value is None:
            return None
        known[one.name] = value
        following = value + 1
    return list(known.values())


def _number(node: c_ast.Node, known: Mapping[str, int]) -> int | None:
    """The value of a constant expression of plain integers, if it is one."""
    match node:
        case c_ast.Constant(type="int"):
            return int(node.value, 8 if node.value[:1] == "0" and node.value.isdecimal() else 0)
        case c_ast.ID():
            return known.get(node.name)
        case c_ast.UnaryOp(op="-"):
            value = _number(node.expr, known)
            return None if value is None else -value
        case c_ast.BinaryOp():
            left, right = _number(node.left, known), _number(node.right, known)
            if left is None or right is None:
                return None
            return _combined(node.op, left, right)
        case _:
            return None


def _combined(op: str, left: int, right: int) -> int | None:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "|":
            return left | right
        case "<<" if 0 <= right < _BITS:
            return left << right
        case _:
            return None


def _basic(names: list[str]) -> ScalarType | None:
    # the last two are those of emitted C that is read back: no header gives them to users
    single = {"float": F32, "double": F64, "_Bool": BOOL, "bool": BOOL, "_Float16": F16,
              "__bf16": BF16}  # fmt: skip
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
