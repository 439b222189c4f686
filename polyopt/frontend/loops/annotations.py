"""What people write in a loop function's signature: ``img: u16["H", "W - 2"]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.errors import InvalidOptionError, UnsupportedError, shown
from polyopt.frontend.functions import named_type
from polyopt.ir.halves import narrowed, widened
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
    from polyopt.source import Span

Extent = int | str


@dataclass(frozen=True)
class ArrayOf:
    """The type of an array argument: scalar type and extents, as ``u16["H", "W"]`` makes it.

    Extents are integers or affine expressions of sizes, as text. ``ArrayOf["u16", "H", "W"]``
    is the same with the type's name.
    """

    type: ScalarType
    extents: tuple[Extent, ...]

    def __class_getitem__(cls, items: object) -> ArrayOf:
        """``ArrayOf["u16", "H", "W"]``."""
        parts = cast("tuple[object, ...]", items) if isinstance(items, tuple) else (items,)
        return as_scalar(parts[0])[cast("tuple[Extent, ...]", parts[1:])]

    def __repr__(self) -> str:
        """``u16["H", "W - 2"]``."""
        return f"{self.type}[{', '.join(map(repr, self.extents))}]"


@dataclass(frozen=True)
class Scalar:
    """A scalar type as programs name it: annotates, casts, and makes array types.

    ``alpha: f32`` is a scalar argument, ``img: f32["H", "W"]`` an array, ``f32(x)`` a cast.
    """

    type: ScalarType

    def __getitem__(self, extents: Extent | tuple[Extent, ...]) -> ArrayOf:
        """An array of this type. Raises ``InvalidOptionError`` for anything but sizes."""
        items = extents if isinstance(extents, tuple) else (extents,)
        for item in items:
            if isinstance(item, bool) or not isinstance(item, int | str):  # type: ignore[redundant]
                message = f"an extent is an integer or a text such as 'H - 2', not {item!r}"
                raise InvalidOptionError(message)
        return ArrayOf(self.type, items)

    def __call__(self, value: object) -> Any:  # noqa: ANN401  (whatever NumPy's scalar can do)
        """The value as a NumPy scalar of this type: what the cast does in plain Python.

        Of a half it is the f32 that is one: halves are computed with as f32.
        """
        if self.type.is_half:
            single = np.asarray(value).astype(np.float32)
            return widened(self.type, narrowed(self.type, single))[()]
        return np.asarray(value).astype(self.dtype)[()]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype; lets NumPy take this object for one."""
        return self.type.dtype

    def __repr__(self) -> str:
        """The short name, such as ``u16``."""
        return self.type.name


boolean = Scalar(BOOL)
i8, i16, i32, i64 = (Scalar(t) for t in (I8, I16, I32, I64))
u8, u16, u32, u64 = (Scalar(t) for t in (U8, U16, U32, U64))
f32, f64 = (Scalar(t) for t in (F32, F64))
f16, bf16 = (Scalar(t) for t in (F16, BF16))


def half_scalar(name: str, type_: ScalarType, span: Span) -> UnsupportedError:
    """The error for a scalar argument of a type that is for storage."""
    return UnsupportedError(
        f"the scalar {name!r} is of type {type_}, which only arrays are of",
        span=span,
        hint="take an f32: it holds every number of a half",
    )


def as_scalar(kind: object) -> Scalar:
    """A scalar type from ``u16``, ``"u16"``, ``"uint16"``, ``np.uint16`` or a dtype.

    Raises ``InvalidOptionError`` for anything else.
    """
    if isinstance(kind, Scalar):
        return kind
    if isinstance(kind, ScalarType):
        return Scalar(kind)
    if isinstance(kind, str):
        found = named_type(kind)
    else:
        found = None if kind is None else _from_dtype(kind)
    if found is None:
        hint = "use one of u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64, or NumPy's names"
        raise InvalidOptionError(f"{shown(kind)} is not a scalar type polyopt knows", hint=hint)
    return Scalar(found)


def _from_dtype(kind: object) -> ScalarType | None:
    try:
        return named_type(np.dtype(cast("Any", kind)).name)
    except (TypeError, ValueError):
        return None
